"""From RUN.yaml to everything that a loop needs; each missing or mismatched part is an error that names its cure."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trivium.console import counted
from trivium.curriculum.corpora import catalogues_of, open_corpora
from trivium.curriculum.plan import Plan
from trivium.curriculum.schedule import Schedule
from trivium.data.config import load_yaml, located, to_mapping
from trivium.data.patches import PictureRules
from trivium.data.shards import Patience, ShardSet, Vocabulary
from trivium.errors import DigestError, ShardError, UsageError
from trivium.model.interop import WeightsSource, load_weights
from trivium.model.joint import JointConfig, JointModel
from trivium.model.presets import configure
from trivium.pipelines.train.config import Run, check_tokenizer, model_choice, tokenizer_file
from trivium.pipelines.train.folder import TOKENIZER
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.ranks import ALONE, Ranks
from trivium.pipelines.train.tower import Tower, open_tower


@dataclass(frozen=True, slots=True)
class Prepared:
    """The resolved run: data, model configuration, and what a checkpoint must agree on."""

    run: Run
    schedule: Schedule
    sets: dict[str, ShardSet]
    plan: Plan
    vocabulary: Vocabulary
    rules: PictureRules
    model: JointConfig
    device: torch.device
    precision: str
    tokenizer: Path | None
    tower: Tower | None  # where its first weights come from; None: they are drawn
    tower_digest: str | None
    weights_digest: str | None  # of the files that the run begins from
    ranks: Ranks = ALONE

    @property
    def identity(self) -> dict[str, Any]:
        """All that changes the numbers of a step; checkpoints of another identity are refused key by key."""
        schedule = to_mapping(self.schedule.resolved())
        for corpus in schedule["corpora"].values():
            corpus.pop("path")  # shards may move; their digests below may not change
        return {
            "model": to_mapping(self.model),
            "weights": self.weights_digest,
            "vision_init": self.tower_digest,
            "schedule": schedule,
            "corpora": {name: self.plan.corpus_digest(name) for name in self.schedule.corpora},
            "tokenizer": next(iter(self.sets.values())).manifest.tokenizer,
            "pictures": to_mapping(self.rules),
            "optimizer": to_mapping(self.run.optimizer),
            "loss": to_mapping(self.run.loss),
            "grad_clip": self.run.grad_clip,
            "seed": self.run.seed,
            "precision": self.precision,
        }

    def assembler(self) -> Assembler:
        pin = self.device.type == "cuda"
        here = self.ranks.local_world
        return Assembler(self.sets, self.rules, self.vocabulary, self.run.data, pin=pin, ranks_here=here)

    def autocast(self) -> AbstractContextManager[Any]:
        """The context of forward passes."""
        if self.precision == "bf16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()


def prepare(
    run: Run, *, name: str, cache: Path | None, progress: Callable[[int], None] | None = None, ranks: Ranks = ALONE
) -> Prepared:
    """Opens schedule and corpora, packs the run, and settles model, device and precision.

    `name` stands for RUN.yaml in messages; `cache` keeps the plan's counts and the numbers of the sets' indexes. Raises
    the errors of each part.
    """
    device, precision = _device(run, ranks)
    schedule = load_yaml(Path(run.schedule), Schedule)
    patience = Patience(seconds=run.data.read_seconds, attempts=run.data.read_attempts)
    sets = _open(run, schedule, patience, None if cache is None else cache / "indexes")
    tokenizer = None
    if run.tokenizer is not None:
        tokenizer = tokenizer_file(Path(run.tokenizer))
        check_tokenizer(tokenizer, {corpus: shards.manifest.tokenizer or "" for corpus, shards in sets.items()})
    vocabulary, rules = tokenised_by(sets)
    choice = model_choice(run, vocab=vocabulary.size, media_pad=vocabulary.media_pad, name=name)
    model = configure(choice, name=f"{name}: model")
    with located(Path(run.schedule)):
        plan = Plan.open(schedule, catalogues_of(sets), cache=cache, progress=progress)
    tower = None if run.vision_init is None else open_tower(run.vision_init, model, name)
    digest = None if tower is None else tower.digest()
    weights = None if run.weights is None else WeightsSource(Path(run.weights)).digest()
    return Prepared(
        run, schedule, sets, plan, vocabulary, rules, model, device, precision, tokenizer, tower, digest, weights, ranks
    )


def _open(run: Run, schedule: Schedule, patience: Patience, keep: Path | None) -> dict[str, ShardSet]:
    """The corpora; damaged ones only where the run says so. Raises ShardError naming that way out."""
    try:
        return open_corpora(run.corpora, schedule, patience=patience, damaged=run.data.allow_damaged, keep=keep)
    except ShardError as error:
        raise ShardError(
            f"{error}; or start with --set data.allow_damaged=true, which leaves out the records that can't be read"
        ) from None


def tokenised_by(sets: dict[str, ShardSet]) -> tuple[Vocabulary, PictureRules]:
    """What all sets were tokenised with; `open_corpora` has already refused a mixture."""
    manifest = next(iter(sets.values())).manifest
    if manifest.vocabulary is None:
        raise DigestError(
            f"corpus {manifest.corpus}: its manifest does not name the vocabulary; tokenise it again with "
            "`trivium shards tokenize`"
        )
    return manifest.vocabulary, manifest.picture_rules or PictureRules()


@contextmanager
def deterministic(run: Run, ranks: Ranks = ALONE) -> Iterator[None]:
    """Fixed threads and deterministic algorithms inside: the same numbers in every process on this machine.

    The machine's ranks share its cores.
    `deterministic: false` in the run leaves the algorithms to torch.
    Odd: MKL picks code paths by the alignment of memory; torch aligns to 64 bytes, which is enough. Flushing denormals
    is a thread's own state, inherited by the threads that it starts: enter before torch has started its workers.
    `use_deterministic_algorithms` would load the whole compiler, seconds of a start, to tell it too; none runs here.
    """
    threads, algorithms = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    torch.set_num_threads(run.threads or max(1, (os.cpu_count() or 1) // ranks.local_world))
    torch.set_deterministic_debug_mode("error" if run.deterministic else "default")
    torch.utils.deterministic.fill_uninitialized_memory = False  # NaN in each new tensor: thousands of fills a step
    torch.backends.cudnn.benchmark = False
    torch.set_flush_denormal(True)  # decays near e^-5 a token reach denormals, which halve a CPU's speed
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(algorithms)
        torch.utils.deterministic.fill_uninitialized_memory = fill
        torch.set_flush_denormal(False)


def build_model(prepared: Prepared) -> JointModel:
    """The model with its initial weights, on the run's device, in training mode; vision_init comes after weights."""
    model = prepared.model.build(seed=prepared.run.seed)
    if prepared.run.weights is not None:
        load_weights(model, Path(prepared.run.weights))
    if prepared.tower is not None:
        prepared.tower.copy_into(model)
    return model.to(prepared.device).train()


