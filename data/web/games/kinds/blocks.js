// Falling blocks: left and right move, up turns, down drops faster; full rows go.
const WIDTH = 200;
const HEIGHT = 280;
const CELL = 20; // pixels
const STEP = 160; // milliseconds from one row to the next
const BACKGROUND = "black";
const GRID_COLOR = "#222222";
const COLORS = ["cyan", "gold", "orchid", "limegreen", "tomato"];

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const COLUMNS = WIDTH / CELL;
const ROWS = HEIGHT / CELL;
const PIECES = [["xxxx"], ["xx", "xx"], [" x ", "xxx"], ["xx ", " xx"], ["x  ", "xxx"]];
let heap, piece;

function start() {
  heap = [];
  for (let row = 0; row < ROWS; row++) heap.push(Array(COLUMNS).fill(null));
  // A few rows are there already, each with two holes.
  for (let row = ROWS - 3; row < ROWS; row++) {
    const hole = Math.floor(Math.random() * (COLUMNS - 1));
    for (let x = 0; x < COLUMNS; x++) if (x !== hole && x !== hole + 1) heap[row][x] = COLORS[row % COLORS.length];
  }
  newPiece();
}

function newPiece() {
  const kind = Math.floor(Math.random() * PIECES.length);
  piece = { shape: PIECES[kind], color: COLORS[kind], x: Math.floor(COLUMNS / 2) - 1, y: 0 };
  if (!fits(piece.shape, piece.x, piece.y)) start();
}

function cells(shape, x, y) {
  const found = [];
  shape.forEach((line, row) => {
    for (let column = 0; column < line.length; column++) if (line[column] === "x") found.push([x + column, y + row]);
  });
  return found;
}

function fits(shape, x, y) {
  return cells(shape, x, y).every(([cx, cy]) => cx >= 0 && cx < COLUMNS && cy < ROWS && heap[cy][cx] === null);
}

function turned(shape) {
  return Array.from(shape[0], (_, column) => shape.map((line) => line[column]).reverse().join(""));
}

function step() {
  if (fits(piece.shape, piece.x, piece.y + 1)) {
    piece.y += 1;
    return;
  }
  for (const [x, y] of cells(piece.shape, piece.x, piece.y)) heap[y][x] = piece.color;
  heap = heap.filter((row) => row.includes(null));
  while (heap.length < ROWS) heap.unshift(Array(COLUMNS).fill(null));
  newPiece();
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const falling = cells(piece.shape, piece.x, piece.y);
  for (let y = 0; y < ROWS; y++) {
    for (let x = 0; x < COLUMNS; x++) {
      const moving = falling.some(([cx, cy]) => cx === x && cy === y);
      context.fillStyle = moving ? piece.color : heap[y][x] || GRID_COLOR;
      context.fillRect(x * CELL + 1, y * CELL + 1, CELL - 2, CELL - 2);
    }
  }
}

addEventListener("keydown", (event) => {
  const shape = event.key === "ArrowUp" ? turned(piece.shape) : piece.shape;
  const x = piece.x + (event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0);
  const y = piece.y + (event.key === "ArrowDown" ? 1 : 0);
  if (fits(shape, x, y)) Object.assign(piece, { shape, x, y });
  draw();
});

start();
draw();
setInterval(() => {
  step();
  draw();
}, STEP);
