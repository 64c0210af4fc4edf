import pytest
import torch
from torch import Tensor

from trivium.model.optim.newton_schulz import orthogonalize


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


@pytest.mark.parametrize("shape", [(64, 128), (64, 512)])
def test_singular_values_end_in_the_band(shape: tuple[int, int]) -> None:
    values = torch.linalg.svdvals(orthogonalize(_random(3, *shape).float()))
    assert values.min() > 0.65
    assert values.max() < 1.16
    assert 0.65 < values.square().mean().sqrt() < 1.16


@pytest.mark.parametrize("columns", [64, 300])
def test_badly_conditioned_blocks_stay_finite_and_right(columns: int) -> None:
    scales = torch.logspace(0, -6, 64, dtype=torch.float64)
    block = scales[:, None] * _random(64, columns)
    found = orthogonalize(block[None].float())[0].double()
    assert torch.linalg.norm(found - _reference(block)) < 2e-2 * torch.linalg.norm(_reference(block))


def test_zero_stays_zero_and_size_does_not_matter() -> None:
    blocks = torch.stack([torch.zeros(8, 12, dtype=torch.float64), _random(8, 12), _random(8, 12) * 1e6])
    found = orthogonalize(blocks)
    assert found[0].abs().max() == 0
    torch.testing.assert_close(found[1], found[2], rtol=1e-6, atol=1e-6)


def test_the_input_is_left_alone() -> None:
    blocks = _random(2, 8, 12)
    kept = blocks.clone()
    orthogonalize(blocks)
    assert torch.equal(blocks, kept)
