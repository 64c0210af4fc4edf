"""Targets, modalities and borders of packed documents, as laws over random documents."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trivium.errors import InputError
from trivium.model.batch import MEDIA, NO_TARGET, TEXT, TEXT_AFTER_PICTURE, Sample, collate

PAD = 99


@st.composite
def samples(draw):
    length = draw(st.integers(0, 12))
    ids = draw(st.lists(st.integers(0, 98), min_size=length, max_size=length))
    loss = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    grids = []
    for _ in range(draw(st.integers(0, 2)) if length else 0):
        place = draw(st.integers(0, len(ids)))
        ids[place:place] = [PAD, PAD]
        loss[place:place] = [True, True]
        grids.append((1, 2, 4))
    patches = [torch.zeros(8, 588)] * len(grids)
    return Sample(np.array(ids, dtype=np.uint32), np.array(loss, dtype=bool), grids, patches)


@given(documents=st.lists(samples(), max_size=6))
def test_targets_are_the_next_token_of_the_same_document(documents):
    if not any(len(document.tokens) for document in documents):
        with pytest.raises(InputError, match="no tokens"):
            collate(documents, PAD)
        return
    batch = collate(documents, PAD)
    kept = [document for document in documents if len(document.tokens)]
    assert batch.cu_seqlens.diff().tolist() == [len(document.tokens) for document in kept]
    assert batch.tokens_T.tolist() == [int(token) for document in kept for token in document.tokens]
    row = 0
    for document in kept:
        for place, token in enumerate(document.tokens):
            last = place + 1 == len(document.tokens)
            wanted = NO_TARGET
            if not last and document.loss[place + 1] and document.tokens[place + 1] != PAD:
                wanted = int(document.tokens[place + 1])
            assert batch.targets_T[row] == wanted
            text = TEXT_AFTER_PICTURE if document.grids else TEXT
            assert batch.modality_T[row] == (MEDIA if token == PAD else text)
            row += 1
    assert batch.grids_I3.tolist() == [list(grid) for document in kept for grid in document.grids]
    assert batch.patches_P.shape == (8 * len(batch.grids_I3), 588)


def test_pictures_and_pads_must_agree(small, awake, sample):
    good = sample(20, (2, 4))
    with pytest.raises(InputError, match="2 media tokens, 1 grids of 4 tokens"):
        collate([Sample(good.tokens, good.loss, [(1, 4, 4)], [torch.zeros(16, 588)])], small.media_pad)
    batch = collate([good], small.media_pad)
    batch.tokens_T[3] = 0
    with pytest.raises(InputError, match="1 media tokens"):
        awake(small, torch.float32)(batch)


def test_a_text_model_refuses_pictures(change, sample):
    config = change("vision=null")
    with pytest.raises(InputError, match="no vision tower"):
        config.build()(collate([sample(20, (2, 4))], config.media_pad))
