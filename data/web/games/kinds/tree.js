// A tree that forks again and again and sways in the wind.
const WIDTH = 320;
const HEIGHT = 240;
const LEVELS = 8;
const TRUNK = 58; // pixels
const SHRINK = 0.76; // length of a branch against the one that it grows from
const FORK = 0.45; // radians to each side
const WIND = 0.08; // radians that a branch sways to each side
const SWAY = 2; // seconds once to and fro
const BACKGROUND = "lightcyan";
const WOOD_COLOR = "saddlebrown";
const LEAF_COLOR = "forestgreen";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

function branch(x, y, length, angle, level, bend) {
  const endX = x + Math.sin(angle) * length;
  const endY = y - Math.cos(angle) * length;
  context.strokeStyle = level > 2 ? WOOD_COLOR : LEAF_COLOR;
  context.lineWidth = level;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(endX, endY);
  context.stroke();
  if (level === 1) return;
  branch(endX, endY, length * SHRINK, angle - FORK + bend, level - 1, bend);
  branch(endX, endY, length * SHRINK, angle + FORK + bend, level - 1, bend);
}

function frame(now) {
  const bend = WIND * Math.sin((now / 1000 / SWAY) * Math.PI * 2);
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.lineCap = "round";
  branch(WIDTH / 2, HEIGHT, TRUNK, 0, LEVELS, bend);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
