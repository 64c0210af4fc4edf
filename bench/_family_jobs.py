"""What `bench/family.py` trains: the family's members, the load test, and each switch; all by `trivium train`."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from trivium.data.config import Strict

ROOT = Path(__file__).resolve().parent.parent
RUN = Path("recipes/runs/family-results.yaml")
SCHEDULE = Path("recipes/curricula/results.yaml")
MEMBERS = ("tiny", "small", "k2-tiny", "k2-small")
STEPS = {"tiny": 2500, "small": 2000, "k2-tiny": 2500, "k2-small": 2000}
PLACES = {"small": 0, "k2-tiny": 0, "k2-small": 1, "tiny": 1}  # GPUs: a long and a short run on each
LOAD_ROWS = 136

Kind = Literal["run", "load", "switch", "trial"]

# From nano, one mechanism at a time as the K2 baseline or Kimi Linear has it.
SWITCHES: dict[str, tuple[str, ...]] = {
    "none": (),
    "attention-all-mla": ("model.backbone.mla_every=1",),
    "attention-all-kda": ("model.backbone.mla_every=null",),
    "decay-unbounded": ("model.backbone.kda.decay_bound=null",),
    "kda-gate-low-rank": ("model.backbone.kda.gate=low_rank",),
    "kda-gate-none": ("model.backbone.kda.gate=none",),
    "mla-gate-low-rank": ("model.backbone.mla.gate=low_rank",),
    "mla-gate-none": ("model.backbone.mla.gate=none",),
    "attn-res-block-1": ("model.backbone.attn_res_block=1",),
    "residual-plain": ("model.backbone.residual=plain",),
    "experts-full-width": ("model.backbone.moe.latent=null", "model.backbone.moe.scaling=2.827"),
    "activation-swiglu": ("model.backbone.activation=swiglu",),
    "balance-sign": ("model.backbone.moe.balance=sign",),
    "balance-ema": ("model.backbone.moe.balance_ema=0.5",),
    "mtp-none": ("model.backbone.mtp_layers=0",),
    "balance-none": ("model.backbone.moe.balance=none",),
    "muon-whole": ("optimizer.per_head=false",),
    "positions-rope": ("model.backbone.mla.rope_base=50000.0",),
    "k2-nano": ("model.preset=k2-nano", "optimizer.per_head=false"),
}


class Job(Strict, frozen=True, kw_only=True):
    """One run. `rows` and `context` replace the schedule's stages by a single one; left out, its two stages stay."""

    name: str
    kind: Kind
    preset: str
    steps: int
    rows: int | None = None
    context: int | None = None
    peak: float | None = None  # learning rate; None: the schedule's
    warmup: float | None = None  # share of the steps; None: the schedule's
    shape: str | None = None  # of the learning rate behind the warm-up; None: the schedule's
    window: int | None = None  # documents packed together; None: the schedule's
    mixture: dict[str, float] | None = None  # shares of tokens; None: the schedule's
    changes: tuple[str, ...] = ()  # as --set gives them
    evaluate: int = 0  # steps; 0: not at all
    place: int | None = None  # which GPU; None: the one with the fewest processes
    memory: float = 0.05  # share of a GPU's memory that it may come to take: jobs beside each other share one

    def shortened(self, steps: int) -> "Job":
        """The same with fewer steps, evaluated about six times."""
        return msgspec.structs.replace(self, steps=steps, evaluate=every(steps))

    def schedule(self) -> dict[str, Any]:
        """The schedule of this job, with the number of steps it shall have."""
        raw = yaml.safe_load((ROOT / SCHEDULE).read_text(encoding="utf-8"))
        stages = raw["stages"]
        if self.rows is not None and self.context is not None:
            stages = [{**stages[0], "name": "only", "rows": self.rows, "context": self.context}]
        batches = [stage["rows"] * int(stage["context"] * stage["fill"]) for stage in stages]
        shares = [stage["tokens"] / batch for stage, batch in zip(stages, batches, strict=True)]
        left = self.steps
        for place, (stage, batch) in enumerate(zip(stages, batches, strict=True)):
            last = place + 1 == len(stages)
            steps = left if last else max(1, round(self.steps * shares[place] / sum(shares)))
            left -= steps
            stage["tokens"] = steps * batch
            stage["mixture"] = self.mixture or stage["mixture"]
        raw["stages"] = [stage for stage in stages if stage["tokens"]]
        used = {name for stage in raw["stages"] for name in stage["mixture"]}
        raw["corpora"] = {name: corpus for name, corpus in raw["corpora"].items() if name in used}
        raw["lr"] |= {} if self.peak is None else {"peak": self.peak}
        raw["lr"] |= {} if self.warmup is None else {"warmup_ratio": self.warmup}
        raw["lr"] |= {} if self.shape is None else {"shape": self.shape}
        raw |= {} if self.window is None else {"window": self.window}
        return raw

    def overrides(self, schedule: Path, corpora: Path) -> list[str]:
        """What the run file is changed by."""
        given = [
            f"schedule={schedule}",
            f"corpora={corpora / 'corpora'}",
            f"tokenizer={corpora / 'tokenizer.json'}",
            f"model.preset={self.preset}",
            f"eval.every={self.evaluate}",
        ]
        return given + list(self.changes)


