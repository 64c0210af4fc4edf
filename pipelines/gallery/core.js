"use strict";
// Records are foreign text: they reach the page through textContent and data: pictures only.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PAGE = 60;
const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en-US");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
const state = { tab: "records", shown: PAGE, open: null, list: DATA.records, reason: "" };

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
function drawn(uri, alt) {
  if (typeof uri !== "string" || !uri.startsWith("data:image/webp;base64,")) return make("span", "chip bad", "no picture");
  const image = make("img");
  image.src = uri;
  image.alt = alt;
  image.loading = "lazy";
  return image;
}
const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
const isClip = (segment) => "frames" in segment;

// A strip of frames with their times; `most` of them on a card.
function strip(segment, most) {
  const every = most && segment.strip.length > most ? Math.floor(segment.strip.length / most) : 1;
  const frames = segment.strip.filter((_, at) => at % every === 0).slice(0, most || segment.strip.length);
  const row = make("div", "strip");
  for (const frame of frames) {
    const one = make("figure", "");
    add(one, drawn(frame.uri, `frame at ${frame.seconds} s`), make("figcaption", "", clock(frame.seconds)));
    row.append(one);
  }
  return row;
}
function seen(segment, most) {
  if (segment.fault) return make("span", "chip bad", segment.fault);
  if (isClip(segment)) return strip(segment, most);
  return drawn(segment.uri, `${segment.media}, ${segment.width} × ${segment.height}`);
}

// Search text is made once for each record.
for (const record of DATA.records) {
  const texts = record.segments.filter((s) => "text" in s);
  record.text = texts.map((s) => s.text).join("");
  record.length = texts.reduce((sum, s) => sum + s.text.length + s.more, 0);
  record.media = record.segments.filter((s) => "media" in s);
  record.engine = record.pair ? record.pair.engine : "";
  record.find = [record.text, record.title, record.address, record.id, record.source_id].join("\n").toLowerCase();
}
for (const reject of DATA.rejects) reject.find = [reject.excerpt, reject.detail, reject.address, reject.source_id, reject.reason].join("\n").toLowerCase();
for (const cluster of DATA.clusters) {
  const parts = [...cluster.kept, ...cluster.lost].map((one) => [one.text, one.address, one.title, one.source_id, one.reason].join("\n"));
  cluster.find = [cluster.name, ...parts].join("\n").toLowerCase();
}
for (const cut of DATA.cuts) cut.find = [cut.text, cut.where, cut.why, cut.source_id].join("\n").toLowerCase();
const bySource = new Map(DATA.records.map((record) => [`${record.set} ${record.source_id}`, record]));
const corpusOf = (item) => DATA.sets[item.set].corpus;

const CHOICES = [["corpus", "every corpus"], ["bucket", "every bucket"], ["language", "every language"], ["licence", "every licence"], ["task", "every task"], ["engine", "every engine"]];
function fill(select, name, all) {
  const counts = new Map();
  for (const record of DATA.records) counts.set(record[name], (counts.get(record[name]) || 0) + 1);
  if (name === "corpus") for (const set of DATA.sets) if (!counts.has(set.corpus)) counts.set(set.corpus, 0);
  add(select, new Option(all, ""));
  for (const [value, n] of [...counts].sort((a, b) => b[1] - a[1])) add(select, new Option(`${value || "(none)"}  ${count(n)}`, "=" + value));
  select.dataset.few = String(counts.size < 2);
}
for (const [name, all] of CHOICES) fill($(name), name, all);

const ranges = new Map();
for (const record of DATA.records)
  for (const [name, value] of Object.entries(record.scores)) {
    if (typeof value !== "number") continue;
    const [low, high] = ranges.get(name) || [value, value];
    ranges.set(name, [Math.min(low, value), Math.max(high, value)]);
  }
add($("score"), new Option("any quality score", ""));
for (const name of [...ranges.keys()].sort()) add($("score"), new Option(name, "=" + name));
const rounded = (value) => String(Math.round(value * 1e4) / 1e4);

function ofKind(record, kind) {
  const clips = record.media.filter(isClip).length;
  if (kind === "picture") return record.media.length > clips;
  if (kind === "video") return clips > 0;
  if (kind === "text") return !record.media.length;
  if (kind === "fault") return record.media.some((segment) => segment.fault || (segment.notes || []).length);
  return true;
}
function scored(record) {
  const name = $("score").value.slice(1);
  if (!name) return true;
  const value = record.scores[name];
  if (typeof value !== "number") return false;
  const low = $("low").value, high = $("high").value;
  return (low === "" || value >= Number(low)) && (high === "" || value <= Number(high));
}
const query = () => $("search").value.trim().toLowerCase();
const inCorpus = (item) => !$("corpus").value || corpusOf(item) === $("corpus").value.slice(1);
function wanted(record) {
  for (const [name] of CHOICES) {
    const value = $(name).value;
    if (value && record[name] !== value.slice(1)) return false;
  }
  return ofKind(record, $("kind").value) && scored(record) && record.find.includes(query());
}
const filtering = () => Boolean(query() || state.reason || $("kind").value || $("score").value || CHOICES.some(([name]) => $(name).value));
function resetFilters() {
  for (const id of ["search", "kind", "score", "low", "high", ...CHOICES.map(([name]) => name)]) $(id).value = "";
  state.reason = "";
  state.shown = PAGE;
  draw();
}
function empty(text, otherwise) {
  const box = make("div", "empty", filtering() ? text : otherwise);
  if (!filtering()) return box;
  const button = make("button", "more", "Clear the filters");
  button.addEventListener("click", resetFilters);
  return add(box, make("br"), button);
}
