"""Cached decoding gives the full forward pass's logits, for text, after a picture, and for the K2 baseline."""

import pytest
import torch

from trivium.errors import UsageError
from trivium.model.batch import Sample, collate
from trivium.model.decode import choose, prefill, step


def cut(sample: Sample, length: int) -> Sample:
    return Sample(sample.tokens[:length], sample.loss[:length], sample.grids, sample.patches)


@pytest.mark.parametrize("family", ["small", "small_k2"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
@pytest.mark.parametrize("start", [1, 2, 30, 75])
def test_prefill_and_steps_equal_the_full_pass(request, awake, sample, family, dtype, bound, start):
    config = request.getfixturevalue(family)
    model = awake(config, dtype).eval()
    pictures = [(4, 4), (2, 2)] if config.vision and start > 10 else []
    document = sample(90, *pictures, seed=start)
    with torch.no_grad():
        full_TV = model.logits(collate([document], config.media_pad))
    state = prefill(model, collate([cut(document, start)], config.media_pad))
    rows = [state.logits_V]
    rows += [step(model, int(token), state) for token in document.tokens[start : start + 12]]
    assert state.tokens == start + 12
    assert (torch.stack(rows) - full_TV[start - 1 : start + 12]).abs().max() < bound


def test_the_caches_hold_what_the_sizes_say(small, awake, sample):
    model = awake(small, torch.float32).eval()
    state = prefill(model, collate([sample(40)], small.media_pad))
    step(model, 5, state)
    mla, kda = small.backbone.mla, small.backbone.kda
    for layer, cache in enumerate(state.caches):
        if small.backbone.is_mla(layer):
            assert cache.tokens == 41
            assert cache.latent_TL.shape[1] + cache.extra_TR.shape[1] == mla.kv_lora + mla.extra_dim
        else:
            assert cache.state_1HKV.shape == (1, kda.heads, kda.head_dim, kda.head_dim)
            assert all(tail.shape == (1, 3, kda.heads * kda.head_dim) for tail in cache.tails)


def test_prefill_refuses_two_documents(small, awake, sample):
    with pytest.raises(UsageError, match="one document and the batch holds 2"):
        prefill(awake(small), collate([sample(5), sample(6)], small.media_pad))


def test_choice():
    logits_V = torch.tensor([0.0, 5.0, 1.0])
    assert choose(logits_V, temperature=0) == 1
    drawn = [choose(logits_V, temperature=3.0, generator=torch.Generator().manual_seed(i)) for i in range(200)]
    assert set(drawn) == {0, 1, 2}
    assert drawn == [choose(logits_V, temperature=3.0, generator=torch.Generator().manual_seed(i)) for i in range(200)]
    with pytest.raises(UsageError, match="temperature is -1"):
        choose(logits_V, temperature=-1)
