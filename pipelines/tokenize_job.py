"""The Beam jobs behind `trivium shards tokenize`: lay out, plan, write.

Odd: two jobs joined by files. The first lays documents out and spools their tokens, part by part; the driver plans
shards from the sizes alone; the second copies each record's bytes and its tokens into the shard that the plan names.
Only numbers travel through Beam, and neither plan nor bytes depend on how many workers there were.
"""

import hashlib
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import apache_beam as beam
import msgspec
from apache_beam.metrics import Metrics

from trivium.data import records
from trivium.data.config import Strict
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Step
from trivium.data.shards import (
    Bucket,
    FunnelStage,
    Manifest,
    Place,
    Record,
    ShardInfo,
    ShardSet,
    begin,
    bucket_for,
    plan_shards,
    read_manifest,
    read_rejects,
    shard_name,
    stored_bytes,
    tally,
    write_manifest,
    write_rejects,
    write_shard,
)
from trivium.data.shards import names as grammar
from trivium.data.shards.storage import write_whole
from trivium.data.shards.takedown import refuse_return
from trivium.data.stage import Drop
from trivium.data.tokenizers import Tokenizer, tokenize_document
from trivium.errors import BuildError, DigestError, InputError, ShardError, UsageError
from trivium.pipelines.beam import NAMESPACE, BeamOptions, run_job
from trivium.pipelines.corpora.linefiles import spread
from trivium.pipelines.corpora.output import refuse_inside
from trivium.pipelines.corpora.shards import local_paths

STAGE, VERSION = "tokenize", 1
WORK = ".tokenize"
PART_BYTES = 8 << 20  # of input a part; small, so that workers share the work evenly
T = TypeVar("T")
Progress = Callable[[str, int, int], None]


class Settings(Strict, frozen=True, kw_only=True):
    """What a worker must know; `digest` proves that it loaded the same tokenizer as the driver."""

    source: str
    out: str
    tokenizer: str
    digest: str
    rules: PictureRules
    buckets: tuple[Bucket, ...]

    @property
    def work(self) -> Path:
        return Path(self.out) / WORK

    @property
    def step(self) -> Step:
        parameters = hashlib.sha256(f"{self.digest} {self.rules.digest()}".encode()).hexdigest()
        return Step(name=STAGE, version=VERSION, parameters=parameters)


class Part(Strict, frozen=True, kw_only=True):
    """Columns over the kept records of one part: number in the input, id, bytes in the output, tokens, spool offset."""

    record: list[int]
    id: list[str]
    size: list[int]
    tokens: list[int]
    offset: list[int]
    drops: list[Drop]


class Line(msgspec.Struct, frozen=True, array_like=True):
    """One record of a planned shard and where its tokens are spooled (bytes)."""

    record: int
    part: int
    offset: int
    length: int


def tokenize_set(
    source: Place,
    out: Path,
    tokenizer: Path,
    options: BeamOptions,
    *,
    rules: PictureRules,
    buckets: tuple[Bucket, ...],
    target_bytes: int,
    force: bool = False,
    progress: Progress = lambda _name, _done, _total: None,
) -> Manifest:
    """Tokenises one set into `out` and returns its manifest; records longer than the last bucket become rejects.

    Raises InputError, ShardError, UsageError (out and input lie in each other; out holds another set and there is no
    `force`), BuildError.
    """
    refuse_inside(out, "the job", local_paths([str(source)]))
    shards = ShardSet.open(source)
    if not force:
        refuse_other(out, shards.manifest)
    refuse_return(out, shards.manifest)
    engine = Tokenizer.load(tokenizer)
    settings = Settings(
        source=str(source.absolute()),
        out=str(out.absolute()),
        tokenizer=str(tokenizer.absolute()),
        digest=engine.digest,
        rules=rules,
        buckets=buckets,
    )
    begin(out)
    shutil.rmtree(settings.work, ignore_errors=True)
    settings.work.mkdir(parents=True)
    parts = split_parts(shards)
    counters = _run("lay out", _LayOut(settings), list(enumerate(parts)), "part-*.json", options, settings, progress)
    drops, plans = _plan(settings, len(parts), target_bytes, shards.manifest.corpus)
    kept = len(shards) - len(drops)
    if counters and counters.get("tokenized", 0) != kept:
        raise BuildError(f"Beam counted {counters.get('tokenized', 0)} tokenised records, the parts hold {kept}; rerun")
    _run("write shards", _Write(settings), plans, "info-*.json", options, settings, progress)
    manifest = _finish(settings, shards, engine, plans, drops)
    shutil.rmtree(settings.work)
    return manifest


