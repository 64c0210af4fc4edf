"""Main text of real pages that have a gold text: ours beside other extractors, quality and pages a second of one core.

    trivium inputs fetch newspaper4k trafilatura-1.0 python3.11-doc
    python bench/extraction.py [--json] [--ours] [--set NAME] [--folder CLONE]

Tokens: each run of letters and digits in lower case, and each Chinese, Japanese, Korean, Thai, Burmese or Indic
character by itself; marks such as `#` and `|` are none. Of a page: precision = tokens in both texts, counted with
multiplicity, over those of the answer; recall = over those of the gold text; F1 their harmonic mean; a table's row is
the mean over pages. `4-grams` is the same F1 of runs of four tokens, which sees order too (the measure of
article-extraction-benchmark). Snippets: F1 of strings that a page's text must and must not hold, over all pages.

Each set is cut in two by a hash of the page's name, once and for all: rules are changed by looking at `tune` only, and
what `held-out` says is believed. The interval holds F1 in 95 of 100 draws of as many pages, with replacement.
Extractors see the same pages in the same call; seconds are of processor time.

Peers run in `.bench/extraction`, made on the first run. `--folder` takes a clone of article-extraction-benchmark or of
Mozilla's readability. Floors: ours is at least the best peer's F1 less 0.01 on each set that has a gold text.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from _extraction_sets import Page, clone, manual, newspaper, realworld

from trivium.console import emit_json, note, out
from trivium.data.stage import Draft, Raw
from trivium.data.text.extract import ExtractHtml
from trivium.pipelines.inputs import default_cache

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / ".bench/extraction"
PACKAGES = (
    "trafilatura==2.3.1",
    "resiliparse==2.0.1",
    "justext==3.0.2",
    "readability-lxml==0.9",
    "lxml_html_clean==0.4.6",
    "goose3==3.1.22",
    "newspaper4k==0.9.6",
)
SETS = {
    "newspaper4k": (newspaper, "newspaper4k"),
    "realworld": (realworld, "trafilatura-1.0"),
    "python-manual": (manual, "python3.11-doc"),
}
HALVES = ("tune", "held-out")
DRAWS = 1000
SLACK = 0.01
_TOKEN = re.compile(
    r"[\u0900-\u109f\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_]+"
)


@dataclass(frozen=True)
class Row:
    """One extractor on one set or half of it; `low` and `high` bound F1, seconds of processor time are a page's."""

    set: str
    half: str
    name: str
    pages: int
    precision: float
    recall: float
    f1: float
    low: float
    high: float
    grams: float | None
    empty: int
    seconds: float


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def overlap(gold: Sequence[str], found: Sequence[str], n: int) -> tuple[float, float, float]:
    """(precision, recall, F1) of the two bags of n-grams."""
    left, right = (Counter(tuple(t[i : i + n]) for i in range(max(1, len(t) - n + 1))) for t in (gold, found))
    if not gold or not found:
        return (1.0, 1.0, 1.0) if not gold and not found else (0.0, 0.0, 0.0)
    both = sum((left & right).values())
    precision, recall = both / sum(right.values()), both / sum(left.values())
    return precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0


def half_of(page: Page) -> str:
    return HALVES[sha256(page.name.encode()).digest()[0] & 1]


