"""The demo's ledger, its steps as real commands, and its page from real files with hostile text."""

import html.parser
import json
import shutil

import matplotlib
import pytest

from trivium.data.records import Document, Meta, Text, finish, source_id
from trivium.data.shards import FunnelStage, Manifest, write_set
from trivium.errors import TriviumError
from trivium.pipelines.demo import runner
from trivium.pipelines.demo.ledger import Ledger
from trivium.pipelines.demo.page import write_page
from trivium.pipelines.demo.runner import find_root, run_demo
from trivium.pipelines.demo.steps import CORPORA, Step, fingerprint, steps
from trivium.pipelines.train.pairs import Pair, save_pairs
from trivium.pipelines.train.sample import Drawn

HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\"'&"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" fill="#f00"/></svg>'


def step(name, *arguments, reads=(), writes, **more):
    return Step(name=name, title=name, arguments=arguments, reads=reads, writes=writes, **more)


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """Two real commands in the place of the demo's: one that succeeds and reads a file, and one that fails."""
    told = tmp_path / "input.txt"
    told.write_text("first")
    out = tmp_path / "out"
    plan = [
        (step("say", "--version", reads=(told,), writes=out / "said.txt", capture=True),),
        (step("count", "shards", "stat", str(tmp_path / "missing"), writes=out / "never"),),
    ]
    monkeypatch.setattr(runner, "steps", lambda root, out: plan)
    return out, told


def again(out, **options):
    with pytest.raises(TriviumError) as caught:
        run_demo(out, **options)
    return str(caught.value)


def test_a_failing_step_is_named_and_what_is_done_is_not_done_again(demo, capfd):
    out, told = demo
    assert "step count failed with exit code 2" in again(out)
    said = (out / "said.txt").read_text()
    assert said.startswith("trivium ")
    assert "missing" in capfd.readouterr().err  # the command's own message stands above
    (out / "said.txt").write_text("kept")
    again(out)
    assert (out / "said.txt").read_text() == "kept"
    assert "done before" in capfd.readouterr().err
    told.write_text("second")
    again(out)
    assert (out / "said.txt").read_text() == said
    (out / "said.txt").write_text("kept")
    again(out, fresh=True)
    assert (out / "said.txt").read_text() == said
    (out / "said.txt").unlink()
    again(out)
    assert (out / "said.txt").read_text() == said


def test_steps_of_one_wave_each_keep_their_own_mark(tmp_path, monkeypatch, capfd):
    """The failing step fails the demo; what ran beside it is done, is shown whole, and is not run again."""
    out = tmp_path / "out"
    plan = [
        (
            step("count", "shards", "stat", str(tmp_path / "missing"), writes=out / "never"),
            step("say", "--version", writes=out / "said.txt", capture=True),
            step("ask", "--help", writes=out / "help.txt", capture=True),
        ),
        (step("late", "--version", writes=out / "late.txt", capture=True),),
    ]
    monkeypatch.setattr(runner, "steps", lambda root, out: plan)
    assert "step count failed with exit code 2" in again(out)
    shown = capfd.readouterr()
    assert "missing" in shown.err
    assert "$ trivium shards stat" in shown.err
    assert (out / "said.txt").read_text() in shown.out
    assert not (out / "late.txt").exists()
    for name in ("said.txt", "help.txt"):
        (out / name).write_text("kept")
    again(out)
    assert [(out / name).read_text() for name in ("said.txt", "help.txt")] == ["kept", "kept"]
    assert capfd.readouterr().err.count("done before") == 2


def test_the_demo_lasts_as_long_as_the_slowest_of_each_wave(tmp_path):
    ledger = Ledger(tmp_path / "demo.json", fresh=False)
    waves = [[step(name, writes=tmp_path) for name in names] for names in ("ab", "c")]
    for wave, seconds in zip(waves, ((3.0, 5.0), (2.0,)), strict=True):
        for one, spent in zip(wave, seconds, strict=True):
            ledger.add(one, "key", spent)
    assert ledger.total(waves) == 7.0


def test_an_unfinished_folder_is_gone_on_with_only_by_the_same_step(tmp_path):
    folder = tmp_path / "run"
    train = step("train", "train", writes=folder / "report.json", resumes=folder)
    Ledger(tmp_path / "demo.json", fresh=False).begin(train, "one")
    folder.mkdir()
    (folder / "checkpoint").write_text("half the way")
    Ledger(tmp_path / "demo.json", fresh=False).begin(train, "one")
    assert (folder / "checkpoint").is_file()
    Ledger(tmp_path / "demo.json", fresh=False).begin(train, "two")
    assert not folder.exists()
    ledger = Ledger(tmp_path / "demo.json", fresh=False)
    assert not ledger.done(train, "two")


