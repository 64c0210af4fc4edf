"""The attention kernels against dense softmax: bf16 on a GPU, small fp32 shapes in the interpreter."""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.mla import BlockPlan, mla, mla_gated_reference, mla_reference
from trivium.kernels.mla.triton_attention import FORWARD, GatedTritonAttention, TritonAttention

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (5e-3, 1e-2) if GPU else (2e-6, 4e-6)
WIDTHS = [(192, 128), (96, 64)] if GPU else [(48, 32)]
RAGGED = [65, 0, 1, 15, 130, 17, 63, 64, 300, 0, 700] if GPU else [65, 0, 1, 136]
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


def attend_gated(q_THD, k_THD, v_THV, gate_THV, cu_seqlens):
    """The kernels with the gate in them; the gate is a slice of a wider row."""
    plan = BlockPlan.build(cu_seqlens, len(q_THD))
    gate_THV = torch.cat([gate_THV, torch.full_like(gate_THV, torch.nan)], dim=2).to(DEVICE)[..., : gate_THV.shape[2]]
    x = q_THD.to(DEVICE), k_THD.to(DEVICE), v_THV.to(DEVICE), gate_THV
    y_THV, top_H = GatedTritonAttention.apply(*x, plan, q_THD.shape[2] ** -0.5)
    return y_THV.cpu(), top_H.cpu()


@pytest.mark.parametrize("shift", [0.0, -30.0])
def test_the_gated_output_and_its_gradients_equal_the_definition(make, compare, borders, shift):
    cu = borders(RAGGED)
    T, (_, V) = int(cu[-1]), WIDTHS[0]
    x = [*operands(make, T), make(T, H, V, dtype=DTYPE, scale=3.0, shift=shift)]
    compare(lambda *x: attend_gated(*x, cu), lambda *x: mla_gated_reference(*x, cu), x, *TOLERANCES)
    assert attend_gated(*x, cu)[0].dtype == DTYPE


def test_a_closed_gate_lets_nothing_through_and_nothing_back(make, borders):
    q, k, v = operands(make, 20)
    gate = torch.full_like(v, -200.0).detach().requires_grad_()
    y, _ = attend_gated(q, k, v, gate, borders([20]))
    gradients = torch.autograd.grad(y.float().sum(), [q, k, v, gate])
    assert all(float(x.detach().abs().max()) < 1e-30 for x in [y, *gradients])


def test_a_nan_stays_in_its_document(make, borders):
    x = [part.detach() for part in operands(make, 40)]
    for part in x:
        part[20:] = torch.nan
    leaves = [part.requires_grad_() for part in x]
    with np.errstate(invalid="ignore"):
        o, _ = attend(*leaves, borders([20, 20]))
        gradients = torch.autograd.grad(o[:20].square().sum(), leaves)
    assert all(y[:20].isfinite().all() for y in [o, *gradients])
    assert o[20:].isnan().all()


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
    T = FORWARD.rows + 7
    x = [part.detach() for part in operands(make, T)]
    before, _ = attend(*x, borders([T]))
    for t in (1, FORWARD.rows - 1, FORWARD.rows, T - 1):
        edited = [part.clone() for part in x]
        for part in edited:
            part[t] += 1
        after, _ = attend(*edited, borders([T]))
        assert torch.equal(after[:t], before[:t])
        assert not torch.equal(after[t], before[t])


def test_the_tiles_take_every_token_once(borders):
    cu = borders([65, 0, 1, 64, 200])
    plan = BlockPlan.build(cu, 330)
    for rows in (64, 128):
        for tiles_N3 in plan.tiles(torch.device("cpu"), rows):
            spans = [(first, min(first + rows, stop)) for first, _, stop in tiles_N3.tolist()]
            assert sorted(t for first, stop in spans for t in range(first, stop)) == list(range(330))
            assert all((first - start) % rows == 0 for first, start, _ in tiles_N3.tolist())


def test_tiles_before_the_first_query_are_left_out(borders):
    plan = BlockPlan.build(borders([300, 50]), 350, queries_from=150)
    by_queries_N3, by_keys_N3 = plan.tiles(torch.device("cpu"), 64)
    assert sorted(by_queries_N3[:, 0].tolist()) == [128, 192, 256, 300]
    assert sorted(by_keys_N3[:, :2].tolist()) == [[0, 150], [64, 150], [128, 150], [192, 192], [256, 256], [300, 300]]


@pytest.mark.parametrize("gated", [False, True])
def test_queries_behind_the_first_have_the_row_s_results_and_gradients(make, borders, gated):
    cu, reach = borders([200, 30]), 150
    x = operands(make, 230)
    gate = make(230, H, x[2].shape[2], dtype=DTYPE)
    weight = make(230 - reach, *x[2].shape[1:], dtype=torch.float32).detach()

    def run(plan):
        leaves = [part.detach().clone().to(DEVICE).requires_grad_() for part in [*x, gate]]
        q, k, v, g = leaves
        if plan.queries_from:  # what stands in their place is a query that sees no more than a real one
            q = torch.cat([q[reach : reach + 1].detach().expand(reach, -1, -1), q[reach:]])
        if gated:
            o, _ = GatedTritonAttention.apply(q, k, v, g, plan, 0.2)
        else:
            o, _ = TritonAttention.apply(q, k, v, plan, 0.2)
        wanted = leaves if gated else leaves[:3]
        gradients = torch.autograd.grad(o[reach:], wanted, weight.to(DEVICE, o.dtype))
        return [o[reach:].detach(), gradients[0][reach:], *gradients[1:3], *(part[reach:] for part in gradients[3:])]

    whole = run(BlockPlan.build(cu, 230, DEVICE))
    for a, b in zip(run(BlockPlan.build(cu, 230, DEVICE, queries_from=reach)), whole, strict=True):
        torch.testing.assert_close(a, b, rtol=2e-2 if GPU else 1e-5, atol=2e-2 if GPU else 1e-6)


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
