"""The stages that look at a whole corpus, one file a kind: `run(work, name, config)` takes the build's current
references and settles new ones.

A new kind is a `ShuffleConfig`, a file here, a line in `RUNS` and one in the recipe's union.
"""

from collections.abc import Callable
from typing import Any

from trivium.data.code.repository import Repository
from trivium.data.code.repository_license import RepositoryLicense
from trivium.data.dedup.decontaminate import Decontaminate
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.lines import RepeatedLines
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.paragraphs import RepeatedParagraphs
from trivium.data.dedup.pictures import PictureDedup
from trivium.data.dedup.substrings import Substrings
from trivium.data.rephrase.stage import RewriteCap
from trivium.data.stage import ShuffleConfig
from trivium.pipelines.corpora.rephrase import Rephrase
from trivium.pipelines.corpora.shuffles import (
    decontaminate,
    exact,
    lines,
    near,
    paragraphs,
    pictures,
    rephrase,
    repository,
    repository_license,
    rewrite_cap,
    substrings,
)
from trivium.pipelines.corpora.work import Work

Run = Callable[[Work, str, Any], None]
RUNS: dict[type[ShuffleConfig], Run] = {
    Decontaminate: decontaminate.run,
    ExactDedup: exact.run,
    NearDedup: near.run,
    PictureDedup: pictures.run,
    RepeatedLines: lines.run,
    RepeatedParagraphs: paragraphs.run,
    Substrings: substrings.run,
    RepositoryLicense: repository_license.run,
    Repository: repository.run,
    Rephrase: rephrase.run,
    RewriteCap: rewrite_cap.run,
}
