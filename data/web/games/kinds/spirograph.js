// A pen on a small wheel that rolls inside a large one and draws a flower.
const WIDTH = 260;
const HEIGHT = 260;
const OUTER = 110; // pixels
const INNER = 66; // pixels
const PEN = 60; // pixels from the middle of the small wheel
const SPEED = 4; // radians a second
const LINE_WIDTH = 2; // pixels
const BACKGROUND = "black";
const LINE_COLOR = "hotpink";
const WHEEL_COLOR = "gray";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const points = [];
let turned = 0;

function penAt(angle) {
  const arm = OUTER - INNER;
  return [
    WIDTH / 2 + arm * Math.cos(angle) + PEN * Math.cos((arm / INNER) * angle),
    HEIGHT / 2 + arm * Math.sin(angle) - PEN * Math.sin((arm / INNER) * angle),
  ];
}

function ring(x, y, radius) {
  context.strokeStyle = WHEEL_COLOR;
  context.lineWidth = 1;
  context.beginPath();
  context.arc(x, y, radius, 0, Math.PI * 2);
  context.stroke();
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  ring(WIDTH / 2, HEIGHT / 2, OUTER);
  ring(WIDTH / 2 + (OUTER - INNER) * Math.cos(turned), HEIGHT / 2 + (OUTER - INNER) * Math.sin(turned), INNER);
  context.strokeStyle = LINE_COLOR;
  context.lineWidth = LINE_WIDTH;
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
  const [x, y] = penAt(turned);
  context.fillStyle = LINE_COLOR;
  context.beginPath();
  context.arc(x, y, 4, 0, Math.PI * 2);
  context.fill();
}

let before = 0;
function frame(now) {
  const end = turned + (SPEED * (now - before)) / 1000;
  for (; turned < end; turned += 0.02) points.push(penAt(turned));
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
