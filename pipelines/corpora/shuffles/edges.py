"""Connected components of verified pairs by alternating large-star and small-star, each round one Beam job.

Odd: the root of a large component has all its records as neighbours. So a node's neighbours are dealt over SALTS groups
by a hash of theirs, and each group is told the smallest of all, which a combination finds on the way. A star is then
the same edges as of one group, and no worker has more of a node than a share.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np

from trivium.data.dedup.components import Edge, large_star, small_star
from trivium.data.dedup.sketches import ID, kept_type
from trivium.errors import BuildError
from trivium.pipelines.corpora.blocks import Range, decode_range, read_range, source
from trivium.pipelines.corpora.linefiles import alone, lines, write
from trivium.pipelines.corpora.work import Work

MAX_ROUNDS = 50
SALTS = 32  # groups of one node's neighbours
_ALIKE = 8  # characters of a similarity


class Verified(NamedTuple):
    """One end of a verified pair: the other end, how alike the two are, and the band that brought them together."""

    beside: str
    similarity: float
    band: int

    @property
    def rank(self) -> tuple[float, str]:
        """More is better: the most similar neighbour, then the smallest id."""
        return -self.similarity, self.beside


def decode_edge(line: bytes) -> Edge:
    text = line.decode("ascii")
    return text[:ID], text[ID : 2 * ID]


def encode_edge(edge: Edge) -> bytes:
    return (edge[0] + edge[1]).encode("ascii")


def encode_verified(edge: Edge, similarity: float, band: int) -> bytes:
    return f"{edge[0]}{edge[1]}{similarity:.6f}{band:d}".encode("ascii")


def decode_verified(line: bytes) -> Iterator[tuple[str, Verified]]:
    """Both ends of a verified pair, each with what it is joined to."""
    (larger, smaller), rest = decode_edge(line), line[2 * ID :]
    similarity, band = float(rest[:_ALIKE]), int(rest[_ALIKE:])
    yield larger, Verified(smaller, similarity, band)
    yield smaller, Verified(larger, similarity, band)


def components(work: Work, name: str, edges: list[Path]) -> list[Path]:
    """Files of star edges, each node joined to the smallest id of its component; `edges` are files of pairs."""
    mark = _mark(edges)
    for number in range(1, MAX_ROUNDS + 1):
        if mark[0] == 0:
            break
        following = work.job_folder(f"{name}-stars-{number}")
        work.run(f"{name}: components {number}", StarGraph(edges, following), following, total=work.size)
        edges = sorted(following.glob("edges-*"))
        before, mark = mark, _mark(edges)
        if mark == before:
            break
    else:
        raise BuildError(f"{name}: components did not settle in {MAX_ROUNDS} rounds; raise `threshold` in the recipe")
    return edges


def _mark(paths: list[Path]) -> tuple[int, int]:
    """Number of edges and the sum of their hashes: equal for equal sets, whatever their order."""
    count = total = 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                count += 1
                total += int.from_bytes(hashlib.blake2b(line[: 2 * ID], digest_size=16).digest(), "big")
    return count, total


class BothWays(beam.DoFn):
    def process(self, line: bytes) -> Iterator[tuple[str, str]]:
        larger, smaller = decode_edge(line)
        yield larger, smaller
        yield smaller, larger


class Least(beam.CombineFn):
    """Of a node's neighbours the smallest, and which salts they have, as bits."""

    def create_accumulator(self) -> tuple[str, int]:
        return "", 0

    def add_input(self, found: tuple[str, int], other: str) -> tuple[str, int]:
        return self.merge_accumulators((found, (other, 1 << salt_of(other))))

    def merge_accumulators(self, accumulators: Iterable[tuple[str, int]]) -> tuple[str, int]:
        smallest, salts = "", 0
        for name, bits in accumulators:
            smallest = min(smallest, name) if smallest and name else smallest or name
            salts |= bits
        return smallest, salts

    def extract_output(self, found: tuple[str, int]) -> tuple[str, int]:
        return found


def salt_of(name: str) -> int:
    return zlib.crc32(name.encode()) % SALTS


def salted(pair: tuple[str, str]) -> tuple[str, str]:
    """(Node, neighbour) by the group of the node that the neighbour belongs to."""
    return f"{pair[0]}{salt_of(pair[1])}", pair[1]


def told(least: tuple[str, tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """A node's smallest neighbour as one more neighbour in each of its groups."""
    node, (smallest, salts) = least
    for salt in range(SALTS):
        if salts >> salt & 1:
            yield f"{node}{salt}", smallest


def grouped(pairs: beam.PCollection, label: str) -> beam.PCollection:
    """(Node, neighbour) pairs → (node and more, neighbours), the smallest neighbour of the node in every group."""
    if alone(pairs.pipeline):
        return pairs | label >> beam.GroupByKey()
    smallest = pairs | f"{label}: smallest" >> beam.CombinePerKey(Least()) | f"{label}: told" >> beam.FlatMap(told)
    shares = pairs | f"{label}: salted" >> beam.Map(salted)
    return (shares, smallest) | f"{label}: with smallest" >> beam.Flatten() | label >> beam.GroupByKey()


class LargeStar(beam.DoFn):
    def process(self, group: tuple[str, Any]) -> Iterator[Edge]:
        yield from large_star(group[0][:ID], group[1])  # the larger end first: it is the next key


class SmallStar(beam.DoFn):
    def process(self, group: tuple[str, Any]) -> Iterator[tuple[bytes, None]]:
        for edge in small_star(group[0][:ID], group[1]):
            yield encode_edge(edge), None


class KeyOnly(beam.DoFn):
    def process(self, group: tuple[bytes, Any]) -> Iterator[bytes]:
        yield group[0]


class StarGraph:
    """One round: `edges` → large-star → small-star → `edges` of the next folder, each once."""

    def __init__(self, edges: list[Path], folder: Path) -> None:
        self._edges, self._folder = edges, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        both = lines(pipeline, self._edges, "edges") | "both ways" >> beam.ParDo(BothWays())
        large = grouped(both, "neighbours") | "large star" >> beam.ParDo(LargeStar())
        stars = (
            grouped(large, "smaller neighbours")
            | "small star" >> beam.ParDo(SmallStar())
            | "same edges" >> beam.GroupByKey()
            | "each once" >> beam.ParDo(KeyOnly())
        )
        write(stars, self._folder, "edges")


class StarsOfEarlier(beam.DoFn):
    """A range of an earlier build's rows → its records' edges to the roots of their clusters."""

    def __init__(self, permutations: int) -> None:
        self._permutations = permutations

    def process(self, line: bytes) -> Iterator[bytes]:
        rows = np.frombuffer(read_range(decode_range(line)), dtype=kept_type(self._permutations))
        for node, root in zip(rows["source_id"].tolist(), rows["root"].tolist(), strict=True):
            if node != root:
                yield node + root


class StarsOfEarlierGraph:
    """Ranges of earlier builds' rows → `edges`."""

    def __init__(self, permutations: int, rows: list[Range], folder: Path) -> None:
        self._stars, self._rows, self._folder = StarsOfEarlier(permutations), rows, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        write(source(pipeline, self._rows, "rows") | "stars" >> beam.ParDo(self._stars), self._folder, "edges")
