"""What RUN.yaml may hold, and the run that it resolves to.

Odd: not every key belongs to a run's identity. What changes the numbers of a step does (model, schedule, corpora,
optimizer, loss, seed, precision), and a checkpoint refuses to go on without it; how often to save or to evaluate may
change freely.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from trivium.data.config import Strict, from_mapping, load_yaml, to_mapping
from trivium.data.yaml_text import read_yaml
from trivium.errors import ConfigError, DigestError, InputError
from trivium.model.optim import OptimizerConfig
from trivium.model.presets import PRESETS
from trivium.model.presets import optimizer as family_optimizer
from trivium.pipelines.train.folder import CONFIG
from trivium.pipelines.train.loading.config import Data

VERSION = 1
PATHS = ("schedule", "corpora", "tokenizer", "weights")


class Loss(Strict):
    """Weights of a target's loss: `text` in text documents, `image` in records with pictures, `mtp` of the MTP layer.

    The step's loss is Σ weight · loss over its targets / Σ weight, plus `mtp` times the mean loss of the MTP layer
    (DeepSeek-V3 uses 0.3, falling to 0.1; the K3 report gives none).
    """

    text: float = 1.0
    image: float = 1.0
    mtp: float = 0.3

    def __post_init__(self) -> None:
        for name in ("text", "image", "mtp"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is {getattr(self, name)}; a weight is 0 or more")
        if not self.text and not self.image:
            raise ValueError("text and image are both 0; give at least one of them a weight")


class Evaluate(Strict):
    """Held-out evaluation before the first step, `every` so many steps, and after the last; `every: 0` is off.

    Off is off at both ends too: no held-out loss is measured and the report has none. For the ends alone give more
    steps than the run has. `rows` bounds the held-out rows a split, `context` is their length (left out: the first
    stage's).
    """

    every: int = 100
    rows: int = 32
    context: int | None = None

    def __post_init__(self) -> None:
        if self.every < 0 or self.rows < 1 or (self.context is not None and self.context < 2):
            raise ValueError("every must be 0 or more, rows 1 or more, context 2 or more")


class Save(Strict):
    """A checkpoint every so many steps, and every so many seconds; the `keep` newest stay. The end always saves."""

    every_steps: int | None = None
    every_seconds: float | None = 60.0
    keep: int = 2

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep is {self.keep}; keep at least 1 (2 survive a damaged one)")
        if (self.every_steps is not None and self.every_steps < 1) or (
            self.every_seconds is not None and not self.every_seconds > 0
        ):
            raise ValueError(
                "every_steps must be 1 or more and every_seconds above 0; leave a key out to switch it off"
            )


class VisionInit(Strict):
    """The tower's first weights from files instead of a draw; `projector: true` takes their projector too.

    `path` is a run folder or a checkpoint, a folder of `trivium model import`, or safetensors (a folder or one file).
    Beside `weights` it comes second: the tower is the one given here.
    """

    path: str
    projector: bool = False


class Run(Strict):
    """One training run. Paths inside the file are relative to it; paths given by --set are relative to the cwd."""

    version: int
    model: dict[str, Any]  # {preset: nano, backbone: {…}, vision: {…}}: a preset's name and what differs from it
    schedule: str
    corpora: str
    tokenizer: str | None = None  # checked against the corpora, and copied into the run folder for sampling
    weights: str | None = None  # a folder of `trivium model import` to begin from; left out: weights are drawn
    vision_init: VisionInit | None = None  # left out: the tower is drawn, as the report has it (section 2.4)
    optimizer: OptimizerConfig = OptimizerConfig()
    loss: Loss = Loss()
    eval: Evaluate = Evaluate()
    checkpoint: Save = Save()
    data: Data = Data()
    grad_clip: float = 1.0
    seed: int = 0
    threads: int | None = None  # CPU threads; left out: all cores
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: fp32 on CPU (bf16 is slower there), bf16 on a GPU
    device: Literal["auto", "cpu", "cuda"] = "auto"
    # Every step bit for bit the same again. On a GPU it takes slower operators (one H200: 4.5 times as long a step);
    # false lets a run that goes on from a checkpoint differ in its last bits. The order of rows stays the same.
    deterministic: bool = True

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"version is {self.version}; this code reads runs of version {VERSION}")
        if not self.grad_clip > 0:
            raise ValueError(f"grad_clip is {self.grad_clip}; give a norm above 0 (1.0 is usual)")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads is {self.threads}; give 1 or more, or leave the key out for all cores")


class Kept(Run):
    """`dump_resolved`'s form, which a run folder keeps."""

    resolved: dict[str, Any] = {}


def load_run(path: Path, overrides: Sequence[str] = ()) -> Run:
    """Reads RUN.yaml, or a run folder's config.yaml, with --set overrides and makes its paths absolute.

    Where neither says `optimizer.per_head`, the preset's family does: K2's Muon works on whole matrices. Raises
    InputError or ConfigError.
    """
    if path.name == CONFIG:
        run = reload_run(to_mapping(load_yaml(path, Kept, overrides=overrides)), str(path))
    else:
        run = load_yaml(path, Run, overrides=overrides)
    given = {override.partition("=")[0] for override in overrides}
    absolute: dict[str, Any] = {"optimizer": _family_optimizer(run, path, given)}
    for key in PATHS:
        value = getattr(run, key)
        if value is not None:
            base = Path.cwd() if key in given else path.resolve().parent
            address = key == "corpora" and "://" in value
            absolute[key] = value if address else str((base / value).resolve())
    if run.vision_init is not None:
        base = Path.cwd() if given & {"vision_init", "vision_init.path"} else path.resolve().parent
        absolute["vision_init"] = VisionInit(
            path=str((base / run.vision_init.path).resolve()), projector=run.vision_init.projector
        )
    return msgspec.structs.replace(run, **absolute)


def _family_optimizer(run: Run, path: Path, given: set[str]) -> OptimizerConfig:
    raw, _ = read_yaml(path.read_text(encoding="utf-8-sig"), str(path))
    said = "per_head" in (raw.get("optimizer") or {}) or given & {"optimizer", "optimizer.per_head"}
    chosen = str(run.model.get("preset"))
    if said or chosen not in PRESETS:
        return run.optimizer
    return msgspec.structs.replace(run.optimizer, per_head=family_optimizer(chosen).per_head)


def dump_resolved(run: Run, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The run with every default, and what it resolved to (model, schedule, digests), as plain data."""
    return {**to_mapping(run), "resolved": msgspec.to_builtins(dict(extra))}


def reload_run(raw: Mapping[str, Any], name: str) -> Run:
    """The run back from `dump_resolved`'s data."""
    return from_mapping({key: value for key, value in raw.items() if key != "resolved"}, Run, name=name)


def tokenizer_file(path: Path) -> Path:
    """`path` itself or the tokenizer.json inside it. Raises InputError."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"tokenizer: {file} does not exist; train one with `trivium tokenizer train`, or give its path"
        )
    return file


def check_tokenizer(file: Path, digests: Mapping[str, str]) -> None:
    """Raises DigestError when a corpus was tokenised with another tokenizer than `file`."""
    own = hashlib.sha256(file.read_bytes()).hexdigest()
    for corpus, digest in digests.items():
        if digest != own:
            raise DigestError(
                f"corpus {corpus} was tokenised with tokenizer {digest[:12]}…, and {file} is {own[:12]}…: tokenise it "
                f"again with `trivium shards tokenize`, or give the tokenizer that it was made with"
            )


def model_choice(run: Run, *, vocab: int, media_pad: int, name: str) -> dict[str, Any]:
    """The `model` section with vocabulary and media id taken from the corpora's tokenizer where they are not given.

    Raises ConfigError when they are given and differ.
    """
    chosen = dict(run.model)
    backbone = dict(chosen.get("backbone") or {})
    for section, key, wanted in ((backbone, "vocab", vocab), (chosen, "media_pad", media_pad)):
        found = section.setdefault(key, wanted)
        if found != wanted:
            where = f"model.{'backbone.' if section is backbone else ''}{key}"
            raise ConfigError(
                f"{name}: {where}: is {found}, and the tokenizer of the corpora has {wanted}; leave the key out, it is "
                "taken from there"
            )
    return {**chosen, "backbone": backbone}
