import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.pipelines.train import bigram

VOCABULARY = 11
documents = st.lists(
    st.lists(st.tuples(st.integers(0, VOCABULARY - 1), st.booleans()), min_size=1, max_size=40), max_size=12
)


def arrays(texts):
    return [(np.array([i for i, _ in text], np.uint32), np.array([t for _, t in text])) for text in texts]


def brute_pairs(texts):
    return [(a[0], b[0]) for text in texts for a, b in itertools.pairwise(text) if b[1]]


def brute_entropy(pairs):
    both, first = Counter(pairs), Counter(a for a, _ in pairs)
    return -sum(n / len(pairs) * math.log(n / first[a]) for (a, _), n in both.items()) if pairs else 0.0


@given(texts=documents)
def test_entropy_equals_a_dictionary_count(texts):
    counted = bigram.count(arrays(texts), VOCABULARY)
    pairs = brute_pairs(texts)
    assert counted.pairs == len(pairs)
    assert counted.entropy() == pytest.approx(brute_entropy(pairs), abs=1e-12)


@given(texts=documents, others=documents)
def test_cross_entropy_equals_a_dictionary_count(texts, others):
    train, held = brute_pairs(texts), brute_pairs(others)
    both, first = Counter(train), Counter(a for a, _ in train)
    losses = [-math.log((both[a, b] + 1) / (first[a] + VOCABULARY)) for a, b in held]
    expected = sum(losses) / len(losses) if losses else 0.0
    counted = bigram.count(arrays(texts), VOCABULARY)
    assert counted.cross_entropy(arrays(others)) == pytest.approx(expected, abs=1e-12)


def test_chunks_merge_to_the_same_counts(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [(rng.integers(0, VOCABULARY, 50), np.ones(50, bool)) for _ in range(20)]
    whole = bigram.count(texts, VOCABULARY)
    monkeypatch.setattr(bigram, "_CHUNK", 60)
    pieces = bigram.count(texts, VOCABULARY)
    assert np.array_equal(whole.codes, pieces.codes)
    assert np.array_equal(whole.counts, pieces.counts)


def test_known_values():
    alternating = np.array([1, 2] * 50)
    assert bigram.count([(alternating, np.ones(100, bool))], VOCABULARY).entropy() == 0.0
    # after 0 come 1 and 2 equally often, and 1 and 2 are always followed by 0: half of ln 2
    forked = np.array([0, 1, 0, 2] * 25 + [0])
    assert bigram.count([(forked, np.ones(101, bool))], VOCABULARY).entropy() == pytest.approx(math.log(2) / 2)


def test_large_vocabularies_do_not_overflow():
    ids = np.array([163_839, 163_838, 163_839, 163_837], np.uint32)
    counted = bigram.count([(ids, np.ones(4, bool))], 163_840)
    assert counted.codes.max() == 163_839 * 163_840 + 163_838
