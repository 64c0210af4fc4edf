"""`trivium shards` and `trivium tokenizer` as a user or script meets them: facts, exit codes, hostile text."""

import io
import json

import PIL.Image
import pytest
from rich.console import Console
from typer.testing import CliRunner

from trivium.cli import app
from trivium.commands.shards_pictures import half_blocks
from trivium.commands.shards_view import counts, sets_table
from trivium.data.patches import PictureRules, VideoRules
from trivium.data.records import Document, Image, Meta, Text, finish, source_id
from trivium.data.shards import Manifest, ShardSet, write_set
from trivium.data.stage import Drop
from trivium.errors import ConfigError, InputError, ShardError, UsageError

ESCAPE = "\x1b]0;owned\x07 \u202eabc [bold]x[/bold]"


def picture():
    target = io.BytesIO()
    PIL.Image.new("RGBA", (6, 4), (255, 0, 0, 255)).save(target, "PNG")
    return target.getvalue()


def make(address, segments, media):
    meta = Meta(
        source_id=source_id("s", address),
        corpus="words",
        domain="d",
        source="s",
        address=address,
        license="MIT",
        language="en",
    )
    return finish(Document(segments=segments, meta=meta), media), media


@pytest.fixture
def folder(tmp_path):
    image = Image(media="i0.png", width=6, height=4, mime="image/png")
    records = [make(f"page {n}", (Text(text=f"the words of page {n} " * 20),), {}) for n in range(9)]
    records.append(make(ESCAPE, (image, Text(text=ESCAPE)), {"i0.png": picture()}))
    drop = Drop(source_id="r" * 26, source="s", address="bad page", stage="quality", reason="short", detail=ESCAPE)
    base = Manifest(corpus="words", domain="d", recipe="0" * 64)
    write_set(tmp_path / "sets" / "words", records, base, rejects={"build": [drop]})
    return tmp_path / "sets"


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def facts(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code))


def fails(kind, match, *arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, kind), done.output
    assert match in str(done.exception)
    return done.exception.exit_code


def test_ls_and_stat_count_the_same(folder):
    (one,) = facts("shards", "ls", folder)
    assert (one["corpus"], one["records"], one["rejects"], one["images"]) == ("words", 10, 1, 1)
    both = facts("shards", "stat", folder)
    assert both["total"]["records"] == 10 == sum(both["sets"][0]["histogram"]["records"])
    assert len(facts("shards", "ls", folder, "--records", "--limit", 4)) == 4
    assert "words" in run("shards", "ls", folder)
    assert "licence" in run("shards", "stat", folder)
    assert "picture rules none" in run("shards", "stat", folder)  # not "pictures none" beside "11 images"


def test_tables_break_names_between_words_and_say_what_nobody_counted():
    sums = {
        "corpus": "long-context",
        "records": 1234567,
        "tokens": 0,
        "patches": 0,
        "shards": 1,
        "bytes": 9,
        "rejects": 0,
    }
    more = {"limit": None, "tokenizer": None}
    sets = [{"path": f"/data/corpora/{name}", **sums, **more} for name in ("written-sources/web-docs", "two/svg-icons")]
    console = Console(width=80, file=io.StringIO())
    console.print(sets_table(sets))
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert lines[0] == ["sets", "below", "/data/corpora"]
    assert lines[3] == ["written-", "long-context", "1,234,567", "–", "–", "1", "9", "bytes", "0"]
    assert [line[0] for line in lines[4:]] == ["sources/web-", "docs", "two/svg-", "icons"]
    assert counts("a tokenizer", (0, 0)) == [0, 0]


def test_show_a_record_and_save_its_members(folder, tmp_path):
    shards = ShardSet.open(folder / "words")
    number = next(n for n in range(10) if "i0.png" in shards.members(n))
    key = str(shards.entries.id[number])
    found = facts("shards", "show", folder / "words", key, "--save", tmp_path / "saved")
    assert found["document"]["meta"]["address"] == ESCAPE
    assert (tmp_path / "saved" / f"{key}.i0.png").read_bytes() == picture()
    shown = run("shards", "show", folder / "words", key[:10])
    assert "\x1b]0;owned" not in shown
    assert "\u202e" not in shown
    assert "[bold]x[/bold]" in shown
    assert "6 × 4" in shown


def test_show_a_reject(folder):
    assert facts("shards", "show", folder / "words", "rrrr")["rejected"]["reason"] == "short"
    shown = run("shards", "show", folder / "words", "rrrr")
    assert "quality" in shown
    assert "\x1b]0;owned" not in shown


def test_verify_exits_1_with_reasons(folder):
    assert facts("shards", "verify", folder)[0]["ok"] is True
    path = next((folder / "words" / "shards").glob("*.tar"))
    raw = bytearray(path.read_bytes())
    raw[520] ^= 4
    path.write_bytes(raw)
    (found,) = facts("shards", "verify", folder, code=1)
    assert any("sha256" in problem for problem in found["problems"])
    assert "fault" in run("shards", "verify", folder / "words", code=1)


