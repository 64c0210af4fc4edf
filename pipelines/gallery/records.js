
// Cards, and one record opened beside them. A card shows Markdown as it reads; the opened record shows it as it is.
const FACE = 420; // characters on a card
function faceOf(record) {
  const face = make("div", "face words");
  let left = FACE;
  record.segments.forEach((segment, at) => {
    if (!("text" in segment) || left <= 0) return;
    lines(face, segment.text.slice(0, left), isCode(record, at));
    left -= segment.text.length;
  });
  return face;
}
function lines(face, text, isAll) {
  let code = isAll;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (!isAll && /^(```|~~~)/.test(line)) { code = !code; continue; }
    const heading = !code && /^#{1,6} /.test(line);
    const shown = code ? line : heading ? line.replace(/^#+ /, "") : line.replace(/^(\s*)[-*] /, "$1• ");
    add(face, make("div", code ? "c" : heading ? "h" : shown.trim() ? "" : "gap", shown));
  }
}
// A clip of 16 frames, 8 a second, lasts two seconds, though its last frame begins at 1.875.
function lasts(clip) {
  const whole = clip.fps ? clip.frames / clip.fps : 0;
  return clip.seconds === undefined || Math.abs(whole - clip.seconds) <= 1.5 / (clip.fps || 1) ? whole : clip.seconds;
}
function card(record) {
  const node = make("button", "card" + (record === state.open ? " on" : ""));
  node.type = "button";
  let face;
  if (record.media.length) {
    const first = record.media.find((segment) => !segment.fault) || record.media[0];
    face = pairFace(record) || add(make("div", "face picture" + (isClip(first) ? " clip" : "")), seen(first, 4));
    if (record.engine === "page" && !face.classList.contains("twin")) face.classList.add("top");
  } else face = faceOf(record);
  face.dir = "auto";
  const chips = make("div", "chips");
  add(chips, make("span", "chip", record.task || record.corpus), record.language && make("span", "", record.language));
  if (record.tokens || record.length) add(chips, make("span", "", record.tokens ? plural(record.tokens, "token") : plural(record.length, "character")));
  const clips = record.media.filter(isClip);
  if (clips.length) add(chips, make("span", "", clips.length === 1 ? `${lasts(clips[0]).toFixed(1)} s of video` : plural(clips.length, "clip")));
  if (record.media.length - clips.length > 1) add(chips, make("span", "", plural(record.media.length - clips.length, "picture")));
  if (record.duplicates.length) add(chips, make("span", "", `+${plural(record.duplicates.length + record.more_duplicates, "duplicate")}`));
  const name = make("div", "name", record.name);
  name.dir = "auto";
  name.title = record.name;
  add(node, face, add(make("div", "foot"), name, chips));
  node.addEventListener("click", () => show(record));
  record.card = node;
  return node;
}

function drawRecords() {
  state.list = DATA.records.filter(wanted);
  const pane = $("records");
  pane.replaceChildren();
  for (const record of DATA.records) record.card = null;
  for (const record of state.list.slice(0, state.shown)) pane.append(card(record));
  if (!state.list.length) pane.append(empty("No record shown here matches.", "The sets hold no records."));
  if (state.list.length > state.shown) {
    const more = make("button", "more", `Show ${count(Math.min(PAGE, state.list.length - state.shown))} more`);
    more.addEventListener("click", () => { state.shown += PAGE; drawRecords(); });
    pane.append(more);
  }
  $("found").textContent = `${count(state.list.length)} of ${count(DATA.records.length)}`;
}

function fact(list, label, value, className) {
  if (value === "" || value === null || value === undefined) return;
  add(list, make("dt", "", label), value instanceof Node ? add(make("dd"), value) : make("dd", className, value));
}
function link(set, sourceId) {
  const record = bySource.get(`${set} ${sourceId}`);
  if (!record) return make("span", "mono", sourceId);
  const node = make("button", "link", `${sourceId}  ${record.name}`);
  node.type = "button";
  node.addEventListener("click", () => show(record));
  return node;
}
function links(set, ids, more) {
  const node = make("div");
  for (const id of ids) add(node, add(make("div"), link(set, id)));
  if (more) add(node, make("div", "soft", `and ${count(more)} more`));
  return node;
}

function segmentView(segment, at, record) {
  const above = "text" in segment && record.pair && record.pair.codes[at] && isLearnt(record, at);
  const box = make(above ? "details" : "div", "segment" + (segment.loss === false ? " context" : ""));
  const label = make(above ? "summary" : "div", "label");
  if ("text" in segment) {
    add(label, make("span", "", `${at} · ${segment.loss ? "text" : "text, context only (no loss)"}${above ? " · the code shown above" : ""}`), make("span", "", plural(segment.text.length + segment.more, "character")));
    const code = record.pair && record.pair.codes[at];
    const text = code ? codeView(code) : make("pre", "", segment.text);
    text.dir = code ? "ltr" : "auto";
    add(box, label, text);
    if (segment.more) add(box, make("div", "label", `… ${count(segment.more)} more; trivium shards show prints all of it`));
    return box;
  }
  const size = `${segment.width} × ${segment.height} px`;
  if (!isClip(segment)) {
    add(label, make("span", "", `${at} · ${segment.media}  ${segment.mime}`), make("span", "", size));
    return add(box, label, add(make("div", "picture"), seen(segment)));
  }
  const rate = Math.round(segment.fps * 100) / 100;
  add(label, make("span", "", `${at} · ${segment.media}  ${segment.codec || segment.mime}`), make("span", "", `${size}, ${plural(segment.frames, "frame")}, ${rate} a second`));
  add(box, label, add(make("div", "frames"), seen(segment)));
  for (const note of segment.notes || []) add(box, add(make("div", "label"), make("span", "chip bad", note)));
  return box;
}

function lineageView(record) {
  const facts = make("dl", "facts");
  fact(facts, "source", `${record.source}: ${record.address}`);
  fact(facts, "title", record.title);
  fact(facts, "source bytes", record.sha256 && `sha256 ${record.sha256}`, "mono");
  fact(facts, "recipe", record.recipe, "mono");
  fact(facts, "licence", record.licence);
  fact(facts, "language", record.language);
  if (record.parents.length) fact(facts, "parents", record.parents.join(" "), "mono");
  const steps = make("ol", "steps");
  for (const one of record.steps) {
    const counts = Object.entries(one.counts || {}).map(([what, n]) => `${what}: ${count(n)}`);
    const settings = [...counts, (one.parameters || "").slice(0, 16), one.seed === undefined || one.seed === null ? "" : `seed ${one.seed}`].filter(Boolean);
    add(steps, add(make("li", "", `${one.name} v${one.version} `), make("small", "", settings.join(", "))));
  }
  return [make("h3", "", "Lineage"), facts, make("h3", "", "Steps, in order"), record.steps.length ? steps : make("span", "soft", "none")];
}

function show(record) {
  if (state.open && state.open.card) state.open.card.classList.remove("on");
  state.open = record;
  const pane = $("detail");
  pane.replaceChildren();
  pane.hidden = !record;
  document.body.classList.toggle("open", Boolean(record));
  document.body.classList.toggle("wide", Boolean(record && (record.pair || record.rewrite)));
  if (!record) return;
  if (record.card) { record.card.classList.add("on"); record.card.scrollIntoView({ block: "nearest" }); }
  const bar = make("div", "bar");
  add(bar, make("h2", "", record.name));
  for (const [label, title, act] of [["←", "Previous", () => step(-1)], ["→", "Next", () => step(1)], ["✕", "Close (Esc)", () => show(null)]]) {
    const button = make("button", "", label);
    button.title = title;
    button.setAttribute("aria-label", title);
    button.addEventListener("click", act);
    bar.append(button);
  }
  add(pane, bar, pairView(record), ...rewriteView(record));
  if (record.pair || record.rewrite) add(pane, make("h3", "", "The document, in order"));
  add(pane, ...record.segments.map((segment, at) => segmentView(segment, at, record)));
  if (record.more_segments) add(pane, make("p", "soft", `… and ${plural(record.more_segments, "more segment", "more segments")}`));
  add(pane, ...lineageView(record));
  if (record.evidence.length) {
    add(pane, make("h3", "", "What its questions rest on"));
    for (const one of record.evidence) add(pane, make("div", "", `${one.task}: the answer at token ${count(one.answer)} rests on what begins at ${one.at.map(count).join(", ")}`));
  }
  if (Object.keys(record.scores).length && !record.rewrite) {
    add(pane, make("h3", "", "Scores"));
    const scores = make("dl", "facts scores");
    for (const [key, value] of Object.entries(record.scores)) fact(scores, key, typeof value === "number" ? rounded(value) : "no number");
    pane.append(scores);
  }
  add(pane, make("h3", "", "Duplicates"));
  const cluster = make("dl", "facts");
  fact(cluster, "cluster", record.cluster && record.cluster !== record.source_id ? link(record.set, record.cluster) : "this one leads it");
  if (record.duplicates.length) fact(cluster, "survived", links(record.set, record.duplicates, record.more_duplicates));
  const beside = clusterOf.get(`${record.set} ${record.source_id}`);
  if (beside) fact(cluster, "side by side", showCluster(beside, `its ${plural(beside.size, "member")}`));
  add(pane, cluster, make("h3", "", "Stored"));
  const stored = make("dl", "facts");
  fact(stored, "id", record.id, "mono");
  fact(stored, "source_id", record.source_id, "mono");
  fact(stored, "place", `${record.shard}, byte ${count(record.offset)}, ${plural(record.bytes, "byte")}`);
  fact(stored, "length", record.tokens ? `${plural(record.tokens, "token")}, ${plural(record.patches, "patch", "patches")}, bucket ${record.bucket}` : "not tokenised");
  add(pane, stored);
  pane.scrollTop = 0;
}
function step(by) {
  if (!state.list.length) return;
  const at = state.list.indexOf(state.open);
  const next = at < 0 ? 0 : Math.min(state.list.length - 1, Math.max(0, at + by));
  if (next >= state.shown) { state.shown += PAGE; drawRecords(); }
  show(state.list[next]);
}
