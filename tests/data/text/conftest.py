from pathlib import Path

import pytest

FAQ = Path(__file__).parents[3] / "examples/web/python/faq"


@pytest.fixture(scope="session")
def web_pages() -> list[bytes]:
    """Real pages: the Python FAQ."""
    return [path.read_bytes() for path in sorted(FAQ.glob("*.html"))]
