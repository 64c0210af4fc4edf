// Pendulums of growing length that swing side by side, each at its own pace.
const WIDTH = 320;
const HEIGHT = 240;
const PENDULUMS = 7;
const SHORTEST = 60; // pixels
const LONGEST = 170; // pixels
const BOB_RADIUS = 9; // pixels
const SWING = 0.6; // radians to each side
const GRAVITY = 900; // pixels a second, each second
const BACKGROUND = "ivory";
const BOB_COLOR = "royalblue";
const ROD_COLOR = "gray";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const TOP = 20;
const pendulums = [];
for (let i = 0; i < PENDULUMS; i++) {
  const length = SHORTEST + ((LONGEST - SHORTEST) * i) / Math.max(1, PENDULUMS - 1);
  pendulums.push({ pivot: (WIDTH * (i + 1)) / (PENDULUMS + 1), length, pace: Math.sqrt(GRAVITY / length), x: 0, y: 0 });
}

function update(seconds) {
  for (const one of pendulums) {
    const angle = SWING * Math.cos(one.pace * seconds);
    one.x = one.pivot + Math.sin(angle) * one.length;
    one.y = TOP + Math.cos(angle) * one.length;
  }
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = ROD_COLOR;
  context.fillRect(10, TOP - 4, WIDTH - 20, 4);
  for (const one of pendulums) {
    context.strokeStyle = ROD_COLOR;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(one.pivot, TOP);
    context.lineTo(one.x, one.y);
    context.stroke();
    context.fillStyle = BOB_COLOR;
    context.beginPath();
    context.arc(one.x, one.y, BOB_RADIUS, 0, Math.PI * 2);
    context.fill();
  }
}

function frame(now) {
  update(now / 1000);
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
