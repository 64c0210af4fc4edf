"""Balance counts: the same for any split of a step, never from evaluation or recomputation; what the update does."""

import pytest
import torch

from trivium.errors import ConfigError
from trivium.kernels.quantile import quantile_reference
from trivium.model.balance import SIGN_STEP, Balance
from trivium.model.batch import collate


def counts(model):
    return {name: balance.counts() for name, balance in model.balances().items()}


@pytest.fixture(scope="module", name="samples")
def fixture_samples(sample):
    return [sample(40, (4, 4), seed=1), sample(33, seed=2), sample(50, seed=3), sample(1, seed=4)]


@pytest.fixture(name="model")
def fixture_model(small, awake):
    return awake(small).train()


def test_real_tokens_are_counted_once_a_layer(model, samples, small):
    model(collate(samples, small.media_pad))
    tokens = 40 + 33 + 50 + 1
    for name, found in counts(model).items():
        # The MTP layer's last row of each document has no next token.
        real = tokens - 4 if "mtp" in name else tokens
        assert found[:, 0].sum() == real * 4, name
        assert torch.equal(found[:, 1:].sum(1), torch.full((16,), real)), name


def test_micro_batches_add_up_to_the_whole_step(model, samples, small):
    model(collate(samples, small.media_pad))
    whole = counts(model)
    for balance in model.balances().values():
        balance.load.zero_()
        balance.histogram.zero_()
    for half in (samples[:1], samples[1:]):
        out = model(collate(half, small.media_pad))
        out.loss_T.sum().backward()
    assert all(torch.equal(found, whole[name]) for name, found in counts(model).items())


def test_recomputation_counts_once_and_gives_the_same_gradients(model, samples, small):
    batch = collate(samples, small.media_pad)
    gradients = []
    found = []
    for recompute in (False, True):
        model.backbone.recompute = recompute
        model.zero_grad()
        out = model(batch)
        (out.loss_T.sum() + out.mtp_loss_T.sum()).backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        found.append(counts(model))
        for balance in model.balances().values():
            balance.load.zero_()
            balance.histogram.zero_()
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_evaluation_counts_nothing(model, samples, small):
    batch = collate(samples, small.media_pad)
    with torch.no_grad():
        model(batch)
    model.eval()
    model(batch, mtp=True)
    model.logits(batch)
    assert all(found.sum() == 0 for found in counts(model).values())
    assert all(torch.isinf(logits).all() for logits in model.take_logit_max().values())


def test_the_update_takes_effect_in_the_next_step_and_empties_the_counts(model, samples, small):
    batch = collate(samples, small.media_pad)
    model(batch)
    before = {name: balance.bias.clone() for name, balance in model.balances().items()}
    loads = {name: balance.load.clone() for name, balance in model.balances().items()}
    assert all(torch.equal(balance.bias, before[name]) for name, balance in model.balances().items())
    model.quantile_update()
    for name, balance in model.balances().items():
        assert not torch.equal(balance.bias, before[name])
        assert balance.bias.mean().abs() < 1e-12
        assert balance.counts().sum() == 0
        assert torch.equal(model.expert_load()[name.removesuffix(".mlp.balance")], loads[name])
    kept = {name: balance.bias.clone() for name, balance in model.balances().items()}
    model.quantile_update()
    assert all(torch.equal(balance.bias, kept[name]) for name, balance in model.balances().items())


def test_repeated_updates_level_a_skewed_router():
    generator = torch.Generator().manual_seed(0)
    skew_E = 1.5 * torch.randn(16, generator=generator)
    balance = Balance(16, 4, "quantile")
    worst = []
    for _ in range(6):
        logits_TE = torch.randn(4096, 16, generator=generator) + skew_E
        scores_TE = logits_TE.sigmoid()
        top = (scores_TE + balance.bias).topk(5, dim=-1)
        found = balance.measure(logits_TE, top.indices[:, :4], top.values[:, 4], None)
        balance.add(found)
        load_E = balance.load.double()
        worst.append(float(load_E.max() / load_E.mean()))
        balance.update(balance.counts())
    assert worst[0] > 2
    assert worst[-1] < 1.15


