// A flight through stars: near ones are larger and pass faster.
const WIDTH = 320;
const HEIGHT = 240;
const STARS = 120;
const SPEED = 0.5; // of the whole depth in a second
const SIZE = 4; // pixels of the nearest star
const FADE = 1; // 1 wipes the picture each frame, less leaves trails
const BACKGROUND = "black";
const STAR_COLOR = "white";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;
context.fillStyle = BACKGROUND;
context.fillRect(0, 0, WIDTH, HEIGHT);

function star(depth) {
  return { x: Math.random() * 2 - 1, y: Math.random() * 2 - 1, depth };
}

const stars = [];
for (let i = 0; i < STARS; i++) stars.push(star(0.05 + Math.random() * 0.95));

function update(seconds) {
  stars.forEach((one, i) => {
    one.depth -= SPEED * seconds;
    if (one.depth < 0.05) stars[i] = star(1);
  });
}

function draw() {
  context.globalAlpha = FADE;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.globalAlpha = 1;
  context.fillStyle = STAR_COLOR;
  for (const one of stars) {
    const x = WIDTH / 2 + ((one.x / one.depth) * WIDTH) / 4;
    const y = HEIGHT / 2 + ((one.y / one.depth) * HEIGHT) / 4;
    const size = Math.max(1, SIZE * (1 - one.depth));
    context.fillRect(x - size / 2, y - size / 2, size, size);
  }
}

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
