import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trivium.model.batch import NO_TARGET, TEXT
from trivium.pipelines.train.heldout import derangement, evaluate, held_out
from trivium.pipelines.train.prepare import build_model

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def held(prepared):
    return held_out(prepared.plan, prepared.assembler(), rows=3, context=192, patches=192, seed=5)


@pytest.fixture(scope="module")
def model(prepared):
    return build_model(prepared)


@given(
    grids=st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.integers(0, 30)), st.sampled_from([((1, 4, 4),), ((1, 2, 2), (1, 4, 4))])
    ),
    seed=st.integers(0, 5),
)
def test_exchange_is_a_derangement_within_equal_grids(grids, seed):
    exchange = derangement(grids, seed)
    assert sorted(exchange) == sorted(exchange.values())  # everyone gives once and gets once
    for taker, giver in exchange.items():
        assert taker != giver
        assert grids[taker] == grids[giver]
    alone = [key for key in grids if sum(other == grids[key] for other in grids.values()) == 1]
    assert sorted(exchange) == sorted(set(grids) - set(alone))
    assert exchange == derangement(dict(reversed(grids.items())), seed)  # not a matter of order


def test_held_out_records_are_never_trained(prepared, held):
    trained = {
        (piece.corpus, piece.record) for rows, _ in prepared.plan.rows() for row in rows.rows for piece in row.pieces
    }
    kept = {(piece.corpus, piece.record) for row in held.rows for piece in row.pieces}
    assert kept
    assert not trained & kept


def test_losses_equal_a_plain_pass_over_all_rows(prepared, held, model):
    measured = evaluate(model, held, prepared.assembler(), CPU)
    batch = prepared.assembler().batch(held.rows)
    model.eval()
    with torch.no_grad():
        loss_T = model(batch, mtp=False).loss_T
    model.train()
    aims_T = batch.targets_T != NO_TARGET
    for split, of_T in (("text", batch.modality_T == TEXT), ("image", batch.modality_T != TEXT)):
        assert measured[split]["targets"] == int((aims_T & of_T).sum())
        assert measured[split]["loss"] == pytest.approx(float(loss_T[aims_T & of_T].mean()), rel=1e-5)
    # every icon has the same grid, so all take part and the matched loss is the image loss
    assert measured["image_shuffled"]["matched"] == pytest.approx(measured["image"]["loss"], rel=1e-12)
    assert measured["image_shuffled"]["targets"] == measured["image"]["targets"]


def test_the_exchange_reaches_the_model(prepared, held, model):
    measured = evaluate(model, held, prepared.assembler(), CPU)
    shuffled = measured["image_shuffled"]
    assert shuffled["loss"] != measured["image"]["loss"]
    assert shuffled["gap"]["mean"] == pytest.approx(shuffled["loss"] - shuffled["matched"], rel=1e-9)
    assert shuffled["gap"]["records"] == sum(part["records"] for part in shuffled["corpora"].values())
    assert shuffled["gap"]["records"] == len(held.exchange)


def test_evaluation_changes_nothing_of_the_run(prepared, held, model):
    before = {name: tensor.clone() for name, tensor in model.named_buffers()}
    generator = torch.get_rng_state()
    first = evaluate(model, held, prepared.assembler(), CPU)
    assert model.training
    assert torch.equal(torch.get_rng_state(), generator)
    for name, tensor in model.named_buffers():
        assert torch.equal(tensor, before[name]), name
    assert all(parameter.grad is None for parameter in model.parameters())
    assert evaluate(model, held, prepared.assembler(), CPU) == first
