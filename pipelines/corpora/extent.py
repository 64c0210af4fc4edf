"""How much of a recipe a run builds, and what of an earlier run it goes on from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trivium.data.config import digest, nearest
from trivium.data.dedup.config import Dedup
from trivium.data.guard.layers import demand
from trivium.data.shards import read_manifest
from trivium.data.stage import DOCUMENTS
from trivium.errors import UsageError
from trivium.pipelines.corpora.marks import Input, Marks, code_version, key_of, source_input
from trivium.pipelines.corpora.output import Owner, refuse_part
from trivium.pipelines.corpora.places import Places
from trivium.pipelines.corpora.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """How much of a recipe is run: all, or `limit` items of each source, or up to the stage `until`.

    `fresh` begins anew where an earlier run stopped; `shuffle_seed` reads the inputs in another order, which must not
    change a byte; `command` is what the report shows; `unsafe` lets stages run code of strangers without namespaces.
    """

    limit: int | None = None
    until: str | None = None
    fresh: bool = False
    shuffle_seed: int | None = None
    command: str = ""
    unsafe: bool = False

    def check(self, recipe: Recipe, out: Path) -> None:
        """Raises UsageError for a stage that is none or makes no documents, and where less would replace a set.

        MissingDependencyError where a source or stage executes code of strangers and the guard has no namespaces.
        """
        stages = zip(recipe.stage_names()[1:], recipe.stages, strict=True)
        parts = [*((source.name, source) for source in recipe.sources), *stages]
        demand([name for name, part in parts if part.EXECUTES], unsafe=self.unsafe)
        if self.until is not None:
            _check_stage(recipe, self.until)
            refuse_part(out, "--until")
        if self.limit is not None:
            if self.limit < 1:
                raise UsageError(f"--limit {self.limit}: give the number of items of each source, 1 or more")
            refuse_part(out, "--limit")


def _check_stage(recipe: Recipe, until: str) -> None:
    stages = recipe.stage_names()[1:]
    if until not in stages:
        raise UsageError(f"--until {until}: the recipe has no such stage{nearest(until, stages)}")
    for source in recipe.sources:
        content = source.GIVES
        for stage in recipe.stages[: stages.index(until) + 1]:
            content = stage.GIVES if stage.GIVES is not None and content in stage.TAKES else content
        if content not in DOCUMENTS:
            raise UsageError(
                f"--until {until}: what source {source.name!r} gives is {content} there, which are no documents yet; "
                "name a later stage"
            )


def check_earlier(recipe: Recipe, base: Path, limit: int | None) -> None:
    """Raises UsageError when a whole build would be compared with a part of an earlier corpus, made by `--limit`."""
    for name, stage in zip(recipe.stage_names()[1:], recipe.stages, strict=True):
        for path in stage.against if isinstance(stage, Dedup) else ():
            part = read_manifest((base / path).absolute())[0].limit
            if part is not None and limit is None:
                raise UsageError(
                    f"stages.{name}.against: {base / path} is a part of its corpus (built with --limit {part}), so "
                    "duplicates of all that it left out would stay; build it whole, take it out of `against`, or try "
                    "with --limit here too"
                )


def new_owner(recipe: Recipe, base: Path, places: Places, extent: Extent, before: Owner | None) -> Owner:
    """The state of this run: what it reads, by which code, and where its jobs are cut.

    A cut of an earlier run stays, since what was done before it is of use only with the same cut.
    """
    wanted = {*(before.cuts if before is not None else ()), extent.until}
    return Owner(
        corpus=recipe.corpus,
        recipe=digest(recipe),
        code=code_version(),
        limit=extent.limit,
        inputs={
            source.name: source_input(source, base, (part.place for part in places.parts[source.name]))
            for source in recipe.sources
        },
        cuts=tuple(name for name in recipe.stage_names() if name in wanted),
    )


def root_key(recipe: Recipe, owner: Owner) -> str:
    """What the first job's output depends on beside its stages."""
    inputs = {name: found.digest for name, found in owner.inputs.items()}
    return key_of(owner.code, recipe.corpus, recipe.domain, owner.limit, recipe.sources, inputs)


def say_earlier(marks: Marks, before: Owner | None, owner: Owner, tell: Callable[[str], None]) -> None:
    """One line about an earlier run that stopped: behind which job this one goes on, or why it begins anew."""
    if before is None or not marks.found:
        return
    if marks.used:
        jobs = "1 job" if marks.used == 1 else f"{marks.used} jobs"
        tell(f"an earlier run stopped here: goes on behind {marks.last!r}, {jobs} used again")
    else:
        tell(f"an earlier run stopped here, and {_changed(before, owner)}: begins anew")


def _changed(before: Owner, owner: Owner) -> str:
    if before.code != owner.code:
        return f"the code has changed since ({before.code} → {owner.code})"
    if before.limit != owner.limit:
        return f"its limit was {before.limit or 'none'}, this one's is {owner.limit or 'none'}"
    for name, found in owner.inputs.items():
        old = before.inputs.get(name)
        if old is not None and old.digest != found.digest:
            return f"source {name!r} has changed since ({_sized(old)} → {_sized(found)}; files by size and time)"
    if before.recipe != owner.recipe:
        return "the recipe has changed since"
    return "nothing of it can be used again"


def _sized(found: Input) -> str:
    return f"{found.files:,} files, {found.bytes:,} bytes"
