import io
import json
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
from trivium.pipelines.train.checkpoint import CheckpointStore
from trivium.pipelines.train.sample import Sampling, load_writer, pick
from trivium.vision.preprocess import normalise


@pytest.fixture(scope="module")
def writer(trained):
    return load_writer(trained[0])


@pytest.fixture(scope="module")
def picture(prepared):
    return prepared.sets["icons"].read_media(0, "i0.png")


def test_the_likeliest_text_is_what_a_pass_over_everything_says(writer):
    """The cached path: each token written must be the argmax of a plain forward pass over all tokens before it."""
    drawn = writer.write("The ", None, Sampling(tokens=12, temperature=0.0))
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
    opening = writer._opening(segments[1].text, picture)
    assert opening.tokens.tolist() == (laid.tokens[:-1] & 0x7FFFFFFF).tolist()  # all but [EOS]
    assert torch.equal(opening.patches[0], normalise(prepared.assembler().pictures("icons", 0).patches[0]))


def test_the_picture_reaches_what_is_written(writer, picture):
    other = io.BytesIO()
    Image.new("RGB", (56, 56), "red").save(other, "PNG")
    tokens, shown, allowed = [], [], writer._allowed(400)
    for seen in (picture, other.getvalue()):
        opening = writer._opening("", seen)
        tokens.append(opening.tokens.tolist())
        with torch.no_grad():
            shown.append(writer.model.logits(collate([opening], writer.tokenizer.media_pad))[-1][allowed])
    assert tokens[0] == tokens[1]
    assert not torch.equal(shown[0], shown[1])


def test_equal_seeds_write_equal_text(writer):
    first = writer.write("A ", None, Sampling(tokens=20, seed=3))
    assert writer.write("A ", None, Sampling(tokens=20, seed=3)).text == first.text
    assert writer.write("A ", None, Sampling(tokens=20, seed=4)).text != first.text


@given(seed=st.integers(0, 50), temperature=st.sampled_from([0.0, 0.5, 5.0]), top_p=st.sampled_from([0.1, 0.9, 1.0]))
def test_what_is_not_allowed_never_comes_out(seed, temperature, top_p):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(30, generator=generator)
    logits[::2] += 100.0  # the model wants them badly
    allowed = torch.arange(30) % 2 == 1
    assert allowed[pick(logits, allowed, temperature, top_p, generator)]


def test_top_p_keeps_the_smallest_set_of_that_mass():
    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    everything = torch.ones(4, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    seen = {pick(logits, everything, 1.0, 0.7, generator) for _ in range(300)}
    assert seen == {0, 1}
    assert {pick(logits, everything, 1.0, 0.2, generator) for _ in range(50)} == {0}


def test_specials_are_never_written(writer):
    with torch.no_grad():
        before = writer.model.backbone.head.weight.clone()
        for name, token in writer.tokenizer.specials.items():
            if name != "[EOS]":
                writer.model.backbone.head.weight[token] += 50.0
    try:
        drawn = writer.write("The ", None, Sampling(tokens=30, temperature=1.5, top_p=1.0))
    finally:
        with torch.no_grad():
            writer.model.backbone.head.weight.copy_(before)
    assert not any(name in drawn.text for name in writer.tokenizer.specials)


def test_the_command_prints_text_and_facts(trained, picture, tmp_path):
    shown = tmp_path / "icon.png"
    shown.write_bytes(picture)
    run = CliRunner().invoke(app, ["sample", str(trained[0]), "--image", str(shown), "--tokens", "8", "--json"])
    assert run.exit_code == 0, run.output
    facts = json.loads(run.stdout)
    assert facts.keys() >= {"text", "tokens", "tokens_per_second", "prompt_tokens", "ended", "step"}
    plain = CliRunner().invoke(app, ["sample", str(trained[0]), "--prompt", "The ", "--tokens", "8"])
    assert plain.stdout.startswith("The ")
    assert "tok/s" in plain.stderr
    assert "begins a document of its own" not in plain.stderr
    bare = CliRunner().invoke(app, ["sample", str(trained[0]), "--tokens", "2"])
    assert "begins a document of its own" in bare.stderr
    assert "begins" not in CliRunner().invoke(app, ["sample", str(trained[0]), "--tokens", "2", "--prompt", ""]).stderr


def test_documents_written_together_are_those_written_alone(writer, picture):
    """Each stops at its own end and draws from the seed as if alone."""
    openings = [("The ", None), ("", picture), ("A longer prompt, of more tokens than the first ", None)]
    sampling = Sampling(tokens=24, temperature=1.0, seed=5)
    together = writer.write_together(openings, sampling)
    for drawn, (prompt, shown) in zip(together, openings, strict=True):
        alone = writer.write(prompt, shown, sampling)
        assert (drawn.text, drawn.tokens, drawn.ended, drawn.prompt_tokens) == (
            alone.text, alone.tokens, alone.ended, alone.prompt_tokens,
        )  # fmt: skip
    with torch.no_grad():
        before = writer.model.backbone.head.weight.clone()
        writer.model.backbone.head.weight[writer.tokenizer.eos] += 1.0
    try:
        ends = writer.write_together(openings * 2, Sampling(tokens=60, temperature=1.0))
    finally:
        with torch.no_grad():
            writer.model.backbone.head.weight.copy_(before)
    assert all(drawn.ended == (drawn.tokens < 60) for drawn in ends)
    assert not any("[EOS]" in drawn.text for drawn in ends)


def test_refusals_name_their_cure(trained, writer, tmp_path):
    with pytest.raises(InputError, match="neither a run folder with checkpoints nor a checkpoint"):
        load_writer(tmp_path)
    with pytest.raises(UsageError, match="top-p above 0"):
        Sampling(top_p=0.0)
    with pytest.raises(InputError, match="not a picture in a format"):
        writer.write("x", b"no picture", Sampling())
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
    assert load_writer(copy).step == older
    assert store.path(newest).is_dir()  # sampling sets nothing aside
    with pytest.raises(CheckpointError, match="is damaged"):
        load_writer(store.path(newest))
