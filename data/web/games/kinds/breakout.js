// Breakout: keep the ball in play with the left and right arrow keys until no brick is left.
const WIDTH = 320;
const HEIGHT = 240;
const ROWS = 4;
const COLUMNS = 8;
const BRICK_HEIGHT = 12; // pixels
const GAP = 3; // pixels between bricks
const PADDLE_WIDTH = 60; // pixels
const PADDLE_SPEED = 260; // pixels a second
const BALL_RADIUS = 5; // pixels
const BALL_SPEED = 190; // pixels a second
const BACKGROUND = "black";
const PADDLE_COLOR = "white";
const BALL_COLOR = "gold";
const BRICK_COLOR = "tomato";
const OTHER_BRICK_COLOR = "deepskyblue";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const BRICK_WIDTH = (WIDTH - GAP) / COLUMNS - GAP;
const PADDLE_Y = HEIGHT - 16;
const keys = {};
let bricks, paddle, ball, score;

function start() {
  bricks = [];
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      bricks.push({
        x: GAP + column * (BRICK_WIDTH + GAP),
        y: 26 + row * (BRICK_HEIGHT + GAP),
        color: row % 2 === 0 ? BRICK_COLOR : OTHER_BRICK_COLOR,
      });
    }
  }
  score = 0;
  serve();
}

function serve() {
  const angle = -Math.PI / 2 + (Math.random() - 0.5);
  paddle = (WIDTH - PADDLE_WIDTH) / 2;
  ball = { x: WIDTH / 2, y: PADDLE_Y - BALL_RADIUS, vx: Math.cos(angle) * BALL_SPEED, vy: Math.sin(angle) * BALL_SPEED };
}

function update(seconds) {
  if (keys.ArrowLeft) paddle -= PADDLE_SPEED * seconds;
  if (keys.ArrowRight) paddle += PADDLE_SPEED * seconds;
  paddle = Math.max(0, Math.min(WIDTH - PADDLE_WIDTH, paddle));
  ball.x += ball.vx * seconds;
  ball.y += ball.vy * seconds;
  if (ball.x < BALL_RADIUS) ball.vx = Math.abs(ball.vx);
  if (ball.x > WIDTH - BALL_RADIUS) ball.vx = -Math.abs(ball.vx);
  if (ball.y < BALL_RADIUS) ball.vy = Math.abs(ball.vy);
  if (ball.vy > 0 && ball.y > PADDLE_Y - BALL_RADIUS && ball.x > paddle && ball.x < paddle + PADDLE_WIDTH) {
    const off = (ball.x - paddle) / PADDLE_WIDTH - 0.5;
    ball.vx = Math.sin(off * 2) * BALL_SPEED;
    ball.vy = -Math.cos(off * 2) * BALL_SPEED;
  }
  const hit = bricks.findIndex(
    (brick) =>
      ball.x > brick.x - BALL_RADIUS && ball.x < brick.x + BRICK_WIDTH + BALL_RADIUS &&
      ball.y > brick.y - BALL_RADIUS && ball.y < brick.y + BRICK_HEIGHT + BALL_RADIUS,
  );
  if (hit >= 0) {
    bricks.splice(hit, 1);
    ball.vy = -ball.vy;
    score += 10;
  }
  if (ball.y > HEIGHT + BALL_RADIUS) serve();
  if (bricks.length === 0) start();
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const brick of bricks) {
    context.fillStyle = brick.color;
    context.fillRect(brick.x, brick.y, BRICK_WIDTH, BRICK_HEIGHT);
  }
  context.fillStyle = PADDLE_COLOR;
  context.fillRect(paddle, PADDLE_Y, PADDLE_WIDTH, 8);
  context.fillStyle = BALL_COLOR;
  context.beginPath();
  context.arc(ball.x, ball.y, BALL_RADIUS, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = PADDLE_COLOR;
  context.font = "12px monospace";
  context.fillText("Score " + score, 6, 15);
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
start();
requestAnimationFrame(frame);
