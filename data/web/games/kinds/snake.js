// Snake: steer with the arrow keys, eat, and don't bite yourself.
const WIDTH = 320;
const HEIGHT = 240;
const CELL = 16; // pixels
const LENGTH = 5; // cells of a new snake
const STEP = 140; // milliseconds from cell to cell
const FOOD = 1; // pieces at once
const BACKGROUND = "darkgreen";
const SNAKE_COLOR = "gold";
const HEAD_COLOR = "white";
const FOOD_COLOR = "crimson";

const canvas = document.getElementById("scene");
const context = canvas.getContext("2d");
canvas.width = WIDTH;
canvas.height = HEIGHT;

const COLUMNS = Math.floor(WIDTH / CELL);
const ROWS = Math.floor(HEIGHT / CELL);
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
let snake, way, next, food;

function start() {
  const row = Math.floor(ROWS / 2);
  snake = [];
  for (let i = 0; i < LENGTH; i++) snake.push([LENGTH + 1 - i, row]);
  way = next = WAYS.ArrowRight;
  food = [];
  while (food.length < FOOD) food.push(freeCell());
}

function has(cells, [x, y]) {
  return cells.some((cell) => cell[0] === x && cell[1] === y);
}

function freeCell() {
  for (;;) {
    const cell = [Math.floor(Math.random() * COLUMNS), Math.floor(Math.random() * ROWS)];
    if (!has(snake, cell) && !has(food, cell)) return cell;
  }
}

function step() {
  way = next;
  const head = [snake[0][0] + way[0], snake[0][1] + way[1]];
  const outside = head[0] < 0 || head[1] < 0 || head[0] >= COLUMNS || head[1] >= ROWS;
  if (outside || has(snake, head)) {
    start();
    return;
  }
  snake.unshift(head);
  if (has(food, head)) {
    food = food.filter((cell) => !has([cell], head));
    food.push(freeCell());
  } else {
    snake.pop();
  }
}

function square([x, y], color) {
  context.fillStyle = color;
  context.fillRect(x * CELL + 1, y * CELL + 1, CELL - 2, CELL - 2);
}

function draw() {
  context.fillStyle = BACKGROUND;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const cell of food) square(cell, FOOD_COLOR);
  snake.forEach((cell, i) => square(cell, i === 0 ? HEAD_COLOR : SNAKE_COLOR));
}

addEventListener("keydown", (event) => {
  const wanted = WAYS[event.key];
  if (wanted && wanted[0] !== -way[0]) next = wanted;
});

start();
draw();
setInterval(() => {
  step();
  draw();
}, STEP);
