"""`trivium model describe`: what a model is made of, counted without allocating it."""

from typing import Annotated

import typer

from trivium.commands import model_diff, model_files
from trivium.errors import UsageError

Name = Annotated[
    str,
    typer.Argument(
        help="A preset (nano, tiny, small, base, k3, or k2-nano … k2-base, k2), a run's or model's YAML file, a run "
        "folder, or one of `trivium model import`.",
        metavar="MODEL",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A change, such as backbone.layers=9, or with --optimizer optimizer.per_head=false; repeatable.",
    ),
]
Optimizer = Annotated[bool, typer.Option("--optimizer", help="Show instead how each parameter is updated, by rule.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds `trivium model describe` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Shapes, parameters, FLOPs and memory of a model.")
    group.command("describe")(describe)
    model_diff.register(group)
    model_files.register(group)
    app.add_typer(group, name="model")


def describe(model: Name, changes: Set = None, optimizer: Optimizer = False, as_json: AsJson = False) -> None:
    """Counts parameters by part and by layer, FLOPs a token, and memory; nothing is allocated."""
    from rich.markup import escape

    from trivium.commands.model_view import optimizer_view, sizes_view
    from trivium.console import emit_json, out
    from trivium.data.config import to_mapping
    from trivium.model.optim import OptimizerConfig, describe_groups
    from trivium.model.presets import PRESETS
    from trivium.model.sizes import measure

    aside = [change for change in changes or () if change.startswith("optimizer")]
    if aside and not optimizer:
        raise UsageError(f"--set {aside[0]}: is of the optimizer, which counts change nothing of; add --optimizer")
    config, whole = model_diff.resolve(model, changes or (), sections=("optimizer",))
    sizes = measure(config)
    dials = OptimizerConfig(**whole["optimizer"])
    groups = None
    if optimizer:
        named = config.build(device="meta").named_parameters()
        groups = describe_groups(named, config, per_head=dials.per_head, adamw_also=dials.adamw_also)
    if as_json:
        facts = {
            "model": model,
            "preset": model if model in PRESETS else None,
            "config": to_mapping(config),
            "conventions": _CONVENTIONS,
        }
        facts |= {name: getattr(sizes, name) for name in ("parameters", "layers", "flops", "pictures", "memory")}
        emit_json(facts if groups is None else {**facts, "optimizer": groups, "dials": whole["optimizer"]})
        return
    shown = escape(model)
    out.print(sizes_view(shown, sizes) if groups is None else optimizer_view(shown, groups))
    if groups is None:
        for name, text in _CONVENTIONS.items():
            out.print(f"{name}: {text}", highlight=False)
    else:
        blocks = "a head's rows at a time" if dials.per_head else "whole matrices, as K2 (optimizer.per_head is false)"
        out.print(f"muon takes {blocks}", highlight=False)


_CONVENTIONS = {
    "total": "A_log as stored by the release (k3: padded to 128 a layer), router biases counted, MTP apart",
    "activated": "one text token: head counted, input embedding, vision and MTP not",
    "flops": "a multiply-add is two; mean over a document of so many tokens; causal half, nothing computed twice (MFU)",
    "executed": "what the PyTorch path multiplies: whole blocks of attention, padded chunks and slices, logits twice",
    "(part)": "elementwise work, in no total",
    "memory": "weights, caches and rows bf16; master, gradients, moments, states fp32; rows at 8,192 tokens a document",
}
