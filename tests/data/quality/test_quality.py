"""Features against a slow definition, learning on texts with a known answer, the file, the stage, the command line."""

import json
import random
import re
from itertools import chain

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.config import from_mapping
from trivium.data.quality.features import FeatureSpec, features, tokens
from trivium.data.quality.labelled import labelled
from trivium.data.quality.model import VERSION, read_model
from trivium.data.quality.stage import Quality
from trivium.data.quality.training import _sides, train
from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.errors import ConfigError, InputError

PROSE = re.findall(r"\w+", "the river ran slowly past old mills while people talked about harvests and long winters")
LISTS = re.findall(r"\w+", "index next previous module function class returns parameter see also table contents page")


def seeds(count: int = 240) -> list[tuple[str, str, str]]:
    """Texts of two kinds that share words; each twice as likely to take its own."""
    dice = random.Random(5)
    found = []
    for number in range(count):
        own, other = (PROSE, LISTS) if number % 2 else (LISTS, PROSE)
        words = [dice.choice(own if dice.random() < 0.7 else other) for _ in range(60)]
        found.append((" ".join(words) + f" {number}.", "good" if number % 2 else "bad", ""))
    return found


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("quality") / "small.tq"
    train([*seeds(), ("twice", "good", ""), ("twice", "bad", "")], "good", path, FeatureSpec(bits=12))
    return path


def slow_tokens(text: str) -> list[str]:
    """Runs of letters, runs of digits (each a 0), single symbols; lower case."""
    canonical = "".join("0" if c.isdecimal() else c.lower() if len(c.lower()) == 1 else c for c in text)
    return re.findall(r"0+|[^\W\d_]+|[^\w\s]|_", canonical)


@given(st.lists(st.text(alphabet=st.sampled_from("aB1. _\n\xa0é日Д-\u0130"), max_size=12), min_size=2, max_size=2))
def test_equal_tokens_have_equal_hashes_and_only_they(texts):
    hashes = [tokens(text).tolist() for text in texts]
    words = [slow_tokens(text) for text in texts]
    assert [len(part) for part in hashes] == [len(part) for part in words]
    known = dict(zip(chain(*words), chain(*hashes), strict=True))
    assert [[known[word] for word in part] for part in words] == hashes
    assert len(set(known.values())) == len(known)


def test_features_are_all_ngrams_and_do_not_hang_on_the_place():
    spec = FeatureSpec(bits=20, ngrams=3)
    assert len(features("a b c d", spec)) == 4 + 3 + 2
    assert len(features("", spec)) == 0
    once = set(features("one two three", spec).tolist())
    assert once <= set(
        features("x " * 30_000 + "one two three", msgspec.structs.replace(spec, characters=100_000)).tolist()
    )
    assert not once & set(features("three two one", FeatureSpec(bits=20, ngrams=3)).tolist()) - set(
        features("three two one", FeatureSpec(bits=20, ngrams=1)).tolist()
    )
    assert len(features("word " * 100, FeatureSpec(characters=100, ngrams=1))) == 20
    # Golden: a change here makes every model's file useless, so VERSION must change with it.
    assert features("Hello, World 42!", FeatureSpec()).tolist() == GOLDEN


GOLDEN = [170571, 105756, 78342, 155688, 34883, 66827, 94774, 210226, 169903]


def test_it_learns_what_tells_the_kinds_apart(model_file):
    model = read_model(model_file)
    assert model.header.texts == {"bad": 120, "good": 120}
    assert model.header.contradicted == 1
    held = model.header.held_out
    assert held.auc > 0.95
    assert 20 < held.positive + held.negative < 80
    assert [row.recall for row in held.rows] == sorted((row.recall for row in held.rows), reverse=True)
    assert model.score(" ".join(PROSE)) > 0.9 > 0.1 > model.score(" ".join(LISTS))
    assert model.score("") == model.score(" \n") == 0.0


def test_a_group_is_on_one_side():
    grouped = [(text, label, f"site {number % 30}") for number, (text, label, _) in enumerate(seeds(600))]
    _, sides = _sides(grouped, "good")
    where = [{group for text, _, group in grouped if text in set(side.texts)} for side in sides]
    assert sum(map(len, where)) == 30
    assert sum(len(side.texts) for side in sides) == 600


def test_probabilities_mean_what_they_say(model_file):
    """Of texts with a score near p, a share near p is good: the calibration, on new texts of the same two kinds."""
    model = read_model(model_file)
    fresh = [(text.replace(" 1", " 7"), label) for text, label, _ in seeds(700)[240:]]
    scores = np.array([model.score(text) for text, _ in fresh])
    truth = np.array([label == "good" for _, label in fresh])
    assert abs(scores.mean() - truth.mean()) < 0.05
    assert abs(scores[scores > 0.5].mean() - truth[scores > 0.5].mean()) < 0.07


