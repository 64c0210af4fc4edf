"""What a profiled step's trace says: time by family of kernels, the device's gaps, the host's waits.

Odd: Triton names a kernel by its function alone, and several of ours are called `forward`; so a kernel belongs to the
autograd function that launched it, found by the correlation that the profiler gives both. A trace without a device
holds PyTorch's operators with the time that they spend outside of others.

Times of a trace are µs; those of the figures are ms.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trivium.kernels.bench.report import Family, Gap

STEP = "trivium step"  # the annotation around the profiled step
LEAST_GAP = 10.0  # µs: what is shorter lies between any two kernels
SHOWN_GAPS = 5
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
OWNERS = {
    **dict.fromkeys(("TritonKDA", "ChunkedKDA", "_Scores", "_Leave"), "kda"),
    **dict.fromkeys(("ShortConv", "TritonShortConv", "_Halo"), "short_conv"),
    **dict.fromkeys(("RMSNorm", "GatedNorm", "TritonNorm"), "norms"),
    **dict.fromkeys(("TritonAttention", "GatedTritonAttention", "BlockedAttention", "_Seen"), "mla"),
    "TritonPatchAttention": "vision attention",
    **dict.fromkeys(("AttnRes", "TritonAttnRes", "NormedAttnRes", "_Shared"), "attn_res"),
    **dict.fromkeys(("FewExperts", "Experts", "GroupedExperts"), "moe"),
    **dict.fromkeys(("SiTUGLU", "TritonSiTUGLU"), "situ_glu"),
    "Route": "route",
    **dict.fromkeys(("CrossEntropy", "LinearCrossEntropy"), "cross_entropy"),
}
KERNELS = {"_route": "route", "_spread": "route", "gram": "newton_schulz", "chain": "newton_schulz"}
EVALUATED = "autograd::engine::evaluate_function: "
PRODUCT = re.compile(r"gemm|gemv|nvjet|cutlass|cublas|xmma|splitk|^aten::(mm|bmm|addmm|baddbmm|_grouped_mm)$", re.I)
COPY = re.compile(r"memcpy|memset|copy|CatArray|^aten::(cat|fill_|zero_)$", re.I)


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    kind: str
    start: float
    end: float
    thread: object
    link: int | None  # a launch and what it launched share it


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of one step, in ms: `idle` is the window's time without anything on the device."""

    families: dict[str, Family]
    idle: float | None
    gaps: int
    gap_ms: float
    largest: list[Gap]
    waits: dict[str, int]  # by the operator that waits
    wait_ms: float


def read(trace: Mapping[str, Any]) -> Seen:
    """The step of a Chrome trace, as `export_chrome_trace` writes it. Raises ValueError where it holds none."""
    spans = [_span(event) for event in trace["traceEvents"] if event.get("ph") == "X"]
    step = next((span for span in spans if span.name == STEP and span.kind == "user_annotation"), None)
    if step is None:
        raise ValueError(f"the trace holds no {STEP!r}; profile inside record_function")
    inside = [span for span in spans if step.start <= span.start <= step.end and span is not step]
    above = _stacks([span for span in inside if span.kind in HOST])
    launches = {span.link: span for span in inside if span.kind.startswith("cuda_") and span.link is not None}
    device = [span for span in spans if span.kind in DEVICE and span.link in launches]
    if device:
        parts = [(_family(s.name, s.kind, above[launches[s.link]]), s.end - s.start) for s in device]
    else:
        parts = [(_family(s.name, s.kind, above[s]), own) for s, own in _own(inside, above)]
    waits = [span for span in inside if span.kind.startswith("cuda_") and "Synchronize" in span.name]
    idle = _idle(step, device) if device else []
    long = sorted((gap for gap in idle if gap[1] - gap[0] >= LEAST_GAP), key=lambda gap: gap[0] - gap[1])
    return Seen(
        families=_sums(parts),
        idle=sum(stop - start for start, stop in idle) / 1e3 if device else None,
        gaps=len(long),
        gap_ms=sum(stop - start for start, stop in long) / 1e3,
        largest=[
            Gap(ms=round((stop - start) / 1e3, 3), host=_host(start, stop, above)) for start, stop in long[:SHOWN_GAPS]
        ],
        waits=dict(Counter(_waiting(span, above[span]) for span in waits).most_common()),
        wait_ms=sum(span.end - span.start for span in waits) / 1e3,
    )


