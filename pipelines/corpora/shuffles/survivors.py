"""Groups of duplicates to one survivor each, with drops that name it, and the limits that stop a build.

Odd: a partition's blocks are read twice, first for the best of each group, then for the others: a group may have any
number of members, and none but the best is held. What a range holds very often does not travel at all (`rest.py`).
Records of earlier builds take part; one that loses to a new record becomes a tombstone, since its own set is not
rewritten here.
"""

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.kept import Tombstone
from trivium.data.dedup.sketches import SetReader
from trivium.data.dedup.survivor import parting, rank
from trivium.data.stage import EXCERPT, Drop
from trivium.errors import BuildError
from trivium.pipelines.corpora.blocks import Range, unpack
from trivium.pipelines.corpora.items import DROPS, Counters, count_drop
from trivium.pipelines.corpora.report.meter import MEMBERS, Member, member_of
from trivium.pipelines.corpora.spool import Ref, SpoolReader, encode_line
from trivium.pipelines.corpora.work import drops_of

MIN_SOURCE = 10  # records below which a source's loss says nothing
LISTED = 1000  # duplicates that a survivor's metadata names; rejects name all
TOMBSTONES = "tombstones"
RESTS = "rests"
TEXTS = 8  # survivors' texts that a worker keeps at hand


class Known(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of an earlier build, the `build`-th of those named; `stays` while it is a survivor there."""

    source_id: str
    build: int
    id: str = ""
    place: int = -1
    score: float | None = None
    length: int = 0
    stays: bool = True

    def ref(self, quality: str) -> Ref:
        """What the choice of a survivor needs of it, as a reference that leads nowhere."""
        scores = {} if self.score is None or not quality else {quality: self.score}
        return Ref(
            source_id=self.source_id,
            source="",
            address="",
            id=self.id,
            length=self.length,
            stored=0,
            path="",
            offset=0,
            size=0,
            scores=scores,
        )


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """Members of one group that stay behind in their range `part`: how many, the smallest of their names and of the
    names of those that were `sent` in their place."""

    part: Range
    count: int
    sent: tuple[str, ...]
    names: tuple[str, ...]


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One member of the group `key`: where its set lies, and the most similar text that it was verified beside; with a
    `rest` it speaks for many."""

    ref: Ref
    key: str
    place: int = -1
    beside: str = ""
    similarity: float = 0.0
    band: int = -1
    build: int = 0  # 0: this one
    stays: bool = True
    rest: Rest | None = None

    @property
    def whose(self) -> tuple[str, int]:
        return self.ref.source_id, self.build


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a rest is told of its group: the best of all, how many there are, and who of the range was judged before."""

    best: Candidate
    size: int
    sent: tuple[str, ...]


class Group:
    """One group as the first reading leaves it."""

    __slots__ = ("best", "duplicates", "known", "members", "rank", "size")

    def __init__(self) -> None:
        self.best: Candidate | None = None
        self.rank: tuple[tuple[float, int, str], int] | None = None
        self.size = self.known = 0
        self.duplicates: list[str] = []
        self.members: list[Member] = []

    def add(self, candidate: Candidate, quality: str) -> None:
        self.size += 1
        self.known += candidate.build > 0
        mark = (rank(candidate.ref, quality), -candidate.build)
        if self.rank is None or mark < self.rank:
            self.best, self.rank = candidate, mark
        if candidate.rest is not None:
            self.size += candidate.rest.count
            self.name(candidate.rest.names)

    def name(self, source_ids: Iterable[str]) -> None:
        """Notes duplicates: the smallest LISTED of all, and one more, since the best may be among them."""
        for source_id in source_ids:
            if len(self.duplicates) <= LISTED or source_id < self.duplicates[-1]:
                at = bisect.bisect_left(self.duplicates, source_id)
                if self.duplicates[at : at + 1] != [source_id]:
                    self.duplicates.insert(at, source_id)
                    del self.duplicates[LISTED + 1 :]

    def show(self, member: Member) -> None:
        """Notes a member that the report may show: the MEMBERS most alike."""
        self.members.append(member)
        if len(self.members) > 8 * MEMBERS:
            self.members = sorted(self.members, key=lambda one: (-(one.similarity or 0.0), one.source_id))[:MEMBERS]


class Select(beam.DoFn):
    """A partition of candidates → the survivor of each group; the others become drops or tombstones that name it.

    `builds` are the earlier builds' names. `near` and `sets`, the files of what it compares, make them near duplicates
    in clusters; without it they are the same records.
    """

    def __init__(
        self,
        build: str,
        stage: str,
        reason: str,
        quality: str,
        builds: Sequence[str],
        sets: Sequence[str] = (),
        near: Banded | None = None,
    ) -> None:
        self._build, self._stage, self._reason, self._quality = build, stage, reason, quality
        self._builds, self._paths, self._near = builds, sets, near

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._sets = SetReader(self._paths)
        self._texts: dict[str, str] = {}

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()
        self._sets.close()

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        groups: dict[str, Group] = {}
        for candidate in _candidates(group[1]):
            groups.setdefault(candidate.key, Group()).add(candidate, self._quality)
        for candidate in _candidates(group[1]):
            yield from self._judge(candidate, groups[candidate.key])
        for key, found in groups.items():
            yield from self._close(key, found)

    def _judge(self, candidate: Candidate, group: Group) -> Iterator[Any]:
        best = group.best
        if best is None:
            return
        if candidate.rest is not None:
            bare = msgspec.structs.replace(best, rest=None, ref=msgspec.structs.replace(best.ref, duplicates=()))
            told = Verdict(best=bare, size=group.size, sent=candidate.rest.sent)
            line = msgspec.json.encode(candidate.rest.part), encode_line(told)
            yield beam.pvalue.TaggedOutput(RESTS, line)
        if candidate.whose == best.whose:
            return
        group.name((candidate.ref.source_id, *candidate.ref.duplicates))
        if candidate.build == 0:
            drop = self.dropped(candidate, best, group.size)
            group.show(member_of(drop))
            yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
        elif candidate.stays:
            yield beam.pvalue.TaggedOutput(TOMBSTONES, encode_line(self._tombstone(candidate, best)))

    def dropped(self, candidate: Candidate, best: Candidate, size: int) -> Drop:
        """The drop of a record of this build, counted."""
        drop = self._drop(candidate, best, size)
        count_drop(self._counters, drop)
        return drop

    def _close(self, key: str, group: Group) -> Iterator[bytes]:
        best = group.best
        new = group.size - group.known
        if best is None or not new:
            return
        self._counters.add(f"{self._stage}/in", new)
        ref = best.ref
        if best.build == 0:
            self._counters.add(f"{self._stage}/kept")
            group.name(ref.duplicates)
            duplicates = tuple(one for one in group.duplicates if one != ref.source_id)[:LISTED]
            cluster = (ref.family or key) if self._near is not None else ref.cluster
            yield encode_line(msgspec.structs.replace(ref, duplicates=duplicates, cluster=cluster))
        earlier = self._builds[best.build - 1] if best.build else ""
        stays = Member(source_id=ref.source_id, source=ref.source, address=ref.address, earlier=earlier)
        self._counters.meter.grouped(self._stage, group.size, stays, group.members)

    def _similarity(self, candidate: Candidate, best: Candidate) -> float:
        if self._near is None:
            return 1.0
        if candidate.beside == best.ref.source_id:
            return round(candidate.similarity, 4)
        return round(self._near.alike(self._sets.get(candidate.place)[1], self._sets.get(best.place)[1]), 4)

    def _drop(self, other: Candidate, best: Candidate, size: int) -> Drop:
        ref = best.ref
        where = (
            f"{ref.source}: {ref.address}" if best.build == 0 else f"{ref.source_id} of {self._builds[best.build - 1]}"
        )
        detail = f"{size} alike; {where} stays"
        if other.beside and other.beside != ref.source_id:
            word = self._near.LIKENESS if self._near is not None else ""
            detail += f"; found in band {other.band} beside {other.beside}, {word} {other.similarity:.4f}"
        elif other.beside:
            detail += f"; found in band {other.band}"
        text = self._reader.get(other.ref).document.text
        begins = 0 if self._near is None or best.build else parting(text, self._text(best.ref), EXCERPT)
        return Drop(
            source_id=other.ref.source_id,
            source=other.ref.source,
            address=other.ref.address,
            stage=self._stage,
            reason=self._reason,
            detail=detail,
            excerpt=text[begins : begins + EXCERPT],
            begins=begins,
            survivor=ref.source_id,
            similarity=self._similarity(other, best),
            cluster=best.key if self._near is not None else "",
            band=other.band if other.band >= 0 else None,
            beside=other.beside,
        )

    def _text(self, ref: Ref) -> str:
        """The text of a survivor, which others of its group are compared with as well."""
        text = self._texts.pop(ref.source_id, None)
        if text is None:
            text = self._reader.get(ref).document.text
        self._texts[ref.source_id] = text
        if len(self._texts) > TEXTS:
            self._texts.pop(next(iter(self._texts)))
        return text

    def _tombstone(self, known: Candidate, best: Candidate) -> Tombstone:
        return Tombstone(
            set=self._builds[known.build - 1],
            source_id=known.ref.source_id,
            stage=self._stage,
            reason=self._reason,
            survivor=best.ref.source_id,
            similarity=self._similarity(known, best),
            cluster=best.key if self._near is not None else "",
        )


def _candidates(blocks: Iterable[bytes]) -> Iterator[Candidate]:
    decoder = msgspec.json.Decoder(Candidate)
    for line in unpack(blocks):
        yield decoder.decode(line)


def check_losses(name: str, limit: float, folder: Path, before: Counter[str]) -> None:
    """Raises BuildError when the drops in `folder` take more than the share `limit` of a source of MIN_SOURCE records.

    `before` counts records by source, as `Work.sources` gave them before the shuffle.
    """
    lost = Counter(drop.source for drop in drops_of(folder))
    for source, gone in sorted(lost.items()):
        if before[source] >= MIN_SOURCE and gone > limit * before[source]:
            raise BuildError(
                f"{name} would drop {gone:,} of {before[source]:,} records of source {source!r}, more than "
                f"max_source_loss {limit:g}; look at rejects/{name}.jsonl and the report, then mend the sources, or "
                f"allow it: --set stages.{name}.max_source_loss=1, or that key of the stage in the recipe"
            )


def check_clusters(name: str, limit: int, folder: Path) -> None:
    """Raises BuildError when the drops in `folder` make a cluster of more than `limit` records."""
    sizes = Counter(drop.survivor for drop in drops_of(folder))
    for survivor, gone in sizes.most_common(1):
        if gone + 1 > limit:
            raise BuildError(
                f"{name}: {gone + 1:,} records form one cluster around {survivor}, more than max_cluster "
                f"{limit:,}; records of one template look like this: raise `threshold`, or allow true duplicates: "
                f"--set stages.{name}.max_cluster={gone + 1}, or that key of the stage in the recipe"
            )
