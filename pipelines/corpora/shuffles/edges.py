"""Connected components of verified pairs by alternating large-star and small-star, each round one Beam job."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam

from trivium.data.dedup.components import Edge, large_star, small_star
from trivium.errors import BuildError
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.spool import lines_of
from trivium.pipelines.corpora.work import Work

MAX_ROUNDS = 50
ID = 26  # characters of a source id


def decode_edge(line: bytes) -> Edge:
    text = line.decode("ascii")
    return text[:ID], text[ID : 2 * ID]


def encode_edge(edge: Edge) -> bytes:
    return (edge[0] + edge[1]).encode("ascii")


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


def components(work: Work, name: str, edges: Path) -> list[Path]:
    """Files of star edges, each node joined to the smallest id of its component; `edges` holds the pairs' files."""
    mark = _mark(edges)
    for number in range(1, MAX_ROUNDS + 1):
        if mark[0] == 0:
            break
        following = work.job_folder(f"{name}-stars-{number}")
        graph = StarGraph(sorted(edges.glob("edges-*")), following)
        work.run(f"{name}: components {number}", graph, following, total=work.size)
        before, mark, edges = mark, _mark(following), following
        if mark == before:
            break
    else:
        raise BuildError(f"{name}: components did not settle in {MAX_ROUNDS} rounds; raise `threshold` in the recipe")
    return sorted(edges.glob("edges-*"))


def _mark(folder: Path) -> tuple[int, int]:
    """Number of edges and the sum of their hashes: equal for equal sets, whatever their order."""
    count = total = 0
    for line in lines_of(folder, "edges"):
        count += 1
        total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "big")
    return count, total


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
