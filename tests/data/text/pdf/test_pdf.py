"""PDF to text: reading order, paragraphs, broken words, headers; and what each kind of bad file is called."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium.data.guard import Limits
from trivium.data.stage import Draft, Outcome, Raw
from trivium.data.text.pdf.read import read
from trivium.data.text.pdf.requests import PdfRequest
from trivium.data.text.pdf.stage import ExtractPdf

sys.path.insert(0, str(Path(__file__).parent))  # the maker of PDFs beside this file
from papers import pdf

WORDS = "the quick brown fox jumps over the lazy dog and runs far away from all of them".split()  # noqa: SIM905


def column(x: float, top: float, lines: list[str]) -> list[tuple[float, float, float, str]]:
    return [(x, top - 12 * number, 10, line) for number, line in enumerate(lines)]


def prose(start: int, count: int, width: int = 9) -> list[str]:
    """Lines of equal words, so that each fills its column."""
    return [" ".join(WORDS[(start + number + n) % len(WORDS)] for n in range(width)) for number in range(count)]


def text(*pages) -> str:
    return read(PdfRequest(pdf(pages), 100)).text


def test_lines_become_paragraphs_and_broken_words_whole():
    lines = [
        (72, 700, 16, "A heading"),
        *column(72, 670, ["A first line that is as long as many of the others", "and goes on in a sec-"]),
        *column(72, 646, ["ond one that ends with a very long line of many", "words. It stops."]),
        *column(84, 622, ["An indented line begins the next paragraph of all", "of them, at the Baden-"]),
        *column(72, 598, ["Baden spa."]),
    ]
    found = text(lines).split("\n")
    assert found[0] == "A heading"
    body = "\n".join(found[2:])
    assert "as many of the others and goes on in a second one that ends" in body
    assert "It stops.\nAn indented line" in body
    assert "Baden-Baden spa." in body


def test_columns_that_were_drawn_row_by_row_are_read_one_after_the_other():
    left, right = prose(0, 12, 5), prose(7, 12, 5)
    rows = [(x, 700 - 12 * n, 10, line) for n in range(12) for x, line in ((60, left[n]), (330, right[n]))]
    found = " ".join(text(rows).split())
    assert found == " ".join([*left, *right])
    cells = [(x, 700 - 12 * n, 10, f"{x}/{n}") for n in range(12) for x in (60, 330)]
    assert text(cells).split("\n")[:2] == ["60/0  330/0", "60/1  330/1"]  # a table keeps its rows


def test_headers_and_page_numbers_go_and_sentences_cross_pages():
    def page(number: int) -> list[tuple[float, float, float, str]]:
        first = "and goes on" if number else "The story begins"
        return [
            (72, 760, 9, f"Chapter {number}"),
            *column(72, 700, [f"{first} {line}" for line in prose(number, 3)]),
            (300, 30, 9, f"- {number} -"),
        ]

    found = text(*(page(number) for number in range(5)))
    assert "Chapter" not in found
    assert "- 3 -" not in found
    assert found.count("\n\n") == 0


@pytest.fixture(scope="module")
def stage() -> Iterator[ExtractPdf]:
    stage = ExtractPdf.Config(max_pages=3).build()
    stage.open()
    yield stage
    stage.close()


def run(stage: ExtractPdf, body: bytes) -> Outcome:
    raw = Raw(corpus="c", domain="d", source="s", address="a", license="L", body=body, mime="application/pdf")
    (outcome,) = stage.process(raw)
    return outcome


def test_a_document_is_made_with_its_title_and_scores(stage):
    found = run(stage, pdf([column(72, 700, prose(0, 5)), []], title="A title"))
    assert isinstance(found, Draft)
    assert found.document.meta.title == "A title"
    assert found.document.meta.scores["pages"] == 2
    assert found.document.text.startswith("the quick")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (pdf([column(72, 700, prose(0, 5))], encrypt=True), "encrypted"),
        (b"%PDF-1.4 and no more", "damaged"),
        (b"", "damaged"),
        (pdf([[]]), "no_text"),
        (pdf([[(72, 700, 10, "little")]]), "little_text"),
        (pdf([[]] * 4), "too_many_pages"),
    ],
    ids=["encrypted", "damaged", "empty", "blank", "little", "pages"],
)
def test_each_bad_file_has_its_reason(stage, body, reason):
    assert run(stage, body).reason == reason


def test_a_file_that_takes_too_long_is_given_up():
    stage = ExtractPdf.Config(limits=Limits(wall_seconds=0.05, memory_bytes=2 << 30)).build()
    assert run(stage, pdf([column(72, 760, prose(0, 60))] * 300)).reason == "timeout"
    stage.close()
