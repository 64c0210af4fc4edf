import pytest
import torch
from torch import Tensor, nn

from trivium.model.optim import muon
from trivium.model.optim.newton_schulz import orthogonalize
from trivium.model.presets import PRESETS


def _reference(u: Tensor) -> Tensor:
    """One matrix, as Moonlight's listing has it, in fp64 and written without the code under test."""
    u = u.double()
    turned = u.shape[0] > u.shape[1]
    x = (u.T if turned else u) / (u.pow(2).sum().sqrt() + 1e-7)
    for _ in range(5):
        y = x @ x.T
        x = 3.4445 * x - 4.7750 * (y @ x) + 2.0315 * (y @ (y @ x))
    return x.T if turned else x


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(16, 16), (16, 24), (24, 16), (16, 128), (128, 16), (1, 40), (40, 1), (2, 77)])
def test_blocks_in_a_batch_equal_a_loop_over_them(shape: tuple[int, int]) -> None:
    blocks = _random(5, *shape)
    expected = torch.stack([_reference(block) for block in blocks])
    torch.testing.assert_close(orthogonalize(blocks), expected, rtol=1e-9, atol=1e-11)
    single = torch.cat([orthogonalize(block[None].float()) for block in blocks])
    torch.testing.assert_close(orthogonalize(blocks.float()), single, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(single.double(), expected, rtol=1e-3, atol=1e-4)


def test_the_input_is_left_alone() -> None:
    blocks = _random(2, 8, 12)
    kept = blocks.clone()
    orthogonalize(blocks)
    assert torch.equal(blocks, kept)


@pytest.mark.parametrize("numbers", [1, 3 * 64 * 56, 1 << 20])
def test_a_parameter_in_several_batches_moves_as_in_one(monkeypatch: pytest.MonkeyPatch, numbers: int) -> None:
    """Experts block by block, three at once across two parameters (one of them turned), and all in one batch."""
    shapes = {"w1": (5, 56, 64), "w2": (4, 64, 56)}
    moved, squares = [], []
    for bound in (1 << 27, numbers):
        monkeypatch.setattr(muon, "BATCH_NUMBERS", bound)
        named = {
            f"backbone.layers.1.mlp.experts.{name}": nn.Parameter(_random(*shape, seed=7))
            for name, shape in shapes.items()
        }
        optimizer = muon.PerHeadMuon(named.items(), PRESETS["nano"]())
        for number, parameter in enumerate(named.values()):
            parameter.grad = _random(*parameter.shape, seed=number)
        optimizer.set_lr(0.01)
        optimizer.step()
        moved.append([parameter.detach() for parameter in named.values()])
        squares.append(optimizer.update_rms())
    for one, other in zip(*moved, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
    assert squares[0] == pytest.approx(squares[1], rel=1e-9)
