"""Signatures of both engines against the true similarity, and what may never be compared."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import jaccard, shingles, shingles_of
from trivium.data.dedup.signature import HEAD, estimate, sign, sign_hashes, sign_texts, spec
from trivium.data.dedup.sketches import alike, compact
from trivium.errors import DigestError

ENGINES = ("rensa", "datasketch")


def made(engine="rensa", permutations=112, seed=1, ngram=5):
    return spec(engine, permutations=permutations, seed=seed, ngram=ngram)


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.integers(2, 6))
def test_shingles_are_the_distinct_ngrams(words, ngram):
    expected = {tuple(words[i : i + ngram]) for i in range(len(words) - ngram + 1)}
    assert len(shingles(words, ngram)) == len(expected)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_jaccard_is_that_of_the_ngram_sets(a, b):
    sets = [{tuple(words[i : i + 2]) for i in range(len(words) - 1)} for words in (a, b)]
    union = len(sets[0] | sets[1])
    expected = len(sets[0] & sets[1]) / union if union else 0.0
    assert jaccard(shingles(a, 2), shingles(b, 2)) == pytest.approx(expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_estimates_lie_around_the_truth_within_theory(engine, similarity):
    """200 pairs of random sets: mean error below 4 standard errors, spread as the binomial says (K = 112)."""
    random = np.random.default_rng(7)
    how, errors = made(engine), []
    for _ in range(200):
        shared = round(200 * 2 * similarity / (1 + similarity))
        pool = random.integers(0, 2**63, size=400 - shared, dtype=np.uint64)
        a, b = np.unique(pool[:200]), np.unique(np.concatenate([pool[:shared], pool[200:]]))
        errors.append(estimate(sign_hashes(a, how), sign_hashes(b, how)) - jaccard(a, b))
    theory = math.sqrt(similarity * (1 - similarity) / 112)
    assert abs(np.mean(errors)) < 4 * theory / math.sqrt(200)
    assert 0.6 * theory < np.std(errors) < 1.25 * theory


def test_engines_agree_on_real_pages_within_theory():
    folder = Path(__file__).parents[3] / "examples/web/python/faq"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))]
    signatures = {engine: sign_texts(texts, made(engine), min_words=20) for engine in ENGINES}
    sets = [shingles_of(text, 5) for text in texts]
    for i in range(len(texts)):
        for j in range(i):
            found = [estimate(signatures[engine][i], signatures[engine][j]) for engine in ENGINES]
            truth = jaccard(sets[i], sets[j])
            assert all(abs(value - truth) < 5 * math.sqrt(max(truth * (1 - truth), 0.02) / 112) for value in found)


@pytest.mark.parametrize(
    "other", [made("datasketch"), made(seed=2), made(ngram=4), made(permutations=128)], ids=lambda made: str(made)[:60]
)
def test_signatures_of_two_makes_are_refused(other):
    text = "one two three four five six seven eight nine ten"
    with pytest.raises(DigestError, match="two makes"):
        estimate(sign(text, made(), min_words=5), sign(text, other, min_words=5))


def test_a_change_of_the_normaliser_is_another_make():
    changed = made().__class__(**{**{f: getattr(made(), f) for f in made().__struct_fields__}, "normaliser_version": 3})
    assert changed.head != made().head
    assert len(made().head) == HEAD


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_signed_together_have_the_signatures_of_each_alone(engine):
    texts = ["", "one two three", " ".join(map(str, range(50))), "漢字" * 40, " ".join("ab" * 30), "x " * 500]
    assert sign_texts(texts, made(engine), min_words=5) == [sign(text, made(engine), min_words=5) for text in texts]
    assert sign_texts([], made(engine), min_words=5) == []


def test_short_texts_have_no_signature():
    assert sign("one two three four five six seven", made(), min_words=20) == b""
    assert sign("", made(), min_words=0) == b""
    assert sign("one two three four", made(), min_words=4) == b""  # fewer words than an n-gram


def test_two_unrelated_books_are_no_duplicates():
    """Long texts of one language share their short runs of characters, and nearly no run of five words."""
    random = np.random.default_rng(3)
    words = ["".join(random.choice(list("etaoinshr"), 3)) for _ in range(400)]
    books = [" ".join(words[at] for at in random.integers(0, len(words), 20_000)) for _ in range(2)]
    short = [{book[at : at + 5] for at in range(len(book) - 4)} for book in books]
    assert len(short[0] & short[1]) > 0.75 * len(short[0] | short[1])
    assert alike(*(compact(shingles_of(book, NearDedup().ngram)) for book in books)) < 0.01
