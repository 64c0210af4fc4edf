"""KDA with documents cut into segments: the same function, the same laws."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.dispatch import KERNELS_VARIABLE
from trivium.kernels.kda import ChunkPlan, kda_reference, kda_segment, kda_segment_gradient, segment_plan
from trivium.kernels.kda.segment_plan import LEAST, cut, segments_of
from trivium.kernels.kda.triton_chunk import TritonKDA

pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")]
GPU = torch.cuda.is_available()
gpu = pytest.mark.gpu if GPU else ()
DEVICE = "cuda" if GPU else "cpu"
WAYS = ["portable", "hopper"] if GPU and torch.cuda.get_device_capability()[0] == 9 else ["portable"]
# The decay scale's gradient is one number, a sum of what nearly cancels: ten times the error of the others.
DTYPE, TOLERANCES = (torch.bfloat16, (1e-2, 4e-2)) if GPU else (torch.float32, (1e-5, 3e-4))
HEADS, WIDTH = (3, 128) if GPU else (1, 64)
LENGTHS = [9, 330, 0, 200, 64] if GPU else [9, 140]  # two documents are cut, in 3 and 2; on a CPU one, in 2


@pytest.fixture
def short_segments(monkeypatch):
    """Segments of one or two chunks."""
    monkeypatch.setattr(segment_plan, "segments_of", lambda chunks, *_: max(2, chunks // 2) if chunks > 1 else 1)


@pytest.fixture(params=[pytest.param(way, marks=gpu) for way in WAYS])
def way(request, monkeypatch):
    monkeypatch.setenv(KERNELS_VARIABLE, "portable" if request.param == "portable" else "")


def operands(make, T, D):
    sizes = [(T, HEADS, WIDTH)] * 4 + [(T, HEADS), (HEADS,), (HEADS, WIDTH), (D, HEADS, WIDTH, WIDTH)]
    scales = [1, 1, 1, 1.5, 1, 0.3, 0.3, 0.3]
    x = [make(*size, scale=scale).detach() for size, scale in zip(sizes, scales, strict=True)]
    x[3] -= 4  # slow decay: what enters a segment reaches its end
    return [part.to(DTYPE) if i < 5 else part.float() for i, part in enumerate(x)]


def run(x, cu, state=True):
    """(o, final states), back on the CPU; a row of which nothing was cut is no test."""
    on = [part.to(DEVICE) for part in x]
    plan = ChunkPlan.build(cu, x[0].shape[0])
    o, final = TritonKDA.apply(*on[:7], on[7] if state else None, plan, -5.0, WIDTH**-0.5, state)
    assert all(segments is not None for segments in plan.segments.values())
    return (o.cpu(), final.cpu()) if state else o.cpu()


@pytest.mark.usefixtures("short_segments", "way")
def test_cut_documents_equal_the_recurrence(make, compare, borders):
    cu = borders(LENGTHS)
    compare(
        lambda *x: run(x, cu), lambda *x: kda_reference(*x[:7], cu, initial_state=x[7]),
        operands(make, int(cu[-1]), len(LENGTHS)), *TOLERANCES,
    )  # fmt: skip


@pytest.mark.usefixtures("short_segments", "way")
def test_a_cut_document_has_the_same_bits_alone_and_its_tokens_know_no_later_one(make, borders):
    lengths = LENGTHS if GPU else [5, 70]
    cu = borders(lengths)
    x = operands(make, int(cu[-1]), len(lengths))[:7]
    weight = make(*x[2].shape, dtype=DTYPE).detach()
    start, stop = int(cu[1]), int(cu[2])

    def both(parts, layout, projection):
        leaves = [part.clone().requires_grad_() for part in parts]
        o = run(leaves, layout, state=False)
        return [o.detach(), *torch.autograd.grad(o, leaves, projection)][:6]

    alone = [part[start:stop] for part in x[:5]] + x[5:], borders([stop - start])
    inside, outside = both(x, cu, weight), both(*alone, weight[start:stop])
    assert all(torch.equal(a[start:stop], b) for a, b in zip(inside, outside, strict=True))
    if GPU:
        assert all(torch.equal(a, b) for a, b in zip(inside, both(x, cu, weight), strict=True))
    for t in range(1, stop - start, 7) if GPU else [66]:
        edited = [part.clone() for part in alone[0]]
        for part in edited[:5]:
            part[t] = part[t] * -3 + 1
        after = run(edited, alone[1], state=False)
        assert torch.equal(outside[0][:t], after[:t])
        assert not torch.equal(outside[0][t:], after[t:])


@given(
    chunks=st.integers(0, 20_000), heads=st.integers(1, 128), width=st.sampled_from([64, 128]),
    processors=st.sampled_from([1, 78, 132, 148]),
)  # fmt: skip
def test_a_cut_pays_its_passes_and_fills_no_processor_twice(chunks, heads, width, processors):
    segments = segments_of(chunks, heads, width, processors)
    assert segments == 1 or segments >= LEAST
    if segments > 1:
        assert segments * heads * width // 64 <= processors
        assert chunks // segments >= 4 * segments
    assert segments <= segments_of(chunks + 1, heads, width, processors)  # longer documents are cut no less
    assert segments_of(63, heads, width, processors) == 1  # below 4096 tokens nothing is cut
    assert segments_of(chunks, max(heads, 17), 128, min(processors, 132)) == 1


@settings(max_examples=40)
@given(lengths=st.lists(st.integers(0, 900), max_size=8))
def test_segments_hold_every_token_of_a_row_once_at_borders_of_chunks(borders, lengths):
    cu = borders(lengths)
    plan = ChunkPlan.build(cu, int(cu[-1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_plan, "segments_of", lambda chunks, *_: 3 if chunks > 4 else 1)
        found = cut(plan, 1, 64, torch.device("cpu"))
    if found is None:
        assert all(length <= 256 for length in lengths)
        return
    held = torch.zeros(plan.tokens, dtype=torch.int64)
    chunk_starts = plan.cuts(torch.device("cpu")).chunks_N2[:, 0]
    for _, start, stop, first in [*found.cut.documents_D4.tolist(), *found.whole.documents_D4.tolist()]:
        held[start:stop] += 1
        assert stop > start == int(chunk_starts[first])
    assert (held == 1).all()
    by_number = sorted(found.cut.documents_D4.tolist())
    for document, first, end in found.groups_G3.tolist():
        starts = [start for _, start, _, _ in by_number[first:end]] + [by_number[end - 1][2]]
        assert starts[0] == int(cu[document])
        assert starts[-1] == int(cu[document + 1])
        assert math.isclose(max(starts[1:-1]) - starts[0], 2 * lengths[document] / 3, abs_tol=128)
    assert cut(plan, 1, 64, torch.device("cpu")) is found  # kept for the next layer


@pytest.mark.gpu
@pytest.mark.usefixtures("way")
def test_state_transition_and_gradient_of_pieces_by_the_kernels(make, borders):
    cu = borders([65, 0, 130])
    T = int(cu[-1])
    q, k, v, gate, beta, A, bias, _ = operands(make, T, 3)
    do = make(*v.shape, dtype=DTYPE).detach()

    def pieces(parts, device):
        q, k, v, gate, beta, A, bias, do = (part.to(device) for part in parts)
        gradient = kda_segment_gradient(do, q, k, gate, beta, A, bias, cu)
        return *kda_segment(k, v, gate, beta, A, bias, cu), gradient

    parts = (q, k, v, gate, beta, A, bias, do)
    for found, expected in zip(pieces(parts, DEVICE), pieces([p.double() for p in parts], "cpu"), strict=True):
        assert torch.equal(found[1].cpu().double(), expected[1])  # the empty piece
        assert float((found.cpu().double() - expected).norm() / expected.norm()) < TOLERANCES[0]
