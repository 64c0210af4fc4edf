"""Every drop is in one file of rejects, wherever it came from, and no file grows with the corpus."""

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from trivium.data.shards import names
from trivium.data.shards.reader import parse_rejects
from trivium.data.stage import Drop
from trivium.errors import BuildError
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora import rejects
from trivium.pipelines.corpora.rejects import Rejects, files_of, take_rejects
from trivium.pipelines.corpora.spool import encode_line

DROPS = [
    Drop(
        source_id=f"{number:026d}",
        source="s",
        address=f"{number}\nline",
        stage=stage,
        reason=f"r{number % 3}",
        excerpt="\u2028text\r\n" * 3,
    )
    for stage, count in (("read", 3), ("near_dedup", 400))
    for number in range(count)
]


def written(folder: Path, seed: int, monkeypatch) -> dict[str, bytes]:
    """The rejects made of DROPS in another order and other files."""
    monkeypatch.setattr(rejects, "PER_FILE", 60)
    monkeypatch.setattr(rejects, "_HELD", 5_000)
    chooser = random.Random(seed)
    drops = chooser.sample(DROPS, len(DROPS))
    folder.mkdir()
    paths = [folder / f"drops-{number}" for number in range(seed)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(encode_line(drop) + b"\n" for drop in drops[number::seed]))
    counts = Counter((drop.stage, drop.reason) for drop in DROPS)
    run_job("rejects", Rejects(paths, counts, folder / "made"), BeamOptions(), logs=folder / "logs")
    assert take_rejects(folder / "made", folder / "taken", len(DROPS)) == len(DROPS)
    with pytest.raises(BuildError, match="403 of 404 rejects"):
        take_rejects(folder / "made", folder / "other", len(DROPS) + 1)
    return {path.name: path.read_bytes() for path in sorted((folder / "taken").iterdir())}


def test_every_drop_is_in_one_bounded_file_in_any_order(tmp_path, monkeypatch):
    found = written(tmp_path / "a", 3, monkeypatch)
    assert found == written(tmp_path / "b", 5, monkeypatch)
    assert list(found) == [f"near_dedup-{number:05d}.jsonl" for number in range(7)] + ["read.jsonl"]
    assert all(names.REJECT.fullmatch(name) for name in found)
    assert max(payload.count(b"\n") for payload in found.values()) < 2 * 60
    held = [drop for name in found for drop in parse_rejects(tmp_path / "a/taken" / name)]
    assert sorted(map(msgspec.json.encode, held)) == sorted(map(msgspec.json.encode, DROPS))
    assert all(payload.splitlines(True) == sorted(payload.splitlines(True)) for payload in found.values())


def test_a_small_stage_keeps_one_file():
    assert files_of({("a", "x"): 1, ("a", "y"): 99_999, ("b", "x"): 100_001, ("c", "x"): 0}) == {"a": 1, "b": 2}
