
// Clusters: what stayed, and what went beside the passage of the survivor where the two texts part.
const clusterOf = new Map();
for (const cluster of DATA.clusters)
  for (const one of [...cluster.kept, ...cluster.lost]) clusterOf.set(`${cluster.set} ${one.source_id}`, cluster);
const likeness = (one) => `${one.stage && one.stage.startsWith("near_dedup") ? "verified Jaccard" : "similarity"} ${one.similarity.toFixed(3)}`;

function showCluster(cluster, label) {
  const node = make("button", "link", label);
  node.type = "button";
  node.addEventListener("click", () => { state.tab = "clusters"; $("search").value = cluster.name; show(null); draw(); });
  return node;
}
// Pieces [kind, text] of a passage; `only` stands on one side alone.
function piecesView(pieces, mark) {
  const node = make("pre");
  node.dir = "auto";
  for (const [kind, text] of pieces) node.append(kind === "only" ? make("mark", mark, text) : document.createTextNode(text));
  return node;
}
// Where no passage could be found: words of `text` that the survivor has nowhere.
function wordsView(text, against) {
  const node = make("pre");
  node.dir = "auto";
  const words = against && new Set(against.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  for (const part of text.split(/([\p{L}\p{N}]+)/u)) {
    const other = words && /[\p{L}\p{N}]/u.test(part) && !words.has(part.toLowerCase());
    node.append(other ? make("mark", "", part) : document.createTextNode(part));
  }
  return node;
}
function placeOf(one) {
  const place = make("div", "where", one.address || one.source_id);
  place.dir = "auto";
  place.title = one.source_id;
  return place;
}
function keptView(cluster, one) {
  const box = make("div", "member kept");
  const chips = add(make("div", "chips"), make("span", "chip good", "kept"), make("span", "", one.source), one.earlier && make("span", "", `in the earlier set ${one.earlier}`));
  add(box, chips, placeOf(one));
  if (one.uri) add(box, add(make("div", "picture small"), drawn(one.uri, one.title)));
  const record = bySource.get(`${one.earlier ? one.set : cluster.set} ${one.source_id}`);
  if (record) {
    const open = make("button", "link", "open it");
    open.type = "button";
    open.addEventListener("click", () => show(record));
    add(chips, open);
  }
  return add(box, one.fault ? make("div", "soft", one.fault) : wordsView(one.text));
}
function meter(similarity) {
  const track = make("span", "meter"), bar = make("span", "");
  bar.style.width = `${Math.round(100 * Math.max(0, Math.min(1, similarity)))}%`;
  return add(track, bar);
}
function lostChips(one) {
  const chips = add(make("div", "chips"), make("span", "chip bad", one.reason));
  if (typeof one.similarity === "number" && one.similarity < 1) add(chips, make("b", "", likeness(one)), meter(one.similarity));
  if (one.similarity === 1) add(chips, make("span", "", "same content"));
  if (typeof one.band === "number") add(chips, make("span", "", `found in band ${one.band}`));
  return add(chips, make("span", "", one.source));
}
function byWay(cluster, one) {
  if (cluster.kept.some((kept) => kept.source_id === one.survivor)) return null;
  return add(make("div", "soft"), make("div", "", one.detail), make("div", "mono", `by way of ${one.survivor}`));
}
function column(label, at, text) {
  return add(make("div", "column"), make("div", "soft from", at ? `${label}, from character ${count(at)}` : `${label}, from its beginning`), text);
}
function lostView(cluster, one) {
  const box = add(make("div", "member lost"), lostChips(one), placeOf(one), byWay(cluster, one));
  if (one.went.length) {
    const sides = make("div", "versus");
    add(sides, column("what stays", one.stays_at, piecesView(one.stays, "stays")), column("what went", one.begins, piecesView(one.went, "went")));
    return add(box, sides);
  }
  const seen = cluster.kept.filter((kept) => !kept.fault);
  const against = cluster.near && seen.length ? seen[0].text : "";
  if (one.similarity === 1 && seen.length) return box; // the same text as another one here
  return add(box, one.begins && make("div", "soft from", `from character ${count(one.begins)}`), wordsView(one.text, against));
}
function clusterView(cluster) {
  const title = cluster.kept.length && (cluster.kept[0].title || cluster.kept[0].address);
  const kind = cluster.near ? "near duplicates" : cluster.lost.length ? "exact duplicates" : "kept apart, same cluster";
  const head = make("h2", "", title || cluster.name), name = make("small", "mono", cluster.name);
  head.dir = "auto";
  name.title = "the cluster's name, as the rejects have it";
  add(head, make("small", "", `${cluster.corpus} · ${plural(cluster.size, "member")} · ${kind}`), name);
  const kept = cluster.kept.map((one) => keptView(cluster, one));
  const others = cluster.more_kept > 0 && make("div", "soft", kept.length ? `and ${count(cluster.more_kept)} more kept` : "What was kept can't be read.");
  const left = add(make("div", "side"), ...kept, others);
  const right = add(make("div", "side"), ...cluster.lost.map((one) => lostView(cluster, one)), cluster.more_lost > 0 && make("div", "soft", `and ${count(cluster.more_lost)} more`));
  const passages = cluster.lost.some((one) => one.went.length) && !cluster.kept.some((one) => one.uri);
  return add(make("article", "group"), head, add(make("div", "sides" + (passages ? " below" : "")), left, right));
}
function drawClusters() {
  const pane = $("clusters");
  pane.replaceChildren();
  const total = DATA.sets.reduce((sum, set) => sum + set.clusters, 0);
  const list = DATA.clusters.filter((cluster) => inCorpus(cluster) && cluster.find.includes(query()));
  for (const cluster of list) pane.append(clusterView(cluster));
  if (!list.length) pane.append(empty("No cluster shown here matches.", "No duplicates were found."));
  $("found").textContent = `${count(list.length)} of ${count(DATA.clusters.length)}` + (total > DATA.clusters.length ? `, drawn from ${count(total)}` : "");
}
