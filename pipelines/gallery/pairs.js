
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

// A picture with the places that the record's answers name.
function boxed(record, at) {
  const segment = record.segments[at];
  if (segment.fault) return seen(segment);
  const box = make("div", "boxed");
  add(box, isClip(segment) ? flipbook(segment) : seen(segment));
  record.pair.boxes.filter((one) => one.media === at).forEach((one, number) => {
    const [left, top, width, height] = one.box.map((share) => `${share * 100}%`);
    const place = make("span", one.box[2] || one.box[3] ? "place" : "place point");
    place.style.left = left;
    place.style.top = top;
    place.style.width = width;
    place.style.height = height;
    place.style.setProperty("--hue", HUES[number % HUES.length]);
    place.title = one.label;
    add(place, make("b", "", String(number + 1)));
    box.append(place);
  });
  return box;
}
function legend(record) {
  if (!record.pair.boxes.length) return null;
  const list = make("ol", "legend");
  record.pair.boxes.forEach((one, number) => {
    const item = make("li", "", one.label);
    item.style.setProperty("--hue", HUES[number % HUES.length]);
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
    if (group.code !== null) add(side, codeView(record.pair.codes[group.code]));
    else add(side, legend(record) || answers(record));
    view.append(side);
  }
  if (record.pair.words) view.prepend(make("p", "words", record.pair.words));
  return view;
}
// Where there is no code to see: what is learnt, beside the picture.
function answers(record) {
  const node = make("pre", "");
  for (const segment of record.segments) if ("text" in segment) node.append(make("span", segment.loss ? "" : "soft", segment.text));
  node.dir = "auto";
  return node;
}

// On a card: the picture, or two of them where code was changed.
function pairFace(record) {
  if (!record.pair) return null;
  const firsts = record.pair.groups.map((group) => record.segments[group.media[0]]).filter((one) => one && !one.fault);
  if (firsts.length < 2 || isClip(firsts[0])) return null;
  return add(make("div", "face picture twin"), ...firsts.slice(0, 2).map((one) => seen(one)));
}
