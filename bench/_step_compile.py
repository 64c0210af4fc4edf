"""torch.compile around the operators: what lies between them is compiled, they stay whole.

Odd: without this Dynamo goes inside them, since they are Python: it stops at the path's log line, at lengths read on
the host and at `out=` into slices, and makes a dozen small graphs of one operator. The model's modules hold the
operators by name, so the names are replaced there; a decorator at the operator would load the compiler in every run.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from trivium.model.joint import JointModel

OPERATORS = {
    "trivium.model.kda": ("kda", "short_conv", "gated_norm", "rms_norm"),
    "trivium.model.mla": ("mla", "mla_gated"),
    "trivium.model.moe": ("experts", "route_counted", "router_logits"),
    "trivium.model.mlp": ("situ_glu",),
    "trivium.vision.norm": ("rms_norm",),
}


@contextmanager
def operators_whole() -> Iterator[None]:
    """Dynamo calls the operators as they are inside: one break of the graph for each."""
    before = {}
    try:
        for place, names in OPERATORS.items():
            module = importlib.import_module(place)
            for name in names:
                before[module, name] = getattr(module, name)
                setattr(module, name, torch.compiler.disable(before[module, name]))
        yield
    finally:
        for (module, name), operator in before.items():
            setattr(module, name, operator)


def compile_pieces(model: JointModel, backend: str = "inductor") -> None:
    """Attention and channel mixers through torch.compile, for any length; run it inside `operators_whole`."""
    for layer in model.backbone.layers:
        layer.attn.compile(dynamic=True, backend=backend)
        layer.mlp.compile(dynamic=True, backend=backend)
