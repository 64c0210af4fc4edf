"""Documents packed in one row behave as if each stood alone: losses, gradients, counts, logits."""

import pytest
import torch

from trivium.model.batch import collate


def losses(model, batch):
    out = model(batch, mtp=True)
    if out.mtp_loss_T is None:
        return out.loss_T
    return torch.stack([out.loss_T, out.mtp_loss_T])


@pytest.mark.parametrize("family", ["small", "small_k2"])
def test_packed_equals_unpacked_forwards_and_backwards(request, awake, sample, family):
    config = request.getfixturevalue(family)
    model = awake(config).train()
    pictures = [(), ((4, 4), (2, 6)), (), (), ((2, 2),)] if config.vision else [()] * 5
    lengths = [37, 90, 1, 2, 70]
    samples = [sample(n, *shown, seed=i) for i, (n, shown) in enumerate(zip(lengths, pictures, strict=True))]
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    weight_T = torch.randn(sum(lengths), generator=torch.Generator().manual_seed(5), dtype=torch.float64)

    packed = losses(model, collate(samples, config.media_pad))
    counts = [balance.counts() for balance in model.balances().values()]
    got = torch.autograd.grad((packed * weight_T).sum(), parameters.values())
    for balance in model.balances().values():
        balance.update(torch.zeros_like(balance.counts()))
    alone = torch.cat([losses(model, collate([one], config.media_pad)) for one in samples], dim=-1)
    wanted = torch.autograd.grad((alone * weight_T).sum(), parameters.values())

    torch.testing.assert_close(packed, alone, rtol=1e-10, atol=1e-10)
    assert packed.abs().sum() > 0
    for name, one, other in zip(parameters, got, wanted, strict=True):
        scale = other.abs().max() + 1e-12
        assert (one - other).abs().max() / scale < 1e-8, name
    for balance, count in zip(model.balances().values(), counts, strict=True):
        # Few margins lie so near a bin's edge that rounding moves them; none does here.
        assert torch.equal(balance.counts(), count)


def test_the_order_of_documents_does_not_matter(small, awake, sample):
    model = awake(small).eval()
    samples = [sample(30, (2, 4)), sample(55), sample(21, (4, 2), (2, 2))]
    straight = model.logits(collate(samples, small.media_pad)).split([30, 55, 21])
    turned = model.logits(collate(samples[::-1], small.media_pad))
    torch.testing.assert_close(turned, torch.cat(straight[::-1]), rtol=1e-10, atol=1e-10)


def test_a_batch_without_pictures_leaves_the_tower_alone(small, awake, sample):
    model = awake(small).train()
    model(collate([sample(20)], small.media_pad)).loss_T.sum().backward()
    assert all(parameter.grad is None for parameter in model.vision.parameters())
