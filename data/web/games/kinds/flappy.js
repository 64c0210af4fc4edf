// A bird that flaps with the space bar and flies through the gaps between pipes.
const WIDTH = 320;
const HEIGHT = 240;
const PIPE_WIDTH = 36; // pixels
const GAP = 90; // pixels
const DISTANCE = 150; // pixels from pipe to pipe
const SPEED = 90; // pixels a second
const GRAVITY = 500; // pixels a second, each second
const FLAP = 170; // pixels a second
const BIRD_RADIUS = 9; // pixels
const SKY_COLOR = "skyblue";
const PIPE_COLOR = "seagreen";
const BIRD_COLOR = "gold";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const bird = { x: 80, y: HEIGHT / 2, vy: 0 };
let pipes, score;

function start() {
  bird.y = HEIGHT / 2;
  bird.vy = 0;
  pipes = [];
  score = 0;
  for (let x = 200; x < WIDTH + DISTANCE; x += DISTANCE) addPipe(x);
}

function addPipe(x) {
  pipes.push({ x, top: 40 + Math.random() * (HEIGHT - GAP - 80), passed: false });
}

function hits(pipe) {
  const beside = bird.x + BIRD_RADIUS > pipe.x && bird.x - BIRD_RADIUS < pipe.x + PIPE_WIDTH;
  return beside && (bird.y - BIRD_RADIUS < pipe.top || bird.y + BIRD_RADIUS > pipe.top + GAP);
}

function update(seconds) {
  bird.vy += GRAVITY * seconds;
  bird.y += bird.vy * seconds;
  for (const pipe of pipes) {
    pipe.x -= SPEED * seconds;
    if (!pipe.passed && pipe.x + PIPE_WIDTH < bird.x) {
      pipe.passed = true;
      score += 1;
    }
  }
  if (pipes[0].x < -PIPE_WIDTH) {
    pipes.shift();
    addPipe(pipes[pipes.length - 1].x + DISTANCE);
  }
  if (bird.y > HEIGHT || bird.y < 0 || pipes.some(hits)) start();
}

function draw() {
  context.fillStyle = SKY_COLOR;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = PIPE_COLOR;
  for (const pipe of pipes) {
    context.fillRect(pipe.x, 0, PIPE_WIDTH, pipe.top);
    context.fillRect(pipe.x, pipe.top + GAP, PIPE_WIDTH, HEIGHT);
  }
  context.fillStyle = BIRD_COLOR;
  context.beginPath();
  context.arc(bird.x, bird.y, BIRD_RADIUS, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = "black";
  context.fillRect(bird.x + 3, bird.y - 4, 3, 3);
  context.font = "20px sans-serif";
  context.fillText(score, WIDTH / 2, 26);
}

addEventListener("keydown", (event) => {
  if (event.key === " ") bird.vy = -FLAP;
});

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
start();
requestAnimationFrame(frame);
