// A maze is dug, then a walker finds the way out by keeping its hand on the wall.
const WIDTH = 300;
const HEIGHT = 240;
const CELL = 20; // pixels
const STEP = 70; // milliseconds from cell to cell
const BACKGROUND = "white";
const WALL_COLOR = "darkslateblue";
const WALKER_COLOR = "crimson";
const PATH_COLOR = "mistyrose";
const EXIT_COLOR = "limegreen";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const COLUMNS = WIDTH / CELL;
const ROWS = HEIGHT / CELL;
const WAYS = [[1, 0], [0, 1], [-1, 0], [0, -1]]; // right, down, left, up
const open = []; // for each cell whether one can leave it each way
for (let i = 0; i < COLUMNS * ROWS; i++) open.push([false, false, false, false]);

function dig() {
  const seen = new Set([0]);
  const stack = [[0, 0]];
  while (stack.length > 0) {
    const [x, y] = stack[stack.length - 1];
    const free = [0, 1, 2, 3].filter((way) => {
      const nx = x + WAYS[way][0], ny = y + WAYS[way][1];
      return nx >= 0 && ny >= 0 && nx < COLUMNS && ny < ROWS && !seen.has(ny * COLUMNS + nx);
    });
    if (free.length === 0) {
      stack.pop();
      continue;
    }
    const way = free[Math.floor(Math.random() * free.length)];
    const nx = x + WAYS[way][0], ny = y + WAYS[way][1];
    open[y * COLUMNS + x][way] = true;
    open[ny * COLUMNS + nx][(way + 2) % 4] = true;
    seen.add(ny * COLUMNS + nx);
    stack.push([nx, ny]);
  }
}

dig();
const walker = { x: 0, y: 0, way: 0 };
const visited = [[0, 0]];

function step() {
  if (walker.x === COLUMNS - 1 && walker.y === ROWS - 1) return;
  for (const turn of [1, 0, 3, 2]) {
    const way = (walker.way + turn) % 4;
    if (!open[walker.y * COLUMNS + walker.x][way]) continue;
    walker.way = way;
    walker.x += WAYS[way][0];
    walker.y += WAYS[way][1];
    visited.push([walker.x, walker.y]);
    return;
  }
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = PATH_COLOR;
  for (const [x, y] of visited) context.fillRect(x * CELL, y * CELL, CELL, CELL);
  context.fillStyle = EXIT_COLOR;
  context.fillRect(WIDTH - CELL, HEIGHT - CELL, CELL, CELL);
  context.strokeStyle = WALL_COLOR;
  context.lineWidth = 2;
  context.beginPath();
  open.forEach((ways, i) => {
    const x = (i % COLUMNS) * CELL, y = Math.floor(i / COLUMNS) * CELL;
    if (!ways[0]) context.rect(x + CELL, y, 0, CELL);
    if (!ways[1]) context.rect(x, y + CELL, CELL, 0);
  });
  context.rect(1, 1, WIDTH - 2, HEIGHT - 2);
  context.stroke();
  context.fillStyle = WALKER_COLOR;
  context.beginPath();
  context.arc((walker.x + 0.5) * CELL, (walker.y + 0.5) * CELL, CELL / 3, 0, Math.PI * 2);
  context.fill();
}

draw();
setInterval(() => {
  step();
  draw();
}, STEP);