def refuse_other(out: Path, source: Manifest) -> Manifest | None:
    """What `out` holds, an earlier tokenisation of the same corpus; None for nothing. Raises UsageError for another."""
    if not (out / grammar.MANIFEST).is_file():
        return None
    cure = "give another --out, or --force to replace it"
    try:
        held, _ = read_manifest(out)
    except ShardError as error:
        raise UsageError(f"--out {out}: what it holds can't be told ({error}); {cure}") from None
    if held.corpus != source.corpus:
        raise UsageError(f"--out {out}: holds corpus {held.corpus!r}, and the input is {source.corpus!r}; {cure}")
    if held.tokenizer is None:
        raise UsageError(f"--out {out}: holds corpus {held.corpus!r} as it was built, not tokenised; {cure}")
    return held


def split_parts(shards: ShardSet) -> list[tuple[int, int]]:
    """[start, stop) runs of records of about PART_BYTES each; a pure function of the set."""
    bounds = [0]
    held = 0
    for number, size in enumerate(shards.entries.size.tolist()):
        if held and held + size > PART_BYTES:
            bounds.append(number)
            held = 0
        held += size
    bounds.append(len(shards))
    return [(a, b) for a, b in itertools.pairwise(bounds) if a < b]


def stepped(document: Document, step: Step) -> Document:
    """The document with `step` as its last step, in place of an earlier tokenisation."""
    steps = tuple(old for old in document.meta.lineage.steps if old.name != STAGE)
    lineage = msgspec.structs.replace(document.meta.lineage, steps=(*steps, step))
    return msgspec.structs.replace(document, meta=msgspec.structs.replace(document.meta, lineage=lineage))


class _Worker(beam.DoFn):  # type: ignore[misc]
    """Opens the input once a worker."""

    def __init__(self, settings: Settings) -> None:
        self.raw = msgspec.json.encode(settings)

    def setup(self) -> None:
        self.settings = msgspec.json.decode(self.raw, type=Settings)
        self.shards = ShardSet.open(self.settings.source)

    def teardown(self) -> None:
        self.shards.close()


