"""Worker processes that decode: replaced when killed, judges of the bytes alone, gone with their parent."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from trivium.data.patches import PictureRules
from trivium.errors import TrainError
from trivium.pipelines.train.loading.decoders import Decoders
from trivium.pipelines.train.loading.faults import BadRecordError
from trivium.vision.pixels import picture_patches

RULES = PictureRules()
TASKS = Path(__file__).parent


def png(side=40, seed=0):
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def decoders(task, seconds=20):
    return Decoders(1, RULES, seconds, task=f"decoder_tasks:{task}", extra=[TASKS])


def children():
    return {child.pid: child for child in psutil.Process().children(recursive=True)}


@pytest.fixture
def closing():
    """Collects what has to be closed; every test leaves no process behind."""
    before, made = set(children()), []
    yield made
    for one in made:
        one.close()
    assert set(children()) <= before


def test_a_process_decodes_what_the_trainer_would(closing):
    apart, here = Decoders(1, RULES, 20), Decoders(0, RULES, 20)
    closing += [apart, here]
    for seed in range(3):
        payload = png(60 + seed, seed)
        patches, grid = apart.patches(payload)
        assert np.array_equal(patches, here.patches(payload)[0])
        assert np.array_equal(patches, picture_patches(payload, RULES)[0])
        assert grid == here.patches(payload)[1] == (1, 6, 6)


def test_broken_pictures_and_bombs_cost_a_process_nothing(closing):
    apart = Decoders(1, RULES, 20)
    closing.append(apart)
    bomb = io.BytesIO()
    Image.new("1", (30000, 30000)).save(bomb, "PNG")
    for payload in (b"", b"no picture", png()[:100], bomb.getvalue()):
        with pytest.raises(BadRecordError) as caught:
            apart.patches(payload)
        assert caught.value.reason == "picture"
        with pytest.raises(BadRecordError) as inside:
            Decoders(0, RULES, 20).patches(payload)
        assert str(inside.value) == str(caught.value)
    apart.patches(png())
    assert apart.starts == 1


def test_a_picture_that_ends_its_decoder_twice_is_bad(closing):
    """One that takes it too long is in test_clips: the path is the same."""
    apart = decoders("segfault")
    closing.append(apart)
    with pytest.raises(BadRecordError, match="SIGSEGV") as caught:
        apart.patches(png())
    assert caught.value.reason == "decoder"
    assert apart.starts == 2


def test_a_killed_process_is_replaced_and_its_picture_decoded(closing):
    apart = decoders("slow")
    closing.append(apart)
    before = set(children())

    def kill():
        while not apart.starts:
            time.sleep(0.01)
        time.sleep(0.3)
        for pid in set(children()) - before:
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    patches, _ = apart.patches(png())
    thread.join()
    assert np.array_equal(patches, picture_patches(png(), RULES)[0])
    assert apart.starts == 2


def test_a_machine_that_kills_every_decoder_stops_the_run_and_blames_no_picture(closing):
    apart = decoders("suicide")
    closing.append(apart)
    with pytest.raises(TrainError, match=r"in 3 tries \(the child ended by SIGKILL\).*Nothing was skipped"):
        apart.patches(png())
    assert apart.starts == 3


ORPHANS = """
import sys, threading
from pathlib import Path
from trivium.data.patches import PictureRules
from trivium.pipelines.train.loading.decoders import Decoders
apart = Decoders(1, PictureRules(), 60, task="decoder_tasks:spin", extra=[Path({tasks!r})])
threading.Thread(target=apart.patches, args=(b"",), daemon=True).start()
print("started", flush=True)
sys.stdin.read()
"""


def busy(process: psutil.Process) -> bool:
    """Whether it has worked for half a second; helpers of the sandbox's start come and go."""
    try:
        return process.cpu_times().user >= 0.5
    except psutil.NoSuchProcess:
        return False


def test_decoders_die_with_a_killed_trainer():
    """In the middle of a picture, with no word from the parent: only the kernel can tell them."""
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHANS.format(tasks=str(TASKS))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout.readline() == b"started\n"
        us = psutil.Process(parent.pid)
        below = us.children(recursive=True)
        while not any(map(busy, below)):
            time.sleep(0.02)
            below = us.children(recursive=True)
        parent.kill()
    gone, alive = psutil.wait_procs(below, timeout=20)
    assert gone
    assert not alive
