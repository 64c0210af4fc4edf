
// Rewrites: the source at the left, what a model made of it at the right; numbers and names are marked, since these are
// what a rewrite may not change.
const FACT = /([\p{L}\p{N}]*\p{N}[\p{L}\p{N}]*(?:[.,:/-]\p{N}+)*|(?<=[^.!?\s]["”’)]*\s+)\p{Lu}[\p{L}\p{N}]+)/u;
const factKey = (text) => text.toLowerCase().replace(/,(?=\p{N}{3}(?!\p{N}))/gu, "");

function factsIn(text) {
  return new Set(text.split(/[^\p{L}\p{N}.,:/-]+/u).map((word) => factKey(word.replace(/^[.,:/-]+|[.,:/-]+$/g, ""))));
}
function marked(text, other) {
  const node = make("pre"), there = factsIn(other);
  node.dir = "auto";
  text.split(FACT).forEach((part, at) => {
    if (!part) return;
    node.append(at % 2 ? make("mark", there.has(factKey(part)) ? "same" : "", part) : document.createTextNode(part));
  });
  return node;
}
function besideView(source, more, text, left, label) {
  const box = make("div", "beside");
  const side = (head, body, rest) => add(make("div", "pairside"), make("div", "label", head), body, rest > 0 && make("div", "label", `… ${count(rest)} more characters`));
  return add(box, side("source", marked(source, text), more), side(label, marked(text, source), left));
}

// What the gate measured, lowest first: 1 is kept, 0 is broken.
function gateView(scores, accepted) {
  const list = make("div", "gate");
  const rows = Object.entries(scores).filter(([, score]) => typeof score === "number").sort((a, b) => a[1] - b[1] || a[0].localeCompare(b[0]));
  for (const [name, score] of rows) {
    const bar = make("span", score < 1 && !accepted ? "lost" : "kept"), row = make("div", "check");
    bar.style.width = `${Math.max(2, 100 * Math.min(1, Math.max(0, score)))}%`;
    add(list, add(row, make("span", "", name), add(make("span", "track"), bar), make("b", "", score.toFixed(2))));
  }
  return rows.length ? list : null;
}

function rewriteView(record) {
  const one = record.rewrite;
  if (!one) return [];
  const chips = add(make("div", "chips"), make("span", "chip good", "accepted"), make("span", "chip", one.style), make("span", "", one.model), make("span", one.backend === "fake" ? "chip bad" : "", one.backend), make("span", "", `seed ${one.seed}`));
  const where = add(make("div", "soft"), document.createTextNode(`characters ${count(one.place[0])} to ${count(one.place[1])} of `), link(record.set, one.source));
  return [chips, besideView(one.text, one.more, one.written, one.left, `rewrite, ${one.style}`), where, make("h3", "", "What the gate measured"), gateView(record.scores, true)];
}
function refusedView(reject) {
  const head = make("div", "what", reject.detail);
  return [head, besideView(reject.against, 0, reject.excerpt || "", 0, reject.excerpt ? "rewrite, refused" : "nothing was written"), gateView(reject.scores || {}, false)];
}
