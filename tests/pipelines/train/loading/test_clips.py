"""Clips all the way: raw files, a tokenised set, the loader's processes, a model's gradients; broken ones left out."""

import shutil
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

pytest.importorskip("apache_beam", reason="clips are tokenised by a Beam job")

from trivium.curriculum.rows import Piece, Row
from trivium.data.patches import PictureRules, VideoRules
from trivium.data.records import Document, Image, Meta, Text, Video, finish, source_id
from trivium.data.shards import Manifest, ShardSet, parse_buckets, write_manifest, write_set, write_shard
from trivium.data.shards.verify import verify
from trivium.data.tokenizers.training import train
from trivium.data.video import measure, plan
from trivium.errors import MissingDependencyError
from trivium.model.batch import MEDIA, NO_TARGET, TEXT, TEXT_AFTER_PICTURE
from trivium.pipelines.beam import parse_options
from trivium.pipelines.tokenize_job import tokenize_set
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.heldout import evaluate, held_out
from trivium.pipelines.train.loading.decoders import Decoders, need_clip_decoder
from trivium.pipelines.train.loading.faults import BadRecordError
from trivium.pipelines.train.loading.replay import replay
from trivium.pipelines.train.prepare import prepare

sys.path.insert(0, str(Path(__file__).parents[1]))  # the corpus builder
sys.path.insert(0, str(Path(__file__).parents[3] / "data" / "video"))  # the clip maker
import corpus
from clips import clip, pixels, streaming_clip, varying_clip

# Four frames a second, up to ten, of at most 32 patches: grids of 4, 4 and 2 frames, of 4 × 6 patches.
RULES = PictureRules(patch_limit=64, video=VideoRules(fps=4.0, frames=10, frame_patches=32, patches=4096))
SCHEDULE = """
version: 1
seed: 3
window: 8
corpora:
  mixed: {path: mixed}
lr: {peak: 0.004, warmup_ratio: 0.1}
stages:
  - {name: only, context: 2048, rows: 1, tokens: 2048, mixture: {mixed: 1}, patches: 4096}
"""
FILES = {
    "h264.mp4": lambda: clip(),
    "vp9.webm": lambda: clip(codec="libvpx-vp9", suffix=".webm"),
    "mpeg4.mov": lambda: clip(codec="mpeg4", suffix=".mov"),
    "av1.mp4": lambda: clip(codec="libsvtav1"),
    "varying.mkv": lambda: varying_clip([0, 1, 2, 3, 10, 30, 31, 32, 33, 34, 35, 59], suffix=".mkv"),
    "front.mp4": lambda: streaming_clip(frames=60),
}


def documents(folder: Path):
    """From the files of a folder: a record a clip, one of text, picture and two clips, some of text."""
    for path in sorted(folder.glob("*.*")):
        shown, media = video(path, 0)
        yield record(
            path.name, (Text(text="Look: "), shown, Text(text=f" {path.stem}: a yellow bar moves down.")), media
        )
    first, one = video(folder / "vp9.webm", 0)
    second, two = video(folder / "h264.mp4", 1)
    icon = Image(media="i0.png", width=56, height=56, mime="image/png")
    mixed = (Text(text="A picture "), icon, first, Text(text="and clips"), second, Text(text=" and an end."))
    yield record("mixed", mixed, {**one, **two, "i0.png": corpus.documents()["icons"][0][1]["i0.png"]})
    for number in range(4):
        yield record(f"text {number}", (Text(text=f"Nothing to see in text {number}. " * (3 + number)),), {})


def video(path: Path, number: int):
    found, name = measure(path.read_bytes()), f"v{number}{path.suffix}"
    facts = msgspec.structs.asdict(found)
    return Video(media=name, mime=f"video/{path.suffix[1:]}", **facts), {name: path.read_bytes()}


def record(name, segments, media):
    place = source_id("mixed", name)
    meta = Meta(
        source_id=place, corpus="mixed", domain="mixed", source="mixed", address=name, license="CC0-1.0", cluster=place
    )
    return finish(Document(segments=segments, meta=meta), media), media


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """run.yaml, schedule.yaml, tokenizer/ and corpora/mixed, tokenised by the real job from raw files."""
    root = tmp_path_factory.mktemp("clips")
    (root / "files").mkdir()
    for name, make in FILES.items():
        (root / "files" / name).write_bytes(make())
    write_set(root / "raw", documents(root / "files"), Manifest(corpus="mixed", domain="mixed", recipe="test"))
    train([ShardSet.open(root / "raw")], 350, root / "tokenizer")
    tokenize_set(
        root / "raw",
        root / "corpora" / "mixed",
        root / "tokenizer",
        parse_options([]),
        rules=RULES,
        buckets=parse_buckets("4k"),
        target_bytes=1 << 20,
    )
    (root / "schedule.yaml").write_text(SCHEDULE)
    (root / "run.yaml").write_text(corpus.RUN)
    return root


def opened(root, workers=0):
    return prepare(load_run(root / "run.yaml", [f"data.workers={workers}"]), name="run.yaml", cache=None)


