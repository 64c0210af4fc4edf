"""The router in one launch: bf16 and fp32 logits on a GPU, fp32 with the interpreter elsewhere."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="the router's kernel needs triton (constraints.txt)")

from trivium.kernels.moe import route_reference
from trivium.kernels.moe.torch_route import Route, count
from trivium.kernels.moe.triton_route import route_rows
from trivium.kernels.quantile import BINS, bounds

# The interpreter is NumPy: its sigmoid overflows on the way to 0.
pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")]
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE = "cuda" if GPU else "cpu"
SHAPES = [(0, 8, 3), (1, 8, 1), (13, 24, 7), (9, 130, 16), (5, 896, 16)]
SHAPES += [(4099, 896, 16), (8192, 256, 8)] if GPU else []


def operands(make, T, E, dtype=torch.float32):
    logits_TE = make(T, E, dtype=torch.float32, scale=1.5).detach().to(DEVICE, dtype)
    return logits_TE, make(E, dtype=torch.float32, scale=0.2).detach().to(DEVICE)


def rows(logits_TE, bias_E, k, bins=BINS, real_T=None):
    return route_rows(logits_TE, bias_E, k, torch.stack(bounds(bias_E, max(bins, 1))), bins, real_T)


@pytest.mark.parametrize(("T", "E", "k"), SHAPES)
def test_choices_shares_and_cutoff_equal_the_definition(make, T, E, k):
    logits_TE, bias_E = operands(make, T, E)
    indices_TK, probs_TK, chosen_TK, cutoff_T, _ = rows(logits_TE, bias_E, k)
    expected = route_reference(logits_TE.double(), bias_E.double(), k)
    # A row whose neighbours in the order are nearer than fp32 can tell may choose either.
    biased_TE = torch.sigmoid(logits_TE.double()) + bias_E.double()
    gaps_TK = -biased_TE.sort(dim=1, descending=True).values[:, : k + 1].diff(dim=1)
    clear_T = (gaps_TK > 1e-6).all(1)
    assert clear_T.sum() >= 0.9 * T
    assert torch.equal(indices_TK[clear_T], expected[0][clear_T])
    torch.testing.assert_close(probs_TK.double()[clear_T], expected[1][clear_T], rtol=2e-6, atol=1e-7)
    torch.testing.assert_close(cutoff_T.double(), expected[2], rtol=1e-6, atol=1e-6)
    scores_TE = torch.sigmoid(logits_TE)
    torch.testing.assert_close(chosen_TK, scores_TE.gather(1, indices_TK), rtol=1e-6, atol=1e-7)
    assert indices_TK.dtype == torch.int64


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("T", "E", "k"), SHAPES)
def test_counts_are_integers_of_the_marked_tokens_alone(make, T, E, k, masked):
    logits_TE, bias_E = operands(make, T, E)
    real_T = (torch.arange(T, device=DEVICE) % 3 > 0) if masked else None
    indices_TK, _, _, cutoff_T, counts_EX = rows(logits_TE, bias_E, k, real_T=real_T)
    tokens = T if real_T is None else int(real_T.sum())
    assert counts_EX.shape == (E, 1 + BINS)
    assert counts_EX[:, 1:].sum(1).tolist() == [tokens] * E
    expected = count(torch.sigmoid(logits_TE), indices_TK, cutoff_T, bias_E, BINS, real_T)
    assert torch.equal(counts_EX[:, 0].long(), expected[:, 0])
    # Sigmoids that differ in their last bit can fall on either side of a bin's edge, never further.
    away_EB = (counts_EX[:, 1:].long() - expected[:, 1:]).cumsum(1)
    assert away_EB.abs().sum() <= max(2, 1e-4 * tokens * E)


def test_counts_of_parts_add_to_the_whole_and_loads_alone_can_be_had(make):
    logits_TE, bias_E = operands(make, 50, 40)
    whole = rows(logits_TE, bias_E, 4)[-1]
    parts = [rows(part, bias_E, 4)[-1] for part in logits_TE.split([7, 0, 30, 13])]
    assert torch.equal(torch.stack(parts).sum(0), whole)
    alone = rows(logits_TE, bias_E, 4, bins=0)[-1]
    assert torch.equal(alone, whole[:, :1])
    assert route_rows(logits_TE, bias_E, 4, None, 0, None)[-1] is None


def test_among_equal_scores_the_first_experts_win(make):
    logits_TE = torch.zeros(6, 33, device=DEVICE)
    indices_TK, probs_TK, _, cutoff_T, counts_EX = rows(logits_TE, torch.zeros(33, device=DEVICE), 5)
    assert indices_TK.tolist() == [[0, 1, 2, 3, 4]] * 6
    assert torch.equal(probs_TK, torch.full_like(probs_TK, 0.2))
    assert cutoff_T.tolist() == [0.5] * 6
    assert counts_EX[:, 0].tolist() == [6] * 5 + [0] * 28


def test_rows_of_nan_keep_to_the_experts_and_to_themselves(make):
    """A padded column is no expert: what it counts would lie in another tensor."""
    logits_TE, bias_E = operands(make, 7, 40)
    clean = rows(logits_TE, bias_E, 5)
    sick = logits_TE.clone()
    sick[2], sick[4, 39] = float("nan"), float("nan")
    indices_TK, probs_TK, _, _, counts_EX = rows(sick, bias_E, 5)
    assert indices_TK[2].tolist() == [0, 1, 2, 3, 4]
    assert indices_TK[4, 0] == 39
    assert probs_TK[[2, 4]].isnan().all()
    assert counts_EX[:, 0].sum() == 7 * 5
    rest = [0, 1, 3, 5, 6]
    assert torch.equal(indices_TK[rest], clean[0][rest])
    assert torch.equal(probs_TK[rest], clean[1][rest])


@pytest.mark.parametrize("high", [3, 20, 200])
def test_rows_in_which_many_are_equal_are_routed_too(make, high):
    """Few, many and very many share the largest score, spread over the row; the first of them win."""
    logits_TE, bias_E = torch.full((5, 600), -2.0, device=DEVICE), torch.zeros(600, device=DEVICE)
    places = torch.randperm(600, generator=torch.Generator().manual_seed(high))[:high].sort().values
    logits_TE[1:4, places.to(DEVICE)] = 1.0
    indices_TK, _, _, cutoff_T, _ = rows(logits_TE, bias_E, 16)
    rest = [e for e in range(600) if e not in set(places.tolist())]
    wanted = (places.tolist() + rest)[:16]
    assert indices_TK.tolist() == [list(range(16)), *[wanted] * 3, list(range(16))]
    least = torch.sigmoid(torch.tensor([1.0 if high > 16 else -2.0, -2.0]))
    torch.testing.assert_close(cutoff_T.cpu(), torch.stack([least[1], *[least[0]] * 3, least[1]]))


@pytest.mark.skipif(not GPU, reason="the dispatch takes the kernel on a GPU alone")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_the_definition(make, dtype):
    logits_TE, bias_E = operands(make, 300, 96, dtype)
    mine, other = logits_TE.clone().requires_grad_(), logits_TE.double().requires_grad_()
    indices_TK, probs_TK, _, counts_EX = Route.apply(mine, bias_E, 6, BINS, None)
    weights_TK = make(300, 6, dtype=torch.float32).detach().cuda()
    (probs_TK * weights_TK).sum().backward()
    scores_TK = torch.sigmoid(other).gather(1, indices_TK)
    (scores_TK / scores_TK.sum(1, keepdim=True) * weights_TK.double()).sum().backward()
    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(mine.grad.double(), other.grad, rtol=tolerance, atol=tolerance * 0.1)
    assert counts_EX.dtype == torch.int64
