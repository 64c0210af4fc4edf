"""What workers measure on the side: time, bytes, scores and lengths, and a few refused items of each reason.

Odd: readings are sums and smallest hashes, so they add up to the same in any order and by any number of workers, and
their size depends on the recipe, never on the corpus. Each bundle yields one at its end, through Beam, so that a
bundle that is run twice counts once. Times alone differ from run to run.
"""

import hashlib
import heapq
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from trivium.data.records import Document
from trivium.data.stage import Draft, Drop
from trivium.pipelines.corpora.report.balance import traits
from trivium.pipelines.corpora.report.histogram import Counts, code

LARGEST, MEMBERS = 10, 4  # clusters of one stage that are shown, and their members beside the survivor
EXAMPLES = 5  # refused items of one reason that are kept to be shown
ROWS = 400  # of a table by names that foreign records give; the rest is one row
OTHER = "(other)"

K = TypeVar("K")
SPOOL, WRITE = "spool", "write"  # what is measured beside the recipe's stages
MADE, WRITTEN = "made", "written"  # when a text's length is taken


class Amount(msgspec.Struct, kw_only=True):
    """Sums over records: `characters` of text, `bytes` of text and media."""

    records: int = 0
    characters: int = 0
    bytes: int = 0

    def add(self, other: "Amount") -> None:
        self.records += other.records
        self.characters += other.characters
        self.bytes += other.bytes


class StageReading(msgspec.Struct, kw_only=True):
    """One stage: its calls, bytes of what came and of what stayed, their time, and histograms of the scores it wrote.

    `cpu_ns` is of the worker's thread: what a guard's child process does is in `wall_ns` alone.
    """

    calls: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    scores: dict[str, Counts] = {}

    def add(self, other: "StageReading") -> None:
        self.calls += other.calls
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.cpu_ns += other.cpu_ns
        self.wall_ns += other.wall_ns
        _add_histograms(self.scores, other.scores)


class Member(msgspec.Struct, kw_only=True):
    """One record of a cluster of duplicates; `earlier` names the earlier set that holds it, as the recipe does."""

    source_id: str
    source: str
    address: str
    similarity: float | None = None
    excerpt: str = ""
    earlier: str = ""


def member_of(drop: Drop) -> Member:
    """A duplicate that went, as the report shows it."""
    return Member(
        source_id=drop.source_id,
        source=drop.source,
        address=drop.address,
        similarity=drop.similarity,
        excerpt=drop.excerpt,
    )


class Cluster(msgspec.Struct, kw_only=True):
    """`size` records alike, the one that stays and the first of those that went."""

    size: int
    survivor: Member
    members: list[Member]


class Clusters(msgspec.Struct, kw_only=True):
    """Groups of a dedup stage: how many of each size (alone: 1), and the largest."""

    sizes: Counts = {}
    largest: list[Cluster] = []

    def add(self, other: "Clusters") -> None:
        _add_counts(self.sizes, other.sizes)
        self.largest = _largest([*self.largest, *other.largest])


class Refusals(msgspec.Struct, kw_only=True):
    """The drops of one stage and reason: how many, of which sources, and those with the smallest hashes."""

    count: int = 0
    errors: int = 0
    sources: dict[str, int] = {}
    examples: list[Drop] = []

    def add(self, other: "Refusals") -> None:
        self.count += other.count
        self.errors += other.errors
        _add_counts(self.sources, other.sources)
        self.examples = smallest([*self.examples, *other.examples])


