import io

import numpy as np
import pytest
from PIL import Image

from tests.data.pairs.blocks import HEX, BlocksEngine
from tests.data.pairs.conftest import VIEWS
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.item import sheet_of
from trivium.data.pairs.look import LookRules
from trivium.data.records import Text
from trivium.data.stage import Draft, Drop
from trivium.errors import GuardError

CODE = "red 10 20 30 40\nblue 60 10 20 20"


def test_an_item_holds_code_pictures_facts_and_changes_that_show(draw):
    draft = draw(CODE)
    assert isinstance(draft, Draft)
    code, *pictures = draft.document.segments
    assert code == Text(text=CODE)
    assert [(p.media, p.width) for p in pictures] == [("i0.png", 100), ("i1.png", 160)]
    drawn = draft.document.meta.drawn
    assert [(d.media, d.engine, d.settings, d.environment, d.code) for d in drawn] == [
        ("i0.png", "blocks", VIEWS["the whole"], "blocks 1", 0),
        ("i1.png", "blocks", VIEWS["large"], "blocks 1", 0),
    ]
    assert all(len(d.phash) == 16 for d in drawn)
    sheet = sheet_of(draft)
    assert sheet.facts.parts[0].color == "red"
    assert sheet.facts.colors == {"#ffffff": 0.84, "#ff0000": 0.12, "#0000ff": 0.04}
    assert sheet.views == {"i0.png": "the whole", "i1.png": "large"}
    assert [change.role for change in sheet.changes] == ["edit", "edit", "bug"]
    for change in sheet.changes:
        assert change.code != CODE
        assert change.instruction not in ("Change nothing.", "Change next to nothing.", "Paint it mauve.")
        assert [p.media for p in change.pictures] == [d.media for d in change.drawn]
        for before, after in zip(pictures, change.pictures, strict=True):
            assert (after.width, after.height) == (before.width, before.height)
            assert draft.media[after.media] != draft.media[before.media]
    assert len({p.media for c in sheet.changes for p in c.pictures}) == 6
    assert draw(CODE) == draft


def test_files_travel_with_the_item_and_nothing_without_code_does(draw):
    draft = draw(CODE, files={"paper.bin": b"\xc8"})
    assert draft.document.meta.drawn[0].files == sheet_of(draft).files == {"paper.bin": "f0.bin"}
    assert draft.media["f0.bin"] == b"\xc8"
    hidden = draw(CODE, files={"paper.bin": b"\xc8"}, shown=False)
    assert [type(s).__name__ for s in hidden.document.segments] == ["Image", "Image"]
    assert hidden.document.meta.drawn[0].code == -1
    assert sorted(hidden.media) == ["i0.png", "i1.png", "sheet.json"]


@pytest.mark.parametrize(
    ("code", "rules", "reason"),
    [
        ("white 0 0 10 10", {}, "one_colour"),
        ("black 50 50 3 3", {}, "blank"),
        ("black 50 50 3 3", {"min_ink": 0.0}, "one_colour"),
        ("red 0 20 30 40", {"max_edge_ink": 0.0}, "clipped"),
        ("red 0 0 100 90", {"min_detail": 0.02}, "plain"),
        ("red 10 20 30 40", {"min_side": 128}, "too_small"),
        ("red 10 20 30 40", {"max_pixels": 9999}, "too_large"),
        ("mauve 0 0 10 10", {}, "refused"),
    ],
)
def test_a_picture_unfit_to_learn_from_is_refused_with_its_reason(drawer, draw, monkeypatch, code, rules, reason):
    looked = LookRules(**rules)
    other = Drawer(drawer.engine, None, DrawRules(look=looked), "blocks_draw")
    assert other._looker._max_pixels == looked.max_pixels
    monkeypatch.setattr(drawer._looker, "_max_pixels", looked.max_pixels)
    other._looker = drawer._looker
    drop = draw(code, other)
    assert isinstance(drop, Drop)
    assert (drop.reason, drop.stage, drop.error, drop.excerpt) == (reason, "blocks_draw", False, code)


def test_what_draws_differently_twice_is_refused_unless_told(drawer, draw):
    other = Drawer(BlocksEngine(drift=True), None, DrawRules(), "blocks_draw")
    other._looker = drawer._looker
    assert draw(CODE, other).reason == "not_deterministic"
    other.rules = DrawRules(twice=False)
    assert isinstance(draw(CODE, other), Draft)


