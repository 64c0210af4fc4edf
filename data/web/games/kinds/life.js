// Conway's game of life on a torus: a cell lives on with two or three neighbours and is born with three.
const WIDTH = 320;
const HEIGHT = 240;
const CELL = 8; // pixels
const DENSITY = 0.3; // share of cells that live at the start
const STEP = 150; // milliseconds from one generation to the next
const BACKGROUND = "black";
const CELL_COLOR = "limegreen";
const BORN_COLOR = "gold";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const COLUMNS = Math.floor(WIDTH / CELL);
const ROWS = Math.floor(HEIGHT / CELL);
let cells = [];
for (let i = 0; i < COLUMNS * ROWS; i++) cells.push(Math.random() < DENSITY ? 1 : 0);

function neighbours(column, row) {
  let count = 0;
  for (let dy = -1; dy <= 1; dy++) {
    for (let dx = -1; dx <= 1; dx++) {
      if (dx === 0 && dy === 0) continue;
      const x = (column + dx + COLUMNS) % COLUMNS;
      const y = (row + dy + ROWS) % ROWS;
      if (cells[y * COLUMNS + x] > 0) count += 1;
    }
  }
  return count;
}

// 0 is dead, 2 was born just now, 1 is older.
function step() {
  cells = cells.map((cell, i) => {
    const count = neighbours(i % COLUMNS, Math.floor(i / COLUMNS));
    if (cell > 0) return count === 2 || count === 3 ? 1 : 0;
    return count === 3 ? 2 : 0;
  });
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  cells.forEach((cell, i) => {
    if (cell === 0) return;
    context.fillStyle = cell === 2 ? BORN_COLOR : CELL_COLOR;
    context.fillRect((i % COLUMNS) * CELL, Math.floor(i / COLUMNS) * CELL, CELL - 1, CELL - 1);
  });
}

draw();
setInterval(() => {
  step();
  draw();
}, STEP);
