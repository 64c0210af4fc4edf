"""One CAD engine for all tests of this folder: its children import Open CASCADE and VTK, which takes seconds."""

from collections.abc import Iterator

import pytest

from trivium.data.cad.engine import CadEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[CadEngine]:
    made = CadEngine()
    made.open()
    yield made
    made.close()
