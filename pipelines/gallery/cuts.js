
// What was cut inside texts that stayed, and held-out text beside the record that held it.
const CUTS = {
  repeated_lines: ["Lines taken out of pages", "the most frequent first; each went from all pages of its scope"],
  repeated_paragraphs: ["Paragraphs taken out", "those with most copies first; one copy of each stays"],
  substrings: ["Long stretches cut out", "the longest first, struck through between what stands around them; one copy of each stays"],
  decontaminate: ["Held-out text cut out", "words that differ are marked"],
};
function heldView(held, said) {
  const sides = make("div", "versus");
  const sided = (label, pieces, mark) => add(make("div", "column"), make("div", "soft from", label), piecesView(pieces, mark));
  add(sides, sided("the held-out item", held.theirs, "stays"), sided("in this record", held.ours, "went"));
  return add(make("div", "held"), said !== held.why && make("div", "soft", held.why), sides);
}
function cutView(cut) {
  const where = make("div", "where", cut.where);
  where.dir = "auto";
  const what = make("div", "what");
  if (cut.kind === "decontaminate") return add(make("div", "row"), where, add(what, heldView(cut)));
  const text = make("pre", "whole");
  text.dir = "auto";
  if (cut.before) text.append(make("span", "soft", "… " + cut.before));
  text.append(make("del", "", cut.text));
  if (cut.more) text.append(make("span", "soft", `\n… ${count(cut.more)} characters more …\n`));
  if (cut.after) text.append(make("span", "soft", cut.after + " …"));
  add(what, make("div", "", cut.why));
  if (cut.kept || cut.stays) {
    const stays = bySource.has(`${cut.set} ${cut.kept}`) ? link(cut.set, cut.kept) : make("span", "mono", cut.stays || cut.kept);
    add(what, add(make("div"), make("span", "chip good", "kept in"), document.createTextNode(" "), stays));
  }
  return add(make("div", "row"), where, add(what, text));
}
function drawCuts() {
  const pane = $("cuts");
  pane.replaceChildren();
  const list = DATA.cuts.filter((cut) => inCorpus(cut) && cut.find.includes(query()));
  const groups = new Map();
  for (const cut of list) {
    const key = `${cut.set} ${cut.stage}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(cut);
  }
  for (const cuts of groups.values()) {
    const [title, said] = CUTS[cuts[0].kind];
    const box = add(make("article", "group"), add(make("h2", "", title), make("small", "", `${cuts[0].stage} · ${corpusOf(cuts[0])} · ${said}`)));
    for (const cut of cuts) box.append(cutView(cut));
    pane.append(box);
  }
  if (!list.length) pane.append(empty("Nothing shown here matches.", "Nothing was cut inside texts."));
  $("found").textContent = `${count(list.length)} of ${count(DATA.cuts.length)}`;
}
