"""Hands licences down the folders of each repository: one shuffle of references, keyed by repository.

Odd: a repository's files are dealt over SALTS groups, and the few that speak for others come to each of them. So
several workers share a repository, and none holds more of it than what its licence files and manifests state.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.code.paths import split_repository
from trivium.data.code.repository_license import (
    CONFLICT,
    RepositoryLicense,
    Stated,
    Verdict,
    folder_licenses,
    judge,
    speaks,
)
from trivium.data.stage import Drop
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, count_drop, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.spool import Ref, decode_ref, encode_line
from trivium.pipelines.corpora.work import Work

Key = tuple[str, str, int]  # (source, repository, group)
SALTS = 16  # groups of one repository's files
_OWN, _HEARD = b"o", b"h"  # before a reference: to be judged, or only to be heard


def run(work: Work, name: str, config: RepositoryLicense) -> None:
    """The files whose licence the recipe allows stay, with that licence."""
    declared = {source.name: source.license for source in work.recipe.sources}
    folder = work.job_folder(name)
    graph = LicenseGraph(Judge(name, config, declared), config.depth, work.refs(), folder)
    work.run(name, graph, folder, total=work.size)
    work.settle(folder, name)


class ByRepository(beam.DoFn):
    """Reference → ((source, repository, group), reference); one that speaks for others comes to every group."""

    def __init__(self, depth: int) -> None:
        self._depth = depth

    def process(self, line: bytes) -> Iterator[tuple[Key, bytes]]:
        ref = decode_ref(line)
        repository, path = split_repository(ref.address, self._depth)
        own = zlib.crc32(ref.source_id.encode()) % SALTS
        yield (ref.source, repository, own), _OWN + line
        for salt in range(SALTS) if speaks(path) else ():
            if salt != own:
                yield (ref.source, repository, salt), _HEARD + line


class Judge(beam.DoFn):
    """A group of one repository's references → those that stay, with their licence, and drops."""

    def __init__(self, stage: str, config: RepositoryLicense, declared: dict[str, str]) -> None:
        self._stage, self._config, self._declared = stage, config, declared

    def setup(self) -> None:
        self._counters = Counters()

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def process(self, group: tuple[Key, Any]) -> Iterator[Any]:
        source, found = group[0][0], group[1]
        stated = (self._stated(decode_ref(line[1:])) for line in found)
        given = folder_licenses((file for file in stated if speaks(file.path)), self._config.min_confidence)
        for line in found:
            if line[:1] == _HEARD:
                continue
            ref = decode_ref(line[1:])
            self._counters.add(f"{self._stage}/in")
            verdict = judge(self._stated(ref), given, self._config, self._declared[source])
            if verdict.reason:
                drop = self._drop(ref, verdict)
                count_drop(self._counters, drop)
                yield beam.pvalue.TaggedOutput(DROPS, encode_line(drop))
                continue
            self._counters.add(f"{self._stage}/kept")
            scores = {**ref.scores, CONFLICT: float(verdict.conflict)}
            yield encode_line(msgspec.structs.replace(ref, license=verdict.expression, scores=scores))

    def _stated(self, ref: Ref) -> Stated:
        path = split_repository(ref.address, self._config.depth)[1]
        return Stated(path, ref.license, ref.scores.get("license", 0.0))

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