def begins_from(prepared: Prepared, model: JointModel) -> list[str]:
    """One line for each place that first weights came from, in the order in which they were written."""
    lines = []
    if prepared.run.weights is not None:
        digest = f"digest {(prepared.weights_digest or '')[:12]}…"
        lines.append(f"weights: {counted(len(model.state_dict()), 'tensor')} from {prepared.run.weights} ({digest})")
    if prepared.tower is not None and prepared.run.vision_init is not None:
        part = "tower and projector" if prepared.run.vision_init.projector else "tower"
        over = ", over those of weights" if lines else ""
        count = counted(len(prepared.tower.names), f"{part} tensor")
        digest = f"digest {(prepared.tower_digest or '')[:12]}…"
        lines.append(f"vision_init: {count} from {prepared.tower.path} ({digest}){over}")
    return lines


def keep_tokenizer(prepared: Prepared, folder: Path) -> None:
    """Copies the tokenizer into the run folder, so that a run can be sampled wherever it is moved.

    It gets one name there, whatever it was called and whatever kind it is: `Tokenizer.load` goes by the contents.
    """
    if prepared.tokenizer is not None:
        shutil.copyfile(prepared.tokenizer, folder / TOKENIZER)


def _device(run: Run, ranks: Ranks) -> tuple[torch.device, str]:
    """The rank's own GPU, which is made the current one, or the CPU; and the precision there."""
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if run.device == "cuda" and not found:
        raise UsageError("device is cuda and torch sees none; give device: cpu, or install a CUDA build of torch")
    if not found or run.device == "cpu":
        return torch.device("cpu"), run.precision if run.precision != "auto" else "fp32"
    if ranks.local_world > found:
        raise UsageError(
            f"{ranks.local_world} ranks on a machine with {counted(found, 'GPU')}; give torchrun --nproc-per-node "
            f"{found}, or train on the CPU with --set device=cpu"
        )
    device = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(device)
    return device, run.precision if run.precision != "auto" else "bf16"
