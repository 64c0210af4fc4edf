"""The rules against slow definitions of the same thing, and the policy that decides on their scores."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import from_mapping
from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.heuristics import POLICY, Heuristics, Rule
from trivium.data.text.rules import DUPLICATE_NGRAMS, SCORES, TOP_NGRAMS, measure
from trivium.errors import ConfigError

PROSE = (
    "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade of an old oak tree. "
    "Nobody in the village had seen such a thing before, so they talked about it for days.\n"
    "When winter came the fox returned to the farm with two young ones; the dog did not bark at them.\n"
    "People say that animals have no memory of kindness, but the farmer, who had watched all of this, disagreed.\n"
)


def draft(text: str) -> Draft:
    raw = Raw(corpus="c", domain="web", source="s", address="a", license="CC0-1.0", body=b"", mime="text/html")
    return Draft(document=Document(segments=(Text(text=text),), meta=raw.meta(source_sha256="")))


def run(text: str, **config) -> Draft | Drop:
    (outcome,) = Heuristics.Config(**config).build().process(draft(text))
    return outcome


def slow_repetition(words: list[str]) -> dict[str, float]:
    total = sum(map(len, words))
    scores = {}
    for n in TOP_NGRAMS:
        grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        best = max(grams.values(), default=0)
        sizes = [sum(map(len, gram)) for gram, times in grams.items() if times == best]
        scores[f"top_{n}gram"] = best * max(sizes) / total if best > 1 else 0.0
    for n in DUPLICATE_NGRAMS:
        seen, covered = set(), set()
        for i in range(len(words) - n + 1):
            gram = tuple(words[i : i + n])
            covered |= set(range(i, i + n)) if gram in seen else set()
            seen.add(gram)
        scores[f"duplicate_{n}grams"] = sum(len(words[i]) for i in covered) / total
    return scores


@given(st.lists(st.sampled_from(("a", "bb", "ccc", "dddd")), min_size=1, max_size=60))
def test_repetition_equals_the_slow_definition(words):
    found = measure(" ".join(words))
    for name, value in slow_repetition(words).items():
        assert found[name] == pytest.approx(value, abs=1e-4), name


@given(st.text(max_size=300))
def test_any_text_has_every_score(text):
    scores = measure(text)
    assert tuple(scores) == SCORES
    shares = set(SCORES) - {"words", "mean_word_length", "symbols_per_word", "stop_words", "curly_brackets"}
    assert all(scores[name] >= 0 for name in SCORES)
    assert all(scores[name] <= 1 for name in shares)


def test_line_scores():
    scores = measure("• one item\n- two...\nThe same line.\nThe same line.\nA line of prose, which ends well.\n")
    assert scores["bullet_lines"] == pytest.approx(2 / 5)
    assert scores["ellipsis_lines"] == pytest.approx(1 / 5)
    assert scores["duplicate_lines"] == pytest.approx(1 / 5)
    assert scores["punctuated_lines"] == pytest.approx(4 / 5)
    assert scores["short_lines"] == pytest.approx(4 / 5)


def test_prose_stays_with_all_its_scores():
    kept = run(PROSE)
    assert set(kept.document.meta.scores) == set(SCORES)
    assert kept.document.meta.scores["stop_words"] >= 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Too short to say anything.", "word_count"),
        (PROSE + "spam spam spam spam. " * 40, "repetition"),
        ("\n".join(f"{i + 1000} {i * i + 100} {i + 7000}." for i in range(60)), "not_words"),
        ("\n".join(f"{word} {i}x." for i, word in enumerate(PROSE.split() * 2)), "short_lines"),
        (PROSE + "Lorem ipsum dolor sit amet.", "placeholder"),
    ],
)
def test_broken_rules_name_the_reason(text, reason):
    drop = run(text)
    assert isinstance(drop, Drop)
    assert drop.reason == reason
    assert "wanted" in drop.detail


def test_the_policy_is_data():
    rule = Rule(score="words", min=10_000, reason="short_book")
    assert run(PROSE, policy=(rule,)).reason == "short_book"
    assert run("x", policy=()).document.text == "x"


@given(st.floats(0, 1e6), st.sampled_from(POLICY))
def test_a_kept_score_decides_the_same_again(value, rule):
    assert bool(rule.broken_by(value)) == (
        (rule.min is not None and value < rule.min) or (rule.max is not None and value > rule.max)
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"score": "wrods", "min": 1, "reason": "x"},
        {"score": "words", "reason": "x"},
        {"score": "words", "min": 1, "reason": "X y"},
    ],
)
def test_a_wrong_rule_is_refused_when_the_recipe_is_read(rule):
    with pytest.raises(ConfigError, match="policy"):
        from_mapping({"kind": "heuristics", "policy": [rule]}, Heuristics.Config, name="r.yaml")


def test_the_default_policy_is_the_documented_one():
    assert {rule.score for rule in POLICY} <= set(SCORES)
    assert msgspec.to_builtins(POLICY[0]) == {"score": "words", "reason": "word_count", "min": 50, "max": 100_000}
