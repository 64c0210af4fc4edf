import pytest
import torch

from trivium.pipelines.train.balance import (
    load_facts,
    load_under,
    max_over_mean,
    probe,
    router_scores,
    sampling_floor,
    within_documents,
)
from trivium.pipelines.train.prepare import build_model
from trivium.pipelines.train.report.facts import dead_experts


def test_max_over_mean_and_dead():
    facts = load_facts(
        {"backbone.layers.1": torch.tensor([4, 0, 2, 2]), "backbone.mtp.layer": torch.tensor([1, 1, 1, 1])}
    )
    assert facts == {"layers": ["layer 1", "mtp"], "max_over_mean": [2.0, 1.0], "dead": [1, 0], "idle": [[1], []]}
    assert load_facts({}) is None
    assert max_over_mean(torch.zeros(3, dtype=torch.int64)) == 0.0


def test_load_under_a_bias_counts_the_top_k():
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.8, 0.6, 0.2]])
    assert load_under(scores, torch.zeros(3), 1).tolist() == [2, 0, 0]
    assert load_under(scores, torch.tensor([-0.35, 0.0, 0.0]), 1).tolist() == [1, 1, 0]


def test_load_inside_documents_is_taken_one_by_one():
    scores = torch.zeros(28, 4)
    scores[:16, 0] = 1.0  # all of the first document's tokens want expert 0
    scores[16:24, :2] = torch.eye(2).repeat(4, 1)  # and the second is too short
    scores[24:, 3] = 1.0
    document = torch.tensor([0] * 16 + [1] * 8 + [2] * 4)
    assert within_documents(scores, torch.zeros(4), 1, document) == (4.0, sampling_floor(16, 4, 1), 1)
    longer = torch.cat([scores, torch.eye(4).repeat(4, 1)])
    found = within_documents(longer, torch.zeros(4), 1, torch.cat([document, torch.full((16,), 3)]))
    assert found == (5.0, 2 * sampling_floor(16, 4, 1), 2)  # sums over two documents
    assert within_documents(scores[:5], torch.zeros(4), 1, document[:5])[2] == 0


def test_dead_is_who_was_idle_in_each_of_the_last_steps():
    lines = [{"experts": {"idle": idle}} for idle in ([[1], []], [[0, 1, 2], [3]], [[1, 2], [3]])]
    assert dead_experts(lines) == {"steps": 3, "experts": [[1], []]}
    assert dead_experts(lines, 2) == {"steps": 2, "experts": [[1, 2], [3]]}


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
    assert measured.keys() == {"before", "after", "floor", "within", "within_floor", "documents"}
    scores = router_scores(model, batch)
    for place, (name, balance) in enumerate(model.balances().items()):
        ahead = int("mtp" in name)  # whose layer leaves out each document's last row
        documents = scores[name.removesuffix(".mlp.balance")].split(
            [n - ahead for n in batch.cu_seqlens.diff().tolist()]
        )
        k, experts = balance.experts_per_token, len(balance.bias)
        loads = [load_under(one, balance.bias, k) for one in documents if len(one) * k >= 4 * experts]
        assert measured["documents"][place] == len(loads) > 1
        assert measured["within"][place] == pytest.approx(sum(map(max_over_mean, loads)) / len(loads))
        assert measured["within_floor"][place] > 1
    assert measured["before"] == load_facts(model.expert_load())["max_over_mean"]
    assert all(after < before for before, after in zip(measured["before"], measured["after"], strict=True))
    for name, tensor in model.named_buffers():
        assert torch.equal(tensor, buffers[name]), name