@pytest.fixture(scope="module")
def loaded(root):
    """The run and its assembler with one decoding process a kind of media."""
    prepared = opened(root, workers=1)
    assembler = prepared.assembler()
    yield prepared, assembler
    assembler.close()


def whole(shards, record):
    return Piece("mixed", record, 0, int(shards.entries.tokens[record]))


def row(shards, records):
    pieces = tuple(whole(shards, at) for at in records)
    return Row(pieces, sum(piece.tokens for piece in pieces), int(shards.entries.patches[list(records)].sum()))


def number_of(shards, name):
    return shards.find(source_id("mixed", name))


def test_what_metadata_count_is_what_the_decoders_make(root, loaded):
    prepared, assembler = loaded
    shards = prepared.sets["mixed"]
    assert verify(root / "corpora" / "mixed").problems == []
    for at in range(len(shards)):
        made = assembler.assemble([row(shards, [at])])
        assert made.skips == ()
        assert len(made.batch.patches_P) == int(shards.entries.patches[at])
        planned = [plan(one, RULES) for one in shards.read_document(at).segments if isinstance(one, Video)]
        assert [tuple(grid) for grid in made.batch.grids_I3.tolist() if grid[1:] != [4, 4]] == [
            grid for one in planned for grid in one.grids
        ]
    h264 = assembler.batch([row(shards, [number_of(shards, "h264.mp4")])])
    assert h264.grids_I3.tolist() == [[4, 4, 6], [4, 4, 6], [2, 4, 6]]
    assert shards.manifest.patches == sum(shards.entries.patches.tolist()) > 6 * 240
    assert assembler.store.decoders.starts == 2  # one for the picture, one for all clips


def test_verify_compares_the_patches_that_an_index_states(root, tmp_path):
    folder = tmp_path / "mixed"
    shutil.copytree(root / "corpora" / "mixed", folder)
    shards = ShardSet.open(folder)
    (info,) = shards.manifest.shards
    made = write_shard(folder / "shards" / info.name, [shards.read(at) for at in range(len(shards))])
    write_manifest(folder, msgspec.structs.replace(shards.manifest, shards=(made,)))
    found = verify(folder).problems
    assert len(found) == len(FILES) + 1
    assert all("the index says 0" in problem for problem in found)


@pytest.mark.parametrize("name", FILES)
def test_the_patches_of_a_frame_show_what_was_drawn_at_its_time(loaded, name):
    prepared, assembler = loaded
    shards = prepared.sets["mixed"]
    at = number_of(shards, name)
    stated = next(one for one in shards.read_document(at).segments if isinstance(one, Video))
    planned = plan(stated, RULES)
    shown = assembler.pictures("mixed", at)
    frames = np.concatenate(shown.patches).reshape(len(planned.places), 4, 6, 3, 14, 14)
    red = np.median(frames[:, :, :5, 0], (1, 2, 3, 4))  # without the bar, a seventh of the height, and the padding
    for level, seconds in zip(red, planned.seconds, strict=True):
        marks = [0, 1, 2, 3, 10, 30, 31, 32, 33, 34, 35, 59] if name == "varying.mkv" else range(60)
        standing = max(mark for mark in marks if mark <= round(seconds * 25, 6))
        assert level == pytest.approx(pixels(standing, 60, 160, 120)[..., 0].min(), abs=12)  # frames are 28 apart


