// Pong: the left player moves with the arrow keys, the right one follows the ball by itself.
const WIDTH = 320;
const HEIGHT = 240;
const PADDLE_HEIGHT = 46; // pixels
const PADDLE_SPEED = 200; // pixels a second
const RIVAL_SPEED = 110; // pixels a second
const BALL_SIZE = 8; // pixels
const BALL_SPEED = 180; // pixels a second
const BACKGROUND = "black";
const LEFT_COLOR = "limegreen";
const RIGHT_COLOR = "tomato";
const BALL_COLOR = "white";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const EDGE = 12; // pixels from a paddle to its wall
const THICK = 7;
const keys = {};
const scores = [0, 0];
let left = (HEIGHT - PADDLE_HEIGHT) / 2;
let right = left;
let ball;

function serve(direction) {
  const angle = (Math.random() - 0.5) * 1.2;
  ball = { x: WIDTH / 2, y: HEIGHT / 2, vx: Math.cos(angle) * BALL_SPEED * direction, vy: Math.sin(angle) * BALL_SPEED };
}

function within(y) {
  return Math.max(0, Math.min(HEIGHT - PADDLE_HEIGHT, y));
}

function update(seconds) {
  if (keys.ArrowUp) left -= PADDLE_SPEED * seconds;
  if (keys.ArrowDown) left += PADDLE_SPEED * seconds;
  left = within(left);
  const wanted = ball.y - PADDLE_HEIGHT / 2;
  right = within(right + Math.max(-RIVAL_SPEED * seconds, Math.min(RIVAL_SPEED * seconds, wanted - right)));

  ball.x += ball.vx * seconds;
  ball.y += ball.vy * seconds;
  if (ball.y < BALL_SIZE / 2) ball.vy = Math.abs(ball.vy);
  if (ball.y > HEIGHT - BALL_SIZE / 2) ball.vy = -Math.abs(ball.vy);
  if (ball.vx < 0 && ball.x < EDGE + THICK && ball.y > left && ball.y < left + PADDLE_HEIGHT) ball.vx = -ball.vx;
  if (ball.vx > 0 && ball.x > WIDTH - EDGE - THICK && ball.y > right && ball.y < right + PADDLE_HEIGHT) ball.vx = -ball.vx;
  if (ball.x < -BALL_SIZE) {
    scores[1] += 1;
    serve(1);
  }
  if (ball.x > WIDTH + BALL_SIZE) {
    scores[0] += 1;
    serve(-1);
  }
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = "gray";
  for (let y = 4; y < HEIGHT; y += 16) context.fillRect(WIDTH / 2 - 1, y, 2, 8);
  context.fillStyle = LEFT_COLOR;
  context.fillRect(EDGE, left, THICK, PADDLE_HEIGHT);
  context.fillStyle = RIGHT_COLOR;
  context.fillRect(WIDTH - EDGE - THICK, right, THICK, PADDLE_HEIGHT);
  context.fillStyle = BALL_COLOR;
  context.fillRect(ball.x - BALL_SIZE / 2, ball.y - BALL_SIZE / 2, BALL_SIZE, BALL_SIZE);
  context.font = "24px monospace";
  context.textAlign = "center";
  context.fillText(scores[0], WIDTH / 2 - 30, 28);
  context.fillText(scores[1], WIDTH / 2 + 30, 28);
}

addEventListener("keydown", (event) => { keys[event.key] = true; });
addEventListener("keyup", (event) => { keys[event.key] = false; });

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
serve(1);
requestAnimationFrame(frame);
