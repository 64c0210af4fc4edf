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
from trivium.data.text.repetition import DUPLICATE_NGRAMS, TOP_NGRAMS
from trivium.data.text.rules import SCORES, measure
from trivium.data.text.view import View
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


def slow_repetition(text: str) -> dict[str, float]:
    """Table A1 of Gopher, word by word, read from the left without overlap."""
    words, scores = text.split(), {}
    for n in TOP_NGRAMS:
        grams = Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
        ((gram, times),) = grams.most_common(1) or [("", 0)]
        scores[f"top_{n}gram"] = times * len(gram) / len(text) if times > 1 else 0.0
    for n in DUPLICATE_NGRAMS:
        seen, total, i = set(), 0, 0
        while i <= len(words) - n:
            gram = tuple(words[i : i + n])
            total += sum(map(len, gram)) if gram in seen else 0
            i += n if gram in seen else 1
            seen.add(gram)
        scores[f"duplicate_{n}grams"] = total / len(text)
    return scores


WORDS = st.lists(st.sampled_from(("a", "bb", "ccc", "dddd")), min_size=1, max_size=12)


@given(WORDS, st.integers(1, 6), WORDS, st.integers(0, 3))
def test_repetition_equals_the_slow_definition(first, times, second, again):
    words = first * times + second + first * again
    text = " ".join(words)
    found = measure(text)
    for name, value in slow_repetition(text).items():
        assert found[name] == pytest.approx(value, abs=1e-4), name


@given(st.text(alphabet=st.sampled_from("ab1_#.é ½²\u3000\n\t日本ไท한\U00020000\x1c\u2028"), max_size=60))
def test_words_are_runs_between_blanks_or_single_characters(text):
    alone = "日本ไท\U00020000"
    spaced = "".join(f" {c} " if c in alone else c for c in text)
    view = View(text)
    assert view.words == spaced.split()
    assert view.lengths.tolist() == [len(word) for word in view.words]
    assert view.with_letters == sum(any(c.isalpha() for c in word) for word in view.words)
    assert view.content[0] == sum(any(c.isalnum() for c in word) for word in view.words)
    table, numbers = view.numbered
    assert [list(table)[number] for number in numbers] == view.words


@given(st.text(max_size=300))
def test_any_text_has_every_score(text):
    scores = measure(text)
    assert tuple(scores) == SCORES
    counts = {"words", "mean_word_length", "symbols_per_word", "stop_words", "curly_brackets", "long_lines"}
    shares = set(SCORES) - counts
    assert all(scores[name] >= 0 for name in SCORES)
    assert all(scores[name] <= 1 for name in shares)


def test_line_scores():
    scores = measure("• one item\n- two...\nThe same line.\nThe same line.\nA line of prose, which ends well.\n")
    assert scores["bullet_lines"] == pytest.approx(2 / 5)
    assert scores["ellipsis_lines"] == pytest.approx(1 / 5)
    assert scores["duplicate_lines"] == pytest.approx(1 / 5)
    assert scores["punctuated_lines"] == pytest.approx(4 / 5)
    assert measure('He said: "Go."\nBut:\n')["punctuated_lines"] == pytest.approx(1 / 2)
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


def test_paragraphs_and_symbols():
    scores = measure("One two.\n\nOne two.\n\n\nThree # four ... # …\n")
    assert scores["duplicate_paragraphs"] == pytest.approx(1 / 3, abs=1e-4)
    assert scores["duplicate_paragraph_characters"] == pytest.approx(8 / 42, abs=1e-4)
    assert scores["symbols_per_word"] == pytest.approx(2 / 10)  # two of either, not four of both
    assert scores["words"] == 6


def test_each_language_has_its_stop_words_and_thresholds():
    german = "Die Katze lag in der Sonne und war mit sich und der Welt zufrieden, was nicht das Schlechteste ist. " * 8
    assert measure(german, "de")["stop_words"] >= 6
    assert measure(german, "en")["stop_words"] == 0
    assert "stop_words" not in measure(german, "xx")
    chinese = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。" * 3
    assert measure(chinese, "zh")["words"] > 100
    assert "mean_word_length" not in measure(chinese, "zh")
    rule = Rule(score="words", min=10_000, reason="short_book")
    for language, config, kept in (
        ("zh", {}, True),
        ("en", {}, False),
        ("en", {"languages": {"en": (Rule(score="stop_words", max=0, reason="x"),)}}, True),
        ("zh", {"languages": {"zh": (rule,)}}, False),
    ):
        item = draft(chinese)
        meta = msgspec.structs.replace(item.document.meta, language=language)
        item = msgspec.structs.replace(item, document=msgspec.structs.replace(item.document, meta=meta))
        policy = tuple(rule for rule in POLICY if rule.score in ("words", "mean_word_length", "stop_words"))
        (outcome,) = Heuristics.Config(policy=policy, **config).build().process(item)
        assert isinstance(outcome, Draft) == kept, (language, config)


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
