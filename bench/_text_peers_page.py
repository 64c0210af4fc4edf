"""docs/corpora/peers.md and its bars from what bench/text_peers.py measured."""

from collections.abc import Sequence
from math import log10
from typing import Any
from xml.sax.saxutils import escape

HEAD = """# Text stages beside others

Written from peers.json; don't edit. Measured by

    {command}

Commit {commit}; {machine}.
{versions}.

![documents a second of one core, by stage and tool](peers.svg)
"""
HOW = """
Same files for all, each stage a process of its own. CPU seconds are without imports and loading, and a busy machine
changes them less than wall clock. Memory is the process's own: `base` lay there when the clock began (interpreter,
libraries, models, the texts), `peak` is the most since then. `load` is the machine's at the stage's end, on two cores:
above 2 the same work takes more CPU time too. MB/s are of text: what came out for `extract`, what went
in elsewhere.

- `extract`, `filters`, `language`: real pages of the fetched inputs, in one WARC. datatrove as its FineWeb example sets
  it up (trafilatura; Gopher repetition and quality, FineWeb quality), with the compressed language model, since its own
  is a download. Ours: the recipes' stages.
- `near dedup`: real paragraphs put together anew, with planted copies (bench/_documents.py), from a file of JSON lines
  to what is kept on disk: word 5-grams, 14 bands of 8. datatrove: its four steps. text-dedup: its command with
  `check_false_positive = true`, as its README has it, threshold 0.75. Ours: a whole build with verified pairs (0.75),
  a reason for each reject, shards and report. `our bands` are the 16 x 7 of our recipes.
- `same words`: datatrove without its normaliser and spaCy, words by one regular expression as in the brute force. With
  its own words it takes ten times as long and sees the first documents only (`--slow`).
- `unverified`: text-dedup with its default, `check_false_positive = false`.

"""
AGREE = """
All pairs by the true Jaccard similarity of their sets of word 5-grams, counted in plain Python over all {documents:,}
documents: {pairs:,} pairs of 0.75 and more, {high:,} of 0.8 and more; union-find over the former gives {clusters:,}
clusters. Recall: pairs of 0.8 and more that are in one cluster of the tool (floor 0.95). Precision: documents gone that
have another of 0.75 or more. Lost: true clusters of which no document is kept. Last column: the tool's clusters are
those of union-find over the pairs that it verified itself. A row of fewer documents is held to their pairs alone.
Rows of the same bands differ by words and by luck: a copy into which a sentence without spaces was put is one word
away by this truth and forty by ours (15 pairs), and another draw of the permutations gives another recall
([dedup](dedup.md), `python bench/dedup_recall.py`).

| tool | stage | documents | recall | gone | precision | lost | clusters | of them true | true ones | own union-find |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"""
RULES = """
## Decisions of the filters

Our rules beside datatrove's on the same {documents:,} pages with the same limits and words cut at blanks for both
(bench/text_rules.py): pages with the same verdict.

| filter | same | we keep | ours / theirs where they differ |
|---|---:|---:|---|"""
COLOURS = {"trivium": "#1565c0", "datatrove": "#ef6c00", "text-dedup": "#8e24aa"}
FLOOR = 30  # MB/s of text to signature
ENGINES = ("signatures", "rensa", "datasketch")  # how the rows of the signatures' table begin
Row = dict[str, Any]


