"""Encodings: found by mark, by NULs, by what decodes; a wrong declaration and mixed files are mended."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.text.charset import _beyond_ascii, _is_no_chance, decode, decode_page, junk

TEXT = "Größe – naïve “café” élève; " * 3
LONG = TEXT + "plain words of ASCII " * 50


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"])
def test_unicode_is_told_from_its_bytes(encoding):
    assert decode(LONG.encode(encoding), ("windows-1252",))[0].lstrip("\ufeff") == LONG


@pytest.mark.parametrize(
    ("declared", "body", "text", "found"),
    [
        ("iso-8859-1", "Größe, naïve, café".encode(), "Größe, naïve, café", "utf-8"),  # the commonest lie
        ("utf-8", TEXT.encode("cp1252"), TEXT, "windows-1252"),
        ("gb2312", "中文内容 测试".encode("gb18030"), "中文内容 测试", "gbk"),
        ("gb2312", "中文内容 测试".encode(), "中文内容 测试", "utf-8"),
        ("gbk", "联通".encode("gbk"), "联通", "gbk"),  # valid UTF-8 by chance
        ("shift_jis", "日本語です".encode("shift_jis"), "日本語です", "shift_jis"),
        ("us-ascii", "日本語です".encode("iso2022_jp"), "日本語です", "iso2022_jp_2"),
        ("euc-kr", "한국어".encode("iso2022_kr"), "한국어", "iso2022_kr"),
        ("nonsense", TEXT.encode(), TEXT, "utf-8"),
    ],
)
def test_a_declaration_is_believed_when_it_can_be_true(declared, body, text, found):
    text_of, name = decode_page(b"<meta charset=" + declared.encode() + b">" + body)
    assert text_of.partition(">")[2] == text
    assert name.replace("cp1252", "windows-1252") == found


def test_files_that_were_joined_in_two_encodings_are_read_as_both():
    body = TEXT.encode() * 3 + "Größe café".encode("cp1252")
    assert decode(body) == (TEXT * 3 + "Größe café", "utf-8+windows-1252")
    assert decode(b"\xef\xbb\xbf" + body)[0].endswith("Größe café")
    assert decode("Größe café élève ".encode("cp1252") * 9)[0] == "Größe café élève " * 9


@given(st.text(st.characters(max_codepoint=0xFF) | st.sampled_from("\x1b\x85\ufffd漢ŵ😀"), max_size=30))
def test_shares_and_counts_are_those_of_the_characters(text):
    plain = re.findall("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]", text)
    assert junk(text) == len(plain) / max(1, len(text))
    assert _is_no_chance(text.encode(), text) == (_beyond_ascii(text) >= 3)
