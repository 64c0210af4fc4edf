// A ship among drifting rocks: turn with the left and right arrow keys, thrust with the up key.
const WIDTH = 320;
const HEIGHT = 240;
const ROCKS = 6;
const ROCK_RADIUS = 22; // pixels
const ROCK_SPEED = 40; // pixels a second
const CORNERS = 9; // of a rock
const TURN = 3.5; // radians a second
const THRUST = 120; // pixels a second, each second
const BACKGROUND = "black";
const ROCK_COLOR = "silver";
const SHIP_COLOR = "gold";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const keys = {};
const ship = { x: WIDTH / 2, y: HEIGHT / 2, vx: 0, vy: 0, angle: -Math.PI / 2 };
const rocks = [];
for (let i = 0; i < ROCKS; i++) {
  const place = (i / ROCKS) * Math.PI * 2;
  const way = Math.random() * Math.PI * 2;
  const corners = [];
  for (let j = 0; j < CORNERS; j++) corners.push(0.75 + Math.random() * 0.25);
  rocks.push({
    x: WIDTH / 2 + Math.cos(place) * WIDTH * 0.4,
    y: HEIGHT / 2 + Math.sin(place) * HEIGHT * 0.4,
    vx: Math.cos(way) * ROCK_SPEED,
    vy: Math.sin(way) * ROCK_SPEED,
    corners,
  });
}

function drift(thing, seconds) {
  thing.x = (thing.x + thing.vx * seconds + WIDTH) % WIDTH;
  thing.y = (thing.y + thing.vy * seconds + HEIGHT) % HEIGHT;
}

function update(seconds) {
  if (keys.ArrowLeft) ship.angle -= TURN * seconds;
  if (keys.ArrowRight) ship.angle += TURN * seconds;
  if (keys.ArrowUp) {
    ship.vx += Math.cos(ship.angle) * THRUST * seconds;
    ship.vy += Math.sin(ship.angle) * THRUST * seconds;
  }
  drift(ship, seconds);
  for (const rock of rocks) drift(rock, seconds);
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.lineWidth = 2;
  context.strokeStyle = ROCK_COLOR;
  for (const rock of rocks) {
    context.beginPath();
    rock.corners.forEach((share, j) => {
      const angle = (j / CORNERS) * Math.PI * 2;
      context.lineTo(rock.x + Math.cos(angle) * ROCK_RADIUS * share, rock.y + Math.sin(angle) * ROCK_RADIUS * share);
    });
    context.closePath();
    context.stroke();
  }
  context.save();
  context.translate(ship.x, ship.y);
  context.rotate(ship.angle);
  context.strokeStyle = SHIP_COLOR;
  context.beginPath();
  context.moveTo(12, 0);
  context.lineTo(-8, 7);
  context.lineTo(-8, -7);
  context.closePath();
  context.stroke();
  if (keys.ArrowUp) {
    context.strokeStyle = "tomato";
    context.beginPath();
    context.moveTo(-8, 4);
    context.lineTo(-16, 0);
    context.lineTo(-8, -4);
    context.stroke();
  }
  context.restore();
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
requestAnimationFrame(frame);
