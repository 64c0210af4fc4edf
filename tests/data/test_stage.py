"""What a refused item shows of itself."""

import pytest

from trivium.data.pairs import bundle
from trivium.data.stage import EXCERPT, Raw, refuse

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x08\x02" * 40


def raw(body: bytes) -> Raw:
    return Raw(corpus="c", domain="d", source="s", address="1", license="l", body=body, mime="text/html")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Grüße\n\taus dem Norden".encode(), "Grüße\n\taus dem Norden"),
        ("Grüße, in alter Kodierung".encode("latin-1"), "Gr\ufffd\ufffde, in alter Kodierung"),
        ("語".encode() * EXCERPT, "語" * (EXCERPT // 3) + "\ufffd"),  # cut inside a character
        (PNG, ""),
        (bundle.pack("index.html", {"a.png": PNG, "index.html": b"<p>words"}), ""),
    ],
)  # fmt: skip
def test_an_excerpt_of_bytes_that_are_no_text_is_empty(body, shown):
    assert refuse(raw(body), "stage", "reason").excerpt == shown
    assert refuse(raw(body), "stage", "reason", excerpt="what it is").excerpt == "what it is"
