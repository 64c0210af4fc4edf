"""Writers killed with SIGKILL at steps that touch the disk, and many shards at once (spec/data.md, 7: 18, 22)."""

import pickle
import random
import signal
import subprocess
import sys

import msgspec

from trivium.data.records import Text, finish
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.manifest import begin
from trivium.data.shards.verify import verify

KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from trivium.data.shards import Manifest, write_set
calls, at = 0, 0
def dying(real):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
items, base = pickle.loads(Path(sys.argv[1]).read_bytes())
os.replace, os.unlink, os.fsync = dying(os.replace), dying(os.unlink), dying(os.fsync)
for word in sys.argv[2:]:  # a process of its own each, forked after the imports
    at, _, folder = word.partition(":")
    at = int(at)
    if (child := os.fork()) == 0:
        write_set(Path(folder), items, base, target_bytes=30_000)
        print(calls)
        sys.exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_killed_write_leaves_no_half_tar_and_a_rerun_no_gap(tmp_path, texts, base):
    (tmp_path / "items").write_bytes(pickle.dumps((texts[:20], base)))

    def run(*at_and_folder):
        words = [f"{at}:{folder}" for at, folder in at_and_folder]
        command = [sys.executable, "-c", KILLED, str(tmp_path / "items"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    told, ended = run((0, tmp_path / "whole"))
    calls = int(told)
    assert ended == "ended 0"
    whole = files(tmp_path / "whole")
    names = [info.name for info in ShardSet.open(tmp_path / "whole").manifest.shards]
    assert names == [f"licences-all-{number:05d}.tar" for number in range(len(names))]
    assert len(names) > 2
    killed = {at: tmp_path / f"killed-{at}" for at in random.Random(3).sample(range(1, calls + 1), min(calls, 6))}
    for folder in killed.values():
        begin(folder)
    assert run(*killed.items()) == [f"ended {-signal.SIGKILL}"] * len(killed)
    for folder in killed.values():
        if (folder / "manifest.json").exists():  # killed in the last steps, which tidy up
            assert verify(folder).problems == []
        for tar in (folder / "shards").glob("*.tar"):  # what has its name is whole
            assert whole[f"shards/{tar.name}"] == tar.read_bytes()
    run(*((0, folder) for folder in killed.values()))
    assert all(files(folder) == whole for folder in killed.values())


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
