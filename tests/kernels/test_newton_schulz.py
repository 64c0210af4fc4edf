"""Newton–Schulz in PyTorch against its definition, and the arithmetic of the small blocks' kernels in an emulation."""

import pytest
import torch

from trivium.kernels import newton_schulz
from trivium.kernels.newton_schulz import MOST_ROWS, newton_schulz_reference, orthogonalize
from trivium.kernels.newton_schulz.reference import EPSILON, STEPS, A, B, C


def steep(M, N, condition, make):
    """Singular values from 1 to 1 / condition, equally spaced in their logarithm."""
    left, _, right = torch.linalg.svd(make(M, N).detach(), full_matrices=False)
    return left @ torch.diag(condition ** -torch.linspace(0, 1, M, dtype=torch.float64)) @ right


def error(found, expected):
    return float(torch.linalg.norm(found.double() - expected) / torch.linalg.norm(expected))


@pytest.mark.parametrize(
    "shape", [(16, 16), (24, 16), (16, 24), (7, 33), (33, 7), (1, 40), (40, 1), (2, 77), (64, 300)]
)
@pytest.mark.parametrize("blocks", [0, 1, 5])
def test_blocks_equal_the_definition(make, blocks, shape):
    x = make(blocks, *shape).detach()
    expected = newton_schulz_reference(x)
    torch.testing.assert_close(orthogonalize(x), expected, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(orthogonalize(x.float()).double(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(64, 128), (64, 512)])
def test_singular_values_end_in_the_band(make, shape):
    values = torch.linalg.svdvals(orthogonalize(make(3, *shape, dtype=torch.float32).detach()))
    assert values.min() > 0.65
    assert values.max() < 1.16
    assert 0.65 < values.square().mean().sqrt() < 1.16


@pytest.mark.parametrize("columns", [64, 300])
def test_badly_conditioned_blocks_stay_finite_and_right(make, columns):
    scales = torch.logspace(0, -6, 64, dtype=torch.float64)
    block = (scales[:, None] * make(64, columns).detach())[None]
    assert error(orthogonalize(block.float()), newton_schulz_reference(block)) < 2e-2


def test_zero_stays_zero_and_size_does_not_matter(make):
    block = make(8, 12).detach()
    found = orthogonalize(torch.stack([torch.zeros_like(block), block, block * 1e6]))
    assert found[0].abs().max() == 0
    torch.testing.assert_close(found[1], found[2], rtol=1e-6, atol=1e-6)


def test_a_block_beyond_its_type_is_nan_and_its_neighbour_is_not(make):
    block = make(4, 6, dtype=torch.float32).detach()
    found = orthogonalize(torch.stack([block * 1e25, block, torch.full_like(block, torch.inf)]))
    assert found[0].isnan().all()
    assert found[1].isfinite().all()
    assert found[2].isnan().all()


def test_a_block_does_not_depend_on_its_batch(make):
    """To rounding: libraries of a CPU sum in another order where a block begins elsewhere in memory."""
    x = make(12, 7, 33, dtype=torch.float32).detach()
    parts = torch.cat([orthogonalize(part) for part in x.split([1, 2, 9])])
    assert error(parts, orthogonalize(x).double()) < 2e-6


def test_no_steps_are_refused(make):
    with pytest.raises(ValueError, match="steps must be 1 or more; found 0"):
        newton_schulz.orthogonalize(make(1, 2, 3), 0)


def test_kernels_are_asked_for_blocks_of_few_rows_alone(make, monkeypatch):
    asked = []
    monkeypatch.setattr(newton_schulz, "use_triton", lambda _, x, *, fits: asked.append(fits))
    for shape in ((1, MOST_ROWS, 200), (1, 200, MOST_ROWS), (1, MOST_ROWS + 1, 200), (1, 200, MOST_ROWS + 1)):
        orthogonalize(make(*shape, dtype=torch.float32).detach(), 1)
    assert asked == [True, True, False, False]


def two_parts(a, b):
    """A product of fp32 matrices by three of bf16, as the kernels' `product` forms it."""
    (a_high, a_low), (b_high, b_low) = (((h := x.bfloat16().float()), (x - h).bfloat16().float()) for x in (a, b))
    return a_high @ b_high + (a_high @ b_low + a_low @ b_high)


def one_part(a, b):
    """TF32: ten bits of each operand."""
    return torch.matmul(*(((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32) for x in (a, b)))


def by_gram(x, product, *, folded=False):
    """The kernels' chain on the CPU; `folded` multiplies by aI + R instead of adding a times the other factor."""
    x = x.bfloat16().float()
    g = x @ x.mT
    scale = 1 / (g.trace().sqrt() + EPSILON)
    g, q, eye = g * scale**2, torch.eye(len(g)) * scale, torch.eye(len(g))

    def times(r, y):
        return product(A * eye + r, y) if folded else product(r, y) + A * y

    for _ in range(STEPS):
        r = C * product(g, g) + B * g
        q = times(r, q)
        g = times(r, times(r, g))
    high = q.bfloat16().float()
    return high @ x + (q - high).bfloat16().float() @ x


def plain(x):
    """The iteration with every matrix rounded to bf16."""
    x = x.bfloat16().float()
    x = (x / x.norm()).bfloat16().float()
    for _ in range(STEPS):
        g = (x @ x.mT).bfloat16().float()
        x = (A * x + (B * g + C * g @ g).bfloat16().float() @ x).bfloat16().float()
    return x


@pytest.mark.parametrize("condition", [1e2, 1e4])
def test_the_gram_form_is_sound_where_the_identity_stays_out_of_the_products(make, condition):
    block = steep(64, 1024, condition, make)
    exact = newton_schulz_reference(block)
    rounded = newton_schulz_reference(block.bfloat16().double())  # what no path that reads bf16 can do better than
    usual = error(plain(block.float()), exact)
    found = by_gram(block.float(), two_parts)
    assert error(found, rounded) < 2e-3
    assert error(found, exact) < usual
    assert torch.linalg.svdvals(found).max() < 1.21
    assert error(by_gram(block.float(), one_part), rounded) < 3e-2
    assert error(by_gram(block.float(), one_part, folded=True), exact) > usual


def test_blocks_alone_are_taken_and_none_has_a_gradient(make):
    with pytest.raises(ValueError, match=r"blocks must be \[B, M, N\]; found \[3, 4\]"):
        orthogonalize(torch.zeros(3, 4))
    assert not orthogonalize(make(2, 3, 4)).requires_grad
