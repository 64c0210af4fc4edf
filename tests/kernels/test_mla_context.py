"""MLA over several processes, documents across their borders: the results of one process."""

import pytest
import torch
from torch.nn import functional as F

from trivium.kernels.mla import mla_gated_reference, mla_reference

H, N, R, V, L = 2, 5, 3, 4, 7
# Shares of unequal size; a document over two ranks, one over all three, one that ends where a share does.
LAYOUTS = {2: [30, 48, 0, 83], 3: [10, 120, 0, 1, 30]}


def whole(row):
    """One process: output, largest logits and gradients."""
    leaves = [row[name].clone().requires_grad_() for name in ("q", "c", "extra", "gate", "up")]
    q, c, extra, gate, up = leaves
    k, v = F.linear(c, up).unflatten(-1, (H, -1)).split([N, V], -1)
    k = torch.cat([k, extra[:, None].expand(-1, H, -1)], -1)
    cu = row["cu_seqlens"]
    o, row_max = mla_gated_reference(q, k, v, gate, cu) if row["gated"] else mla_reference(q, k, v, cu)
    wanted = leaves if row["gated"] else [q, c, extra, up]
    return [o.detach(), row_max, *torch.autograd.grad(o, wanted, row["do"])]


@pytest.mark.parametrize(("ranks", "gated"), [(2, True), (3, False)])
def test_shares_of_a_row_equal_the_row(make, borders, in_ranks, ranks, gated):
    T = sum(LAYOUTS[ranks])
    sizes = {"q": (T, H, N + R), "c": (T, L), "extra": (T, R), "gate": (T, H, V), "up": (H * (N + V), L),
             "do": (T, H, V)}  # fmt: skip
    row = {name: make(*size).detach() for name, size in sizes.items()}
    row["q"][..., N:] = 1 + row["q"][..., N:].abs()
    row["extra"] = -60 - row["extra"].abs()  # all logits are negative: a row of zeros in their place would be seen
    row |= {"cu_seqlens": borders(LAYOUTS[ranks]), "gated": gated}
    o, row_max, *parts, up = zip(*in_ranks("mla_context_rank.py", ranks, row), strict=True)
    found = [torch.cat(o), torch.stack(row_max).amax(0), *(torch.cat(part) for part in parts), sum(up)]
    assert len(found) == (7 if gated else 6)
    for i, (a, b) in enumerate(zip(found, whole(row), strict=True)):
        torch.testing.assert_close(a, b, msg=lambda text, i=i: f"result {i}: {text}")
