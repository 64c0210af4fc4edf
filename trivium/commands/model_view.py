"""What `trivium model describe` shows people: equal layers and equally updated parameters as one row each."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group as Stack
from rich.table import Table

from trivium.console import size as readable

if TYPE_CHECKING:
    from trivium.model.optim import Group
    from trivium.model.sizes import LayerSize, Sizes

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")  # of a layer or block inside a parameter's name


def sizes_view(preset: str, sizes: "Sizes") -> Stack:
    """Layers by kind, parameters by part, FLOPs a token, memory."""
    return Stack(_layers(preset, sizes.layers), _parts(preset, sizes), _flops(preset, sizes), _memory(preset, sizes))


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
    unit, scale = ("GFLOPs", 1e9) if sizes.flops[0].matrices > 1e9 else ("MFLOPs", 1e6)
    flops = Table("context", title=f"{preset}: {unit} a token")
    columns = ("matrices", "attention", "recurrence", "depth", "forward", "training")
    for column in columns:
        flops.add_column(column, justify="right")
    for row in sizes.flops:
        flops.add_row(f"{row.context:,}", *(f"{getattr(row, column) / scale:,.4g}" for column in columns))
    return flops


def _memory(preset: str, sizes: "Sizes") -> Table:
    memory = Table("memory", title=f"{preset}: memory without activations")
    memory.add_column("size", justify="right")
    for name in sizes.memory.__dataclass_fields__:
        memory.add_row(name.replace("_", " "), readable(getattr(sizes.memory, name)))
    return memory


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
        title = f"{preset}: {rule} ({sum(rules[rule].values())} parameters)"
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
