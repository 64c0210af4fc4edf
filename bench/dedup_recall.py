"""Where the recall of near duplicates goes: what counts as a word, and which permutations were drawn.

    python bench/dedup_recall.py [--documents 20000] [--bands 14 --rows 8] [--seeds 8] [--json]

The planted documents of the other benches. For each seed: signatures, pairs that share a band, pairs of the threshold
by our sets, union-find; no build. `plain` counts the pairs whose Jaccard similarity is 0.8 and more with words as
runs of letters and digits (as bench/text_peers.py does for all tools), `ours` those with our
words (trivium.data.dedup.words); both among the pairs of 0.5 and more by plain words. `below` are pairs of 0.8 and more
by plain words that our words put below the threshold: no permutation finds these. `expected` is how many pairs of 0.8
and more by our words have no equal band when permutations are independent, `missed` how many had none.
"""

import argparse
import sys
from typing import Any

import numpy as np
from _documents import documents, paragraphs
from _text_agreement import HIGH, THRESHOLD, alike, union_find
from rich.table import Table

from trivium.console import emit_json, out
from trivium.data.dedup import sketches
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.signature import Engine, sign_rows, spec

NGRAM, BATCH = 5, 256


def figures(texts: list[str], bands: int, rows: int, seeds: int, engines: tuple[Engine, ...]) -> dict[str, Any]:
    """The truth by both kinds of words, and what each engine and seed makes of it."""
    pairs, plain = alike(texts, 0.5)
    numbers, places = np.unique(pairs, return_inverse=True)
    first, second = places.reshape(pairs.shape).T
    cut = [
        shingle([texts[at] for at in numbers[start : start + BATCH]], NGRAM) for start in range(0, len(numbers), BATCH)
    ]
    sets = [sketches.compact(one) for part in cut for one in part.sets()]
    ours = np.array([sketches.alike(sets[a], sets[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True)])
    found = []
    for engine in engines:
        for seed in range(1, seeds + 1):
            made = spec(engine, permutations=bands * rows, seed=seed, ngram=NGRAM)
            values = np.concatenate([sign_rows(part.hashes, part.offsets, made) for part in cut])
            met = (values[first] == values[second]).reshape(len(first), bands, rows).all(axis=2).any(axis=1)
            label = np.arange(len(numbers))
            for group in union_find(np.column_stack((first, second))[met & (ours >= THRESHOLD)].tolist()):
                label[list(group)] = min(group)
            together = label[first] == label[second]
            row: dict[str, Any] = {"engine": engine, "seed": seed, "missed": int((~met & (ours >= HIGH)).sum())}
            row |= {"plain": round(float(together[plain >= HIGH].mean()), 4)}
            found.append(row | {"ours": round(float(together[ours >= HIGH].mean()), 4)})
    return {
        "documents": len(texts),
        "plain_pairs": int((plain >= HIGH).sum()),
        "our_pairs": int((ours >= HIGH).sum()),
        "below": int(((plain >= HIGH) & (ours < THRESHOLD)).sum()),
        "expected": round(float(((1 - ours[ours >= HIGH] ** rows) ** bands).sum()), 1),
        "rows": found,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--bands", type=int, default=14)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--engine", action="append", choices=("rensa", "datasketch"), default=[])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    texts = [one.text for one in documents(given.documents, paragraphs(given.documents * 6_000))]
    found = figures(texts, given.bands, given.rows, given.seeds, tuple(given.engine) or ("rensa",))
    if given.json:
        emit_json(found)
        return 0
    facts = {name: value for name, value in found.items() if name != "rows"}
    table = Table(title=", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in facts.items()))
    for name in found["rows"][0]:
        table.add_column(name, justify="right")
    for row in found["rows"]:
        table.add_row(*map(str, row.values()))
    out.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
