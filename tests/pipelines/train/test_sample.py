import io
import json
import re
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.records import Image as ImageSegment
from trivium.data.records import Text
from trivium.data.tokenizers import tokenize_document
from trivium.errors import CheckpointError, InputError, UsageError
from trivium.model.batch import Sample, collate
from trivium.model.sampling import Sampling, pick
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.sample import Opening, Words, load_writer
from trivium.vision.preprocess import normalise


@pytest.fixture(scope="module")
def picture(prepared):
    return prepared.sets["icons"].read_media(0, "i0.png")


def test_the_likeliest_text_is_what_a_pass_over_everything_says(writer):
    """The cached path: each token written must be the argmax of a plain forward pass over all tokens before it."""
    drawn = writer.write(Opening("The "), Sampling(tokens=12, temperature=0.0))
    ids = [writer.tokenizer.bos, *writer.tokenizer.encode("The ")]
    allowed = writer._allowed(writer.model.config.backbone.vocab)
    expected = []
    for _ in range(drawn.tokens):
        batch = collate([Sample(np.array(ids), np.zeros(len(ids), bool))], writer.tokenizer.media_pad)
        with torch.no_grad():
            logits = writer.model.logits(batch)[-1]
        ids.append(int(logits.masked_fill(~allowed, -torch.inf).argmax()))
        expected.append(ids[-1])
    assert drawn.text == writer.tokenizer.decode(expected)
    assert drawn.tokens == 12


def test_a_picture_opens_the_document_as_the_corpus_does(writer, prepared, picture):
    document = prepared.sets["icons"].read_document(0)
    segments = document.segments
    assert isinstance(segments[0], ImageSegment)
    assert isinstance(segments[1], Text)
    laid = tokenize_document(document, writer.tokenizer, writer.rules)
    opening = writer.read(Opening(segments[1].text, [picture]))
    assert opening.tokens.tolist() == (laid.tokens[:-1] & 0x7FFFFFFF).tolist()  # all but [EOS]
    assert torch.equal(opening.patches[0], normalise(prepared.assembler().pictures("icons", 0).patches[0]))


def test_the_picture_reaches_what_is_written(writer, picture):
    other = io.BytesIO()
    Image.new("RGB", (56, 56), "red").save(other, "PNG")
    tokens, shown, allowed = [], [], writer._allowed(400)
    for seen in (picture, other.getvalue()):
        opening = writer.read(Opening(pictures=[seen]))
        tokens.append(opening.tokens.tolist())
        with torch.no_grad():
            shown.append(writer.model.logits(collate([opening], writer.tokenizer.media_pad))[-1][allowed])
    assert tokens[0] == tokens[1]
    assert not torch.equal(shown[0], shown[1])


def test_equal_seeds_write_equal_text(writer):
    first = writer.write(Opening("A "), Sampling(tokens=20, seed=3))
    assert writer.write(Opening("A "), Sampling(tokens=20, seed=3)).text == first.text
    assert writer.write(Opening("A "), Sampling(tokens=20, seed=4)).text != first.text


@given(
    seed=st.integers(0, 50),
    temperature=st.sampled_from([0.0, 1e-3, 0.5, 5.0, 1e9]),
    top_p=st.sampled_from([1e-9, 0.1, 0.9, 1.0]),
    top_k=st.sampled_from([None, 1, 20, 99]),
)
def test_what_is_not_allowed_never_comes_out(seed, temperature, top_p, top_k):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(30, generator=generator)
    logits[::2] += 100.0  # the model wants them badly
    allowed = torch.arange(30) % 2 == 1
    sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k)
    assert allowed[pick(logits, allowed, sampling, generator)]


