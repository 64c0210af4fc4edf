"""The head's loss with a vocabulary over several processes: the results of one process, however uneven the shards."""

import importlib.util
import os

import pytest
import torch

from trivium.kernels.cross_entropy import IGNORE, cross_entropy_reference, linear_cross_entropy_reference

T, D, V, Z_LOSS = 29, 6, 45, 0.2
SIZES = {2: [13, 32], 3: [20, 1, 24]}


def whole(row, kind):
    leaves = [row[name].clone().requires_grad_() for name in ("hidden", "weight")]
    if kind == "summed":
        loss, seen = linear_cross_entropy_reference(*leaves, row["targets"], row["weights"], z_loss=Z_LOSS)
    else:
        seen = cross_entropy_reference(*leaves, row["targets"])
        loss = (seen * row["weights"]).sum()
    return [seen.detach(), *torch.autograd.grad(loss, leaves)]


@pytest.mark.parametrize("ranks", SIZES)
def test_shards_of_a_vocabulary_equal_the_whole(make, in_ranks, ranks):
    targets = torch.arange(T) * 7 % V
    targets[::4] = IGNORE
    row = {
        "hidden": make(T, D).detach(), "weight": make(V, D).detach(), "targets": targets, "z_loss": Z_LOSS,
        "weights": torch.arange(T) % 3 * 0.25, "count": int((targets != IGNORE).sum()),
    }  # fmt: skip
    found = in_ranks("head_rank.py", ranks, row, SIZES[ranks])
    names = [f"{kind} {dtype}" for dtype in (torch.float64, torch.float32) for kind in ("summed", "single")]
    if importlib.util.find_spec("triton") and os.environ.get("TRITON_INTERPRET") == "1":
        names += ["summed triton", "single triton"]
    assert set(names) <= set(found[0])
    for name in names:
        loss, dhidden, dweight = whole(row, name.partition(" ")[0])
        tolerance = {"rtol": 1e-10, "atol": 1e-12} if "float64" in name else {"rtol": 1e-5, "atol": 1e-5}
        for mine in (one[name] for one in found):  # losses and the rows' gradients are the same on every rank
            torch.testing.assert_close(mine[0].double(), loss, **tolerance)
            torch.testing.assert_close(mine[1].double(), dhidden, **tolerance)
            assert torch.equal(mine[0], found[0][name][0])
        shares = torch.cat([one[name][2] for one in found])
        torch.testing.assert_close(shares.double(), dweight, **tolerance)
    assert all("out of bounds" in one["outside"] for one in found)
