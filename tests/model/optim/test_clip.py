import copy

import pytest
import torch
from torch import Tensor, nn

from trivium.model.mla import MLA
from trivium.model.optim import clip_grad_norm, qk_clip

CONFIG = MLA.Config(heads=3, head_dim=8, extra_dim=4, q_lora=12, kv_lora=10)


class _Layer(nn.Module):
    """An MLA below a name, as in the backbone."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.attn = MLA(CONFIG, 24, 1e-5).double()
        for parameter in self.attn.parameters():
            nn.init.normal_(parameter, std=0.5)


def _maxima(layer: _Layer, x_TD: Tensor) -> Tensor:
    """Each head's largest causal scaled logit, from the projections alone."""
    attn = layer.attn
    q = attn.q_b_proj(attn.q_a_norm(attn.q_a_proj(x_TD))).view(-1, 3, 12)
    latent, extra = attn.kv_a_proj(x_TD).split([10, 4], dim=-1)
    k = attn.kv_b_proj(attn.kv_a_norm(latent)).view(-1, 3, 16)[..., :8]
    logits = torch.einsum("thn,shn->hts", q[..., :8], k) + torch.einsum("thr,sr->hts", q[..., 8:], extra)
    logits = (logits * 12**-0.5).masked_fill(torch.ones(len(x_TD), len(x_TD)).triu(1).bool(), -torch.inf)
    return logits.amax(dim=(1, 2)).detach()


def test_the_largest_logit_comes_down_to_tau() -> None:
    layer = _Layer()
    x_TD = torch.randn(20, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    reported = layer.attn(x_TD, torch.tensor([0, 20])).logit_max_H
    before = _maxima(layer, x_TD)
    torch.testing.assert_close(reported.double(), before, rtol=1e-5, atol=1e-5)
    tau = float(before.median())
    kept = copy.deepcopy(layer.attn)
    assert qk_clip(layer, {"attn": before}, tau) == 1
    after = _maxima(layer, x_TD)
    hit = before > tau
    torch.testing.assert_close(after[hit], torch.full_like(after[hit], tau), rtol=1e-9, atol=0)
    torch.testing.assert_close(after[~hit], before[~hit], rtol=0, atol=0)
    # The values and what all heads share stay as they were.
    values = layer.attn.kv_b_proj.weight.view(3, 16, -1)[:, 8:], kept.kv_b_proj.weight.view(3, 16, -1)[:, 8:]
    assert torch.equal(*values)
    for name in ("q_a_proj", "kv_a_proj", "g_proj", "o_proj"):
        assert torch.equal(getattr(layer.attn, name).weight, getattr(kept, name).weight)


def test_content_rows_shrink_by_the_root_and_extra_rows_by_gamma() -> None:
    layer = _Layer()
    kept = copy.deepcopy(layer.attn)
    maxima = torch.tensor([400.0, 100.0, -torch.inf], dtype=torch.float64)
    assert qk_clip(layer, {"attn": maxima}, 100.0) == 1
    ratio_q = (layer.attn.q_b_proj.weight / kept.q_b_proj.weight).view(3, 12, -1)
    ratio_k = (layer.attn.kv_b_proj.weight / kept.kv_b_proj.weight).view(3, 16, -1)
    assert ratio_q[0, :8].unique().tolist() == pytest.approx([0.5] * len(ratio_q[0, :8].unique()))
    assert ratio_q[0, 8:].unique().tolist() == pytest.approx([0.25] * len(ratio_q[0, 8:].unique()))
    assert ratio_k[0, :8].unique().tolist() == pytest.approx([0.5] * len(ratio_k[0, :8].unique()))
    for untouched in (ratio_q[1:], ratio_k[1:], ratio_k[0, 8:]):
        assert torch.equal(untouched, torch.ones_like(untouched))


def test_no_tau_no_clip() -> None:
    layer = _Layer()
    kept = copy.deepcopy(layer.attn)
    assert qk_clip(layer, {"attn": torch.full((3,), 1e9)}, None) == 0
    assert all(torch.equal(a, b) for a, b in zip(layer.parameters(), kept.parameters(), strict=True))


def test_gradients_are_scaled_together_and_measured_by_part() -> None:
    named = {name: nn.Parameter(torch.zeros(3)) for name in ("backbone.a", "vision.b", "vision.c", "projector.d")}
    for number, parameter in enumerate(list(named.values())[:3]):
        parameter.grad = torch.full((3,), float(number + 1))
    found = clip_grad_norm(named.items(), 2.0)
    assert found == pytest.approx({"total": 42**0.5, "backbone": 3**0.5, "vision": 39**0.5})
    assert torch.cat([p.grad for p in list(named.values())[:3]]).norm() == pytest.approx(2.0)
    again = clip_grad_norm(named.items(), 5.0)
    assert again["total"] == pytest.approx(2.0)
    assert torch.cat([p.grad for p in list(named.values())[:3]]).norm() == pytest.approx(2.0)


def test_a_norm_that_is_not_finite_scales_nothing() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([torch.inf, 1.0])
    assert clip_grad_norm([("backbone.a", parameter)], 1.0)["total"] == float("inf")
    assert parameter.grad.tolist() == [float("inf"), 1.0]
    parameter.grad = None
    assert clip_grad_norm([("backbone.a", parameter)], 1.0) == {"total": 0.0}
