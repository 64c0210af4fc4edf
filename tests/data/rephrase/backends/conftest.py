"""The hostile server, once for all tests of backends."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def hostile() -> ModuleType:
    """`hostile.py` beside this file."""
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def server(hostile: ModuleType) -> Iterator[object]:
    with hostile.serving() as server:
        yield server
