"""Tokens and their hashes against a character-by-character reading, and cuts against grapheme clusters."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trivium.data.dedup.units import Tokens, blocks, hash_stretches, sliding_min, windows

# Latin, Cyrillic composed and decomposed, Greek, CJK, halfwidth kana, Hangul and jamo, Devanagari with virama, Thai
# with AM, Khmer with coeng, emoji with joiner and skin tone, flags, keycaps, tags, Arabic number sign, white space.
PARTS = (
    *("a", "Bc", "é", "e\u0301", "\u0301", "Ж", "й", "и\u0306", "ς", " ", "\n", "\r\n", "\t", ".", "--", "_", "1"),
    *("中", "か", "が", "ｶﾞ", "한", "한", "क\u094dष", "\u094d", "ก", "ำ", "ស\u17d2ក", "က\u1039", "👨\u200d👩", "👍🏽"),
    *("🇩🇪", "🇫", "1\ufe0f\u20e3", "\U000e0061", "\u0600", "3", "\u200b", "ﬁ", "\U00020000", "\u00a0", "\u2028"),
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=24).map("".join)


@given(TEXTS)
@example("\u0600 \u0301a")
def test_tokens_never_begin_or_end_inside_a_grapheme_cluster(text):
    regex = pytest.importorskip("regex", reason="the regex package reads grapheme clusters")
    borders = {found.start() for found in regex.finditer(r"\X", text)} | {len(text)}
    tokens = Tokens(text)
    assert {*tokens.starts.tolist(), *tokens.ends.tolist()} <= borders
    between = np.append(tokens.starts, len(text)) - np.insert(tokens.ends, 0, 0)
    assert (between >= 0).all()
    gaps = [text[a:b] for a, b in zip(np.insert(tokens.ends, 0, 0), np.append(tokens.starts, len(text)), strict=True)]
    assert all(unicodedata.category(c)[0] == "Z" or unicodedata.category(c) == "Cc" for gap in gaps for c in gap)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_runs_of_tokens_have_equal_hashes_where_their_text_is_equal_and_only_there(first, second, size):
    seen: dict[str, int] = {}
    for text in (first, second):
        tokens = Tokens(text)
        hashes = tokens.windows(size).tolist()
        assert len(hashes) == max(len(tokens) - size + 1, 0)
        for at, found in enumerate(hashes):
            assert seen.setdefault(text[tokens.starts[at] : tokens.ends[at + size - 1]], found) == found
    assert len(set(seen.values())) == len(seen)


def test_words_and_runs_of_one_sign_are_single_tokens():
    tokens = Tokens("Foo_1 bar—baz ---- 中中文 ก่า!!?")
    cut = ["Foo_1 bar—baz ---- 中中文 ก่า!!?"[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    assert cut == ["Foo_1", "bar", "—", "baz", "----", "中中", "文", "ก่", "า", "!!", "?"]


def test_a_long_text_is_hashed_in_blocks_as_if_it_were_one():
    line = "Один два три, four five; 六七八 — nine.  \n"
    text = line * 2000
    assert len(blocks(text)) > 1
    assert "".join(text[a:b] for a, b in blocks(text)) == text
    tokens, single = Tokens(text), Tokens(line)
    assert len(tokens) == 2000 * len(single)
    assert np.array_equal(tokens.hashes, np.tile(single.hashes, 2000))
    assert len(set(tokens.windows(2 * len(single)).tolist())) == len(single)  # periodic, gaps between blocks too


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 9))
def test_sliding_minimum_and_windows_agree_with_their_definitions(values, width):
    array = np.array(values, dtype=np.uint64)
    expected = [min(values[i : i + width]) for i in range(len(values) - width + 1)]
    assert sliding_min(array, width).tolist() == expected
    runs = [tuple(values[i : i + width]) for i in range(len(values) - width + 1)]
    hashes = windows(array, width).tolist()
    assert len(set(hashes)) == len(set(runs)) == len(set(zip(runs, hashes, strict=True)))


def test_a_stretch_hash_hangs_on_order_and_length():
    values = np.array([1, 2, 2, 1, 1, 1, 0], dtype=np.uint32)
    hashes = hash_stretches(values, np.array([0, 2, 4, 5])).tolist()
    assert len(set(hashes)) == 4
