"""Rewrites on the page: the source beside what was made of it, and what the gate measured; refused ones likewise."""

from gallery_sets import HOSTILE, make, parsed, written

from trivium.data.records import Rewrite, Text
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Drop
from trivium.pipelines.gallery.rewrite import rewritten

SOURCE = f"The river Isar is 292 km long. {HOSTILE}"
STOP = 40 + 3 * len(SOURCE)
WHERE = {"source": "s" * 26, "start": 40, "stop": STOP, "excerpt": "e" * 26, "text": SOURCE}
CUT = Rewrite(**WHERE, style="child@1", model="m", backend="fake", seed=7)


def test_source_and_rewrite_stand_side_by_side(tmp_path):
    """An accepted one with its prompt and scores, a refused one with both texts whole, and nothing of them runs."""
    made = make("a#excerpt-0000/child", (Text(text="The Isar: 292 km."),), {}, rewrite=CUT, scores={"numbers": 1.0})
    plain = make("b", (Text(text="plain"),), {})
    refused = Drop(
        source_id="d" * 26,
        source="s",
        address="c#excerpt-0000/child",
        stage="rephrase",
        reason="number_changed",
        detail="child@1: 292 became 929",
        excerpt="The Isar: 929 km." + " x" * 400,
        against=SOURCE + " y" * 400,
        scores={"numbers": 0.0},
    )
    write_set(
        tmp_path / "set", [made, plain], Manifest(corpus="c", domain="d", recipe="r"), rejects={"rephrase": [refused]}
    )
    _, text, data = written([tmp_path / "set"], tmp_path / "page.html")
    shown = {record["address"]: record for record in data["records"]}
    assert shown["b"]["rewrite"] is None
    one = shown["a#excerpt-0000/child"]
    assert one["task"] == "child@1", "the page's filter"
    assert (one["rewrite"]["text"], one["rewrite"]["written"]) == (SOURCE, "The Isar: 292 km.")
    assert one["rewrite"]["more"] == 2 * len(SOURCE)
    assert (one["rewrite"]["backend"], one["rewrite"]["seed"]) == ("fake", 7)
    reject = data["rejects"][0]
    assert len(reject["excerpt"]) > 800
    assert reject["against"].startswith(SOURCE)
    assert len(parsed(text).raw) == 3, "style, data and script, and none of a record's"


def test_an_excerpt_that_is_no_rewrite_yet_is_shown_as_a_text():
    document, _ = make("a", (Text(text="cut"),), {}, rewrite=Rewrite(source="s" * 26, start=0, stop=3))
    assert rewritten(document) is None
