"""`trivium model diff`: what two configurations differ in, mechanism by mechanism, and what each of them weighs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trivium.model.joint import JointConfig
    from trivium.model.mechanisms import Difference
    from trivium.model.sizes import Sizes

CONTEXT = 8192  # tokens: pre-training's first context
Side = Annotated[str, typer.Argument(help="A preset, a run's or model's YAML file, or a folder.", metavar="MODEL")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A change to the second, such as backbone.mla_every=1; repeatable."
    ),
]
Within = Annotated[
    float | None,
    typer.Option("--within", min=0, metavar="PERCENT", help="Exit 1 where total or activated parameters are further."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


@dataclass(frozen=True, slots=True)
class Quantity:
    """`percent` is what `b` is above `a`; None where `a` is 0."""

    name: str
    a: int
    b: int
    percent: float | None


def register(group: typer.Typer) -> None:
    """Adds `trivium model diff`."""
    group.command("diff")(diff)


def diff(a: Side, b: Side, changes: Set = None, within: Within = None, as_json: AsJson = False) -> None:
    """Compares two configurations by key, in parameters and in FLOPs a token; nothing is allocated."""
    from trivium.console import emit_json, out
    from trivium.model.mechanisms import differences
    from trivium.model.sizes import measure

    (first, left), (second, right) = resolve(a, []), resolve(b, changes or [])
    found = differences(left, right)
    quantities = _quantities(*(measure(config, (CONTEXT,)) for config in (first, second)))
    far = [one for one in quantities[:2] if within is not None and abs(one.percent or 0.0) > within]
    names = (a, " ".join([b, *(f"--set {change}" for change in changes or ())]))
    if as_json:
        facts = {"a": names[0], "b": names[1], "equal": not found, "differences": [asdict(one) for one in found]}
        emit_json({**facts, "quantities": [asdict(one) for one in quantities], "within": within and not far})
    elif not found:
        out.print(f"{names[0]} and {names[1]} are the same configuration", highlight=False, markup=False)
    else:
        for table in _tables((a, f"{b}, changed" if changes else b), found, quantities):
            out.print(table)
    if far:
        if not as_json:
            out.print(f"further apart than {within:g} %: {', '.join(one.name for one in far)}", highlight=False)
        raise typer.Exit(1)


def resolve(
    given: str, changes: Sequence[str], sections: Sequence[str] = ("optimizer", "vision_init")
) -> "tuple[JointConfig, dict[str, Any]]":
    """The model, and all that is compared of it. A change is to the model (`model.` may stand before its key) or to
    one of `sections`. Raises UsageError, InputError or ConfigError.
    """
    from trivium.data.config import dump_yaml, parse_yaml, to_mapping
    from trivium.errors import UsageError

    for change in changes:
        if "=" not in change:
            raise UsageError(f"--set {change!r}: expected KEY=VALUE, such as --set backbone.layers=9")
    model, optimizer, vision_init = _named(given)
    whole = _struct()
    text = dump_yaml(whole(model=model, optimizer=optimizer, vision_init=vision_init))
    whole_keys = ("model.", *(f"{section}{after}" for section in sections for after in ".="))
    overrides = [change if change.startswith(whole_keys) else f"model.{change}" for change in changes]
    side = parse_yaml(text, whole, name=given, overrides=overrides)
    plain = to_mapping(side)
    return side.model, {**plain.pop("model"), **plain}


def _struct() -> Any:
    from trivium.data.config import Strict
    from trivium.model.joint import JointConfig
    from trivium.model.optim import OptimizerConfig
    from trivium.pipelines.train.config import VisionInit

    class Whole(Strict):
        model: JointConfig
        optimizer: OptimizerConfig
        vision_init: VisionInit | None = None

    return Whole


def _named(given: str) -> tuple[Any, Any, Any]:
    """Model, optimizer and vision initialisation of a preset, a run, a run's or imported folder or a model section."""
    from trivium.data.config import load_yaml
    from trivium.data.yaml_text import read_yaml
    from trivium.errors import ConfigError, UsageError
    from trivium.model.interop import WeightsSource
    from trivium.model.interop.sources import ABOUT
    from trivium.model.presets import PRESETS, configure, optimizer, preset
    from trivium.pipelines.train.config import Kept, load_run
    from trivium.pipelines.train.folder import CONFIG

    path = Path(given)
    if given in PRESETS:
        return preset(given), optimizer(given), None
    cure = "give a preset's name, a run's or model's YAML file, a run folder, or one of `trivium model import`"
    if (path / ABOUT).is_file():
        return WeightsSource(path).config, optimizer(""), None
    if path.is_dir() and not (path / CONFIG).is_file():
        raise UsageError(f"{given} is a folder without {CONFIG}, so it holds no run and no model; {cure}")
    path = path / CONFIG if path.is_dir() else path
    if not path.is_file():
        raise UsageError(f"{given!r} is no preset ({', '.join(PRESETS)}) and no file; {cure}")
    try:
        raw, _ = read_yaml(path.read_text(encoding="utf-8-sig"), str(path))
    except (ConfigError, UnicodeDecodeError) as error:
        what = error if isinstance(error, ConfigError) else f"{path} is no text"
        raise UsageError(f"{what}. {given} holds no model; {cure}") from None
    if not isinstance(raw, dict) or ("version" in raw and "model" not in raw):
        raise UsageError(f"{path} is YAML without a model; {cure}")
    if "version" not in raw:
        return configure(raw, name=str(path)), optimizer(str(raw.get("preset"))), None
    run = load_run(path)
    choice = dict(run.model)
    if path.name == CONFIG:  # with the vocabulary that the corpora brought
        choice |= load_yaml(path, Kept).resolved.get("model", {})
    return configure(choice, name=f"{path}: model"), run.optimizer, run.vision_init


def _quantities(a: "Sizes", b: "Sizes") -> list[Quantity]:
    pairs = {
        "total parameters": (a.parameters.total, b.parameters.total),
        "activated parameters": (a.parameters.activated, b.parameters.activated),
        "MTP layer": (a.parameters.parts["mtp"], b.parameters.parts["mtp"]),
        "FLOPs a token forwards": (a.flops[0].forward, b.flops[0].forward),
        "FLOPs a token in training": (a.flops[0].training, b.flops[0].training),
        "cache bytes a token": (a.memory.cache_per_token, b.memory.cache_per_token),
        "cache bytes a sequence": (a.memory.cache_fixed, b.memory.cache_fixed),
    }
    return [Quantity(name, x, y, 100 * (y / x - 1) if x else None) for name, (x, y) in pairs.items()]


def _tables(
    names: tuple[str, str], found: "list[Difference]", quantities: list[Quantity]
) -> "tuple[RenderableType, RenderableType]":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    keys = Table("mechanism", box=box.SIMPLE_HEAD, pad_edge=False)
    keys.add_column("key", no_wrap=True)
    for name in names:
        keys.add_column(escape(name), overflow="fold")
    before = None
    for one in found:
        keys.add_row(one.mechanism if one.mechanism != before else "", one.key, _value(one.a), _value(one.b))
        before = one.mechanism
    caption = (
        f"FLOPs: the mean over a document of {CONTEXT:,} tokens; MTP is in training, and in no total of parameters"
    )
    sizes = Table("quantity", box=box.SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    for name in (*names, "difference"):
        sizes.add_column(escape(name), justify="right", overflow="fold")
    for weight in quantities:
        percent = "" if weight.percent is None else f"{weight.percent:+.2f} %"
        sizes.add_row(weight.name, f"{weight.a:,}", f"{weight.b:,}", percent)
    return keys, sizes


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
