// A fountain of sparks that fall and fade.
const WIDTH = 320;
const HEIGHT = 240;
const RATE = 60; // sparks a second
const SPEED = 190; // pixels a second
const SPREAD = 0.5; // radians to each side
const GRAVITY = 180; // pixels a second, each second
const LIFE = 1.8; // seconds
const SIZE = 4; // pixels
const FADE = 1; // 1 wipes the picture each frame, less leaves trails
const BACKGROUND = "black";
const YOUNG_COLOR = "gold";
const OLD_COLOR = "tomato";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;
context.fillStyle = BACKGROUND;
context.fillRect(0, 0, WIDTH, HEIGHT);

let sparks = [];
let owed = 0;

function spark() {
  const angle = -Math.PI / 2 + (Math.random() * 2 - 1) * SPREAD;
  const speed = SPEED * (0.7 + Math.random() * 0.3);
  return { x: WIDTH / 2, y: HEIGHT - 12, vx: Math.cos(angle) * speed, vy: Math.sin(angle) * speed, age: 0 };
}

function update(seconds) {
  owed += RATE * seconds;
  while (owed >= 1) {
    sparks.push(spark());
    owed -= 1;
  }
  for (const one of sparks) {
    one.vy += GRAVITY * seconds;
    one.x += one.vx * seconds;
    one.y += one.vy * seconds;
    one.age += seconds;
  }
  sparks = sparks.filter((one) => one.age < LIFE);
}

function draw() {
  context.globalAlpha = FADE;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const one of sparks) {
    context.globalAlpha = 1 - one.age / LIFE;
    context.fillStyle = one.age < LIFE / 3 ? YOUNG_COLOR : OLD_COLOR;
    context.beginPath();
    context.arc(one.x, one.y, SIZE, 0, Math.PI * 2);
    context.fill();
  }
  context.globalAlpha = 1;
  context.fillStyle = "gray";
  context.fillRect(WIDTH / 2 - 10, HEIGHT - 12, 20, 12);
}

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
