// Planets on circles around a sun; the farther out, the slower.
const WIDTH = 320;
const HEIGHT = 240;
const PLANETS = 4;
const SUN_RADIUS = 18; // pixels
const PLANET_RADIUS = 6; // pixels
const INNER_ORBIT = 36; // pixels
const ORBIT_GAP = 20; // pixels
const YEAR = 2.4; // seconds once around on the innermost orbit
const STARS = 40;
const BACKGROUND = "black";
const SUN_COLOR = "gold";
const PLANET_COLOR = "deepskyblue";
const ORBIT_COLOR = "dimgray";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const stars = [];
for (let i = 0; i < STARS; i++) stars.push([Math.random() * WIDTH, Math.random() * HEIGHT]);

const planets = [];
for (let i = 0; i < PLANETS; i++) {
  const orbit = INNER_ORBIT + i * ORBIT_GAP;
  // Kepler's third law: the square of the year grows as the cube of the distance.
  planets.push({ orbit, year: YEAR * Math.pow(orbit / INNER_ORBIT, 1.5), start: Math.random() * Math.PI * 2, x: 0, y: 0 });
}

function disc(x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, Math.PI * 2);
  context.fill();
}

function draw(seconds) {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const [x, y] of stars) {
    context.fillStyle = "white";
    context.fillRect(x, y, 1, 1);
  }
  for (const planet of planets) {
    context.strokeStyle = ORBIT_COLOR;
    context.beginPath();
    context.arc(WIDTH / 2, HEIGHT / 2, planet.orbit, 0, Math.PI * 2);
    context.stroke();
    const angle = planet.start + (seconds / planet.year) * Math.PI * 2;
    planet.x = WIDTH / 2 + Math.cos(angle) * planet.orbit;
    planet.y = HEIGHT / 2 + Math.sin(angle) * planet.orbit;
    disc(planet.x, planet.y, PLANET_RADIUS, PLANET_COLOR);
  }
  disc(WIDTH / 2, HEIGHT / 2, SUN_RADIUS, SUN_COLOR);
}

function frame(now) {
  draw(now / 1000);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
