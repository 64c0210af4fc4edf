"""Groups of duplicates to one survivor each, with drops that name it, and the limits that stop a build."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import Hashes, jaccard, shingles_of
from trivium.data.dedup.survivor import choose
from trivium.data.stage import EXCERPT, Drop
from trivium.errors import BuildError
from trivium.pipelines.corpora.items import DROPS, Counters, count_drop
from trivium.pipelines.corpora.report.meter import Member, member_of
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref, encode_line
from trivium.pipelines.corpora.work import drops_of

MIN_SOURCE = 10  # records below which a source's loss says nothing


class ShingleSets:
    """Shingle sets of texts in the spool, the last few kept: one text stands in many candidate pairs."""

    def __init__(self, build: str, ngram: int, keep: int = 256) -> None:
        self._reader, self._ngram, self._keep = SpoolReader(Path(build)), ngram, keep
        self._sets: dict[str, Hashes] = {}

    def of(self, ref: Ref) -> Hashes:
        found = self._sets.pop(ref.source_id, None)
        if found is None:
            found = shingles_of(self._reader.get(ref).document.text, self._ngram)
        self._sets[ref.source_id] = found
        if len(self._sets) > self._keep:
            self._sets.pop(next(iter(self._sets)))
        return found

    def close(self) -> None:
        self._reader.close()


class Select(beam.DoFn):
    """A group of duplicates → its survivor; the others become drops that name it."""

    def __init__(self, build: str, stage: str, dedup: ExactDedup | NearDedup) -> None:
        self._build, self._stage, self._quality = build, stage, dedup.quality
        self._near = dedup if isinstance(dedup, NearDedup) else None
        self._reason = "near_duplicate" if self._near else "exact_duplicate"

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._sets = ShingleSets(self._build, self._near.ngram) if self._near else None

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()
        if self._sets is not None:
            self._sets.close()

    def process(self, group: tuple[str, Any]) -> Iterator[Any]:
        refs = [decode_ref(line) for line in group[1]]
        best, others = choose(refs, self._quality)
        self._counters.add(f"{self._stage}/in", len(refs))
        self._counters.add(f"{self._stage}/kept")
        drops = [self._drop(other, best, len(refs)) for other in others]
        for drop in drops:
            count_drop(self._counters, drop)
            yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
        stays = Member(source_id=best.source_id, source=best.source, address=best.address)
        self._counters.meter.grouped(self._stage, len(refs), stays, map(member_of, drops))
        gone = {other.source_id for other in others}.union(*(other.duplicates for other in others))
        duplicates = tuple(sorted(gone.union(best.duplicates)))
        cluster = group[0] if self._near else best.cluster
        yield encode_line(msgspec.structs.replace(best, duplicates=duplicates, cluster=cluster))

    def _drop(self, other: Ref, best: Ref, size: int) -> Drop:
        similarity = 1.0 if self._sets is None else jaccard(self._sets.of(other), self._sets.of(best))
        return Drop(
            source_id=other.source_id,
            source=other.source,
            address=other.address,
            stage=self._stage,
            reason=self._reason,
            detail=f"{size} alike; {best.source}: {best.address} stays",
            excerpt=self._reader.get(other).document.text[:EXCERPT],
            survivor=best.source_id,
            similarity=round(similarity, 4),
        )


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


def check_clusters(name: str, near: NearDedup, folder: Path) -> None:
    """Raises BuildError when one cluster is larger than the recipe allows."""
    sizes = Counter(drop.survivor for drop in drops_of(folder))
    for survivor, gone in sizes.most_common(1):
        if gone + 1 > near.max_cluster:
            raise BuildError(
                f"{name}: {gone + 1:,} records form one cluster around {survivor}, more than max_cluster "
                f"{near.max_cluster:,}; texts made from one template look like this: raise `threshold`, or "
                "max_cluster when they are true duplicates"
            )