def main_runs(steps: dict[str, int]) -> Iterator[Job]:
    """The four members, K2 with Muon on whole matrices. All four beside each other took 94 GB of an H200's 144."""
    for name in MEMBERS:
        count = steps[name]
        baseline = ("optimizer.per_head=false",) if name.startswith("k2") else ()
        yield Job(
            name=name, kind="run", preset=name, steps=count, changes=baseline, evaluate=every(count),
            place=PLACES[name], memory=0.3 if name.endswith("small") else 0.15,
        )  # fmt: skip


def every(steps: int) -> int:
    """Steps between evaluations, of which a run has about six."""
    return max(100, math.ceil(steps / 600) * 100)


# The report warms up over 1 % of its steps, so that its rate at step 20 is a few millionths; here 1 % of 100,000.
PEAK, WARMUP = 2e-4, 1000


def load_runs(rows: int = LOAD_ROWS, steps: int = 36) -> Iterator[Job]:
    """Fresh models of 256 experts on rows of 512 tokens, 136 263 tokens a step, at the report's warm-up.

    Rows are short, so that a step holds many documents; each step has the mixture's shares, by the schedule's window.
    """
    baseline = ("optimizer.per_head=false", "model.backbone.moe.experts=256")
    many = ("model.backbone.moe.experts=256", "model.backbone.moe.experts_per_token=8")
    for name, preset, mixture, times, changes in (
        ("load-tiny", "tiny", None, 2, ()),
        ("load-tiny-text", "tiny", {"web": 1.0}, 2, ()),
        ("load-nano", "nano", None, 4, many),
        ("load-k2-tiny", "k2-tiny", None, 2, baseline),
    ):
        yield Job(
            name=name, kind="load", preset=preset, steps=steps, rows=times * rows, context=512,
            peak=PEAK * steps / WARMUP, warmup=1.0, shape="constant", mixture=mixture, changes=changes, memory=0.5,
        )  # fmt: skip


# What moves the load of `load-tiny`, one thing at a time: the rate (`peak`, reached after `warmup` steps and kept), the
# tokens (`times`), whether each step has the mixture's shares, a moving average. K2's published peak is 2e-4.
TRIALS: dict[str, dict[str, Any]] = {
    "slow": {"peak": 2e-4, "warmup": 100, "times": 2},
    "2e-4": {"peak": 2e-4, "times": 2},
    "2e-4-ema": {"peak": 2e-4, "times": 2, "changes": ("model.backbone.moe.balance_ema=0.5",)},
    "2e-4-half": {"peak": 2e-4},
    "still-half": {"peak": 1e-6},
    "steep-half": {"peak": 4e-3, "warmup": 100},
    "6e-4": {"peak": 6e-4, "times": 2},
    "uneven": {"peak": 2e-4, "times": 2, "window": 4096},
    "text": {"peak": 2e-4, "times": 2, "mixture": {"web": 1.0}},
    "slow-double": {"peak": 2e-4, "warmup": 100, "times": 4},
    "2e-4-double-ema": {"peak": 2e-4, "times": 4, "changes": ("model.backbone.moe.balance_ema=0.5",)},
}


def trial_runs(rows: int = LOAD_ROWS, steps: int = 36) -> Iterator[Job]:
    """`tiny` as in the load test with one thing changed at a time; not part of a run of all parts."""
    for name, given in TRIALS.items():
        warmup, times = given.get("warmup", 20), given.get("times", 1)
        shown = min(1.0, steps / warmup)  # a warm-up longer than the trial is cut with it
        yield Job(
            name=f"trial-{name}", kind="trial", preset="tiny", steps=steps, rows=times * rows, context=512,
            peak=given["peak"] * shown, warmup=min(1.0, warmup / steps), shape="constant", window=given.get("window"),
            mixture=given.get("mixture"), changes=given.get("changes", ()), memory=min(1.0, 0.25 * times),
        )  # fmt: skip


def switch_runs(steps: int = 120, rows: int = 8, context: int = 1024) -> Iterator[Job]:
    """nano with each mechanism exchanged for another, and the K2 baseline of its size."""
    for name, changes in SWITCHES.items():
        yield Job(
            name=f"switch-{name}", kind="switch", preset="nano", steps=steps, rows=rows, context=context, warmup=0.1,
            changes=changes,
        )  # fmt: skip
