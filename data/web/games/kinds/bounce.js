// Balls that bounce off the walls and off the floor.
const WIDTH = 320;
const HEIGHT = 240;
const BALLS = 6;
const RADIUS = 14; // pixels
const SPEED = 120; // pixels a second, at the start
const GRAVITY = 0; // pixels a second, each second
const BOUNCE = 1; // how much of its speed a ball keeps at a wall
const FADE = 1; // 1 wipes the picture each frame, less leaves trails
const BACKGROUND = "midnightblue";
const FIRST_COLOR = "gold";
const SECOND_COLOR = "tomato";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;
context.fillStyle = BACKGROUND;
context.fillRect(0, 0, WIDTH, HEIGHT);

const balls = [];
for (let i = 0; i < BALLS; i++) {
  const angle = Math.random() * Math.PI * 2;
  balls.push({
    x: RADIUS + ((i + 0.5) / BALLS) * (WIDTH - 2 * RADIUS),
    y: RADIUS + Math.random() * (HEIGHT / 2),
    vx: Math.cos(angle) * SPEED,
    vy: Math.sin(angle) * SPEED,
    color: i % 2 === 0 ? FIRST_COLOR : SECOND_COLOR,
  });
}

function move(ball, seconds) {
  ball.vy += GRAVITY * seconds;
  ball.x += ball.vx * seconds;
  ball.y += ball.vy * seconds;
  if (ball.x < RADIUS || ball.x > WIDTH - RADIUS) {
    ball.vx = -ball.vx * BOUNCE;
    ball.x = Math.max(RADIUS, Math.min(WIDTH - RADIUS, ball.x));
  }
  if (ball.y < RADIUS || ball.y > HEIGHT - RADIUS) {
    ball.vy = -ball.vy * BOUNCE;
    ball.y = Math.max(RADIUS, Math.min(HEIGHT - RADIUS, ball.y));
  }
}

function draw() {
  context.globalAlpha = FADE;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.globalAlpha = 1;
  for (const ball of balls) {
    context.fillStyle = ball.color;
    context.beginPath();
    context.arc(ball.x, ball.y, RADIUS, 0, Math.PI * 2);
    context.fill();
  }
}

let before = 0;
function frame(now) {
  const seconds = (now - before) / 1000;
  before = now;
  for (const ball of balls) move(ball, seconds);
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
