"use strict";
// Records are foreign text: they reach the page through textContent and data: pictures only.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PAGE = 120;
const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en-US");
const state = { tab: "records", shown: PAGE, open: null, list: DATA.records };

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
}
function add(parent, ...children) {
  for (const child of children) if (child) parent.append(child);
  return parent;
}
function picture(segment) {
  if (!segment.uri || !segment.uri.startsWith("data:image/webp;base64,")) return make("span", "chip bad", segment.fault || "no picture");
  const image = make("img");
  image.src = segment.uri;
  image.alt = `${segment.media}, ${segment.width} × ${segment.height}`;
  image.loading = "lazy";
  return image;
}

// Search text is made once for each record.
for (const record of DATA.records) {
  const texts = record.segments.filter((s) => "text" in s);
  record.text = texts.map((s) => s.text).join("");
  record.length = texts.reduce((sum, s) => sum + s.text.length + s.more, 0);
  record.pictures = record.segments.filter((s) => "media" in s);
  record.find = [record.text, record.title, record.address, record.id, record.source_id].join("\n").toLowerCase();
}
for (const reject of DATA.rejects) reject.find = [reject.excerpt, reject.detail, reject.address, reject.source_id, reject.reason].join("\n").toLowerCase();
const bySource = new Map(DATA.records.map((record) => [record.source_id, record]));

function fill(select, name, all) {
  const counts = new Map();
  for (const record of DATA.records) counts.set(record[name], (counts.get(record[name]) || 0) + 1);
  const option = make("option", "", all);
  option.value = "";
  select.append(option);
  for (const [value, n] of [...counts].sort((a, b) => b[1] - a[1])) {
    const one = make("option", "", `${value || "(none)"}  ${count(n)}`);
    one.value = "=" + value;
    select.append(one);
  }
}
fill($("corpus"), "corpus", "every corpus");
fill($("language"), "language", "every language");
fill($("licence"), "licence", "every licence");

function wanted(record) {
  for (const name of ["corpus", "language", "licence"]) {
    const value = $(name).value;
    if (value && record[name] !== value.slice(1)) return false;
  }
  const kind = $("kind").value;
  if (kind && (kind === "picture") !== record.pictures.length > 0) return false;
  return record.find.includes($("search").value.toLowerCase());
}
function name(record) {
  return record.title || record.address || record.id;
}

function card(record) {
  const node = make("button", "card" + (record === state.open ? " on" : ""));
  node.type = "button";
  let face;
  if (record.pictures.length) face = add(make("div", "face picture"), picture(record.pictures[0]));
  else face = make("div", "face", record.text.slice(0, 420));
  face.dir = "auto";
  const chips = make("div", "chips");
  add(chips, make("span", "chip", record.corpus), record.language && make("span", "", record.language));
  add(chips, make("span", "", record.tokens ? `${count(record.tokens)} tokens` : `${count(record.length)} chars`));
  if (record.pictures.length > 1) add(chips, make("span", "", `${record.pictures.length} pictures`));
  if (record.duplicates.length) add(chips, make("span", "", `+${record.duplicates.length} dup`));
  add(node, face, add(make("div", "foot"), make("div", "name", name(record)), chips));
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
  if (!state.list.length) pane.append(make("div", "empty", "No record matches."));
  if (state.list.length > state.shown) {
    const more = make("button", "more", `Show ${count(Math.min(PAGE, state.list.length - state.shown))} more`);
    more.addEventListener("click", () => { state.shown += PAGE; drawRecords(); });
    pane.append(more);
  }
  const total = DATA.sets.reduce((sum, set) => sum + set.records, 0);
  $("found").textContent = `${count(state.list.length)} of ${count(DATA.records.length)} shown` + (total > DATA.records.length ? `, drawn from ${count(total)}` : "");
}

function fact(list, label, value, className) {
  if (value === "" || value === null || value === undefined) return;
  add(list, make("dt", "", label), value instanceof Node ? add(make("dd"), value) : make("dd", className, value));
}
function link(sourceId) {
  const record = bySource.get(sourceId);
  if (!record) return make("span", "mono", sourceId);
  const node = make("button", "link", `${sourceId}  ${name(record)}`);
  node.type = "button";
  node.addEventListener("click", () => show(record));
  return node;
}
function links(ids) {
  const node = make("div");
  for (const id of ids) add(node, add(make("div"), link(id)));
  return node;
}

function segmentView(segment) {
  const box = make("div", "segment" + (segment.loss === false ? " context" : ""));
  const label = make("div", "label");
  if ("text" in segment) {
    add(label, make("span", "", segment.loss ? "text" : "text, context only (no loss)"), make("span", "", `${count(segment.text.length + segment.more)} characters`));
    const text = make("pre", "", segment.text);
    text.dir = "auto";
    add(box, label, text);
    if (segment.more) add(box, make("div", "label", `… ${count(segment.more)} more; trivium shards show prints all of it`));
  } else {
    add(label, make("span", "", `${segment.media}  ${segment.mime}`), make("span", "", `${segment.width} × ${segment.height} px`));
    add(box, label, add(make("div", "picture"), picture(segment)));
  }
  return box;
}

