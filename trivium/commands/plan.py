"""`trivium plan`: a run on N GPUs, on paper."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from trivium.model.joint import JointConfig
    from trivium.model.machine import Assumptions, Gpu

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def _tokens(given: str) -> int:
    """A count of tokens such as 8192, 64K or 1M. Raises typer.BadParameter."""
    found = re.fullmatch(r"([0-9]{1,12})([km]?)", str(given).strip().lower())
    if found is None or not int(found[1]):
        raise typer.BadParameter(f"{given!r} is no number of tokens; give 1 or more, such as 8192, 64K or 1M")
    return int(found[1]) * _UNITS[found[2]]


Model = Annotated[
    str, typer.Argument(help="A preset, a run's or model's YAML file, or a run's or imported folder.", metavar="MODEL")
]
Gpus = Annotated[int, typer.Option("--gpus", min=1, help="How many.")]
Kind = Annotated[str, typer.Option("--gpu", help="a100, h100, h200, b200 or gb200.")]
Context = Annotated[
    int,
    typer.Option(
        "--context",
        parser=_tokens,
        metavar="TOKENS",
        help="Tokens of a row, such as 8192, 64K or 1M (K = 1024, M = 1024²).",
    ),
]
Batch = Annotated[
    int,
    typer.Option(
        "--batch-tokens",
        parser=_tokens,
        metavar="TOKENS",
        help="Tokens of a step over all GPUs, such as 4M or 32M (M = 1024²).",
    ),
]
Best = Annotated[int, typer.Option("--best", min=1, help="Layouts to show.")]
RowBytes = Annotated[float, typer.Option("--row-bytes", min=0.5, help="Bytes of a kept number: 2 bf16, 1 fp8.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A change to the model, such as backbone.layers=9; repeatable."),
]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="KEY=VALUE", help="assumed.matmul=0.6 or gpu.memory=96e9; repeatable."),
]
Assumed = Annotated[
    Path | None, typer.Option("--assumptions", metavar="FILE.yaml", help="Sections gpu and assumed, either in part.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds `trivium plan` to the command line."""
    app.command("plan")(plan)


def plan(
    model: Model,
    gpus: Gpus,
    kind: Kind = "h200",
    context: Context = 8192,
    batch_tokens: Batch = 1 << 22,
    best: Best = 3,
    row_bytes: RowBytes = 2,
    changes: Set = None,
    assume: Assume = None,
    assumptions: Assumed = None,
    as_json: AsJson = False,
) -> None:
    """Lays a run out on N GPUs: parallel sizes, memory of the fullest rank, time of a step; exit 1: none fits."""
    from trivium.commands.plan_view import Way, plan_view
    from trivium.console import emit_json, out
    from trivium.errors import UsageError
    from trivium.model.memory import Storage
    from trivium.model.plan import Ask, batch_from, find, fits_below, fits_from

    if batch_tokens < context:
        raise UsageError(
            f"--batch-tokens {batch_tokens} is less than one row of {context:,} tokens; "
            f"give at least {context}, or shorter rows by --context"
        )
    kind = kind.lower()
    gpu, assumed = _basis(kind, assumptions, assume or [])
    config = _model(model, changes or [])
    ask = Ask(gpus, gpu, context, batch_tokens, assumed, Storage(row=row_bytes))
    found = find(config, ask, best)
    way = Way(None, None, None)
    if not found.best:
        way = Way(fits_from(config, ask), fits_below(config, ask), batch_from(config, ask))
    if as_json:
        enough = {"fits_from_gpus": way.gpus, "fits_from_batch_tokens": way.batch_tokens}
        emit_json({"model": model, "gpu_name": kind, **_facts(found), **enough})
    else:
        out.print(plan_view(model, kind, found, way))
    if not found.best:
        raise typer.Exit(1)


def _facts(found: Any) -> dict[str, Any]:
    best = [
        {
            "layout": one.layout,
            "fullest_stage": one.stage,
            "micro_batches": one.micro_batches,
            "slowest_stage": one.slowest,
            "memory": one.memory,
            "used": one.used,
            "seconds": one.seconds,
            "step_seconds": one.step,
            "tokens_per_second": one.tokens_per_second,
            "mfu": one.mfu,
        }
        for one in found.best
    ]
    return {
        "ask": found.ask,
        "room": found.ask.room,
        "state_bytes": found.state_bytes,
        "best": best,
        "fitting": found.fitting,
        "refused": found.refused,
    }


def _basis(kind: str, file: Path | None, changes: list[str]) -> "tuple[Gpu, Assumptions]":
    """Machine and assumptions: the defaults, then the file's, then single ones. Raises UsageError and ConfigError."""
    from trivium.data.config import Strict, from_mapping, to_mapping
    from trivium.data.yaml_text import read_yaml
    from trivium.errors import ConfigError
    from trivium.model import machine

    class Basis(Strict):
        gpu: machine.Gpu
        assumed: machine.Assumptions

    basis = Basis(gpu=machine.gpu(kind), assumed=machine.Assumptions())
    if file is not None:
        raw, _ = read_yaml(_text(file), str(file))
        plain, given = to_mapping(basis), {} if raw is None else raw
        if not isinstance(given, dict) or not all(isinstance(part, dict | None) for part in given.values()):
            raise ConfigError(f"{file}: expected sections gpu and assumed, such as `gpu: {{memory: 96.0e9}}`")
        merged = {**plain, **{key: {**plain.get(key, {}), **(part or {})} for key, part in given.items()}}
        basis = from_mapping(merged, Basis, name=str(file))
    for change in changes:
        key, sign, text = change.partition("=")
        section, _, name = key.partition(".")
        if not sign or not name or section not in Basis.__struct_fields__:
            raise ConfigError(
                f"--assume {change}: expected gpu.KEY=VALUE or assumed.KEY=VALUE, such as --assume assumed.matmul=0.6"
            )
        plain = to_mapping(basis)
        plain[section][name], _ = read_yaml(text, f"--assume {key}")
        basis = from_mapping(plain, Basis, name=f"--assume {change}")
    return basis.gpu, basis.assumed


def _model(given: str, changes: list[str]) -> "JointConfig":
    """A preset's configuration, or that of a run's or model's file or folder. Raises UsageError and ConfigError."""
    from trivium.commands.model_diff import resolve
    from trivium.data.yaml_text import read_yaml
    from trivium.errors import UsageError
    from trivium.model.presets import PRESETS, configure

    if given in PRESETS:
        return configure({"preset": given}, name="--set", overrides=changes)
    path = Path(given)
    if path.is_dir():
        return resolve(given, changes, sections=())[0]
    if not path.is_file():
        raise UsageError(f"{given!r} is no preset ({', '.join(PRESETS)}) and no file; give one of these or a YAML file")
    raw, _ = read_yaml(_text(path), given)
    chosen = raw.get("model", raw) if isinstance(raw, dict) else {}
    return configure(chosen if isinstance(chosen, dict) else {"preset": chosen}, name=given, overrides=changes)


def _text(path: Path) -> str:
    from trivium.errors import InputError

    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror}); give a YAML file") from None
