"""The misbehaving server of `server.py`, loaded from beside the tests."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def load_server():
    """The class `Server`."""
    spec = importlib.util.spec_from_file_location("shard_server", Path(__file__).with_name("server.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Server
