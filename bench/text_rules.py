"""Our rules beside datatrove's published filters on the same documents: decisions, scores, seconds of processor time.

    python bench/text_rules.py DOCUMENTS.jsonl --peer .bench/peers-text/bin/python [--words own|blanks] [--json]

DOCUMENTS holds one JSON object a line with `text`. The peer's Python has datatrove, nltk and spacy; it runs by itself,
and its answers are read from a file. docs/corpora/filters.md shows the last results.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from trivium.console import emit_json, out
from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.c4 import C4Lines, C4Rule
from trivium.data.text.heuristics import Heuristics, Rule
from trivium.data.text.rules import measure

PEER = Path(__file__).parent / "peers/datatrove_rules.py"
TOLERANCE = 6e-5  # our scores have four digits


def rule(score: str, low: float | None = None, high: float | None = None) -> Rule:
    return Rule(score=score, min=low, max=high, reason=score)


# The same limits as the peer's defaults, filter by filter.
SETS = {
    "gopher_quality": (
        rule("words", 50, 100_000), rule("mean_word_length", 3, 10), rule("symbols_per_word", None, 0.1),
        rule("bullet_lines", None, 0.9), rule("ellipsis_lines", None, 0.3), rule("alphabetic_words", 0.8),
        rule("stop_words", 2),
    ),
    "gopher_repetition": (
        rule("duplicate_paragraphs", None, 0.3), rule("duplicate_paragraph_characters", None, 0.2),
        rule("duplicate_lines", None, 0.3), rule("duplicate_line_characters", None, 0.2), rule("top_2gram", None, 0.2),
        rule("top_3gram", None, 0.18), rule("top_4gram", None, 0.16),
        *(rule(f"duplicate_{n}grams", None, round(0.2 - n / 100, 2)) for n in range(5, 11)),
    ),
    "fineweb_quality": (
        rule("punctuated_lines", 0.12), rule("short_lines", None, 0.67), rule("duplicate_line_characters", None, 0.01),
        rule("lines_per_word", None, 0.3),
    ),
}  # fmt: skip
C4 = C4Lines.Config(
    min_words=3,
    policy=(
        C4Rule(score="c4_placeholder", max=0, reason="lorem_ipsum"),
        C4Rule(score="c4_curly_brackets", max=0, reason="curly_bracket"),
        C4Rule(score="c4_sentences", min=5, reason="too_few_sentences"),
    ),
)


def drafts(texts: list[str]) -> list[Draft]:
    meta = Raw(corpus="c", domain="d", source="s", address="a", license="", body=b"", mime="").meta(source_sha256="")
    return [Draft(document=Document(segments=(Text(text=text),), meta=meta)) for text in texts]


def ours(texts: list[str]) -> tuple[dict[str, list[str]], dict[str, float], list[dict[str, float]]]:
    """Reasons by filter, seconds by filter (all rules of a text are measured at once), scores."""
    items = drafts(texts)
    measure("warm up é")
    began = time.process_time()
    scores = [measure(text) for text in texts]
    seconds = {"all rules": time.process_time() - began}
    reasons = {}
    for name, policy in SETS.items():
        stage = Heuristics.Config(policy=policy).build()
        reasons[name] = [_reason(stage, item) for item in items]
    stage = C4.build()
    began = time.process_time()
    reasons["c4_quality"] = [_reason(stage, item) for item in items]
    seconds["c4_quality"] = time.process_time() - began
    return reasons, seconds, scores


def _reason(stage: Any, item: Draft) -> str:
    (outcome,) = stage.process(item)
    return outcome.reason if isinstance(outcome, Drop) else ""


def figures(documents: Path, peer: str, words: str) -> dict[str, Any]:
    texts = [msgspec.json.decode(line)["text"] for line in documents.read_bytes().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        subprocess.run([peer, str(PEER), str(documents), str(answer), "--words", words], check=True)
        theirs = msgspec.json.decode(answer.read_bytes())
    reasons, seconds, scores = ours(texts)
    found: dict[str, Any] = {
        "documents": len(texts),
        "bytes": sum(len(text.encode()) for text in texts),
        "words": words,
    }
    found["seconds"] = {"ours": seconds, "theirs": {name: row["seconds"] for name, row in theirs["filters"].items()}}
    found["filters"] = {}
    for name, row in theirs["filters"].items():
        pairs = Counter(
            (mine or "kept", other or "kept") for mine, other in zip(reasons[name], row["reasons"], strict=True)
        )
        same = sum(n for (mine, other), n in pairs.items() if (mine == "kept") == (other == "kept"))
        apart = [[*pair, n] for pair, n in pairs.most_common() if (pair[0] == "kept") != (pair[1] == "kept")]
        found["filters"][name] = {"same": same, "kept": reasons[name].count(""), "apart": apart}
    found["scores"] = {}
    for name in theirs["scores"][0] if theirs["scores"] else ():
        equal = sum(abs(a[name] - b[name]) <= TOLERANCE for a, b in zip(scores, theirs["scores"], strict=True))
        found["scores"][name] = equal
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--peer", default=".bench/peers-text/bin/python")
    parser.add_argument("--words", choices=("blanks", "own"), default="own")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = figures(arguments.documents, arguments.peer, arguments.words)
    if arguments.json:
        emit_json(found)
        return 0
    size = found["bytes"] / 1e6
    out.print(f"{found['documents']:,} documents, {size:.1f} MB, words cut {found['words']}")
    table = Table(title="decisions", title_justify="left")
    for column in ("filter", "same", "we keep", "ours / theirs, where they differ"):
        table.add_column(column)
    for name, row in found["filters"].items():
        apart = "; ".join(f"{mine} / {other}: {count}" for mine, other, count in row["apart"][:5])
        table.add_row(name, f"{row['same'] / found['documents']:.2%}", f"{row['kept']:,}", apart)
    out.print(table)
    for side, rows in found["seconds"].items():
        for name, seconds in rows.items():
            out.print(
                f"{side} {name}: {seconds:.2f} s, {size / seconds:.2f} MB/s, {found['documents'] / seconds:.0f}/s"
            )
    for name, equal in found["scores"].items():
        out.print(f"equal {name}: {equal:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
