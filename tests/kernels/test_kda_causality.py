"""Bit for bit: no output depends on a later token, nor on another document of the row."""

import pytest
import torch

from trivium.kernels.kda import kda

H, K = 2, 64
LENGTHS = [65, 0, 1, 15, 130, 17, 63, 64, 200]


def operands(make, T, gate):
    sizes = [(T, H, K)] * 4 + [(T, H), (H,), (H, K)]
    x = [make(*size, dtype=torch.float32).detach() for size in sizes]
    x[3] = x[3] * 3 + gate
    return x


@pytest.mark.parametrize("gate", [-2.0, 60.0])
@pytest.mark.parametrize("phase", range(4))
def test_editing_a_token_leaves_earlier_outputs_bit_equal(make, borders, gate, phase):
    T = 150
    x, cu = operands(make, T, gate), borders([T])
    before = kda(*x, cu)
    for t in range(phase, T, 4):  # over the four phases: every offset in a tile, every tile of a chunk
        edited = [part.clone() for part in x]
        for part in edited[:5]:
            part[t] = part[t] * -3 + 1
        after = kda(*edited, cu)
        assert torch.equal(before[:t], after[:t]), f"token {t} changed an earlier output"
        assert not torch.equal(before[t], after[t])


def test_a_document_in_a_packed_row_equals_the_document_alone(make, borders):
    cu = borders(LENGTHS)
    x = operands(make, int(cu[-1]), -1.0)
    weight = make(int(cu[-1]), H, K, dtype=torch.float32).detach()

    def run(parts, layout, projection):
        leaves = [part.clone().requires_grad_() for part in parts]
        o = kda(*leaves, layout)
        return [o.detach(), *torch.autograd.grad(o, leaves[:5], projection)]

    packed = run(x, cu, weight)
    for start, stop in zip(cu[:-1].tolist(), cu[1:].tolist(), strict=True):
        alone = run([part[start:stop] for part in x[:5]] + x[5:], borders([stop - start]), weight[start:stop])
        for inside, outside in zip(packed, alone, strict=True):
            assert torch.equal(inside[start:stop], outside)


def test_a_second_run_gives_the_same_bits(make, borders):
    cu = borders(LENGTHS)
    x = operands(make, int(cu[-1]), -1.0)

    def run():
        leaves = [part.clone().requires_grad_() for part in x]
        return torch.autograd.grad(kda(*leaves, cu).square().sum(), leaves)

    assert all(torch.equal(a, b) for a, b in zip(run(), run(), strict=True))
