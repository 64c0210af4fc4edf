"""Checkpoint to published files, and back.

Odd: both ways go tensor by tensor in the order of our model, so memory holds one file and one tensor (all experts of
one matrix and layer). An import checks every name, shape and dtype against the headers before it reads a number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from torch import Tensor

from trivium.data.config import from_mapping, to_mapping
from trivium.errors import CheckpointError, ConfigError, InputError
from trivium.model.interop.files import BYTES, Folder, Piece, new_folder, write, write_json
from trivium.model.interop.forms import publish, take
from trivium.model.interop.names import Placed, mtp_prefix, placed
from trivium.model.interop.settings import OURS, differences, published_settings
from trivium.model.interop.sources import FORMAT, STEM, VERSION, Source
from trivium.model.joint import JointConfig
from trivium.model.presets import changed

Dtype = Literal["bf16", "fp32"]
_TORCH = {"bf16": torch.bfloat16, "fp32": torch.float32}
_CONFIG_LIMIT = 1 << 24  # bytes
Done = Callable[[int, int], None]


def _quiet(_files: int, _of: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written: files in `out`, tensors by their new names, parameters as stored, bytes of numbers."""

    out: str
    files: tuple[str, ...]
    tensors: int
    parameters: int
    bytes: int


class _Published:
    """Published tensors on demand; the last of our tensors stays, since its experts are asked for one by one."""

    def __init__(self, source: Source, table: Sequence[Placed], dtype: Dtype) -> None:
        self._source, self._dtype = source, dtype
        self._at = {name: (one, expert) for one in table for expert, name in enumerate(one.names)}
        self._held: tuple[str, Tensor] | None = None

    def __call__(self, name: str) -> Tensor:
        one, expert = self._at[name]
        if self._held is None or self._held[0] != one.ours:
            self._held = (one.ours, self._source.load(one.ours))
        tensor = self._held[1]
        tensor = tensor[expert] if one.rule.form == "experts" else publish(tensor, one.rule.form, one.shape)
        return tensor.to(_TORCH[_stored(one, self._dtype)], copy=True)


