const keyOf = (set, one) => `${set} ${one.stage}: ${one.reason}`;
function reasonsView() {
  const box = make("article", "group");
  add(box, add(make("h2", "", "Why records were refused"), make("small", "", "counts of all; choose one to see its examples alone")));
  const rows = DATA.sets.flatMap((set, at) => set.reasons.map((one) => ({ ...one, key: keyOf(at, one), corpus: set.corpus, set: at }))).filter(inCorpus);
  const most = Math.max(1, ...rows.map((row) => row.count));
  for (const row of rows.sort((a, b) => b.count - a.count)) {
    const node = make("button", "reason" + (state.reason === row.key ? " on" : ""));
    node.type = "button";
    const bar = make("span", "lost");
    bar.style.width = `${Math.max(0.5, (100 * row.count) / most)}%`;
    add(node, make("span", "", row.reason), make("span", "soft", `${row.stage} · ${row.corpus}`), add(make("span", "track"), bar), make("b", "", count(row.count)));
    node.addEventListener("click", () => { state.reason = state.reason === row.key ? "" : row.key; draw(); });
    box.append(node);
  }
  return rows.length ? box : null;
}
function drawRejects() {
  const pane = $("rejects");
  pane.replaceChildren();
  add(pane, reasonsView());
  const groups = new Map();
  for (const reject of DATA.rejects) {
    const key = keyOf(reject.set, reject);
    if (!inCorpus(reject) || !reject.find.includes(query()) || (state.reason && state.reason !== key)) continue;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(reject);
  }
  const all = (list) => (DATA.sets[list[0].set].reasons.find((one) => keyOf(list[0].set, one) === keyOf(list[0].set, list[0])) || { count: list.length }).count;
  let found = 0;
  for (const [key, list] of [...groups].sort((a, b) => all(b[1]) - all(a[1]))) {
    found += list.length;
    const box = make("article", "group"), total = all(list);
    add(box, add(make("h2", "", list[0].reason), make("small", "", `${list[0].stage} · ${corpusOf(list[0])} · ${plural(total, "record")}` + (list.length < total ? `, ${count(list.length)} drawn` : ""))));
    const { means, help } = list[0];
    if (means) add(box, make("p", "soft", `${means[0].toUpperCase()}${means.slice(1)}.` + (help ? ` What helps: ${help}.` : "")));
    const few = state.reason === key ? list.length : 6;
    for (const reject of list.slice(0, few)) box.append(rejectRow(reject));
    if (list.length > few) {
      const more = make("button", "more wide", `Show ${count(list.length - few)} more of ${list[0].reason}`);
      more.addEventListener("click", () => { for (const reject of list.slice(few)) box.insertBefore(rejectRow(reject), more); more.remove(); });
      box.append(more);
    }
    pane.append(box);
  }
  if (!groups.size) pane.append(empty("No reject shown here matches.", "Nothing was rejected."));
  const total = DATA.sets.reduce((sum, set) => sum + set.rejects, 0);
  $("found").textContent = `${count(found)} of ${count(DATA.rejects.length)}` + (total > DATA.rejects.length ? `, drawn from ${count(total)}` : "");
}
function rejectRow(reject) {
  const where = make("div", "where", reject.address);
  if (reject.error) add(where, document.createTextNode(" "), make("span", "chip bad", "crashed a stage"));
  if (reject.against) return add(make("div", "row whole"), where, ...refusedView(reject));
  const what = make("div", "what", reject.detail);
  if (reject.survivor) {
    const similar = typeof reject.similarity === "number" ? (reject.similarity === 1 ? ", the same content" : `, ${likeness(reject)}`) : "";
    const stays = add(make("div", "", `stays${similar}: `), link(reject.set, reject.survivor));
    const beside = clusterOf.get(`${reject.set} ${reject.source_id}`);
    if (beside) add(stays, document.createTextNode("  "), showCluster(beside, "side by side"));
    add(what, stays);
  }
  for (const held of reject.held || []) add(what, heldView(held, reject.detail));
  if (reject.excerpt && !(reject.held || []).length) {
    if (reject.begins) add(what, make("div", "soft from", `from character ${count(reject.begins)}`));
    const text = make("pre", "", reject.excerpt);
    text.dir = "auto";
    text.title = "Click for all of the excerpt";
    text.addEventListener("click", () => text.classList.toggle("whole"));
    add(what, text);
  }
  add(what, measuredView(reject));
  return add(make("div", "row"), add(where, make("div", "soft", reject.source)), what);
}

