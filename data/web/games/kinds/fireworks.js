// Fireworks: rockets rise, burst into sparks, and the sparks fall.
const WIDTH = 320;
const HEIGHT = 240;
const PAUSE = 0.5; // seconds from one rocket to the next
const SPARKS = 36; // of one burst
const BURST_SPEED = 80; // pixels a second
const RISE = 260; // pixels a second, at the start
const GRAVITY = 150; // pixels a second, each second
const LIFE = 1.3; // seconds of a spark
const FADE = 0.3; // 1 wipes the picture each frame, less leaves trails
const BACKGROUND = "black";
const ROCKET_COLOR = "white";
const COLORS = ["tomato", "gold", "deepskyblue", "hotpink"];

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;
context.fillStyle = BACKGROUND;
context.fillRect(0, 0, WIDTH, HEIGHT);

let rockets = [];
let sparks = [];
let wait = 0;
let bursts = 0;

function burst(rocket) {
  const color = COLORS[bursts % COLORS.length];
  bursts += 1;
  for (let i = 0; i < SPARKS; i++) {
    const angle = (i / SPARKS) * Math.PI * 2;
    const speed = BURST_SPEED * (0.5 + Math.random() * 0.5);
    sparks.push({ x: rocket.x, y: rocket.y, vx: Math.cos(angle) * speed, vy: Math.sin(angle) * speed, age: 0, color });
  }
}

function fly(things, seconds) {
  for (const thing of things) {
    thing.vy += GRAVITY * seconds;
    thing.x += thing.vx * seconds;
    thing.y += thing.vy * seconds;
  }
}

function update(seconds) {
  wait -= seconds;
  if (wait <= 0) {
    wait += PAUSE;
    rockets.push({ x: WIDTH * (0.2 + Math.random() * 0.6), y: HEIGHT, vx: (Math.random() - 0.5) * 40, vy: -RISE });
  }
  fly(rockets, seconds);
  fly(sparks, seconds);
  for (const spark of sparks) spark.age += seconds;
  for (const rocket of rockets) if (rocket.vy > -40) burst(rocket);
  rockets = rockets.filter((rocket) => rocket.vy <= -40);
  sparks = sparks.filter((spark) => spark.age < LIFE);
}

function draw() {
  context.globalAlpha = FADE;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.globalAlpha = 1;
  context.fillStyle = ROCKET_COLOR;
  for (const rocket of rockets) context.fillRect(rocket.x - 1, rocket.y - 4, 3, 8);
  for (const spark of sparks) {
    context.globalAlpha = 1 - spark.age / LIFE;
    context.fillStyle = spark.color;
    context.fillRect(spark.x - 1.5, spark.y - 1.5, 3, 3);
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
