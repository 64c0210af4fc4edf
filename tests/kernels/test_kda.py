"""Chunked KDA against the token recurrence: outputs, final states and every gradient."""

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.kda import ChunkPlan, kda, kda_reference, kda_step

RAGGED = [65, 0, 1, 15, 16, 17, 63, 64, 0, 130]
H, K, V = 2, 6, 5


def operands(make, T, D, dtype=torch.float64, K=K, V=V, gate=-2.0):
    sizes = [(T, H, K), (T, H, K), (T, H, V), (T, H, K), (T, H), (H,), (H, K), (D, H, K, V)]
    scales = [1, 1, 1, 1.5, 1, 0.3, 0.3, 0.3]
    tensors = [make(*size, scale=scale) for size, scale in zip(sizes, scales, strict=True)]
    tensors[3] = (tensors[3] + gate).detach()
    return [x.detach().to(dtype) if i < 5 else x.detach().to(torch.promote_types(dtype, torch.float32))
            for i, x in enumerate(tensors)]  # fmt: skip


def with_state(op, cu):
    extra = {} if op is kda_reference else {"return_state": True}
    return lambda *x: op(*x[:7], cu, initial_state=x[7], **extra)


def without_state(op, cu):
    return lambda *x: op(*x, cu)[0] if op is kda_reference else op(*x, cu)


@pytest.mark.parametrize("length", RAGGED)
def test_one_document_equals_the_recurrence(make, compare, borders, length):
    cu = borders([length])
    compare(with_state(kda, cu), with_state(kda_reference, cu), operands(make, length, 1))


def test_ragged_documents_equal_the_recurrence(make, compare, borders):
    cu = borders(RAGGED)
    x = operands(make, int(cu[-1]), len(RAGGED))
    compare(with_state(kda, cu), with_state(kda_reference, cu), x)


def test_documents_without_initial_state_begin_at_zero(make, compare, borders):
    cu = borders([17, 0, 65])
    compare(without_state(kda, cu), without_state(kda_reference, cu), operands(make, 82, 3)[:7])


