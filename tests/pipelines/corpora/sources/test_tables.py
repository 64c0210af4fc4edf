"""JSON and Parquet: every layout gives the same documents; what is broken, huge or hostile is said, with its place."""

import gzip
import json
import resource
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from given import bodies, outcomes, reasons, texts

from trivium.data.config import ConfigError, from_mapping
from trivium.data.stage import Content, Draft
from trivium.pipelines.corpora.sources import lines, streams
from trivium.pipelines.corpora.sources.columns import Columns
from trivium.pipelines.corpora.sources.jsonl import Jsonl
from trivium.pipelines.corpora.sources.parquet import Parquet

COLUMNS = Columns(id="id", url="meta.url", license="meta.license", language="lang", scores=("stars",))
ROWS = [
    {
        "id": f"r{number}",
        "text": f"Größe {number}\n\nеще 日本",
        "lang": "de",
        "stars": number / 2,
        "meta": {"url": f"https://x.org/{number}" if number % 2 else None, "license": "CC0-1.0"},
    }
    for number in range(9)
]


def source(path: Path, **more) -> Jsonl | Parquet:
    kind = Parquet if path.suffix == ".parquet" else Jsonl
    return kind(name="t", path=str(path), license="L", columns=COLUMNS, **more)


def write(path: Path, rows=ROWS) -> Path:
    plain = "".join(json.dumps(row, ensure_ascii=number % 2 == 0) + "\n" for number, row in enumerate(rows)).encode()
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)
    elif name.endswith(".json"):
        path.write_bytes(json.dumps(rows, indent=1).encode() if name == "array.json" else plain)
    else:
        pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(plain[:300]) + pack(plain[300:]))  # two members
    return path


def facts(found: list) -> list[tuple]:
    metas = [item.document.meta for item in found if isinstance(item, Draft)]
    assert len(metas) == len(found)
    return [(m.address.split()[0], m.license, m.language, m.scores, m.title) for m in metas]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.json", "array.json", "a.parquet"])
def test_every_layout_gives_the_same_documents(tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "BLOCK", 97)
    read = source(write(tmp_path / name))
    found = outcomes(read)
    assert [item.document.text for item in found] == [row["text"] + "\n" for row in ROWS]
    assert facts(found) == [
        (row["meta"]["url"] or row["id"], "CC0-1.0", "de", {"stars": row["stars"]}, "") for row in ROWS
    ]
    assert all(f" {name}" in item.document.meta.address for item in found)
    assert len({item.document.meta.source_id for item in found}) == len(ROWS)


def test_broken_records_are_rejected_with_their_place_and_the_rest_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    good = b'{"text": "good"}\n'
    bad = [
        b"{broken\n",
        b'{"text": "\xff"}\n',
        b'{"words": 1}\n',
        b'{"text": 3}\n',
        b'{"text": " "}\n',
        b"[" * 5000 + b"\n",
    ]
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\n" + b"".join(bad) + good.rstrip())
    read = Jsonl(name="t", path=str(path), license="L", max_bytes=1 << 10)
    found = reasons(read)
    assert list(found.values()) == [
        "kept",
        "broken_json",
        "broken_json",
        "no_column",
        "no_text",
        "empty",
        "broken_json",
        "kept",
    ]
    at = 3 + len(good) + 1
    assert f"a.jsonl@{at}" in found
    assert f"a.jsonl@{at + len(bad[0])}" in found
    (long,) = (item for item in outcomes(source(write(tmp_path / "b.jsonl"), max_bytes=5))[:1])
    assert long.reason == "too_large"


def test_one_object_a_file_and_what_is_neither(tmp_path):
    (tmp_path / "a.json").write_text('{\n "text":\n "one"\n}')
    (tmp_path / "b.json").write_text('[{"text": "two"}, {"text": 2}]')
    (tmp_path / "c.json").write_text('{\n "text": "three"\n')
    (tmp_path / "d.json").write_text('[{"text": "' + "x" * 500 + '"}]')
    read = Jsonl(name="t", path=str(tmp_path), license="L", max_whole=400)
    assert reasons(read) == {
        "a.json#0": "kept",
        "b.json#0": "kept",
        "b.json#1": "no_text",
        "c.json": "broken_json",
        "d.json": "too_large",
    }


def test_columns_of_other_kinds_go_to_their_stages(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"page": "<p>a</p>"}\n')
    read = Jsonl(name="t", path=str(path), license="L", columns=Columns(text="page"), holds="html")
    assert (read.GIVES, list(bodies(read).values())) == (Content.HTML, [b"<p>a</p>\n"])
    both = Jsonl(name="t", path=str(path), license="L", columns=Columns(text=("page", "page")))
    assert (both.GIVES, texts(both)) == (Content.TEXT, ["<p>a</p>\n\n<p>a</p>\n"])
    raw = {"kind": "jsonl", "name": "t", "path": "a", "license": "", "holds": "code", "columns": {"scores": ["a"]}}
    with pytest.raises(ConfigError, match=r"columns.scores are kept with documents"):
        from_mapping(raw, Jsonl, name="r")


def test_an_endless_line_takes_neither_memory_nor_long(tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text": "first"}\n{"text": "')
        file.truncate(1 << 26)  # 64 MiB in one line, a thousand times the limit
        file.seek(1 << 26)
        file.write(b'"}\n{"text": "last"}\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read = Jsonl(name="t", path=str(path), license="L", max_bytes=1 << 16)
    assert list(reasons(read).values()) == ["kept", "too_large", "kept"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 24 << 10  # kB


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_bomb_ends_at_its_ratio(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(streams, "FLOOR", 1 << 20)
    suffix = ".gz" if pack is gzip.compress else ".zst"
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack(b'{"text": "first"}\n' + b" " * (1 << 25)))
    assert list(reasons(Jsonl(name="t", path=str(path), license="L")).values()) == ["kept", "bomb"]
    path.write_bytes(pack(b'{"text": "first"}\n' * 1000)[:-9])
    assert list(reasons(Jsonl(name="t", path=str(path), license="L")).values())[-1] == "damaged"


def test_a_row_group_that_repeats_or_claims_too_much_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    value = pa.array(["x" * (1 << 20)])
    table = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), value)})
    pq.write_table(table, path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read = Parquet(name="t", path=str(path), license="L")
    found = list(reasons(read).values())
    assert (found[-1], found[0]) == ("bomb", "kept")
    assert len(found) < 300  # of 3,000 rows, 3 GB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # kB
    assert reasons(msgspec.structs.replace(read, max_group=1 << 10)) == {"a.parquet@0+": "too_large"}
    path.write_bytes(path.read_bytes()[:-100])
    assert reasons(read) == {"a.parquet": "damaged"}
    path.write_bytes(b"PAR1 no table")
    assert reasons(read) == {"a.parquet": "damaged"}


def test_text_that_is_no_utf8_costs_its_row_alone(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array([b"a", b"\xff", None, b"c"], pa.binary())}), path)
    read = Parquet(name="t", path=str(path), license="L")
    assert list(reasons(read).values()) == ["kept", "broken_text", "empty", "kept"]
    (drop,) = outcomes(Parquet(name="t", path=str(path), license="L", columns=Columns(text="body")))
    assert (drop.reason, drop.detail) == ("no_column", "no column 'body'; there are: text")
