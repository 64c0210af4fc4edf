"""At most so many rewrites of one excerpt, whatever recipes they come from: grouped by the excerpt's place.

Odd: a reference's address says whose rewrite it is, so no text is read but that of what is refused. Which ones stay is
a pure function of the set: the best score, then a hash, since the smallest id would always be of one style.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam

from trivium.data.rephrase.result import excerpt_of
from trivium.data.rephrase.stage import RewriteCap
from trivium.data.stage import EXCERPT, Drop
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, count_drop, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref, encode_line
from trivium.pipelines.corpora.work import Work

Key = tuple[str, str]  # (source, the excerpt's address), or (source id, "") of a record that is no rewrite


def run(work: Work, name: str, config: RewriteCap) -> None:
    """The current references without the rewrites that are too many."""
    folder = work.job_folder(name)
    cap = Cap(config, name, str(work.folder))
    work.run(name, CapGraph(cap, work.refs(), folder), folder, total=work.size)
    work.settle(folder, name)


def keyed(line: bytes) -> tuple[Key, bytes]:
    ref = decode_ref(line)
    excerpt = excerpt_of(ref.address)
    return ((ref.source, excerpt) if excerpt else (ref.source_id, "")), line


class Cap(beam.DoFn):
    """One excerpt's references → those that stay; drops on the side."""

    def __init__(self, config: RewriteCap, stage: str, build: str) -> None:
        self._config, self._stage, self._build = config, stage, build

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))

    def process(self, group: tuple[Key, Iterable[bytes]]) -> Iterator[Any]:
        found = sorted((self._rank(ref := decode_ref(line)), line, ref) for line in group[1])
        self._counters.add(f"{self._stage}/in", len(found))
        for number, (_, line, ref) in enumerate(found):
            if number < self._config.most:
                self._counters.add(f"{self._stage}/kept")
                yield line
            else:
                drop = self._drop(ref, len(found))
                count_drop(self._counters, drop)
                yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()

    def _rank(self, ref: Ref) -> tuple[float, str]:
        score = ref.scores.get(self._config.quality, float("-inf")) if self._config.quality else 0.0
        return -score, hashlib.sha256(ref.source_id.encode()).hexdigest()

    def _drop(self, ref: Ref, size: int) -> Drop:
        document = self._reader.get(ref).document
        return Drop(
            source_id=ref.source_id,
            source=ref.source,
            address=ref.address,
            stage=self._stage,
            reason="over_cap",
            detail=f"{size} rewrites of one excerpt, at most {self._config.most} stay",
            excerpt=document.text[:EXCERPT],
            language=document.meta.language,
        )


class CapGraph:
    """References → `refs`, `drops`, `readings`."""

    def __init__(self, cap: Cap, refs: list[Path], folder: Path) -> None:
        self._cap, self._refs, self._folder = cap, refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        capped = (
            lines(pipeline, self._refs, "refs")
            | "by excerpt" >> beam.Map(keyed)
            | "group" >> beam.GroupByKey()
            | "cap" >> beam.ParDo(self._cap).with_outputs(DROPS, READINGS, main="refs")
        )
        write(capped.refs, self._folder, "refs")
        write_sides([capped], self._folder)
