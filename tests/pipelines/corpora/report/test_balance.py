"""What drawn records count as, by workers' readings as by one."""

import msgspec
import pytest

from trivium.commands.shards_balance import balance_of
from trivium.data.records import Document, Drawn, Image, Lineage, Meta, Step, Text
from trivium.pipelines.corpora.report.balance import kind_of, size_class, traits
from trivium.pipelines.corpora.report.meter import Meter, total


def document(side: int, shows: str, task: str = "edit-2", drawn: bool = True, steps=("pair_tasks",)) -> Document:
    picture = Image(media="i0.png", width=side, height=8, mime="image/png")
    words = (Drawn(media="i0.png", engine="povray", settings="{}", environment="povray 3.7.0.10"),) if drawn else ()
    meta = Meta(
        source_id="a" * 26,
        corpus="c",
        domain="d",
        source="s",
        address=f"x.pov#{task}",
        license="l",
        declared={"shows": shows},
        drawn=words,
        lineage=Lineage(steps=tuple(Step(name=name, version=1) for name in steps)),
    )
    return Document(segments=(Text(text="four"), *((picture,) if drawn else ())), meta=meta)


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("a flange with six holes", "flange"),
        ("an icon", "icon"),
        ("the map of a town", "map"),
        ("A", "A"),
        ("", ""),
    ],
)
def test_a_thing_is_counted_by_its_noun(what, kind):
    assert kind_of(what) == kind


def test_sizes_have_classes_without_a_gap():
    classes = [size_class(side) for side in range(1, 3000)]
    assert sorted(set(classes), key=classes.index)[:2] == ["1 – 64 px", "65 – 128 px"]
    assert (size_class(512), size_class(513), size_class(2049)) == ("257 – 512 px", "513 – 1,024 px", "over 2,048 px")


def test_the_balance_of_many_workers_is_that_of_one(tmp_path):
    records = [document(100, "a flange with holes"), document(100, "a flange"), document(600, "a gear", "questions")]
    records += [document(0, "a gear", "description", drawn=False), document(9, "", drawn=False, steps=())]
    assert traits(records[-1]) == {}
    lines = []
    for worker in (records[:2], records[2:]):
        meter = Meter()
        for one in worker:
            meter.written(one, 10)
        lines.append(meter.take())
    assert total(lines).engines == {"povray: povray 3.7.0.10": 3}
    found = total(lines).balance
    counts = {trait: {name: amount.records for name, amount in names.items()} for trait, names in found.items()}
    assert counts == {
        "engine": {"povray": 3, "(no picture)": 1},
        "task": {"edit": 2, "questions": 1, "description": 1},
        "shows": {"flange": 2, "gear": 2},
        "picture": {"65 – 128 px": 2, "513 – 1,024 px": 1, "(no picture)": 1},
    }
    report = {"balance": {"task": [{"name": "edit", "records": 2, "characters": 8, "bytes": 20}]}, "version": 1}
    (tmp_path / "report").mkdir()
    (tmp_path / "report/report.json").write_bytes(msgspec.json.encode(report))
    assert balance_of(tmp_path) == report["balance"]
    (tmp_path / "report/report.json").write_bytes(b'{"balance": {"task": [{"name": 5}]}}')
    assert balance_of(tmp_path) == {}
