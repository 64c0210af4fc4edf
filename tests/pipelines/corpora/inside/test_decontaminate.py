"""Held-out text in records against sets of word tuples; false alarms that must not be raised; sets of every kind."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import SETTINGS, again_changes_nothing, draft_of, segments

from trivium.data.dedup.decontaminate import Decontaminate, word_places
from trivium.data.dedup.heldout import HeldOut, items_of
from trivium.data.dedup.words import words_of
from trivium.errors import InputError

WORD = st.sampled_from(["один", "two", "三", "four", "пять", "six", "七", "eight"])
PHRASE = st.lists(WORD, min_size=2, max_size=7).map(" ".join)
POOL = st.lists(PHRASE, min_size=1, max_size=3)


def grams_of(text: str, size: int) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def oracle(config: Decontaminate, items: dict[str, list[tuple[str, ...]]], records: list[list[str]]) -> set[int]:
    """Numbers of contaminated records, common n-grams counted again until they don't change."""
    held: dict[tuple[str, int], set] = {}
    for name, texts in items.items():
        sets = [set().union(*(grams_of(text, config.ngram) for text in fields)) for fields in texts]
        often = Counter(gram for found in sets for gram in found)
        for number, found in enumerate(sets):
            held[name, number] = {gram for gram in found if often[gram] <= config.max_items}
    every = set().union(*held.values())
    grams = [set().union(*(grams_of(text, config.ngram) for text in texts)) & every for texts in records]
    common = {gram for gram, n in Counter(g for found in grams for g in found).items() if n > config.max_documents}
    while True:
        gone = set()
        for number, found in enumerate(grams):
            for wanted in held.values():
                of, hits = len(wanted - common), len((wanted & found) - common)
                if hits and hits >= min(config.min_hits, of) and hits >= config.min_share * of:
                    gone.add(number)
        left = Counter(g for number, found in enumerate(grams) if number not in gone for g in found)
        again = {gram for gram in common if left[gram] > config.max_documents}
        if again == common:
            return gone
        common = again


@SETTINGS
@given(
    st.lists(st.lists(PHRASE, min_size=1, max_size=2), min_size=1, max_size=4),
    POOL,
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=9),
    st.sampled_from((0.2, 0.5, 1.0)),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_records_go_as_sets_of_word_tuples_say(apply, tmp_path_factory, items, pool, mixes, share, most, hits, limit):
    folder = tmp_path_factory.mktemp("held")
    (folder / "set.jsonl").write_text("".join(json.dumps({"fields": fields}) + "\n" for fields in items))
    pieces = [*(text for fields in items for text in fields), *pool]
    records = [
        ["\n".join(pieces[i % len(pieces)] for i in mix[:2]), *(pieces[i % len(pieces)] for i in mix[2:])]
        for mix in mixes
    ]
    config = Decontaminate(
        sets=(HeldOut(name="s", path=str(folder / "set.jsonl")),),
        ngram=3,
        min_hits=hits,
        min_share=share,
        max_documents=most,
        max_items=2,
    )
    drafts = [draft_of(number, *texts) for number, texts in enumerate(records)]
    work = apply(config, drafts, limit=limit)
    expected = oracle(config, {"s": [tuple(fields) for fields in items]}, records)
    ids = [draft.document.meta.source_id for draft in drafts]
    assert set(work.drops) == {ids[number] for number in expected}
    assert work.facts["contaminated_records"] == len(expected)
    assert {drop.reason for drop in work.drops.values()} <= {"contaminated"}
    again_changes_nothing(apply, config, work)


QUESTION = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips?"
)
STORY = " ".join(f"story{n}" for n in range(60))
LICENCE = " ".join(f"permission{n} is hereby granted" for n in range(12))


@pytest.fixture
def held(tmp_path):
    rows = [
        {"id": "q1", "question": QUESTION, "answer": "Natalia sold 48/2 = 24 clips in May"},
        {"id": "q2", "question": STORY + " " + LICENCE, "answer": "x"},
        {"id": "q3", "question": "too short to find", "answer": "y"},
    ]
    path = tmp_path / "gsm.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def recipe(held, **more) -> Decontaminate:
    return Decontaminate(sets=(HeldOut(name="gsm", path=str(held)),), **more)


