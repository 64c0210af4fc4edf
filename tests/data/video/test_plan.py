"""Which frames are looked at: the released procedure's, within every limit, from the record alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import from_mapping
from trivium.data.patches import PictureRules, VideoRules, fit
from trivium.data.records import Document, Image, Meta, Text, Video
from trivium.data.video import media_cost, plan
from trivium.errors import ConfigError, InputError

META = Meta(source_id="s", corpus="c", domain="d", source="n", address="a", license="MIT")


def clip(frames=60, fps=25.0, width=160, height=120):
    return Video(media="v0.mp4", width=width, height=height, mime="video/mp4", frames=frames, fps=fps)


CLIPS = st.builds(
    clip,
    frames=st.integers(1, 200_000),
    fps=st.floats(0.6, 240, allow_nan=False),
    width=st.integers(1, 4000),
    height=st.integers(1, 4000),
)
RULES = st.builds(
    VideoRules,
    fps=st.floats(0.05, 60),
    frames=st.integers(1, 3000),
    frame_patches=st.integers(4, 20_000),
    patches=st.integers(4, 700_000),
)


@given(stated=CLIPS, video=RULES, side=st.integers(1, 256).map(lambda half: 2 * half))
def test_plans_hold_every_limit_and_count_what_they_lay_out(stated, video, side):
    planned = plan(stated, PictureRules(video=video, side_limit=side))
    count = len(planned.places)
    assert 1 <= count <= min(stated.frames, video.frames)
    assert planned.patches == sum(t * h * w for t, h, w in planned.grids) <= video.patches
    assert planned.tokens == sum(h * w // 4 for _, h, w in planned.grids)
    assert planned.fit.patches <= video.frame_patches
    assert max(planned.fit.grid_h, planned.fit.grid_w) <= side
    assert [t for t, _, _ in planned.grids] == [4] * (count // 4) + [count % 4] * (count % 4 > 0)
    assert len(planned.timestamps) == len(planned.grids)
    assert planned.places[0] == 0
    assert count == 1 or planned.places[-1] == stated.frames - 1
    assert list(planned.places) == sorted(set(planned.places))
    # No rate above the asked one, and all of it where no limit is met: within one frame of rounding.
    wanted = stated.frames / stated.fps * min(video.fps, stated.fps)
    assert count <= wanted + 1
    if count < min(video.frames, video.patches // 4):
        assert count >= wanted - 1
    media = Document(segments=(Text(text="x"), stated), meta=META)
    assert media_cost(media, PictureRules(video=video, side_limit=side)) == (planned.patches, planned.tokens)


@pytest.mark.parametrize(("frames", "fps"), [(60, 25.0), (300, 30000 / 1001), (7, 4.0), (1, 25.0), (2560, 8.0)])
def test_the_released_procedure_is_followed(frames, fps):
    """K3's figures, computed as the released processors do: linspace over the frames, timestamps by truncation."""
    planned = plan(clip(frames, fps, 1920, 1080), PictureRules())
    count = max(round(frames * min(8.0, fps) / fps), 1)
    places = np.linspace(0, frames - 1, count).round().astype(int).tolist()
    assert list(planned.places) == places
    per_frame = min(round(655360 / count), 16384)
    assert planned.fit == fit(1920, 1080, PictureRules(patch_limit=per_frame))
    for stamp, place in zip(planned.timestamps, places[::4], strict=True):
        at = place / fps
        expected = f"{int(at // 3600):02}:{int(at // 60 % 60):02}:{int(at % 60):02}.{int(at % 1 * 1000 + 1e-6):03}"
        assert stamp == expected


def test_timestamps_are_hours_minutes_seconds_and_thousandths():
    long = plan(clip(frames=90_061, fps=1.0), PictureRules(video=VideoRules(frames=2)))
    assert long.timestamps == ("00:00:00.000",)
    tail = plan(clip(frames=9 * 3600 + 62, fps=1.0), PictureRules(video=VideoRules(frames=5)))
    assert tail.timestamps == ("00:00:00.000", "09:01:01.000")
    ntsc = plan(clip(frames=31 * 5, fps=30000 / 1001), PictureRules(video=VideoRules(fps=1.0, frames=5)))
    assert ntsc.timestamps[1] == "00:00:05.138"  # 154 · 1001 / 30000 = 5.13846…


def test_long_clips_are_looked_at_more_seldom_before_their_frames_get_small():
    hour = plan(clip(frames=3600 * 25, width=1920, height=1080), PictureRules())
    assert len(hour.places) == 2560
    assert 200 <= hour.fit.patches <= 256


@pytest.mark.parametrize(
    "wrong",
    [{"frames": 0}, {"fps": 0.0}, {"fps": math.nan}, {"fps": math.inf}, {"width": 0}, {"frames": 1, "fps": 1e-300}],
)
def test_figures_that_no_clip_has_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=r"v0\.mp4 states .*measure it"):
        plan(clip(**wrong), PictureRules())


def test_k3s_rules_need_not_be_spelled_out():
    spelled = PictureRules(video=VideoRules(fps=8.0, frames=2560, frame_patches=16384, patches=655360))
    assert spelled == PictureRules()
    assert spelled.digest() == PictureRules().digest()
    assert PictureRules(video=VideoRules(fps=2.0)).digest() != PictureRules().digest()
    assert from_mapping({"video": {"fps": 2}}, PictureRules, name="rules").clips.fps == 2
    for wrong in ({"fps": 0}, {"frames": 0}, {"patches": 3}, {"patches": 1 << 22}, {"frame_patches": 1}):
        with pytest.raises(ConfigError, match=str(next(iter(wrong)))):
            from_mapping({"video": wrong}, PictureRules, name="rules")


def test_pictures_and_clips_of_a_document_add_up():
    picture = Image(media="i0.png", width=56, height=28, mime="image/png")
    assert media_cost(Document(segments=(picture, clip(5, 5.0, 28, 28), picture), meta=META), PictureRules()) == (
        8 + 5 * 4 + 8,
        2 + 2 + 2,
    )
