// Rain that falls aslant on a lake and leaves rings.
const WIDTH = 320;
const HEIGHT = 240;
const DROPS = 50;
const FALL = 240; // pixels a second
const SLANT = 40; // pixels a second to the right
const DROP_LENGTH = 10; // pixels
const RING_RADIUS = 16; // pixels at its largest
const SKY_COLOR = "lightsteelblue";
const LAKE_COLOR = "steelblue";
const DROP_COLOR = "white";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const SHORE = HEIGHT * 0.6;
let rings = [];

function drop(y) {
  return { x: Math.random() * (WIDTH + 60) - 60, y, end: SHORE + Math.random() * (HEIGHT - SHORE) };
}

const drops = [];
for (let i = 0; i < DROPS; i++) drops.push(drop(Math.random() * SHORE));

function update(seconds) {
  drops.forEach((one, i) => {
    one.x += SLANT * seconds;
    one.y += FALL * seconds;
    if (one.y > one.end) {
      rings.push({ x: one.x, y: one.end, age: 0 });
      drops[i] = drop(-DROP_LENGTH);
    }
  });
  for (const ring of rings) ring.age += seconds;
  rings = rings.filter((ring) => ring.age < 1);
}

function draw() {
  context.fillStyle = SKY_COLOR;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = LAKE_COLOR;
  context.fillRect(0, SHORE, WIDTH, HEIGHT - SHORE);
  context.strokeStyle = DROP_COLOR;
  context.lineWidth = 1.5;
  for (const one of drops) {
    context.beginPath();
    context.moveTo(one.x, one.y);
    context.lineTo(one.x - (DROP_LENGTH * SLANT) / FALL, one.y - DROP_LENGTH);
    context.stroke();
  }
  for (const ring of rings) {
    context.globalAlpha = 1 - ring.age;
    context.beginPath();
    context.ellipse(ring.x, ring.y, RING_RADIUS * ring.age, (RING_RADIUS * ring.age) / 3, 0, 0, Math.PI * 2);
    context.stroke();
  }
  context.globalAlpha = 1;
}

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
