"""How shard facts look in a terminal: tables, a histogram, one record with its pictures as half blocks.

Odd: everything that comes out of a record is foreign text; control characters are shown, never sent to the terminal.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text as RichText
from rich.tree import Tree

from trivium.console import counted, inline, printable, size
from trivium.data.records import Document, Evidence, Image, Text, Video

if TYPE_CHECKING:
    from trivium.data.pairs.refusals import Refusal
    from trivium.data.shards.diff import Change, Difference
    from trivium.data.shards.manifest import Manifest
    from trivium.data.shards.rebuild import Checked
    from trivium.data.shards.relatives import Gone
    from trivium.data.shards.takedown import Dropped
    from trivium.data.stage import Drop

UNCOUNTED = "–"  # tokens of a set that no tokenizer has read
BALANCE = 12  # classes of one trait
MOST_PARENTS = 12  # of one record in a terminal; a long row may have thousands


class Name:
    """A path in a cell: where there is no room for it, it goes on in the next line behind a /, -, _ or dot."""

    def __init__(self, text: str) -> None:
        self.text = inline(text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(len(self.text), 8), len(self.text)).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [""]
        for part in re.findall(r"[^/_.-]+[/_.-]*|[/_.-]+", self.text):
            if lines[-1] and len(lines[-1] + part) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield RichText("\n".join(lines), overflow="fold")


def _cell(value: Any) -> str:
    """A list of texts goes on one line each; nothing else makes a line of its own."""
    if isinstance(value, list | tuple):
        return "\n".join(map(inline, value))
    return f"{value:,}" if isinstance(value, int) else inline(str(value))


def counts(tokenizer: str | None, sums: Sequence[int]) -> list[Any]:
    """Tokens and patches as cells; a set without a tokenizer has not counted them."""
    return list(sums) if tokenizer or any(sums) else [UNCOUNTED] * len(sums)


def table(title: str, headings: list[str], rows: list[list[Any]]) -> Table:
    """A table without lines; columns of numbers go to the right."""
    made = Table(title=title or None, title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    made.show_edge, made.collapse_padding, made.padding = False, True, (0, 1)
    for place, heading in enumerate(headings):
        number = heading == "size" or (
            bool(rows) and all(isinstance(row[place], int) or row[place] == UNCOUNTED for row in rows)
        )
        whole = number or heading in (
            "id",
            "source_id",
            "gave way to",
            "corpus",
        )  # never in two lines; where there is no room, with an ellipsis
        overflow: Literal["ellipsis", "fold"] = "ellipsis" if whole else "fold"
        made.add_column(heading, justify="right" if number else "left", overflow=overflow, no_wrap=whole)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Name) else RichText(_cell(cell)) for cell in row))
    return made


def sets_table(facts: list[dict[str, Any]]) -> Table:
    """One row a set, by its path below the folder that holds them all."""
    headings = ["set", "corpus", "records", "tokens", "patches", "shards", "size", "rejects"]
    keys = ["path", *headings[1:6], "bytes", "rejects"]
    rows = [[size(one[key]) if key == "bytes" else one[key] for key in keys] for one in facts]
    paths = [str(one["path"]) for one in facts]
    local = len(paths) > 1 and not any("://" in path for path in paths) and len({os.path.isabs(p) for p in paths}) == 1
    above = os.path.commonpath([os.path.dirname(path) for path in paths]) if local else ""
    above = "" if above == "/" else above
    for row, one in zip(rows, facts, strict=True):
        row[0] = Name(os.path.relpath(one["path"], above) if above else str(one["path"]))
        row[1] += " (a part)" if one["limit"] is not None else ""
        row[3:5] = counts(one["tokenizer"], (one["tokens"], one["patches"]))
    return table(f"sets below {inline(above)}" if above else "", headings, rows)


def stat_view(facts: dict[str, Any], manifest: "Manifest") -> Group:
    """The tables of one set."""
    parts: list[RenderableType] = [Rule(RichText(f"{facts['corpus']}  {inline(facts['path'])}"), align="left")]
    about = [f"recipe {facts['recipe'][:12] or '–'}", f"tokenizer {(facts['tokenizer'] or 'none')[:12]}"]
    about += [f"picture rules {(facts['pictures'] or 'none')[:12]}", counted(facts["images"], "picture")]
    parts.append(Columns([RichText(one, style="dim", no_wrap=True) for one in about], padding=(0, 3)))
    if facts["limit"] is not None:
        parts.append(RichText(f"a part of the corpus: {counted(facts['limit'], 'item')} of each source", style="bold"))
    for key, name in (("buckets", "bucket"), ("licences", "licence"), ("languages", "language")):
        rows = [
            [label or "(none)", records, *counts(facts["tokenizer"], sums)]
            for label, (records, *sums) in ((label, each.values()) for label, each in facts[key].items())
        ]
        if rows:
            parts += ["", table("", [name, "records", "tokens", "patches"], rows)]
    for trait, found in facts["balance"].items():
        rows = [[one["name"], one["records"], size(one["bytes"])] for one in found[:BALANCE]]
        if len(found) > BALANCE:
            rows.append([f"{len(found) - BALANCE:,} more", sum(one["records"] for one in found[BALANCE:]), ""])
        parts += ["", table("", [trait, "records", "bytes"], rows)]
    parts += ["", histogram_view(facts["histogram"])]
    if manifest.funnel:
        rows = [
            [f.name, f.input, f.kept, ", ".join(f"{reason} {count:,}" for reason, count in f.dropped.items())]
            for f in manifest.funnel
        ]
        parts += ["", table("funnel", ["stage", "in", "kept", "dropped"], rows)]
    if manifest.takedowns:
        rows = [[one.records, len(one.shards), one.when, one.by, one.reason] for one in manifest.takedowns]
        parts += ["", table("takedowns", ["records", "shards", "on", "by", "reason"], rows)]
    return Group(*parts, "")


def histogram_view(facts: dict[str, Any], width: int = 40) -> RenderableType:
    """Bars of records by length."""
    most = max(facts["records"], default=0)
    made = Table.grid(padding=(0, 1))
    for low, high, count in zip(facts["edges"], facts["edges"][1:], facts["records"], strict=False):
        bar = "█" * (count * width // most) or ("▏" if count else "")
        made.add_row(
            RichText(f"{low:,} – {high - 1:,} {facts['unit']}", justify="right"),
            bar,
            RichText(f"{count:,}", justify="right"),
        )
    return made


def record_view(facts: dict[str, Any], document: Document, media: Mapping[str, bytes], width: int) -> Group:
    """Segments, pictures and lineage of one record; pictures only when `width`, in columns, is not 0."""
    meta = document.meta
    parts: list[RenderableType] = [Rule(f"record {document.id}", align="left")]
    for segment in document.segments:
        if isinstance(segment, Text):
            title = "text" if segment.loss else "text, no loss"
            parts.append(Panel(RichText(printable(segment.text)), title=title, title_align="left"))
        else:
            name = f"{segment.media}  {segment.width} × {segment.height}  {segment.mime}"
            how = "a terminal with colours shows it"
            if isinstance(segment, Video):
                name += f"  {segment.frames:,} frames, {segment.fps:.4g} a second"
                how = "`trivium shards gallery` shows its frames"
            shown: RenderableType = RichText(f"({how}; --save DIR writes it)", style="dim")
            drawn = False
            if width and isinstance(segment, Image):
                from trivium.commands.shards_pictures import picture

                shown, drawn = picture(media[segment.media], width - 4)
            parts += [Rule(name, align="left"), shown] if drawn else [Panel(shown, title=name, title_align="left")]
    rows: list[list[Any]] = [
        ["corpus", f"{meta.corpus} ({meta.domain})"],
        ["licence", meta.license],
        ["language", meta.language or "(none)"],
        ["title", meta.title or "(none)"],
        ["source_id", meta.source_id],
        ["cluster", meta.cluster or "(alone)"],
        ["duplicates", meta.duplicates or "(none)"],
        ["scores", [f"{name} {value:g}" for name, value in sorted(meta.scores.items())] or "(none)"],
        *([["questions", _questions(meta.evidence)]] if meta.evidence else []),
        ["stored", f"{facts['shard']} at byte {facts['offset']:,}, {counted(facts['size'], 'byte')}"],
        ["members", ", ".join(f"{name} {count:,}" for name, count in facts["members"].items())],
        ["tokens", f"{counted(facts['tokens'], 'token')}, {counted(facts['patches'], 'patch', 'patches')}"],
    ]
    parts.append(table("record", ["what", "is"], rows))
    parts.append(lineage_view(facts["lineage"]))
    return Group(*parts)


def _questions(evidence: Sequence[Evidence]) -> list[str]:
    return [
        f"{one.task}: answer at {one.answer:,}, rests on {', '.join(f'{place:,}' for place in one.at)}"
        for one in evidence
    ]


def lineage_view(chain: dict[str, Any], onto: Tree | None = None) -> Tree:
    """From the record down to the bytes that it was made of."""
    label = RichText(inline(f"{chain['id']}  {chain.get('set', '(in none of these sets)')}"))
    tree = Tree(label) if onto is None else onto.add(label)
    if chain.get("missing"):
        return tree
    if chain["tokenised_from"]:
        tree.add(f"tokenised from the set with the digest {chain['tokenised_from'][:16]}…")
    for step in reversed(chain["steps"]):
        seed = "" if step.get("seed") is None else f" seed {step['seed']}"
        tree.add(
            RichText(inline(f"step {step['name']} v{step['version']} {step.get('parameters', '')[:12]}{seed}".rstrip()))
        )
    tree.add(f"recipe {chain['recipe'][:16] or '(none)'}")
    for parent in chain["parents"][:MOST_PARENTS]:
        lineage_view(parent, tree)
    if len(chain["parents"]) > MOST_PARENTS:
        tree.add(f"and {len(chain['parents']) - MOST_PARENTS:,} more (--json lists them)")
    source = ", ".join(f"{key}: {_plain(value)}" for key, value in chain["source"].items() if not _empty(value))
    place = tree.add(RichText(inline(f"source {source}")))
    place.add(RichText(inline(f"at {chain['address']}"))).add(f"bytes sha256 {chain['sha256'] or 'unknown'}")
    return tree


def reject_view(drop: "Drop", known: "Refusal | None" = None) -> RenderableType:
    """Why something was refused; `known`: what the reason means, and what helps."""
    rows = [[name, getattr(drop, name)] for name in drop.__struct_fields__]
    rows = [[name, value] for name, value in rows if not (name == "error" and not value) and not _empty(value)]
    if known:
        told = [["which means", known.means], *([["what helps", known.help]] if known.help else [])]
        at = next(place for place, row in enumerate(rows) if row[0] == "reason") + 1
        rows[at:at] = told
    for row in rows:
        if isinstance(row[1], dict):
            row[1] = [f"{score} {value:g}" for score, value in sorted(row[1].items())]
        elif row[0] in ("excerpt", "against"):
            row[1] = row[1].split("\n")
    return table(
        "rejected", ["what", "is"], [[name, value if isinstance(value, list) else str(value)] for name, value in rows]
    )


def _empty(value: Any) -> bool:
    """A key of a recipe that was left as it comes."""
    return value is None or value is False or (isinstance(value, str | list | tuple | dict) and not value)


def _plain(value: Any) -> str:
    """A value of a recipe as YAML people write it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(one)}" for key, one in value.items() if not _empty(one)) + "}"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(one) for one in value)
    return "true" if value is True else str(value)