def test_a_moving_average_of_the_quantiles_takes_out_the_batches_differences():
    """Many steps of few tokens: b_t = ε b_{t−1} + (1 − ε) b̂_t by hand from the first on, with mean 0, and steadier."""
    spread = {}
    for ema in (0.0, 0.9):
        generator = torch.Generator().manual_seed(0)
        skew_E = torch.randn(16, generator=generator)
        balance = Balance(16, 4, "quantile", ema).double()
        seen = []
        for step in range(60):
            logits_TE = torch.randn(200, 16, generator=generator).double() + skew_E
            top = (logits_TE.sigmoid() + balance.bias).topk(5, dim=-1)
            balance.add(balance.measure(logits_TE, top.indices[:, :4], top.values[:, 4], None))
            exact_E = quantile_reference(logits_TE.sigmoid(), top.values[:, 4], 4)
            kept = ema if step else 0.0
            wanted_E = kept * balance.bias + (1 - kept) * (exact_E - exact_E.mean())
            width = float(balance.bias.max() - balance.bias.min() + 2) / 1000
            balance.update(balance.counts())
            assert (balance.bias - wanted_E).abs().max() <= 2 * width
            assert balance.bias.mean().abs() < 1e-12
            seen.append(balance.bias.clone())
        spread[ema] = float(torch.stack(seen[20:]).std(0).mean())
    assert spread[0.9] < 0.4 * spread[0.0]


def test_an_average_is_refused_where_there_is_nothing_to_average(change):
    for wrong in (("backbone.moe.balance_ema=1.0",), ("backbone.moe.balance=sign", "backbone.moe.balance_ema=0.5")):
        with pytest.raises(ConfigError, match="balance_ema is"):
            change(*wrong)
    assert change("backbone.moe.balance_ema=0.5").build().balances()["backbone.mtp.layer.mlp.balance"].ema == 0.5


def test_sign_steps_and_no_balance(change, awake, samples, small):
    batch = collate(samples, small.media_pad)
    for method, moved in (("sign", SIGN_STEP), ("none", 0.0)):
        model = awake(change(f"backbone.moe.balance={method}")).train()
        before = {name: balance.bias.clone() for name, balance in model.balances().items()}
        model(batch)
        loads = {name: balance.load.double() for name, balance in model.balances().items()}
        model.quantile_update()
        for name, balance in model.balances().items():
            gap = loads[name].mean() - loads[name]
            torch.testing.assert_close(balance.bias - before[name], moved * gap.sign(), rtol=0, atol=1e-12)


def test_only_the_bias_is_kept_in_a_checkpoint(model):
    kept = [name for name in model.state_dict() if "balance" in name or "logit_max" in name]
    assert kept == [f"{name}.bias" for name in model.balances()]


def test_the_largest_logits_of_a_step_are_those_of_its_micro_batches(model, samples, small):
    parts = []
    for one in samples:
        model(collate([one], small.media_pad))
        parts.append(model.take_logit_max())
    for one in samples:
        model(collate([one], small.media_pad))
    for name, together_H in model.take_logit_max().items():
        assert torch.equal(together_H, torch.stack([part[name] for part in parts]).amax(0))
        assert len({int(place) for place in torch.stack([part[name] for part in parts]).argmax(0)} - {0}) > 0


def test_logit_maxima_are_taken_once(model, samples, small):
    model(collate(samples, small.media_pad))
    taken = model.take_logit_max()
    assert list(taken) == ["backbone.layers.3.attn", "backbone.layers.4.attn", "backbone.mtp.layer.attn"]
    assert all(torch.isfinite(logits).all() and logits.shape == (2,) for logits in taken.values())
    assert all(torch.isinf(logits).all() for logits in model.take_logit_max().values())
