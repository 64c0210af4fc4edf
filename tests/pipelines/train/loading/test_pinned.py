"""Batches for a GPU lie in pinned memory and arrive as they are on the CPU."""

import pytest
import torch

from trivium.model.batch import Batch
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data


@pytest.mark.gpu
def test_pinned_batches_arrive_whole(prepared):
    plain = prepared.assembler()
    pinned = Assembler(prepared.sets, prepared.rules, prepared.vocabulary, Data(workers=0), pin=True)
    with_pictures = 0
    for step, _ in list(prepared.plan.rows())[:4]:
        batch = pinned.batch(step.rows)
        for name in Batch.__slots__:  # no memory, nothing to pin: the patches of a batch without pictures
            tensor = getattr(batch, name)
            assert tensor.is_pinned() or not tensor.numel() or name == "grids_I3", name
        with_pictures += len(batch.patches_P) > 0
        there = batch.to("cuda")
        torch.cuda.synchronize()
        for name in Batch.__slots__:
            assert torch.equal(getattr(there, name).cpu(), getattr(plain.batch(step.rows), name)), name
    assert with_pictures
