"""The mechanisms that a run takes in or out, each by its keys, and how two configurations differ in them.

Odd: keys are those of a run's sections, `backbone.mla_every` without the `model.` before it. What no mechanism names is
a size: of the backbone, of the tower, or a dial of the optimizer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mechanism:
    """`report`: where the K3 report has it."""

    name: str
    keys: tuple[str, ...]
    report: str


MECHANISMS = (
    Mechanism("attention pattern", ("backbone.mla_every",), "section 2.1, Table 1"),
    Mechanism("decay bound", ("backbone.kda.decay_bound",), "section 2.1.1, equation 5"),
    Mechanism("output gate", ("backbone.kda.gate", "backbone.mla.gate"), "sections 2.1.1 and 2.1.2, equations 6 and 7"),
    Mechanism("position encoding", ("backbone.mla.rope_base",), "section 2.1.2"),
    Mechanism("residual", ("backbone.residual", "backbone.attn_res_block"), "section 2.2"),
    Mechanism("expert space", ("backbone.moe.latent", "backbone.moe.scaling"), "section 2.3.1"),
    Mechanism("activation", ("backbone.activation",), "section 2.3.2"),
    Mechanism("balance", ("backbone.moe.balance", "backbone.moe.balance_ema"), "section 2.3.3"),
    Mechanism("multi-token prediction", ("backbone.mtp_layers",), "Table 1"),
    Mechanism("vision initialisation", ("vision_init",), "section 2.4"),
    Mechanism("Muon", ("optimizer.per_head",), "section 2.5"),
)
SIZES = {"backbone": "size", "vision": "tower", "projector": "tower", "media_pad": "tower", "optimizer": "optimizer"}


@dataclass(frozen=True, slots=True)
class Difference:
    """A key whose value differs; a section that one side lacks is one difference, its value the whole section."""

    mechanism: str
    key: str
    a: Any
    b: Any


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """What differs between two configurations as plain data: mechanisms in their order, then sizes."""
    found = [Difference(_mechanism(key, *values), key, *values) for key, *values in _walk(a, b, "")]
    order = [mechanism.name for mechanism in MECHANISMS] + list(dict.fromkeys(SIZES.values()))
    return sorted(found, key=lambda one: order.index(one.mechanism))


def _mechanism(key: str, a: Any, b: Any) -> str:
    sized = key == "backbone.moe.latent" and None not in (a, b)  # a latent space of another width
    for mechanism in MECHANISMS:
        if not sized and any(key == known or key.startswith(f"{known}.") for known in mechanism.keys):
            return mechanism.name
    return SIZES[key.partition(".")[0]]


def _walk(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in a | b:
            yield from _walk(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif a != b:
        yield path, a, b