def _span(event: Mapping[str, Any]) -> Span:
    start, took = float(event["ts"]), float(event.get("dur", 0.0))
    link = event.get("args", {}).get("correlation")
    return Span(event["name"], event.get("cat", ""), start, start + took, event.get("tid"), link)


def _stacks(spans: Sequence[Span]) -> dict[Span, tuple[Span, ...]]:
    """The spans around each on its own thread, innermost first."""
    found: dict[Span, tuple[Span, ...]] = {}
    open_by_thread: dict[object, list[Span]] = {}
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        opened = open_by_thread.setdefault(span.thread, [])
        while opened and opened[-1].end <= span.start:
            opened.pop()
        found[span] = tuple(reversed(opened))
        opened.append(span)
    return found


def _own(inside: Sequence[Span], above: Mapping[Span, tuple[Span, ...]]) -> list[tuple[Span, float]]:
    """Each operator with its time outside of the operators that it calls."""
    own = {span: span.end - span.start for span in inside if span.kind == "cpu_op"}
    for span in list(own):
        parent = next((outer for outer in above[span] if outer in own), None)
        if parent is not None:
            own[parent] -= span.end - span.start
    return list(own.items())


def _family(name: str, kind: str, outer: Iterable[Span]) -> str:
    names = [name, *(span.name for span in outer)]
    for each in names:
        owner = OWNERS.get(each.removeprefix(EVALUATED).removesuffix("Backward"))
        if owner is not None:
            return owner
    if name in KERNELS:
        return KERNELS[name]
    product = PRODUCT.search(name) is not None
    if any(each.startswith("Optimizer.step") for each in names):
        return "newton_schulz" if product else "optimizer"
    if any("scaled_dot_product" in each for each in names):
        return "vision attention"
    if name.startswith("triton_"):
        return "torch.compile"
    if product:
        return "products"
    return "copies" if kind in DEVICE[1:] or COPY.search(name) else "elementwise"


def _sums(parts: Iterable[tuple[str, float]]) -> dict[str, Family]:
    """ms and launches by family, the longest first."""
    us: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for family, took in parts:
        us[family] += took  # type: ignore[assignment]
        count[family] += 1
    return {name: Family(ms=round(took / 1e3, 3), launches=count[name]) for name, took in us.most_common()}


def _idle(step: Span, device: Sequence[Span]) -> list[tuple[float, float]]:
    """From the step's start to its end, or the end of the last kernel: what no stream covers."""
    found, reached = [], step.start
    for span in sorted(device, key=lambda span: span.start):
        if span.start > reached:
            found.append((reached, span.start))
        reached = max(reached, span.end)
    return [*found, (reached, step.end)] if step.end > reached else found


def _host(start: float, stop: float, above: Mapping[Span, tuple[Span, ...]]) -> str:
    """The innermost span of the host that covers at least half of a gap, and the operator of ours around it."""
    least = (stop - start) / 2
    covering = [span for span in above if min(span.end, stop) - max(span.start, start) >= least]
    if not covering:
        return "Python"
    inner = min(covering, key=lambda span: span.end - span.start)
    owner = next((span.name for span in above[inner] if not span.name.startswith(("aten::", "cuda", EVALUATED))), None)
    return inner.name if owner is None else f"{inner.name} in {owner}"


def _waiting(span: Span, outer: Sequence[Span]) -> str:
    """The operator that called the wait, by its outermost name below the step."""
    names = [each.name for each in outer if not each.kind.startswith("cuda_")]
    return names[0] if names else f"Python ({span.name})"
