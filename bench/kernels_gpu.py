"""The Triton kernels on one GPU: milliseconds, share of the memory's speed, peak memory; nothing on a red oracle.

`python bench/kernels_gpu.py` prints, for each operator and shape, the median of do_bench forwards and both ways; the
bytes are those that one pass over operands and results must move. Each operator is first compared with its definition
in fp64, in bf16 on a small ragged row; one that leaves it gets no figure, and the run fails.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import triton
from torch import Tensor
from triton.testing import do_bench

from trivium.kernels.gated_norm import gated_norm, gated_norm_reference, rms_norm, rms_norm_reference
from trivium.kernels.kda import ChunkPlan, kda_reference
from trivium.kernels.kda.triton_chunk import TritonKDA
from trivium.kernels.short_conv import TapPlan, short_conv, short_conv_reference

TOLERANCE = 4e-2  # relative error of bf16 outputs and gradients
COPY_TB_S = 4.27  # measured on an H200: read + write
RAGGED = [1300, 547, 2048, 963, 271, 3063]
SMALL = [65, 0, 1, 63, 64, 130]
LAYOUTS = [([8192], 96), (RAGGED, 96), ([1024] * 8, 96), ([8192], 32), ([1024] * 8, 32), ([65536], 32)]
Operator = Callable[..., Tensor]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    operator: Callable[[Tensor], Operator]  # from cu_seqlens
    reference: Callable[[Tensor], Operator]
    sizes: Callable[[int, int], Sequence[tuple[int, ...]]]  # from tokens and heads
    passes: tuple[int, int]  # reads and writes of a [T, H, 128] tensor forwards, backwards
    shift: int | None = None  # the operand that is a gate: near its initial values


def _short_conv(cu: Tensor) -> Operator:
    plan = TapPlan.build(cu, int(cu[-1]), "cuda")
    return lambda x, w: short_conv(x, w, cu, plan=plan)


def _kda(cu: Tensor) -> Operator:
    plan = ChunkPlan.build(cu, int(cu[-1]), "cuda")
    return lambda *x: TritonKDA.apply(*x, None, plan, -5.0, x[0].shape[2] ** -0.5, False)[0]


CASES = [
    Case(
        name="kda", operator=_kda, reference=lambda cu: lambda *x: kda_reference(*x, cu)[0], shift=3, passes=(5, 9),
        sizes=lambda T, H: ((T, H, 128),) * 4 + ((T, H), (H,), (H, 128)),
    ),
    Case(
        name="short_conv", operator=_short_conv, reference=lambda cu: lambda x, w: short_conv_reference(x, w, cu)[0],
        sizes=lambda T, H: ((T, H * 128), (H * 128, 4)), passes=(2, 3),
    ),
    Case(
        name="gated_norm", operator=lambda cu: gated_norm, reference=lambda cu: gated_norm_reference,
        sizes=lambda T, H: ((T, H, 128), (T, H, 128), (128,)), passes=(3, 5),
    ),
    Case(
        name="rms_norm", operator=lambda cu: rms_norm, reference=lambda cu: rms_norm_reference,
        sizes=lambda T, H: ((T, H * 128), (H * 128,)), passes=(2, 3),
    ),
]  # fmt: skip


def operands(case: Case, tokens: int, heads: int, device: str) -> list[Tensor]:
    """Random bf16 activations (those with a row a token) and fp32 parameters."""
    sizes = case.sizes(tokens, heads)
    made = [torch.randn(size, device=device) for size in sizes]
    if case.shift is not None:
        made[case.shift] = made[case.shift] * 1.5 - 3
    return [(x.bfloat16() if size[0] == tokens else x * 0.3) for x, size in zip(made, sizes, strict=True)]


def run(operator: Operator, x: Sequence[Tensor], weight: Tensor) -> list[Tensor]:
    leaves = [part.detach().requires_grad_() for part in x]
    y = operator(*leaves)
    return [y.detach(), *torch.autograd.grad(y, leaves, weight.to(y.dtype))]


def error(case: Case) -> float:
    """The largest relative error of the output and the gradients, on a small ragged row."""
    cu, tokens = torch.tensor([0, *SMALL]).cumsum(0), sum(SMALL)
    x = operands(case, tokens, 2, "cpu")
    weight = torch.randn(x[0].shape).bfloat16()
    found = run(case.operator(cu), [part.cuda() for part in x], weight.cuda())
    expected = run(case.reference(cu), [part.double() for part in x], weight)
    pairs = zip(found, expected, strict=True)
    return max(float((a.double().cpu() - b).norm() / b.norm()) for a, b in pairs)


def row(case: Case, lengths: Sequence[int], heads: int) -> str:
    tokens = sum(lengths)
    operator = case.operator(torch.tensor([0, *lengths]).cumsum(0))
    x = [part.requires_grad_() for part in operands(case, tokens, heads, "cuda")]
    weight = torch.randn(x[0].shape, device="cuda").bfloat16()

    def both() -> None:
        torch.autograd.grad(operator(*x), x, weight)

    both()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    both()
    peak = (torch.cuda.max_memory_allocated() - before) / 2**20
    forward = do_bench(lambda: operator(*x), warmup=10, rep=50, return_mode="median")
    whole = do_bench(both, warmup=10, rep=50, return_mode="median")
    one = tokens * heads * 128 * 2 / 1e9  # GB of a bf16 tensor
    shares = [n * one / t / COPY_TB_S for n, t in ((case.passes[0], forward), (sum(case.passes), whole))]
    layout = f"{len(lengths)} doc. T{tokens} H{heads}"
    return (
        f"{case.name:<11} {layout:<22} forward {forward:8.3f} ms ({shares[0]:4.0%})  both {whole:8.3f} ms "
        f"({shares[1]:4.0%})  {sum(case.passes) * one:6.2f} GB  peak +{peak:6.0f} MiB"
    )


def main() -> int:
    if not torch.cuda.is_available():
        print("this table needs a CUDA device; `python bench/kernels.py` measures the PyTorch path on a CPU")
        return 2
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}, bf16, medians")
    failed = False
    for case in CASES:
        wrong = error(case)
        if wrong > TOLERANCE:
            print(f"{case.name:<11} WRONG: relative error {wrong:.1e}, no figure")
            failed = True
            continue
        for lengths, heads in LAYOUTS if case.name == "kda" else LAYOUTS[1:2]:
            print(row(case, lengths, heads), f" error {wrong:.1e}", flush=True)
            torch.cuda.empty_cache()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
