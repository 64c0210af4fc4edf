"""What two configurations differ in: by key, by mechanism, in weight; and the page that lists the mechanisms."""

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.config import to_mapping
from trivium.model.mechanisms import MECHANISMS, differences
from trivium.model.presets import optimizer, preset
from trivium.model.sizes import measure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "model.md"


def run(*arguments):
    return CliRunner().invoke(app, ["model", "diff", *arguments])


def facts(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def test_the_families_differ_in_every_mechanism_but_what_both_have():
    found = facts("small", "k2-small", "--within", "2")
    named = {one["mechanism"] for one in found["differences"]}
    shared = {"decay bound", "multi-token prediction", "vision initialisation"}
    assert named == {mechanism.name for mechanism in MECHANISMS} - shared | {"size"}
    assert not found["equal"]
    assert found["within"]
    assert [one["mechanism"] for one in found["differences"]][-1] == "size"
    weight = {one["name"]: one for one in found["quantities"]}
    sizes = measure(preset("k2-small"), (8192,))
    assert weight["total parameters"]["b"] == sizes.parameters.total
    assert weight["FLOPs a token forwards"]["b"] == sizes.flops[0].forward
    assert weight["activated parameters"]["percent"] == pytest.approx(-1.2443, abs=1e-3)


def test_one_switch_is_one_difference():
    changes = ("backbone.kda.decay_bound=null", "model.backbone.activation=swiglu", "optimizer.per_head=false")
    for change in changes:
        found = facts("nano", "nano", "--set", change)["differences"]
        assert [(one["key"], one["b"]) for one in found] == [
            (change.removeprefix("model.").partition("=")[0], yaml.safe_load(change.partition("=")[2]))
        ]
    table = run("nano", "nano", *(part for change in changes for part in ("--set", change)))
    assert table.exit_code == 0
    assert re.search(r"decay bound +backbone\.kda\.decay_bound +-5 +null", table.stdout)
    assert re.search(r"total parameters +7,670,598 +7,670,598 +\+0\.00 %", table.stdout)


def test_equal_ones_are_said_to_be_equal_and_far_ones_fail():
    same = run("tiny", "tiny")
    assert (same.exit_code, same.stdout) == (0, "tiny and tiny are the same configuration\n")
    far = run("nano", "tiny", "--within", "2")
    assert far.exit_code == 1
    assert "further apart than 2 %: total parameters, activated parameters" in far.stdout


def test_files_are_compared_like_presets(tmp_path):
    (tmp_path / "model.yaml").write_text("preset: nano\nbackbone: {layers: 9}\n")
    found = facts("nano", str(tmp_path / "model.yaml"))
    assert [(one["key"], one["a"], one["b"]) for one in found["differences"]] == [("backbone.layers", 5, 9)]
    (tmp_path / "run.yaml").write_text(
        "version: 1\nschedule: s.yaml\ncorpora: c\nmodel: {preset: k2-nano}\nvision_init: {path: eyes}\n"
    )
    found = facts("k2-nano", str(tmp_path / "run.yaml"))
    eyes = {"path": str(tmp_path / "eyes"), "projector": False}
    assert [(one["mechanism"], one["b"]) for one in found["differences"]] == [("vision initialisation", eyes)]
    (tmp_path / "config.yaml").write_text(
        (tmp_path / "run.yaml").read_text() + "resolved: {model: {backbone: {vocab: 400}}}\n"
    )
    found = facts(str(tmp_path / "run.yaml"), str(tmp_path))
    assert [(one["key"], one["b"]) for one in found["differences"]] == [("backbone.vocab", 400)]
    wrong = run("nano", str(tmp_path / "none.yaml"))
    assert wrong.exit_code != 0
    assert "is no preset (nano, tiny, small, base, k3, k2-nano" in str(wrong.exception)


def test_describe_takes_what_diff_takes(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "version: 1\nschedule: s.yaml\ncorpora: c\nmodel: {preset: nano, backbone: {layers: 7}}\n"
        "resolved: {model: {backbone: {layers: 9}}}\n"
    )
    (tmp_path / "model.yaml").write_text("preset: nano\nbackbone: {layers: 9}\n")
    expected = measure(preset("nano")).parameters.total
    totals = []
    for arguments in (
        ["nano", "--set", "backbone.layers=9"],
        ["nano", "--set", "model.backbone.layers=9"],
        [str(tmp_path / "model.yaml")],
        [str(tmp_path)],
    ):
        described = CliRunner().invoke(app, ["model", "describe", *arguments, "--json"])
        totals.append(json.loads(described.stdout)["parameters"]["total"])
    assert len(set(totals)) == 1
    assert totals[0] > expected
    aside = CliRunner().invoke(app, ["model", "describe", "nano", "--set", "optimizer.eps=1e-7"])
    assert "is of the optimizer, which counts change nothing of; add --optimizer" in str(aside.exception)
    torn = CliRunner().invoke(app, ["model", "describe", "nano", "--set", "foo"])
    assert "--set 'foo': expected KEY=VALUE" in str(torn.exception)


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("empty/none.txt", b"", "is a folder without config.yaml, so it holds no run and no model; give"),
        ("recipe.yaml", b"version: 1\ncorpus: web\n", "is YAML without a model; give"),
        ("notes.yaml", b"- one\n", "is YAML without a model; give"),
        ("notes.md", b"a: b: c\n", "holds no model; give"),
        ("picture.png", b"\x89PNG\xff", "is no text"),
    ],
)
@pytest.mark.parametrize("command", [["describe"], ["diff", "nano"]])
def test_a_path_without_a_model_is_said_to_have_none(tmp_path, command, name, payload, said):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(payload)
    given = path.parent if name.startswith("empty") else path
    assert said in str(CliRunner().invoke(app, ["model", *command, str(given)]).exception)


