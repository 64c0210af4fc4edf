"""What `trivium model describe` shows people: equal layers and equally updated parameters as one row each."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group as Stack
from rich.table import Table

from trivium.console import size as readable
from trivium.data.patches import PATCH

ELEMENTWISE = ("kda.conv", "kda.solve", "attn_res", "norms")  # as `model/flops.py` has it, without torch

if TYPE_CHECKING:
    from trivium.model.optim import Group
    from trivium.model.sizes import LayerSize, Sizes

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")  # of a layer or block inside a parameter's name


def sizes_view(preset: str, sizes: "Sizes") -> Stack:
    """Layers by kind, parameters by part, FLOPs a token and a patch by part, memory."""
    tables = [_layers(preset, sizes.layers), _parts(preset, sizes), _flops(preset, sizes)]
    if sizes.pictures:
        tables.append(_pictures(preset, sizes))
    return Stack(*tables, _memory(preset, sizes))


def _layers(preset: str, layers: "Sequence[LayerSize]") -> Table:
    kinds: dict[tuple[str, str, int, int], list[int]] = {}
    blocks: dict[int, list[int]] = {}
    for layer in layers:
        kinds.setdefault((layer.mixer, layer.channels, layer.parameters, layer.activated), []).append(layer.layer)
        if layer.block is not None:
            blocks.setdefault(layer.block, []).append(layer.layer)
    caption = f"attention residuals over {len(blocks)} blocks: layers {', '.join(map(spans, blocks.values()))}"
    table = Table("layers", "mixer", "channels", title=f"{preset}: layers", caption=caption if blocks else None)
    for column in ("count", "parameters a layer", "activated a layer"):
        table.add_column(column, justify="right")
    for (mixer, channels, parameters, activated), numbers in kinds.items():
        table.add_row(spans(numbers), mixer, channels, f"× {len(numbers)}", f"{parameters:,}", f"{activated:,}")
    return table


def _parts(preset: str, sizes: "Sizes") -> Table:
    parts = Table("part", title=f"{preset}: parameters")
    parts.add_column("parameters", justify="right")
    for part, count in sizes.parameters.parts.items():
        parts.add_row(f"{part} (not in total)" if part == "mtp" else part, f"{count:,}")
    parts.add_section()
    parts.add_row("total", f"{sizes.parameters.total:,}")
    parts.add_row("activated", f"{sizes.parameters.activated:,}")
    return parts


def _flops(preset: str, sizes: "Sizes") -> Table:
    """Both readings of a training step by part, context by context."""
    title = f"{preset}: FLOPs a text token, forwards and backwards, by context"
    flops = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    flops.add_column("part", no_wrap=True)
    for row in sizes.flops:
        flops.add_column(f"{row.context:,}", justify="right")
        flops.add_column("executed", justify="right", style="dim")
    parts = dict.fromkeys(part for row in sizes.flops for part in (*row.parts, *row.executed_parts))
    aside = [part for part in parts if part in ELEMENTWISE]
    for part in (*(part for part in parts if part not in aside), "total", *aside):
        cells = []
        for row in sizes.flops:
            pair = (row.training, row.executed)
            if part != "total":
                pair = (row.parts.get(part, 0), row.executed_parts.get(part, 0))
            cells += [_operations(count) for count in pair]
        flops.add_row(f"({part})" if part in aside else part, *cells, style="bold" if part == "total" else None)
        if part == "total":
            flops.add_section()
    return flops


def _pictures(preset: str, sizes: "Sizes") -> Table:
    title = f"{preset}: FLOPs a patch, forwards and backwards"
    pictures = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    columns = [*sizes.pictures[0].parts, "total", "executed"]
    for column in ("pixels", *columns):
        name = "tower" if column == "vision.linear" else column.removeprefix("vision.")
        pictures.add_column(name, justify="right", no_wrap=True)
    for row in sizes.pictures:
        counts = [*row.parts.values(), row.training, row.executed]
        size = f"{row.rows * PATCH}×{row.columns * PATCH}"
        pictures.add_row(size, *map(_operations, counts))
    return pictures


def _memory(preset: str, sizes: "Sizes") -> Table:
    memory = Table("memory", title=f"{preset}: memory")
    memory.add_column("size", justify="right")
    for name in sizes.memory.__dataclass_fields__:
        value = getattr(sizes.memory, name)
        rows = value if isinstance(value, dict) else {"": value}
        for policy, count in rows.items():
            memory.add_row(f"{name.replace('_', ' ')}{f', {_POLICY[policy]}' if policy else ''}", readable(count))
    return memory


def _operations(count: float) -> str:
    """A count in thousands, millions, … of operations: `48.3 G`."""
    for unit in ("", " k", " M", " G", " T"):
        if count < 999.5 or unit == " T":
            return f"{count:,.3g}{unit}" if count < 999.5 else f"{count:,.0f}{unit}"
        count /= 1000
    raise AssertionError("the last unit holds everything")


_POLICY = {"keep": "all kept", "attn_res": "AttnRes recomputed", "layers": "layers recomputed"}


def optimizer_view(preset: str, groups: "Sequence[Group]") -> Stack:
    """A table a rule, with one row for parameters of one name (but for the layer); Muon's rules first, then AdamW's."""
    rules: dict[str, dict[tuple[str, str], int]] = {}
    for group in groups:
        rule = ": ".join(filter(None, (group.optimizer, group.split))) + ("" if group.decay else ", no decay")
        blocks = (f"{block.count} × ({block.rows} × {block.columns})" for block in group.blocks)
        updated = " +\n".join(blocks) or " × ".join(map(str, group.shape))
        rows = rules.setdefault(rule, {})
        key = (_NUMBER.sub("*", group.name), updated)
        rows[key] = rows.get(key, 0) + 1
    tables = []
    for rule in sorted(rules, key=lambda rule: (not rule.startswith("muon"), rule)):
        title = f"{preset}: {rule} ({sum(rules[rule].values())} tensors)"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("parameter (* is a layer or block)", overflow="fold", min_width=46)
        table.add_column("count", justify="right")
        table.add_column("blocks" if rule.startswith("muon") else "shape")
        for (name, updated), count in rules[rule].items():
            table.add_row(name, str(count), updated)
        tables.append(table)
    return Stack(*tables)


def spans(numbers: Iterable[int]) -> str:
    """Rising numbers as ranges: `1-3, 5, 7-8`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
