"""Products of experts with few rows each against fp64 loops: bf16 on a GPU, fp32 with the interpreter elsewhere."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="these products need triton (constraints.txt)")

from trivium.kernels.moe.few_experts import UNIT
from trivium.kernels.moe.few_plan import most_tiles, tile_map, wasted
from trivium.kernels.moe.triton_few import Shape, few_dgrad, few_forward, few_glu
from trivium.kernels.moe.triton_few_wgrad import Shape as Cut
from trivium.kernels.moe.triton_few_wgrad import few_wgrad, few_wgrad_two

# The interpreter is NumPy: its sigmoid overflows on the way to 0.
pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")]
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCE = 6e-3 if GPU else 5e-6
LAYOUTS = {
    "every remainder": [0, 1, 15, 16, 17, 0, 127, 128, 129, 257, 0, 40, 53, 112, 0],
    "no row at all": [0, 0, 0],
    "one row": [0, 0, 1, 0],
    "one expert takes all": [0, 83],
}
SMALL = Shape(block=64, step=32, stages=2) if GPU else Shape(block=32, step=32)
WIDTHS = [(64, 64), (48, 80), (16, 112)]  # whole blocks; neither; less than a block


class Case:
    """Operands of all products, with rows in the order of pairs and the tokens they come from."""

    def __init__(self, make, counts, N, K, tokens=101, cap=128, index=torch.int64):
        def draw(*shape):
            return make(*shape).detach().to(DEVICE, DTYPE)

        self.counts_E = torch.tensor(counts)
        self.P, E = sum(counts), len(counts)
        self.ends_E = self.counts_E.cumsum(0).to(torch.int32).to(DEVICE)
        self.tokens_P = (torch.arange(self.P) * 37 % tokens).to(index).to(DEVICE)
        self.x_TK, self.dy_TN, self.w1, self.w3 = draw(tokens, K), draw(tokens, N), draw(E, N, K), draw(E, N, K)
        self.d_P2N, self.p_P = draw(self.P, 2 * N), torch.rand(self.P, device=DEVICE)
        self.tiles_N4 = tile_map(self.ends_E, self.P, cap)
        self.expert_P = torch.repeat_interleave(torch.arange(E), self.counts_E).to(DEVICE)

    def forward(self, x, w):
        """w x of each row, an expert at a time."""
        return self.by_expert(x, lambda rows, e: rows @ w[e].double().T, w.shape[1])

    def backward(self, dy, w):
        return self.by_expert(dy, lambda rows, e: rows @ w[e].double(), w.shape[2])

    def by_expert(self, x, product, width):
        out = torch.empty(self.P, width, dtype=torch.float64, device=DEVICE)
        for e in range(len(self.counts_E)):
            mine_P = self.expert_P == e
            out[mine_P] = product(x[mine_P].double(), e)
        return out

    def weights(self, dy, x):
        mine = [self.expert_P == e for e in range(len(self.counts_E))]
        return torch.stack([dy[own].double().T @ x[own].double() for own in mine])


def close(found, expected, tolerance=TOLERANCE):
    assert found.shape == expected.shape
    assert found.isfinite().all()
    error = (found.double() - expected).norm() / expected.norm().clamp(min=1e-30)
    assert error <= tolerance, f"relative error {error:.2e}"


@pytest.mark.parametrize("cap", [128, 192])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tiles_cover_every_row_once_in_few_even_passes(layout, cap):
    counts = LAYOUTS[layout]
    ends_E = torch.tensor(counts).cumsum(0).to(torch.int32).to(DEVICE)
    tiles = tile_map(ends_E, sum(counts), cap).tolist()
    assert len(tiles) == most_tiles(sum(counts), len(counts), cap)
    real = [tile for tile in tiles if tile[2]]
    assert [row for _, first, rows, _ in real for row in range(first, first + rows)] == list(range(sum(counts)))
    assert tiles[: len(real)] == real, "tiles without rows are the last"
    for e, count in enumerate(counts):
        mine = [rows for expert, _, rows, _ in real if expert == e]
        assert sum(mine) == count
        assert len(mine) == -(-count // cap)
        units = [-(-rows // UNIT) for rows in mine]
        assert not units or max(units) - min(units) <= 1
    computed = sum(-(-rows // UNIT) * UNIT for _, _, rows, _ in real)
    assert wasted(torch.tensor(counts)) == pytest.approx(1 - sum(counts) / max(computed, 1))


def test_natural_routing_wastes_less_than_a_tenth():
    counts_E = (128 + 28 * torch.randn(896, generator=torch.Generator().manual_seed(0))).round().clamp(47, 231).long()
    assert 0.04 < wasted(counts_E) < 0.07


@pytest.mark.parametrize(("N", "K"), WIDTHS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_forward_equals_loops_over_experts(make, layout, N, K):
    case = Case(make, LAYOUTS[layout], N, K)
    expected = case.forward(case.x_TK[case.tokens_P], case.w1)
    gathered = few_forward(case.x_TK, case.tokens_P, case.w1, case.tiles_N4, SMALL)
    close(gathered, expected)
    assert torch.equal(few_forward(case.x_TK[case.tokens_P], None, case.w1, case.tiles_N4, SMALL), gathered)


@pytest.mark.parametrize("activation", ["situ", "swiglu"])
@pytest.mark.parametrize(("N", "K"), WIDTHS)
def test_both_halves_and_the_activation_come_from_one_pass(make, N, K, activation):
    case = Case(make, LAYOUTS["every remainder"], N, K, index=torch.int32)
    shape = SMALL._replace(block=64 if GPU else 16)
    hidden, y = few_glu(case.x_TK, case.tokens_P, case.w1, case.w3, case.p_P, case.tiles_N4, activation, shape)
    rows = case.x_TK[case.tokens_P.long()]
    g, u = case.forward(rows, case.w1), case.forward(rows, case.w3)
    close(hidden, torch.cat([g, u], 1))
    a, b = (4 * torch.tanh(g / 4), 25 * torch.tanh(u / 25)) if activation == "situ" else (g, u)
    close(y, a * torch.sigmoid(g) * b * case.p_P.double()[:, None])


@pytest.mark.parametrize(("N", "K"), WIDTHS)
def test_gradients_of_rows_equal_loops_over_experts(make, N, K):
    case = Case(make, LAYOUTS["every remainder"], N, K)
    close(
        few_dgrad(case.dy_TN, case.tokens_P, case.w1, None, case.tiles_N4, SMALL),
        case.backward(case.dy_TN[case.tokens_P], case.w1),
    )
    dg, du = case.d_P2N.chunk(2, 1)
    close(
        few_dgrad(case.d_P2N, None, case.w1, case.w3, case.tiles_N4, SMALL),
        case.backward(dg, case.w1) + case.backward(du, case.w3),
    )


@pytest.mark.parametrize("cap", [64, 192])
def test_another_cap_gives_the_same_rows(make, cap):
    counts = LAYOUTS["every remainder"]
    case = Case(make, counts, 48, 80)
    other = tile_map(case.ends_E, case.P, cap)
    mine = few_forward(case.x_TK, case.tokens_P, case.w1, case.tiles_N4, SMALL)
    close(few_forward(case.x_TK, case.tokens_P, case.w1, other, SMALL._replace(cap=cap)), mine.double())


CUTS = [Cut(64, 64, 32, 4, 2, True), Cut(64, 64, 16, 4, 3, False), Cut(64, 32, 64, 4, 2, True)]


@pytest.mark.parametrize("cut", CUTS if GPU else [c._replace(rows=16) for c in CUTS])
@pytest.mark.parametrize(("N", "K"), WIDTHS)
def test_gradients_of_weights_equal_loops_and_are_zero_where_no_row_is(make, N, K, cut):
    case = Case(make, LAYOUTS["every remainder"], N, K)
    x, dy = case.x_TK[case.tokens_P], case.dy_TN[case.tokens_P]
    dw = few_wgrad(case.dy_TN, case.tokens_P, x, None, case.ends_E, shape=cut)
    close(dw, case.weights(dy, x))
    assert not dw[case.counts_E == 0].any()
    pair = few_wgrad_two(case.d_P2N, case.x_TK, case.tokens_P, case.ends_E, dtype=torch.float32, shape=cut)
    for found, half in zip(pair, case.d_P2N.chunk(2, 1), strict=True):
        assert found.dtype == torch.float32
        close(found, case.weights(half, x))


@pytest.mark.parametrize("layout", ["no row at all", "one row", "one expert takes all"])
def test_gradients_of_weights_with_hardly_a_row(make, layout):
    case = Case(make, LAYOUTS[layout], 48, 80)
    dw = few_wgrad(case.dy_TN, case.tokens_P, case.x_TK, case.tokens_P, case.ends_E)
    close(dw, case.weights(case.dy_TN[case.tokens_P], case.x_TK[case.tokens_P]))


def test_one_expert_never_sees_the_rows_of_another(make):
    """NaN in an expert's rows stays in its outputs and in its weights' gradient."""
    case = Case(make, [5, 17, 130], 48, 80)
    x, dy = case.x_TK[case.tokens_P].clone(), case.dy_TN[case.tokens_P].clone()
    x[5:22], dy[5:22] = torch.nan, torch.nan
    others_P = case.expert_P != 1
    for out in (
        few_forward(x, None, case.w1, case.tiles_N4, SMALL),
        few_dgrad(dy, None, case.w1, None, case.tiles_N4, SMALL),
    ):
        assert out[others_P].isfinite().all()
        assert out[~others_P].isnan().all()
    dw = few_wgrad(dy, None, x, None, case.ends_E)
    assert dw[[0, 2]].isfinite().all()
    assert dw[1].isnan().all()


def test_a_second_run_gives_the_same_bits(make):
    case = Case(make, LAYOUTS["every remainder"], 48, 80)
    runs = [
        [
            few_forward(case.x_TK, case.tokens_P, case.w1, case.tiles_N4, SMALL),
            few_dgrad(case.d_P2N, None, case.w1, case.w3, case.tiles_N4, SMALL),
            *few_wgrad_two(case.d_P2N, case.x_TK, case.tokens_P, case.ends_E),
        ]
        for _ in range(2)
    ]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


def test_weights_whose_rows_are_apart_are_refused(make):
    case = Case(make, [3], 48, 80)
    with pytest.raises(ValueError, match="contiguous"):
        few_forward(case.x_TK, case.tokens_P, case.w1.transpose(1, 2), case.tiles_N4)
