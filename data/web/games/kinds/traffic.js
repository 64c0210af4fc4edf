// Cars on a road with a traffic light.
const WIDTH = 360;
const HEIGHT = 180;
const CARS = 4;
const CAR_LENGTH = 36; // pixels
const SPEED = 110; // pixels a second
const GREEN = 1.6; // seconds
const RED = 1.4; // seconds
const GRASS_COLOR = "yellowgreen";
const ROAD_COLOR = "dimgray";
const FIRST_COLOR = "crimson";
const OTHER_COLOR = "royalblue";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const STOP = WIDTH * 0.62; // where cars wait, pixels
const ROAD = HEIGHT / 2; // top of the road
const LOOP = WIDTH + CARS * 10;
const cars = [];
for (let i = 0; i < CARS; i++) cars.push({ x: (i / CARS) * LOOP, color: i === 0 ? FIRST_COLOR : OTHER_COLOR });
let green = true;

function room(car) {
  // Pixels that a car may go on: to the next car, or to the light when it is red.
  let free = Infinity;
  for (const other of cars) {
    if (other !== car) free = Math.min(free, ((other.x - car.x + LOOP) % LOOP) - CAR_LENGTH - 8);
  }
  const toLight = STOP - car.x - CAR_LENGTH;
  if (!green && toLight >= 0) free = Math.min(free, toLight);
  return Math.max(0, free);
}

function update(seconds, now) {
  green = now % (GREEN + RED) < GREEN;
  for (const car of cars) car.x = (car.x + Math.min(SPEED * seconds, room(car))) % LOOP;
}

function draw() {
  context.fillStyle = GRASS_COLOR;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = ROAD_COLOR;
  context.fillRect(0, ROAD, WIDTH, 50);
  context.fillStyle = "white";
  for (let x = 0; x < WIDTH; x += 30) context.fillRect(x, ROAD + 24, 16, 2);
  context.fillRect(STOP + 6, ROAD, 3, 50);
  for (const car of cars) {
    context.fillStyle = car.color;
    context.fillRect(car.x, ROAD + 28, CAR_LENGTH, 14);
    context.fillRect(car.x + 8, ROAD + 22, CAR_LENGTH - 16, 8);
    context.fillStyle = "black";
    context.fillRect(car.x + 5, ROAD + 40, 7, 5);
    context.fillRect(car.x + CAR_LENGTH - 12, ROAD + 40, 7, 5);
  }
  context.fillStyle = "black";
  context.fillRect(STOP + 14, ROAD - 62, 22, 44);
  context.fillRect(STOP + 23, ROAD - 18, 4, 18);
  [["red", !green, -51], ["lime", green, -29]].forEach(([color, lit, y]) => {
    context.fillStyle = lit ? color : "#333333";
    context.beginPath();
    context.arc(STOP + 25, ROAD + y, 8, 0, Math.PI * 2);
    context.fill();
  });
}

let before = 0;
function frame(now) {
  update((now - before) / 1000, now / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
