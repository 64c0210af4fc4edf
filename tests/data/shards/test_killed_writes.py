"""Writers killed with SIGKILL at steps that touch the disk, and many shards at once (spec/data.md, 7: 18, 22)."""

import pickle
import random
import shutil
import signal
import subprocess
import sys

import msgspec
import pytest

from trivium.data.records import Text, finish
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.manifest import begin
from trivium.data.shards.verify import verify

KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from trivium.data.shards import Manifest, write_set
folder, at = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def dying(real):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
items, base = pickle.loads(Path(sys.argv[3]).read_bytes())
os.replace, os.unlink, os.fsync = dying(os.replace), dying(os.unlink), dying(os.fsync)
write_set(folder, items, base, target_bytes=30_000)
print(calls)
"""


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_killed_write_leaves_no_half_tar_and_a_rerun_no_gap(tmp_path, texts, base):
    (tmp_path / "items").write_bytes(pickle.dumps((texts[:20], base)))

    def run(folder, at):
        command = [sys.executable, "-c", KILLED, str(folder), str(at), str(tmp_path / "items")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    calls = int(run(tmp_path / "whole", 0).stdout)
    whole = files(tmp_path / "whole")
    names = [info.name for info in ShardSet.open(tmp_path / "whole").manifest.shards]
    assert names == [f"licences-all-{number:05d}.tar" for number in range(len(names))]
    assert len(names) > 2
    for at in random.Random(3).sample(range(1, calls + 1), min(calls, 6)):
        folder = tmp_path / f"killed-{at}"
        begin(folder)
        assert run(folder, at).returncode == -signal.SIGKILL
        if (folder / "manifest.json").exists():  # killed in the last steps, which tidy up
            assert verify(folder).problems == []
        for tar in (folder / "shards").glob("*.tar"):  # what has its name is whole
            assert whole[f"shards/{tar.name}"] == tar.read_bytes()
        assert run(folder, 0).returncode == 0
        assert files(folder) == whole
        shutil.rmtree(folder)


def test_records_written_are_records_read_over_hundreds_of_shards(tmp_path, texts, base):
    document, _ = texts[0]
    records = [
        (finish(msgspec.structs.replace(document, segments=(Text(text=f"record {number} " * 40),)), {}), {})
        for number in range(700)
    ]
    write_set(tmp_path / "s", records, base, target_bytes=3_400)
    shards = ShardSet.open(tmp_path / "s")
    assert len(shards.manifest.shards) > 300
    assert sorted(shards.entries.id.tolist()) == sorted(one.id for one, _ in records)
    assert {shards.read_document(n).text for n in range(700)} == {one.text for one, _ in records}
