"""A run whose tower starts from another model's: from its folder, its checkpoint, published files, our own names."""

import shutil

import pytest
import torch

pytest.importorskip("safetensors")

from safetensors.torch import load_file, save_file

from trivium.data.config import from_mapping
from trivium.errors import CheckpointError, ConfigError, InputError
from trivium.model.interop import CheckpointSource, export_model, import_model
from trivium.model.joint import JointConfig
from trivium.pipelines.train.checkpoint import CheckpointStore
from trivium.pipelines.train.config import Kept, dump_resolved, load_run
from trivium.pipelines.train.prepare import build_model, prepare
from trivium.pipelines.train.runner import train


@pytest.fixture(scope="module")
def forms(trained, tmp_path_factory):
    """The trained run's weights in every form that `vision_init` takes, and its tensors."""
    root = tmp_path_factory.mktemp("towers")
    checkpoint = CheckpointStore(trained[0] / "checkpoints", keep=9).newest(print)
    config = from_mapping(checkpoint.manifest.identity["model"], JointConfig, name="checkpoint")
    export_model(CheckpointSource(checkpoint.folder, config), root / "published", dtype="fp32")
    import_model(root / "published", root / "imported")
    tensors = {name.removeprefix("model/"): tensor for name, tensor in checkpoint.tensors().items()}
    eyes = {name: tensor for name, tensor in tensors.items() if name.startswith(("vision.", "projector."))}
    save_file(eyes, root / "eyes.safetensors")
    places = {
        "run folder": trained[0],
        "checkpoint": checkpoint.folder,
        "published": root / "published",
        "published file": root / "published" / "model.safetensors",
        "imported": root / "imported",
        "own names": root / "eyes.safetensors",
    }
    return places, tensors


def ready(built, *overrides):
    return prepare(load_run(built / "run.yaml", overrides), name="run.yaml", cache=None)


def test_every_form_gives_the_same_tower_and_nothing_else(built, forms):
    places, tensors = forms
    drawn = dict(build_model(ready(built)).named_parameters())
    digests = set()
    for form, path in places.items():
        prepared = ready(built, f"vision_init.path={path}")
        digests.add(prepared.identity["vision_init"])
        for name, parameter in build_model(prepared).named_parameters():
            expected = tensors[name] if name.startswith("vision.") else drawn[name]
            assert torch.equal(parameter, expected), (form, name)
    assert len(digests) == 1
    assert not torch.equal(drawn["vision.pos_embed"], tensors["vision.pos_embed"])


def test_the_projector_comes_along_where_it_is_asked_for(built, forms):
    places, tensors = forms
    prepared = ready(built, f"vision_init={{path: {places['published']}, projector: true}}")
    model = dict(build_model(prepared).named_parameters())
    assert torch.equal(model["projector.fc0.weight"], tensors["projector.fc0.weight"])
    assert not torch.equal(model["backbone.embed.weight"], tensors["backbone.embed.weight"])
    alone = ready(built, f"vision_init.path={places['published']}")
    assert prepared.identity["vision_init"] != alone.identity["vision_init"]


def test_a_tower_that_does_not_fit_is_refused_by_name(built, forms, tmp_path):
    places, _ = forms
    path = f"vision_init.path={places['published']}"
    with pytest.raises(InputError, match=r"vision.pos_embed is 64 × 64 × 32 there and 64 × 64 × 48 here"):
        ready(built, path, "model.vision.width=48")
    with pytest.raises(InputError, match=r"it lacks vision.blocks.2.norm1.weight, .* and 2 more"):
        ready(built, path, "model.vision.layers=3")
    with pytest.raises(InputError, match=r"this model lacks vision.\(vision_tower.encoder.blocks.1"):
        ready(built, path, "model.vision.layers=1")
    with pytest.raises(InputError, match=r"this model lacks vision.blocks.1"):
        ready(built, f"vision_init.path={places['own names']}", "model.vision.layers=1")
    with pytest.raises(InputError, match="no/where does not exist"):
        ready(built, "vision_init.path=no/where")
    with pytest.raises(ConfigError, match="vision_init: the model has no vision tower"):
        ready(built, path, "model.vision=null")
    eyes = load_file(places["own names"])
    eyes.pop("vision.pos_embed")
    save_file(eyes, tmp_path / "eyes.safetensors")
    with pytest.raises(InputError, match=r"it lacks vision\.pos_embed"):
        ready(built, f"vision_init.path={tmp_path / 'eyes.safetensors'}")


def test_a_run_keeps_whose_tower_it_has_and_goes_on_with_the_same_one_only(built, trained, forms, place, tmp_path):
    shutil.copyfile(forms[0]["own names"], place / "eyes.safetensors")
    text = (place / "run.yaml").read_text()
    (place / "run.yaml").write_text(text + "vision_init: {path: eyes.safetensors}\n")
    prepared = prepare(load_run(place / "run.yaml"), name="run.yaml", cache=None)
    assert prepared.run.vision_init.path == str(place / "eyes.safetensors")
    kept = from_mapping(dump_resolved(prepared.run, prepared.identity), Kept, name="config.yaml")
    assert (kept.vision_init, kept.resolved["vision_init"]) == (prepared.run.vision_init, prepared.tower_digest)
    shutil.copytree(trained[0], tmp_path / "run")
    with pytest.raises(CheckpointError, match="vision_init was absent, is '"):
        train(built / "run.yaml", tmp_path / "run", [f"vision_init.path={place / 'eyes.safetensors'}"])


@pytest.mark.parametrize(
    ("overrides", "per_head"),
    [
        ([], True),
        (["model.preset=k2-nano"], False),
        (["model.preset=k2-nano", "optimizer.per_head=true"], True),
        (["model.preset=k2-nano", "optimizer={momentum: 0.9}"], True),
        (["optimizer.per_head=false"], False),
    ],
)
def test_the_family_decides_on_what_muon_works_where_the_run_does_not_say(built, overrides, per_head):
    assert load_run(built / "run.yaml", overrides).optimizer.per_head is per_head