def test_a_section_that_one_side_lacks_is_one_difference():
    found = differences(to_mapping(preset("nano")), {**to_mapping(preset("nano")), "vision": None})
    assert [(one.mechanism, one.key, one.b) for one in found] == [("tower", "vision", None)]


def test_the_page_lists_each_key_with_both_families_values():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if re.match(r"\| [^|]+ \| `(?:backbone|optimizer|vision_init)", line)
    ]
    keys = [row[1].strip("`") for row in rows]
    assert keys == [key for mechanism in MECHANISMS for key in mechanism.keys]
    told = {key: mechanism.report for mechanism in MECHANISMS for key in mechanism.keys}
    for name, column in (("k3", 2), ("k2", 3)):
        plain = {**to_mapping(preset(name)), "optimizer": to_mapping(optimizer(name)), "vision_init": None}
        for row, key in zip(rows, keys, strict=True):
            value = plain
            for part in key.split("."):
                value = value[part]
            if row[column]:
                assert yaml.safe_load(row[column].strip("`")) == value, (name, key)
            else:
                assert name == "k2"
    for row, key in zip(rows, keys, strict=True):
        assert set(re.findall(r"2\.\d(?:\.\d)?|Table 1", row[5])) <= set(
            re.findall(r"2\.\d(?:\.\d)?|Table 1", told[key])
        )


def test_the_page_tells_the_weights_that_are_counted():
    lines = re.findall(r"\| (\w+) \| `(\w+)` \| `([\w-]+)` \| (\S+) % \| (\S+) % \|", PAGE.read_text())
    assert [line[0] for line in lines] == ["nano", "tiny", "small", "base"]
    for _, ours, theirs, total, activated in lines:
        a, b = measure(preset(ours), (64,)).parameters, measure(preset(theirs), (64,)).parameters
        for told, x, y in ((total, a.total, b.total), (activated, a.activated, b.activated)):
            assert f"{100 * (y / x - 1):+.2f}".replace("-", "−") == told
