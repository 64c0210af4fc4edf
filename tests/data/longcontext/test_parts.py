"""The parts that rows are made of: draws, lengths, words, pages, drawings."""

import io

import msgspec
import PIL.Image
import PIL.ImageDraw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_rows import METER, meta

from trivium.data.config import from_mapping, to_mapping
from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.drawings import read_code, read_picture
from trivium.data.longcontext.line_edits import apply
from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.pages import PICTURE_MARK, page_of, pair_of, paragraphs, unfit
from trivium.data.longcontext.wording import Wording, fill, load_wording, pattern
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Text, Video
from trivium.data.tokenizers import Tokenizer, tokenize_document
from trivium.errors import ConfigError, InputError

KEYS = st.integers(0, 2**64)


def test_the_draws_of_a_key_are_these_on_every_machine():
    dice = Dice("a", 1)
    assert [dice.below(100) for _ in range(10)] == [96, 29, 88, 70, 13, 66, 60, 36, 30, 79]


@given(key=KEYS, items=st.lists(st.integers(), max_size=50, unique=True), count=st.integers(0, 60))
def test_a_sample_holds_each_item_at_most_once(key, items, count):
    found = Dice(key).sample(items, count)
    assert len(found) == min(count, len(items)) == len(set(found))
    assert set(found) <= set(items)
    assert sorted(Dice(key).shuffled(items)) == sorted(items)


@given(key=KEYS, count=st.integers(1, 20))
def test_strata_rise_through_all_parts(key, count):
    for number, depth in enumerate(Dice(key).strata(count)):
        assert number / count <= depth < (number + 1) / count


def test_weights_are_proportions():
    dice = Dice("weights")
    found = [dice.weighted({"a": 3.0, "b": 1.0, "c": 0.0}) for _ in range(4000)]
    assert "c" not in found
    assert 0.72 < found.count("a") / len(found) < 0.78


@given(text=st.text(max_size=200), ratio=st.floats(1, 8))
def test_an_estimate_is_bytes_by_the_ratio_rounded_up(text, ratio):
    size = Meter(ratio, PictureRules()).text(text)
    assert size - 1 < len(text.encode()) / ratio <= size + 1e-6 or not text


VIDEO = Video(media="v0.mp4", width=80, height=80, mime="video/mp4", frames=30, fps=10.0)
CLIP = Document(segments=(Text(text="a clip"), VIDEO), meta=meta("v", "v", "", "v"))


def test_a_meter_with_a_tokenizer_counts_what_tokenising_gives(bpe, drawings):
    meter = Meter.load(3.5, PictureRules(), bpe)
    assert meter.exact
    for document in [CLIP, *(document for document, _ in drawings[:5])]:
        laid = tokenize_document(document, Tokenizer.load(bpe), PictureRules())
        assert meter.document(document) == len(laid.tokens)


def test_a_page_has_no_room_for_a_video():
    with pytest.raises(InputError, match=r"v0\.mp4 is a video; pages hold text and pictures"):
        page_of(CLIP, {"v0.mp4": b""}, "all", METER)


@given(text=st.text(alphabet="ab \n", max_size=80))
def test_paragraphs_joined_are_the_text(text):
    parts = paragraphs(text)
    assert "".join(parts) == text
    assert all(part.endswith("\n\n") for part in parts[:-1])


def test_a_pair_shows_both_or_one(drawings):
    document, media = drawings[0]
    picture, code = pair_of(document, media)
    assert page_of(document, media, "picture", METER).text == PICTURE_MARK
    assert page_of(document, media, "code", METER).text == code
    whole = page_of(document, media, "all", METER)
    assert code in whole.text
    assert PICTURE_MARK in whole.text
    assert whole.picture == picture
    assert whole.bytes == len(code.encode())


def test_pages_that_could_be_taken_for_a_part_of_the_row_are_unfit():
    frame = load_wording().frames[0]

    def check(text: str, title: str = "t") -> str:
        document = Document(segments=(Text(text=text),), meta=meta("s", "a", "MIT", title))
        return unfit(page_of(document, {}, "all", METER), frame)

    assert check("A page like any other.") == ""
    assert check("Quoted: === Document 3 === in a line is no heading.") == ""
    for mark in (
        "=== Document 3 ===",
        "=== Note ===",
        "=== Questions ===",
        "=== Edit 1 of document 2 ===",
        "Answer 7: x",
    ):
        assert check(f"before\n{mark}\nafter") == "frame_inside", mark
    assert check("Question 12: x") == "frame_inside"
    assert check("[Question 12] x") == ""
    assert check("a\ufffcb") == "picture_mark"
    assert check("  \n ") == "empty"


