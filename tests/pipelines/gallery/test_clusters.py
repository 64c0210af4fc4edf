"""Duplicates stand beside what survived them, however many steps lie between."""

from gallery_sets import make, written

from trivium.data.records import Text, source_id
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Drop


def test_clusters_hold_survivor_and_duplicates_through_every_step(tmp_path):
    stays = make("stays", (Text(text="the text that stays"),), {}, title="stays")
    alone = make("alone", (Text(text="alone"),), {})
    twins = [make(f"twin{i}", (Text(text=f"twin {i}"),), {}, cluster=source_id("s", "twin0")) for i in range(2)]
    tasks = [make(f"item#{i}", (Text(text=f"task {i}"),), {}, cluster=source_id("s", "item")) for i in range(3)]

    def gone(address, survivor, similarity, stage):
        return Drop(
            source_id=source_id("s", address),
            source="s",
            address=address,
            stage=stage,
            reason=stage,
            excerpt=f"text of {address}",
            survivor=survivor,
            similarity=similarity,
            band=3 if stage == "near_dedup" else None,
            beside=survivor,
        )

    near = gone("near", stays[0].meta.source_id, 0.87, "near_dedup")
    behind = gone("behind", near.source_id, 1.0, "exact_dedup")  # went for a record that went itself
    loop = [gone("a", source_id("s", "b"), 1.0, "x"), gone("b", source_id("s", "a"), 1.0, "x")]
    base = Manifest(corpus="c", domain="d", recipe="r")
    write_set(tmp_path / "set", [stays, alone, *twins, *tasks], base, rejects={"build": [near, behind, *loop]})
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    first, second = data["clusters"]
    assert [one["address"] for one in first["kept"]] == ["stays"]
    assert [(one["address"], one["similarity"]) for one in first["lost"]] == [("near", 0.87), ("behind", 1.0)]
    assert [(one["band"], one["beside"]) for one in first["lost"]] == [
        (3, stays[0].meta.source_id),
        (None, near.source_id),
    ]
    assert first["kept"][0]["text"] == "the text that stays"
    assert first["lost"][1]["survivor"] == near.source_id
    assert (first["near"], first["size"]) == (True, 3)
    assert sorted(one["address"] for one in second["kept"]) == ["twin0", "twin1"]
    assert (second["near"], second["lost"]) == (False, [])
    assert data["sets"][0]["clusters"] == 2, "documents made of one item are no duplicates of each other"


def test_one_document_of_an_item_stands_beside_what_its_picture_replaced(tmp_path):
    item = source_id("s", "item")
    tasks = [make(f"item#{i}", (Text(text=f"task {i}"),), {}, cluster=item) for i in range(3)]
    gone = Drop(source_id=source_id("s", "twin"), source="s", address="twin", stage="picture_dedup",
                reason="near_identical", survivor=item, similarity=0.98)  # fmt: skip
    base = Manifest(corpus="c", domain="d", recipe="r")
    write_set(tmp_path / "set", tasks, base, rejects={"build": [gone]})
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    (cluster,) = data["clusters"]
    assert (len(cluster["kept"]), [one["address"] for one in cluster["lost"]], cluster["size"]) == (1, ["twin"], 2)
