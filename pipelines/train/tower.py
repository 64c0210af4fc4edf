"""The tower's first weights from another model's files, where a run says `vision_init`; the report draws them anew.

Odd: the run's identity holds a digest of the tensors themselves, so the files may move, or be packed in another way,
but a run goes on with the same ones only.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from trivium.errors import CheckpointError, ConfigError, InputError
from trivium.model.interop import CheckpointSource, WeightsSource, placed
from trivium.model.interop.files import Folder
from trivium.model.interop.forms import take
from trivium.model.joint import JointConfig
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.config import VisionInit

SHOWN = 4  # tensors named in a message


@dataclass(frozen=True, slots=True)
class Tower:
    """The tensors of a tower (and projector) that fit a model, by our names; read when asked for."""

    path: Path
    names: tuple[str, ...]
    load: Callable[[str], Tensor]

    def digest(self) -> str:
        """sha256 over names, shapes and fp32 numbers."""
        total = hashlib.sha256()
        for name in self.names:
            tensor = self.load(name).float().contiguous()
            total.update(f"{name}{list(tensor.shape)}".encode())
            total.update(tensor.numpy())
        return total.hexdigest()

    @torch.no_grad()
    def copy_into(self, model: nn.Module) -> None:
        """Writes the tensors over the model's own."""
        ours = dict(model.named_parameters())
        for name in self.names:
            ours[name].copy_(self.load(name))


def open_tower(init: VisionInit, config: JointConfig, name: str) -> Tower:
    """The tower at `init.path` for a model of `config`; `name` stands for RUN.yaml in messages.

    The path is a run folder, a checkpoint, a folder of `trivium model import`, or safetensors with the published names
    or ours. Raises ConfigError when the model has no tower, InputError naming what is missing or does not fit.
    """
    if config.vision is None:
        raise ConfigError(f"{name}: vision_init: the model has no vision tower; leave vision_init out, or give it one")
    path = Path(init.path)
    parts = ("vision.", "projector.") if init.projector else ("vision.",)
    with torch.device("meta"):
        eye = nn.Module()
        eye.vision = config.vision.build()
        eye.projector = config.projector.build(config.vision.width, config.backbone.width)
    wanted = {key: tuple(p.shape) for key, p in eye.named_parameters() if key.startswith(parts)}
    shapes, load = _open(path, config, eye)
    _check(path, {key: shape for key, shape in shapes.items() if key.startswith(parts)}, wanted)
    return Tower(path, tuple(sorted(wanted)), load)


Shapes = Mapping[str, tuple[int, ...]]


def _open(path: Path, config: JointConfig, eye: nn.Module) -> tuple[Shapes, Callable[[str], Tensor]]:
    """All tensors' shapes by our names, and how to read one."""
    source: CheckpointSource | WeightsSource
    if not path.exists():
        raise InputError(
            f"vision_init: {path} does not exist; give a run folder, a checkpoint or safetensors files (a run that "
            "goes on needs them too, to know that it is the same run)"
        )
    if (path / "model.json").is_file():
        source = WeightsSource(path)
        return source.shapes, source.load
    if (path / "manifest.json").is_file() or (path / "checkpoints").is_dir():
        source = CheckpointSource(_checkpoint(path), config)
        return source.shapes, source.load
    return _published(Folder(path), config, eye)


def _checkpoint(path: Path) -> Path:
    """The checkpoint itself, or the newest whole one of a run folder. Raises CheckpointError."""
    store = CheckpointStore(path / "checkpoints", keep=1)
    single = (path / "manifest.json").is_file()
    damaged = []
    for place in [path] if single else [store.path(step) for step in reversed(store.steps())]:
        found = verify(place)
        if not isinstance(found, str):
            return place
        damaged.append(found)
    if not damaged:
        raise InputError(f"vision_init: {path}: a run folder without a checkpoint; train it, or give another")
    raise CheckpointError(f"vision_init: no checkpoint is whole: {'; '.join(damaged)}")


def _published(files: Folder, config: JointConfig, eye: nn.Module) -> tuple[Shapes, Callable[[str], Tensor]]:
    """Safetensors with the published names, which are told into ours, or with our own."""
    shapes = {name: header.shape for name, header in files.headers.items()}
    if not any(name.startswith("vision_tower.") for name in shapes):
        return shapes, files.get
    table = {one.ours: one for one in placed(config, eye)}
    ours = dict(shapes)
    for key, one in table.items():
        if one.names[0] in shapes:
            fits = shapes[one.names[0]] == one.shape
            ours[key] = one.our_shape if fits else shapes[one.names[0]]
    known = {one.names[0] for one in table.values()}
    # Published names without a place here (a deeper tower's blocks) are told of under their own name.
    strange = [name for name in shapes if name.startswith("vision_tower.") and name not in known]
    ours |= {f"vision.({name})": shapes[name] for name in strange}
    return ours, lambda key: take(files.get(table[key].names[0]).float(), table[key].rule.form, table[key].our_shape)


def _check(path: Path, found: Shapes, wanted: Shapes) -> None:
    """Raises InputError naming tensors that are missing, of another shape, or too many."""
    missing = [key for key in wanted if key not in found]
    misfit = [f"{key} is {_side(found[key])} there and {_side(wanted[key])} here" for key in wanted
              if key in found and found[key] != wanted[key]]  # fmt: skip
    foreign = [key for key in found if key not in wanted]
    told = [
        f"{what} {_some(some)}"
        for what, some in (("it lacks", missing), ("other shapes:", misfit), ("this model lacks", foreign))
        if some
    ]
    if told:
        raise InputError(
            f"vision_init: {path}: does not fit this model: {'; '.join(told)}. Give the run that tower's shape (the "
            "model section's vision: width, layers, heads, hidden), or leave the projector out where only it differs"
        )


def _some(things: Sequence[str]) -> str:
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return f"{', '.join(things[:SHOWN])}{more}"


def _side(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