@settings(max_examples=6)
@given(lengths=st.lists(st.integers(0, 90), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_any_layout_equals_the_recurrence(make, compare, borders, lengths, seed):
    cu = borders(lengths)
    x = operands(make, int(cu[-1]), len(lengths), gate=float(seed % 7) - 4)
    compare(with_state(kda, cu), with_state(kda_reference, cu), x)


def test_small_case_passes_gradcheck(borders, make):
    cu = borders([17, 0, 3])
    x = [t.requires_grad_() for t in operands(make, 20, 3, K=3, V=2)]
    assert torch.autograd.gradcheck(with_state(kda, cu), x, fast_mode=True)


@pytest.mark.parametrize(
    ("dtype", "tolerance", "gradient_tolerance"), [(torch.float32, 3e-6, 3e-5), (torch.bfloat16, 8e-3, 2e-2)]
)
def test_low_precision_stays_near_fp64(make, compare, borders, dtype, tolerance, gradient_tolerance):
    cu = borders([65, 30])
    x = operands(make, 95, 2, dtype=dtype, K=64, V=64, gate=0.0)
    compare(with_state(kda, cu), with_state(kda_reference, cu), x, tolerance, gradient_tolerance)


def test_gates_at_the_bound_are_finite_and_right_in_fp32(make, compare, borders):
    cu = borders([130])
    x = operands(make, 130, 1, dtype=torch.float32, K=64, V=64)
    x[3] = torch.full_like(x[3], 60.0)  # σ = 1 in fp32: g = −5 in every channel of every row
    compare(with_state(kda, cu), with_state(kda_reference, cu), x, 3e-6, 3e-5)


def test_tiny_gradients_survive_at_the_bound(make, borders):
    cu = borders([64])
    x = operands(make, 64, 1, dtype=torch.float32, K=64, V=64)[:7]
    x[3] = torch.full_like(x[3], 60.0)
    projection = make(64, H, 64, dtype=torch.float32).detach()

    def key_gradient(scale):
        leaves = [t.clone().requires_grad_() for t in x]
        return torch.autograd.grad(kda(*leaves, cu), leaves[1], projection * scale)[0]

    torch.testing.assert_close(key_gradient(2.0**-40) * 2.0**40, key_gradient(1.0), rtol=1e-4, atol=1e-6)


def test_an_extreme_gate_scale_gives_no_nan(make, borders):
    x = [t.requires_grad_() for t in operands(make, 70, 1, dtype=torch.float32)[:7]]
    with torch.no_grad():
        x[5].fill_(200.0)
    gradients = torch.autograd.grad(kda(*x, borders([70])).sum(), x)
    assert all(torch.isfinite(g).all() for g in gradients)


def test_alike_keys_do_not_blow_up_the_solve(make, compare, borders):
    cu = borders([130])
    x = operands(make, 130, 1, dtype=torch.float32, K=64, V=64)
    x[1] = x[1][:1].expand_as(x[1]).contiguous()  # one key 130 times, β near 1, no decay: the worst system
    x[3], x[4] = torch.full_like(x[3], -60.0), torch.full_like(x[4], 8.0)
    compare(with_state(kda, cu), with_state(kda_reference, cu), x, 2e-5, 1e-3)


def test_steps_equal_one_pass_and_a_state_continues_a_document(make, borders):
    x = operands(make, 90, 1)
    whole, final = kda(*x[:7], borders([90]), return_state=True)
    state, outputs = torch.zeros(1, H, K, V, dtype=torch.float64), []
    for t in range(90):
        o, state = kda_step(*(part[t : t + 1] for part in x[:5]), x[5], x[6], state)
        outputs.append(o)
    torch.testing.assert_close(torch.cat(outputs), whole)
    torch.testing.assert_close(state, final)
    first, middle = kda(*(part[:40] for part in x[:5]), *x[5:7], borders([40]), return_state=True)
    second, last = kda(*(part[40:] for part in x[:5]), *x[5:7], borders([50]), initial_state=middle, return_state=True)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    torch.testing.assert_close(last, final)


def test_the_older_gate_equals_its_formula(make, borders):
    x = operands(make, 5, 1)
    g = -x[5].exp()[:, None] * torch.nn.functional.softplus(x[3] + x[6])
    z = torch.logit(g / -20)  # the same decay through a bound of −20 with A = 0 and no bias
    expected, _ = kda_reference(
        *x[:3], z, x[4], torch.zeros_like(x[5]), torch.zeros_like(x[6]), borders([5]), lower_bound=-20.0
    )
    torch.testing.assert_close(kda(*x[:7], borders([5]), lower_bound=None), expected)


def test_wrong_layouts_and_bounds_are_refused(make, borders):
    x = operands(make, 8, 1)[:7]
    with pytest.raises(ValueError, match="cu_seqlens must run from 0 to 8"):
        kda(*x, borders([7]))
    with pytest.raises(ValueError, match="lower_bound must lie in"):
        kda(*x, borders([8]), lower_bound=-6.0)
    with pytest.raises(ValueError, match="built for 9 tokens and the row has 8"):
        kda(*x, borders([8]), plan=ChunkPlan.build(borders([9]), 9))
    with pytest.raises(ValueError, match="built for another cu_seqlens"):
        kda(*x, borders([3, 5]), plan=ChunkPlan.build(borders([5, 3]), 8))


@pytest.mark.parametrize("longer", range(5))
def test_an_operand_of_another_row_is_refused(make, borders, longer):
    x = list(operands(make, 8, 1)[:7])
    x[longer] = torch.cat([x[longer]] * 2)
    with pytest.raises(ValueError, match="must be"):
        kda(*x, borders([len(x[0])]))


def test_wrong_operands_are_named(make, borders):
    x = list(operands(make, 8, 1)[:7])
    H, K = x[6].shape
    V = x[2].shape[-1]
    with pytest.raises(ValueError, match=r"initial_state must be \[D, H, K, V\]"):
        kda(*x, borders([3, 5]), initial_state=torch.zeros(1, H, K, V))
    with pytest.raises(ValueError, match="without a batch dimension"):
        kda(*(part.unsqueeze(0) for part in x[:5]), *x[5:], borders([8]))
    with pytest.raises(ValueError, match="share one dtype"):
        kda(x[0], x[1].bfloat16(), *x[2:], borders([8]))
    with pytest.raises(ValueError, match="A_log_H must have a floating-point dtype"):
        kda(*x[:5], x[5].long(), x[6], borders([8]))
    with pytest.raises(ValueError, match="beta_TH lies on meta"):
        kda(*x[:4], x[4].to("meta"), *x[5:], borders([8]))


def test_operands_may_come_by_name(make, borders):
    x = operands(make, 8, 1)[:7]
    names = ("q_THK", "k_THK", "v_THV", "gate_THK", "beta_TH", "A_log_H", "dt_bias_HK")
    named = kda(**dict(zip(names, x, strict=True)), cu_seqlens=borders([8]))
    assert torch.equal(named, kda(*x, borders([8])))


@given(lengths=st.lists(st.integers(0, 300), max_size=12))
def test_the_plan_places_every_token_once_and_in_order(borders, lengths):
    cu = borders(lengths)
    plan = ChunkPlan.build(cu, int(cu[-1]))
    assert torch.equal(plan.rows_NC.reshape(-1)[plan.inverse_T], torch.arange(plan.tokens))
    assert sum(plan.live) == sum(-(-length // 64) for length in lengths)
    assert list(plan.live) == sorted(plan.live, reverse=True)
    ends = plan.rows_NC[:, 0].unsqueeze(1) + torch.arange(64)
    assert ((plan.rows_NC == ends) | (plan.valid_NC is not None and ~plan.valid_NC)).all()
