"""Plain text and Markdown: what is mended, what becomes metadata, what stays."""

import pytest

from trivium.data.stage import Draft, Raw
from trivium.data.text.markdown import ExtractMarkdown
from trivium.data.text.plain import ExtractText, tidy


def run(config, body: bytes):
    raw = Raw(corpus="c", domain="d", source="s", address="a", license="L", body=body, mime="text/plain")
    (outcome,) = config.build().process(raw)
    return outcome


def test_text_is_mended_and_not_rewritten():
    more = "Noch ein Satz.\n" * 20
    body = f"{more}Ein  Satz\u00a0hier.\r\n\tEingerückt \x07\u200b  \r\n\f\r\n\r\n\r\n\r\n\r\nSeite 2\r".encode()
    assert run(ExtractText.Config(), body).document.text == more + "Ein  Satz\u00a0hier.\n\tEingerückt\n\n\nSeite 2\n"
    assert tidy("a" + " " * 200_000 + "b") == "a" + " " * 200_000 + "b"  # in linear time


@pytest.mark.parametrize(
    ("config", "body", "reason"),
    [
        (ExtractText.Config(), bytes(range(256)) * 9, "not_text"),
        (ExtractText.Config(), b" \n\t\n", "no_text"),
        (ExtractText.Config(max_bytes=3), b"four", "too_large"),
        (ExtractMarkdown.Config(), b"---\ntitle: a\n---\n<!-- x -->\n", "no_text"),
    ],
)
def test_what_is_no_text_is_rejected(config, body, reason):
    assert run(config, body).reason == reason


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: A title\nlang: de\nlicense: MIT\ntags: [a]\n---\n",
        '+++\ntitle = "A title"\nlang = "de"\nlicense = "MIT"\n+++\n',
    ],
)
def test_front_matter_becomes_metadata(front):
    found = run(ExtractMarkdown.Config(), f"{front}\n# Heading\n\ntext  \nbreak\n".encode())
    assert isinstance(found, Draft)
    meta = found.document.meta
    assert (meta.title, meta.language, meta.license) == ("A title", "de", "MIT")
    assert found.document.text == "# Heading\n\ntext  \nbreak\n"


def test_a_heading_is_the_title_and_comments_go_but_not_from_code():
    body = b"A title\n===\n<!-- gone -->\n```html\n<!-- stays -->\n```\n\n---\nno: front matter\n---\n<!-- open\n"
    found = run(ExtractMarkdown.Config(), body)
    assert found.document.meta.title == "A title"
    assert found.document.meta.license == "L"
    assert found.document.text == body.decode().replace("<!-- gone -->", "")
    bomb = "---\n" + "a: &a [x]\n" + "<<: *a\n" + "---\ntext\n"
    assert run(ExtractMarkdown.Config(), bomb.encode()).document.text.startswith("---\na: &a")
    assert run(ExtractMarkdown.Config(), b"<!--" * 100_000).document.text  # in linear time