def export_model(
    source: Source,
    out: Path,
    *,
    dtype: Dtype = "bf16",
    shard_bytes: int = 5 * 10**9,
    done: Done = _quiet,
) -> Converted:
    """Writes `source` as safetensors files and config.json with published names: whole, or nothing is there.

    `done` gets how many files stand, and of how many. Raises CheckpointError when the source's tensors are not its
    configuration's, InputError when `out` exists, StorageError when it can't be written.
    """
    table = placed(source.config)
    expected = {one.ours: one.our_shape for one in table}
    if expected != source.shapes:
        odd = sorted(name for name in expected | source.shapes if expected.get(name) != source.shapes.get(name))[0]
        raise CheckpointError(
            f"{odd} has shape {source.shapes.get(odd)} in the checkpoint and {expected.get(odd)} in its model; export "
            "with the code that wrote it"
        )
    pieces = [
        Piece(name, one.numel // len(one.names) * BYTES["BF16" if _stored(one, dtype) == "bf16" else "F32"])
        for one in table
        for name in one.names
    ]
    with new_folder(out) as folder:
        files = write(folder, "model", pieces, shard_bytes, _Published(source, table, dtype), done)
        settings = published_settings(source.config, "bfloat16" if dtype == "bf16" else "float32")
        write_json(folder / "config.json", settings)
    return Converted(
        str(out), tuple(files), len(pieces), sum(one.numel for one in table), sum(piece.bytes for piece in pieces)
    )


def _stored(one: Placed, dtype: Dtype) -> Dtype:
    return "fp32" if one.rule.fp32 else dtype


class _Taken:
    """Our tensors on demand, out of published files, in fp32."""

    def __init__(self, files: Folder, table: Sequence[Placed]) -> None:
        self._files = files
        self._at = {one.ours: one for one in table}

    def __call__(self, name: str) -> Tensor:
        one = self._at[name]
        if one.rule.form == "experts":
            whole = torch.empty(one.our_shape)
            for expert, published in enumerate(one.names):
                whole[expert] = self._get(published)
            return whole
        tensor = self._get(one.names[0]).float()
        try:
            return take(tensor, one.rule.form, one.our_shape)
        except ValueError as error:
            raise InputError(f"{self._files.path}: {one.names[0]}: {error}; give that model's configuration") from None

    def _get(self, name: str) -> Tensor:
        """Raises CheckpointError, naming with it the next ones like it."""
        tensor = self._files.get(name)
        if _odd(tensor):
            names = [published for one in self._at.values() for published in one.names]
            told = islice(filter(None, (_not_finite(one, self._files) for one in names[names.index(name) :])), 3)
            raise CheckpointError(
                f"{self._files.path}: not finite: {'; '.join(told)}; nothing trains from such numbers: get the files "
                "again, or export an earlier checkpoint"
            )
        return tensor


def _odd(tensor: Tensor) -> bool:
    return not bool(tensor.isfinite().all())


def _not_finite(name: str, files: Folder) -> str | None:
    """The tensor and how many of its numbers are NaN or infinite; None: none is."""
    tensor = files.get(name)
    if not _odd(tensor):
        return None
    nan, infinite = int(tensor.isnan().sum()), int(tensor.isinf().sum())
    return f"{name} ({nan:,} NaN and {infinite:,} infinite of {tensor.numel():,})"


def import_model(
    path: Path,
    out: Path,
    *,
    config: JointConfig | None = None,
    changes: Sequence[str] = (),
    shard_bytes: int = 5 * 10**9,
    done: Done = _quiet,
) -> Converted:
    """Reads published files as `config` (None: the one that our export left in config.json) into a folder of ours.

    `changes` are --set-like changes to either. Raises InputError naming what is missing, unknown, misshaped or of a
    wrong dtype, CheckpointError naming what is not finite, ConfigError for a wrong change; nothing is then written.
    """
    files = Folder(path)
    settings = _settings(path)
    if config is None:
        config = _own(settings, path)
    config = changed(config, changes, name="--set")
    contradictions = differences(settings, config)
    if contradictions:
        raise InputError(
            f"{path / 'config.json'}: contradicts the configuration given: {_list(contradictions)}; change it with "
            "--set, or take another preset"
        )
    table = placed(config)
    _check(files, table, config)
    pieces = [Piece(one.ours, 4 * torch.Size(one.our_shape).numel()) for one in table]
    with new_folder(out) as folder:
        written = write(folder, STEM, pieces, shard_bytes, _Taken(files, table), done)
        about = {"format": FORMAT, "version": VERSION, "model": to_mapping(config)}
        write_json(folder / "model.json", about)
    parameters = sum(piece.bytes for piece in pieces) // 4
    return Converted(str(out), tuple(written), len(pieces), parameters, 4 * parameters)


def _settings(path: Path) -> dict[str, Any]:
    """config.json beside the weights; empty where there is none."""
    place = (path if path.is_dir() else path.parent) / "config.json"
    if not place.is_file():
        return {}
    try:
        if place.stat().st_size > _CONFIG_LIMIT:
            raise InputError(f"{place}: {place.stat().st_size:,} bytes is no configuration; get it again")
        return msgspec.json.decode(place.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{place}: can't be read ({error}); get it again, or take it away") from None


def _own(settings: dict[str, Any], path: Path) -> JointConfig:
    ours = settings.get(OURS)
    if not isinstance(ours, dict) or "model" not in ours:
        raise InputError(
            f"{path}: no config.json that `trivium model export` wrote; say which model these weights are with "
            "--preset or --config, and --set for what differs"
        )
    try:
        return from_mapping(ours["model"], JointConfig, name=f"{path / 'config.json'}: trivium.model")
    except ConfigError as error:
        raise InputError(str(error)) from None


def _check(files: Folder, table: Sequence[Placed], config: JointConfig) -> None:
    wanted = {name: one.shape for one in table for name in one.names}
    missing = [name for name in wanted if name not in files.headers]
    unknown = sorted(name for name in files.headers if name not in wanted)
    problems = [*_missing(missing, unknown, config), *_unknown(unknown, missing)]
    if not problems:
        shaped = [
            f"{name} has shape {list(files.headers[name].shape)}, the configuration {list(shape)}"
            for name, shape in wanted.items()
            if files.headers[name].shape != shape
        ]
        if shaped:
            problems.append(f"{_list(shaped)}: change the configuration with --set, or take another preset")
        typed = [f"{name} is {found.dtype}" for name, found in files.headers.items() if found.dtype not in BYTES]
        if typed:
            problems.append(f"{_list(typed)}: give BF16 or F32, converted by the program that wrote these files")
    if problems:
        raise InputError(f"{files.path}: {'; '.join(problems)}")


def _missing(missing: list[str], unknown: list[str], config: JointConfig) -> list[str]:
    if not missing:
        return []
    if any(name.endswith((".weight_packed", "_scale", "_scale_inv")) for name in unknown):
        return [
            "the experts are quantised (weight_packed, scales): convert them to bf16 first, names then end in .weight"
        ]
    if config.backbone.mtp_layers and all(name.startswith(mtp_prefix(config)) for name in missing):
        return ["these weights have no MTP layer, and the configuration one: --set backbone.mtp_layers=0"]
    return [f"{len(missing):,} missing ({_list(missing)}): take the configuration that they were written from"]


def _unknown(unknown: list[str], missing: list[str]) -> list[str]:
    if not unknown or any(name.endswith((".weight_packed", "_scale", "_scale_inv")) for name in unknown):
        return []
    return [f"{len(unknown):,} unknown ({_list(unknown)}): the configuration has no such tensors"]


def _list(things: Sequence[str]) -> str:
    more = f" and {len(things) - 3:,} more" if len(things) > 3 else ""
    return ", ".join(things[:3]) + more
