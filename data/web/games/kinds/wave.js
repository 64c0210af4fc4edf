// A row of dots that rise and fall as a wave that runs from left to right.
const WIDTH = 320;
const HEIGHT = 200;
const DOTS = 24;
const DOT_RADIUS = 5; // pixels
const HEIGHT_OF_WAVE = 60; // pixels above and below the middle
const LENGTH_OF_WAVE = 160; // pixels
const PERIOD = 1.6; // seconds
const BACKGROUND = "ivory";
const DOT_COLOR = "teal";
const FIRST_COLOR = "crimson";
const LINE_COLOR = "lightgray";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const dots = [];
for (let i = 0; i < DOTS; i++) dots.push({ x: (WIDTH * (i + 0.5)) / DOTS, y: HEIGHT / 2 });

function update(seconds) {
  for (const dot of dots) {
    dot.y = HEIGHT / 2 - HEIGHT_OF_WAVE * Math.sin(2 * Math.PI * (seconds / PERIOD - dot.x / LENGTH_OF_WAVE));
  }
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = LINE_COLOR;
  context.fillRect(0, HEIGHT / 2, WIDTH, 1);
  dots.forEach((dot, i) => {
    context.fillStyle = i === 0 ? FIRST_COLOR : DOT_COLOR;
    context.beginPath();
    context.arc(dot.x, dot.y, DOT_RADIUS, 0, Math.PI * 2);
    context.fill();
  });
}

function frame(now) {
  update(now / 1000);
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
