"""Words and shingles of any script: the fast batch against the slow definition, and what an edit may change."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup import words
from trivium.data.dedup.shingles import jaccard, shingle, shingles, shingles_of
from trivium.data.dedup.words import hash_words, word_hash, words_of

LETTERS = (
    "aZ09_ß İſΣς \t\n.,-'…“”\u00a0\u00ad\u200b\u200d\ufe0f"  # Latin, gaps, no width
    "e\u0301\u0323o\u0308Å\u212b ﬁ ™½²ĳ"  # forms that hang on neighbours or grow
    "Привет حَيَّا שׁ हिन्दी क\u093c బో"  # marks inside words
    "漢字仮名カナｶﾞ\u304b\u3099々 한글\u1112\u1161\u11ab 각"
    "ภาษาไทยกำลัง ລາວ မြန်မာ ខ្មែរ"
    "😀\U0001f1e9\U00020000\U000e0100"
)
TEXTS = st.lists(st.text(st.sampled_from(LETTERS), max_size=40) | st.text(max_size=20), max_size=6)


@given(TEXTS, st.integers(1, 5), st.sampled_from((3, 1 << 16)))
def test_a_batch_is_read_as_each_text_by_the_definition(texts, ngram, block):
    whole, words.BLOCK = words.BLOCK, block
    try:
        found, pieces = hash_words(texts), shingle(texts, ngram)
    finally:
        words.BLOCK = whole
    expected = [words_of(text) for text in texts]
    assert found.counts.tolist() == pieces.words.tolist() == [len(one) for one in expected]
    assert found.hashes.tolist() == [word_hash(word) for one in expected for word in one]
    for made, one in zip(pieces.sets(), expected, strict=True):
        assert made.tolist() == shingles(one, ngram).tolist()


def test_the_first_text_of_a_process_may_be_ascii():
    """Tables are filled as characters are met, and ASCII's are not looked for."""
    spec = importlib.util.find_spec("trivium.data.dedup.words")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert fresh.hash_words(["Two words"]).hashes.tolist() == [word_hash("two"), word_hash("words")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｔｈｅ “Quick”—brown fox…", ["the", "quick", "brown", "fox"]),
        ("nai\u0308ve co\u00adop\u200b", ["naïve", "coop"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs belong to their word
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("漢字とカナ2つ", ["漢", "字", "と", "カ", "ナ", "2", "つ"]),
    ],
)
def test_words_of_scripts(text, expected):
    assert words_of(text) == expected


THAI = (
    "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีนและออกเสียงแยกคำต่อคำ"
    "การเขียนภาษาไทยไม่เว้นวรรคระหว่างคำและจะเว้นวรรคเมื่อจบประโยคหรือข้อความเท่านั้น"
)
CHINESE = "汉语是世界上使用人数最多的语言之一，其历史可以追溯到三千多年以前，文字从甲骨文一路演变到今天的楷书和简体字。"


@pytest.mark.parametrize(("text", "most"), [(THAI, 8), (CHINESE, 5)])
def test_an_edit_in_a_script_without_spaces_changes_only_the_shingles_around_it(text, most):
    """The words behind an inserted character are the same again: borders hang on neighbours, not on a count."""
    where = len(text) // 2
    edited = text[:where] + text[3] + text[where:]
    a, b = shingles_of(text, 5), shingles_of(edited, 5)
    assert len(a) > 20
    assert len(np.setdiff1d(a, b)) <= most
    assert jaccard(a, b) > 0.6


def test_pieces_of_thai_are_longer_than_characters_and_never_begin_with_a_mark():
    pieces = words_of(THAI)
    assert "".join(pieces) == THAI.replace("ำ", "ํา")  # NFKC's form of sara am
    assert 2.5 < len(THAI) / len(pieces) < 6.5
    assert not any("\u0e34" <= piece[0] <= "\u0e3a" or "\u0e47" <= piece[0] <= "\u0e4e" for piece in pieces)
