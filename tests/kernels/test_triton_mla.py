"""The attention kernels against dense softmax: bf16 on a GPU, small fp32 shapes in the interpreter."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.mla import BlockPlan, mla, mla_reference
from trivium.kernels.mla.plan import TILE
from trivium.kernels.mla.triton_attention import TritonAttention

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (5e-3, 1e-2) if GPU else (2e-6, 4e-6)
WIDTHS = [(192, 128), (96, 64)] if GPU else [(48, 32)]
RAGGED = [65, 0, 1, 15, 130, 17, 63, 64, 300, 0, 700] if GPU else [65, 0, 1, 64]
H = 3 if GPU else 2


def attend(q_THD, k_THD, v_THV, cu_seqlens, scale=None):
    """The kernels, with values as a model has them: a slice of a wider row."""
    plan = BlockPlan.build(cu_seqlens, len(q_THD))
    v_THV = torch.cat([torch.full_like(v_THV, torch.nan), v_THV], dim=2).to(DEVICE)[..., v_THV.shape[2] :]
    scale = q_THD.shape[2] ** -0.5 if scale is None else scale
    o_THV, top_H = TritonAttention.apply(q_THD.to(DEVICE), k_THD.to(DEVICE), v_THV, plan, scale)
    return o_THV.cpu(), top_H.cpu()


def operands(make, T, width=WIDTHS[0], dtype=DTYPE):
    D, V = width
    return [make(T, H, D, dtype=dtype), make(T, H, D, dtype=dtype), make(T, H, V, dtype=dtype)]


@pytest.mark.parametrize("width", WIDTHS)
def test_ragged_documents_equal_dense_softmax(make, compare, borders, width):
    cu = borders(RAGGED)
    x = operands(make, int(cu[-1]), width)
    compare(lambda *x: attend(*x, cu), lambda *x: mla_reference(*x, cu), x, *TOLERANCES)
    assert attend(*x, cu)[0].dtype == torch.float32


def test_the_row_max_is_the_largest_logit_even_when_all_are_negative(make, borders):
    q, k, v = (x.detach() for x in operands(make, 20))
    q, k = q.abs(), -k.abs()
    cu = borders([17, 3])
    wanted = mla_reference(q.double(), k.double(), v.double(), cu, scale=0.3)[1]
    found = attend(q, k, v, cu, scale=0.3)[1]
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    assert (found < 0).all()
    assert attend(q[:0], k[:0], v[:0], borders([0]))[1].tolist() == [-torch.inf] * H


def test_large_logits_do_not_overflow(make, borders):
    q, k, v = operands(make, 70)
    leaves = [(q.detach() * 60).requires_grad_(), (k.detach() * 60).requires_grad_(), v]
    o, top = attend(*leaves, borders([70]))
    assert o.isfinite().all()
    assert (top > 100).all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(o.square().sum(), leaves))


def test_a_document_in_a_packed_row_equals_the_document_alone_and_runs_repeat(make, borders):
    cu = borders(RAGGED if GPU else RAGGED[:3])
    x = [part.detach() for part in operands(make, int(cu[-1]))]
    weight = make(*x[2].shape, dtype=torch.float32).detach()

    def run(parts, layout, projection):
        leaves = [part.clone().requires_grad_() for part in parts]
        o, _ = attend(*leaves, layout)
        return [o.detach(), *torch.autograd.grad(o, leaves, projection)]

    packed = run(x, cu, weight)
    assert all(torch.equal(a, b) for a, b in zip(packed, run(x, cu, weight), strict=True))
    for start, stop in zip(cu[:-1].tolist(), cu[1:].tolist(), strict=True):
        alone = run([part[start:stop] for part in x], borders([stop - start]), weight[start:stop])
        for inside, outside in zip(packed, alone, strict=True):
            assert torch.equal(inside[start:stop], outside)


def test_editing_a_token_leaves_earlier_outputs_bit_equal(make, borders):
    T = TILE + 7
    x = [part.detach() for part in operands(make, T)]
    before, _ = attend(*x, borders([T]))
    for t in (1, TILE - 1, TILE, T - 1):
        edited = [part.clone() for part in x]
        for part in edited:
            part[t] += 1
        after, _ = attend(*edited, borders([T]))
        assert torch.equal(after[:t], before[:t])
        assert not torch.equal(after[t], before[t])


def test_the_tiles_take_every_token_once(borders):
    cu = borders([65, 0, 1, 64, 200])
    for tiles_N3 in BlockPlan.build(cu, 330).tiles(torch.device("cpu")):
        spans = [(first, min(first + TILE, stop)) for first, _, stop in tiles_N3.tolist()]
        assert sorted(t for first, stop in spans for t in range(first, stop)) == list(range(330))
        assert all((first - start) % TILE == 0 for first, start, _ in tiles_N3.tolist())


@pytest.mark.gpu
def test_the_operator_takes_this_path_on_a_gpu_and_never_waits_for_it(make, borders, waits):
    cu = borders([65, 200])
    leaves = [part.detach().cuda().requires_grad_() for part in operands(make, 265, dtype=torch.bfloat16)]
    plan = BlockPlan.build(cu, 265, "cuda")
    for mode in ("default", "error"):  # the first pass compiles and sends the plan
        with waits(mode):
            o, _ = mla(*leaves, cu, plan=plan)
            gradients = torch.autograd.grad(o.square().sum(), leaves)
    assert type(o.grad_fn).__name__ == "TritonAttentionBackward"
    assert all(g.dtype == torch.bfloat16 and g.isfinite().all() for g in gradients)
    narrow = [part.detach()[..., :40] for part in leaves]
    torch.testing.assert_close(mla(*narrow, cu)[0].cpu(), mla_reference(*narrow, cu)[0].cpu(), rtol=1e-2, atol=1e-2)
