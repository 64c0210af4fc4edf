"""`trivium model export` and `trivium model import`: weights as safetensors files with published names, and back."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trivium.errors import UsageError

if TYPE_CHECKING:
    from trivium.model.interop import Converted, Source
    from trivium.model.joint import JointConfig

From = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|CHECKPOINT",
        help="A run folder (its newest whole checkpoint), one checkpoint, or a folder of `trivium model import`.",
    ),
]
Files = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Published weights: a folder of safetensors files, or one.")
]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")]
Dtype = Annotated[
    str, typer.Option("--dtype", metavar="bf16|fp32", help="bf16 as published (what stays fp32 there does), or fp32.")
]
ShardSize = Annotated[str, typer.Option("--shard-size", metavar="SIZE", help="The most bytes of one file, as 500MB.")]
Preset = Annotated[str | None, typer.Option("--preset", help="The model that the weights are of.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="YAML", help="It as a file: RUN.yaml, or what stands in its model section."),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A change to it, such as backbone.layers=9.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def register(group: typer.Typer) -> None:
    """Adds both to `trivium model`."""
    group.command("export")(export)
    group.command("import")(import_)


def export(
    source: From, out: Out, dtype: Dtype = "bf16", shard_size: ShardSize = "5GB", as_json: AsJson = False
) -> None:
    """Writes weights as safetensors files with the published K3 (or K2) names, and config.json; no optimizer state."""
    from trivium.model.interop import export_model

    chosen = _dtype(dtype)
    limit = _bytes(shard_size)
    with _files() as done:
        converted = export_model(_source(source), out, dtype=chosen, shard_bytes=limit, done=done)
    _tell(converted, as_json, "" if chosen == "fp32" else "; rounded to bf16 (--dtype fp32 keeps every bit)")


def import_(
    folder: Files,
    out: Out,
    preset: Preset = None,
    config: ConfigFile = None,
    changes: Set = None,
    shard_size: ShardSize = "5GB",
    as_json: AsJson = False,
) -> None:
    """Reads published weights into a folder of ours (fp32), which a run can begin from.

    Without --preset or --config the configuration is the one that `trivium model export` left in config.json. --set
    changes whichever it is. NaN and infinite numbers are refused.
    """
    from trivium.model.interop import import_model

    model, limit = _model(preset, config), _bytes(shard_size)
    with _files() as done:
        converted = import_model(folder, out, config=model, changes=changes or (), shard_bytes=limit, done=done)
    _tell(converted, as_json, "")


@contextmanager
def _files() -> Iterator[Callable[[int, int], None]]:
    """A bar over the files that are written."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    from trivium.console import progress

    with progress(TextColumn("files"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("files", total=None)
        yield lambda files, of: bar.update(task, completed=files, total=of)


def _tell(converted: "Converted", as_json: bool, note: str) -> None:
    from trivium.console import counted, emit_json, out, size

    if as_json:
        emit_json(converted)
        return
    out.print(
        f"{converted.out}: {counted(converted.parameters, 'parameter')} in {counted(converted.tensors, 'tensor')}, "
        f"{size(converted.bytes)} in {counted(len(converted.files), 'file')}{note}",
        highlight=False,
        soft_wrap=True,
    )


def _source(path: Path) -> "Source":
    from trivium.data.config import from_mapping
    from trivium.errors import CheckpointError, InputError
    from trivium.model.interop import CheckpointSource, WeightsSource
    from trivium.model.joint import JointConfig
    from trivium.pipelines.train.checkpoint import CheckpointStore, verify

    if (path / "model.json").is_file():
        return WeightsSource(path)
    single = (path / "manifest.json").is_file()
    store = CheckpointStore(path / "checkpoints", keep=1)
    places = [path] if single else [store.path(step) for step in reversed(store.steps())]
    damaged = []
    for place in places:
        found = verify(place)
        if not isinstance(found, str):
            config = from_mapping(found.manifest.identity["model"], JointConfig, name=str(place))
            return CheckpointSource(place, config)
        damaged.append(found)
    if damaged:
        raise CheckpointError(f"no checkpoint is whole: {'; '.join(damaged)}")
    raise InputError(
        f"{path}: no run folder with checkpoints, no checkpoint and no imported weights; give `trivium train`'s --out"
    )


def _model(preset: str | None, config: Path | None) -> "JointConfig | None":
    from trivium.model.presets import configure

    if preset is not None and config is not None:
        raise UsageError("--preset and --config both say which model the weights are of; give one of them")
    if preset is not None:
        return configure({"preset": preset}, name="--preset")
    return None if config is None else configure(_section(config), name=str(config))


def _section(path: Path) -> dict[str, Any]:
    """A model section: the file itself, or that of a run, of a run folder with what its corpora brought."""
    from trivium.data.config import load_yaml
    from trivium.pipelines.train.config import Kept, load_run
    from trivium.pipelines.train.folder import CONFIG

    path = path / CONFIG if path.is_dir() else path
    raw = load_yaml(path, dict[str, Any])
    if "version" not in raw:
        return raw
    kept = load_yaml(path, Kept).resolved.get("model", {}) if path.name == CONFIG else {}
    return {**load_run(path).model, **kept}


def _dtype(text: str) -> Literal["bf16", "fp32"]:
    if text == "bf16":
        return "bf16"
    if text == "fp32":
        return "fp32"
    raise UsageError(f"--dtype {text!r}: give bf16 or fp32")


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if found is None or found[2].upper() not in _UNITS or not float(found[1]):
        raise UsageError(f"--shard-size {text!r}: give a size above 0, such as 5GB or 500MB")
    return max(1, int(float(found[1]) * _UNITS[found[2].upper()]))
