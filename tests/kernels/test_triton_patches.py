"""The attention kernels without a causal mask against dense softmax: bf16 on a GPU, small fp32 in the interpreter."""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.mla.triton_attention import Passes, Tiling
from trivium.kernels.patches import PatchPlan, patch_attention, patch_attention_reference, triton_patches
from trivium.kernels.patches.triton_patches import PASSES, TritonPatchAttention

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (5e-3, 1e-2) if GPU else (2e-6, 4e-6)
WIDTHS = [64, 128] if GPU else [32]
RAGGED = [65, 0, 1, 16, 130, 17, 64, 300, 0, 1024] if GPU else [65, 0, 1, 32, 100]
H = 3 if GPU else 2
SMALL = Passes(*(Tiling(rows=32, step=16, warps=4, stages=2, heads=heads) for heads in (4, 1, 2)), causal=False)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Tiles of few rows in the interpreter, so that grids of a hundred patches have several."""
    if not GPU:
        monkeypatch.setitem(triton_patches.PASSES, 32, SMALL)


def attend(q_PHD, k_PHD, v_PHD, cu_seqlens):
    """The kernels, with operands as a tower has them: slices of one tensor [P, 3, H, D]."""
    q, k, v = torch.stack([q_PHD, k_PHD, v_PHD], dim=1).to(DEVICE).unbind(1)
    return TritonPatchAttention.apply(q, k, v, PatchPlan.build(cu_seqlens, len(q))).cpu()


def operands(make, P, width=WIDTHS[0]):
    return [make(P, H, width, dtype=DTYPE) for _ in range(3)]


@pytest.mark.parametrize("width", WIDTHS)
def test_ragged_grids_equal_dense_softmax(make, compare, borders, width):
    cu = borders(RAGGED)
    x = operands(make, int(cu[-1]), width)
    compare(lambda *x: attend(*x, cu), lambda *x: patch_attention_reference(*x, cu), x, *TOLERANCES)
    assert attend(*x, cu).dtype == DTYPE


@pytest.mark.parametrize("reach", [-1.0, 1.0])
def test_logits_far_from_zero_leave_the_keys_behind_the_end_without_weight(make, compare, borders, reach):
    """At logits near −100 a key of zeros behind a grid's end would outweigh all others, at +100 it would overflow."""
    cu = borders([5, 37, 64])
    q, k, v = operands(make, 106)
    # A shift of all keys alike, which the softmax does not see; it is exact in bf16.
    q = (q.detach() * 0.01).to(DTYPE) + 4
    k = (k.detach() * 0.01).to(DTYPE) + reach * 100 / (4 * q.shape[2] ** 0.5)
    x = [q.requires_grad_(), k.requires_grad_(), v]
    weight = make(*v.shape, dtype=torch.float32).detach()
    o = attend(*x, cu)
    with np.errstate(over="ignore", invalid="ignore"):  # rows of keys behind the end, which nothing reads
        gradients = torch.autograd.grad((o.float() * weight).sum(), x)
    exact = [part.detach().double().requires_grad_() for part in x]
    wanted = patch_attention_reference(*exact, cu)
    right = torch.autograd.grad((wanted * weight.double()).sum(), exact)
    near = {"rtol": 2e-2, "atol": 2e-2} if GPU else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(o.double(), wanted, **near)
    torch.testing.assert_close(gradients[2].double(), right[2], **near)
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")  # of the interpreter
def test_a_nan_stays_in_its_grid(make, borders):
    x = [part.detach() for part in operands(make, 60)]
    for part in x:
        part[40:] = torch.nan
    leaves = [part.requires_grad_() for part in x]
    with np.errstate(invalid="ignore"):
        o = attend(*leaves, borders([40, 20]))
        gradients = torch.autograd.grad(o[:40].square().sum(), leaves)
    assert all(y[:40].isfinite().all() for y in [o, *gradients])
    assert o[40:].isnan().all()


def test_a_grid_in_a_packed_row_equals_the_grid_alone_and_runs_repeat(make, borders):
    cu = borders(RAGGED if GPU else RAGGED[:4])
    x = [part.detach() for part in operands(make, int(cu[-1]))]
    weight = make(*x[2].shape, dtype=DTYPE).detach()

    def run(parts, layout, projection):
        leaves = [part.clone().requires_grad_() for part in parts]
        o = attend(*leaves, layout)
        return [o.detach(), *torch.autograd.grad(o, leaves, projection)]

    packed = run(x, cu, weight)
    assert all(torch.equal(a, b) for a, b in zip(packed, run(x, cu, weight), strict=True))
    for start, stop in zip(cu[:-1].tolist(), cu[1:].tolist(), strict=True):
        alone = run([part[start:stop] for part in x], borders([stop - start]), weight[start:stop])
        for inside, outside in zip(packed, alone, strict=True):
            assert torch.equal(inside[start:stop], outside)


def test_an_output_s_gradient_of_any_layout_gives_the_same_bits(make, borders):
    cu = borders([20, 30])
    x = operands(make, 50)
    weight = make(50, H, x[0].shape[2], dtype=DTYPE).detach()
    wide = torch.cat([torch.full_like(weight, torch.nan), weight], dim=2)[..., weight.shape[2] :]
    across = weight.transpose(0, 2).contiguous().transpose(0, 2)
    found = [torch.autograd.grad(attend(*x, cu), x, each) for each in (weight, wide, across)]
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))
    same = torch.autograd.grad(attend(*x, cu).sum(), x)  # a gradient of one number, spread without strides
    ones = torch.autograd.grad(attend(*x, cu), x, torch.ones_like(weight))
    assert all(torch.equal(a, b) for a, b in zip(same, ones, strict=True))


def test_an_empty_row_has_empty_results(make, borders):
    x = operands(make, 0)
    o = attend(*x, borders([0, 0]))
    assert o.shape == x[0].shape
    assert all(g.shape == x[0].shape for g in torch.autograd.grad(o.sum(), x))


@pytest.mark.parametrize("passes", [*PASSES.values()])
def test_no_pass_has_a_causal_mask(passes):
    assert not passes.causal


@pytest.mark.gpu
@pytest.mark.parametrize("width", [64, 128])
def test_the_operator_takes_this_path_on_a_gpu_and_never_waits_for_it(make, borders, waits, width):
    cu = borders([65, 200])
    leaves = [make(265, 3, width, dtype=torch.bfloat16).detach().cuda().requires_grad_() for _ in range(3)]
    plan = PatchPlan.build(cu, 265)
    for mode in ("default", "error"):  # the first pass compiles and sends the plan
        with waits(mode):
            o = patch_attention(*leaves, cu, plan)
            gradients = torch.autograd.grad(o.square().sum(), leaves)
    assert type(o.grad_fn).__name__ == "TritonPatchAttentionBackward"
    assert all(g.dtype == torch.bfloat16 and g.isfinite().all() for g in gradients)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.equal(patch_attention(*(x.float() for x in leaves), cu, plan), o)
    narrow = [part.detach()[..., :40] for part in leaves]
    wanted = patch_attention_reference(*narrow, cu)
    torch.testing.assert_close(patch_attention(*narrow, cu), wanted, rtol=1e-2, atol=1e-2)
