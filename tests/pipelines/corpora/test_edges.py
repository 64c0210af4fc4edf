"""Stars whose centre has more neighbours than one worker takes."""

from itertools import pairwise
from pathlib import Path

import apache_beam as beam

from trivium.data.dedup.components import ordered
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.shuffles.edges import StarGraph, encode_edge, grouped
from trivium.pipelines.corpora.spool import lines_of


class Sizes:
    """The sizes of the groups that a star step gets, as lines."""

    def __init__(self, folder: Path, pairs: list[tuple[str, str]]) -> None:
        self._folder, self._pairs = folder, pairs

    def __call__(self, pipeline: beam.Pipeline) -> None:
        sizes = grouped(pipeline | beam.Create(self._pairs), "neighbours") | beam.MapTuple(
            lambda _, others: b"%d" % len(list(others))
        )
        write(sizes, self._folder, "sizes")


def test_the_neighbours_of_a_hot_node_are_shared_and_its_star_is_the_same(tmp_path):
    """A component of 800 around its root, one around its largest node, and a chain."""
    names = [f"{number * 7919 % 10_007:026d}" for number in range(1_000)]
    low, high = min(names[:800]), max(names[800:950])
    pairs = [(low, name) for name in names[:800] if name != low]
    pairs += [(high, name) for name in names[800:950] if name != high]
    pairs += list(pairwise(names[950:]))
    (tmp_path / "edges-0").write_bytes(b"".join(encode_edge(ordered(*pair)) + b"\n" for pair in pairs))
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        options = BeamOptions(workers=workers)
        run_job("star", StarGraph([tmp_path / "edges-0"], folder), options, logs=tmp_path / "logs")
        found.append(sorted(lines_of(folder, "edges")))
        both = pairs + [(other, one) for one, other in pairs]
        run_job("sizes", Sizes(folder, both), options, logs=tmp_path / "logs")
    assert found[0] == found[1]
    alone, shared = (max(map(int, lines_of(tmp_path / str(workers), "sizes"))) for workers in (1, 2))
    assert alone == 799
    assert shared < 799 / 16
