
// Records of code and picture: each code beside what it draws, boxes over pictures, clips that move.
const HUES = [210, 20, 130, 280, 45, 175, 330, 95];
const FLIP = 260; // milliseconds a frame

// Lines of coloured code; what differs between two codes of a record is marked.
function codeView(lines) {
  const node = make("pre", "code");
  for (const [mark, runs] of lines) {
    const line = make("span", "line" + (mark === "+" ? " plus" : mark === "-" ? " minus" : ""));
    for (const [kind, text] of runs) line.append(kind ? make("span", "tok-" + kind, text) : document.createTextNode(text));
    line.append(document.createTextNode("\n"));
    node.append(line);
  }
  return node;
}

// A clip as a picture that moves; one click stops it.
function flipbook(segment) {
  const frames = segment.strip.map((frame) => drawn(frame.uri, `frame at ${frame.seconds} s`));
  const box = make("div", "flipbook");
  box.title = "click to stop or go on";
  add(box, ...frames);
  let at = 0, moving = true;
  const turn = () => frames.forEach((frame, number) => { frame.hidden = number !== at; });
  turn();
  box.addEventListener("click", () => { moving = !moving; });
  const timer = setInterval(() => {
    if (!box.isConnected) return clearInterval(timer);
    if (moving && frames.length) { at = (at + 1) % frames.length; turn(); }
  }, FLIP);
  return box;
}

// A picture with the places that the record's answers name. All places of one question have its number and colour.
function boxed(record, at) {
  const segment = record.segments[at];
  if (segment.fault) return seen(segment);
  const box = make("div", "boxed");
  add(box, isClip(segment) ? flipbook(segment) : seen(segment));
  const marks = [];
  record.pair.boxes.forEach((asked, number) => {
    for (const shares of asked.media === at ? asked.boxes : []) {
      const [left, top, width, height] = shares.map((share) => `${share * 100}%`);
      const place = make("span", shares[2] || shares[3] ? "place" : "place point");
      Object.assign(place.style, { left, top, width, height });
      place.title = asked.label;
      const name = make("b", "number", String(number + 1));
      name.title = asked.label;
      for (const node of [place, name]) {
        node.dataset.asked = number;
        node.style.setProperty("--hue", HUES[number % HUES.length]);
      }
      add(box, place, name);
      marks.push({ place, name });
    }
  });
  if (marks.length) new ResizeObserver(() => { if (box.clientWidth) setNumbers(box, marks); }).observe(box);
  return box;
}

// Numbers stand beside their marks, where they hide least: of other numbers, of marks, of what a small mark holds.
const AROUND = 15, EDGE = 3, SMALL = 40; // pixels: past the picture, of a frame's line, of a mark that is hidden whole
function setNumbers(box, marks) {
  const covered = (one, other) =>
    Math.max(0, Math.min(one.x + one.w, other.x + other.w) - Math.max(one.x, other.x)) *
    Math.max(0, Math.min(one.y + one.h, other.y + other.h) - Math.max(one.y, other.y));
  const edges = ({ x, y, w, h }) => [
    { x, y, w, h: EDGE }, { x, y: y + h - EDGE, w, h: EDGE }, { x, y, w: EDGE, h }, { x: x + w - EDGE, y, w: EDGE, h },
  ];
  const held = marks.map(({ place, name }) => ({
    name, point: place.classList.contains("point"), x: place.offsetLeft, y: place.offsetTop, w: place.offsetWidth, h: place.offsetHeight, nw: name.offsetWidth, nh: name.offsetHeight,
  }));
  const whole = held.filter((one) => Math.min(one.w, one.h) < SMALL);
  const lines = held.flatMap(edges);
  const set = [];
  for (const { name, point, x, y, w, h, nw, nh } of held) {
    let best = null;
    const across = [x - nw - 1, x + w + 1, x, x + w - nw], down = [y, y - nh - 1, y + h + 1, y + h - nh, y + (h - nh) / 2];
    across.forEach((left, i) => down.forEach((top, k) => {
      const at = { x: left, y: top, w: nw, h: nh };
      const out = left < -AROUND || top < -AROUND || left + nw > box.clientWidth + AROUND || top + nh > box.clientHeight + AROUND;
      const beside = point && top < y + h && top + nh > y; // words run on to the left and right of their centre
      let cost = (out ? 1e6 : 0) + (beside ? 400 : 0) + i + k;
      for (const other of set) cost += 20 * covered(at, other);
      for (const line of lines) cost += 2 * covered(at, line);
      for (const other of whole) cost += covered(at, other);
      if (!best || cost < best.cost) best = { ...at, cost };
    }));
    set.push(best);
    name.style.left = `${best.x}px`;
    name.style.top = `${best.y}px`;
  }
}

