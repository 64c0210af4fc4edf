import msgspec

from trivium.data.records import Step, finish
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.diff import diff
from trivium.data.shards.summary import find_sets, summarize
from trivium.data.stage import Drop


def with_step(record, step, text=None):
    document, media = record
    lineage = msgspec.structs.replace(document.meta.lineage, steps=(*document.meta.lineage.steps, step))
    segments = document.segments
    if text is not None:
        segments = (msgspec.structs.replace(segments[0], text=text), *segments[1:])
    changed = msgspec.structs.replace(
        document, segments=segments, meta=msgspec.structs.replace(document.meta, lineage=lineage)
    )
    return finish(changed, media), media


def test_equal_sets_are_identical(tmp_path, texts, base):
    write_set(tmp_path / "a", texts, base)
    write_set(tmp_path / "b", reversed(texts), base)
    found = diff(tmp_path / "a", tmp_path / "b")
    assert found.identical
    assert (found.added, found.gone, found.changed, found.manifest, found.files) == ([], [], [], [], [])


def test_names_added_gone_and_changed_with_the_step(tmp_path, texts, base):
    gone = texts[0][0].meta
    drop = Drop(source_id=gone.source_id, source=gone.source, address=gone.address, stage="quality", reason="short")
    changed = with_step(texts[1], Step(name="trim", version=2), text="shorter")
    write_set(tmp_path / "a", texts[:3], base)
    write_set(tmp_path / "b", [changed, texts[2], texts[3]], base, rejects={"build": [drop]})
    found = diff(tmp_path / "a", tmp_path / "b")
    assert not found.identical
    assert [change.source_id for change in found.added] == [texts[3][0].meta.source_id]
    assert [(c.source_id, c.what, c.step) for c in found.gone] == [(gone.source_id, "rejected there: short", "quality")]
    assert [(c.source_id, c.step) for c in found.changed] == [(texts[1][0].meta.source_id, "trim")]
    assert "segments" in found.changed[0].what
    assert {"shards", "rejects"} <= set(found.manifest)


def test_one_source_may_give_several_records(tmp_path, texts, base):
    document, _ = texts[0]
    family = [
        finish(msgspec.structs.replace(document, segments=(msgspec.structs.replace(document.segments[0], text=t),)), {})
        for t in ("one", "two", "three")
    ]
    write_set(tmp_path / "a", [(one, {}) for one in family[:2]], base)
    write_set(tmp_path / "b", [(one, {}) for one in family[1:]], base)
    write_set(tmp_path / "c", [(one, {}) for one in family], base)
    found = diff(tmp_path / "a", tmp_path / "b")
    assert (len(found.changed), found.added, found.gone) == (1, [], [])
    found = diff(tmp_path / "a", tmp_path / "c")
    assert (found.changed, len(found.added), found.gone) == ([], 1, [])


def test_a_change_of_media_alone_is_seen(tmp_path, pictures, base):
    document, media = pictures[0]
    write_set(tmp_path / "a", [(document, media)], base)
    write_set(tmp_path / "b", [(document, {"i0.png": media["i0.png"] + b"\0"})], base)
    assert [change.what for change in diff(tmp_path / "a", tmp_path / "b").changed] == ["i0.png"]


def test_a_tar_changed_behind_its_manifest_is_not_identical(tmp_path, texts, base):
    for name in "ab":
        write_set(tmp_path / name, texts, base)
    path = next((tmp_path / "b" / "shards").glob("*.tar"))
    raw = bytearray(path.read_bytes())
    raw[-1] = 1
    path.write_bytes(raw)
    assert not diff(tmp_path / "a", tmp_path / "b").identical


def test_a_part_of_a_corpus_is_told(tmp_path, texts, base):
    write_set(tmp_path / "a", texts, base)
    write_set(tmp_path / "b", texts, msgspec.structs.replace(base, limit=50))
    found = diff(tmp_path / "a", tmp_path / "b")
    assert found.notes == ["the first holds the whole corpus, the second 50 items of each source"]
    assert summarize(ShardSet.open(tmp_path / "b"))["limit"] == 50


def test_summary_sums_by_every_key(tmp_path, texts, pictures, base):
    write_set(tmp_path / "a" / "one", [*texts, *pictures], base)
    write_set(tmp_path / "a" / "two", texts, base)
    assert find_sets([tmp_path / "a", tmp_path / "a" / "one"]) == [tmp_path / "a" / "one", tmp_path / "a" / "two"]
    facts = summarize(ShardSet.open(tmp_path / "a" / "one"))
    assert facts["records"] == 52 == facts["licences"]["as-stated"]["records"] == sum(facts["histogram"]["records"])
    assert facts["images"] == 12
    assert facts["histogram"]["unit"] == "bytes"
