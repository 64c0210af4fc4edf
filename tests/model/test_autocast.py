"""Mixed precision: products in bf16, and states, statistics, routers and losses in fp32."""

import pytest
import torch

from trivium.kernels.precision import without_autocast
from trivium.model.batch import collate
from trivium.model.moe import router_logits


def bf16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def step(model, batch):
    out = model(batch, mtp=True)
    losses = out.loss_T if out.mtp_loss_T is None else torch.stack([out.loss_T, out.mtp_loss_T])
    return losses, losses.mean()


@pytest.mark.parametrize("family", ["small", "small_k2"])
def test_a_step_in_bf16_is_near_the_fp32_step(request, sample, family):
    config = request.getfixturevalue(family)
    model = config.build(seed=1).train()
    pictures = ((4, 4), (2, 6)) if config.vision else ()
    samples = [sample(40), sample(90, *pictures), sample(1)]
    for one in samples:
        one.patches[:] = [patch.float() for patch in one.patches]
    batch = collate(samples, config.media_pad)
    exact, mean = step(model, batch)
    mean.backward()
    wanted = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    with bf16():
        rough, mean = step(model, batch)
    mean.backward()

    assert rough.dtype == torch.float32
    assert rough.sum().isfinite()
    assert not torch.equal(rough, exact), "bf16 must have been used somewhere"
    assert abs(rough.mean() - exact.mean()) / exact.mean() < 5e-3
    got = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert set(got) == set(wanted)
    assert all(grad.dtype == torch.float32 and grad.isfinite().all() for grad in got.values())
    # Some tokens change their expert, so whole gradients are compared, not entry by entry.
    flat = [torch.cat([grads[name].flatten() for name in sorted(grads)]) for grads in (got, wanted)]
    assert torch.cosine_similarity(*flat, dim=0) > 0.95


def test_the_router_multiplies_in_fp32_inside_autocast():
    x_TD, weight_ED = torch.randn(9, 16), torch.randn(5, 16)
    with bf16():
        assert (x_TD @ weight_ED.t()).dtype == torch.bfloat16
        assert torch.equal(router_logits(x_TD, weight_ED), without_autocast(torch.mm)(x_TD, weight_ED.t()))
        assert router_logits(x_TD.bfloat16(), weight_ED).dtype == torch.float32