def test_diff_exits_0_or_1(folder, tmp_path):
    base = Manifest(corpus="words", domain="d", recipe="0" * 64)
    for name in ("a", "b"):
        write_set(tmp_path / name, [make("one", (Text(text="one"),), {})], base)
    assert facts("shards", "diff", tmp_path / "a", tmp_path / "b")["identical"] is True
    found = facts("shards", "diff", tmp_path / "a", folder / "words", code=1)
    assert (len(found["gone"]), len(found["added"])) == (1, 10)
    assert "gone" in run("shards", "diff", tmp_path / "a", folder / "words", code=1)


def test_gallery_writes_a_page(folder, tmp_path):
    found = facts("shards", "gallery", folder, "--out", tmp_path / "page.html", "--count", 3)
    assert (found["records"], found["rejects"]) == (3, 1)
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_train_show_encode_and_tokenize(folder, tmp_path):
    made = facts("tokenizer", "train", folder, "--vocab", 300, "--out", tmp_path / "tok")
    assert made["vocab"] <= 300
    shown = facts("tokenizer", "show", tmp_path / "tok")
    assert shown["digest"] == made["digest"]
    pieces = facts("tokenizer", "encode", tmp_path / "tok", "the [EOS] words")["pieces"]
    assert "".join(pieces) == "the [EOS] words"
    arguments = ["--tokenizer", tmp_path / "tok", "--out", tmp_path / "out", "--buckets", "64,1k", "--patch-limit", 16]
    arguments += ["--video", "fps=2", "--video", "frame_patches=64"]
    CliRunner().invoke(
        app, ["shards", "tokenize", str(folder), *map(str, arguments), "--json", "--", "--direct_num_workers=1"]
    )
    manifest = ShardSet.open(tmp_path / "out" / "words").manifest
    assert manifest.tokenizer == made["digest"]
    video = VideoRules(fps=2.0, frame_patches=64)
    assert manifest.pictures == PictureRules(patch_limit=16, video=video).digest()
    assert {shard.bucket for shard in manifest.shards} == {"64", "1k"}
    for kind, wrong, said in (
        (UsageError, "fps=fast", "'fast' is no number"),
        (ConfigError, "rate=2", "no such key 'rate'"),
        (ConfigError, "frames=0", "give at least 1"),
    ):
        assert fails(kind, said, "shards", "tokenize", folder, *arguments, "--video", wrong) == 2


def test_wrong_use_and_missing_things_are_told_apart(folder, tmp_path):
    assert fails(InputError, "no such folder", "shards", "ls", tmp_path / "none") == 2
    assert (
        fails(InputError, "no manifest.json here or below", "shards", "stat", tmp_path / "sets" / "words" / "shards")
        == 2
    )
    assert fails(ShardError, "is no id", "shards", "show", folder / "words", "zz") == 1
    run("shards", "show", folder / "words", code=2)
    tokenize = ["shards", "tokenize", folder, "--tokenizer", tmp_path / "t", "--out", tmp_path / "o"]
    assert fails(UsageError, "rising order", *tokenize, "--buckets", "9,8") == 2
    assert fails(ConfigError, "even number", *tokenize, "--side-limit", 3) == 2
    assert fails(UsageError, "did you mean --direct_num_workers", *tokenize, "--", "--direct_num_worker=2") == 2
    assert not (tmp_path / "o").exists()


def test_half_blocks_have_the_colours_of_the_picture():
    shown = half_blocks(picture(), 40)
    assert shown.plain == "\n".join(["▀" * 6] * 2)
    assert shown.spans[0].style.color.triplet == (255, 0, 0)
    assert "can't be shown" in half_blocks(b"nothing", 40).plain


def _done(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 1, done.output
    return done


def _told(done):
    return [line for line in done.stderr.splitlines() if line.startswith("damaged: ")]


def test_a_bad_line_of_rejects_costs_itself_alone(tmp_path):
    base = Manifest(corpus="reeds", domain="d", recipe="0" * 64)
    keys = [letter * 26 for letter in "mnpq"]
    drops = [Drop(source_id=key, source="s", address=key, stage="filter", reason="short") for key in keys]
    folder = tmp_path / "reeds"
    write_set(
        folder, [make("a", (Text(text="reeds"),), {})], base, rejects={"a": drops[:3], "b": drops[:1], "c": drops[3:]}
    )
    lines = (folder / "rejects" / "a.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "rejects" / "a.jsonl").write_bytes(lines[0] + b"{\n" + lines[2])
    (folder / "rejects" / "b.jsonl").unlink()
    bad = [
        f"damaged: {folder}/rejects/a.jsonl:2: no reject record",
        f"damaged: {folder}/rejects/b.jsonl: can't be read",
    ]
    for key in (keys[0], keys[2], keys[3]):
        shown = _done("shards", "show", folder, key)
        assert "filter" in shown.stdout
        assert [line.startswith(start) for line, start in zip(_told(shown), bad, strict=True)] == [True, True]
    for name, *options in (("ls",), ("stat", "--prove"), ("gallery", "--out", tmp_path / "page.html")):
        listed = _told(_done("shards", name, folder, *options))
        assert [line.startswith(start) for line, start in zip(listed, bad, strict=True)] == [True, True]
    assert facts("shards", "gallery", folder, "--out", tmp_path / "page.html", code=1)["rejects"] == 3
