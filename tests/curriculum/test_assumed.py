"""Corpora on paper: their sizes add up, and 10^9 documents are scheduled in little memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trivium.curriculum.assumed import Assumed, AssumedCorpus, Lengths, assumed_corpora
from trivium.curriculum.plan import Plan
from trivium.curriculum.pools import Pool, Rules, supplies
from trivium.data.config import from_mapping
from trivium.errors import ConfigError

BUCKETS = "256,1024,4096"


@pytest.mark.parametrize(
    "lengths",
    [
        Lengths(mean=300, sigma=1.0, max=4096),
        Lengths(mean=50, sigma=0, max=4096),
        Lengths(quantiles=((0, 10), (0.5, 200), (0.9, 900), (1, 4000))),
    ],
)
@pytest.mark.parametrize("vision", [0.0, 0.4])
def test_sums_without_a_scan_equal_those_of_a_scan(lengths: Lengths, vision: float) -> None:
    corpus = AssumedCorpus("web", Assumed(documents=30_011, lengths=lengths, vision=vision), BUCKETS)
    seen = 0
    for number, bucket in enumerate(corpus.buckets):
        runs = corpus.runs(number)
        records = runs.records(np.arange(len(runs)))
        seen += len(records)
        tokens, patches = corpus.sizes(records)
        low, high = (0, 256, 1024)[number], (256, 1024, 4096)[number]
        assert ((tokens > low) & (tokens <= high)).all()
        assert (patches % 4 == 0).all()
        pool = Pool(f"web/{bucket}", "web", bucket, number, runs, corpus, 1)
        rules = [Rules(512, 700, True), Rules(512, 700, False)]
        for rule, supply in zip(rules, supplies(pool, rules), strict=True):
            usable = rule.usable(tokens, patches)
            assert supply.tokens == tokens[usable].sum()
            assert supply.documents == usable.sum()
            assert supply.patches == patches[usable].sum()
            assert supply.pieces == (-(-tokens[usable] // 512)).sum()
            assert supply.train_tokens == tokens.sum()
    assert seen == len(corpus) == 30_011
    if lengths.mean == 300:
        assert corpus.sizes(np.arange(30_011))[0].mean() == pytest.approx(300, rel=0.05)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"mean": 5, "quantiles": [[0, 1], [1, 2]]}, "either mean"),
        ({}, "either mean"),
        ({"quantiles": [[0.1, 1], [1, 2]]}, "must ascend, in shares from 0 to 1"),
        ({"quantiles": [[0, 5], [1, 2]]}, "must ascend"),
        ({"mean": 5, "min": 9, "max": 3}, "min <= max"),
    ],
)
def test_wrong_lengths_are_refused(raw, message) -> None:
    with pytest.raises(ConfigError, match=message):
        from_mapping(raw, Lengths, name="a.yaml")


def test_a_corpus_that_is_not_described_is_named(tmp_path: Path, make_schedule) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("corpora: {web: {documents: 5, lengths: {mean: 9}}}\n")
    schedule = make_schedule([{"context": 64, "rows": 1, "tokens": 500, "mixture": {"web": 1, "svg": 1}}])
    with pytest.raises(ConfigError, match="describes no svg"):
        assumed_corpora(path, schedule)
    path.write_text("buckets: 9,3\ncorpora: {web: {documents: 5, lengths: {mean: 9}}}\n")
    with pytest.raises(ConfigError, match=r"a\.yaml: buckets: "):
        assumed_corpora(path, schedule)


BILLION = """
import resource
from trivium.curriculum import Plan, Schedule
from trivium.curriculum.assumed import Assumed, AssumedCorpus, Lengths
from trivium.data.config import from_mapping

plain = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stage = {"name": "a", "context": 8192, "rows": 64, "tokens": 900_000_000_000, "mixture": {"web": 4, "svg": 1}}
raw = {
    "version": 1, "seed": 3, "window": 1024, "lr": {"peak": 1}, "corpora": {"web": {"path": "w"}, "svg": {"path": "s"}},
    "stages": [stage, stage | {"name": "b", "context": 65536, "rows": 8, "tokens": 100_000_000_000}],
}
corpora = {
    "web": AssumedCorpus("web", Assumed(documents=900_000_000, lengths=Lengths(mean=900)), "8k,64k,1m"),
    "svg": AssumedCorpus("svg", Assumed(documents=100_000_000, lengths=Lengths(mean=2000), vision=0.3), "8k,64k,1m"),
}
plan = Plan.open(from_mapping(raw, Schedule, name="s.yaml"), corpora)
deep = 2_000
state = plan.at(deep)
step, behind = next(plan.rows(state))
assert step.step == deep and len(step.rows) in (64, 65), len(step.rows)
assert state.cursors["web/8k"].position > 500_000
assert plan.at(deep + 1) == behind
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - plain
print(sum(len(pool) for pool in plan.pools.values()), plan.steps, used)
"""


def test_a_billion_documents_are_scheduled_in_constant_memory() -> None:
    """Peak memory beyond the imports, in a process of its own: 10^9 documents would be 8 GB a column."""
    done = subprocess.run([sys.executable, "-c", BILLION], check=True, capture_output=True, text=True, timeout=200)
    documents, steps, used = map(int, done.stdout.split())
    assert documents == 10**9
    assert steps == -(-900_000_000_000 // (64 * 8159)) + -(-100_000_000_000 // (8 * 65273))
    assert used < 100 << 10  # KiB


def test_held_out_rows_of_a_corpus_on_paper_are_none(make_schedule) -> None:
    corpus = AssumedCorpus("web", Assumed(documents=500, lengths=Lengths(mean=90, max=1000)), BUCKETS)
    plan = Plan.open(
        make_schedule([{"context": 256, "rows": 1, "tokens": 5000, "mixture": {"web": 1}}]), {"web": corpus}
    )
    assert plan.held_out("web") == []
    assert len({corpus.document(n) for n in range(500)}) == 500
    assert sum(len(step.rows) for step, _ in plan.rows()) >= 20