// What the refusing stage measured, folded: a limit can be judged from it.
function measuredView(reject) {
  const scores = Object.entries(reject.scores || {});
  if (!scores.length) return null;
  const box = make("details", "measured");
  const list = make("dl", "facts scores");
  for (const [key, value] of scores) fact(list, key, typeof value === "number" ? rounded(value) : "no number");
  return add(box, make("summary", "", `measured: ${plural(scores.length, "score")}`), list);
}

function drawFunnel() {
  const pane = $("funnel");
  pane.replaceChildren();
  for (const set of DATA.sets.filter((one) => !$("corpus").value || one.corpus === $("corpus").value.slice(1))) {
    const box = make("article", "group");
    add(box, add(make("h2", "", set.corpus), make("small", "mono", set.path)));
    // As in the report: what one stage makes several of is no wider than what it was made from.
    const most = Math.max(1, ...set.funnel.map((stage) => stage.input));
    for (const stage of set.funnel) {
      const dropped = Object.entries(stage.dropped).sort((a, b) => b[1] - a[1]);
      const lost = dropped.reduce((sum, [, n]) => sum + n, 0);
      const row = make("div", "stage"), track = make("div", "track");
      const kept = make("div", "kept"), gone = make("div", "lost");
      const whole = Math.min(stage.kept, Math.max(0, stage.input - lost));
      kept.style.width = `${(100 * whole) / most}%`;
      gone.style.width = `${(100 * Math.min(lost, most - whole)) / most}%`;
      add(track, kept, gone);
      const sum = make("div", "sum");
      add(sum, make("b", "", count(stage.kept)), document.createTextNode(` ${stage.kept > stage.input ? "from" : "of"} ${count(stage.input)}` + (lost ? `, ${count(lost)} dropped` : "")));
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
}

const DRAW = { records: drawRecords, clusters: drawClusters, cuts: drawCuts, rejects: drawRejects, funnel: drawFunnel, sets: () => {} };
function draw() {
  for (const pane of document.querySelectorAll(".pane")) pane.hidden = pane.id !== state.tab;
  for (const tab of document.querySelectorAll("nav button")) tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
  $("filters").hidden = state.tab === "sets";
  const whole = state.tab === "records";
  for (const [name] of CHOICES) $(name).hidden = $(name).dataset.few === "true" || !(whole || name === "corpus");
  $("kind").hidden = !whole;
  $("score").hidden = !whole || !ranges.size;
  $("search").hidden = state.tab === "funnel";
  for (const id of ["low", "high"]) $(id).hidden = $("score").hidden || !$("score").value;
  $("found").textContent = "";
  DRAW[state.tab]();
}
for (const tab of document.querySelectorAll("nav button")) {
  tab.addEventListener("click", () => { state.tab = tab.dataset.tab; show(null); draw(); });
  if (tab.dataset.tab === "cuts") tab.hidden = !DATA.cuts.length;
}
for (const id of ["kind", ...CHOICES.map(([name]) => name)]) $(id).addEventListener("change", () => { state.shown = PAGE; draw(); });
$("score").addEventListener("change", () => {
  const range = ranges.get($("score").value.slice(1));
  for (const [id, at] of [["low", 0], ["high", 1]]) { $(id).value = ""; $(id).placeholder = range ? rounded(range[at]) : ""; }
  state.shown = PAGE;
  draw();
});
let pause = 0;
for (const id of ["search", "low", "high"]) $(id).addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(() => { state.shown = PAGE; draw(); }, 120); });
function turn() {
  const theme = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme === "dark" ? "light" : "dark";
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
let wish = "";
try { wish = decodeURIComponent(location.hash.slice(1)); } catch { wish = ""; }
if (["tab=clusters", "tab=cuts", "tab=rejects", "tab=funnel", "tab=sets"].includes(wish)) state.tab = wish.slice(4);
draw();
if (wish.startsWith("id=")) show(DATA.records.find((record) => record.id === wish.slice(3)) || null);
