"""Sources of numbers: a chunk is a place, a worker splits it, and no item is lost or made twice at the ends."""

from pathlib import Path

import pytest

from trivium.pipelines.corpora.cad import CadParts
from trivium.pipelines.corpora.games import GameVariants
from trivium.pipelines.corpora.scenes import SceneGenerator
from trivium.pipelines.corpora.sources import Counted


@pytest.mark.parametrize(
    ("source", "chunks", "first", "last"),
    [
        (GameVariants(name="games", count=33), 3, "game-000000", "game-000032"),
        (CadParts(name="parts", count=65, first=7, families=("pipe",)), 2, "pipe/", "-000071"),
        (SceneGenerator(name="scenes", count=3, kinds=("carved",)), 3, "carved-00000000", "carved-00000002"),
    ],
    ids=lambda value: value.name if isinstance(value, Counted) else "",
)
def test_each_number_is_one_item(source, chunks, first, last):
    places = list(source.places(Path()))
    items = [item for place in places for item in source.split(place)]
    assert len(places) == chunks
    assert [item.offset for item in items] == list(range(source.begins, source.begins + source.count))
    assert len({item.address for item in items}) == source.count
    assert items[0].address.startswith(first)
    assert items[-1].address.endswith(last)
    assert (source.reads(Path()), {item.path for item in items}) == ((), {""})
