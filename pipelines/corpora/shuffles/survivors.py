"""Groups of duplicates to one survivor each, with drops that name it, and the limits that stop a build.

Odd: a partition's blocks are read twice, first for the best of each group, then for the others: a group may have any
number of members, and none but the best is held. Records of earlier builds take part; one that loses to a new record
becomes a tombstone, since its own set is not rewritten here.
"""

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.dedup.kept import Tombstone
from trivium.data.dedup.sketches import SetReader, alike
from trivium.data.dedup.survivor import rank
from trivium.data.stage import EXCERPT, Drop
from trivium.errors import BuildError
from trivium.pipelines.corpora.blocks import unpack
from trivium.pipelines.corpora.items import DROPS, Counters, count_drop
from trivium.pipelines.corpora.report.meter import MEMBERS, Member, member_of
from trivium.pipelines.corpora.spool import Ref, SpoolReader, encode_line
from trivium.pipelines.corpora.work import drops_of

MIN_SOURCE = 10  # records below which a source's loss says nothing
LISTED = 1000  # duplicates that a survivor's metadata names; rejects name all
TOMBSTONES = "tombstones"


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


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One member of the group `key`: where its set lies, and the most similar text that it was verified beside."""

    ref: Ref
    key: str
    place: int = -1
    beside: str = ""
    similarity: float = 0.0
    band: int = -1
    build: int = 0  # 0: this one
    stays: bool = True

    @property
    def whose(self) -> tuple[str, int]:
        return self.ref.source_id, self.build


class _Group:
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

    def name(self, source_ids: Iterable[str]) -> None:
        """Notes duplicates: the smallest LISTED of all."""
        for source_id in source_ids:
            if len(self.duplicates) < LISTED or source_id < self.duplicates[-1]:
                at = bisect.bisect_left(self.duplicates, source_id)
                if self.duplicates[at : at + 1] != [source_id]:
                    self.duplicates.insert(at, source_id)
                    del self.duplicates[LISTED:]

    def show(self, member: Member) -> None:
        """Notes a member that the report may show: the MEMBERS most alike."""
        self.members.append(member)
        if len(self.members) > 8 * MEMBERS:
            self.members = sorted(self.members, key=lambda one: (-(one.similarity or 0.0), one.source_id))[:MEMBERS]


class Select(beam.DoFn):
    """A partition of candidates → the survivor of each group; the others become drops or tombstones that name it.

    `builds` are the earlier builds' names. `sets`, the files of shingle sets, makes them near duplicates in clusters;
    without it they are the same texts.
    """

    def __init__(
        self,
        build: str,
        stage: str,
        reason: str,
        quality: str,
        builds: Sequence[str],
        sets: Sequence[str] | None = None,
    ) -> None:
        self._build, self._stage, self._reason, self._quality = build, stage, reason, quality
        self._builds, self._paths = builds, sets
        self._near = sets is not None

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._sets = SetReader(self._paths or ())

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()
        self._sets.close()

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        groups: dict[str, _Group] = {}
        for candidate in _candidates(group[1]):
            groups.setdefault(candidate.key, _Group()).add(candidate, self._quality)
        for candidate in _candidates(group[1]):
            yield from self._judge(candidate, groups[candidate.key])
        for key, found in groups.items():
            yield from self._close(key, found)

    def _judge(self, candidate: Candidate, group: _Group) -> Iterator[Any]:
        best = group.best
        if best is None or candidate.whose == best.whose:
            return
        group.name((candidate.ref.source_id, *candidate.ref.duplicates))
        if candidate.build == 0:
            drop = self._drop(candidate, best, group.size)
            count_drop(self._counters, drop)
            group.show(member_of(drop))
            yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
        elif candidate.stays:
            yield beam.pvalue.TaggedOutput(TOMBSTONES, encode_line(self._tombstone(candidate, best)))

    def _close(self, key: str, group: _Group) -> Iterator[bytes]:
        best = group.best
        new = group.size - group.known
        if best is None or not new:
            return
        self._counters.add(f"{self._stage}/in", new)
        ref = best.ref
        if best.build == 0:
            self._counters.add(f"{self._stage}/kept")
            group.name(ref.duplicates)
            duplicates = tuple(one for one in group.duplicates if one != ref.source_id)
            cluster = key if self._near else ref.cluster
            yield encode_line(msgspec.structs.replace(ref, duplicates=duplicates, cluster=cluster))
        source = ref.source if best.build == 0 else self._builds[best.build - 1]
        stays = Member(source_id=ref.source_id, source=source, address=ref.address)
        self._counters.meter.grouped(self._stage, group.size, stays, group.members)

    def _similarity(self, candidate: Candidate, best: Candidate) -> float:
        if not self._near:
            return 1.0
        if candidate.beside == best.ref.source_id:
            return round(candidate.similarity, 4)
        return round(alike(self._sets.get(candidate.place)[1], self._sets.get(best.place)[1]), 4)

    def _drop(self, other: Candidate, best: Candidate, size: int) -> Drop:
        ref = best.ref
        where = (
            f"{ref.source}: {ref.address}" if best.build == 0 else f"{ref.source_id} of {self._builds[best.build - 1]}"
        )
        detail = f"{size} alike; {where} stays"
        if other.beside and other.beside != ref.source_id:
            detail += f"; found in band {other.band} beside {other.beside}, Jaccard {other.similarity:.4f}"
        elif other.beside:
            detail += f"; found in band {other.band}"
        return Drop(
            source_id=other.ref.source_id,
            source=other.ref.source,
            address=other.ref.address,
            stage=self._stage,
            reason=self._reason,
            detail=detail,
            excerpt=self._reader.get(other.ref).document.text[:EXCERPT],
            survivor=ref.source_id,
            similarity=self._similarity(other, best),
            cluster=best.key if self._near else "",
            band=other.band if other.band >= 0 else None,
            beside=other.beside,
        )

    def _tombstone(self, known: Candidate, best: Candidate) -> Tombstone:
        return Tombstone(
            set=self._builds[known.build - 1],
            source_id=known.ref.source_id,
            stage=self._stage,
            reason=self._reason,
            survivor=best.ref.source_id,
            similarity=self._similarity(known, best),
            cluster=best.key if self._near else "",
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
                f"max_source_loss {limit:g}; look at {folder}/drops-*, then mend the sources or "
                "raise max_source_loss"
            )


def check_clusters(name: str, limit: int, folder: Path) -> None:
    """Raises BuildError when the drops in `folder` make a cluster of more than `limit` records."""
    sizes = Counter(drop.survivor for drop in drops_of(folder))
    for survivor, gone in sizes.most_common(1):
        if gone + 1 > limit:
            raise BuildError(
                f"{name}: {gone + 1:,} records form one cluster around {survivor}, more than max_cluster "
                f"{limit:,}; texts made from one template look like this: raise `threshold`, or "
                "max_cluster when they are true duplicates"
            )
