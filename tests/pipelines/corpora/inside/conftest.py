"""`apply(config, drafts)` runs a shuffle over documents in memory."""

import sys
from pathlib import Path

import msgspec
import pytest

from trivium.data.dedup.decontaminate import Decontaminate
from trivium.data.dedup.lines import RepeatedLines
from trivium.data.dedup.paragraphs import RepeatedParagraphs
from trivium.data.dedup.substrings import Substrings
from trivium.pipelines.corpora.shuffles import decontaminate, lines, paragraphs, substrings

sys.path.insert(0, str(Path(__file__).parent))
from in_process import InProcess

RUNS = {RepeatedLines: lines, RepeatedParagraphs: paragraphs, Substrings: substrings, Decontaminate: decontaminate}


@pytest.fixture
def apply(tmp_path_factory, monkeypatch):
    """apply(config, drafts) → (texts of the segments by source id, drops by source id, facts of the report)."""

    def run(config, drafts, *, limit=1000):
        work = InProcess(tmp_path_factory.mktemp("inside"), drafts, limit)
        module = RUNS[type(config)]
        with monkeypatch.context() as patch:
            patch.setattr(module, "count", work.count)
            patch.setattr(module, "edit", work.edit)
            patch.setattr(module, "report", lambda _work, _name, facts: work.facts.update(facts))
            module.run(work, "stage", msgspec.structs.replace(config, max_source_loss=1.0))
        return work

    return run
