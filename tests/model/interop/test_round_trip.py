"""Export, import, export: no bit is lost, no byte depends on anything but the weights, nothing half is left behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.config import to_mapping
from trivium.errors import InputError
from trivium.model.interop import CheckpointSource, WeightsSource, export_model, import_model, load_weights
from trivium.model.interop.files import Folder
from trivium.model.joint import JointConfig, JointModel
from trivium.pipelines.train.checkpoint import CheckpointStore

Awake = Callable[..., JointModel]
SHARD = 300_000  # bytes


def saved(model: JointModel, run: Path) -> Path:
    """A checkpoint as the trainer writes it, with an optimizer's tensor that no export may carry."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors["optimizer/backbone.embed.weight/exp_avg"] = torch.ones(3)
    store = CheckpointStore(run / "checkpoints", keep=1)
    return store.save(5, tensors, {}, {"model": to_mapping(model.config)})


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("family", ["k3", "k2"])
def test_no_bit_is_lost(
    family: str, dtype: str, small: JointConfig, change: Callable[..., JointConfig], awake: Awake, tmp_path: Path,
    small_k2: JointConfig,
) -> None:  # fmt: skip
    config = change("backbone.kda.stored_decay_scales=3") if family == "k3" else small_k2
    model = awake(config, torch.float32)
    checkpoint = saved(model, tmp_path / "run")
    export_model(CheckpointSource(checkpoint, config), tmp_path / "there", dtype=dtype, shard_bytes=SHARD)
    import_model(tmp_path / "there", tmp_path / "back", shard_bytes=SHARD)
    export_model(WeightsSource(tmp_path / "back"), tmp_path / "again", dtype=dtype, shard_bytes=SHARD)
    assert contents(tmp_path / "again") == contents(tmp_path / "there")
    assert len(list((tmp_path / "there").glob("model-*-of-*.safetensors"))) > 1

    again = config.build(seed=9)
    assert load_weights(again, tmp_path / "back") == len(model.state_dict())
    for name, tensor in model.state_dict().items():
        kept = "_conv." in name or name.endswith(("A_log", "dt_bias", "o_norm.weight", "balance.bias"))
        expected = tensor if dtype == "fp32" or kept else tensor.bfloat16().float()
        assert torch.equal(again.state_dict()[name], expected), name


def test_published_tensors_stand_as_the_release_has_them(
    change: Callable[..., JointConfig], awake: Awake, tmp_path: Path
) -> None:
    config = change("backbone.kda.stored_decay_scales=3")
    model = awake(config, torch.float32)
    export_model(CheckpointSource(saved(model, tmp_path), config), tmp_path / "out")
    files = Folder(tmp_path / "out")
    ours, width = dict(model.named_parameters()), config.backbone.width
    layer = "language_model.model.layers.1."
    conv = files.get(layer + "self_attn.q_conv1d.weight")
    assert torch.equal(conv, ours["backbone.layers.1.attn.q_conv.weight"].unsqueeze(1))
    scale = files.get(layer + "self_attn.A_log")
    assert torch.equal(scale[:2], ours["backbone.layers.1.attn.A_log"])
    assert (scale.shape, scale[2].item()) == ((3,), 0.0)
    for matrix in ("w1", "w2", "w3"):  # gate, down, up
        expert = files.get(f"{layer}block_sparse_moe.experts.7.{matrix}.weight")
        assert torch.equal(expert, ours[f"backbone.layers.1.mlp.experts.{matrix}"][7].bfloat16())
    bias = files.get(layer + "block_sparse_moe.gate.e_score_correction_bias")
    assert torch.equal(bias, model.state_dict()["backbone.layers.1.mlp.balance.bias"])
    joined = files.get("language_model.model.layers.5.eh_proj.weight")  # [embedding, hidden]
    assert torch.equal(joined[:, :width], ours["backbone.mtp.proj.weight"][:, width:].bfloat16())
    picture = files.get("vision_tower.patch_embed.proj.weight")
    assert torch.equal(picture.flatten(1), ours["vision.patch_embed.weight"].bfloat16())
    assert "language_model.model.layers.0.self_attention_res_proj.weight" in files.headers
    assert not any("exp_avg" in name for name in files.headers)