def test_a_leaked_question_is_named_and_one_common_phrase_is_no_leak(apply, held):
    before, after = "Own words before it. " * 12, " And own words behind it." * 12
    leaked = draft_of(0, before + QUESTION.upper().replace(" ", "  ") + after)
    phrase = draft_of(1, before + " ".join(STORY.split()[:15]) + after)
    licences = [draft_of(n, f"{n} " + LICENCE + f" end {n}") for n in range(2, 8)]
    work = apply(recipe(held, max_documents=5, min_share=0.2), [leaked, phrase, *licences])
    (drop,) = work.drops.values()
    assert drop.source_id == leaked.document.meta.source_id
    assert drop.detail.endswith("n-grams of gsm, gsm.jsonl:1")
    assert drop.excerpt == QUESTION.upper().replace(" ", "  ").rstrip("?")
    (found,) = work.facts["sets"]
    assert (found["items"], found["short"], found["items_found"], found["records"]) == (3, 1, 1, 1)
    assert found["found"][0]["item"] == "gsm.jsonl:1"
    assert work.facts["set_aside"] == work.facts["records_that_share_an_ngram"] - 1 == 7
    assert work.facts["common_ngrams"] > 20
    # Without the limit on documents the licence alone would be a leak of q2.
    assert len(apply(recipe(held, max_documents=100, min_share=0.2), [phrase, *licences]).drops) == 6


def test_a_cut_takes_the_stretch_and_nothing_else(apply, held):
    before, after = "Свои слова до. " * 20, "\nСвои слова после 自己的话。" * 20
    changed = QUESTION.replace("half", "third")  # the words between two hits go as well
    draft = draft_of(0, before + changed + after)
    config = recipe(held, action="cut", ngram=6)
    work = apply(config, [draft])
    assert segments(work)[draft.document.meta.source_id] == [before, "?" + after]
    step = work.drafts[draft.document.meta.source_id].document.meta.lineage.steps[-1]
    assert (step.name, step.counts) == ("decontaminate", {"characters": len(changed) - 1, "items": 1})
    again_changes_nothing(apply, config, work)
    (drop,) = apply(config, [draft_of(1, changed)]).drops.values()
    assert drop.reason == "contaminated"


LETTERS = ("a", "é", "e\u0301", "ﬁ", "™", "中", "か\u3099", "ก", "า", " ", "\n", "-", "1", "\u00ad")


@given(st.lists(st.sampled_from(LETTERS), max_size=30).map("".join))
def test_every_word_has_a_place_that_holds_it(text):
    starts, ends = word_places(text)
    words = words_of(text)
    assert len(starts) == len(ends) == len(words)
    assert (np.diff(starts) >= 0).all()
    for start, end, word in zip(starts.tolist(), ends.tolist(), words, strict=True):
        assert word in words_of(text[start:end])


def test_sets_of_every_kind_give_the_same_items(tmp_path, built):
    import pyarrow
    import pyarrow.parquet

    rows = [{"a": f"first {n}", "b": {"c": [f"second {n}", "x"]}} for n in range(300)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "s.jsonl").write_text(lines)
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "s.parquet")
    kinds = [
        list(items_of(HeldOut(name="s", path=""), tmp_path / f"s.{kind}")) for kind in ("jsonl", "jsonl.gz", "parquet")
    ]
    assert [item.texts for item in kinds[0]] == [(f"first {n}", f"second {n}", "x") for n in range(300)]
    assert all([item.texts for item in kind] == [item.texts for item in kinds[0]] for kind in kinds)
    assert len({item.address for item in kinds[2]}) == 300
    some = list(items_of(HeldOut(name="s", path="", fields=("b.c",)), tmp_path / "s.jsonl"))
    assert some[7].texts == ("second 7", "x")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/one.txt").write_text("a b\nc\n\n\nd e\n")
    (tmp_path / "t/two.md").write_text("f")
    blocks = [(item.address, item.texts[0].split()) for item in items_of(HeldOut(name="t", path=""), tmp_path / "t")]
    assert blocks == [("one.txt:1", ["a", "b", "c"]), ("one.txt:5", ["d", "e"]), ("two.md:1", ["f"])]
    assert all(item.texts and len(item.address) == 26 for item in items_of(HeldOut(name="u", path=""), built))


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        ('{"a": "b"}\n{"a": ', (), r"s\.jsonl:2: not JSON"),
        ('{"a": {"b": "c"}}\n', ("a.x",), r"s\.jsonl:1: no field 'a\.x'; found b: mend `fields`"),
        ("\n", (), r"held-out set 's' has no items"),
    ],
)
def test_a_set_that_cant_be_read_is_named(apply, tmp_path, content, fields, message):
    (tmp_path / "s.jsonl").write_text(content)
    config = Decontaminate(sets=(HeldOut(name="s", path=str(tmp_path / "s.jsonl"), fields=fields),))
    with pytest.raises(InputError, match=message):
        apply(config, [draft_of(0, "text")])


def test_what_is_common_is_counted_again_until_it_does_not_change(apply, tmp_path):
    first, second, third = (" ".join(f"{letter}{n}" for n in range(6)) for letter in "abc")
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(text) + "\n" for text in (first, second, third)))
    config = Decontaminate(sets=(HeldOut(name="s", path=str(tmp_path / "s.jsonl")),), ngram=3, max_documents=1)
    chain = [draft_of(n, text) for n, text in enumerate((f"{first}\n{second}", f"{second}\n{third}", third))]
    assert len(apply(config, chain).drops) == 3  # each drop makes the next record's n-grams rare