function show(record) {
  if (state.open && state.open.card) state.open.card.classList.remove("on");
  state.open = record;
  const pane = $("detail");
  pane.replaceChildren();
  pane.hidden = !record;
  document.body.classList.toggle("open", Boolean(record));
  if (!record) return;
  if (record.card) { record.card.classList.add("on"); record.card.scrollIntoView({ block: "nearest" }); }
  const bar = make("div", "bar");
  add(bar, make("h2", "", name(record)));
  for (const [label, title, act] of [["←", "Previous", () => step(-1)], ["→", "Next", () => step(1)], ["✕", "Close (Esc)", () => show(null)]]) {
    const button = make("button", "", label);
    button.title = title;
    button.setAttribute("aria-label", title);
    button.addEventListener("click", act);
    bar.append(button);
  }
  add(pane, bar, ...record.segments.map(segmentView), make("h3", "", "Lineage"));
  const facts = make("dl", "facts");
  fact(facts, "source", `${record.source}: ${record.address}`);
  fact(facts, "source bytes", record.sha256 && `sha256 ${record.sha256}`, "mono");
  fact(facts, "recipe", record.recipe, "mono");
  fact(facts, "licence", record.licence);
  fact(facts, "language", record.language);
  if (record.parents.length) fact(facts, "parents", record.parents.join(" "), "mono");
  add(pane, facts, make("h3", "", "Steps"));
  const steps = make("ol", "steps");
  for (const one of record.steps) add(steps, add(make("li", "", `${one.name} v${one.version} `), make("small", "", (one.parameters || "").slice(0, 16))));
  add(pane, record.steps.length ? steps : make("span", "chips", "none"));
  if (Object.keys(record.scores).length) {
    add(pane, make("h3", "", "Scores"));
    const scores = make("dl", "facts scores");
    for (const [key, value] of Object.entries(record.scores)) fact(scores, key, String(Math.round(value * 1e4) / 1e4));
    pane.append(scores);
  }
  add(pane, make("h3", "", "Duplicates"));
  const cluster = make("dl", "facts");
  fact(cluster, "cluster", record.cluster && record.cluster !== record.source_id ? link(record.cluster) : "this one leads it");
  if (record.duplicates.length) fact(cluster, "survived", links(record.duplicates));
  add(pane, cluster, make("h3", "", "Stored"));
  const stored = make("dl", "facts");
  fact(stored, "id", record.id, "mono");
  fact(stored, "source_id", record.source_id, "mono");
  fact(stored, "place", `${record.shard}, byte ${count(record.offset)}, ${count(record.bytes)} bytes`);
  fact(stored, "tokens", record.tokens ? `${count(record.tokens)} tokens, ${count(record.patches)} patches` : "not tokenised");
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

function drawRejects() {
  const pane = $("rejects");
  pane.replaceChildren();
  const groups = new Map();
  const query = $("search").value.toLowerCase();
  for (const reject of DATA.rejects) {
    if (!reject.find.includes(query)) continue;
    const key = `${reject.set} ${reject.stage}: ${reject.reason}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(reject);
  }
  const all = (key, list) => DATA.sets[list[0].set].reasons[key.slice(key.indexOf(" ") + 1)] || list.length;
  let found = 0;
  for (const [key, list] of [...groups].sort((a, b) => all(...b) - all(...a))) {
    found += list.length;
    const box = make("article", "group");
    const total = all(key, list);
    add(box, add(make("h2", "", list[0].reason), make("small", "", `${list[0].stage} · ${DATA.sets[list[0].set].corpus} · ${count(total)} in all` + (list.length < total ? `, ${count(list.length)} drawn` : ""))));
    for (const reject of list) {
      const where = make("div", "where", reject.address);
      if (reject.error) add(where, document.createTextNode(" "), make("span", "chip bad", "crashed a stage"));
      const what = make("div", "what", reject.detail);
      if (reject.survivor) {
        const similar = reject.similarity === null || reject.similarity === undefined ? "" : ` (similarity ${reject.similarity.toFixed(3)})`;
        add(what, add(make("div", "", `survivor${similar}: `), link(reject.survivor)));
      }
      if (reject.excerpt) { const text = make("pre", "", reject.excerpt); text.dir = "auto"; add(what, text); }
      add(box, add(make("div", "row"), where, what));
    }
    pane.append(box);
  }
  if (!groups.size) pane.append(make("div", "empty", DATA.rejects.length ? "No reject matches." : "Nothing was rejected."));
  $("found").textContent = `${count(found)} of ${count(DATA.rejects.length)} shown`;
}

const clusters = new Map();
for (const record of DATA.records) {
  const key = record.cluster || record.source_id;
  if (!record.cluster && !record.duplicates.length) continue;
  if (!clusters.has(key)) clusters.set(key, { records: [], lost: [] });
  clusters.get(key).records.push(record);
}
for (const reject of DATA.rejects) {
  const survivor = reject.survivor && bySource.get(reject.survivor);
  const cluster = survivor && clusters.get(survivor.cluster || survivor.source_id);
  if (cluster) cluster.lost.push(reject);
}
const members = (c) => c.records.length + c.records.reduce((n, r) => n + r.duplicates.length, 0);
for (const [key, cluster] of clusters) if (members(cluster) < 2) clusters.delete(key);
$("cluster-count").textContent = count(clusters.size);
function drawClusters() {
  const pane = $("clusters");
  pane.replaceChildren();
  let found = 0;
  for (const [key, cluster] of [...clusters].sort((a, b) => members(b[1]) - members(a[1]))) {
    if (!cluster.records.some(wanted)) continue;
    found += 1;
    const box = make("article", "group");
    add(box, add(make("h2", "mono", key), make("small", "", `${count(members(cluster))} members, ${count(cluster.records.length)} kept`)));
    for (const record of cluster.records) add(box, add(make("div", "row"), add(make("div", "where"), make("span", "chip", "kept")), add(make("div", "what"), link(record.source_id), record.duplicates.length ? add(make("div"), links(record.duplicates)) : null)));
    for (const reject of cluster.lost) add(box, add(make("div", "row"), add(make("div", "where", reject.address + " "), make("span", "chip bad", reject.reason)), add(make("div", "what", reject.detail), make("pre", "", reject.excerpt))));
    pane.append(box);
  }
  if (!found) pane.append(make("div", "empty", clusters.size ? "No cluster matches." : "No duplicates among the records shown."));
  $("found").textContent = `${count(found)} of ${count(clusters.size)} shown`;
}

function drawFunnel() {
  const pane = $("funnel");
  pane.replaceChildren();
  for (const set of DATA.sets) {
    const box = make("article", "group");
    add(box, add(make("h2", "", set.corpus), make("small", "mono", set.path)));
    const most = Math.max(1, ...set.funnel.map((stage) => Math.max(stage.input, stage.kept)));
    for (const stage of set.funnel) {
      const dropped = Object.entries(stage.dropped).sort((a, b) => b[1] - a[1]);
      const lost = dropped.reduce((sum, [, n]) => sum + n, 0);
      const row = make("div", "stage");
      const track = make("div", "track");
      const kept = make("div", "kept"), gone = make("div", "lost");
      kept.style.width = `${(100 * stage.kept) / most}%`;
      gone.style.width = `${(100 * Math.min(lost, most - stage.kept)) / most}%`;
      add(track, kept, gone);
      const sum = make("div", "sum");
      add(sum, make("b", "", count(stage.kept)), document.createTextNode(` of ${count(stage.input)}` + (lost ? `, ${count(lost)} dropped` : "")));
      add(row, make("div", "", stage.name), track, sum);
      if (dropped.length) {
        const why = make("div", "chips why");
        for (const [reason, n] of dropped) add(why, make("span", "chip bad", `${reason} ${count(n)}`));
        row.append(why);
      }
      box.append(row);
    }
    if (!set.funnel.length) add(box, make("div", "row", "This set's manifest holds no funnel."));
    pane.append(box);
  }
  $("found").textContent = "";
}

function draw() {
  for (const pane of document.querySelectorAll(".pane")) pane.hidden = pane.id !== state.tab;
  for (const tab of document.querySelectorAll("nav button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
  $("filters").hidden = state.tab === "funnel" || state.tab === "sets";
  for (const id of ["corpus", "language", "licence", "kind"]) $(id).hidden = state.tab === "rejects";
  ({ records: drawRecords, clusters: drawClusters, rejects: drawRejects, funnel: drawFunnel, sets: () => {} })[state.tab]();
}
for (const tab of document.querySelectorAll("nav button")) tab.addEventListener("click", () => { state.tab = tab.dataset.tab; show(null); draw(); });
for (const id of ["corpus", "language", "licence", "kind"]) $(id).addEventListener("change", () => { state.shown = PAGE; draw(); });
let pause = 0;
$("search").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(() => { state.shown = PAGE; draw(); }, 120); });
function turn() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}
$("theme").addEventListener("click", turn);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
  if (event.key === "Escape") { document.activeElement.blur(); show(null); }
  else if (typing) return;
  else if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  else if (event.key === "t") turn();
  else if (state.tab === "records" && (event.key === "ArrowRight" || event.key === "j")) { event.preventDefault(); step(1); }
  else if (state.tab === "records" && (event.key === "ArrowLeft" || event.key === "k")) { event.preventDefault(); step(-1); }
});

// The address chooses what opens first: #tab=rejects, #tab=funnel, … or #id=RECORD.
const wish = decodeURIComponent(location.hash.slice(1));
if (["tab=clusters", "tab=rejects", "tab=funnel", "tab=sets"].includes(wish)) state.tab = wish.slice(4);
draw();
if (wish.startsWith("id=")) show(DATA.records.find((record) => record.id === wish.slice(3)) || null);