// One line for each question; the places of the one that is pointed at stand out.
function legend(record) {
  if (!record.pair.boxes.length) return null;
  const list = make("ol", "legend");
  record.pair.boxes.forEach((asked, number) => {
    const item = make("li", "", asked.asked);
    if (asked.boxes.length > 1) add(item, make("span", "soft", ` × ${asked.boxes.length}`));
    add(item, make("div", "answer", asked.answer));
    item.style.setProperty("--hue", HUES[number % HUES.length]);
    const point = (on) => {
      for (const node of list.closest(".pair").querySelectorAll("[data-asked]")) node.classList.toggle("away", on && node.dataset.asked !== String(number));
    };
    item.addEventListener("mouseenter", () => point(true));
    item.addEventListener("mouseleave", () => point(false));
    list.append(item);
  });
  return list;
}

// The pair itself, above the document: one column for each code, pictures over it; a single one lies beside its code.
function pairView(record) {
  if (!record.pair || !record.pair.groups.length) return null;
  const groups = record.pair.groups.filter((group) => group.code !== null || record.pair.groups.length === 1);
  const shown = groups.length ? groups : record.pair.groups;
  const view = make("div", "pair " + (shown.length === 1 ? "single" : "several"));
  for (const group of shown.slice(0, 4)) {
    const side = make("div", "pairside");
    const pictures = make("div", "picture" + (group.media.length > 1 ? " views" : ""));
    for (const at of group.media) pictures.append(boxed(record, at));
    add(side, pictures);
    if (group.code !== null && isLearnt(record, group.code)) add(side, codeView(record.pair.codes[group.code]));
    else add(side, legend(record) || answers(record));
    view.append(side);
  }
  const words = make("div", "words");
  for (const [text, learnt] of record.pair.words) words.append(make("p", learnt ? "learnt" : "soft", text));
  if (record.pair.words.length) view.prepend(words);
  return view;
}
// What is asked and learnt, beside the picture: where there is no code, or where code is given and words are learnt.
function answers(record) {
  const node = make("pre", "said");
  record.segments.forEach((segment, at) => {
    if (!("text" in segment) || isCode(record, at)) return;
    const text = segment.text.replace(/^```.*\n?/gm, "");
    if (text.trim()) node.append(make("span", segment.loss ? "learnt" : "soft", text));
  });
  node.dir = "auto";
  return node;
}
// Code in a task's document is a segment of its own; what follows it closes its fence, or parts it from the words.
function isCode(record, at) {
  if (record.pair && record.pair.codes[at]) return true;
  const segment = record.segments[at], next = record.segments[at + 1];
  if (!record.task || record.rewrite || record.pair || !at || segment.loss || !next || !("text" in next)) return false;
  return /^\s*(```\s*)?$/.test(next.text);
}
// Whether the code of a group stands above the document: not where it is only given, and words are what is learnt.
const isLearnt = (record, at) => record.segments[at].loss || Object.keys(record.pair.codes).length > 1;

// On a card: the picture, or two of them where code was changed.
function pairFace(record) {
  if (!record.pair) return null;
  const firsts = record.pair.groups.map((group) => record.segments[group.media[0]]).filter((one) => one && !one.fault);
  if (firsts.length < 2 || isClip(firsts[0])) return null;
  return add(make("div", "face picture twin"), ...firsts.slice(0, 2).map((one) => seen(one)));
}
