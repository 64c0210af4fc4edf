"""Sharded Muon: who owns what, and several processes against one."""

import multiprocessing
import runpy
from itertools import groupby
from pathlib import Path

import pytest
import torch

from trivium.model.optim import deal, describe_groups
from trivium.model.presets import PRESETS

SCRIPT = str(Path(__file__).with_name("sharded_rank.py"))

SIZES = (
    "backbone.width=64",
    "backbone.layers=4",
    "backbone.mla_every=2",
    "backbone.kda.head_dim=16",
    "backbone.mla.head_dim=16",
    "backbone.mla.extra_dim=8",
    "backbone.dense_hidden=96",
    "backbone.moe.experts=8",
    "backbone.moe.latent=32",
    "backbone.moe.hidden=24",
    "vision.layers=1",
)


@pytest.mark.parametrize(("preset", "ranks"), [("nano", 4), ("base", 8), ("k3", 32)])
def test_every_row_has_one_owner_and_owners_have_equal_work(preset, ranks):
    config = PRESETS[preset]()
    groups = describe_groups(config.build(device="meta").named_parameters(), config)
    pieces = deal(groups, ranks)
    by_name = {name: list(mine) for name, mine in groupby(pieces, key=lambda piece: piece.name)}
    assert list(by_name) == [group.name for group in groups]
    for group in groups:
        mine = by_name[group.name]
        if group.optimizer == "adamw":
            assert [piece.blocks for piece in mine] == [None]
            continue
        # Pieces are whole blocks, one behind the other.
        assert [row for one in mine for row in (one.blocks.start, one.blocks.stop)][1:-1] == [
            row for one in mine[1:] for row in (one.blocks.start, one.blocks.start)
        ]
        assert (mine[0].blocks.start, sum(one.numbers for one in mine)) == (0, torch.Size(group.shape).numel())
        for piece in mine:
            assert any(
                piece.blocks.rows == whole.rows and (piece.blocks.start - whole.start) % whole.rows == 0
                for whole in group.blocks
                if whole.start <= piece.blocks.start < whole.stop
            )
    work, held = [0] * ranks, [0] * ranks
    for piece in pieces:
        work[piece.owner] += _work(piece)
        held[piece.owner] += piece.numbers * (1 if piece.blocks else 2)
    # A matrix is never cut: nano's projector is more than half of all work.
    assert max(work) <= max(1.01 * sum(work) / ranks, max(map(_work, pieces)))
    assert max(held) < 1.4 * sum(held) / ranks  # the embedding is not cut either


def _work(piece) -> int:
    """M²N a block."""
    blocks = piece.blocks
    return 0 if blocks is None else min(blocks.rows, blocks.columns) * blocks.rows * blocks.columns * blocks.count


def _spawn(ranks: int, folder: Path, device: str = "cpu") -> list[dict]:
    context = multiprocessing.get_context("forkserver")
    processes = [
        context.Process(target=runpy.run_path, args=(SCRIPT, {"ARGUMENTS": arguments}), daemon=True)
        for arguments in ((rank, ranks, str(folder), device) for rank in range(ranks))
    ]
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)
            assert process.exitcode == 0
    finally:  # ranks that wait for each other would slow every later test
        for process in processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=False, map_location="cpu") for rank in range(ranks)]


def _near(found, expected, what):
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12, msg=lambda text: f"{what}: {text}")


def test_two_then_four_ranks_train_as_one_process(change, awake, sample, tmp_path):
    """A run begun by one process, gone on with by two ranks, then by four: pictures on one rank or on none, a rank
    without a row, parameters that have no gradient until later."""
    config = change(*SIZES)
    script = runpy.run_path(SCRIPT)
    pictures = [[0], [0, 0, 0], [0, 1, 0, 0], [0, 0, 0], [1, 0, 0, 0, 0]]  # of each document of each step
    steps = [
        [sample(40 + 7 * place, *[(4, 4)] * count, seed=10 * step + place) for place, count in enumerate(row)]
        for step, row in enumerate(pictures)
    ]
    model = awake(config).train()
    optimizer = script["CONFIG"].build(model)
    script["train"](model, optimizer, steps[:1])
    for ranks, mine in ((2, steps[1:3]), (4, steps[3:])):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        torch.save({"model": model, "optimizer": optimizer.named_state(), "steps": mine}, folder / "job.pt")
        results = _spawn(ranks, folder)
        seen = any(name.startswith("vision") for name in optimizer.named_state())
        assert seen == (ranks == 4)
        facts = script["train"](model, optimizer, mine)
        assert 0 < sum(one["clipped"] for one in facts) < 12
        for result in results:
            assert all(torch.equal(tensor, results[0]["model"][name]) for name, tensor in result["model"].items())
            for step, (found, expected) in enumerate(zip(result["facts"], facts, strict=True)):
                assert found["clipped"] == expected["clipped"]
                assert all(torch.equal(found["loads"][name], load) for name, load in expected["loads"].items())
                for kind in ("norms", "logits"):
                    _near(found[kind], expected[kind], f"step {step}")
            _near(result["rms"], optimizer.update_rms(), "rms")
        whole = optimizer.named_state()
        _near(results[0]["model"], model.state_dict(), "model")
        _near(results[0]["optimizer"], whole, "state")
        assert [result["optimizer"] for result in results[1:]] == [{}] * (ranks - 1)
        held = [result["held"] for result in results]
        assert sum(held) - sum(t.numel() for t in whole.values()) == 0
        assert max(held) < 0.7 * sum(held)
        # What the ranks wrote is what one process goes on with, and the next ranks.
        optimizer.load_named_state(results[0]["optimizer"])
        model.load_state_dict(results[0]["model"])


@pytest.mark.gpu
def test_two_gpus_train_as_one_process(change, awake, sample, tmp_path):
    """Through NCCL: the same bits on both, and one GPU's updates up to bf16's rounding."""
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    model = awake(change(*SIZES), torch.float32).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    steps = [[sample(40, (4, 4), seed=1), sample(47, seed=2), sample(54, seed=3)]]
    for one in steps[0]:
        one.patches[:] = [patches.float() for patches in one.patches]
    torch.save({"model": model, "optimizer": {}, "steps": steps}, tmp_path / "job.pt")
    found = _spawn(2, tmp_path, "cuda")
    script = runpy.run_path(SCRIPT)
    optimizer = script["CONFIG"].build(model.cuda())
    facts = script["train"](model, optimizer, steps)
    assert found[0]["facts"][0]["norms"] == pytest.approx(facts[0]["norms"], rel=1e-3)
    assert found[0]["optimizer"].keys() == optimizer.named_state().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(found[0]["model"][name], found[1]["model"][name]), name
        moved = torch.linalg.norm(tensor.cpu() - before[name])
        assert torch.linalg.norm(found[0]["model"][name] - tensor.cpu()) <= 0.2 * moved + 1e-6, name
