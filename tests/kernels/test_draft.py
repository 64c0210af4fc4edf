"""Speculative decoding of KDA and of the short convolution: whatever is accepted, the whole document comes out."""

import importlib.util

import pytest
import torch

from trivium.kernels.kda import KDADrafts, kda_draft, kda_reference, kda_step
from trivium.kernels.short_conv import short_conv_draft, short_conv_reference

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
# How many of three drafts of two sequences hold, round by round: all, none, and what lies between.
ROUNDS = [[3, 0], [1, 3], [0, 2], [2, 1], [3, 3]]
B, N, T = 2, 3, 9

triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="the kernels need triton")
PATHS = [
    pytest.param("torch", torch.float64, 1e-12, id="torch-float64"),
    pytest.param(
        "triton", torch.float32, 1e-5, id="triton-float32", marks=[triton, *([pytest.mark.gpu] if GPU else [])]
    ),
    pytest.param("triton", torch.bfloat16, 1e-2, id="triton-bfloat16", marks=[triton, pytest.mark.gpu]),
]


def drafts(part_BT, place_B, held_B, n):
    """The next n tokens of each sequence: those that will hold, and rubbish."""
    rows = torch.full((B, n, *part_BT.shape[2:]), torch.nan, dtype=part_BT.dtype)
    for b in range(B):
        rows[b, : held_B[b]] = part_BT[b, place_B[b] : place_B[b] + held_B[b]]
    return rows


def decode(step, parts, rounds=ROUNDS, n=N):
    """Outputs of the accepted tokens of each sequence and what is carried behind them."""
    place_B, outputs, last, accepted_B, carried = [0] * B, [[] for _ in range(B)], None, None, None
    for held_B in [*rounds, [0] * B]:  # one round more takes in what the last one accepted
        now = [drafts(part, place_B, held_B, n) for part in parts]
        y_BN, carried = step(now, carried, last, accepted_B)
        for b in range(B):
            outputs[b].append(y_BN[b, : held_B[b]])
            place_B[b] += held_B[b]
        last, accepted_B = now, torch.tensor(held_B)
    assert place_B == [T, T]
    return torch.cat([row for rows in outputs for row in rows]), carried


def close(found, expected, tolerance):
    assert float((found.double() - expected).norm() / expected.norm()) < tolerance


@pytest.mark.parametrize(("path", "dtype", "tolerance"), PATHS)
def test_kda_drafts_equal_the_recurrence_and_single_steps(make, borders, path, dtype, tolerance):
    H, K, V = (2, 6, 5) if path == "torch" else (1 if not GPU else 3, 64, 64)
    sizes = [(B, T, H, K), (B, T, H, K), (B, T, H, V), (B, T, H, K), (B, T, H)]
    parts = [make(*size).detach().to(dtype) for size in sizes]
    state_dtype = torch.promote_types(dtype, torch.float32)
    device = "cpu" if path == "torch" else DEVICE
    A, bias, state = (make(*size, scale=0.3).detach().to(state_dtype) for size in [(H,), (H, K), (B, H, K, V)])
    expected, final = kda_reference(
        *(part.double().flatten(0, 1) for part in parts), A.double(), bias.double(), borders([T] * B),
        initial_state=state.double(),
    )  # fmt: skip

    def step(now, carried, last, accepted_B):
        q, k, v, gate, beta = (part.to(device) for part in now)
        before = None if last is None else KDADrafts(*(part.to(device) for part in last[1:]))
        count = None if accepted_B is None else accepted_B.to(device)
        carried = (state if carried is None else carried).to(device)
        if path == "torch":
            o, after, kept = kda_draft(q, k, v, gate, beta, A, bias, carried, before, count)
            assert kept.all()[1] is v
        else:
            from trivium.kernels.kda.triton_draft import draft

            held = KDADrafts(k, v, gate, beta)
            o, after = draft(q, held, A.to(device), bias.to(device), carried, before, count, -5.0, K**-0.5)
        return o.cpu(), after.cpu()

    found, carried = decode(step, parts)
    close(found, expected, tolerance)
    close(carried, final, tolerance)
    single, after = decode(step, parts, [[1, 1]] * T, 1)
    assert torch.equal(found, single)
    assert torch.equal(carried, after)
    ahead, outputs = state, []
    for t in range(T):
        o, ahead = kda_step(*(part[:, t] for part in parts), A, bias, ahead)
        outputs.append(o)
    close(found, torch.stack(outputs, 1).flatten(0, 1).double(), tolerance)
    close(carried, ahead.double(), tolerance)


@pytest.mark.parametrize(("path", "dtype", "tolerance"), PATHS)
def test_short_conv_drafts_equal_the_definition(make, borders, path, dtype, tolerance):
    C = 5 if path == "torch" else 300
    x, tail = make(B, T, C).detach().to(dtype), make(B, 3, C).detach().to(dtype)
    weight = make(C, 4).detach().to(torch.promote_types(dtype, torch.float32))
    expected, final = short_conv_reference(
        x.double().flatten(0, 1), weight.double(), borders([T] * B), initial_tail=tail.double()
    )

    def step(now, carried, last, accepted_B):
        operands = (now[0], weight, tail if carried is None else carried, None if last is None else last[0], accepted_B)
        on = (None if part is None else part.to("cpu" if path == "torch" else DEVICE) for part in operands)
        if path == "torch":
            return short_conv_draft(*on)
        from trivium.kernels.short_conv.triton_draft import draft

        y, after = draft(*on)
        return y.cpu(), after.cpu()

    found, carried = decode(step, [x])
    close(found, expected, tolerance)
    assert torch.equal(carried.double(), final)
    single, _ = decode(step, [x], [[1, 1]] * T, 1)
    assert torch.equal(found, single) if path == "triton" else torch.allclose(found, single, rtol=1e-12)


def test_half_a_history_and_too_many_drafts_are_refused(make):
    x = [make(1, 9, 1, 4).detach()] * 4 + [make(1, 9, 1).detach(), make(1).detach(), make(1, 4).detach()]
    state = torch.zeros(1, 1, 4, 4)
    with pytest.raises(ValueError, match="at most 8 drafts; found 9"):
        kda_draft(*x, state)
    with pytest.raises(ValueError, match="belong together"):
        kda_draft(*(part[:, :2] for part in x[:5]), *x[5:], state, accepted_B=torch.zeros(1))
    with pytest.raises(ValueError, match="belong together"):
        short_conv_draft(make(1, 2, 4).detach(), make(4, 4).detach(), torch.zeros(1, 3, 4), make(1, 2, 4).detach())
