"""Attention of patches by groups of equal grids against dense softmax, and what it asks of its operands."""

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.patches import PatchPlan, patch_attention, patch_attention_reference

H, D = 2, 8
RAGGED = [4, 4, 0, 24, 24, 24, 4, 130]


def operands(make, P, dtype=torch.float64):
    return [make(P, H, D, dtype=dtype) for _ in range(3)]


def test_grids_equal_dense_softmax_of_each(make, compare, borders):
    cu = borders(RAGGED)
    compare(
        lambda *x: patch_attention(*x, cu), lambda *x: patch_attention_reference(*x, cu), operands(make, int(cu[-1]))
    )


def test_the_reference_is_the_formula_pair_by_pair(make, borders):
    q, k, v = (x.detach() for x in operands(make, 5))
    found = patch_attention_reference(q, k, v, borders([3, 0, 2]))
    for i in range(5):
        seen = range(3) if i < 3 else range(3, 5)
        for h in range(H):
            weights = torch.stack([torch.exp((q[i, h] * k[j, h]).sum() / D**0.5) for j in seen])
            wanted = sum(w * v[j, h] for w, j in zip(weights / weights.sum(), seen, strict=True))
            torch.testing.assert_close(found[i, h], wanted, rtol=1e-12, atol=1e-12)


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(0, 60), max_size=8))
def test_any_layout_equals_dense_softmax_with_a_plan_and_without(make, compare, borders, lengths):
    cu = borders(lengths)
    P = int(cu[-1])
    plan = PatchPlan.build(cu, P)
    x = operands(make, P)
    compare(lambda *x: patch_attention(*x, cu, plan), lambda *x: patch_attention_reference(*x, cu), x)
    assert torch.equal(patch_attention(*x, cu, plan), patch_attention(*x, cu.tolist()))


def test_autocast_decides_the_output_s_dtype(make, borders):
    x = [part.detach() for part in operands(make, 28, torch.float32)]
    wanted = patch_attention(*(part.bfloat16() for part in x), borders([24, 4]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = patch_attention(*x, borders([24, 4]))
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, wanted)
    assert patch_attention(*x, borders([24, 4])).dtype == torch.float32


@given(lengths=st.lists(st.integers(0, 700), max_size=12), rows=st.sampled_from([16, 64, 128]))
def test_the_tiles_take_every_patch_once_and_the_longest_walk_first(borders, lengths, rows):
    cu = borders(lengths)
    by_queries_N3, by_keys_N3 = PatchPlan.build(cu, int(cu[-1])).tiles(torch.device("cpu"), rows)
    assert torch.equal(by_queries_N3, by_keys_N3)
    tiles = by_queries_N3.tolist()
    assert sorted(t for first, _, stop in tiles for t in range(first, min(first + rows, stop))) == list(range(cu[-1]))
    spans = set(zip(cu[:-1].tolist(), cu[1:].tolist(), strict=True))
    assert all((start, stop) in spans and (first - start) % rows == 0 for first, start, stop in tiles)
    walks = [stop - start for _, start, stop in tiles]
    assert walks == sorted(walks, reverse=True)


def test_operands_and_plans_of_another_row_are_refused(make, borders):
    x = operands(make, 10)
    with pytest.raises(ValueError, match="another cu_seqlens"):
        patch_attention(*x, borders([4, 6]), PatchPlan.build(borders([5, 5]), 10))
    with pytest.raises(ValueError, match="must run from 0 to 10"):
        patch_attention(*x, borders([4, 4]))
    with pytest.raises(ValueError, match="k must be"):
        patch_attention(x[0], x[1][:, :1], x[2], borders([10]))
