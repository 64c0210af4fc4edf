import pytest
import torch

from trivium.pipelines.train.balance import load_facts, load_under, max_over_mean, probe, router_scores, sampling_floor
from trivium.pipelines.train.prepare import build_model


def test_max_over_mean_and_dead():
    facts = load_facts(
        {"backbone.layers.1": torch.tensor([4, 0, 2, 2]), "backbone.mtp.layer": torch.tensor([1, 1, 1, 1])}
    )
    assert facts == {"layers": ["layer 1", "mtp"], "max_over_mean": [2.0, 1.0], "dead": [1, 0]}
    assert load_facts({}) is None
    assert max_over_mean(torch.zeros(3, dtype=torch.int64)) == 0.0


def test_load_under_a_bias_counts_the_top_k():
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.8, 0.6, 0.2]])
    assert load_under(scores, torch.zeros(3), 1).tolist() == [2, 0, 0]
    assert load_under(scores, torch.tensor([-0.35, 0.0, 0.0]), 1).tolist() == [1, 1, 0]


def test_the_sampling_floor_falls_to_one():
    floors = [sampling_floor(tokens, 16, 4) for tokens in (100, 1000, 100_000)]
    assert floors == sorted(floors, reverse=True)
    assert floors[0] > 1.15
    assert floors[-1] < 1.02


@pytest.fixture
def stepped(prepared):
    """A model after one counted forward pass and its balance update."""
    model = build_model(prepared)
    rows, _ = next(prepared.plan.rows())
    batch = prepared.assembler().batch(rows.rows)
    model(batch)
    model.quantile_update()
    return model, batch


def test_the_probe_sees_the_routing_that_the_model_does(stepped):
    """Scores taken by the hook, routed under the bias, give the very load that the model counts on the next pass."""
    model, batch = stepped
    scores = router_scores(model, batch)
    model(batch)
    for name, balance in model.balances().items():
        expected = load_under(scores[name.removesuffix(".mlp.balance")], balance.bias, balance.experts_per_token)
        assert torch.equal(balance.load, expected), name


def test_the_probe_reports_before_after_and_floor_and_counts_nothing(stepped):
    model, batch = stepped
    buffers = {name: tensor.clone() for name, tensor in model.named_buffers()}
    measured = probe(model, batch)
    assert measured.keys() == {"before", "after", "floor"}
    assert measured["before"] == load_facts(model.expert_load())["max_over_mean"]
    assert all(after < before for before, after in zip(measured["before"], measured["after"], strict=True))
    for name, tensor in model.named_buffers():
        assert torch.equal(tensor, buffers[name]), name
