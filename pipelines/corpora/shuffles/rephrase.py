"""Excerpts to rewrites that kept their source's meaning: one job, many excerpts of a worker in work side by side.

    reference → (styles, by hash) → chunk after chunk from the backend → gate, both texts at hand → vote of the model,
    where the policy wants one → reference or drop

Odd: a worker waits most of the time. So requests run in an event loop in a thread of its own, `in_flight` excerpts at
once, and results come out of a bundle in the order in which they are done; what is written depends on no order. Beam's
RemoteModelHandler sends one batch and takes one batch: it has no place for a request that needs the answer before it.

A worker that is killed loses nothing that was paid for: replies lie in the cache, and the job that runs again finds
them there.
"""

import asyncio
import contextlib
import hashlib
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from trivium.data.rephrase.backend import Backend, BackendConfig, Failure, Usage
from trivium.data.rephrase.gate import Gate, Verdict
from trivium.data.rephrase.gate.needs import made_of, require
from trivium.data.rephrase.gate.vote import NO_VOTE, Vote
from trivium.data.rephrase.result import Rewriter, broken, excerpt_of
from trivium.data.rephrase.rewrite import VERSION, Written
from trivium.data.rephrase.style import FOLDER, Style, chosen
from trivium.data.stage import Draft, Drop, refuse, size_of
from trivium.errors import BuildError
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, Tally, count_drop, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.rephrase import Rephrase
from trivium.pipelines.corpora.report.meter import Clock
from trivium.pipelines.corpora.shuffles.keyed import report
from trivium.pipelines.corpora.spool import SpoolReader, SpoolWriter, decode_ref, encode_line, lines_of
from trivium.pipelines.corpora.work import Work, drops_of

SMALL = 64  # excerpts that are not worth a second process
SURE = 20  # rewrites of a worker after which a share of failures says something
_USAGE, _JUDGE = "usage/", "judge/"  # counters of what the writing model did, and the one that votes
_FRACTIONS = ("seconds", "cost")  # counters of Beam are whole: these in thousandths
_OPEN_SECONDS = 120.0

Outcome = tuple[Style, Written | Failure, Verdict | None]  # None: not judged yet
Done = tuple[Draft, list[Outcome]]


def run(work: Work, name: str, config: Rephrase) -> None:
    """Rewrites of the current excerpts become the current references."""
    require(config.gate)  # before a model is started or asked
    work.depend(VERSION, [style.digest for style in config.made_of()], words(), made_of(config.gate))
    folder = work.job_folder(name)
    small = work.size < SMALL
    located, cache = config.located(work.base), config.cache_folder(work.base)
    workers = 1 if small else work.options.workers
    with contextlib.ExitStack() as running:
        backend = running.enter_context(located.backend.launched()).share(workers)
        judge = located.judge and running.enter_context(located.judge.launched()).share(workers)
        job = RewriteExcerpts(located, backend, judge, str(cache), name, str(work.folder), folder.name)
        graph = RephraseGraph(job, work.refs(), folder)
        work.run(name, graph, folder, total=work.size, small=small)
    work.settle(folder, name)
    report(work, name, facts(work, name, config, folder))


def words() -> str:
    """Digest of the data beside the code of rephrasing: prompts, and what the gate knows of languages."""
    found = hashlib.sha256()
    for path in sorted(path for path in FOLDER.parent.rglob("*") if path.suffix in (".yaml", ".json")):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


