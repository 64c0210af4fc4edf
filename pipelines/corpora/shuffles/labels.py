"""Each record beside the root of its component: those that are alone stay at once, the others go on by their root.

Odd: everything about a source id (its reference, root, best neighbour, where its set lies) is packed to one partition
of ids and joined there by dictionaries, which are as large as the partition and not as the corpus.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import msgspec
import numpy as np

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.sketches import ID, kept_type, row_type
from trivium.pipelines.corpora.blocks import Range, decode_range, pack, partition, read_lines, read_range, unpack
from trivium.pipelines.corpora.items import Counters
from trivium.pipelines.corpora.report.meter import Member
from trivium.pipelines.corpora.shuffles.candidates import Sets
from trivium.pipelines.corpora.shuffles.edges import Verified, decode_edge, decode_verified
from trivium.pipelines.corpora.shuffles.survivors import Candidate, Known
from trivium.pipelines.corpora.spool import Ref, decode_ref, encode_line

REFS, ROOTS, EDGES, ROWS = -4, -3, -2, -1  # tags of ranges; 0 and more: rows of an earlier build, by file of sets
CLUSTERED = "clustered"

_REF, _ROOT, _EDGE, _PLACE, _KNOWN = b"f", b"r", b"e", b"p", b"k"  # what a packed line says of its id


class SourceId(msgspec.Struct):
    """The part of a reference that says whose it is."""

    source_id: str


class Facts(beam.DoFn):
    """A range of any of the files → (partition of the source id, packed lines) for the partitions of this part."""

    def __init__(self, near: Banded, sets: Sets, gone: list[frozenset[str]], part: tuple[int, int, int]) -> None:
        self._near, self._sets, self._gone, self._part = near, sets, gone, part
        self._builds = sets.builds.tolist()

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        part = decode_range(line)
        low, high, count = self._part
        numbered = ((partition(key, count), fact) for key, fact in self._facts(part))
        yield from pack((number, fact) for number, fact in numbered if low <= number < high)

    def _facts(self, part: Range) -> Iterator[tuple[bytes, bytes]]:
        if part.tag == REFS:
            whose = msgspec.json.Decoder(SourceId)
            for line in read_lines(part):
                yield whose.decode(line).source_id.encode(), _REF + line
        elif part.tag == ROOTS:
            roots = set()
            for line in read_lines(part):
                node, root = line[:ID], line[ID:]
                yield node, _ROOT + line
                roots.add(root)
            yield from ((root, _ROOT + root + root) for root in sorted(roots))
        elif part.tag == EDGES:
            for node, (_, line) in sorted(_best(read_lines(part)).items()):
                yield node.encode(), _EDGE + line
        else:
            yield from self._rows(part)

    def _rows(self, part: Range) -> Iterator[tuple[bytes, bytes]]:
        kind = row_type if part.tag < 0 else kept_type
        rows = np.frombuffer(read_range(part), dtype=kind(self._near.permutations))
        ids, places = rows["source_id"].tolist(), self._sets.places(rows, part.tag).tolist()
        if part.tag < 0:
            for key, where in zip(ids, places, strict=True):
                yield key, _PLACE + key + b"%d" % where
            return
        build = self._builds[part.tag]
        facts = zip(ids, places, rows["score"].tolist(), rows["length"].tolist(), rows["stays"].tolist(), strict=True)
        for key, where, score, length, stays in facts:
            known = Known(
                source_id=key.decode(),
                build=build,
                place=where,
                score=score if score > float("-inf") else None,
                length=length,
                stays=bool(stays) and key.decode() not in self._gone[build - 1],
            )
            yield key, _KNOWN + encode_line(known)


def _best(lines: Iterable[bytes]) -> dict[str, tuple[Verified, bytes]]:
    """Of verified pairs the best one of each text: a text with a million pairs is one line of each range."""
    best: dict[str, tuple[Verified, bytes]] = {}
    for line in lines:
        for node, found in decode_verified(line):
            if node not in best or found.rank < best[node][0].rank:
                best[node] = found, line
    return best


class Label(beam.DoFn):
    """One partition of ids → references that are alone; candidates of the others."""

    def __init__(self, stage: str, quality: str) -> None:
        self._stage, self._quality = stage, quality

    def setup(self) -> None:
        self._counters = Counters()

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        roots: dict[str, str] = {}
        beside: dict[str, Verified] = {}
        places: dict[str, int] = {}
        new: set[str] = set()
        known: set[str] = set()
        for line in unpack(group[1]):
            kind, rest = line[:1], line[1:]
            if kind == _ROOT:
                node, root = decode_edge(rest)
                roots[node] = root
            elif kind == _EDGE:
                for node, found in decode_verified(rest):
                    if node not in beside or found.rank < beside[node].rank:
                        beside[node] = found
            elif kind == _PLACE:
                places[rest[:ID].decode()] = int(rest[ID:])
            elif kind == _REF:
                new.add(msgspec.json.decode(rest, type=SourceId).source_id)
            else:
                known.add(msgspec.json.decode(rest, type=SourceId).source_id)
        for key in new & known:  # the same place, read again
            roots.setdefault(key, key)
        found = _Labelled(roots, beside, places, self._quality)
        for line in unpack(group[1]):
            if line[:1] not in (_REF, _KNOWN):
                continue
            candidate = found.candidate(line)
            if candidate is not None:
                yield beam.pvalue.TaggedOutput(CLUSTERED, encode_line(candidate))
            elif line[:1] == _REF:
                yield self._alone(decode_ref(line[1:]))

    def _alone(self, ref: Ref) -> bytes:
        self._counters.add(f"{self._stage}/in")
        self._counters.add(f"{self._stage}/kept")
        stays = Member(source_id=ref.source_id, source=ref.source, address=ref.address)
        self._counters.meter.grouped(self._stage, 1, stays, ())
        return encode_line(msgspec.structs.replace(ref, cluster=ref.family or ref.source_id))


class Root(msgspec.Struct):
    """The part of a candidate that says which group it is of."""

    key: str


class Roots(beam.DoFn):
    """A range of candidates → (partition of the root, packed candidates) for the partitions of this part."""

    def __init__(self, part: tuple[int, int, int]) -> None:
        self._part = part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        low, high, count = self._part
        whose = msgspec.json.Decoder(Root)
        lines = read_lines(decode_range(line))
        numbered = ((partition(whose.decode(item).key.encode(), count), item) for item in lines)
        yield from pack((number, item) for number, item in numbered if low <= number < high)


class _Labelled:
    """What is known about the ids of one partition."""

    def __init__(
        self, roots: dict[str, str], beside: dict[str, Verified], places: dict[str, int], quality: str
    ) -> None:
        self._roots, self._beside, self._places, self._quality = roots, beside, places, quality

    def candidate(self, line: bytes) -> Candidate | None:
        """The record of a line as one of its cluster, or None when it is alone."""
        if line[:1] == _REF:
            key = msgspec.json.decode(line[1:], type=SourceId).source_id
            if key not in self._roots:
                return None
            ref = decode_ref(line[1:])
            return self._made(ref, self._places.get(key, -1))
        known = msgspec.json.decode(line[1:], type=Known)
        if known.source_id not in self._roots:
            return None
        return self._made(known.ref(self._quality), known.place, build=known.build, stays=known.stays)

    def _made(self, ref: Ref, where: int, *, build: int = 0, stays: bool = True) -> Candidate:
        beside = self._beside.get(ref.source_id, Verified("", 0.0, -1))
        return Candidate(
            ref=ref,
            key=self._roots[ref.source_id],
            place=where,
            beside=beside.beside,
            similarity=beside.similarity,
            band=beside.band,
            build=build,
            stays=stays,
        )