def found_view(found: list[dict[str, Any]]) -> RichText:
    """One line for each, in columns: no line is cut or broken, so that ids can be taken from it in one piece."""
    several = len({one["set"] for one in found}) > 1
    rows = [[one["source_id"], inline(one["is"]), inline(f"{one['source']}: {one['address']}")] for one in found]
    if several:
        rows = [[*row, inline(one["set"])] for row, one in zip(rows, found, strict=True)]
    headings = ["source_id", "is", "address", *(["set"] if several else [])]
    lines = [headings, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(headings) - 1)]
    texts = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]) for line in lines
    ]
    made = RichText(texts[0] + "\n", style="bold", no_wrap=True, overflow="ignore")
    return made.append(RichText("\n".join(texts[1:]), style="not bold"))


def gone_view(gone: "Gone") -> Group:
    """When and why a record was taken down."""
    on = f" on {gone.when}" if gone.when else ""
    said = f"{gone.id or gone.source_id} was taken down{on}: {gone.detail}"
    rows = [["id", gone.id], ["source_id", gone.source_id], ["source", gone.source], ["address", gone.address]]
    return Group(RichText(inline(said), style="yellow"), table("", ["what", "was"], rows))


def indexes_view(checked: "Sequence[Checked]") -> Group:
    """What is wrong with indexes, or was; then how many are right."""
    rows = [[str(one.path), one.state, one.records] for one in checked if one.fault]
    parts: list[RenderableType] = [table("", ["index", "state", "records"], rows)] if rows else []
    states = [one.state for one in checked]
    counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(["whole", *states]))
    parts.append(RichText(f"{counted(len(checked), 'index', 'indexes')}: {counts}"))
    return Group(*parts)


