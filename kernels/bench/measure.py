"""Times and memory: contestants take turns on the same tensors, and a wrong result gets no figure."""

import math
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Layout, Operator
from trivium.kernels.bench.oracle import compare, expect, projections, pull, verdict
from trivium.kernels.bench.report import Figure, Limits, Row

__all__ = ["Timer", "contest", "limits", "timer"]

Timer = Callable[[Callable[[], object]], list[float]]  # ms of each run
SEED = 20260


def timer(device: torch.device, milliseconds: int) -> Timer:
    """`triton.testing.do_bench` (it clears the L2 cache between runs); a plain clock, three runs, on a CPU."""
    if device.type == "cuda":
        from triton.testing import do_bench

        return lambda function: do_bench(function, warmup=10, rep=milliseconds, return_mode="all")
    return _clock


def _clock(function: Callable[[], object]) -> list[float]:
    samples = []
    for _ in range(3):
        began = time.perf_counter()
        function()
        samples.append((time.perf_counter() - began) * 1e3)
    return samples


def limits(device: torch.device, timed: Timer) -> Limits:
    """A copy of 1 GiB and a bf16 product of 8192³, or small ones on a CPU."""
    large = device.type == "cuda"
    size, width = (1 << 30, 8192) if large else (1 << 22, 256)
    source = torch.empty(size, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    copy = min(timed(lambda: target.copy_(source)))
    a, b = (torch.randn(width, width, device=device).to(torch.bfloat16 if large else torch.float32) for _ in range(2))
    product = min(timed(lambda: a @ b))
    return Limits(copy_bytes_s=2 * size / copy * 1e3, matmul_flop_s=2 * width**3 / product * 1e3)


def dtype_of(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def contest(
    operator: Operator,
    layout: Layout,
    contestants: Sequence[Contestant],
    device: torch.device,
    timed: Timer,
    rounds: int,
) -> list[Row]:
    """A row for each contestant. Errors first, the definition's own tensors are freed before anything is timed."""
    torch.manual_seed(SEED)
    operands = operator.operands(layout, device, dtype_of(device))
    calls = {c.name: c.bind(layout, device) for c in contestants}
    with torch.no_grad():
        weights = projections(calls[contestants[0].name](*operands))
    expected = expect(operator, layout, operands, weights)
    rows = [_judge(operator, layout, c, calls[c.name], operands, weights, expected) for c in contestants]
    del expected
    green = [row for row in rows if not row.red]
    peaks = {row.contestant: _peak(calls[row.contestant], operands, weights) for row in green}
    samples = _take_turns({row.contestant: calls[row.contestant] for row in green}, operands, weights, timed, rounds)
    forward, both = operator.work(layout)
    finished = []
    for row in rows:
        if not row.red:
            ways = zip(("forward", "both"), (forward, both), strict=True)
            figures = {
                way: Figure(samples_ms=samples[row.contestant, way], bytes=work.bytes, flops=work.flops)
                for way, work in ways
            }
            row = Row(
                op=row.op, layout=row.layout, contestant=row.contestant, peer=row.peer, path=row.path,
                errors=row.errors, peak_bytes=peaks[row.contestant], **figures,
            )  # fmt: skip
        finished.append(row)
    return finished


def _judge(
    operator: Operator,
    layout: Layout,
    contestant: Contestant,
    call: Call,
    operands: Sequence[Tensor],
    weights: Sequence[Tensor],
    expected: dict[str, Tensor],
) -> Row:
    path = "none"
    errors: dict[str, float] = {}
    try:
        path = _path(call, operands)
        outputs, gradients = pull(call, operands, weights)
        errors = compare(operator, layout, outputs, gradients, expected)
        red = verdict(operator, errors, operands[0].dtype)
    except Exception as error:  # whatever another library raises is its result on this case
        red = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return Row(
        op=operator.name, layout=layout.name, contestant=contestant.name, peer=contestant.peer, path=path,
        errors=finite(errors), red=red,
    )  # fmt: skip


def finite(errors: dict[str, float]) -> dict[str, float | None]:
    """JSON knows no infinity."""
    return {name: error if math.isfinite(error) else None for name, error in errors.items()}


def _path(call: Call, operands: Sequence[Tensor]) -> str:
    """The autograd function behind the first output, seen through views."""
    node = call(*[x.detach().requires_grad_() for x in operands])[0].grad_fn
    while node is not None and type(node).__name__.startswith(("View", "Unsafe", "Reshape", "Squeeze", "Select")):
        node = node.next_functions[0][0]
    return "none" if node is None else type(node).__name__.removesuffix("Backward")


def _both(call: Call, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> Callable[[], None]:
    leaves = [x.detach().requires_grad_() for x in operands]
    weights = [w.to(operands[0].dtype) for w in weights]

    def run() -> None:
        torch.autograd.grad(call(*leaves), leaves, weights)

    return run


def _peak(call: Call, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> int | None:
    """Bytes beyond the operands at the peak of a pass both ways, its fresh gradients among them."""
    if operands[0].device.type != "cuda":
        return None
    run = _both(call, operands, weights)
    run()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _take_turns(
    calls: dict[str, Call], operands: Sequence[Tensor], weights: Sequence[Tensor], timed: Timer, rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Samples by contestant and way; each round begins with another contestant, so that none has the cooler chip."""
    leaves = [x.detach().requires_grad_() for x in operands]
    samples: dict[tuple[str, str], list[float]] = {}
    names = list(calls)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)] if names else []:
            call = calls[name]
            for way, run in (("forward", lambda call=call: call(*leaves)), ("both", _both(call, operands, weights))):
                samples.setdefault((name, way), []).extend(round(ms, 4) for ms in timed(run))
    return samples
