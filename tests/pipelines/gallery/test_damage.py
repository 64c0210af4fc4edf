"""One bad file costs itself alone, and is named."""

import shutil
from pathlib import Path

import pytest
from gallery_sets import make, written

from trivium.data.records import Text
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Drop
from trivium.errors import ShardError
from trivium.pipelines.gallery import write_gallery


def three_sets(root):
    for name in ("a", "b", "c"):
        records = [make(f"{name}{i}", (Text(text=f"{name} {i} " + "x" * 700),), {}, corpus=name) for i in range(20)]
        drop = Drop(source_id="r" * 26, source="s", address=name, stage="s", reason="r")
        base = Manifest(corpus=name, domain="d", recipe="r")
        write_set(root / name, records, base, target_bytes=9000, rejects={"build": [drop]})
    return root


def test_a_damaged_tar_is_named_and_the_rest_is_shown(tmp_path):
    root = three_sets(tmp_path / "all")
    tars = sorted((root / "b" / "shards").glob("*.tar"))
    assert len(tars) > 1
    tars[0].write_bytes(tars[0].read_bytes()[:1000])
    (root / "c" / "manifest.json").write_text("{}")
    (root / "a" / "rejects" / "build.jsonl").write_bytes(b"no reject\n")
    facts, text, data = written([root], tmp_path / "p.html")
    corpora = [record["corpus"] for record in data["records"]]
    assert corpora.count("a") == 20
    assert 0 < corpora.count("b") < 20
    assert "c" not in corpora
    named = {Path(one["path"]).name: one["reason"] for one in facts.damaged}
    assert set(named) == {tars[0].name, "c", "rejects"}
    assert "cut short" in named[tars[0].name]
    for one in facts.damaged:
        assert one["path"] in text


def test_a_changed_record_costs_itself_alone(tmp_path):
    root = three_sets(tmp_path / "all")
    tar = sorted((root / "a" / "shards").glob("*.tar"))[0]
    payload = bytearray(tar.read_bytes())
    payload[600] ^= 1  # inside the first record's JSON
    tar.write_bytes(payload)
    facts, _, data = written([root / "a"], tmp_path / "p.html")
    assert len(data["records"]) == 19
    assert "CRC differs" in facts.damaged[0]["reason"]


def test_nothing_to_show_is_an_error_that_names_the_damage(tmp_path):
    root = three_sets(tmp_path / "all")
    shutil.rmtree(root / "b")
    shutil.rmtree(root / "c")
    (root / "a" / "manifest.json").write_text("{}")
    with pytest.raises(ShardError, match=r"a/manifest\.json"):
        write_gallery([root], tmp_path / "p.html")
    assert not (tmp_path / "p.html").exists()
