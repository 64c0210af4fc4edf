"""Engines opened once for all tests of scenes."""

from collections.abc import Iterator

import pytest

from trivium.data.scene.mesh import MeshEngine, MeshRenderer


@pytest.fixture(scope="session")
def renderer() -> Iterator[MeshRenderer]:
    with MeshRenderer() as opened:
        yield opened


@pytest.fixture(scope="session")
def mesh_engine(renderer: MeshRenderer) -> MeshEngine:
    """Shares the renderer's child."""
    engine = MeshEngine()
    engine._renderer = renderer
    return engine
