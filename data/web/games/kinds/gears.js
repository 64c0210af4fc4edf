// Two gears that mesh: the one with fewer teeth turns faster.
const WIDTH = 340;
const HEIGHT = 240;
const LARGE_TEETH = 20;
const SMALL_TEETH = 10;
const TOOTH = 12; // pixels from one tooth to the next, along the rim
const TURNS = 0.25; // of the large gear in a second
const BACKGROUND = "whitesmoke";
const LARGE_COLOR = "steelblue";
const SMALL_COLOR = "darkorange";
const HUB_COLOR = "white";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const LARGE_RADIUS = (LARGE_TEETH * TOOTH * 2) / (2 * Math.PI);
const SMALL_RADIUS = (SMALL_TEETH * TOOTH * 2) / (2 * Math.PI);
const LEFT = (WIDTH - LARGE_RADIUS - SMALL_RADIUS) / 2 + (LARGE_RADIUS - SMALL_RADIUS) / 2;
const RIGHT = LEFT + LARGE_RADIUS + SMALL_RADIUS;

function gear(x, radius, teeth, angle, color) {
  context.save();
  context.translate(x, HEIGHT / 2);
  context.rotate(angle);
  context.fillStyle = color;
  context.beginPath();
  for (let i = 0; i < teeth; i++) {
    const middle = (i / teeth) * Math.PI * 2;
    const half = Math.PI / teeth / 2;
    context.arc(0, 0, radius - 5, middle - 3 * half, middle - half * 1.2);
    context.arc(0, 0, radius + 5, middle - half * 0.8, middle + half * 0.8);
  }
  context.fill();
  context.fillStyle = HUB_COLOR;
  for (const [away, size] of [[0, 7], [radius * 0.55, 5]]) {
    context.beginPath();
    context.arc(away, 0, size, 0, Math.PI * 2);
    context.fill();
  }
  context.restore();
}

function frame(now) {
  const angle = (now / 1000) * TURNS * Math.PI * 2;
  const small = -angle * (LARGE_TEETH / SMALL_TEETH) + Math.PI + Math.PI / SMALL_TEETH;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  gear(LEFT, LARGE_RADIUS, LARGE_TEETH, angle, LARGE_COLOR);
  gear(RIGHT, SMALL_RADIUS, SMALL_TEETH, small, SMALL_COLOR);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
