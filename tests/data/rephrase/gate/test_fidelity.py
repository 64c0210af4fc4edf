"""What the gate catches of the labelled pairs that no threshold was chosen on, and what it does not."""

from pathlib import Path

from trivium.data.rephrase.gate.evaluate import evaluate, load

PAIRS = Path(__file__).parents[4] / "examples" / "rephrase" / "pairs.jsonl"


def test_the_held_out_half_is_judged_as_well_as_was_measured(gate):
    report, _ = evaluate([pair for pair in load(PAIRS) if pair.half == "held-out"], gate)
    assert report.recall >= 0.76
    assert report.balanced >= 0.82
    assert report.caught >= 0.82
    # What a rule can see is caught nearly always.
    for kind in ("number", "unit", "date", "identifier", "language", "chatter", "unfinished", "off_topic", "invented"):
        seen, accepted = report.kinds[kind]
        assert accepted <= max(2, seen // 12), kind


def test_what_was_written_after_the_rules_is_judged_as_well_as_was_measured(gate):
    report, _ = evaluate([pair for pair in load(PAIRS) if pair.half == "fresh"], gate)
    assert report.recall >= 0.7
    assert report.balanced >= 0.67
    assert report.caught >= 0.65
    for kind in (
        "unit",
        "date",
        "formula",
        "language",
        "chatter",
        "unfinished",
        "off_topic",
        "dropped",
        "copy",
        "loop",
    ):
        assert report.kinds[kind][1] == 0, kind


def test_the_set_is_what_its_page_says():
    pairs = load(PAIRS)
    assert len(pairs) >= 300
    assert sum(pair.language != "en" or pair.target != "en" for pair in pairs) >= len(pairs) / 4
    halves = {pair.family: {other.half for other in pairs if other.family == pair.family} for pair in pairs}
    assert all(len(half) == 1 for half in halves.values())
    assert all(pair.license and pair.origin for pair in pairs)
    fresh = [pair for pair in pairs if pair.half == "fresh"]
    assert len(fresh) >= 120
    assert len({pair.family for pair in fresh}) >= 20
    assert sum(pair.faithful for pair in fresh) >= 40
    assert len({pair.language for pair in fresh} | {pair.target for pair in fresh}) >= 8
    assert all(pair.faithful == (pair.kind == "faithful") for pair in pairs)
