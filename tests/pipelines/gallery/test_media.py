"""Pictures and clips on the page: small, with their times, or with the reason why not."""

import msgspec
import pytest
from clips import clip, lying_avi
from gallery_sets import CLIP, make, written

from trivium.data.records import Text
from trivium.data.shards import Manifest, write_set
from trivium.pipelines.gallery import record as gallery_record
from trivium.pipelines.gallery.pair import THUMBNAIL


def test_thumbnails_are_small_and_broken_pictures_are_named(folder, tmp_path):
    _, _, data = written([folder], tmp_path / "p.html")
    shown = {record["address"]: record["segments"][0] for record in data["records"]}
    assert shown["picture"]["uri"].startswith("data:image/webp;base64,")
    assert "can't be decoded" in shown["broken"]["fault"]
    assert THUMBNAIL == 256


def test_clips_show_frames_with_times_or_their_fault(tmp_path):
    avi = msgspec.structs.replace(CLIP, frames=444)
    records = [
        make("good", (CLIP, Text(text="a bar moves")), {"v0.mp4": clip()}),
        make("lies", (avi,), {"v0.mp4": lying_avi(40, 444)}),
        make("small", (CLIP,), {"v0.mp4": clip(width=64, height=48)}),
        make("broken", (CLIP,), {"v0.mp4": b"no clip at all"}),
    ]
    write_set(tmp_path / "set", records, Manifest(corpus="c", domain="d", recipe="r"))
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    shown = {record["address"]: record["segments"][0] for record in data["records"]}
    assert len(shown["good"]["strip"]) == 8
    times = [frame["seconds"] for frame in shown["good"]["strip"]]
    assert times == sorted(set(times))
    assert times[-1] <= shown["good"]["seconds"] == pytest.approx(59 / 25, abs=0.01)
    assert all(frame["uri"].startswith("data:image/webp;base64,") for frame in shown["good"]["strip"])
    assert shown["good"]["notes"] == []
    assert shown["lies"]["notes"][0] == "the record states 444 frames, the clip holds 40"
    assert shown["broken"]["fault"].startswith("damaged: ")
    assert shown["small"]["notes"] == ["the record states 160 × 120 pixels, the clip has 64 × 48"]


def test_clips_that_run_out_of_time_do_not_hold_up_the_page():
    class Slow:
        asked = 0

        def clip(self, payload, side, frames):
            self.asked += 1
            return gallery_record.Preview(fault="timeout: no answer within 10 s; killed")

    slow = Slow()
    media = gallery_record.Media(slow)
    faults = [media.clip(b"x", CLIP, 160, 8)["fault"] for _ in range(20)]
    assert slow.asked == gallery_record.MOST_TIMEOUTS
    assert faults[0].startswith("timeout")
    assert faults[-1].startswith("not decoded")