def test_the_command_line_goes_there_and_back(small: JointConfig, awake: Awake, tmp_path: Path) -> None:
    def run(*arguments: object) -> Any:
        return CliRunner().invoke(app, ["model", *map(str, arguments)])

    saved(awake(small, torch.float32), tmp_path / "run")
    there, back, other = tmp_path / "there", tmp_path / "back", tmp_path / "other"
    done = run("export", tmp_path / "run", there, "--shard-size", "0.3MB")
    assert (done.exit_code, "rounded to bf16" in done.output) == (0, True)
    done = run("import", there, back, "--json")
    facts = json.loads(done.stdout)
    assert facts["parameters"] == sum(tensor.numel() for tensor in small.build().state_dict().values())
    assert "is there already" in str(run("export", tmp_path / "run", there).exception)
    refused = run("import", there, other, "--preset", "tiny").exception
    assert isinstance(refused, InputError)
    assert "text_config.hidden_size is 128, not 448" in str(refused)
    assert "give one of them" in str(run("import", there, other, "--preset", "tiny", "--config", "a.yaml").exception)
    assert "such as 5GB" in str(run("export", tmp_path / "run", other, "--shard-size", "many").exception)
    assert not other.exists()


@pytest.mark.parametrize("form", ["section", "run", "run folder"])
def test_the_configuration_comes_from_a_file(
    form: str, small: JointConfig, awake: Awake, change: Callable[..., JointConfig], tmp_path: Path
) -> None:
    model = awake(small, torch.float32)
    export_model(CheckpointSource(saved(model, tmp_path), small), tmp_path / "there")
    (tmp_path / "there/config.json").unlink()
    section = {"preset": "nano", **to_mapping(small)}
    paths = {"version": 1, "schedule": "s.yaml", "corpora": "c"}
    # In a run folder the vocabulary is what the corpora brought, not the section's.
    other = {**section, "backbone": {**section["backbone"], "vocab": 320}}
    held = {
        "section": section,
        "run": {**paths, "model": section},
        "run folder": {**paths, "model": other, "resolved": {"model": to_mapping(small)}},
    }[form]
    file = tmp_path / "given" / "config.yaml" if form == "run folder" else tmp_path / "given.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(held))
    given = file.parent if form == "run folder" else file
    call = ["model", "import", str(tmp_path / "there"), str(tmp_path / "back"), "--config", str(given)]
    done = CliRunner().invoke(app, [*call, "--set", "backbone.init_std=0.5"])
    assert done.exit_code == 0, done.exception
    assert WeightsSource(tmp_path / "back").config == change("backbone.init_std=0.5")


def test_a_part_is_loaded_by_its_prefix(small: JointConfig, awake: Awake, tmp_path: Path) -> None:
    model = awake(small, torch.float32)
    export_model(CheckpointSource(saved(model, tmp_path), small), tmp_path / "there", dtype="fp32")
    import_model(tmp_path / "there", tmp_path / "back")
    fresh = small.build(seed=4)
    before = fresh.backbone.head.weight.clone()
    load_weights(fresh, tmp_path / "back", "vision.")
    assert torch.equal(fresh.vision.pos_embed, model.vision.pos_embed)
    assert torch.equal(fresh.backbone.head.weight, before)


def test_a_failed_export_leaves_nothing(small: JointConfig, awake: Awake, tmp_path: Path) -> None:
    class Broken(CheckpointSource):
        def load(self, name: str) -> torch.Tensor:
            if name == "backbone.head.weight":
                raise InputError("unreadable")
            return super().load(name)

    source = Broken(saved(awake(small, torch.float32), tmp_path / "run"), small)
    with pytest.raises(InputError, match="unreadable"):
        export_model(source, tmp_path / "out", shard_bytes=SHARD)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run"]
