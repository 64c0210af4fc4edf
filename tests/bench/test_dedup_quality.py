"""The quality bench on generated texts: recall, precision and clusters of a real build against brute force."""

import importlib.util
import random
import sys
from itertools import combinations
from pathlib import Path

import pytest

from trivium.data.dedup.shingles import shingles_of
from trivium.data.dedup.sketches import alike, compact

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("dedup_quality", BENCH / "dedup_quality.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCH))


def planted(count: int, seed: int = 3) -> list[str]:
    """Texts of 80 to 200 words; every third is a copy of an earlier one with up to a tenth of its words replaced."""
    draw = random.Random(seed)
    texts: list[list[str]] = []
    for number in range(count):
        if number % 3 == 2:
            words = list(texts[draw.randrange(number)])
            for _ in range(draw.randrange(0, len(words) // 25)):
                words[draw.randrange(len(words))] = f"x{draw.randrange(10**6)}"
        else:
            words = [f"w{draw.randrange(5000)}" for _ in range(draw.randrange(80, 200))]
        texts.append(words)
    return [" ".join(words) for words in texts]


def test_the_truth_is_the_jaccard_of_all_pairs(bench):
    texts = planted(40)
    sets = [compact(shingles_of(text, 5)) for text in texts]
    expected = {(a, b): alike(sets[a], sets[b]) for a, b in combinations(range(40), 2)}
    assert bench.true_pairs(texts, 0.5) == {pair: value for pair, value in expected.items() if value >= 0.5}


def test_recall_precision_and_clusters_of_a_build(bench, tmp_path):
    found = bench.figures(planted(900), tmp_path)
    assert found["true_pairs_of_0.8"] > 150
    assert bench.holds(found), found
    assert found["clusters_of_the_truth_found"] > 0.9
    assert found["kept"] == 900 - found["in_clusters"] + found["clusters"]  # survivors = clusters + singletons
