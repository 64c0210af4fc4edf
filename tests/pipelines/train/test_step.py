import math

import pytest
import torch

from trivium.errors import TrainError
from trivium.model.batch import NO_TARGET, TEXT
from trivium.pipelines.train.config import Loss
from trivium.pipelines.train.prepare import build_model
from trivium.pipelines.train.step import Counts, aims_of, train_step, weigh


@pytest.fixture
def ready(prepared):
    model = build_model(prepared)
    rows, _ = next(prepared.plan.rows())
    return model, prepared.run.optimizer.build(model), prepared.assembler().batch(rows.rows)


@pytest.mark.parametrize("weights", [Loss(), Loss(text=2.0, image=0.5, mtp=0.1), Loss(image=0.0, mtp=0.0)])
def test_the_objective_is_the_weighted_mean(ready, weights):
    model, _, batch = ready
    counts = Counts.of(batch, model.config)
    output = model(batch, aims=aims_of(batch, weights, counts, counts))
    losses = weigh(output, batch, counts)
    total = weight_sum = 0.0
    sums = {"text": [0.0, 0], "image": [0.0, 0]}
    for loss, target, modality in zip(
        output.loss_T.tolist(), batch.targets_T.tolist(), batch.modality_T.tolist(), strict=True
    ):
        if target != NO_TARGET:
            kind = "text" if modality == TEXT else "image"
            total += getattr(weights, kind) * loss
            weight_sum += getattr(weights, kind)
            sums[kind][0] += loss
            sums[kind][1] += 1
    aims = int((output.mtp_targets_T != NO_TARGET).sum())
    mtp = float(output.mtp_loss_T.detach().sum()) / aims
    assert float(losses.objective.detach()) == pytest.approx(total / weight_sum + weights.mtp * mtp, rel=1e-5)
    assert float(losses.mtp.detach()) == pytest.approx(mtp, rel=1e-5)
    for kind, (loss, count) in sums.items():
        assert float(getattr(losses, kind)) == pytest.approx(loss / count, rel=1e-5)


def test_a_step_measures_and_learns(prepared, ready):
    model, optimizer, batch = ready
    first = train_step(model, optimizer, prepared, batch, step=1, lr=0.01)
    assert first["loss"]["text"] == pytest.approx(math.log(400), rel=0.05)
    assert first["tokens"]["vision"] * 4 == batch.patches_P.shape[0] > 0
    assert sum(first["tokens"].values()) == batch.tokens
    assert first["targets"] == int((batch.targets_T != NO_TARGET).sum())
    assert 0 < first["vision_grad_norm"] < first["grad_norm"]
    assert math.isfinite(first["max_logit"])
    assert sum(load.sum() for load in model.expert_load().values()) > 0
    for step in range(2, 6):
        last = train_step(model, optimizer, prepared, batch, step=step, lr=0.01)
    assert last["loss"]["total"] < first["loss"]["total"] - 0.3


def test_the_balance_is_updated_after_the_optimizer(prepared, ready):
    model, optimizer, batch = ready
    train_step(model, optimizer, prepared, batch, step=1, lr=0.0)
    for name, balance in model.balances().items():
        assert balance.bias.abs().max() > 0, name
        assert int(balance.load.sum()) == 0, name


def test_gradients_are_clipped_to_the_run(prepared, ready):
    model, optimizer, batch = ready
    seen = []
    optimizer.register_step_pre_hook(
        lambda *_: seen.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    )
    measured = train_step(model, optimizer, prepared, batch, step=1, lr=0.01)
    assert measured["grad_norm"] > prepared.run.grad_clip
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in seen[0]))
    assert norm == pytest.approx(prepared.run.grad_clip, rel=1e-4)


@pytest.mark.parametrize("where", ["loss", "gradient norm"])
def test_a_loss_that_is_not_finite_stops_before_anything_changes(prepared, ready, where):
    model, optimizer, batch = ready
    if where == "loss":
        with torch.no_grad():
            model.backbone.head.weight[0, 0] = math.nan
    else:
        model.backbone.embed.weight.register_hook(lambda gradient: gradient * math.inf)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    blame = r" \(1 of \d+ gradients are not finite, .*: backbone.embed.weight\)" if where == "gradient norm" else ""
    told = rf"the {where} is (nan|inf) at step 7{blame}; nothing was updated.*lower lr.peak"
    with pytest.raises(TrainError, match=told):
        train_step(model, optimizer, prepared, batch, step=7, lr=0.01)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor.nan_to_num(), before[name].nan_to_num()), name
    assert optimizer.named_state() == {}
