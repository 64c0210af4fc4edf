"""The store of pictures: the longest unused go first, and handing one out costs the same however many are kept."""

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.pictures import Pictures, PictureStore

HALF = np.zeros((892, 588), np.uint8)  # just above half a MiB


class Walked(OrderedDict):
    """Says how often someone went over all of it."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


@pytest.fixture
def store():
    made = PictureStore({}, SimpleNamespace(workers=0, close=lambda: None), Data(cache_mib=2))
    made.asked = []
    made._make = lambda key: made.asked.append(key) or Pictures(((1, 2, 2),), (HALF,))
    return made


def test_the_longest_unused_is_forgotten_first(store):
    for record in (0, 1, 2):
        store.get("a", record)
    store.get("a", 0)  # used again: now 1 is the longest unused
    store.get("a", 3)  # the fourth is too much for 2 MiB
    for record in (0, 2, 3):
        store.get("a", record)
    assert store.asked == [("a", record) for record in (0, 1, 2, 3)]
    store.get("a", 1)
    assert store.asked[-1] == ("a", 1)


def test_handing_out_never_walks_over_what_is_kept(store):
    store._sizes = Walked()
    store._kept = kept = Walked()
    for record in range(50):
        store.get("a", record)
        store.get("a", record)
    assert (len(store.asked), len(kept)) == (50, 3)
    assert kept.walks == store._sizes.walks == 0
