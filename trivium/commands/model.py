"""`trivium model describe`: what a preset is made of, counted without allocating it."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trivium.model.optim import Group
    from trivium.model.sizes import LayerSize, Sizes

Name = Annotated[str, typer.Argument(help="nano, tiny, small, base, k3 or k2.", metavar="PRESET")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A change, such as backbone.layers=9; repeatable."),
]
Optimizer = Annotated[bool, typer.Option("--optimizer", help="List every parameter's optimizer group.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds `trivium model describe` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Shapes, parameters, FLOPs and memory of a model.")
    group.command("describe")(describe)
    app.add_typer(group, name="model")


def describe(preset: Name, changes: Set = None, optimizer: Optimizer = False, as_json: AsJson = False) -> None:
    """Counts parameters by part and by layer, FLOPs a token, and memory; nothing is allocated."""
    from trivium.console import emit_json
    from trivium.data.config import to_mapping
    from trivium.model.optim import describe_groups
    from trivium.model.presets import configure
    from trivium.model.sizes import measure

    config = configure({"preset": preset}, name="--set", overrides=changes or ())
    sizes = measure(config)
    groups = describe_groups(config.build(device="meta").named_parameters(), config) if optimizer else None
    if as_json:
        facts = {"preset": preset, "config": to_mapping(config), "conventions": _CONVENTIONS}
        facts |= {name: getattr(sizes, name) for name in ("parameters", "layers", "flops", "memory")}
        emit_json(facts if groups is None else {**facts, "optimizer": groups})
        return
    _print(preset, sizes)
    if groups is not None:
        _print_groups(preset, groups)


_CONVENTIONS = {
    "total": "A_log as stored by the release (k3: padded to 128 a layer), router biases counted, MTP apart",
    "activated": "one text token: head counted, input embedding, vision and MTP not",
    "flops": "a multiply-add is two; mean over a document of `context` tokens; training is three passes, with MTP",
    "memory": "bytes, without activations: bf16 weights, fp32 master, gradients, moments; cache bf16, states fp32",
}


def _print(preset: str, sizes: "Sizes") -> None:
    from rich.table import Table

    from trivium.console import out
    from trivium.console import size as readable

    table = Table("layers", "mixer", "channels", "block", title=f"{preset}: layers")
    table.add_column("parameters a layer", justify="right")
    table.add_column("activated a layer", justify="right")
    for first, last, size in _runs(sizes.layers):
        span = str(first) if first == last else f"{first}-{last}"
        block = "" if size.block is None else str(size.block)
        table.add_row(span, size.mixer, size.channels, block, f"{size.parameters:,}", f"{size.activated:,}")
    out.print(table)

    parts = Table("part", title=f"{preset}: parameters")
    parts.add_column("parameters", justify="right")
    for part, count in sizes.parameters.parts.items():
        parts.add_row(f"{part} (not in total)" if part == "mtp" else part, f"{count:,}")
    parts.add_section()
    parts.add_row("total", f"{sizes.parameters.total:,}")
    parts.add_row("activated", f"{sizes.parameters.activated:,}")
    out.print(parts)

    unit, scale = ("GFLOPs", 1e9) if sizes.flops[0].matrices > 1e9 else ("MFLOPs", 1e6)
    flops = Table("context", title=f"{preset}: {unit} a token")
    columns = ("matrices", "attention", "recurrence", "depth", "forward", "training")
    for column in columns:
        flops.add_column(column, justify="right")
    for row in sizes.flops:
        flops.add_row(f"{row.context:,}", *(f"{getattr(row, column) / scale:,.4g}" for column in columns))
    out.print(flops)

    memory = Table("memory", title=f"{preset}: memory without activations")
    memory.add_column("size", justify="right")
    for name in sizes.memory.__dataclass_fields__:
        memory.add_row(name.replace("_", " "), readable(getattr(sizes.memory, name)))
    out.print(memory)
    for name, text in _CONVENTIONS.items():
        out.print(f"{name}: {text}", highlight=False)


def _print_groups(preset: str, groups: "list[Group]") -> None:
    from rich.table import Table

    from trivium.console import out

    table = Table(title=f"{preset}: optimizer")
    table.add_column("parameter", overflow="fold", min_width=24)
    for column in ("shape", "optimizer", "split", "blocks", "decay"):
        table.add_column(column)
    for group in groups:
        blocks = ", ".join(f"{block.count} of {block.rows}x{block.columns}" for block in group.blocks)
        shape = "x".join(map(str, group.shape))
        table.add_row(group.name, shape, group.optimizer, group.split, blocks, "yes" if group.decay else "")
    out.print(table)


def _runs(layers: "tuple[LayerSize, ...]") -> "list[tuple[int, int, LayerSize]]":
    """Neighbouring layers of one kind and block as one row: (first, last, the first's sizes)."""
    runs: list[tuple[int, int, LayerSize]] = []
    for size in layers:
        if runs and _kind(runs[-1][2]) == _kind(size):
            runs[-1] = (runs[-1][0], size.layer, runs[-1][2])
        else:
            runs.append((size.layer, size.layer, size))
    return runs


def _kind(size: "LayerSize") -> tuple[str, str, int | None, int]:
    return size.mixer, size.channels, size.block, size.parameters
