"""Hands licences down the folders of each repository: one shuffle of references, keyed by repository.

Memory: the references of one repository, some 500 bytes a file; no text is read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.code.paths import split_repository
from trivium.data.code.repository_license import CONFLICT, RepositoryLicense, Stated, Verdict, verdicts
from trivium.data.stage import Drop
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, count_drop, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.spool import Ref, decode_ref, encode_line
from trivium.pipelines.corpora.work import Work

Key = tuple[str, str]  # (source, repository)


def run(work: Work, name: str, config: RepositoryLicense) -> None:
    """The files whose licence the recipe allows stay, with that licence."""
    declared = {source.name: source.license for source in work.recipe.sources}
    folder = work.job_folder(name)
    graph = LicenseGraph(Judge(name, config, declared), config.depth, work.refs(), folder)
    work.run(name, graph, folder, total=work.size)
    work.settle(folder, name)


class ByRepository(beam.DoFn):
    """Reference → ((source, repository), reference)."""

    def __init__(self, depth: int) -> None:
        self._depth = depth

    def process(self, line: bytes) -> Iterator[tuple[Key, bytes]]:
        ref = decode_ref(line)
        yield (ref.source, split_repository(ref.address, self._depth)[0]), line


class Judge(beam.DoFn):
    """One repository's references → those that stay, with their licence, and drops."""

    def __init__(self, stage: str, config: RepositoryLicense, declared: dict[str, str]) -> None:
        self._stage, self._config, self._declared = stage, config, declared

    def setup(self) -> None:
        self._counters = Counters()

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def process(self, group: tuple[Key, Any]) -> Iterator[Any]:
        (source, _), refs = group[0], [decode_ref(line) for line in group[1]]
        self._counters.add(f"{self._stage}/in", len(refs))
        files = [
            Stated(split_repository(ref.address, self._config.depth)[1], ref.license, ref.scores.get("license", 0.0))
            for ref in refs
        ]
        for ref, verdict in zip(refs, verdicts(files, self._config, self._declared[source]), strict=True):
            if verdict.reason:
                drop = self._drop(ref, verdict)
                count_drop(self._counters, drop)
                yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
                continue
            self._counters.add(f"{self._stage}/kept")
            scores = {**ref.scores, CONFLICT: float(verdict.conflict)}
            yield encode_line(msgspec.structs.replace(ref, license=verdict.expression, scores=scores))

    def _drop(self, ref: Ref, verdict: Verdict) -> Drop:
        return Drop(
            source_id=ref.source_id,
            source=ref.source,
            address=ref.address,
            stage=self._stage,
            reason=verdict.reason,
            detail=verdict.detail,
        )


class LicenseGraph:
    """References → `refs` with licences, `drops` for the rest."""

    def __init__(self, judge: Judge, depth: int, refs: list[Path], folder: Path) -> None:
        self._judge, self._depth, self._refs, self._folder = judge, depth, refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        judged = (
            lines(pipeline, self._refs, "refs")
            | "by repository" >> beam.ParDo(ByRepository(self._depth))
            | "group" >> beam.GroupByKey()
            | "judge" >> beam.ParDo(self._judge).with_outputs(DROPS, READINGS, main="refs")
        )
        write(judged.refs, self._folder, "refs")
        write_sides([judged], self._folder)
