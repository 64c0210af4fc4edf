"""A layer's convolution and KDA over several processes, documents across their borders: the results of one process."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trivium.kernels.context import Share
from trivium.kernels.kda import kda
from trivium.kernels.short_conv import short_conv

H, K, V = 2, 6, 5
# Of two ranks the second begins two tokens into a document; of four one document is in all.
LAYOUTS = {2: [30, 48, 0, 82], 4: [30, 91, 0, 1, 38]}


def whole(row):
    """One process: output and gradients."""
    leaves = [row[name].clone().requires_grad_() for name in ("x", "gate", "beta", "weight", "A", "bias")]
    x, gate, beta, weight, A, bias = leaves
    q, k, v = short_conv(x, weight, row["cu_seqlens"]).split([H * K, H * K, H * V], -1)
    o = kda(
        q.unflatten(-1, (H, K)), k.unflatten(-1, (H, K)), v.unflatten(-1, (H, V)), gate, beta, A, bias,
        row["cu_seqlens"],
    )  # fmt: skip
    return [o.detach(), *torch.autograd.grad(o, leaves, row["do"])]


@pytest.mark.parametrize("ranks", LAYOUTS)
def test_shares_of_a_row_equal_the_row(make, borders, in_ranks, ranks):
    T, channels = sum(LAYOUTS[ranks]), H * (2 * K + V)
    sizes = {"x": (T, channels), "gate": (T, H, K), "beta": (T, H), "weight": (channels, 4), "A": (H,), "bias": (H, K),
             "do": (T, H, V)}  # fmt: skip
    row = {name: make(*size).detach() for name, size in sizes.items()}
    row["gate"] -= 5  # slow decay: what enters a share is felt at its end
    row |= {"cu_seqlens": borders(LAYOUTS[ranks]), "sizes": (H, K, V)}
    shares = list(zip(*in_ranks("context_rank.py", ranks, row), strict=True))
    found = [torch.cat(parts) for parts in shares[:4]] + [sum(parts) for parts in shares[4:]]
    for name, a, b in zip(("o", "x", "gate", "beta", "weight", "A", "bias"), found, whole(row), strict=True):
        torch.testing.assert_close(a, b, msg=lambda text, name=name: f"{name}: {text}")


@given(lengths=st.lists(st.integers(0, 60), max_size=6), ranks=st.integers(1, 5))
def test_shares_hold_the_row_and_know_where_their_documents_are(borders, lengths, ranks):
    cu, T = borders(lengths), sum(lengths)
    if 3 * ranks > T:
        with pytest.raises(ValueError, match="tokens or more; found"):
            Share.of(cu, T, 0, ranks)
        return
    document_T = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    shares = [Share.of(cu, T, rank, ranks) for rank in range(ranks)]
    assert [(a.stop, b.start) for a, b in pairwise(shares)] == [(a.stop,) * 2 for a in shares[:-1]]
    assert (shares[0].start, shares[-1].stop) == (0, T)
    holder_T = torch.cat([torch.full((share.stop - share.start,), share.rank) for share in shares])
    for share in shares:
        mine = document_T[share.start : share.stop]
        assert [int(n) for n in torch.unique_consecutive(mine, return_counts=True)[1].cumsum(0)] == [*share.borders[1:]]
        assert share.begins == int(holder_T[document_T == mine[0]][0])
        assert share.ends == int(holder_T[document_T == mine[-1]][-1])
        assert share.reach == int((document_T[: share.start] == mine[0]).sum())