class Reading(msgspec.Struct, kw_only=True):
    """Everything that one worker measured in one bundle, or the sum of many."""

    stages: dict[str, StageReading] = {}
    refusals: dict[str, dict[str, Refusals]] = {}  # stage → reason
    clusters: dict[str, Clusters] = {}  # by dedup stage
    items: dict[str, Amount] = {}  # read, by source
    lengths: dict[str, dict[str, Counts]] = {}  # MADE, WRITTEN → characters, words
    scores: dict[str, Counts] = {}  # of the written records
    languages: dict[str, Amount] = {}  # of the written records
    refused_languages: dict[str, int] = {}
    sources: dict[str, Amount] = {}  # of the written records
    balance: dict[str, dict[str, Amount]] = {}  # of the written records that were drawn, by trait
    engines: dict[str, int] = {}  # pictures of the written records, by what drew them: programs with their versions

    def add(self, other: "Reading") -> None:
        """Takes another reading's sums in."""
        for name, stage in other.stages.items():
            self.stages.setdefault(name, StageReading()).add(stage)
        for name, reasons in other.refusals.items():
            for reason, refusals in reasons.items():
                self.refusals.setdefault(name, {}).setdefault(reason, Refusals()).add(refusals)
        for name, clusters in other.clusters.items():
            self.clusters.setdefault(name, Clusters()).add(clusters)
        for when, units in other.lengths.items():
            _add_histograms(self.lengths.setdefault(when, {}), units)
        _add_histograms(self.scores, other.scores)
        _add_counts(self.refused_languages, other.refused_languages)
        _add_counts(self.engines, other.engines)
        tables = ((self.items, other.items), (self.languages, other.languages), (self.sources, other.sources))
        for mine, theirs in tables:
            for name, amount in theirs.items():
                mine.setdefault(name, Amount()).add(amount)
        for trait, amounts in other.balance.items():
            for name, amount in amounts.items():
                self.balance.setdefault(trait, {}).setdefault(name, Amount()).add(amount)
        self.fold()

    def fold(self) -> None:
        """Keeps the ROWS names with the smallest hashes in each table, exactly counted, and one row for all others.

        A name that ends among the smallest was among them in every part, so the order of adding changes nothing.
        """
        for amounts in (self.languages, self.sources, *self.balance.values()):
            for name in _surplus(amounts):
                amounts.setdefault(OTHER, Amount()).add(amounts.pop(name))
        for counts in (self.refused_languages, self.engines):
            for name in _surplus(counts):
                counts[OTHER] = counts.get(OTHER, 0) + counts.pop(name)
        for name in _surplus(self.scores):
            _add_counts(self.scores.setdefault(OTHER, {}), self.scores.pop(name))


def total(lines: Iterable[bytes]) -> Reading:
    """The sum of encoded readings."""
    found = Reading()
    decoder = msgspec.json.Decoder(Reading)
    for line in lines:
        found.add(decoder.decode(line))
    return found


def _largest(clusters: Iterable[Cluster]) -> list[Cluster]:
    return sorted(clusters, key=lambda one: (-one.size, one.survivor.source_id))[:LARGEST]


def smallest(drops: Iterable[Drop]) -> list[Drop]:
    """The EXAMPLES drops with the smallest hashes of their source ids: a sample that no order of arrival changes."""
    return heapq.nsmallest(EXAMPLES, drops, key=_rank)


def _rank(drop: Drop) -> tuple[bytes, str]:
    return hashlib.blake2b(drop.source_id.encode(), digest_size=8).digest(), drop.detail