def diff_view(found: "Difference") -> RenderableType:
    """Notes and counts, then the first changes of each kind."""
    from trivium.data.shards.diff import KINDS

    if found.identical:
        return RichText(f"identical: {counted(found.records[0], 'record')}, every byte the same", style="green")
    parts: list[RenderableType] = [RichText(f"note: {printable(note)}", style="yellow") for note in found.notes]
    counts = ", ".join(f"{found.counts[kind]:,} {kind}" for kind in KINDS)
    if found.manifest:
        parts.append(RichText(f"different: {found.records[0]:,} and {found.records[1]:,} records; {counts}"))
    else:
        parts.append(RichText("the same build, and damaged since: its manifests are equal, the files are not"))
    steps = [[kind, step, count] for kind in KINDS for step, count in found.steps[kind].items()]
    if steps:
        parts.append(table("", ["records", "by step", "count"], steps[:30]))
    for kind in KINDS:
        changes: list[Change] = getattr(found, kind)
        if changes:
            rows = [[c.source_id, c.address, c.what, c.step] for c in changes]
            more = found.counts[kind] > len(changes)
            title = f"{kind}: {found.counts[kind]:,}" + (f", the first {len(changes)} (--limit)" if more else "")
            parts.append(table(title, ["source_id", "address", "what", "by step"], rows))
    if found.manifest:
        parts.append(RichText(f"manifest keys that differ: {', '.join(found.manifest)}"))
    if found.files:
        shown = ", ".join(found.files[:20]) + (f" and {len(found.files) - 20:,} more" if len(found.files) > 20 else "")
        parts.append(RichText(f"files that differ: {inline(shown)}"))
    return Group(*parts)


