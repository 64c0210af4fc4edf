"""picture_dedup: whole runs of the shuffle over drawn items against brute force, in any order of arrival."""

import io
import random
from itertools import combinations
from pathlib import Path

import imagehash
import msgspec
import pytest
from PIL import Image, ImageDraw

from trivium.data.config import from_mapping
from trivium.data.dedup.buckets import band_keys
from trivium.data.dedup.pictures import PictureDedup, distance
from trivium.data.records import Document, Drawn, Meta, Text, source_id
from trivium.data.records import Image as Picture
from trivium.data.stage import Draft, Drop
from trivium.errors import BuildError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.shuffles import pictures
from trivium.pipelines.corpora.spool import Ref, SpoolWriter, decode_ref, encode_line, lines_of
from trivium.pipelines.corpora.work import Work, drops_of

CONFIG = PictureDedup()
RECIPE = {
    "version": 1,
    "corpus": "c",
    "domain": "d",
    "sources": [{"kind": "svg_drawings", "name": "s", "count": 1}],
    "stages": [{"kind": "svg_sanitize"}, {"kind": "svg_render"}],
}


def draft(number: int, *shown: Image.Image, code: str = "") -> Draft:
    """An item that draws `shown`."""
    media, segments, drawn = {}, [Text(text=code or f"code {number}")], []
    for place, picture in enumerate(shown):
        name, target = f"i{place}.png", io.BytesIO()
        picture.save(target, "PNG")
        media[name] = target.getvalue()
        segments.append(Picture(media=name, width=picture.width, height=picture.height, mime="image/png"))
        made = Drawn(media=name, engine="e", settings="{}", environment="", phash=str(imagehash.phash(picture)))
        drawn.append(made)
    key = source_id("s", str(number))
    meta = Meta(source_id=key, corpus="c", domain="d", source="s", address=str(number), license="l", drawn=tuple(drawn))
    return Draft(document=Document(segments=tuple(segments), meta=meta), media=media)


