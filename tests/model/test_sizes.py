"""Parameters against the released headers, FLOPs against a counted pass, the command's two forms."""

import json
import re

import pytest
import torch
from typer.testing import CliRunner

from trivium.cli import app
from trivium.errors import ConfigError, UsageError
from trivium.model.presets import configure, preset
from trivium.model.sizes import flops, measure


def test_k3_counts_to_the_unit():
    sizes = measure(preset("k3"))
    parts = sizes.parameters.parts
    assert sizes.parameters.total == 2_779_931_837_184
    assert sizes.parameters.activated == 104_189_614_848
    assert parts["routed_experts"] == 2_722_740_830_208
    assert parts["vision"] == 401_214_464
    assert parts["projector"] == 46_144_512
    assert parts["mtp"] == pytest.approx(30.1e9, rel=0.002)
    assert sum(parts.values()) - parts["mtp"] == sizes.parameters.total
    assert sum(layer.parameters for layer in sizes.layers) == sizes.parameters.total - (
        parts["embedding"] + parts["head"] + parts["vision"] + parts["projector"] + 3 * 7168
    )


def test_k2_is_the_published_size():
    sizes = measure(preset("k2"))
    # 1.04 T holds the MTP layer. 32.6 B lies between the head's count alone and both vocabulary matrices.
    assert round((sizes.parameters.total + sizes.parameters.parts["mtp"]) / 1e12, 2) == 1.04
    assert sizes.parameters.activated < 32.6e9 < sizes.parameters.activated + sizes.parameters.parts["embedding"]
    assert sizes.parameters.activated == pytest.approx(32.6e9, rel=0.03)


@pytest.mark.parametrize(
    ("name", "total", "activated"),
    [("tiny", 0.34e9, 50e6), ("small", 1.9e9, 250e6), ("base", 7.5e9, 1.0e9)],
)
def test_scaled_down_members(name, total, activated):
    sizes = measure(preset(name))
    assert sizes.parameters.total == pytest.approx(total, rel=0.03)
    assert sizes.parameters.activated == pytest.approx(activated, rel=0.03)
    config = preset(name).backbone
    assert config.layers % 4 == 1
    assert config.width / config.kda.heads == pytest.approx(7168 / 96, rel=0.01)
    assert config.moe.latent * 2 == config.width
    assert config.moe.hidden == 3 * config.width // 7
    assert config.dense_hidden == 11 * config.moe.hidden


def test_every_part_of_a_built_model_is_counted(small):
    model = small.build()
    built = sum(p.numel() for p in model.parameters()) + sum(b.bias.numel() for b in model.balances().values())
    sizes = measure(small)
    assert sum(sizes.parameters.parts.values()) == built


def test_flops_grow_with_the_context_by_attention_alone():
    short, long = (flops(preset("k3"), context) for context in (8192, 1048576))
    assert short.matrices == long.matrices
    assert long.attention == 128 * short.attention == 24 * 96 * 320 * 1048576
    assert short.attention / short.forward == pytest.approx(0.028, abs=0.001)


def test_describe_prints_facts_and_tables():
    run = CliRunner().invoke(app, ["model", "describe", "k3", "--json"])
    facts = json.loads(run.stdout)
    assert facts["parameters"]["total"] == 2_779_931_837_184
    assert facts["parameters"]["activated"] == 104_189_614_848
    assert len(facts["layers"]) == 93
    table = CliRunner().invoke(app, ["model", "describe", "k3"])
    assert table.exit_code == 0
    layers = table.stdout[: table.stdout.index("k3: parameters")]
    assert layers.count(" KDA ") == 2  # one row for the dense layer, one for the others
    assert layers.count(" MLA ") == 1
    assert "× 68" in layers
    assert "1-2, 4-6" in layers
    assert len(layers.splitlines()) < 30
    assert "q_b_proj" not in table.stdout


def test_the_optimizer_listing_has_one_row_a_name_and_holds_every_parameter():
    run = ["model", "describe", "nano", "--set", "backbone.layers=9", "--optimizer"]
    shown = CliRunner().invoke(app, run).stdout
    groups = json.loads(CliRunner().invoke(app, [*run, "--json"]).stdout)["optimizer"]
    assert sum(int(count) for count in re.findall(r"\((\d+) tensors\)", shown)) == len(groups)
    rows = re.findall(r"^ ?((?:backbone|vision|projector)\S*) +(\d+) ", shown, flags=re.MULTILINE)
    assert sum(int(count) for _, count in rows) == len(groups)
    assert len(set(rows)) == len(rows) < len(groups) / 2
    assert "activated" not in shown
    assert shown.index("muon: kda heads") < shown.index("adamw")


def test_the_optimizer_listing_goes_by_the_family_and_by_the_run(tmp_path):
    """K2's Muon takes whole matrices, and so does a run that says so; nothing is listed as it is not updated."""
    (tmp_path / "run.yaml").write_text(
        "version: 1\nschedule: s.yaml\ncorpora: c\nmodel: {preset: nano}\n"
        "optimizer: {per_head: false, adamw_also: ['projector\\.fc0\\.weight']}\n"
    )

    def splits(*arguments):
        done = CliRunner().invoke(app, ["model", "describe", *arguments, "--optimizer", "--json"])
        assert done.exit_code == 0, done.output
        return {row["name"]: (row["optimizer"], row["split"]) for row in json.loads(done.stdout)["optimizer"]}

    heads = {split for _, split in splits("nano").values() if "heads" in split}
    assert heads
    for whole in (splits("k2-nano"), splits("nano", "--set", "optimizer.per_head=false")):
        assert not {split for _, split in whole.values() if "heads" in split}
    run = splits(str(tmp_path / "run.yaml"))
    assert run["projector.fc0.weight"][0] == "adamw"
    assert not {split for _, split in run.values() if "heads" in split}
    shown = CliRunner().invoke(app, ["model", "describe", "k2-nano", "--optimizer"]).stdout
    assert "muon takes whole matrices, as K2 (optimizer.per_head is false)" in shown


def test_presets_take_changes_and_refuse_wrong_ones():
    changed = configure({"preset": "nano", "backbone": {"vocab": 4096, "kda": {"heads": 4}}}, name="run.yaml")
    assert (changed.backbone.vocab, changed.backbone.kda.heads, changed.backbone.kda.head_dim) == (4096, 4, 64)
    with pytest.raises(ConfigError, match="did you mean 'heads'"):
        configure({"preset": "nano", "backbone": {"kda": {"haeds": 4}}}, name="run.yaml")
    with pytest.raises(UsageError, match="no preset 'mega'; known: nano, tiny"):
        preset("mega")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("vision.head_dim=62", "head_dim is 62; give a multiple of 4"),
        ("vision.heads=0", "heads is 0; give at least 1"),
        ("vision.width=0", "width is 0; give at least 1"),
    ],
)
def test_a_tower_that_could_not_run_is_refused_when_it_is_described(change: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configure({"preset": "nano"}, name="--set", overrides=(change,))
    odd = configure({"preset": "nano"}, name="--set", overrides=("vision.width=101",))  # no multiple of the heads
    assert odd.vision is not None
    patches_PC, grids_I3 = torch.zeros(16, 588), torch.tensor([[1, 4, 4]])
    tower = odd.vision.build()
    with torch.no_grad():
        for parameter in tower.parameters():
            parameter.zero_()
    assert tower(patches_PC, grids_I3).isfinite().all()
