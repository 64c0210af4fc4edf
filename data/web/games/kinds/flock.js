// A flock of birds: each keeps away from those too near, flies as the others do, and stays with them.
const WIDTH = 320;
const HEIGHT = 240;
const BIRDS = 40;
const SPEED = 90; // pixels a second
const SIGHT = 45; // pixels
const TOO_NEAR = 14; // pixels
const TURN = 3; // radians a second
const SIZE = 7; // pixels
const BACKGROUND = "aliceblue";
const BIRD_COLOR = "slateblue";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const birds = [];
for (let i = 0; i < BIRDS; i++) {
  birds.push({ x: Math.random() * WIDTH, y: Math.random() * HEIGHT, angle: Math.random() * Math.PI * 2 });
}

function wanted(bird) {
  let awayX = 0, awayY = 0, sumX = 0, sumY = 0, headX = 0, headY = 0, seen = 0;
  for (const other of birds) {
    const dx = other.x - bird.x, dy = other.y - bird.y;
    const distance = Math.hypot(dx, dy);
    if (other === bird || distance > SIGHT) continue;
    if (distance < TOO_NEAR) {
      awayX -= dx;
      awayY -= dy;
    }
    sumX += dx;
    sumY += dy;
    headX += Math.cos(other.angle);
    headY += Math.sin(other.angle);
    seen += 1;
  }
  if (seen === 0) return bird.angle;
  if (awayX !== 0 || awayY !== 0) return Math.atan2(awayY, awayX);
  return Math.atan2(headY / seen + sumY / seen / SIGHT, headX / seen + sumX / seen / SIGHT);
}

function update(seconds) {
  const aims = birds.map(wanted);
  birds.forEach((bird, i) => {
    const off = Math.atan2(Math.sin(aims[i] - bird.angle), Math.cos(aims[i] - bird.angle));
    bird.angle += Math.max(-TURN * seconds, Math.min(TURN * seconds, off));
    bird.x = (bird.x + Math.cos(bird.angle) * SPEED * seconds + WIDTH) % WIDTH;
    bird.y = (bird.y + Math.sin(bird.angle) * SPEED * seconds + HEIGHT) % HEIGHT;
  });
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = BIRD_COLOR;
  for (const bird of birds) {
    context.save();
    context.translate(bird.x, bird.y);
    context.rotate(bird.angle);
    context.beginPath();
    context.moveTo(SIZE, 0);
    context.lineTo(-SIZE, SIZE / 2);
    context.lineTo(-SIZE, -SIZE / 2);
    context.fill();
    context.restore();
  }
}

let before = 0;
function frame(now) {
  update((now - before) / 1000);
  before = now;
  draw();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
