"""A run that begins from weights of `trivium model import` has them, says so in its identity, and refuses others."""

import shutil

import pytest
import torch

from trivium.errors import CheckpointError, InputError
from trivium.model.interop import export_model, import_model
from trivium.model.presets import configure
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.prepare import begins_from, build_model, prepare
from trivium.pipelines.train.runner import train


def ready(built, *overrides):
    return prepare(load_run(built / "run.yaml", overrides), name="run.yaml", cache=None)


class Drawn:
    """A model's weights from another seed, and with a router's bias."""

    def __init__(self, config):
        self.config = config
        self.state = config.build(seed=99).state_dict()
        for name, tensor in self.state.items():
            if name.endswith("balance.bias"):
                tensor += torch.linspace(-0.1, 0.1, len(tensor))
        self.shapes = {name: tuple(tensor.shape) for name, tensor in self.state.items()}

    def load(self, name):
        return self.state[name]


def test_a_run_begins_from_imported_weights(built, trained, tmp_path):
    source = Drawn(ready(built).model)
    export_model(source, tmp_path / "there", dtype="fp32")
    import_model(tmp_path / "there", tmp_path / "back")
    given = f"weights={tmp_path / 'back'}"
    prepared = ready(built, given)
    assert prepared.run.weights == str(tmp_path / "back")
    model = build_model(prepared)
    assert all(torch.equal(tensor, source.state[name]) for name, tensor in model.state_dict().items())
    assert (ready(built).identity["weights"], len(prepared.identity["weights"])) == (None, 64)

    shutil.copytree(trained[0], tmp_path / "run")  # began from drawn weights
    with pytest.raises(CheckpointError, match="weights was absent, is '"):
        train(built / "run.yaml", tmp_path / "run", [given])


@pytest.mark.parametrize("both", [False, True])
def test_a_run_says_what_it_begins_from(both, built, tmp_path):
    source = Drawn(ready(built).model)
    export_model(source, tmp_path / "there", dtype="fp32")
    import_model(tmp_path / "there", tmp_path / "back")
    source.state["vision.pos_embed"] = torch.full_like(source.state["vision.pos_embed"], 2.0)
    export_model(source, tmp_path / "eyes", dtype="fp32")
    given = [f"weights={tmp_path / 'back'}", *([f"vision_init.path={tmp_path / 'eyes'}"] if both else [])]
    prepared = ready(built, *given)
    model = build_model(prepared)
    lines = begins_from(prepared, model)
    assert lines[0].startswith(f"weights: {len(source.state)} tensors from {tmp_path / 'back'} (digest ")
    eyes = sum(name.startswith("vision.") for name in source.state)
    ends = [f"vision_init: {eyes} tower tensors from {tmp_path / 'eyes'} (digest "] if both else []
    assert [line.split("digest ")[0] + "digest " for line in lines[1:]] == ends
    assert all(line.endswith(", over those of weights") for line in lines[1:])
    assert bool((model.vision.pos_embed == 2.0).all()) == both
    assert begins_from(ready(built), model) == []

    def stop(line):
        if line == lines[-1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(built / "run.yaml", tmp_path / "run", given, note=stop)
    assert not (tmp_path / "run" / "metrics.jsonl").exists()  # it was said before the first step


def test_weights_of_another_model_are_refused(built, tmp_path):
    small = {"preset": "nano", "backbone": {"layers": 1}, "vision": None}
    export_model(Drawn(configure(small, name="small")), tmp_path / "there")
    import_model(tmp_path / "there", tmp_path / "back")
    with pytest.raises(InputError, match="import the weights for this model's configuration"):
        build_model(ready(built, f"weights={tmp_path / 'back'}"))
    with pytest.raises(InputError, match=r"model\.json: can't be read"):
        ready(built, f"weights={tmp_path / 'there'}")