def drop_view(found: "Dropped", dry_run: bool) -> RenderableType:
    """What went, or would go."""
    verb = "would drop" if dry_run else "dropped"
    parts: list[RenderableType] = [
        RichText(
            f"{verb} {counted(len(found.ids), 'record')} of {counted(found.tokens, 'token')}, rewriting "
            f"{counted(len(found.shards), 'shard')}"
        )
    ]
    if found.ids:
        rows = [
            [key, meta.source, meta.address, meta.license]
            for key, meta in zip(found.ids[:20], found.metas, strict=False)
        ]
        more = f", the first 20 of {len(found.ids):,}" if len(found.ids) > 20 else ""
        parts.append(table(f"records{more}", ["id", "source", "address", "licence"], rows))
        parts.append(RichText(f"shards: {', '.join(found.shards)}", style="dim"))
    return Group(*parts)


def grep_view(sums: list[dict[str, Any]], listed: list[dict[str, Any]]) -> Group:
    """Matches with what stands around them, then counts by set."""
    parts: list[RenderableType] = []
    for one in listed:
        line = RichText(f"{one['id']} {one['field']} {one['count']}×  ", style="dim")
        for text, style in ((one["before"], "default"), (one["found"], "bold red"), (one["after"], "default")):
            line.append(" ".join(printable(text).split("\n")), style=style)
        parts.append(line)
    rows = [[one["set"], one["records"], one["of"], one["matches"]] for one in sums]
    parts.append(table("", ["set", "records", "of", "matches"], rows))
    return Group(*parts)


def sample_view(drawn: list[dict[str, Any]], characters: int = 400) -> Group:
    """How each drawn record begins."""
    parts: list[RenderableType] = []
    for one in drawn:
        document: Document = one["of"]
        text = document.text[:characters] + ("…" if len(document.text) > characters else "")
        media = "".join(f"[{name}] " for name in document.media)
        title = f"{one['id']}  {counted(one['tokens'], 'token')}  {inline(document.meta.address)}"
        parts.append(Panel(RichText(printable(media + text)), title=RichText(title), title_align="left"))
    return Group(*parts)
