"""A token never changes what stands before it, not by one bit."""

import numpy as np
import pytest
import torch

from trivium.model.batch import Sample, collate


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_edit_leaves_every_earlier_row_bit_for_bit(small, awake, sample, dtype):
    model = awake(small, dtype).eval()
    first = sample(150, (4, 4), seed=3)
    before = model.logits(collate([first], small.media_pad))
    for place in (8, 15, 16, 17, 63, 64, 65, 100, 149):
        tokens = first.tokens.copy()
        tokens[place] = (tokens[place] + 7) % 150
        after = model.logits(collate([Sample(tokens, first.loss, first.grids, first.patches)], small.media_pad))
        assert torch.equal(before[:place], after[:place]), place
        assert not torch.equal(before[place:], after[place:])


def test_a_picture_changes_only_what_follows_it(small, awake, sample):
    model = awake(small, torch.float32).eval()
    first = sample(60, (4, 4))
    other = Sample(first.tokens, first.loss, first.grids, [first.patches[0] + 1])
    before, after = (model.logits(collate([one], small.media_pad)) for one in (first, other))
    assert torch.equal(before[:3], after[:3])
    assert not torch.allclose(before[3:], after[3:])


def test_an_edit_stays_inside_its_document(small, awake, sample):
    model = awake(small).eval()
    samples = [sample(40, seed=1), sample(50, seed=2), sample(30, seed=3)]
    tokens = samples[1].tokens.copy()
    tokens[10] = (tokens[10] + 1) % 150
    edited = [samples[0], Sample(tokens, np.ones(50, bool)), samples[2]]
    before, after = (model.logits(collate(some, small.media_pad)) for some in (samples, edited))
    torch.testing.assert_close(before[:50], after[:50], rtol=0, atol=1e-12)
    torch.testing.assert_close(before[90:], after[90:], rtol=0, atol=1e-12)
    assert not torch.allclose(before[50:90], after[50:90])
