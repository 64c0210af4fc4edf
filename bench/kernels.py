"""Milliseconds of each operator, forwards and backwards, beside its definition, at nano shapes; pass or fail.

An operator whose outputs or gradients leave its definition gets no figure, and the run fails. The floor is that no
operator is slower than its definition; KDA must be ten times faster (a token loop is no way to train).
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from trivium.kernels.attnres import attnres, attnres_reference
from trivium.kernels.cross_entropy import cross_entropy, cross_entropy_reference
from trivium.kernels.gated_norm import gated_norm, gated_norm_reference
from trivium.kernels.kda import kda, kda_reference
from trivium.kernels.mla import mla, mla_reference
from trivium.kernels.moe import experts, experts_reference, route, situ_glu, situ_glu_reference
from trivium.kernels.short_conv import short_conv, short_conv_reference

TOLERANCE = 2e-4  # relative error of fp32 against the definition in fp64
REPEATS = 5
Operator = Callable[..., Tensor]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    shape: str
    fast: Operator
    reference: Operator
    operands: tuple[Tensor, ...]
    floor: float = 1.0  # reference time / fast time


def borders(length: int, tokens: int) -> Tensor:
    return torch.arange(0, tokens + 1, length)


def kda_case(tokens: int, length: int) -> Case:
    cu = borders(length, tokens)
    sizes = ((tokens, 2, 64),) * 4 + ((tokens, 2), (2,), (2, 64))
    return Case(
        name="kda", shape=f"T {tokens}, documents of {length}, 2 × 64", floor=10.0,
        fast=lambda *x: kda(*x, cu), reference=lambda *x: kda_reference(*x, cu)[0],
        operands=tuple(torch.randn(size) - (2.0 if i == 3 else 0.0) for i, size in enumerate(sizes)),
    )  # fmt: skip


def mla_case(tokens: int, length: int) -> Case:
    cu = borders(length, tokens)
    return Case(
        name="mla", shape=f"T {tokens}, documents of {length}, 2 × 64", operands=tuple(torch.randn(3, tokens, 2, 64)),
        fast=lambda *x: mla(*x, cu)[0], reference=lambda *x: mla_reference(*x, cu)[0], floor=0.7,
    )  # fmt: skip


def experts_case(tokens: int) -> Case:
    indices, probs, _ = route(torch.randn(tokens, 16), torch.zeros(16), 4)
    weights = (torch.randn(16, 64, 64) / 8, torch.randn(16, 64, 64) / 8, torch.randn(16, 64, 64) / 8)
    return Case(
        name="experts", shape=f"T {tokens}, 4 of 16, 64 → 64", operands=(torch.randn(tokens, 64), probs, *weights),
        fast=lambda z, p, *w: experts(z, indices, p, *w),
        reference=lambda z, p, *w: experts_reference(z, indices, p, *w),
    )  # fmt: skip


def cases() -> list[Case]:
    cu, targets = borders(256, 8192), torch.randint(2048, (4096,))
    return [
        kda_case(256, 256),
        kda_case(256, 64),
        mla_case(2048, 2048),
        mla_case(2048, 128),
        experts_case(128),
        Case(
            name="short_conv", shape="T 8192, documents of 256, 384 channels",
            fast=lambda x, w: short_conv(x, w, cu), reference=lambda x, w: short_conv_reference(x, w, cu)[0],
            operands=(torch.randn(8192, 384), torch.randn(384, 4)),
        ),
        Case(
            name="gated_norm", shape="T 8192, 2 × 64", fast=gated_norm, reference=gated_norm_reference,
            operands=(torch.randn(8192, 2, 64), torch.randn(8192, 2, 64), torch.randn(64)),
        ),
        Case(
            name="attnres", shape="T 8192, 4 sources, 128", fast=lambda *x: attnres(x[:4], *x[4:]),
            reference=lambda *x: attnres_reference(x[:4], *x[4:]),
            operands=(*torch.randn(4, 8192, 128), torch.randn(128), torch.randn(128)),
        ),
        Case(
            name="situ_glu", shape="T 8192, 256", fast=situ_glu, reference=situ_glu_reference,
            operands=tuple(torch.randn(2, 8192, 256)),
        ),
        Case(
            name="cross_entropy", shape="T 4096, 128 → 2048", fast=lambda h, w: cross_entropy(h, w, targets),
            reference=lambda h, w: cross_entropy_reference(h, w, targets), floor=0.7,
            operands=(torch.randn(4096, 128), torch.randn(2048, 128) / 8),
        ),
    ]  # fmt: skip


def run(operator: Operator, operands: Sequence[Tensor]) -> list[Tensor]:
    """The output and all gradients of its sum of squares."""
    leaves = [x.detach().requires_grad_() for x in operands]
    output = operator(*leaves)
    return [output.detach(), *torch.autograd.grad(output.square().sum(), leaves)]


def error(case: Case) -> float:
    found, expected = run(case.fast, case.operands), run(case.reference, [x.double() for x in case.operands])
    return max(float((a.double() - b).norm() / b.norm()) for a, b in zip(found, expected, strict=True))


def milliseconds(operator: Operator, operands: Sequence[Tensor], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(operator, operands)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> int:
    torch.manual_seed(0)
    table = Table("operator", "shape", "reference ms", "fast ms", "ratio", "floor", "error", "")
    failed = False
    for case in cases():
        wrong = error(case)
        if wrong > TOLERANCE:
            table.add_row(case.name, case.shape, "", "", "", "", f"{wrong:.1e}", "WRONG: no figure")
            failed = True
            continue
        slow = milliseconds(case.reference, case.operands, 1)
        fast = milliseconds(case.fast, case.operands, REPEATS)
        passed = slow / fast >= case.floor
        failed |= not passed
        figures = (f"{slow:.1f}", f"{fast:.1f}", f"{slow / fast:.1f}", f"{case.floor:.1f}", f"{wrong:.1e}")
        table.add_row(case.name, case.shape, *figures, "pass" if passed else "FAIL")
    Console(width=120).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