def test_top_p_and_top_k_keep_the_likeliest_in_proportion():
    logits, everything = torch.log(torch.tensor([0.15, 0.5, 0.05, 0.3])), torch.ones(4, dtype=torch.bool)

    def shares(**options):
        generator = torch.Generator().manual_seed(0)
        sampling = Sampling(**{"temperature": 1.0, "top_p": 1.0, **options})
        return np.bincount([pick(logits, everything, sampling, generator) for _ in range(800)], minlength=4) / 800

    np.testing.assert_allclose(shares(), [0.15, 0.5, 0.05, 0.3], atol=0.06)
    np.testing.assert_allclose(shares(top_p=0.7), [0, 0.625, 0, 0.375], atol=0.06)
    np.testing.assert_allclose(shares(top_k=2), [0, 0.625, 0, 0.375], atol=0.06)
    np.testing.assert_allclose(shares(temperature=0.5, top_k=2), [0, 0.25 / 0.34, 0, 0.09 / 0.34], atol=0.06)
    for one in (shares(top_p=0.2), shares(top_k=1), shares(temperature=0.0)):
        assert one.tolist() == [0, 1, 0, 0]


@given(st.text("abé\u20ac", max_size=30), st.lists(st.text("abé", min_size=1, max_size=4), max_size=3), st.data())
def test_text_comes_out_whole_and_ends_before_the_first_stop(text, stops, data):
    """However the bytes are cut: what came out is the text up to the first stop, and none of it is taken back."""
    payload, words, shown = text.encode(), Words(stops), ""
    while payload:
        size = data.draw(st.integers(1, len(payload)))
        shown += words.push(payload[:size])
        payload = payload[size:]
        assert shown == words.text
        assert text.startswith(shown)
    shown += words.push(b"", last=True)
    places = [text.find(stop) for stop in stops if stop in text]
    # A stop that is complete ends the text, even where an earlier one would have begun that needs more characters.
    ends = sorted((text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text)
    assert words.stopped == bool(places)
    assert shown == words.text == (text if not places else shown)
    assert not any(stop in shown for stop in stops)
    if places:
        assert len(shown) in {start for _, start in ends}


def test_specials_are_never_written(writer):
    with torch.no_grad():
        before = writer.model.backbone.head.weight.clone()
        for name, token in writer.tokenizer.specials.items():
            if name != "[EOS]":
                writer.model.backbone.head.weight[token] += 50.0
    try:
        drawn = writer.write(Opening("The "), Sampling(tokens=30, temperature=1.5, top_p=1.0))
    finally:
        with torch.no_grad():
            writer.model.backbone.head.weight.copy_(before)
    assert not any(name in drawn.text for name in writer.tokenizer.specials)


def test_the_command_prints_text_and_facts(trained, picture, tmp_path):
    shown = tmp_path / "icon.png"
    shown.write_bytes(picture)
    run = CliRunner().invoke(app, ["sample", str(trained[0]), "--image", str(shown), "--max-tokens", "8", "--json"])
    assert run.exit_code == 0, run.output
    facts = json.loads(run.stdout)
    (one,) = facts["samples"]
    assert one.keys() >= {"text", "tokens", "tokens_per_second", "prompt_tokens", "ended", "stopped", "seed"}
    assert facts["step"] > 0
    plain = CliRunner().invoke(app, ["sample", str(trained[0]), "--prompt", "The ", "--max-tokens", "8"])
    assert plain.stdout.startswith("The ")
    assert "tok/s" in plain.stderr
    assert "begins a document of its own" not in plain.stderr
    bare = CliRunner().invoke(app, ["sample", str(trained[0]), "--max-tokens", "2"])
    assert "begins a document of its own" in bare.stderr
    assert (
        "begins" not in CliRunner().invoke(app, ["sample", str(trained[0]), "--max-tokens", "2", "--prompt", ""]).stderr
    )


def test_documents_written_together_are_those_written_alone(writer, picture):
    """Each stops at its own end and draws from the seed as if alone."""
    longer = "A longer prompt, of more tokens than the first "
    openings = [Opening("The "), Opening(pictures=[picture]), Opening(longer), Opening("Two ", [picture, picture])]
    samplings = [Sampling(tokens=tokens, temperature=1.0, seed=tokens) for tokens in (24, 3, 30, 9)]
    together = writer.write_together(openings, samplings)
    for drawn, opening, sampling in zip(together, openings, samplings, strict=True):
        alone = writer.write(opening, sampling)
        assert (drawn.text, drawn.tokens, drawn.ended, drawn.prompt_tokens) == (
            alone.text, alone.tokens, alone.ended, alone.prompt_tokens,
        )  # fmt: skip
    with torch.no_grad():
        before = writer.model.backbone.head.weight.clone()
        writer.model.backbone.head.weight[writer.tokenizer.eos] += 1.0
    try:
        ends = writer.write_together(openings * 2, [Sampling(tokens=60, temperature=1.0)] * 8)
    finally:
        with torch.no_grad():
            writer.model.backbone.head.weight.copy_(before)
    assert all(drawn.ended == (drawn.tokens < 60) for drawn in ends)
    assert not any("[EOS]" in drawn.text for drawn in ends)


def test_a_picture_is_decoded_by_a_guarded_process_alone(writer, picture, monkeypatch):
    """Strangers' bytes meet no decoder in the process that holds the model."""
    monkeypatch.setattr("trivium.vision.pixels._open", None)
    monkeypatch.setattr("PIL.Image.open", None)
    assert len(writer.read(Opening(pictures=[picture])).patches) == 1
    assert writer.decoders.starts >= 1


def test_the_command_streams_stops_and_counts(trained, tmp_path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("The ")
    base = ["sample", str(trained[0]), "--max-tokens", "12", "--seed", "7"]
    facts = json.loads(CliRunner().invoke(app, [*base, "--prompt-file", str(prompt), "--count", "3", "--json"]).stdout)
    assert [one["seed"] for one in facts["samples"]] == [7, 8, 9]
    texts = [one["text"] for one in facts["samples"]]
    assert len(set(texts)) == 3
    alone = CliRunner().invoke(app, [*base, "--prompt-file", "-"], input="The ")
    assert alone.stdout == f"The {texts[0]}\n"
    stop = texts[0][3:5]
    cut = CliRunner().invoke(app, [*base, "--prompt", "The ", "--stop", stop])
    assert cut.stdout == f"The {texts[0][: texts[0].index(stop)]}\n"
    assert "stopped at --stop" in cut.stderr
    for arguments, word in (
        (["--prompt", "x", "--prompt-file", str(prompt)], "give one"),
        (["--save", "x"], "--held-out"),
    ):
        assert word in str(CliRunner().invoke(app, [*base, *arguments]).exception)


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("notes.md", b"# Notes", "notes.md: not a picture in a format"),
        ("icon.svg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "icon.svg: an SVG; render it"),
    ],
)
def test_what_is_no_picture_is_named(trained, tmp_path, name, payload, said):
    (tmp_path / name).write_bytes(payload)
    run = CliRunner().invoke(app, ["sample", str(trained[0]), "--image", str(tmp_path / name)])
    assert said in str(run.exception)


def test_an_opening_beyond_the_longest_context_is_refused_before_it_is_read(trained, writer, tmp_path, monkeypatch):
    schedule = CheckpointStore(trained[0] / "checkpoints", keep=1)
    stages = verify(schedule.path(schedule.steps()[-1])).manifest.identity["schedule"]["stages"]
    assert writer.context == max(stage["context"] for stage in stages)
    shown = tmp_path / "big.png"
    Image.new("RGB", (1000, 1000)).save(shown)
    command = ["sample", str(trained[0]), "--image", str(shown), "--max-tokens", "1"]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, UsageError)
    side = int(re.search(r"scale each picture down to (\d+) × \1 pixels or fewer", str(error)).group(1))
    for pixels, fits in ((side, True), (side + 28, False)):
        Image.new("RGB", (pixels, pixels)).save(shown)
        sample = writer.read(Opening(pictures=[shown.read_bytes()]))
        assert (len(sample.tokens) <= writer.context) == fits
    with pytest.raises(UsageError, match=f"schedule trains with is {writer.context}; shorten the prompt"):
        writer.refuse_longer(writer.read(Opening("A word " * writer.context)))
    Image.new("RGB", (side, side)).save(shown)
    monkeypatch.setattr("trivium.commands.sample.LARGE", 1)
    patches = (side // 14) ** 2
    assert f"{patches:,} patches, {patches // 4:,} tokens" in CliRunner().invoke(app, command).stderr.replace("\n", " ")


def test_facts_hold_how_it_was_drawn_and_why_it_ended(trained):
    command = ["sample", str(trained[0]), "--prompt", "The ", "--temperature", "0", "--max-tokens", "3"]
    run = CliRunner().invoke(app, [*command, "--count", "2", "--top-k", "5", "--json"])
    first, second = json.loads(run.stdout)["samples"]
    drawn = {"prompt": "The ", "temperature": 0.0, "top_p": 0.95, "top_k": 5, "reason": "max_tokens"}
    assert {key: first[key] for key in drawn} == drawn
    assert first["text"] == second["text"]
    assert "all 2 samples are the same" in run.stderr
    stop = first["text"][:1]
    stopped = CliRunner().invoke(app, [*command, "--stop", stop, "--json"])
    assert json.loads(stopped.stdout)["samples"][0]["reason"] == "stop"
    assert "are the same" not in stopped.stderr


def test_refusals_name_their_cure(trained, writer, tmp_path):
    with pytest.raises(InputError, match="neither a run folder with checkpoints, nor a checkpoint, nor a folder of"):
        load_writer(tmp_path)
    for option, word in (
        ({"top_p": 0.0}, "top-p 0; give a mass above 0"),
        ({"top_p": 1.5}, r"top-p 1.5"),
        ({"top_k": 0}, "top-k 0; give at least 1"),
        ({"temperature": -1.0}, "temperature -1"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"tokens": 0}, "0 tokens"),
        ({"seed": -1}, "seed -1"),
        ({"stop": ("a", "")}, "an empty stop text"),
    ):
        with pytest.raises(UsageError, match=word):
            Sampling(**option)
    with pytest.raises(InputError, match="picture 1 of 1: not a picture in a format"):
        writer.write(Opening("x", [b"no picture"]), Sampling())
    copy = tmp_path / "run"
    shutil.copytree(trained[0], copy)
    (copy / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="give the tokenizer with --tokenizer"):
        load_writer(copy)


