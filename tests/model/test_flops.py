"""The formula of FLOPs against torch's counter, part by part, on the PyTorch path; both readings in closed form."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from trivium.model.batch import Batch, collate
from trivium.model.counted import UNSEEN, count_pass
from trivium.model.flops import ELEMENTWISE, Work, algorithmic, executed, mfu, products
from trivium.model.joint import JointConfig, JointModel
from trivium.model.presets import configure, preset
from trivium.model.sizes import flops, measure

TEXTS = ((420,), (64, 65, 129), (300, 120))
CASES = [
    pytest.param("nano", (), TEXTS[0], (), id="k3 text"),
    pytest.param("nano", (), TEXTS[2], ((8, 8), (6, 4)), id="k3 pictures"),
    pytest.param("nano", ("backbone.kda.gate=low_rank", "backbone.dense_layers=6"), TEXTS[1], (), id="dense"),
    pytest.param("k2-nano", (), TEXTS[2], ((8, 8),), id="k2 pictures"),
    pytest.param("k2-nano", ("backbone.mtp_layers=0", "backbone.mla.gate=low_rank"), TEXTS[1], (), id="k2 text"),
]


def _setting(name: str, changes: tuple[str, ...], texts, pictures, sample) -> tuple[JointConfig, Batch, Work]:
    config = configure({"preset": name}, name="test", overrides=changes)
    place = [pictures if number == 0 else () for number in range(len(texts))]
    samples = [sample(n, *seen, pad=config.media_pad) for n, seen in zip(texts, place, strict=True)]
    for one in samples:
        one.loss[:] = True
        for index, patches in enumerate(one.patches):
            one.patches[index] = patches.float()
    batch = collate(samples, config.media_pad)
    work = Work(texts, tuple((1, *picture) for picture in pictures), batch.targets)
    assert Work.of(batch) == work
    return config, batch, work


def _run(model: JointModel, batch: Batch) -> None:
    output = model.train()(batch)
    loss = output.loss_T.sum()
    (loss if output.mtp_loss_T is None else loss + output.mtp_loss_T.sum()).backward()


@pytest.mark.parametrize(("name", "changes", "texts", "pictures"), CASES)
def test_every_executed_part_is_what_torch_counts(name, changes, texts, pictures, sample):
    config, batch, work = _setting(name, changes, texts, pictures, sample)
    model = config.build(seed=1)
    with FlopCounterMode(display=False, custom_mapping=UNSEEN) as counter:
        counted = count_pass(model, batch)
    formula = executed(config, work)
    parts = {part for part, passes in formula.items() if passes.total and part not in ELEMENTWISE}
    assert set(counted) == parts
    for part in parts:
        # Experts' slices are filled up to whole tiles: their number is random, and small ones weigh in short batches.
        near = 0.03 if part in ("routed", "mtp") and work.tokens < 400 else 0.01
        assert formula[part].forward == pytest.approx(counted[part].forward, rel=near), part
        assert formula[part].backward == pytest.approx(counted[part].backward, rel=near), part
    assert sum(passes.total for passes in counted.values()) == counter.get_total_flops()
    assert products(formula).total == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_recomputed_layers_run_forwards_once_more(sample):
    config, batch, work = _setting("nano", (), (300,), (), sample)
    model = config.build(seed=1)
    model.backbone.recompute = True
    with FlopCounterMode(display=False, custom_mapping=UNSEEN) as counter:
        _run(model, batch)
    again = products(executed(config, work, recompute=True)).total
    assert again == pytest.approx(counter.get_total_flops(), rel=0.01)
    assert again > 1.15 * products(executed(config, work)).total


def test_the_readings_differ_where_the_path_does_more():
    config, work = preset("small"), Work((8192,))
    ideal, real = algorithmic(config, work), executed(config, work)
    same = {part for part in ideal if ideal[part] == real[part]} - {*ELEMENTWISE}
    assert {"kda.projections", "mla.projections", "dense", "shared", "router", "latent"} <= same
    assert real["head"].total == pytest.approx(4 / 3 * ideal["head"].total)  # logits made again
    half = real["mla.core"].forward / ideal["mla.core"].forward
    assert half == pytest.approx(1 + 128 / 8192, rel=1e-3)  # the diagonal blocks whole
    assert real["mla.core"].backward / real["mla.core"].forward == pytest.approx((6 * 192 + 4 * 128) / (2 * 320))
    assert products(real).total > products(ideal).total


@pytest.mark.parametrize("name", ["nano", "small", "k3", "k2-base"])
def test_matrices_are_twice_the_parameters_that_a_token_meets(name):
    config = preset(name)
    parts = measure(config, (8192,)).parameters.parts
    model = config.build(device="meta")
    moe = config.backbone.moe
    met = parts["head"]
    for parameter_name, parameter in model.backbone.layers.named_parameters():
        if parameter_name.endswith(("_conv.weight", "dt_bias")) or parameter.dim() < 2:
            continue
        share = moe.experts_per_token / moe.experts if ".experts." in parameter_name else 1
        met += round(parameter.numel() * share)
    assert flops(config, 8192).matrices == 2 * met


def test_k3s_closed_forms():
    row = flops(preset("k3"), 8192)
    assert row.attention == 24 * 96 * 320 * 8192
    assert row.recurrence == 69 * 96 * (6 * 128**2 + 3 * 64 * 128 + 64**2)
    assert math.isclose(row.forward / 2 / 104.19e9, 1.03, abs_tol=0.01)
    assert row.parts["mtp"] > 0
    done = products(algorithmic(preset("k3"), Work((8192,), targets=8192))).total
    assert mfu(done, 2.0, 1e18) == pytest.approx(row.training * 8192 / 2e18)
    work = Work((8192,), grids=((1, 64, 64),))
    assert products(algorithmic(preset("k3"), work)).total > products(algorithmic(preset("k3"), Work((8192,)))).total


@torch.no_grad()
def test_counting_leaves_the_model_as_it_was(sample):
    config, batch, _ = _setting("nano", (), (64,), (), sample)
    model = config.build(seed=1).eval()
    with torch.enable_grad():
        count_pass(model, batch)
    assert not model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(int(balance.load.sum()) == 0 for balance in model.balances().values())
    assert not any(module._forward_hooks for module in model.modules())
