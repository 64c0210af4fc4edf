"""Where our own tensors come from: a training checkpoint, or a folder that `trivium model import` wrote.

OUT/weights.safetensors     our names, fp32 (or weights-00001-of-0000N.safetensors and an index)
OUT/model.json              format, version, the model's configuration
"""

import hashlib
import warnings
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch
from torch import Tensor
from torch.nn import Module

from trivium.data.config import from_mapping
from trivium.errors import CheckpointError, InputError
from trivium.model.interop.files import Folder
from trivium.model.joint import JointConfig

FORMAT = "trivium.weights"
VERSION = 1
STEM = "weights"
ABOUT = "model.json"
AHEAD = 1 << 28  # bytes of a checkpoint that are read at once: asking costs milliseconds, and most tensors are small


class Source(Protocol):
    """Our tensors by name, read one at a time."""

    config: JointConfig
    shapes: dict[str, tuple[int, ...]]

    def load(self, name: str) -> Tensor: ...


class CheckpointSource:
    """The weights of a training checkpoint whose hashes were verified; optimizer state is left where it lies."""

    def __init__(self, folder: Path, config: JointConfig) -> None:
        import torch.distributed.checkpoint as dcp  # a second of imports, for commands that read no checkpoint
        from torch.distributed.checkpoint.metadata import TensorStorageMetadata

        self.folder, self.config = folder, config
        metadata = dcp.FileSystemReader(folder).read_metadata()
        self._entries = {
            name.removeprefix("model/"): entry
            for name, entry in metadata.state_dict_metadata.items()
            if name.startswith("model/") and isinstance(entry, TensorStorageMetadata)
        }
        self.shapes = {name: tuple(entry.size) for name, entry in self._entries.items()}
        self._held: dict[str, Tensor] = {}

    def load(self, name: str) -> Tensor:
        """Reads it with those that follow it. Raises CheckpointError."""
        if name not in self._held:
            self._held = {}
            self._held = self._read(self._following(name))
        return self._held[name]

    def _following(self, name: str) -> list[str]:
        names = list(self._entries)
        chosen: list[str] = []
        room = AHEAD
        for following in names[names.index(name) :]:
            entry = self._entries[following]
            room -= entry.size.numel() * entry.properties.dtype.itemsize
            if chosen and room < 0:
                break
            chosen.append(following)
        return chosen

    def _read(self, names: list[str]) -> dict[str, Tensor]:
        import torch.distributed.checkpoint as dcp

        entries = {f"model/{name}": self._entries[name] for name in names}
        loaded = {name: torch.empty(entry.size, dtype=entry.properties.dtype) for name, entry in entries.items()}
        # torch says at each call that one process without a group loads; that is what we mean.
        warnings.filterwarnings("ignore", message="torch.distributed is disabled", category=UserWarning)
        try:
            dcp.load(dict(loaded), storage_reader=dcp.FileSystemReader(self.folder), no_dist=True)
        except (OSError, RuntimeError, dcp.CheckpointException) as error:
            raise CheckpointError(f"{self.folder}: {names[0]} can't be read ({str(error).splitlines()[0]})") from None
        return {name.removeprefix("model/"): tensor for name, tensor in loaded.items()}


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`model.json`."""

    format: str
    version: int
    model: dict[str, Any]


class WeightsSource:
    """A folder of `trivium model import`."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError."""
        place = folder / ABOUT
        try:
            about = msgspec.json.decode(place.read_bytes(), type=About)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{place}: can't be read ({error}); give a folder of `trivium model import`") from None
        if (about.format, about.version) != (FORMAT, VERSION):
            raise InputError(
                f"{place}: format {about.format!r} version {about.version}, this code reads {FORMAT} {VERSION}; import "
                "the weights again"
            )
        self.config = from_mapping(about.model, JointConfig, name=str(place))
        self._files = Folder(folder, STEM)
        self.shapes = {name: header.shape for name, header in self._files.headers.items()}

    def load(self, name: str) -> Tensor:
        return self._files.get(name)

    def digest(self) -> str:
        """sha256 of the sums of its files, whatever they are called: the same numbers in the same files."""
        total = hashlib.sha256()
        for path in self._files.paths:
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()


@torch.no_grad()
def load_weights(model: Module, folder: Path, prefix: str = "") -> int:
    """Copies the tensors of `folder` whose names begin with `prefix` into `model`; returns how many.

    Raises InputError when one that the model has is missing or of another shape.
    """
    source = WeightsSource(folder)
    ours = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(prefix)}
    for name, tensor in ours.items():
        found = source.shapes.get(name)
        if found != tuple(tensor.shape):
            what = "is missing" if found is None else f"has shape {list(found)}, the model {list(tensor.shape)}"
            raise InputError(f"{folder}: {name} {what}; import the weights for this model's configuration")
    for name, tensor in ours.items():
        tensor.copy_(source.load(name))
    return len(ours)