def test_packed_text_pictures_and_clips_equal_one_by_one(loaded):
    prepared, assembler = loaded
    shards = prepared.sets["mixed"]
    model = prepared.model.build(seed=1, dtype=torch.float64).train()
    with torch.no_grad():  # away from the start, at which the tower hardly matters
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7))
    records = [number_of(shards, name) for name in ("text 0", "mixed", "h264.mp4", "text 1", "varying.mkv")]
    batch = assembler.batch([row(shards, records)])
    assert set(batch.modality_T.tolist()) == {TEXT, TEXT_AFTER_PICTURE, MEDIA}
    assert set(batch.grids_I3[:, 0].tolist()) == {1, 2, 4}
    assert (batch.targets_T[batch.tokens_T == prepared.vocabulary.media_begin] == NO_TARGET).all()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    weight_T = torch.randn(batch.tokens, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    packed = model(batch, mtp=True)
    got = torch.autograd.grad((packed.loss_T * weight_T).sum(), parameters, allow_unused=True)
    alone_T = torch.cat([model(assembler.batch([row(shards, [at])]), mtp=True).loss_T for at in records])
    wanted = torch.autograd.grad((alone_T * weight_T).sum(), parameters, allow_unused=True)
    torch.testing.assert_close(packed.loss_T, alone_T, rtol=1e-9, atol=1e-9)
    for one, other in zip(got, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert (one - other).abs().max() <= 1e-7 * (other.abs().max() + 1e-12)
    tower = dict(zip((n for n, p in model.named_parameters() if p.requires_grad), got, strict=True))
    assert float(tower["vision.patch_embed.weight"].abs().max()) > 0


def test_clips_are_exchanged_and_judged_in_an_evaluation(loaded):
    prepared, assembler = loaded
    shards = prepared.sets["mixed"]
    held = held_out(prepared.plan, assembler, rows=4, context=2048, patches=4096, seed=1)
    assert held.rows == ()  # nothing is held out here: the rows are given
    rows = (row(shards, range(len(shards))),)
    clips = [number_of(shards, name) for name in FILES]
    exchange = {("mixed", one): ("mixed", other) for one, other in zip(clips, clips[1:] + clips[:1], strict=True)}
    model = prepared.model.build(seed=1)
    facts = evaluate(model, type(held)(rows, exchange), assembler, torch.device("cpu"))
    assert facts["image_shuffled"]["corpora"]["mixed"]["records"] == len(clips)
    assert facts["image"]["targets"] > facts["image_shuffled"]["targets"] > 0
    assert facts["text"]["targets"] > 0


HARM = {
    "cut": ("front.mp4", lambda payload: payload[: len(payload) * 8 // 10], "clip", "decoding stops after 40 frames"),
    "no clip": ("vp9.webm", lambda payload: b"no clip", "clip", "no clip that can be opened"),
    "another clip": ("mpeg4.mov", lambda payload: clip(frames=40), "record", "the clip has 40 frames"),
    "another size": ("av1.mp4", lambda payload: clip(width=176), "record", "176 × 120 pixels; its record states 60"),
}


def test_broken_clips_are_left_out_counted_named_and_replayed(root, loaded, damage, tmp_path):
    prepared, assembler = loaded
    shards = prepared.sets["mixed"]
    place = tmp_path / "place"
    shutil.copytree(root, place)
    keys, expected = {}, {}
    for name, harm, reason, said in HARM.values():
        at = number_of(shards, name)
        field = f"v0{Path(name).suffix}"
        damage.rewrite(place / "corpora" / "mixed", at, field, harm(shards.read(at)[1][field]))
        keys[at] = f"mixed/{shards.entries.id[at]}"
        expected[keys[at]] = (reason, said)
    rest = [at for at in range(len(shards)) if at not in keys]
    wanted = assembler.batch([row(shards, rest)])
    for workers in (0, 1):
        harmed = opened(place, workers)
        again = harmed.assembler()
        made = again.assemble([row(shards, range(len(shards)))])
        assert again.store.decoders.starts == 2 * workers  # what is broken costs a process nothing
        again.close()
        found = {skip.key: (skip.reason, skip.detail) for skip in made.skips}
        assert {key: reason for key, (reason, _) in found.items()} == {k: reason for k, (reason, _) in expected.items()}
        for key, (_, said) in expected.items():
            assert said in found[key][1]
            assert "v0." in found[key][1]
        assert torch.equal(made.batch.tokens_T, wanted.tokens_T)
        assert torch.equal(made.batch.patches_P, wanted.patches_P)
    facts = replay(place / "run.yaml", [*keys.values(), f"mixed/{shards.entries.id[rest[0]]}"])
    assert [(fact["usable"], fact.get("reason")) for fact in facts] == [
        *((False, expected[key][0]) for key in keys.values()),
        (True, None),
    ]


def test_replay_tells_of_clips_and_their_frames(root, loaded):
    from trivium.commands.replay import _counts

    shards = loaded[0].sets["mixed"]
    one, mixed = (f"mixed/{shards.entries.id[number_of(shards, name)]}" for name in ("vp9.webm", "mixed"))
    alone, both = replay(root / "run.yaml", [one, mixed])
    assert _counts(alone)[1:] == ["1 clip of 60 frames", f"{alone['patches']:,} patches"]
    assert _counts(both)[1:3] == ["1 picture", "2 clips of 120 frames"]


def test_a_clip_that_takes_too_long_is_bad():
    stated = Video(media="v0.mp4", width=160, height=120, mime="video/mp4", frames=60, fps=25.0)
    apart = Decoders(1, RULES, 20, 1, clip_task="decoder_tasks:spin_on_a_clip", extra=[Path(__file__).parent])
    try:
        with pytest.raises(BadRecordError, match="processor time") as caught:
            apart.clip(clip(), stated)
        assert caught.value.reason == "decoder"
        assert apart.starts == 2
    finally:
        apart.close()


def test_without_pyav_a_run_stops_and_blames_no_clip(root, monkeypatch, tmp_path):
    shards = ShardSet.open(root / "corpora" / "mixed")
    at = number_of(shards, "h264.mp4")
    stated = next(one for one in shards.read_document(at).segments if isinstance(one, Video))
    write_set(tmp_path / "alone", [shards.read(at)], msgspec.structs.replace(shards.manifest, corpus="alone"))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingDependencyError, match=r"the data hold clips, and PyAV is not installed"):
        Decoders(0, RULES, 20).clip(b"", stated)
    assert need_clip_decoder({"mixed": shards}) is None  # it has a picture as well
    with pytest.raises(MissingDependencyError, match=r"corpus alone holds clips, and PyAV is not installed; run: "):
        need_clip_decoder({"mixed": shards, "alone": ShardSet.open(tmp_path / "alone")})