@given(
    st.sampled_from(sorted(load_wording().statements.items())),
    st.integers(0, 99),
    st.sampled_from(load_wording().attributes),
    st.integers(100_000, 999_999),
)
def test_what_is_written_can_be_read(statements, number, attribute, value):
    fields = {"attribute": attribute, "entity": "Amber Mill", "value": value, "register": "QZM41", "source": "AAA10"}
    template = statements[1][number % len(statements[1])]
    match = pattern(template).search("Before. " + fill(template, **fields) + " After.")
    assert match is not None
    assert all(match[name] == str(fields[name]) for name in match.groupdict())


def test_no_statement_reads_as_another_kind():
    words = load_wording()
    fields = {
        "attribute": "seal number",
        "entity": "Amber Mill",
        "value": 123456,
        "register": "QZM41",
        "source": "AAA10",
    }
    for kind, templates in words.statements.items():
        for template in templates:
            text = fill(template, **fields)
            read_as = {k for k, ts in words.statements.items() for t in ts if pattern(t).search(text)}
            assert read_as == {kind}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frames": []}, "frames is empty"),
        ({"attributes": ["one"]}, "attributes: give at least 2"),
        ({"statements": {}}, "statements holds"),
        (
            {"edits": {"replace": ["no fields"], "delete": ["{line}"], "insert": ["{line}{text}"], "swap": []}},
            "edits.replace",
        ),
    ],
)
def test_a_wording_of_ones_own_is_checked(change, message):
    raw = {**to_mapping(load_wording()), **change}
    with pytest.raises(ConfigError, match=message):
        from_mapping(raw, Wording, name="wording.yaml")


def test_code_and_pixels_of_real_drawings_say_the_same(drawings):
    for document, media in drawings:
        picture, code = pair_of(document, media)
        told, seen = read_code(code), read_picture(picture.payload)
        assert told is not None
        assert seen is not None
        assert told.like(seen)


def test_no_two_drawings_are_alike(drawings):
    told = [read_code(pair_of(document, media)[1]) for document, media in drawings]
    for number, one in enumerate(told):
        assert not any(one.like(other) for other in told[:number])


@pytest.mark.parametrize(
    "code",
    [
        "",
        "<p>text</p>",
        '<svg viewBox="0 0 64 64">\n<path d="M0 0h64"/>\n</svg>',
        '<svg viewBox="0 0 64 64">\n<circle cx="8" cy="8" r="5" fill="#ff0000"/>\n</svg>',
        '<svg viewBox="0 0 64 64">\n<rect x="0" y="0" width="8" height="16" fill="red"/>\n</svg>',
        '<svg viewBox="0 0 64 32">\n<circle cx="8" cy="8" r="5" fill="red"/>\n</svg>',
        '<svg viewBox="0 0 64 64">\n<g><circle cx="8" cy="8" r="5" fill="red"/></g>\n</svg>',
        '<svg viewBox="0 0 64 64">\n<rect width="64" height="64" fill="pink"/>\n</svg>',
    ],
)
def test_other_code_is_no_simple_drawing(code):
    assert read_code(code) is None


def test_edits_in_words_are_applied_to_lines():
    edits = load_wording().edits
    text = "a\nb\nc\nd"
    assert apply(text, "Line 2 becomes:\nx", edits) == "a\nx\nc\nd"
    assert apply(text, "Delete line 4.", edits) == "a\nb\nc"
    assert apply(text, "After line 1, insert:\nx", edits) == "a\nx\nb\nc\nd"
    assert apply(text, "Exchange lines 1 and 3.", edits) == "c\nb\na\nd"
    for wrong in ("Line 9 becomes:\nx", "Exchange lines 1 and 5.", "Rub out line 2.", "Delete line 0."):
        with pytest.raises(ValueError, match=r"line|edit"):
            apply(text, wrong, edits)


def test_a_frozen_page_can_be_compared(drawings):
    document, media = drawings[0]
    assert page_of(document, media, "all", METER) == page_of(document, media, "all", METER)
    other = msgspec.structs.replace(document, meta=msgspec.structs.replace(document.meta, title="other"))
    assert page_of(other, media, "all", METER) != page_of(document, media, "all", METER)


def test_a_picture_that_is_not_explained_is_no_drawing():
    """A red square with a notch fills its box like one, and is none."""
    for notch in (None, (40, 8, 50, 48)):
        image = PIL.Image.new("RGB", (112, 112), "white")
        pen = PIL.ImageDraw.Draw(image)
        pen.rectangle((0, 0, 55, 55), fill="red")
        if notch is not None:
            pen.rectangle(notch, fill="white")
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        seen = read_picture(buffer.getvalue())
        assert (seen is None) == (notch is not None)
