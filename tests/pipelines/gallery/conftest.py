"""One set with hostile text wherever text of strangers stands, and its page."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the sets beside this file
sys.path.insert(0, str(Path(__file__).parents[2] / "data" / "video"))  # the clip maker
from gallery_sets import HOSTILE, IMAGE, make, picture, written

from trivium.data.records import Text
from trivium.data.shards import FunnelStage, Manifest, write_set
from trivium.data.stage import Drop


@pytest.fixture
def folder(tmp_path):
    hostile = make(
        HOSTILE,
        (Text(text=HOSTILE),),
        {},
        title=HOSTILE,
        license=HOSTILE,
        language=HOSTILE,
        scores={HOSTILE: 0.5},
        cluster="k" * 26,
    )
    records = [
        hostile,
        make("picture", (IMAGE, Text(text="red")), {"i0.png": picture()}),
        make("broken", (IMAGE, Text(text="broken")), {"i0.png": b"\x89PNG no picture"}),
        make("long", (Text(text="long " * 10_000),), {}),
    ]
    drop = Drop(
        source_id="r" * 26,
        source=HOSTILE,
        address=HOSTILE,
        stage=HOSTILE,
        reason=HOSTILE,
        detail=HOSTILE,
        excerpt=HOSTILE * 10,
        survivor=hostile[0].meta.source_id,
        similarity=0.9,
    )
    base = Manifest(
        corpus="c",
        domain=HOSTILE,
        recipe=HOSTILE,
        funnel=(FunnelStage(name=HOSTILE, input=5, kept=4, dropped={HOSTILE: 1}),),
    )
    write_set(tmp_path / "set", records, base, rejects={"build": [drop]})
    return tmp_path / "set"


@pytest.fixture
def page(folder, tmp_path):
    facts, text, _ = written([folder], tmp_path / "deep" / "page.html")
    assert (facts.records, facts.clusters, facts.rejects, facts.bytes) == (4, 1, 1, len(text.encode()))
    assert facts.damaged == ()
    return text