def test_the_same_seeds_give_the_same_file_in_any_order(model_file, tmp_path):
    shuffled = [*seeds(), ("twice", "good", ""), ("twice", "bad", "")][::-1]
    train([*shuffled, *shuffled[:5]], "good", tmp_path / "b.tq", FeatureSpec(bits=12))
    assert (tmp_path / "b.tq").read_bytes() == model_file.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda raw: raw.replace(b"quality 1\n", b"quality 9\n", 1),
            f"version '9' and this code reads version {VERSION}",
        ),
        (lambda raw: b"\x00" + raw, "is no quality model"),
        (lambda raw: raw[:-40], "damaged"),
        (lambda raw: raw.replace(b'"bits":12', b'"bits":11', 1), "weights where"),
    ],
)
def test_other_files_are_refused_by_name(model_file, tmp_path, change, message):
    path = tmp_path / "other.tq"
    path.write_bytes(change(model_file.read_bytes()))
    with pytest.raises(InputError, match=message):
        read_model(path)


def run(path, text: str, language: str = "en", **config) -> Draft | Drop:
    raw = Raw(corpus="c", domain="web", source="s", address="a", license="x", body=b"", mime="", language=language)
    item = Draft(document=Document(segments=(Text(text=text),), meta=raw.meta(source_sha256="")))
    (outcome,) = (
        from_mapping({"kind": "quality", "path": str(path), **config}, Quality.Config, name="r").build().process(item)
    )
    return outcome


def test_the_stage_writes_scores_and_decides_by_the_recipe(model_file, tmp_path):
    bad, good = " ".join(LISTS), " ".join(PROSE)
    kept = run(model_file, bad)
    assert kept.document.meta.scores["quality"] < 0.1
    copied = tmp_path / "elsewhere.tq"
    copied.write_bytes(model_file.read_bytes())
    assert run(copied, bad).document.meta.lineage == kept.document.meta.lineage  # content, not place
    train(seeds(280), "good", tmp_path / "other.tq", FeatureSpec(bits=12))
    assert run(tmp_path / "other.tq", bad).document.meta.lineage != kept.document.meta.lineage
    policy = [{"min": 0.5, "languages": ["en"]}]
    drop = run(model_file, bad, policy=policy)
    assert (drop.reason, drop.scores) == ("low_quality", kept.document.meta.scores)
    assert isinstance(run(model_file, good, policy=policy), Draft)
    assert isinstance(run(model_file, bad, "de", policy=policy), Draft)
    assert run(model_file, good, policy=[{"max": 0.5, "reason": "too_good"}]).reason == "too_good"
    assert "quality_x" in run(model_file, good, score="quality_x").document.meta.scores
    for wrong in ({"policy": [{"min": 2}]}, {"policy": [{}]}, {"score": "words"}):
        with pytest.raises(ConfigError):
            run(model_file, good, **wrong)


def test_the_command_line(model_file, tmp_path):
    lines = [json.dumps({"text": text, "label": label}) for text, label, _ in seeds()]
    (tmp_path / "seeds.jsonl").write_text("\n".join(lines))
    runner = CliRunner()
    told = runner.invoke(
        app, ["quality", "train", str(tmp_path / "seeds.jsonl"), "--label", "good", "--bits", "12", "--json",
              "--out", str(tmp_path / "m.tq")]
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["header"]["held_out"]["auc"] > 0.95
    assert "AUC" in runner.invoke(app, ["quality", "show", str(tmp_path / "m.tq")]).stdout
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text(" ".join(PROSE))
    (tmp_path / "texts/b.txt").write_text(" ".join(LISTS))
    told = runner.invoke(app, ["quality", "score", str(tmp_path / "m.tq"), str(tmp_path / "texts"), "--json"])
    first, second = (row["score"] for row in json.loads(told.stdout)["scores"])
    assert first > 0.8 > 0.2 > second
    assert isinstance(runner.invoke(app, ["quality", "train", "--out", "x"]).exception, Exception)
    (tmp_path / "bad.jsonl").write_text('{"text": "a", "label": "good"}\n{"text": 3}\n')
    with pytest.raises(InputError, match=r"bad.jsonl:2"):
        list(labelled([tmp_path / "bad.jsonl"]))
    with pytest.raises(InputError, match="too few texts"):
        train(seeds(20), "good", tmp_path / "x.tq", FeatureSpec(bits=12))
    with pytest.raises(InputError, match="labels are: bad, good"):
        train(seeds(20), "best", tmp_path / "x.tq", FeatureSpec(bits=12))