class RewriteExcerpts(beam.DoFn):
    """References of excerpts → references of accepted rewrites; drops and readings on the side."""

    def __init__(
        self, config: Rephrase, backend: BackendConfig, judge: BackendConfig | None, cache: str, stage: str, build: str,
        folder: str,
    ) -> None:  # fmt: skip
        self._config, self._cache = config, cache
        self._backend_configs = {_USAGE: backend} | ({} if judge is None else {_JUDGE: judge})
        self._stage, self._build, self._folder = stage, build, folder

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")
        self._styles = self._config.made_of()
        self._gate = Gate(self._config.gate)
        self._gate.open()
        self._loop = Loop()
        self._backends: dict[str, Backend] = {}  # by the counters of what they do
        for role, config in self._backend_configs.items():
            self._backends[role] = config.build(Path(self._cache))
            self._loop.run(self._backends[role].open())
        writer, judge = self._backends[_USAGE], self._backends.get(_JUDGE)
        self._rewriter = Rewriter(
            self._config.decoding, self._config.measure(), writer, self._gate, self._stage, judge=judge
        )
        self._asked = self._failed = 0
        self._used: dict[str, int] = {}
        self._open = True

    def start_bundle(self) -> None:
        self._writer: SpoolWriter | None = None
        self._pending: set[Future[Done]] = set()

    def process(self, line: bytes) -> Iterator[Any]:
        draft = self._reader.get(decode_ref(line))
        self._pending.add(self._loop.start(self._rewrite(draft)))
        if len(self._pending) >= self._config.in_flight:
            yield from self._ended()

    def finish_bundle(self) -> Iterator[Any]:
        window = GlobalWindow()
        while self._pending:
            for output in self._ended():
                tag = output.tag if isinstance(output, beam.pvalue.TaggedOutput) else None
                value = output.value if isinstance(output, beam.pvalue.TaggedOutput) else output
                windowed = WindowedValue(value, window.max_timestamp(), [window])
                yield windowed if tag is None else beam.pvalue.TaggedOutput(tag, windowed)
        if self._writer is not None:
            self._writer.close()
        self._count_usage()
        self._check(last=True)
        self._tally.flush()
        yield from self._counters.readings()

    def teardown(self) -> None:
        if self._open:
            self._open = False
            for backend in self._backends.values():
                self._loop.run(backend.close())
            self._loop.close()
            self._gate.close()
            self._reader.close()

    async def _rewrite(self, draft: Draft) -> Done:
        """All rewrites of an excerpt, side by side."""
        meta = draft.document.meta
        styles = chosen(self._styles, meta.source_id, meta.language, self._config.rewrites, self._config.seed)
        texts = await asyncio.gather(*(self._rewriter.write(draft, style) for style in styles))
        return draft, [(style, text, None) for style, text in zip(styles, texts, strict=True)]

    async def _vote(self, draft: Draft, style: Style, text: Written, verdict: Verdict, config: Vote) -> Done:
        return draft, [(style, text, await self._rewriter.voted(draft, style, text, verdict, config))]

    def _ended(self) -> Iterator[Any]:
        """Waits for one excerpt or more, and gives what became of them."""
        done, self._pending = wait(self._pending, return_when=FIRST_COMPLETED)
        for future in done:
            draft, outcomes = future.result()
            dropped = 0
            if not outcomes:
                self._counters.add(f"{self._stage}/in")
                drop = refuse(
                    draft, self._stage, "no_style", f"none takes the language {draft.document.meta.language!r}"
                )
                yield self._drop(drop)
            for found in outcomes:
                output = self._judged(draft, *found)
                if output is None:
                    continue
                dropped += isinstance(output, Drop)
                yield self._drop(output) if isinstance(output, Drop) else self._store(output)
            self._tally.add(dropped=dropped)

    def _judged(
        self, draft: Draft, style: Style, text: Written | Failure, verdict: Verdict | None
    ) -> Draft | Drop | None:
        """What goes on of one rewrite; None while the model's vote on it is awaited."""
        clock, came, ask = Clock(), size_of(draft), self._config.gate.vote
        if verdict is None:
            self._counters.add(f"{self._stage}/in")
        self._asked += 1
        self._failed += verdict.reason == NO_VOTE if verdict else isinstance(text, Failure) and broken(text)
        self._check(last=False)
        try:
            if verdict is None:
                verdict = self._rewriter.judge(draft, style, text)
                if ask is not None and verdict.accepted and isinstance(text, Written):
                    self._pending.add(self._loop.start(self._vote(draft, style, text, verdict, ask)))
                    return None
            outcome = self._rewriter.outcome(draft, style, text, verdict)
        except Exception as error:
            line = traceback.format_exception_only(error)[-1].strip()
            outcome = refuse(draft, self._stage, "crash", f"{style.name}: {line[:300]}", error=True)
        stayed = size_of(outcome) if isinstance(outcome, Draft) else 0
        scores = outcome.document.meta.scores if isinstance(outcome, Draft) else outcome.scores
        self._counters.meter.scored(self._stage, scores)
        self._counters.meter.ran(self._stage, clock.stop(), came, stayed)
        return outcome

    def _drop(self, drop: Drop) -> Any:
        count_drop(self._counters, drop)
        return beam.pvalue.TaggedOutput(DROPS, encode_line(drop))

    def _store(self, draft: Draft) -> bytes:
        if self._writer is None:
            self._writer = SpoolWriter(Path(self._build), f"{self._folder}/spool")
        self._counters.add(f"{self._stage}/kept")
        return encode_line(self._writer.add(draft, tuple(sorted(draft.document.meta.scores))))

    def _check(self, *, last: bool) -> None:
        """Raises BuildError when the backend fails so often that going on is a waste; replies so far are kept."""
        if self._asked < SURE and not (last and self._failed == self._asked):
            return
        if self._failed > self._config.max_failed * self._asked:
            for future in self._pending:
                future.cancel()
            self.teardown()  # Beam does not, after an exception
            judge = " or at its judge" if _JUDGE in self._backends else ""
            raise BuildError(
                f"{self._stage}: {self._failed:,} of {self._asked:,} rewrites failed at the backend "
                f"{self._backends[_USAGE].name!r}{judge}, more than max_failed {self._config.max_failed:g}; look "
                "whether the server is up and what it bears, then run the same command again: replies so far are kept"
            )

    def _count_usage(self) -> None:
        """Adds what each model did since the last bundle to the counters, in whole numbers."""
        for role, backend in self._backends.items():
            for key, value in msgspec.to_builtins(backend.usage).items():
                whole, counter = round(value * 1000) if key in _FRACTIONS else value, f"{role}{key}"
                self._counters.add(f"{self._stage}/{counter}", whole - self._used.get(counter, 0))
                self._used[counter] = whole