def drawing(draw: random.Random, side: int = 96) -> Image.Image:
    picture = Image.new("RGB", (side, side), "white")
    pen = ImageDraw.Draw(picture)
    for _ in range(draw.randrange(1, 5)):
        left, top = draw.randrange(side * 3 // 4), draw.randrange(side * 3 // 4)
        box = (left, top, left + draw.randrange(8, side // 2), top + draw.randrange(8, side // 2))
        fill = tuple(draw.randrange(256) for _ in range(3))
        draw.choice((pen.rectangle, pen.ellipse))(box, fill=fill)
    return picture


def speckled(picture: Image.Image, draw: random.Random, strength: int) -> Image.Image:
    """The same with a few pixels changed: below the threshold at strength 1, around it at 40, far above at 255."""
    found = picture.copy()
    for _ in range(4):
        at = draw.randrange(picture.width), draw.randrange(picture.height)
        found.putpixel(at, tuple((value + strength) % 256 for value in found.getpixel(at)))
    return found


def many(seed: int, families: int) -> list[Draft]:
    """Families of pictures: the same in another size, with specks, recoloured, squeezed."""
    draw, shown = random.Random(seed), []
    for _ in range(families):
        base = drawing(draw)
        shown.append(base)
        for _ in range(draw.randrange(0, 4)):
            shown.append(speckled(base, draw, draw.choice((1, 40, 90, 128))))
        red, green, blue = base.split()
        variants = (base.resize((192, 192)), base.resize((96, 80)), Image.merge("RGB", (green, blue, red)))
        shown += draw.sample(variants, draw.randrange(0, 3))
    draw.shuffle(shown)
    return [draft(number, picture, code="x" * (number % 7)) for number, picture in enumerate(shown)]


def run(
    folder: Path, drafts: list[Draft], config: PictureDedup = CONFIG, files: int = 1
) -> tuple[list[Ref], list[Drop]]:
    """What the shuffle keeps and drops of `drafts`, their references dealt to so many files."""
    folder.mkdir()
    writer = SpoolWriter(folder, "job/spool")
    refs = [writer.add(one, ()) for one in drafts]
    writer.close()
    work = Work(
        from_mapping(RECIPE, Recipe, name="recipe"),
        folder,
        folder,
        BeamOptions(),
        lambda *_: None,
        key="k",
        at_new=lambda _: None,
    )
    work.state, work.size = folder / "job", len(refs)
    for number in range(files):
        lines = b"".join(encode_line(ref) + b"\n" for ref in refs[number::files])
        (work.state / f"refs-{number}").write_bytes(lines)
    pictures.run(work, "picture_dedup", config)
    return [decode_ref(line) for line in lines_of(work.state, "refs")], list(drops_of(work.state))


@pytest.fixture(scope="module")
def sketcher():
    made = pictures.Pictures(CONFIG)
    made.open()
    yield made
    made.close()


def clusters(sketcher: pictures.Pictures, drafts: list[Draft]) -> dict[str, frozenset[str]]:
    """By brute force over all pairs: the cluster of each id that is not alone."""
    values, sets = sketcher.sketches(drafts)
    keys = band_keys(values, CONFIG.bands, CONFIG.rows)
    ids = [one.document.meta.source_id for one in drafts]
    groups = {key: {key} for key in ids}
    for a, b in combinations(range(len(drafts)), 2):
        if (keys[a] == keys[b]).any() and CONFIG.alike(sets[a], sets[b]) >= CONFIG.threshold:
            together = groups[ids[a]] | groups[ids[b]]
            for key in together:
                groups[key] = together
    return {key: frozenset(group) for key, group in groups.items() if len(group) > 1}


def test_what_goes_is_what_brute_force_over_all_pairs_finds_whoever_comes_first(tmp_path, sketcher):
    drafts = many(seed=3, families=60)
    expected = clusters(sketcher, drafts)
    kept, drops = run(tmp_path / "one", drafts)
    assert len(expected) > 35
    lengths = {one.document.meta.source_id: len(one.document.text) for one in drafts}
    best = {group: min(group, key=lambda key: (-lengths[key], key)) for group in expected.values()}
    assert {drop.source_id for drop in drops} == set(expected) - set(best.values())
    for drop in drops:
        group = expected[drop.source_id]
        assert (drop.survivor, drop.cluster, drop.reason) == (best[group], min(group), "near_identical")
        assert drop.beside in group
    for ref in kept:
        assert ref.cluster == min(expected.get(ref.source_id, {ref.source_id}))
        assert set(ref.duplicates) == expected.get(ref.source_id, {ref.source_id}) - {ref.source_id}
    shuffled = random.Random(1).sample(drafts, len(drafts))
    again, dropped = run(tmp_path / "two", shuffled, PictureDedup(keep=False), files=5)
    assert sorted(ref.source_id for ref in again) == sorted(ref.source_id for ref in kept)
    assert sorted(map(encode_line, dropped)) == sorted(map(encode_line, drops))


def plain(color: str, at: int = 40, side: int = 96) -> Image.Image:
    picture = Image.new("RGB", (side, side), "white")
    ImageDraw.Draw(picture).rectangle((at, at, at + 15, at + 15), fill=color)
    return picture


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (plain("#ff0000"), plain("#ff0000"), True),
        (plain("#ff0000"), plain("#f80404"), True),
        (plain("#ff0000"), plain("#ff0000").resize((192, 192), Image.Resampling.NEAREST), True),
        (plain("#ff0000"), plain("#008200"), False),  # of equal luma
        (plain("#808080"), speckled(plain("#808080"), random.Random(1), 100), False),  # the same hash
        (plain("#ff0000"), plain("#ff0000").resize((96, 88)), False),
    ],
)
def test_pixels_decide_and_not_the_hash(sketcher, one, other, same):
    hashed = draft(1, one).document.meta.drawn[0].phash
    alike = draft(2, other)
    drawn = tuple(msgspec.structs.replace(d, phash=hashed) for d in alike.document.meta.drawn)
    meta = msgspec.structs.replace(alike.document.meta, drawn=drawn)
    alike = msgspec.structs.replace(alike, document=msgspec.structs.replace(alike.document, meta=meta))
    _, (first, second) = sketcher.sketches([draft(1, one), alike])
    assert distance(first, second) == 0
    assert (CONFIG.alike(first, second) >= CONFIG.threshold) == same


def test_every_view_counts_and_what_was_not_drawn_is_left_alone(sketcher):
    front, back, other = (drawing(random.Random(seed)) for seed in (1, 2, 3))
    text = draft(4)
    values, sets = sketcher.sketches([draft(1, front, back), draft(2, front, other), draft(3, front), text])
    assert (values[0] == values[1]).all()  # candidates
    assert CONFIG.alike(sets[0], sets[0]) == 1.0
    assert CONFIG.alike(sets[0], sets[1]) < CONFIG.threshold
    assert CONFIG.alike(sets[0], sets[2]) == 0.0
    assert sets[3] is None
    assert CONFIG.agreement == 0.5  # eight bits of difference touch at most eight of sixteen nibbles


def test_a_crowd_of_one_template_stops_the_build(tmp_path):
    """All of one look: linear work in the bucket, one cluster, and the limit that a person must raise."""
    picture = plain("#00ff00")
    crowd = [draft(number, picture) for number in range(90)]
    limits = {"max_cluster": 89, "max_source_loss": 1.0, "keep": False}
    with pytest.raises(BuildError, match=r"picture_dedup: 90 records form one cluster .*max_cluster=90"):
        run(tmp_path / "crowd", crowd, from_mapping({"kind": "picture_dedup", **limits}, PictureDedup, name="stage"))
