"""The frames that training sees: those of their times, or a reason; never some of them."""

import os
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from trivium.data.guard import Guard
from trivium.data.patches import PictureRules, VideoRules
from trivium.data.records import Video
from trivium.data.video import Measure, frames_at, measure, plan
from trivium.errors import GuardError

sys.path.insert(0, str(Path(__file__).parent))  # the clip maker beside this file
from clips import clip, lying_avi, pixels, streaming_clip, varying_clip


def stated(payload, **changes):
    return Video(media="v0.mp4", mime="video/mp4", **(msgspec.structs.asdict(measure(payload)) | changes))


def places_seen(payload, seconds, record, frames=60):
    """Which of the drawn frames stand at those times."""
    drawn = [pixels(number, frames, record.width, record.height)[:, ::16] for number in range(frames)]
    gaps = (np.abs(seen[:, ::16] - np.stack(drawn).astype(int)) for seen in frames_at(payload, seconds, record))
    return [int(gap.mean((1, 2, 3)).argmin()) for gap in gaps]


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [("libx264", ".mp4"), ("libx264", ".mkv"), ("libvpx-vp9", ".webm"), ("mpeg4", ".avi"), ("libsvtav1", ".mp4")],
)
def test_each_planned_frame_is_the_one_of_its_place(codec, suffix):
    payload = clip(codec=codec, suffix=suffix)
    record = stated(payload)
    assert (record.frames, record.fps, record.width, record.height) == (60, 25.0, 160, 120)
    planned = plan(record, PictureRules())
    assert len(planned.places) == 19
    assert places_seen(payload, planned.seconds, record) == list(planned.places)


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "libx264"), (".webm", "libvpx-vp9")])
def test_where_the_rate_varies_the_frame_that_stands_at_the_time_is_taken(suffix, codec):
    marks = [0, 1, 2, 3, 10, 30, 31, 32, 33, 34, 35, 59]
    payload = varying_clip(marks, suffix=suffix, codec=codec)
    record = stated(payload)
    assert (record.frames, record.fps) == (12, 5.0)  # 12 frames in 2.4 s
    planned = plan(record, PictureRules(video=VideoRules(fps=4.0)))
    standing = [max(mark for mark in marks if mark <= round(at * 25, 6)) for at in planned.seconds]
    assert len(set(standing)) < len(standing)  # some stand long
    assert places_seen(payload, planned.seconds, record) == standing


def test_all_frames_of_a_fast_clip_in_milliseconds_are_told_apart():
    payload = clip(codec="libvpx-vp9", suffix=".webm", rate=60)  # 16.67 ms are stored as 16 or 17
    record = stated(payload)
    assert record.fps == pytest.approx(60, abs=0.1)
    seconds = [place / record.fps for place in range(60)]
    assert places_seen(payload, seconds, record) == list(range(60))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frames": 59}, "more than 59 frames; its record states 59"),
        ({"frames": 61}, "the clip has 60 frames; its record states 61"),
        ({"width": 162}, "160 × 120 pixels; its record states 60 frames of 162 × 120"),
        ({"fps": 24.0}, r"frames of 2\.400 s in all and not 2\.500"),
    ],
)
def test_a_clip_that_is_not_what_its_record_states_is_named(changes, said):
    payload = clip()
    with pytest.raises(GuardError, match=said) as caught:
        list(frames_at(payload, [0.0], stated(payload, **changes)))
    assert caught.value.reason == "record"


def test_damage_anywhere_ends_it():
    whole = streaming_clip(frames=120)
    record = stated(whole)
    noisy = bytearray(whole)
    noisy[len(whole) // 2 : len(whole) // 2 + 400] = np.random.default_rng(0).bytes(400)
    for payload in (whole[: len(whole) * 99 // 100], whole[: len(whole) // 2], bytes(noisy)):
        with pytest.raises(GuardError, match="decoding stops after") as caught:
            list(frames_at(payload, [0.0], record))
        assert caught.value.reason == "damaged"
        with pytest.raises(GuardError, match="decoding stops after"):
            measure(payload)
    smeared = bytearray(clip(gop=60, codec="mpeg4"))  # which a decoder would conceal if it were let
    smeared[len(smeared) // 2 : len(smeared) // 2 + 60] = np.random.default_rng(0).bytes(60)
    with pytest.raises(GuardError, match="decoding stops after"):
        measure(bytes(smeared))
    for payload in (b"", b"#EXTM3U\n/etc/passwd\n", clip(frames=2)[:300]):
        with pytest.raises(GuardError, match="no clip that can be opened"):
            measure(payload)


def test_frames_are_counted_and_not_believed():
    """In a guarded child, as foreign bytes have to be."""
    with Guard("trivium.data.video:measure") as guard:
        found = guard.call(lying_avi(40, 444), Measure)
        assert found == measure(lying_avi(40, 444)) == Measure(width=160, height=120, frames=40, fps=25.0)
        with pytest.raises(GuardError, match="no clip that can be opened"):
            guard.call(b"no clip", Measure)
        assert guard.starts == 1


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="Linux's own")
def test_making_a_clip_leaves_this_thread_as_it_was():
    """Or every test behind it, and all that it starts, would run before the rest of the machine."""
    before = os.sched_getscheduler(0)  # of this thread
    assert clip(frames=4, codec="libsvtav1")
    assert os.sched_getscheduler(0) == before
