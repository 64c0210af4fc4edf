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
    for step, _ in list(prepared.plan.rows())[:4]:
        batch = pinned.batch(step.rows)
        assert all(getattr(batch, name).is_pinned() for name in Batch.__slots__ if name != "grids_I3")
        there = batch.to("cuda")
        torch.cuda.synchronize()
        for name in Batch.__slots__:
            assert torch.equal(getattr(there, name).cpu(), getattr(plain.batch(step.rows), name)), name
