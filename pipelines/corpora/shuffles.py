"""The build's shuffles as Beam graphs: exact duplicates, candidate pairs, components, survivors.

Only ids, hashes and references travel. Each graph reads and writes line files below the build folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.dedup.components import Edge, bucket_pairs, large_star, small_star
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import Hashes, jaccard, shingles, words_of
from trivium.data.dedup.signature import band_keys
from trivium.data.dedup.survivor import choose
from trivium.data.stage import EXCERPT, Drop
from trivium.pipelines.corpora.items import DROPS, Counters, count_drop
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref, encode_line

ID = 26  # characters of a source id


def by_content(line: bytes) -> tuple[str, bytes]:
    return decode_ref(line).id, line


def by_source_id(line: bytes) -> tuple[str, bytes]:
    return decode_ref(line).source_id, line


def decode_edge(line: bytes) -> Edge:
    text = line.decode("ascii")
    return text[:ID], text[ID : 2 * ID]


def encode_edge(edge: Edge) -> bytes:
    return (edge[0] + edge[1]).encode("ascii")


class Bands(beam.DoFn):
    """Reference → (band key, source id), one for each band; only keys of this `part` of `parts`, to bound memory."""

    def __init__(self, near: NearDedup, part: int, parts: int) -> None:
        self._near, self._part, self._parts = near, part, parts

    def process(self, line: bytes) -> Iterator[tuple[bytes, str]]:
        ref = decode_ref(line)
        if not ref.signature:
            return
        for key in band_keys(ref.signature, self._near.bands, self._near.rows):
            if int.from_bytes(key[1:5], "big") % self._parts == self._part:
                yield key, ref.source_id


class Pairs(beam.DoFn):
    """One band's bucket → candidate pairs."""

    def process(self, group: tuple[bytes, Any]) -> Iterator[bytes]:
        for edge in bucket_pairs(group[1]):
            yield encode_edge(edge)


def first_of(pairs: tuple[bytes, Any]) -> bytes:
    return pairs[0]


def as_key(value: bytes) -> tuple[bytes, None]:
    return value, None


def distinct(collection: beam.PCollection, label: str) -> beam.PCollection:
    return (
        collection
        | f"{label}: key" >> beam.Map(as_key)
        | f"{label}: group" >> beam.GroupByKey()
        | f"{label}: one" >> beam.Map(first_of)
    )


class PairGraph:
    """References → `pairs-<part>`: distinct candidate pairs of one part of the band keys."""

    def __init__(self, near: NearDedup, refs: list[Path], folder: Path, part: int, parts: int) -> None:
        self._near, self._refs, self._folder = near, refs, folder
        self._part, self._parts = part, parts

    def __call__(self, pipeline: beam.Pipeline) -> None:
        pairs = (
            lines(pipeline, self._refs, "refs")
            | "bands" >> beam.ParDo(Bands(self._near, self._part, self._parts))
            | "buckets" >> beam.GroupByKey()
            | "pairs" >> beam.ParDo(Pairs())
        )
        write(distinct(pairs, "distinct"), self._folder, f"pairs-{self._part}")


def located(line: bytes) -> tuple[str, bytes]:
    """Source id and the reference without what verifying does not need."""
    ref = decode_ref(line)
    return ref.source_id, encode_line(msgspec.structs.replace(ref, signature=b"", duplicates=()))


def by_first(line: bytes) -> tuple[str, str]:
    return decode_edge(line)


class AttachFirst(beam.DoFn):
    """Joins where a pair's first text lies and keys the pair by its second id."""

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[tuple[str, tuple[str, bytes]]]:
        first, joined = group
        for place in joined["place"]:
            for second in sorted(set(joined["pairs"])):
                yield second, (first, place)


class ShingleSets:
    """Shingle sets of texts in the spool, the last few kept: one text stands in many candidate pairs."""

    def __init__(self, build: str, ngram: int, keep: int = 256) -> None:
        self._reader, self._ngram, self._keep = SpoolReader(Path(build)), ngram, keep
        self._sets: dict[str, Hashes] = {}

    def of(self, ref: Ref) -> Hashes:
        found = self._sets.pop(ref.source_id, None)
        if found is None:
            found = shingles(words_of(self._reader.get(ref).document.text), self._ngram)
        self._sets[ref.source_id] = found
        if len(self._sets) > self._keep:
            self._sets.pop(next(iter(self._sets)))
        return found

    def close(self) -> None:
        self._reader.close()


class Verify(beam.DoFn):
    """Keeps the pairs whose shingle sets are alike by the recipe's threshold; their texts are read for it."""

    def __init__(self, build: str, near: NearDedup) -> None:
        self._build, self._near = build, near

    def setup(self) -> None:
        self._sets = ShingleSets(self._build, self._near.ngram)

    def teardown(self) -> None:
        self._sets.close()

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[bytes]:
        second, joined = group
        for place in joined["place"]:
            for first, other in sorted(joined["pairs"]):
                alike = jaccard(self._sets.of(decode_ref(place)), self._sets.of(decode_ref(other)))
                if alike >= self._near.threshold:
                    yield encode_edge((first, second))