def golden(pages: Sequence[Page], texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """[pages, 4]: precision, recall, F1, and F1 of 4-grams of each page."""
    found = [(tokens(page.gold or ""), tokens(text)) for page, text in zip(pages, texts, strict=True)]
    return np.array([[*overlap(gold, got, 1), overlap(gold, got, 4)[2]] for gold, got in found])


def snippets(pages: Sequence[Page], texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """[pages, 3]: strings that are there and should be, that should be, that are there and should not be."""
    counts = []
    for page, text in zip(pages, texts, strict=True):
        joined = " ".join(tokens(text))
        inside, outside = (
            sum(" ".join(tokens(part)) in joined for part in parts) for parts in (page.inside, page.outside)
        )
        counts.append((inside, len(page.inside), outside))
    return np.array(counts, dtype=np.float64)


def shares(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[…, 3] precision, recall and F1 of sums [..., 3] as `snippets` counts them."""
    hits, wanted, false = np.moveaxis(counts, -1, 0)
    precision, recall = hits / np.maximum(1, hits + false), hits / np.maximum(1, wanted)
    return np.stack((precision, recall, 2 * precision * recall / np.maximum(1e-9, precision + recall)), axis=-1)


def scores(name: str, extractor: str, pages: Sequence[Page], texts: Sequence[str], seconds: float) -> list[Row]:
    """The table's rows of one extractor: the whole set, then each half."""
    with_gold = pages[0].gold is not None
    measured = (golden if with_gold else snippets)(pages, texts)
    halves = np.array([half_of(page) for page in pages])
    empty = np.array([not text.strip() for text in texts])
    found = []
    for half in ("all", *HALVES):
        chosen = np.flatnonzero((halves == half) | (half == "all"))
        if not len(chosen):
            continue
        draws = chosen[np.random.default_rng(0).integers(len(chosen), size=(DRAWS, len(chosen)))]
        if with_gold:
            precision, recall, f1, grams = measured[chosen].mean(axis=0).tolist()
            drawn = measured[draws, 2].mean(axis=1)
        else:
            (precision, recall, f1), grams = shares(measured[chosen].sum(axis=0)).tolist(), None
            drawn = shares(measured[draws].sum(axis=1))[:, 2]
        low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
        blank, each = int(empty[chosen].sum()), seconds / len(pages)
        found.append(Row(name, half, extractor, len(chosen), precision, recall, f1, low, high, grams, blank, each))
    return found


def ours(pages: Sequence[Page]) -> tuple[list[str], float]:
    """Texts by the stage with its default parameters, and seconds of processor time."""
    stage = ExtractHtml.Config().build()
    raws = [
        Raw(corpus="b", domain="web", source="s", address=page.name, license="", mime="", body=page.markup.encode())
        for page in pages
    ]
    list(stage.process(raws[0]))  # libraries are loaded before the clock starts
    began = time.process_time()
    outcomes = [next(stage.process(raw)) for raw in raws]
    seconds = time.process_time() - began
    return [item.document.text if isinstance(item, Draft) else "" for item in outcomes], seconds


def peers(pages: Sequence[Page]) -> dict[str, dict]:
    """The other extractors' answers, from their own environment."""
    python = ENVIRONMENT / "bin/python"
    if not python.is_file():
        note(f"making {ENVIRONMENT} with {len(PACKAGES)} packages")
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        for package in PACKAGES:  # one by one: some resolvers stumble over lxml's extras
            subprocess.run([str(python), "-m", "pip", "install", "-q", package], check=True)
    with tempfile.TemporaryDirectory() as folder:
        given, answers = Path(folder) / "pages.json", Path(folder) / "answers.json"
        given.write_text(json.dumps([page.markup for page in pages]))
        subprocess.run(
            [str(python), "-W", "ignore", str(HERE / "_extraction_peers.py"), str(given), str(answers)],
            check=True,
        )
        return json.loads(answers.read_text())


def rows(name: str, pages: Sequence[Page], with_peers: bool) -> list[Row]:
    texts, seconds = ours(pages)
    found = scores(name, "ours", pages, texts, seconds)
    for peer, answer in (peers(pages) if with_peers else {}).items():
        found += scores(name, f"{peer} {answer['version']}", pages, answer["texts"], answer["seconds"])
    return found


def sets(chosen: str | None, folders: Sequence[Path]) -> dict[str, list[Page]]:
    """The sets that are there; a missing one is told with the command that brings it."""
    found = {}
    for name, (load, wanted) in SETS.items():
        if chosen not in (None, name):
            continue
        root = default_cache() / wanted
        if root.is_dir():
            found[name] = load(root)
        else:
            note(f"{name} is left out: run `trivium inputs fetch {wanted}`")
    return found | {folder.name: clone(folder) for folder in folders}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="store_true", help="only ours, no peers")
    parser.add_argument("--set", choices=list(SETS), help="one set")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="a clone of a public benchmark")
    parser.add_argument("--json", action="store_true", help="machine output")
    given = parser.parse_args()
    found = [row for name, pages in sets(given.set, given.folder).items() for row in rows(name, pages, not given.ours)]
    behind = [
        row.set
        for row in found
        if row.name == "ours"
        and row.half == "all"
        and row.grams is not None
        and row.f1 < max(other.f1 for other in found if (other.set, other.half) == (row.set, row.half)) - SLACK
    ]
    if given.json:
        emit_json({"rows": [asdict(row) for row in found], "behind": behind})
    else:
        table = Table("set", "half", "extractor", "pages", "precision", "recall", "F1", "95 %", "4-grams")
        for head in ("empty", "ms/page"):
            table.add_column(head)
        for row in found:
            grams = "" if row.grams is None else f"{row.grams:.3f}"
            quality = [f"{value:.3f}" for value in (row.precision, row.recall, row.f1)]
            span = f"{row.low:.3f}–{row.high:.3f}"
            ends = (grams, str(row.empty), f"{1000 * row.seconds:.1f}")
            table.add_row(row.set, row.half, row.name, str(row.pages), *quality, span, *ends)
        out.print(table)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
