"""Cached decoding gives the full forward pass's logits, for text, after a picture, and for the K2 baseline."""

from dataclasses import fields

import pytest
import torch

from trivium.errors import UsageError
from trivium.model.batch import Sample, collate
from trivium.model.cache import KDACache, MLACache
from trivium.model.decode import prefill, step


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
    rows = [state.logits_BV]
    rows += [step(model, [int(token)], state) for token in document.tokens[start : start + 12]]
    assert state.tokens_B.tolist() == [start + 12]
    assert (torch.cat(rows) - full_TV[start - 1 : start + 12]).abs().max() < bound


@pytest.mark.parametrize("family", ["small", "small_k2"])
def test_documents_decoded_together_equal_each_alone(request, awake, sample, family):
    config = request.getfixturevalue(family)
    model = awake(config).eval()
    starts = [3, 40, 1, 17, 17, 64, 9]  # more documents than a few tokens' experts, of all lengths
    documents = [sample(80, *[(4, 4)] * (config.vision is not None and start > 10), seed=start) for start in starts]
    begun = [cut(document, start) for document, start in zip(documents, starts, strict=True)]
    state = prefill(model, collate(begun, config.media_pad))
    rows = [state.logits_BV]
    for number in range(12):
        tokens = [int(d.tokens[start + number]) for d, start in zip(documents, starts, strict=True)]
        rows.append(step(model, tokens, state))
    assert state.tokens_B.tolist() == [start + 12 for start in starts]
    for place, (document, start) in enumerate(zip(documents, starts, strict=True)):
        with torch.no_grad():
            full_TV = model.logits(collate([document], config.media_pad))
        found_TV = torch.stack([logits_BV[place] for logits_BV in rows])
        assert (found_TV - full_TV[start - 1 : start + 12]).abs().max() < 1e-10


@pytest.mark.parametrize("lengths", [[5], [5, 9, 2]])
def test_a_latent_cache_grows_past_its_room(lengths):
    draw = torch.Generator().manual_seed(0)
    rows = [torch.randn(length + 200, 3, generator=draw) for length in lengths]
    cache = MLACache()
    borders = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    cache.fill(torch.cat([row[:length] for row, length in zip(rows, lengths, strict=True)]), borders)
    for number in range(200):
        cache.append(torch.stack([row[length + number] for row, length in zip(rows, lengths, strict=True)]))
    assert cache.columns == max(lengths) + 200
    for document, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        first = int(cache.start_B[document])
        assert first == max(lengths) - length
        assert torch.equal(cache.seen[document, first:], row)
        if cache.before_BS is not None:
            assert cache.before_BS[document, : cache.columns].sum() == first
    assert (cache.before_BS is None) == (len(lengths) == 1)


def test_the_caches_hold_what_the_sizes_say(small, awake, sample):
    model = awake(small, torch.float32).eval()
    state = prefill(model, collate([sample(40)], small.media_pad))
    step(model, [5], state)
    mla, kda = small.backbone.mla, small.backbone.kda
    for layer, cache in enumerate(state.caches):
        if small.backbone.is_mla(layer):
            assert isinstance(cache, MLACache)
            assert cache.seen.shape == (1, 41, mla.kv_lora + mla.extra_dim)
        else:
            assert isinstance(cache, KDACache)
            assert cache.state_BHKV.shape == (1, kda.heads, kda.head_dim, kda.head_dim)
            assert all(tail.shape == (1, 3, kda.heads * kda.head_dim) for tail in cache.tails)


@pytest.mark.parametrize("family", ["small", "small_k2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_documents_that_leave_change_nothing_for_the_others(request, awake, sample, family, dtype):
    """Eleven documents in sixteen rows; ends free rows, and no bit of another document's logits moves."""
    config = request.getfixturevalue(family)
    model = awake(config, dtype).eval()
    lengths = [5, 40, 17, 3, 80, 9, 33, 12, 7, 21, 50]
    leaving = {3: {4}, 5: {0, 3, 7}, 9: {1, 2, 5, 6, 8, 9}}
    begun = collate([sample(length, seed=length) for length in lengths], config.media_pad)

    def decoded(leaving):
        state, live, seen, rows = prefill(model, begun), [*range(len(lengths))], {}, []
        for number in range(12):
            gone = leaving.get(number, set())
            if gone:
                state.keep([place for place, one in enumerate(live) if one not in gone])
                live = [one for one in live if one not in gone]
            logits_BV = step(model, [(7 * number + one) % 150 for one in live], state)
            seen |= {(one, number): row_V.clone() for one, row_V in zip(live, logits_BV, strict=True)}
            rows.append(state.rows)
        return seen, rows, state

    whole, rows, _ = decoded({})
    assert rows == [16] * 12
    found, rows, state = decoded(leaving)
    assert rows == [16] * 5 + [8] * 7
    assert state.tokens_B.tolist() == [lengths[10] + 12]
    assert {one for one, number in found if number == 11} == {10}
    assert all(torch.equal(whole[key], row_V) for key, row_V in found.items())


def test_memory_grows_by_the_latents_alone(small, awake, sample):
    model = awake(small, torch.float32).eval()
    state = prefill(model, collate([sample(40), sample(9)], small.media_pad))

    def held():
        tensors = [value for cache in state.caches for f in fields(cache) for value in [getattr(cache, f.name)]]
        tensors = [t for value in tensors for t in (value if isinstance(value, tuple) else (value,))]
        assert all(t.grad_fn is None for t in tensors if isinstance(t, torch.Tensor))
        return sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))

    before = held()
    for token in range(120):
        step(model, [token % 150] * 2, state)
    mla = small.backbone.mla
    layers = sum(small.backbone.is_mla(layer) for layer in range(small.backbone.layers))
    a_column = layers * state.rows * (4 * (mla.kv_lora + mla.extra_dim) + 1)  # its latents, and one mark
    columns = 160
    assert held() - before <= a_column * (columns + max(64, columns // 4))
    assert len(state.caches) == small.backbone.layers


@pytest.mark.parametrize("places", [[], [1, 0], [0, 0], [2], [-1]])
def test_only_documents_that_are_there_can_be_kept(small, awake, sample, places):
    state = prefill(awake(small), collate([sample(5), sample(6)], small.media_pad))
    with pytest.raises(UsageError, match="of 2 documents; give rising places"):
        state.keep(places)


def test_a_step_wants_one_token_a_document(small, awake, sample):
    model = awake(small)
    state = prefill(model, collate([sample(5), sample(6)], small.media_pad))
    with pytest.raises(UsageError, match="1 tokens for 2 documents"):
        step(model, [3], state)
