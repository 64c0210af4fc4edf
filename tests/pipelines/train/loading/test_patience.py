"""Storage that hangs or fails: begun anew, then an error that names the tar; never a record skipped for it."""

import dataclasses
import os
import threading
import time

import msgspec
import pytest

from trivium.data.shards import Patience as Addressed
from trivium.errors import ShardError, StorageError
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.loading import patience
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.patience import Patience
from trivium.pipelines.train.prepare import prepare


def opened(place, *changes):
    return prepare(load_run(place / "run.yaml", changes), name="run.yaml", cache=None)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "PAUSE", 0.01)


@pytest.fixture
def stuck(place):
    """A run whose first step reads a tar that hangs: a pipe nobody writes to blocks whoever opens it."""
    prepared = opened(place, "data.read_seconds=0.3", "data.read_attempts=3")
    step, _ = next(prepared.plan.rows())
    piece = step.rows[0].pieces[0]
    shards = prepared.sets[piece.corpus]
    info = shards.manifest.shards[int(shards.entries.shard[piece.record])]
    path = place / "corpora" / piece.corpus / "shards" / info.name
    path.rename(path.with_suffix(".aside"))
    os.mkfifo(path)
    return prepared, step, path


def unstick(path):
    """Lets threads that hang in `open` end."""
    if not path.is_fifo():
        return
    with open(os.open(path, os.O_RDWR | os.O_NONBLOCK), "wb"):
        time.sleep(0.05)


def test_a_read_that_hangs_ends_in_an_error_that_names_the_tar(stuck, impatient):
    prepared, step, path = stuck
    assembler = prepared.assembler()
    began = time.monotonic()
    with pytest.raises(
        StorageError, match=rf"{path.name}.*in 3 tries \(no answer for 0.3 s\). Nothing was skipped"
    ) as caught:
        assembler.assemble(step.rows)
    assert 0.9 <= time.monotonic() - began < 10
    assert caught.value.waited >= 0.9
    unstick(path)


def test_a_read_that_hangs_for_a_while_changes_nothing(stuck, impatient):
    prepared, step, path = stuck

    def mend():
        time.sleep(0.45)  # during the second try
        path.rename(path.with_suffix(".pipe"))
        path.with_suffix(".aside").rename(path)

    thread = threading.Thread(target=mend)
    thread.start()
    made = prepared.assembler().assemble(step.rows)
    thread.join()
    unstick(path.with_suffix(".pipe"))
    assert made.skips == ()
    assert made.batch.tokens == step.tokens


def test_a_stop_is_heard_while_storage_hangs(stuck):
    prepared, _, path = stuck
    run = msgspec.structs.replace(prepared.run, data=Data(workers=0, read_seconds=600.0))
    assembler = dataclasses.replace(prepared, run=run).assembler()
    began = time.monotonic()
    with Feed(prepared.plan, assembler, interrupted=lambda: time.monotonic() - began > 0.2) as feed:
        assert next(feed, None) is None
        assembler.close()  # what the loop does a little later: it ends the read, and with it the feed's thread
    assert time.monotonic() - began < 30
    unstick(path)


def test_closing_ends_a_read_that_hangs(stuck):
    _, _, path = stuck
    reader = Patience(600.0, 1)
    failed = []

    def read():
        try:
            reader.read(lambda progress: os.open(path, os.O_RDONLY), lambda: None)
        except StorageError as error:
            failed.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.1)
    reader.give_up()
    thread.join(10)
    assert "given up, since the run ends" in failed[0]
    unstick(path)


@pytest.mark.parametrize("trouble", [OSError(5, "Input/output error"), StorageError("the store said 503")])
def test_trouble_is_tried_again_and_damage_is_not(impatient, trouble):
    tries, renewed = [], []

    def work(progress):
        tries.append(1)
        if len(tries) < 3:
            raise trouble
        return "bytes"

    assert Patience(5, 3).read(work, lambda: renewed.append(1)) == "bytes"
    assert len(renewed) == 2
    tries.clear()
    with pytest.raises(StorageError, match=r"in 2 tries \(.*(503|Input/output error)"):
        Patience(5, 2).read(work, lambda: None)

    def damaged(progress):
        tries.append(1)
        raise ShardError("a flipped bit")

    tries.clear()
    with pytest.raises(ShardError, match="a flipped bit"):
        Patience(5, 3).read(damaged, lambda: None)
    assert len(tries) == 1


def test_a_tar_that_vanishes_stops_the_run_and_skips_nothing(place, impatient):
    prepared = opened(place)
    step, _ = next(prepared.plan.rows())
    for path in place.glob("corpora/*/shards/*.tar"):
        path.unlink()
    with pytest.raises(StorageError, match=r"is gone since this set was opened.*Nothing was skipped"):
        prepared.assembler().assemble(step.rows)


def test_a_run_waits_for_addresses_as_every_other_command_does():
    assert (Data().read_seconds, Data().read_attempts) == (Addressed().seconds, Addressed().attempts)
