"""Real pages, drawings with their pictures, and rows made of both."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the row builder beside this file
import long_rows

from trivium.data.longcontext.row import Row, RowRules


@pytest.fixture(scope="session")
def pages() -> list[long_rows.Record]:
    return long_rows.read_pages()


@pytest.fixture(scope="session")
def drawings() -> list[long_rows.Record]:
    """120 drawings, no two of one code."""
    by_code = {record[0].text: record for record in map(long_rows.drawing, range(130))}
    return list(by_code.values())[:120]


@pytest.fixture(scope="session")
def make_row(pages, drawings) -> Callable[..., Row]:
    """A row from a seed: 60 000 characters unless said otherwise."""

    def make(seed: int, rules: RowRules | None = None, **more) -> Row:
        return long_rows.make(pages, drawings, seed, rules or RowRules(tokens=60_000, **more))

    return make
