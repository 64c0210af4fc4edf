"""Exact duplicates: records of one content id, found by one shuffle of references."""

from pathlib import Path

import apache_beam as beam

from trivium.data.dedup.exact import ExactDedup
from trivium.pipelines.corpora.items import DROPS, READINGS, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.shuffles.survivors import Select, check_losses
from trivium.pipelines.corpora.spool import decode_ref
from trivium.pipelines.corpora.work import Work


def run(work: Work, name: str, exact: ExactDedup) -> None:
    """One record of each content stays."""
    before, folder = work.sources(), work.job_folder(name)
    work.run(name, ExactGraph(exact, name, work.folder, work.refs(), folder), folder, total=work.size)
    work.settle(folder, name)
    check_losses(name, exact.max_source_loss, folder, before)


def by_content(line: bytes) -> tuple[str, bytes]:
    return decode_ref(line).id, line


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
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, READINGS, main="refs")
        )
        write(chosen.refs, self._folder, "refs")
        write_sides([chosen], self._folder)