def test_one_checkpoint_folder_will_do_and_a_damaged_one_is_passed_over(trained, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(trained[0], copy)
    store = CheckpointStore(copy / "checkpoints", keep=2)
    older, newest = store.steps()[-2:]
    assert load_writer(store.path(older)).step == older
    (store.path(newest) / ".metadata").unlink()
    told: list[str] = []
    assert load_writer(copy, warn=told.append).step == older
    assert [f"taking the checkpoint before it, of step {older}" in one for one in told] == [True]
    assert store.path(newest).is_dir()  # sampling sets nothing aside
    with pytest.raises(CheckpointError, match="is damaged"):
        load_writer(store.path(newest))


def test_imported_weights_write_what_their_checkpoint_writes(trained, writer, tmp_path):
    """There and back through published names: sampled, described and planned by the folder alone."""
    there, back, tokenizer = tmp_path / "there", tmp_path / "back", trained[0] / "tokenizer.json"

    def trivium(*words):
        return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)

    assert trivium("model", "export", trained[0], there, "--dtype", "fp32").exit_code == 0
    with pytest.raises(InputError, match=r"published weights, which are read once: `trivium model import"):
        load_writer(there)
    assert trivium("model", "import", there, back).exit_code == 0
    with pytest.raises(InputError, match=r"back: holds no tokenizer\.json; give the tokenizer with --tokenizer"):
        load_writer(back)
    greedy = Sampling(tokens=8, temperature=0.0)
    imported = load_writer(back, tokenizer=tokenizer)
    assert (imported.step, imported.origin) == (None, "imported weights")
    assert imported.write(Opening("The "), greedy).text == writer.write(Opening("The "), greedy).text
    about = json.loads((back / "model.json").read_text())
    about["model"]["media_pad"] += 1
    (back / "model.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"has 400 ids and pictures at id \d+, the model of .* 400 and \d+; give"):
        load_writer(back, tokenizer=tokenizer)
    about["model"]["media_pad"] -= 1
    (back / "model.json").write_text(json.dumps(about))
    difference = trivium("model", "diff", trained[0], back, "--json")
    assert {one["key"] for one in json.loads(difference.stdout)["differences"]} <= {"optimizer.adamw_also"}
    assert json.loads(trivium("plan", back, "--gpus", 1, "--batch-tokens", 8192, "--json").stdout)
