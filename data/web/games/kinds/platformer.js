// A platformer: run with the left and right arrow keys, jump with the space bar, take the coins.
const WIDTH = 360;
const HEIGHT = 240;
const PLATFORMS = 4;
const PLATFORM_WIDTH = 80; // pixels
const RUN_SPEED = 130; // pixels a second
const JUMP_SPEED = 300; // pixels a second
const GRAVITY = 700; // pixels a second, each second
const PLAYER_SIZE = 18; // pixels
const SKY_COLOR = "skyblue";
const GROUND_COLOR = "sienna";
const PLATFORM_COLOR = "seagreen";
const PLAYER_COLOR = "crimson";
const COIN_COLOR = "gold";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const GROUND = HEIGHT - 24;
const keys = {};
const platforms = [{ x: 0, y: GROUND, width: WIDTH }];
const coins = [];
for (let i = 0; i < PLATFORMS; i++) {
  const x = ((i + 0.5) / PLATFORMS) * (WIDTH - PLATFORM_WIDTH);
  const y = GROUND - 45 - (i % 3) * 42;
  platforms.push({ x, y, width: PLATFORM_WIDTH });
  coins.push({ x: x + PLATFORM_WIDTH / 2, y: y - 14, taken: false });
}
const player = { x: 20, y: GROUND - PLAYER_SIZE, vy: 0, standing: true };

function update(seconds) {
  if (keys.ArrowLeft) player.x -= RUN_SPEED * seconds;
  if (keys.ArrowRight) player.x += RUN_SPEED * seconds;
  player.x = Math.max(0, Math.min(WIDTH - PLAYER_SIZE, player.x));
  if (keys[" "] && player.standing) player.vy = -JUMP_SPEED;
  player.vy += GRAVITY * seconds;
  const feet = player.y + PLAYER_SIZE;
  player.y += player.vy * seconds;
  player.standing = false;
  for (const platform of platforms) {
    const above = player.x + PLAYER_SIZE > platform.x && player.x < platform.x + platform.width;
    if (player.vy > 0 && above && feet <= platform.y + 0.01 && player.y + PLAYER_SIZE >= platform.y) {
      player.y = platform.y - PLAYER_SIZE;
      player.vy = 0;
      player.standing = true;
    }
  }
  for (const coin of coins) {
    const middle = PLAYER_SIZE / 2;
    if (Math.hypot(player.x + middle - coin.x, player.y + middle - coin.y) < PLAYER_SIZE) coin.taken = true;
  }
}

function draw() {
  context.fillStyle = SKY_COLOR;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  platforms.forEach((platform, i) => {
    context.fillStyle = i === 0 ? GROUND_COLOR : PLATFORM_COLOR;
    context.fillRect(platform.x, platform.y, platform.width, i === 0 ? HEIGHT - GROUND : 10);
  });
  for (const coin of coins) {
    if (coin.taken) continue;
    context.fillStyle = COIN_COLOR;
    context.beginPath();
    context.arc(coin.x, coin.y, 6, 0, Math.PI * 2);
    context.fill();
  }
  context.fillStyle = PLAYER_COLOR;
  context.fillRect(player.x, player.y, PLAYER_SIZE, PLAYER_SIZE);
  context.fillStyle = "black";
  context.font = "12px sans-serif";
  context.fillText("Coins: " + coins.filter((coin) => coin.taken).length, 8, 16);
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