def test_a_step_is_known_by_its_command_its_inputs_and_the_code(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("1")
    one = step("s", "build", reads=(tmp_path / "in",), writes=tmp_path / "o")
    before = fingerprint(one, "code")
    assert fingerprint(one, "code") == before
    assert fingerprint(one, "other code") != before
    assert fingerprint(step("s", "build", "-v", reads=one.reads, writes=one.writes), "code") != before
    (tmp_path / "in" / "a").write_text("2")
    assert fingerprint(one, "code") != before


def test_every_step_reads_what_stands_there_or_what_an_earlier_one_wrote(tmp_path):
    out = tmp_path / "out"
    written = set()
    for wave in steps(find_root(), out):
        for one in wave:
            for path in one.reads:
                assert path in written if path.is_relative_to(out) else path.exists(), (one.name, path)
        written.update(one.writes for one in wave)


def records(address):
    meta = Meta(source_id=source_id("s", address), corpus="c", domain="d", source="s", address=address, license=HOSTILE)
    return [(finish(Document(segments=(Text(text=HOSTILE),), meta=meta), {}), {})]


@pytest.fixture
def finished(tmp_path):
    """What the demo's steps leave behind, small, with hostile text wherever text of strangers stands."""
    out = tmp_path / "out"
    funnel = (FunnelStage(name="read", input=6, kept=1, dropped={HOSTILE: 1, "too_short": 4}),)
    for name in CORPORA:
        base = Manifest(corpus=name, domain="d", recipe="r", funnel=funnel)
        for kind in ("built", "corpora"):
            write_set(out / kind / name, records(name), base)
    ends = {"first": 6.0, "last": 2.0}
    report = {
        "seconds": 3.0,
        "machine": {"threads": 2},
        "bigram_entropy": 3.0,
        "bigram_pictures": {"entropy": 2.25},
        "held_out": {
            "text": ends,
            "image": ends,
            "image_shuffled": ends,
            "picture_gap": {"mean": 0.5, "low": 0.4, "high": 0.6, "records": 3},
        },
        "pictures": {"drawings": {"matched": 2.0, "exchanged": 2.5, "records": 3, "nats_a_picture": 12.5}},
    }
    (out / "run").mkdir()
    (out / "run" / "report.json").write_text(json.dumps(report))
    icon = f"{matplotlib.get_data_path()}/images/home.png"
    shutil.copyfile(icon, out / "curriculum.png")
    (out / "sample-text.txt").write_text(HOSTILE)
    with open(icon, "rb") as file:
        picture = file.read()
    pairs = (Pair(text, picture, 1, text, Drawn(text, 1, 1, True, 0.1)) for text in (HOSTILE, SVG))
    save_pairs(pairs, out / "pictures")
    return out


class Tags(html.parser.HTMLParser):
    """All start tags with their attributes."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_page_holds_everything_and_hostile_text_makes_no_markup(finished):
    plan = [step("t", "train", HOSTILE, writes=finished)]
    facts = write_page(finished, plan, {"t": 1.25}, 1.25)
    assert json.loads((finished / "report.json").read_text()) == facts
    assert (facts["seconds"], facts["train_seconds"]) == (1.2, 3.0)
    assert facts["corpora"]["web"]["records"] == 1
    text = (finished / "report.html").read_text(encoding="utf-8")
    parsed = Tags()
    parsed.feed(text)
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert not any(key.startswith("on") for _, attrs in parsed.tags for key in attrs)
    pictures = [attrs["src"] for tag, attrs in parsed.tags if tag == "img"]
    assert len(pictures) == 4  # the plot, two held-out pictures, one drawing: the hostile one has none
    assert all(address.startswith("data:image/png;base64,") for address in pictures)
    assert text.count("not drawn: ") == 1
    assert "the wrong picture costs 12.5 nats" in text
    assert "+0.500 nats a token (95 %: +0.400 to +0.600; 3 pairs)" in text
    assert "<b>read:</b> too short 4, &lt;/pre&gt;" in text  # most first, parted by commas, under their stage
    (content,) = [attrs["content"] for _, attrs in parsed.tags if "http-equiv" in attrs]
    assert "script-src 'none'" in content
    assert text.count("alert(2)") == 3 + 1 + 1 + 2  # reasons, prompt's text, command, truth and written: all as text
    assert text.count("&lt;img src=x") == text.count("alert(2)")
