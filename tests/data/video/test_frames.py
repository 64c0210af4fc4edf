"""Frames come with true times; damaged and lying clips say so; nothing hangs."""

import io
import itertools
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.guard import Limits
from trivium.data.preview import Previewer
from trivium.data.video.container import MOST_PIXELS
from trivium.data.video.frames import spread, strip
from trivium.errors import GuardError

sys.path.insert(0, str(Path(__file__).parent))  # the clip maker beside this file
from clips import clip, lying_avi, pixels, streaming_clip


@pytest.fixture(scope="module")
def previewer():
    with Previewer() as made:
        yield made


def seen(frame):
    return np.frombuffer(frame.rgb, np.uint8).reshape(frame.height, frame.width, 3).astype(int)


@given(packets=st.integers(1, 10_000), count=st.integers(1, 40))
def test_places_are_spread_evenly_and_inside(packets, count):
    places = spread(packets, count)
    assert len(places) == min(packets, count)
    assert places == sorted(set(places))
    assert places[0] >= 0
    assert places[-1] < packets
    edges = [0, *places, packets]
    assert max(b - a for a, b in itertools.pairwise(edges)) <= packets // len(places) + 1


@pytest.mark.parametrize(
    ("codec", "suffix", "decoder"),
    [("libx264", ".mp4", "decord"), ("libvpx-vp9", ".webm", "decord"), ("mpeg4", ".avi", "decord")],
)
def test_each_frame_is_the_one_of_its_time(codec, suffix, decoder):
    found = strip(clip(codec=codec, suffix=suffix), 6, 160)
    assert (found.packets, found.decoder, found.notes, len(found.frames)) == (60, decoder, (), 6)
    assert found.seconds == pytest.approx(59 / 25, abs=0.002)
    for frame in found.frames:
        expected = pixels(round(frame.seconds * 25), 60, 160, 120)
        assert np.abs(seen(frame) - expected).mean() < 8
        other = pixels(round(frame.seconds * 25) - 4, 60, 160, 120)
        assert np.abs(seen(frame) - other).mean() > 8  # the measure tells neighbours apart


def test_what_decord_does_not_know_is_decoded_all_the_same():
    found = strip(clip(codec="libsvtav1"), 4, 160)
    assert (found.codec, found.decoder, found.notes, len(found.frames)) == ("av1", "PyAV", (), 4)
    for frame in found.frames:
        assert np.abs(seen(frame) - pixels(round(frame.seconds * 25), 60, 160, 120)).mean() < 8


def test_without_decord_pyav_shows_the_frames_and_without_both_it_is_said(monkeypatch):
    payload = clip(frames=20)
    monkeypatch.setitem(sys.modules, "decord", None)
    assert strip(payload, 3, 160).decoder == "PyAV"
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(GuardError, match="PyAV is not installed; run: ") as caught:
        strip(payload, 3, 160)
    assert caught.value.reason == "missing"


def test_frames_are_scaled_down_and_keep_their_shape():
    (frame,) = strip(clip(frames=3, width=320, height=120), 1, 96).frames
    assert (frame.width, frame.height) == (96, 36)
    assert len(frame.rgb) == 3 * 96 * 36


def test_a_header_that_lies_about_its_frames_is_named():
    found = strip(lying_avi(40, 444), 5, 160)
    assert (found.packets, found.stated) == (40, 444)
    assert found.notes[0] == "the header states 444 frames, the clip holds 40"
    assert len(found.frames) == 5
    assert max(frame.seconds for frame in found.frames) <= found.seconds == pytest.approx(39 / 25, abs=0.002)


def test_a_cut_clip_shows_what_is_left(previewer):
    whole = streaming_clip(frames=120)
    found = previewer.clip(whole[: len(whole) * 6 // 10], 160, 6)
    assert found.fault == ""
    assert found.shown
    assert any("states 120 frames" in note for note in found.notes)


def test_overwritten_bytes_are_noticed():
    payload = bytearray(streaming_clip(frames=120))
    third = len(payload) // 3
    payload[third:] = np.random.default_rng(0).integers(0, 256, len(payload) - third, dtype=np.uint8).tobytes()
    found = strip(bytes(payload), 6, 160)
    assert found.decoder == "PyAV"
    assert "decoding stops after" in found.notes[-1]
    for frame in found.frames:  # what is shown was really decoded
        if frame.seconds < 1:
            assert np.abs(seen(frame) - pixels(round(frame.seconds * 25), 120, 160, 120)).mean() < 10


@pytest.mark.parametrize("at", [0.4, 0.5, 0.6])
def test_smeared_frames_never_pass_for_good_ones(at):
    """decord conceals such damage and reports success; the second decoder stops at it."""
    payload = bytearray(clip(frames=60, gop=60, codec="mpeg4"))
    start = int(len(payload) * at)
    payload[start : start + 60] = np.random.default_rng(0).bytes(60)
    found = strip(bytes(payload), 4, 160)
    assert found.decoder == "PyAV"
    assert "decoding stops after" in found.notes[-1]


@pytest.mark.parametrize(
    "payload", [b"", b"<svg onload=alert(1)>", b"#EXTM3U\n/etc/passwd\n", b"\0" * 5000, clip(frames=2)[:300]]
)
def test_what_is_no_clip_gives_a_reason(previewer, payload):
    found = previewer.clip(payload, 160, 4)
    assert found.shown == ()
    assert found.fault.startswith("damaged: ")


def test_a_deadline_ends_a_clip_and_the_next_one_is_served():
    limits = Limits(wall_seconds=0.002, output_bytes=8 << 20)
    with Previewer(limits) as short:
        assert short.clip(clip(frames=200, width=640, height=480), 160, 8).fault.startswith("timeout: ")
        assert short.clip(clip(frames=200, width=640, height=480), 160, 8).fault.startswith("timeout: ")
        assert short.guard.starts == 2


def test_pictures_too(previewer):
    target = io.BytesIO()
    PIL.Image.new("RGB", (900, 30), "red").save(target, "PNG")
    (shown,) = previewer.picture(target.getvalue(), 256).shown
    with PIL.Image.open(io.BytesIO(shown.webp)) as opened:
        assert opened.size == (256, 9) == (shown.width, shown.height)
    assert "can't be decoded" in previewer.picture(b"\x89PNG no picture", 256).fault


def test_a_picture_bomb_is_named_not_decoded(previewer):
    import struct
    import zlib

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    assert previewer.picture(bomb, 256).fault.startswith("too_large: 60000 × 60000")
    assert MOST_PIXELS < 60_000 * 60_000