class _LayOut(_Worker):
    """(part number, (start, stop)) → `part-N.tokens`, the spool, and `part-N.json`, its columns."""

    def setup(self) -> None:
        super().setup()
        self.tokenizer = Tokenizer.load(self.settings.tokenizer)
        if self.tokenizer.digest != self.settings.digest:
            raise DigestError(
                f"{self.settings.tokenizer}: another tokenizer here ({self.tokenizer.digest[:16]}…) than the driver's "
                f"({self.settings.digest[:16]}…); put the same file on every worker"
            )

    def process(self, element: tuple[int, tuple[int, int]]) -> None:
        number, (start, stop) = element
        columns: dict[str, list[int | str]] = {name: [] for name in ("record", "id", "size", "tokens", "offset")}
        drops: list[Drop] = []
        spool = bytearray()
        for record in range(start, stop):
            outcome = lay_out(self.shards, record, self.tokenizer, self.settings)
            if isinstance(outcome, Drop):
                drops.append(outcome)
                continue
            document, payload, size = outcome
            values = (record, document.id, size, len(payload) // 4, len(spool))
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
            spool += payload
        work = self.settings.work
        write_whole(work / f"part-{number:06d}.tokens", bytes(spool))
        write_whole(work / f"part-{number:06d}.json", msgspec.json.encode({**columns, "drops": drops}))
        Metrics.counter(NAMESPACE, "tokenized").inc(len(columns["id"]))
        Metrics.counter(NAMESPACE, "rejected").inc(len(drops))


def lay_out(
    shards: ShardSet, record: int, tokenizer: Tokenizer, settings: Settings
) -> Drop | tuple[Document, bytes, int]:
    """A record's document with the new step, its token payload and its stored bytes; or why it is refused."""
    document = stepped(_read(shards, record, shards.read_document), settings.step)
    try:
        laid = tokenize_document(document, tokenizer, settings.rules)
    except InputError as error:
        return _drop(document, "no_layout", str(error))
    if bucket_for(len(laid.tokens), settings.buckets) is None:
        limit = settings.buckets[-1].tokens
        return _drop(document, "too_long", f"{len(laid.tokens)} tokens; the last bucket holds {limit}")
    payload = laid.payload()
    members = shards.members(record)
    sizes = [size for name, size in members.items() if name not in (grammar.JSON, grammar.TOKENS)]
    return document, payload, stored_bytes([len(records.encode(document)), len(payload), *sizes])


def _read(shards: ShardSet, record: int, read: Callable[[int], T]) -> T:
    """`read(record)`; an error says how the set goes on without the record."""
    try:
        return read(record)
    except ShardError as error:
        raise ShardError(
            f"{error}; or leave the record out: `trivium shards drop {shards.folder} --id {shards.entries.id[record]} "
            "--reason damaged`"
        ) from None


def _drop(document: Document, reason: str, detail: str) -> Drop:
    meta = document.meta
    return Drop(
        source_id=meta.source_id,
        source=meta.source,
        address=meta.address,
        stage=STAGE,
        reason=reason,
        detail=detail,
        excerpt=document.text[:400],
    )


class _Write(_Worker):
    """Name of a planned shard → the shard, its index, and `info-NAME.json`."""

    def process(self, name: str) -> None:
        plan = msgspec.json.decode((self.settings.work / f"plan-{name}.json").read_bytes(), type=list[Line])
        path = Path(self.settings.out) / grammar.SHARDS / name
        info = write_shard(path, self._records(plan), rules=self.settings.rules)
        write_whole(self.settings.work / f"info-{name}.json", msgspec.json.encode(info))

    def _records(self, plan: list[Line]) -> Iterator[Record]:
        for line in plan:
            document, media = _read(self.shards, line.record, self.shards.read)
            with (self.settings.work / f"part-{line.part:06d}.tokens").open("rb") as spool:
                spool.seek(line.offset)
                media[grammar.TOKENS] = spool.read(line.length)
            yield stepped(document, self.settings.step), media


def _run(
    name: str,
    work: _Worker,
    elements: list,  # type: ignore[type-arg]
    files: str,
    options: BeamOptions,
    settings: Settings,
    progress: Progress,
) -> dict[str, int]:
    """One job over `elements`, each of which leaves one file that matches `files`."""

    def wire(pipeline: beam.Pipeline) -> None:
        _ = spread(pipeline | "elements" >> beam.Create(elements), "elements") | name >> beam.ParDo(work)

    def tick() -> None:
        progress(name, sum(1 for _ in settings.work.glob(files)), len(elements))

    if len(elements) < 2:  # nothing to share out
        options = options.in_process()
    counters = run_job(f"tokenize: {name}", wire, options, logs=settings.work / "logs", tick=tick)
    tick()
    return counters


def _plan(settings: Settings, parts: int, target_bytes: int, corpus: str) -> tuple[list[Drop], list[str]]:
    """All rejects, and the names of the planned shards, whose lines stand in `plan-NAME.json`."""
    drops: list[Drop] = []
    sizes: dict[str, dict[str, int]] = defaultdict(dict)
    lines: dict[str, Line] = {}
    for number in range(parts):
        path = settings.work / f"part-{number:06d}.json"
        part = msgspec.json.decode(path.read_bytes(), type=Part)
        drops += part.drops
        for at, key in enumerate(part.id):
            bucket = bucket_for(part.tokens[at], settings.buckets)
            assert bucket is not None
            sizes[bucket.name][key] = part.size[at]
            lines[key] = Line(part.record[at], number, part.offset[at], 4 * part.tokens[at])
    planned = []
    for bucket in settings.buckets:
        for number, keys in enumerate(plan_shards(sizes[bucket.name], target_bytes)):
            planned.append(shard_name(corpus, bucket.name, number))
            payload = msgspec.json.encode([lines[key] for key in keys])
            write_whole(settings.work / f"plan-{planned[-1]}.json", payload)
    return drops, planned


def _finish(settings: Settings, shards: ShardSet, engine: Tokenizer, planned: list[str], drops: list[Drop]) -> Manifest:
    out, before = Path(settings.out), shards.manifest
    infos = tuple(
        msgspec.json.decode((settings.work / f"info-{name}.json").read_bytes(), type=ShardInfo) for name in planned
    )
    by_file: dict[str, list[Drop]] = {STAGE: list(drops)}
    for name in sorted(shards.manifest.reject_files):
        by_file.setdefault(name.removesuffix(".jsonl"), []).extend(read_rejects(shards.folder, name))
    refused = sum(write_rejects(out, name, held) for name, held in by_file.items())
    reasons: dict[str, int] = {}
    for drop in sorted(drops, key=lambda drop: drop.reason):
        reasons[drop.reason] = reasons.get(drop.reason, 0) + 1
    funnel = FunnelStage(name=STAGE, input=len(shards), kept=len(shards) - len(drops), dropped=reasons)
    licences, languages = tally(out, infos)
    manifest = msgspec.structs.replace(
        before,
        tokenizer=engine.digest,
        vocabulary=engine.vocabulary,
        pictures=settings.rules.digest(),
        picture_rules=settings.rules,
        buckets=settings.buckets,
        shards=infos,
        licences=licences,
        languages=languages,
        funnel=(*(stage for stage in before.funnel if stage.name != STAGE), funnel),
        rejects=refused,
        parent=shards.digest,
    )
    return write_manifest(out, manifest)