def page(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    known = {**facts, "versions": versions}
    lines = [HEAD.format(**known), *_summary(facts["rows"], facts["agreement"]["rows"])]
    stages = [row for row in facts["rows"] if not row["stage"].startswith(ENGINES)]
    signatures = [row for row in facts["rows"] if row["stage"].startswith(ENGINES)]
    lines += ["", "## Stages", *_table(stages), HOW, "## Signatures", *_signatures(signatures)]
    agreed = facts["agreement"]
    lines += ["", "## Near duplicates against brute force", AGREE.format(**agreed)]
    for row in agreed["rows"]:
        own = {True: "the same", False: "differ", None: "pairs not given"}[row["union_find"]]
        figures = f"{row['recall']} | {row['gone']:,} | {row['precision']} | {row['lost']:,} | {row['clusters']:,}"
        lines.append(
            f"| {row['tool']} | {row['stage']} | {row['documents']:,} | {figures} | {row['same_clusters']:,} "
            f"| {row['true_clusters']:,} | {own} |"
        )
    if rules := facts.get("rules"):
        lines.append(RULES.format(**rules))
        for name, row in rules["filters"].items():
            apart = "; ".join(f"{mine} / {other}: {count}" for mine, other, count in row["apart"][:3])
            lines.append(f"| {name} | {row['same'] / rules['documents']:.2%} | {row['kept']:,} | {apart} |")
    return "\n".join(lines) + "\n"


def _rate(rows: Sequence[Row], tool: str, stage: str) -> float | None:
    found = [row for row in rows if (row["tool"], row["stage"]) == (tool, stage)]
    return found[0].get("documents_a_second") if found else None


def _summary(rows: Sequence[Row], agreed: Sequence[Row]) -> list[str]:
    """Where a peer is better first, then the ratios."""
    better, worse = [], []
    pairs = [(stage, tool, stage) for stage in ("extract", "filters", "language") for tool in ("datatrove",)]
    pairs += [("near dedup", tool, "near dedup") for tool in ("datatrove", "text-dedup")]
    pairs += [("near dedup", "datatrove", "near dedup, same words")]
    for stage, tool, theirs in pairs:
        ours, other = _rate(rows, "trivium", stage), _rate(rows, tool, theirs)
        if ours and other:
            ratio = ours / other
            where = better if ratio < 1 else worse
            where.append(f"{tool} {theirs}: ours {ours:,.0f}, theirs {other:,.0f} documents/s ({ratio:.1f} times)")
    for row in rows:
        mine = next((one for one in rows if (one["tool"], one["stage"]) == ("trivium", row["stage"])), None)
        if mine and row is not mine and row.get("peak_mb", 1e9) < mine.get("peak_mb", 0):
            figures = f"{row['peak_mb']:,.0f} MB at the peak, ours {mine['peak_mb']:,.0f}"
            better.append(f"{row['tool']} {row['stage']}: less memory, {figures}")
    signed = next((row for row in rows if row["stage"] == "signatures (rensa)" and "error" not in row), None)
    if signed and signed["megabytes_a_second"] < FLOOR:
        better.append(f"not reached: {signed['megabytes_a_second']:.1f} MB/s of signatures, the floor is {FLOOR}")
    mine = next((row for row in agreed if (row["tool"], row["stage"]) == ("trivium", "near dedup")), None)
    for row in agreed:
        if (
            mine
            and row["tool"] != "trivium"
            and row["documents"] == mine["documents"]
            and row["recall"] > mine["recall"]
        ):
            better.append(
                f"{row['tool']} {row['stage']}: recall {row['recall']}, ours {mine['recall']} with the same bands"
            )
    lines = ["Better than ours:", *(f"- {one}" for one in better)] if better else ["No peer is better in these rows."]
    lines += ["", "Ours is faster:", *(f"- {one}" for one in worse)] if worse else []
    lost = [row for row in agreed if row["lost"]]
    return lines + [
        f"\n{row['tool']} ({row['stage']}) keeps no document of {row['lost']:,} clusters: the texts are lost."
        for row in lost
    ]


def _table(rows: Sequence[Row]) -> list[str]:
    lines = ["", "| stage | tool | documents | CPU s | documents/s | MB/s | base MB | peak MB | load |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        head = f"| {row['stage']} | {row['tool']} |"
        if "error" in row:
            lines.append(f"{head} could not run: {row['error'].replace('|', '/')} | | | | | | |")
            continue
        rates = f"{row['documents_a_second']:,.1f} | {row['megabytes_a_second']:,.2f}"
        memory = f"{row['base_mb']:,.0f} | {row['peak_mb']:,.0f} | {row.get('load', '')} |"
        figures = f"{row['documents']:,} | {row['seconds']:,.2f} | {rates} | {memory}"
        lines.append(f"{head} {figures}")
    return lines


def _signatures(rows: Sequence[Row]) -> list[str]:
    found = _table([row for row in rows if row["stage"] != "signatures, by part"])
    found += [
        "",
        "`signatures (rensa)` and `(datasketch)`: our stage with that engine, text to signature, normaliser included",
        "(floor 30 MB/s with rensa). `alone`: the library fed by a plain Python loop over words, as its guide does.",
    ]
    for row in rows:
        if "steps" in row:
            rate = row["megabytes_a_second"]
            parts = [f"{name} {seconds / row['seconds']:.0%}" for name, seconds in row["steps"].items()]
            found.append(f"Where our time goes ({rate:,.1f} MB/s in all): {', '.join(parts)}.")
    return found


def bars(rows: Sequence[Row]) -> str:
    """Documents a second by stage and tool, on a logarithmic axis, as SVG."""
    shown = [
        row for row in rows if "error" not in row and "alone" not in row["stage"] and "by part" not in row["stage"]
    ]
    left, width, line, top = 250, 760, 17, 26
    low = min((log10(row["documents_a_second"]) for row in shown), default=0.0) // 1
    high = -(-max((log10(row["documents_a_second"]) for row in shown), default=1.0) // 1)
    scale = (width - left - 70) / max(1.0, high - low)
    parts = [f'<text x="{left}" y="14">documents a second of one core, each line ten times the one before</text>']
    at, before = top, ""
    for row in sorted(shown, key=lambda row: list(dict.fromkeys(one["stage"] for one in shown)).index(row["stage"])):
        at += 6 if row["stage"] != before else 0
        before, rate = row["stage"], row["documents_a_second"]
        size = (log10(rate) - low) * scale
        name = escape(f"{row['stage']}: {row['tool']}")
        parts.append(f'<text x="{left - 6}" y="{at + 12}" text-anchor="end">{name}</text>')
        colour = COLOURS[row["tool"]]
        parts.append(
            f'<rect x="{left}" y="{at + 2}" width="{max(1.0, size):.1f}" height="{line - 4}" fill="{colour}"/>'
        )
        parts.append(f'<text x="{left + size + 4:.1f}" y="{at + 12}">{rate:,.0f}</text>')
        at += line
    ticks = [left + step * scale for step in range(int(high - low) + 1)]
    grid = [f'<path d="M{x:.1f} {top}V{at}" stroke="#ccc"/>' for x in ticks]
    box = f'viewBox="0 0 {width} {at + 8}" font-family="sans-serif" font-size="11"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *grid, *parts, "</svg>"]) + "\n"
