// Invaders: move with the left and right arrow keys, shoot with the space bar.
const WIDTH = 320;
const HEIGHT = 240;
const ROWS = 3;
const COLUMNS = 7;
const INVADER_SIZE = 16; // pixels
const MARCH = 40; // pixels a second
const DROP = 8; // pixels down at each side
const SHIP_SPEED = 150; // pixels a second
const SHOT_SPEED = 260; // pixels a second
const BACKGROUND = "black";
const INVADER_COLOR = "limegreen";
const SHIP_COLOR = "deepskyblue";
const SHOT_COLOR = "white";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const SHAPE = ["  x  x  ", " xxxxxx ", "xx xx xx", "xxxxxxxx", " x xx x ", "x      x"];
const SHIP_Y = HEIGHT - 18;
const keys = {};
let invaders, way, ship, shots, ready;

function start() {
  invaders = [];
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      invaders.push({ x: 20 + column * INVADER_SIZE * 1.8, y: 20 + row * INVADER_SIZE * 1.5 });
    }
  }
  way = 1;
  ship = WIDTH / 2;
  shots = [];
  ready = 0;
}

function update(seconds) {
  if (keys.ArrowLeft) ship -= SHIP_SPEED * seconds;
  if (keys.ArrowRight) ship += SHIP_SPEED * seconds;
  ship = Math.max(12, Math.min(WIDTH - 12, ship));
  ready -= seconds;
  if (keys[" "] && ready <= 0) {
    shots.push({ x: ship, y: SHIP_Y - 8 });
    ready = 0.35;
  }
  for (const shot of shots) shot.y -= SHOT_SPEED * seconds;
  shots = shots.filter((shot) => {
    const hit = invaders.findIndex(
      (one) => Math.abs(one.x + INVADER_SIZE / 2 - shot.x) < INVADER_SIZE / 2 && Math.abs(one.y + INVADER_SIZE / 2 - shot.y) < INVADER_SIZE / 2,
    );
    if (hit >= 0) invaders.splice(hit, 1);
    return hit < 0 && shot.y > 0;
  });
  for (const one of invaders) one.x += MARCH * way * seconds;
  const turns = invaders.some((one) => (way > 0 ? one.x + INVADER_SIZE > WIDTH - 4 : one.x < 4));
  if (turns) {
    way = -way;
    for (const one of invaders) one.y += DROP;
  }
  if (invaders.length === 0 || invaders.some((one) => one.y + INVADER_SIZE > SHIP_Y)) start();
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = INVADER_COLOR;
  const dot = INVADER_SIZE / 8;
  for (const one of invaders) {
    SHAPE.forEach((line, row) => {
      for (let column = 0; column < 8; column++) {
        if (line[column] === "x") context.fillRect(one.x + column * dot, one.y + row * dot, dot, dot);
      }
    });
  }
  context.fillStyle = SHIP_COLOR;
  context.fillRect(ship - 11, SHIP_Y, 22, 8);
  context.fillRect(ship - 2, SHIP_Y - 6, 4, 6);
  context.fillStyle = SHOT_COLOR;
  for (const shot of shots) context.fillRect(shot.x - 1, shot.y - 5, 2, 10);
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