def test_a_clip_is_kept_as_it_is_and_counted_by_decoding(drawer, draw):
    other = Drawer(BlocksEngine(frames=12), None, DrawRules(), "blocks_draw")
    other._looker = drawer._looker
    draft = draw("red 10 20 30 40\nmoving 0 60 20 20", other, {"a move": '{"side":96}'})
    clip = draft.document.segments[1]
    assert (clip.media, clip.mime, clip.frames, clip.fps) == ("v0.mp4", "video/mp4", 12, 25.0)
    assert (clip.width, clip.height) == (96, 96)
    assert draft.media["v0.mp4"] == other.engine.clips[0]
    still = draw("red 10 20 30 40", other, {"a move": '{"side":96}'})
    assert still.reason == "still"


def png(pixels, **options):
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG", **options)
    return target.getvalue()


def test_a_look_is_of_pixels_and_not_of_bytes(drawer):
    pixels = np.full((40, 60, 3), 255, np.uint8)
    pixels[10:20, 5:25] = (10, 20, 30)
    looker = drawer._looker
    one, other = looker.look(png(pixels)), looker.look(png(pixels, compress_level=0))
    assert one == other
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(one.png))), pixels)
    assert (one.ink, one.edge_ink, one.background) == (round(200 / 2400, 6), 0.0, "#ffffff")
    assert one.detail == round((10 + 20 + 10 + 20 - 1) / (39 * 59), 6), "the block's first and next columns and rows"
    assert looker.look(png(pixels), (10, 20, 30)).ink == round(2200 / 2400, 6)
    clear = np.dstack([pixels, np.where(pixels[..., 0] == 255, 0, 255).astype(np.uint8)])
    assert looker.look(png(clear)).pixels == one.pixels
    assert looker.look(png(clear), (0, 0, 0)).background == "#000000"
    assert looker.look(png(pixels[:, :50])).pixels != one.pixels


def test_how_unlike_two_pictures_are_is_seen_in_the_same_look(drawer):
    pixels = np.full((40, 50, 3), 255, np.uint8)
    other = pixels.copy()
    other[:10, :10] = 0
    other[20:, :] = 250  # within what is visible
    looker = drawer._looker
    assert looker.look(png(pixels)).unlike == 1.0
    assert looker.look(png(pixels), beside=png(other)).unlike == 0.05
    assert looker.look(png(pixels), beside=png(pixels[1:])).unlike == 1.0


def test_how_far_two_pictures_differ_is_the_most_of_any_square(drawer):
    dice = np.random.default_rng(0)
    for height, width in ((40, 50), (9, 30), (600, 20)):
        one = dice.integers(0, 256, (height, width, 3), np.uint8)
        other = one.copy()
        changed = slice(250, 263) if height == 600 else slice(-7, None)  # across two strips
        other[changed, -8:] = 255 - other[changed, -8:]
        far = np.abs(one.astype(int) - other).max(axis=-1)
        side = min(16, height, width)
        squares = np.lib.stride_tricks.sliding_window_view(far, (side, side)).mean(axis=(2, 3))
        assert drawer._looker.look(png(one), beside=png(other)).contrast == round(squares.max() / 255, 6)
    assert drawer._looker.look(png(one)).contrast == 1.0
    assert drawer._looker.look(png(one), beside=png(one)).contrast == 0.0
    assert drawer._looker.look(png(one), beside=png(one[1:])).contrast == 1.0


def test_a_change_too_faint_to_be_seen_is_none(drawer, monkeypatch):
    before = drawer.views(CODE, {}, {"the whole": VIEWS["the whole"]})
    monkeypatch.setitem(HEX, "faint", "#f7f7f7")
    with pytest.raises(GuardError, match="no square of 16 pixels") as caught:
        drawer.views(f"{CODE}\nfaint 50 45 12 12", {}, {"the whole": VIEWS["the whole"]}, before=before)
    assert caught.value.reason == "unchanged"
    monkeypatch.setitem(HEX, "faint", "#f4f4f4")
    faint = f"{CODE}\nfaint 50 50 30 30"
    assert drawer.views(faint, {}, {"the whole": VIEWS["the whole"]}, before=before)[0].look.unlike > 0.08
    thin = f"{CODE}\nblack 50 5 1 45"
    assert drawer.views(thin, {}, {"the whole": VIEWS["the whole"]}, before=before)


def test_broken_pictures_and_bombs_are_refused(drawer):
    bomb = png(np.zeros((8, 8, 3), np.uint8))
    bomb = bomb[:16] + (100_000).to_bytes(4, "big") * 2 + bomb[24:]
    for payload, clip in ((b"", False), (b"\x89PNG\r\n\x1a\n", False), (bomb, False), (b"no clip", True)):
        with pytest.raises(GuardError) as caught:
            drawer._looker.look(payload, clip=clip)
        assert caught.value.reason in {"damaged", "too_large"}