class VerifyGraph:
    """Candidate pairs → `edges`: the pairs whose shingle sets are truly alike, whatever their signatures say."""

    def __init__(self, near: NearDedup, build: Path, inputs: tuple[list[Path], list[Path]], folder: Path) -> None:
        self._verify = Verify(str(build), near)
        self._refs, self._pairs = inputs
        self._folder = folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        places = lines(pipeline, self._refs, "refs") | "places" >> beam.Map(located)
        pairs = distinct(lines(pipeline, self._pairs, "pairs"), "distinct") | "by first" >> beam.Map(by_first)
        half = (
            {"place": places, "pairs": pairs}
            | "join first" >> beam.CoGroupByKey()
            | "attach first" >> beam.ParDo(AttachFirst())
        )
        edges = (
            {"place": places, "pairs": half}
            | "join second" >> beam.CoGroupByKey()
            | "verify" >> beam.ParDo(self._verify)
        )
        write(edges, self._folder, "edges")


class BothWays(beam.DoFn):
    def process(self, line: bytes) -> Iterator[tuple[str, str]]:
        larger, smaller = decode_edge(line)
        yield larger, smaller
        yield smaller, larger


class LargeStar(beam.DoFn):
    def process(self, group: tuple[str, Any]) -> Iterator[bytes]:
        for edge in large_star(group[0], group[1]):
            yield encode_edge(edge)


class SmallStar(beam.DoFn):
    def process(self, group: tuple[str, Any]) -> Iterator[bytes]:
        for edge in small_star(group[0], group[1]):
            yield encode_edge(edge)


class StarGraph:
    """One round: `edges` → large-star → small-star → `edges` of the next folder."""

    def __init__(self, edges: list[Path], folder: Path) -> None:
        self._edges, self._folder = edges, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        large = (
            lines(pipeline, self._edges, "edges")
            | "both ways" >> beam.ParDo(BothWays())
            | "neighbours" >> beam.GroupByKey()
            | "large star" >> beam.ParDo(LargeStar())
        )
        small = (
            distinct(large, "large distinct")
            | "larger first" >> beam.Map(decode_edge)
            | "smaller neighbours" >> beam.GroupByKey()
            | "small star" >> beam.ParDo(SmallStar())
        )
        write(distinct(small, "small distinct"), self._folder, "edges")


class Label(beam.DoFn):
    """Reference joined with its component's root (its own id when alone) → (root, reference)."""

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
        source_id, joined = group
        root = min(joined["root"], default=source_id)
        for line in joined["ref"]:
            yield root, line


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

    def teardown(self) -> None:
        self._reader.close()
        if self._sets is not None:
            self._sets.close()

    def process(self, group: tuple[str, Any]) -> Iterator[Any]:
        refs = [decode_ref(line) for line in group[1]]
        best, others = choose(refs, self._quality)
        self._counters.add(f"{self._stage}/in", len(refs))
        self._counters.add(f"{self._stage}/kept")
        for other in others:
            drop = self._drop(other, best, len(refs))
            count_drop(self._counters, drop)
            yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
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


class ExactGraph:
    """References → `refs` of one record for each content, `drops` for the rest."""

    def __init__(self, exact: ExactDedup, stage: str, build: Path, refs: list[Path], folder: Path) -> None:
        self._select = Select(str(build), stage, exact)
        self._refs, self._folder = refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        chosen = (
            lines(pipeline, self._refs, "refs")
            | "by content" >> beam.Map(by_content)
            | "group" >> beam.GroupByKey()
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, main="refs")
        )
        write(chosen.refs, self._folder, "refs")
        write(chosen[DROPS], self._folder, "drops")


class NearGraph:
    """References and star edges → `refs` of one survivor for each component, `drops` for the rest."""

    def __init__(self, near: NearDedup, stage: str, build: Path, inputs: tuple[list[Path], list[Path]], folder: Path):
        self._select = Select(str(build), stage, near)
        self._refs, self._edges = inputs
        self._folder = folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        refs = lines(pipeline, self._refs, "refs") | "by source id" >> beam.Map(by_source_id)
        roots = lines(pipeline, self._edges, "edges") | "node to root" >> beam.Map(decode_edge)
        chosen = (
            {"ref": refs, "root": roots}
            | "join" >> beam.CoGroupByKey()
            | "label" >> beam.ParDo(Label())
            | "group" >> beam.GroupByKey()
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, main="refs")
        )
        write(chosen.refs, self._folder, "refs")
        write(chosen[DROPS], self._folder, "drops")