class Meter:
    """Takes readings in one worker; `take` gives what was measured since the last time, as a line."""

    def __init__(self) -> None:
        self._reading = Reading()

    def take(self) -> bytes | None:
        """The encoded reading; None when nothing was measured. The next one begins empty."""
        done, self._reading = self._reading, Reading()
        done.fold()
        return None if done == Reading() else msgspec.json.encode(done)

    def ran(self, name: str, clock: "Clock", came: int, stayed: int) -> None:
        """One call of a stage: its time, and the bytes of the item and of what was made of it."""
        stage = self._reading.stages.setdefault(name, StageReading())
        stage.calls += 1
        stage.cpu_ns += clock.cpu_ns
        stage.wall_ns += clock.wall_ns
        stage.bytes_in += came
        stage.bytes_out += stayed

    def scored(self, name: str, scores: dict[str, float]) -> None:
        """The scores that a stage gave an item, kept or not."""
        _count_scores(self._reading.stages.setdefault(name, StageReading()).scores, scores)

    def dropped(self, drop: Drop) -> None:
        reasons = self._reading.refusals.setdefault(drop.stage, {})
        one = reasons.setdefault(drop.reason, Refusals())
        one.count += 1
        one.errors += drop.error
        one.sources[drop.source] = one.sources.get(drop.source, 0) + 1
        if len(one.examples) < EXAMPLES or _rank(drop) < _rank(one.examples[-1]):
            one.examples = smallest([*one.examples, drop])
        if drop.language:
            _add_counts(self._reading.refused_languages, {drop.language: 1})

    def grouped(self, stage: str, size: int, survivor: Member, members: Iterable[Member]) -> None:
        """One group of a dedup stage, of `size` records; `members` are asked for when it is among the largest."""
        clusters = self._reading.clusters.setdefault(stage, Clusters())
        _count(clusters.sizes, size)
        if size > 1 and (len(clusters.largest) < LARGEST or size >= clusters.largest[-1].size):
            kept = sorted(members, key=lambda one: (-(one.similarity or 0.0), one.source_id))[:MEMBERS]
            clusters.largest = _largest([*clusters.largest, Cluster(size=size, survivor=survivor, members=kept)])

    def read(self, source: str, size: int) -> None:
        """One item that a reader gave."""
        self._reading.items.setdefault(source, Amount()).add(Amount(records=1, bytes=size))

    def made(self, document: Document) -> None:
        """A document as a reader or an extracting stage made it."""
        self._measure(MADE, document.text)

    def written(self, document: Document, size: int) -> None:
        """A document as it goes into a shard, of `size` bytes with its media."""
        text, meta = document.text, document.meta
        self._measure(WRITTEN, text)
        _count_scores(self._reading.scores, meta.scores)
        amount = Amount(records=1, characters=len(text), bytes=size)
        for table, name in ((self._reading.languages, meta.language), (self._reading.sources, meta.source)):
            table.setdefault(name, Amount()).add(amount)
        for trait, name in traits(document).items():
            self._reading.balance.setdefault(trait, {}).setdefault(name, Amount()).add(amount)
        _add_counts(self._reading.engines, Counter(f"{one.engine}: {one.environment}" for one in meta.drawn))

    def _measure(self, when: str, text: str) -> None:
        units = self._reading.lengths.setdefault(when, {})
        for unit, length in (("characters", len(text)), ("words", len(text.split()))):
            _count(units.setdefault(unit, {}), length)


class Clock:
    """CPU time of this thread and time on the wall between two moments, in nanoseconds."""

    __slots__ = ("_cpu", "_wall", "cpu_ns", "wall_ns")

    def __init__(self) -> None:
        self.cpu_ns = self.wall_ns = 0
        self.start()

    def start(self) -> None:
        self._wall, self._cpu = time.perf_counter_ns(), time.thread_time_ns()

    def stop(self) -> "Clock":
        self.cpu_ns, self.wall_ns = time.thread_time_ns() - self._cpu, time.perf_counter_ns() - self._wall
        return self


def same_content(before: Draft, after: Draft) -> bool:
    """Whether a stage left text and media as they were."""
    return before.document.segments is after.document.segments and before.media is after.media


def _count(counts: Counts, value: float) -> None:
    at = code(value)
    counts[at] = counts.get(at, 0) + 1


def _count_scores(table: dict[str, Counts], scores: dict[str, float]) -> None:
    for name, value in scores.items():
        _count(table.setdefault(name, {}), value)


def _add_counts(mine: dict[K, int], theirs: Mapping[K, int]) -> None:
    for key, count in theirs.items():
        mine[key] = mine.get(key, 0) + count


def _add_histograms(mine: dict[str, Counts], theirs: dict[str, Counts]) -> None:
    for name, counts in theirs.items():
        _add_counts(mine.setdefault(name, {}), counts)


def _surplus(table: Mapping[str, object]) -> list[str]:
    """The names beyond the ROWS ones with the smallest hashes."""
    names = [name for name in table if name != OTHER]
    if len(names) <= ROWS:
        return []
    return sorted(names, key=lambda name: hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest())[
        ROWS:
    ]
