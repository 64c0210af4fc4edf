"""The state of a build between its Beam jobs, and what the driver offers to its shuffles.

Odd: the current references are always the files of one job's folder. A job that is not settled leaves its files to
whoever ran it; a settled one becomes the state, once Beam's counters and the files say the same.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from trivium.data.stage import Drop, StageConfig
from trivium.errors import BuildError
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.causes import Causes
from trivium.pipelines.corpora.marks import Done, Marks, key_of, stage_input
from trivium.pipelines.corpora.part import RECORD
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.sources import READ
from trivium.pipelines.corpora.spool import content_of, decode_ref, lines_of
from trivium.pipelines.corpora.usage import Usage

FORGIVEN = 5  # items that may fail whatever share of a small corpus they are; none where the budget is 0
SMALL = 50_000  # references that a shuffle handles faster in this process than in workers started for it

# (stage, done, total or unknown, records refused so far, what is counted: RECORD, FILE or PART)
Progress = Callable[[str, int, int | None, int, str], None]


class Work:
    """One build's folder, counters, jobs and current references.

    `size` is the number of current references, `counts` Beam's counters by name, `drops` the drops of settled jobs by
    (stage, reason), `jobs` the folders of all jobs so far. `base` is the folder of the recipe's relative paths, `key`
    stands for all that the next job's output depends on, `done` are the marks of the jobs that have run.
    """

    def __init__(
        self,
        recipe: Recipe,
        base: Path,
        folder: Path,
        options: BeamOptions,
        progress: Progress,
        *,
        key: str,
        at_new: Callable[[Marks], None],
    ) -> None:
        self.recipe, self.base, self.folder = recipe, base, folder
        self.options, self.progress = options, progress
        self.key, self.marks = key, Marks(folder, at_new)
        self.done: list[Done] = []
        self.counts: Counter[str] = Counter()
        self.drops: Counter[tuple[str, str]] = Counter()
        self.jobs: list[Path] = []
        self.settled: list[Path] = []  # folders of the jobs whose drops and readings are whole
        self.state: Path | None = None  # folder of the current references
        self.size = 0
        self.volumes: dict[str, int] = {}  # bytes of text and media behind the references that a stage settled
        self.left: dict[str, Path] = {}  # what the finished set holds beside shards and rejects, by name in it
        (folder / "tally").mkdir(exist_ok=True)

    def enter(self, name: str, config: StageConfig) -> None:
        """Makes the jobs that follow depend on a stage's parameters, and on the files that it reads."""
        self.depend(name, config, stage_input(config, self.base).digest)

    def depend(self, *parts: object) -> None:
        """Makes the jobs that follow depend on plain data or structs."""
        self.key = key_of(self.key, *parts)

    def refs(self) -> list[Path]:
        """Files of the current references, one JSON line each; none before the first item job."""
        return sorted(self.state.glob("refs-*")) if self.state is not None else []

    def sources(self) -> Counter[str]:
        """Current references by name of their source."""
        return Counter(decode_ref(line).source for line in lines_of(self.state, "refs")) if self.state else Counter()

    def job_folder(self, name: str) -> Path:
        """A new folder below the build's for one job's files; `name` makes it readable, its number makes it new."""
        folder = self.folder / f"{len(self.jobs):02d}-{name}"
        self.jobs.append(folder)
        return folder

    def leave(self, name: str, path: Path) -> None:
        """Has the finished set hold the file at `path` under `name`, such as dedup/near_dedup.json."""
        self.left[name] = path

    def run(
        self,
        label: str,
        graph: Callable,
        folder: Path,
        *,
        total: int | None = None,
        small: bool | None = None,
        thing: str = RECORD,
    ) -> None:
        """Runs one Beam job that writes into `folder`, or takes what an earlier run left of it; adds its counters.

        `graph` is a picklable object that wires a pipeline. `total` things, named `thing`, are the job's whole; a
        `small` job (by default: fewer than SMALL current references) stays in this process. Raises BuildError when it
        fails.
        """
        self.depend(label, folder.name)
        done = self.marks.earlier(self.key, folder) or self._run(label, graph, folder, total, small, thing)
        self.done.append(done)
        self.counts.update(done.counters)

    def _run(
        self, label: str, graph: Callable, folder: Path, total: int | None, small: bool | None, thing: str
    ) -> Done:
        tally = self.folder / "tally"
        for path in tally.iterdir():
            path.unlink()
        small = self.size < SMALL if small is None else small
        options = self.options.in_process() if small else self.options
        folder.mkdir(exist_ok=True)
        self.marks.clean(folder)
        usage, began = Usage(), time.monotonic()

        def tick() -> None:
            usage.look()
            self.progress(label, *tallied(tally, total), thing)

        tick()
        counters = run_job(label, graph, options, logs=self.folder / "logs", tick=tick)
        done, _, dropped = tallied(tally, total)
        done = done if total is None else total
        self.progress(label, done, done, dropped, thing)
        return self.marks.write(
            key=self.key,
            label=label,
            folder=folder,
            counters=counters,
            seconds=time.monotonic() - began,
            cpu_seconds=usage.cpu_seconds(),
            workers=options.workers,
            peak_bytes=usage.workers,
        )

    def settle(self, folder: Path, name: str) -> None:
        """Takes the job's `refs-*` and `drops-*` as the current state of stage `name`.

        Beam's counters `<stage>/drop/<reason>` and `<name>/kept` must say what the files say, or it raises BuildError.
        """
        self.state = folder
        self.settled.append(folder)
        sizes = [0, 0]
        for line in lines_of(folder, "refs"):
            sizes[0] += 1
            sizes[1] += content_of(line)
        self.size, self.volumes[name] = sizes
        found = Counter((drop.stage, drop.reason) for drop in drops_of(folder))
        self.drops.update(found)
        counted = {key: self.counts[f"{key[0]}/drop/{key[1]}"] for key in found}
        kept = self.counts[f"{name}/kept"]
        if counted != dict(found) or kept != self.size:
            raise BuildError(
                f"{name}: Beam's counters ({kept:,} kept, {sum(counted.values()):,} dropped) and the files "
                f"({self.size:,} kept, {found.total():,} dropped) differ; this runner loses or repeats "
                "records: name another"
            )

    def check_budget(self) -> None:
        """Raises BuildError when more crashed and damaged items were read than the recipe forgives.

        That is its share of all items, and never fewer than FORGIVEN unless the share is 0: in a corpus of some dozens
        of items one damaged file is a large share and says nothing.
        """
        total, budget = self.counts[f"{READ}/in"], self.recipe.error_budget
        allowed = max(int(budget * total), FORGIVEN) if budget else 0
        failed = Causes(drop for drop in self.refused() if drop.error)
        if failed.total() <= allowed:
            return
        needed = -(-failed.total() * 1000 // max(1, total)) / 1000
        more = f", or allow more: --set error_budget={needed:g}, or that line in the recipe"
        raise BuildError(
            f"{failed.total():,} of {total:,} items failed, and error_budget {budget:g} allows {allowed:,} (the "
            f"share of all items; in small corpora {FORGIVEN}, unless it is 0). Worst: {failed.why()}. What to do: "
            f"{failed.cure()}{more if failed.total() < total else ''}"
        )

    def refused(self) -> Iterator[Drop]:
        """The drops of the jobs that are settled."""
        for job in self.settled:
            yield from drops_of(job)


def drops_of(folder: Path) -> Iterator[Drop]:
    """The drops that a job wrote."""
    for line in lines_of(folder, "drops"):
        yield msgspec.json.decode(line, type=Drop)


def tallied(folder: Path, total: int | None) -> tuple[int, int | None, int]:
    """(things done, `total`, records refused) of all workers, by the small files that they leave in `folder`."""
    done = dropped = 0
    for path in folder.iterdir():
        try:
            items, refused = path.read_text().split()
            done, dropped = done + int(items), dropped + int(refused)
        except (OSError, ValueError):
            continue
    return done, total, dropped
