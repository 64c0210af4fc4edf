// Bars that are sorted by bubble sort, one comparison after the other.
const WIDTH = 320;
const HEIGHT = 240;
const BARS = 16;
const STEP = 40; // milliseconds from one comparison to the next
const BACKGROUND = "white";
const BAR_COLOR = "steelblue";
const COMPARED_COLOR = "crimson";
const DONE_COLOR = "seagreen";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const values = [];
for (let i = 0; i < BARS; i++) values.push(i + 1);
for (let i = BARS - 1; i > 0; i--) {
  const other = Math.floor(Math.random() * (i + 1));
  [values[i], values[other]] = [values[other], values[i]];
}

let at = 0;
let unsorted = BARS;

function step() {
  if (unsorted <= 1) {
    unsorted = 0;
    return;
  }
  if (values[at] > values[at + 1]) [values[at], values[at + 1]] = [values[at + 1], values[at]];
  at += 1;
  if (at >= unsorted - 1) {
    at = 0;
    unsorted -= 1;
  }
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const width = WIDTH / BARS;
  values.forEach((value, i) => {
    const height = (value / BARS) * (HEIGHT - 20);
    context.fillStyle = i >= unsorted ? DONE_COLOR : i === at || i === at + 1 ? COMPARED_COLOR : BAR_COLOR;
    context.fillRect(i * width + 1, HEIGHT - height, width - 2, height);
  });
}

draw();
setInterval(() => {
  step();
  draw();
}, STEP);
