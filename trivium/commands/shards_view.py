"""How shard facts look in a terminal: tables, a histogram, one record with its pictures as half blocks.

Odd: everything that comes out of a record is foreign text; control characters are shown, never sent to the terminal.
"""

import io
import unicodedata
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text as RichText

from trivium.data.records import Document, Text
from trivium.data.shards.diff import Change, Difference
from trivium.data.stage import Drop

MOST_PIXELS = 64_000_000  # a larger picture is named, not decoded


def plain(text: str) -> str:
    """The text with control and direction-changing characters made visible; newlines and tabs stay."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else f"\\x{ord(c):02x}" for c in text
    )


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def table(title: str, headings: list[str], rows: list[list[Any]]) -> Table:
    """A table without lines; columns of numbers go to the right."""
    made = Table(title=title or None, title_justify="left", header_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    made.show_edge, made.collapse_padding, made.padding = False, True, (0, 1)
    for place, heading in enumerate(headings):
        number = heading == "size" or (bool(rows) and all(isinstance(row[place], int) for row in rows))
        whole = number or heading in ("set", "id", "source_id")  # what people copy is never cut
        made.add_column(heading, justify="right" if number else "left", overflow="fold", no_wrap=whole)
    for row in rows:
        made.add_row(*(RichText(f"{cell:,}" if isinstance(cell, int) else plain(str(cell))) for cell in row))
    return made


def sets_table(facts: list[dict[str, Any]]) -> Table:
    """One row a set."""
    headings = ["set", "corpus", "records", "tokens", "patches", "shards", "size", "rejects"]
    keys = ["path", *headings[1:6], "bytes", "rejects"]
    rows = [[size(one[key]) if key == "bytes" else one[key] for key in keys] for one in facts]
    return table("", headings, rows)


def stat_view(facts: dict[str, Any], funnel: tuple[Any, ...]) -> Group:
    """The tables of one set."""
    parts: list[RenderableType] = [Rule(RichText(f"{facts['corpus']}  {plain(facts['path'])}"), align="left")]
    about = f"recipe {facts['recipe'][:12] or '–'}   tokenizer {(facts['tokenizer'] or 'none')[:12]}   "
    about += f"pictures {(facts['pictures'] or 'none')[:12]}   {facts['images']:,} images"
    parts.append(RichText(about, style="dim"))
    for key, name in (("buckets", "bucket"), ("licences", "licence"), ("languages", "language")):
        rows = [[label or "(none)", *sums.values()] for label, sums in facts[key].items()]
        if rows:
            parts.append(table("", [name, "records", "tokens", "patches"], rows))
    parts.append(histogram_view(facts["histogram"]))
    if funnel:
        rows = [
            [f.name, f.input, f.kept, ", ".join(f"{reason} {count:,}" for reason, count in f.dropped.items())]
            for f in funnel
        ]
        parts.append(table("funnel", ["stage", "in", "kept", "dropped"], rows))
    return Group(*parts)


def histogram_view(facts: dict[str, Any], width: int = 40) -> RenderableType:
    """Bars of records by length."""
    most = max(facts["records"], default=0)
    made = Table.grid(padding=(0, 1))
    for low, high, count in zip(facts["edges"], facts["edges"][1:], facts["records"], strict=False):
        bar = "█" * (count * width // most) or ("▏" if count else "")
        made.add_row(RichText(f"{low:,} – {high - 1:,} {facts['unit']}", justify="right"), bar, f"{count:,}")
    return made


def record_view(facts: dict[str, Any], document: Document, media: Mapping[str, bytes], width: int) -> Group:
    """Segments, pictures and lineage of one record; pictures only when `width`, in columns, is not 0."""
    meta = document.meta
    parts: list[RenderableType] = [Rule(f"record {document.id}", align="left")]
    for segment in document.segments:
        if isinstance(segment, Text):
            title = "text" if segment.loss else "text, no loss"
            parts.append(Panel(RichText(plain(segment.text)), title=title, title_align="left"))
        else:
            name = f"{segment.media}  {segment.width} × {segment.height}  {segment.mime}"
            hint = RichText("(a terminal with colours shows it; --save DIR writes it)", style="dim")
            picture = half_blocks(media[segment.media], width - 4) if width else hint
            parts.append(Panel(picture, title=name, title_align="left"))
    rows = [
        ["corpus", f"{meta.corpus} ({meta.domain})"],
        ["source", f"{meta.source}: {meta.address}"],
        ["source bytes", f"sha256 {meta.lineage.source_sha256 or 'unknown'}"],
        ["licence", meta.license],
        ["language", meta.language or "(none)"],
        ["title", meta.title or "(none)"],
        ["source_id", meta.source_id],
        ["cluster", meta.cluster or "(alone)"],
        ["duplicates", "\n".join(meta.duplicates) or "(none)"],
        ["parents", "\n".join(meta.lineage.parents) or "(none)"],
        ["recipe", meta.lineage.recipe or "(none)"],
        ["steps", "\n".join(_step(step) for step in meta.lineage.steps) or "(none)"],
        ["scores", "\n".join(f"{name} {value:g}" for name, value in sorted(meta.scores.items())) or "(none)"],
        ["stored", f"{facts['shard']} at byte {facts['offset']:,}, {facts['size']:,} bytes"],
        ["members", ", ".join(f"{name} {count:,}" for name, count in facts["members"].items())],
        ["tokens", f"{facts['tokens']:,} tokens, {facts['patches']:,} patches"],
    ]
    parts.append(table("lineage", ["what", "is"], rows))
    return Group(*parts)


def _step(step: Any) -> str:
    seed = "" if step.seed is None else f" seed {step.seed}"
    return f"{step.name} v{step.version} {step.parameters[:12]}{seed}".rstrip()


def reject_view(drop: Drop) -> RenderableType:
    """Why something was refused."""
    rows = [[name, getattr(drop, name)] for name in drop.__struct_fields__ if getattr(drop, name) not in ("", None)]
    return table("rejected", ["what", "is"], [[name, str(value)] for name, value in rows])


def diff_view(found: Difference) -> RenderableType:
    """Counts and the first changes of each kind."""
    if found.identical:
        return RichText(f"identical: {found.records[0]:,} records, every byte the same", style="green")
    parts: list[RenderableType] = [RichText(f"different: {found.records[0]:,} and {found.records[1]:,} records")]
    for name in ("added", "gone", "changed"):
        changes: list[Change] = getattr(found, name)
        if changes:
            rows = [[c.source_id, c.address, c.what, c.step] for c in changes[:20]]
            title = f"{name}: {len(changes):,}" + (", the first 20" if len(changes) > 20 else "")
            parts.append(table(title, ["source_id", "address", "what", "by step"], rows))
    if found.manifest:
        parts.append(RichText(f"manifest keys that differ: {', '.join(found.manifest)}"))
    if found.files:
        parts.append(RichText(f"files that differ: {', '.join(found.files)}"))
    return Group(*parts)


def half_blocks(payload: bytes, columns: int) -> RichText:
    """A picture as `▀` cells, two pixels each, at most `columns` wide and 40 lines high, on white."""
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(payload), formats=("PNG", "JPEG", "WEBP", "GIF", "BMP")) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return RichText(f"({opened.width} × {opened.height} pixels: too large to show)", style="dim")
            layer = opened.convert("RGBA")
    except Exception as error:  # Pillow raises many kinds for damaged files
        return RichText(f"(can't be shown: {type(error).__name__})", style="dim")
    scale = min(1.0, min(columns, 80) / layer.width, 80 / layer.height)
    layer = layer.resize((max(1, int(layer.width * scale)), max(1, int(layer.height * scale))))
    canvas = PIL.Image.new("RGBA", (layer.width, layer.height + layer.height % 2), "white")
    canvas.alpha_composite(layer)
    shown = RichText()
    for top in range(0, canvas.height, 2):
        for x in range(canvas.width):
            upper, lower = (canvas.getpixel((x, y)) for y in (top, top + 1))
            style = Style(color=_rgb(upper), bgcolor=_rgb(lower))
            shown.append("▀", style)
        shown.append("\n")
    shown.rstrip()
    return shown


def _rgb(pixel: Any) -> str:
    return f"#{pixel[0]:02x}{pixel[1]:02x}{pixel[2]:02x}"
