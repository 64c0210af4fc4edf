"""Drawing records again: what stayed the same, what did not and why, by the command as a person runs it."""

import json
import os
import signal
import time

import msgspec
import pytest
from typer.testing import CliRunner

from tests.data.pairs.blocks import BlocksEngine
from trivium.cli import app
from trivium.commands import build_progress
from trivium.data.guard import layers
from trivium.data.guard.sandbox import Sandbox
from trivium.data.pairs import engine
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.records import Text, finish
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Raw

CODE = "red 10 20 30 40\nblue 60 10 20 20"
RAW = Raw(corpus="c", domain="d", source="s", address="1", license="l", body=b"", mime="text/plain")


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setitem(engine.ENGINES, "blocks", "tests.data.pairs.blocks:BlocksEngine")


@pytest.fixture(scope="module")
def item():
    """Two pictures of one code, on paper that a file gives, as a build draws them."""
    drawer = Drawer(BlocksEngine(), None, DrawRules(), "draw")
    drawer.open()
    views = {"small": '{"side":100}', "large": '{"side":160}'}
    meta = RAW.meta(source_sha256="0" * 64)
    made = drawer.item(RAW, meta=meta, code=CODE, language="blocks", files={"paper.bin": b"\xf0"}, views=views)
    drawer.close()
    return made


def record(item, letter: str, text: str = CODE, **drawn):
    """A record of the item with other code, or with other words about its drawing."""
    words = tuple(msgspec.structs.replace(one, **drawn) for one in item.document.meta.drawn)
    meta = msgspec.structs.replace(item.document.meta, drawn=words, source_id=letter * 26)
    segments = (Text(text=text), *item.document.segments[1:], Text(text=letter))
    media = {name: payload for name, payload in item.media.items() if name != "sheet.json"}
    return finish(msgspec.structs.replace(item.document, segments=segments, meta=meta), media), media


def redraw(folder, records, *more: str):
    write_set(folder / "set", records, Manifest(corpus="c", domain="d", recipe=""))
    return CliRunner().invoke(app, ["shards", "redraw", str(folder / "set"), *more])


def test_what_is_drawn_again_is_the_same_and_another_environment_is_named(tmp_path, item):
    records = [record(item, letter) for letter in "abc"] + [record(item, "d", environment="blocks 0")]
    done = redraw(tmp_path, records, "--jobs", "2", "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    assert (facts["records"], facts["same"], facts["different"], facts["not_drawn"]) == (4, 8, 0, 0)
    assert facts["engines"]["blocks"]["drawn_with"] == {"blocks 1": 6, "blocks 0": 2}
    assert facts["engines"]["blocks"]["here"] == "blocks 1"
    told = CliRunner().invoke(app, ["shards", "redraw", str(tmp_path / "set"), "--limit", "4"])
    assert "blocks: 2 pictures drawn with blocks 0; here is blocks 1" in told.stderr
    some = CliRunner().invoke(app, ["shards", "redraw", str(tmp_path / "set"), "--limit", "1", "--json"])
    assert json.loads(some.stdout)["pictures"] == 2


def test_what_differs_or_can_not_be_drawn_is_named_with_its_reason_and_fails(tmp_path, item):
    records = [
        record(item, "a"),
        record(item, "b", CODE.replace("40", "41")),  # one row of pixels
        record(item, "c", "mauve 1 1 1 1"),
        record(item, "d", code=1),
        record(item, "e", engine="lathe"),
        record(item, "f", code=-1),
    ]
    done = redraw(tmp_path, records, "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 1
    blocks = facts["engines"]["blocks"]
    assert (blocks["same"], blocks["different"], blocks["without_code"]) == (2, 2, 2)
    assert blocks["not_drawn"] == {"refused": 2, "incomplete": 2}
    assert facts["engines"]["lathe"]["not_drawn"] == {"no_engine": 2}
    unlike = {one["record"]: (one["reason"], one["detail"]) for one in facts["unlike"]}
    ids = {document.meta.source_id[0]: document.id for document, _ in records}
    assert set(unlike) == {ids[letter] for letter in "bcde"}
    assert unlike[ids["b"]][0] == "pixels"
    assert unlike[ids["d"]][1] == "the record does not hold segment 1"
    assert "which this code does not know" in unlike[ids["e"]][1]
    told = CliRunner().invoke(app, ["shards", "redraw", str(tmp_path / "set")])
    assert told.exit_code == 1
    assert "incomplete 2, refused 2" in " ".join(told.stdout.split())


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_what_records_share_is_drawn_once_and_compared_with_each(tmp_path, item, monkeypatch, jobs):
    drawn = []
    draw = BlocksEngine.draw

    def counted(self, code, files, settings):
        drawn.append((code, settings))
        return draw(self, code, files, settings)

    monkeypatch.setattr(BlocksEngine, "draw", counted)
    other = CODE.replace("40", "41")
    document, media = record(item, "e")
    media = media | {document.meta.drawn[0].files["paper.bin"]: b"\xff"}
    lighter = finish(document, media), media
    records = [*(record(item, letter) for letter in "abc"), record(item, "d", other), lighter]
    records += [record(item, letter) for letter in "fgh"]
    facts = json.loads(redraw(tmp_path, records, "--jobs", jobs, "--json").stdout)
    assert (facts["pictures"], facts["same"], facts["different"]) == (16, 12, 4)
    if jobs == "1":  # two sizes of the code, of the other code, and on another paper
        assert len(drawn) == 6


def test_ctrl_c_tells_what_was_compared_until_then(tmp_path, item, monkeypatch):
    draw = BlocksEngine.draw

    def interrupted(self, code, files, settings):
        if self.drawings == 12:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return draw(self, code, files, settings)

    # As in a process of one's own: a test before may have left another handler, a background job ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(BlocksEngine, "draw", interrupted)
    again = "\nblue 60 10 20 20"  # another code of the same picture
    records = [record(item, letter, CODE + number * again) for number, letter in enumerate("abcdefghijkl")]
    done = redraw(tmp_path, records, "--json")
    facts = json.loads(done.stdout)
    assert facts["stopped"] is True
    assert 2 <= facts["pictures"] == facts["same"] <= 12, facts
    assert f"{facts['pictures']} pictures of {facts['records']} record" in str(done.exception)
    assert done.exception.exit_code == 130


def test_a_log_hears_how_far_it_is(tmp_path, item, monkeypatch):
    monkeypatch.setattr(build_progress, "EVERY", 0.0)
    done = redraw(tmp_path, [record(item, "a"), record(item, "b", code=-1), record(item, "c")])
    assert "redraw: 2 of 3 records" in done.stderr
    assert "redraw: 3 of 3 records, 0 s, done" in done.stderr


def test_code_of_strangers_is_not_run_without_namespaces(tmp_path, item, monkeypatch):
    monkeypatch.setattr(engine, "EXECUTING", frozenset({"blocks"}))
    monkeypatch.setattr(layers, "sandbox", lambda: Sandbox(reason="none here"))
    done = redraw(tmp_path, [record(item, "a")])
    assert done.exit_code == 1
    assert "blocks: runs code of strangers, and this machine gives no namespaces" in str(done.exception)
    allowed = CliRunner().invoke(app, ["shards", "redraw", str(tmp_path / "set"), "--unsafe-no-isolation"])
    assert allowed.exit_code == 0
