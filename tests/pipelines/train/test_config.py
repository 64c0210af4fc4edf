import hashlib
import shutil

import pytest
import torch

from trivium.errors import ConfigError, DigestError, InputError, UsageError
from trivium.pipelines.train.config import dump_resolved, load_run, reload_run
from trivium.pipelines.train.prepare import deterministic, prepare


def ready(place, *overrides):
    return prepare(load_run(place / "run.yaml", overrides), name="run.yaml", cache=None)


def test_paths_are_relative_to_the_file_and_set_to_the_cwd(built, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = load_run(built / "run.yaml", ["tokenizer=other/tokenizer.json"])
    assert run.schedule == str(built / "schedule.yaml")
    assert run.corpora == str(built / "corpora")
    assert run.tokenizer == str(tmp_path / "other/tokenizer.json")


def test_overrides_reach_every_section(built):
    run = load_run(
        built / "run.yaml", ["optimizer.momentum=0.9", "eval.every=3", "model.backbone.layers=3", "loss.mtp=0.1"]
    )
    assert (run.optimizer.momentum, run.eval.every, run.model["backbone"]["layers"], run.loss.mtp) == (0.9, 3, 3, 0.1)


def test_a_run_may_leave_the_choice_of_algorithms_to_torch(built):
    before = torch.are_deterministic_algorithms_enabled()
    for wanted in ("true", "false"):
        with deterministic(load_run(built / "run.yaml", [f"deterministic={wanted}", "threads=1"])):
            assert torch.are_deterministic_algorithms_enabled() is (wanted == "true")
    assert torch.are_deterministic_algorithms_enabled() is before


def test_the_resolved_form_reads_back(built):
    run = load_run(built / "run.yaml")
    assert reload_run(dump_resolved(run, {"model": {}}), "config.yaml") == run


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimzer.momentum=0.9", "did you mean 'optimizer'"),
        ("checkpoint.every_step=3", "did you mean 'every_steps'"),
        ("version=2", "this code reads runs of version 1"),
        ("grad_clip=0", "grad_clip is 0"),
        ("checkpoint.keep=0", "keep is 0"),
        ("loss.text=-1", "a weight is 0 or more"),
        ("eval.rows=0", "rows 1 or more"),
        ("threads=0", "threads is 0"),
        ("precision=fp16", "precision"),
    ],
)
def test_wrong_values_are_refused_with_their_key(built, override, message):
    with pytest.raises(ConfigError, match=message):
        load_run(built / "run.yaml", [override])


def test_vocabulary_and_media_id_come_from_the_corpora(prepared):
    assert prepared.model.backbone.vocab == prepared.vocabulary.size == 400
    assert prepared.model.media_pad == prepared.vocabulary.media_pad


@pytest.mark.parametrize("override", ["model.backbone.vocab=512", "model.media_pad=7"])
def test_a_model_of_another_vocabulary_is_refused(place, override):
    key = override.partition("=")[0]
    with pytest.raises(
        ConfigError, match=rf"{key}: is \d+, and the tokenizer of the corpora has \d+; leave the key out"
    ):
        ready(place, override)


def test_a_wrong_model_key_is_refused(place):
    with pytest.raises(ConfigError, match="did you mean 'layers'"):
        ready(place, "model.backbone.layer=3")
    with pytest.raises(UsageError, match="no preset 'nona'"):
        ready(place, "model.preset=nona")


def test_missing_parts_name_their_cure(place):
    shutil.move(place / "corpora" / "icons", place / "icons")
    with pytest.raises(InputError, match=r"corpora.icons: no folder .* `trivium build"):
        ready(place)
    shutil.rmtree(place / "tokenizer")
    shutil.move(place / "icons", place / "corpora" / "icons")
    with pytest.raises(InputError, match="`trivium tokenizer train`"):
        ready(place)
    (place / "schedule.yaml").unlink()
    with pytest.raises(InputError, match=r"schedule.yaml: can't be read"):
        ready(place)


def test_untokenised_corpora_name_the_command(place):
    shutil.rmtree(place / "corpora" / "help")
    shutil.copytree(place / "raw" / "help", place / "corpora" / "help")
    with pytest.raises(InputError, match="is not tokenised; run `trivium shards tokenize"):
        ready(place)


def test_another_tokenizer_is_refused_by_digest(place):
    file = place / "tokenizer" / "tokenizer.json"
    file.write_bytes(file.read_bytes() + b"\n")
    own = hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(DigestError, match=f"was tokenised with tokenizer .* is {own[:12]}"):
        ready(place)


def test_identity_knows_what_changes_a_step_and_nothing_else(place):
    before = ready(place).identity
    for same in ("eval.every=2", "checkpoint.keep=5", "threads=2"):
        assert ready(place, same).identity == before, same
    for other in ("seed=9", "loss.mtp=0.1", "grad_clip=2.0", "optimizer.momentum=0.9", "model.backbone.layers=3"):
        assert ready(place, other).identity != before, other


def test_moved_corpora_are_the_same_run(place):
    before = ready(place).identity
    shutil.move(place / "corpora", place / "moved")
    assert ready(place, f"corpora={place / 'moved'}").identity == before
