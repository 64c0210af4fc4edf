// A clock with three hands; its day may pass faster than ours.
const WIDTH = 240;
const HEIGHT = 240;
const HOUR = 10; // at the start
const MINUTE = 8; // at the start
const HASTE = 20; // seconds of the clock in one second
const RADIUS = 100; // pixels
const BACKGROUND = "lavender";
const FACE_COLOR = "white";
const RIM_COLOR = "midnightblue";
const HAND_COLOR = "black";
const SECOND_COLOR = "crimson";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

function hand(turn, length, width, color) {
  context.save();
  context.rotate(turn * Math.PI * 2);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(0, length * 0.15);
  context.lineTo(0, -length);
  context.stroke();
  context.restore();
}

function face() {
  context.fillStyle = FACE_COLOR;
  context.strokeStyle = RIM_COLOR;
  context.lineWidth = 6;
  context.beginPath();
  context.arc(0, 0, RADIUS, 0, Math.PI * 2);
  context.fill();
  context.stroke();
  context.fillStyle = RIM_COLOR;
  context.font = "bold 16px sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let hour = 1; hour <= 12; hour++) {
    const angle = (hour / 12) * Math.PI * 2;
    context.fillText(hour, Math.sin(angle) * (RADIUS - 18), -Math.cos(angle) * (RADIUS - 18));
  }
}

function frame(now) {
  const seconds = (HOUR * 60 + MINUTE) * 60 + (now / 1000) * HASTE;
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.save();
  context.translate(WIDTH / 2, HEIGHT / 2);
  face();
  hand(seconds / 43200, RADIUS * 0.5, 6, HAND_COLOR);
  hand(seconds / 3600, RADIUS * 0.75, 4, HAND_COLOR);
  hand(seconds / 60, RADIUS * 0.85, 2, SECOND_COLOR);
  context.restore();
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