class Loop:
    """An event loop in a thread of its own, which other threads give coroutines to."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rephrase", daemon=True)
        self._thread.start()

    def start(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Any) -> Any:
        return self.start(coroutine).result(_OPEN_SECONDS)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        if not self._thread.is_alive():
            self._loop.close()


class RephraseGraph:
    """References of excerpts → `refs`, `drops`, `readings`."""

    def __init__(self, job: RewriteExcerpts, refs: list[Path], folder: Path) -> None:
        self._job, self._refs, self._folder = job, refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        written = lines(pipeline, self._refs, "refs") | "rephrase" >> beam.ParDo(self._job).with_outputs(
            DROPS, READINGS, main="refs"
        )
        write(written.refs, self._folder, "refs")
        write_sides([written], self._folder)


def facts(work: Work, name: str, config: Rephrase, folder: Path) -> dict[str, Any]:
    """What the report says: rewrites by style and reason, and what the backend was asked and took."""
    kept = Counter(_style(decode_ref(line).address) for line in lines_of(folder, "refs"))
    lost: dict[str, Counter[str]] = {}
    for drop in drops_of(folder):
        lost.setdefault(_style(drop.address), Counter())[drop.reason] += 1
    judged = {} if config.judge is None else {"judge": _used(work, f"{name}/{_JUDGE}")}
    return {
        "kind": "rephrase",
        "parameters": msgspec.to_builtins(config),
        "prompts": {style.name: style.digest for style in config.made_of()},
        "styles": {
            style: {"accepted": kept[style], "rejected": dict(lost.get(style, Counter()).most_common())}
            for style in sorted({*kept, *lost})
        },
        "usage": _used(work, f"{name}/{_USAGE}"),
    } | judged


def _used(work: Work, counters: str) -> dict[str, float]:
    """What a model was asked and took."""
    counted = {key: work.counts[f"{counters}{key}"] for key in Usage.__struct_fields__}
    return {key: count / 1000 if key in _FRACTIONS else count for key, count in counted.items()}


def _style(address: str) -> str:
    """The style in a rewrite's address; "" for an excerpt's."""
    return address.rpartition("/")[2] if excerpt_of(address) else ""
