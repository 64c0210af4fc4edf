"""Whether the corpora can feed a plan: how often each pool's documents come, and who would come too often."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trivium.curriculum.pools import Pool, Rules, Supply
from trivium.errors import ConfigError

if TYPE_CHECKING:
    from trivium.curriculum.plan import Plan

_SLACK = 1e-6  # of an epoch: rounding of weights
_FORMAT = 1


class Shortfall(msgspec.Struct, frozen=True):
    """Documents that would come `epochs` times where `limit` is allowed; `missing` training tokens would mend it."""

    corpus: str
    bucket: str
    epochs: float
    limit: float
    missing: int
    stages: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"corpora.{self.corpus}: the stages ({', '.join(self.stages)}) read its documents of bucket {self.bucket} "
            f"{self.epochs:.2f} times and {self.limit:g} is allowed (max_epochs or bucket_epochs); about "
            f"{self.missing:,} more training tokens would be needed"
        )


def epochs(plan: "Plan", pool: str) -> float:
    """How often the whole run goes through a pool: every document that its stages can use comes so often, ±1."""
    return sum(stage.taken(pool) / stage.supply[pool].tokens for stage in plan.stages if stage.supply[pool].tokens)


def shortfalls(plan: "Plan") -> list[Shortfall]:
    """All pools that would be read more often than their corpus allows."""
    found = []
    for name, pool in plan.pools.items():
        limit = plan.schedule.corpora[pool.corpus].limit(pool.bucket)
        times = epochs(plan, name)
        if limit is not None and times > limit + _SLACK:
            needed = sum(stage.taken(name) for stage in plan.stages) / limit
            held = max(stage.supply[name].tokens for stage in plan.stages if stage.taken(name))
            stages = tuple(stage.rules.name for stage in plan.stages if stage.taken(name))
            found.append(Shortfall(pool.corpus, pool.bucket, times, limit, max(1, int(needed - held)), stages))
    return found


def check_supply(plan: "Plan") -> None:
    """Raises ConfigError naming every shortfall."""
    found = shortfalls(plan)
    if found:
        raise ConfigError(
            "; ".join(map(str, found))
            + ". Lower the stages' tokens or the weights, add documents, or raise the limits",
            ("corpora", found[0].corpus),
        )


def read_supplies(
    folder: Path | None, key: str, rules: Sequence[Rules], pools: Sequence[Pool]
) -> list[list[Supply]] | None:
    """What an earlier scan of the same sizes under the same rules found."""
    if folder is None:
        return None
    try:
        kept = msgspec.json.decode((folder / f"supply-{key}.json").read_bytes(), type=dict[str, list[list[Supply]]])
    except (OSError, msgspec.DecodeError):  # what can't be read is scanned anew
        return None
    return kept.get(_name(rules, pools))


def write_supplies(
    folder: Path | None, key: str, rules: Sequence[Rules], pools: Sequence[Pool], found: Sequence[Sequence[Supply]]
) -> None:
    """Keeps a scan's result, atomically."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"supply-{key}.json"
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(msgspec.json.encode({_name(rules, pools): found}))
    fresh.replace(path)


def _name(rules: Sequence[Rules], pools: Sequence[Pool]) -> str:
    return f"{_FORMAT} {[(r.context, r.patch_budget, r.cut) for r in rules]} {[pool.name for pool in pools]}"
