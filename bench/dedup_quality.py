"""What near_dedup finds against brute force: every pair's true Jaccard, clusters by union-find, both engines.

    python bench/dedup_quality.py [--documents 20000] [--engine rensa] [--bands 16 --rows 7] [--json]

Real paragraphs with planted copies (`_documents`). The truth is the Jaccard similarity of the word 5-gram sets of every
pair of documents that share a single 5-gram, by an inverted list; no sketch has a part in it. Recall is over all pairs
of Jaccard 0.8 and more; precision is over the pairs that the job verified. The floors: recall 0.95, precision 1, and
the job's clusters are those of union-find over its own pairs. Exit code 1 when one does not hold.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from _documents import documents, paragraphs
from _text_agreement import union_find

from trivium.console import emit_json, note
from trivium.data.config import from_mapping
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.sketches import compact
from trivium.data.shards import ShardSet, read_rejects
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora import driver
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.shuffles import banded
from trivium.pipelines.corpora.shuffles.edges import decode_verified

RECALL, AT = 0.95, 0.8

Pairs = dict[tuple[int, int], float]


def true_pairs(texts: list[str], least: float, ngram: int = 5) -> Pairs:
    """Every pair of texts whose sets of n-grams have Jaccard `least` or more, by brute force over shared n-grams."""
    sets = [compact(found) for found in shingle(texts, ngram).sets()]
    values = np.concatenate(sets)
    owners = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    order = values.argsort(kind="stable")
    values, owners = values[order], owners[order]
    edges = np.flatnonzero(np.diff(values)) + 1
    shared: defaultdict[tuple[int, int], int] = defaultdict(int)
    for group in np.split(owners, edges):
        for at, one in enumerate(group.tolist()):
            for other in group[at + 1 :].tolist():
                shared[one, other] += 1
    found = {}
    for (one, other), count in shared.items():
        similarity = count / (len(sets[one]) + len(sets[other]) - count)
        if similarity >= least:
            found[one, other] = similarity
    return found


class Job:
    """near_dedup over the texts by a build in `folder`: `pairs` as verified (text numbers), `clusters` as removed."""

    def __init__(self, texts: list[str], folder: Path, **parameters: Any) -> None:
        (folder / "in").mkdir(parents=True)
        lines = [msgspec.json.encode({"text": text}) + b"\n" for text in texts]
        (folder / "in/texts.jsonl").write_bytes(b"".join(lines))
        starts = np.cumsum([0, *map(len, lines)])[:-1].tolist()
        recipe = from_mapping(
            {
                "version": 1,
                "corpus": "quality",
                "domain": "bench",
                "sources": [{"kind": "jsonl", "name": "s", "path": str(folder / "in"), "license": "CC0-1.0"}],
                "stages": [
                    {"kind": "heuristics", "policy": []},
                    {"kind": "near_dedup", "max_cluster": 10**9, "max_source_loss": 1.0, **parameters},
                ],
            },
            Recipe,
            name="recipe",
        )
        edges: list[bytes] = []
        with Watched(edges):
            driver.build(recipe, folder, folder / "out", BeamOptions())
        number = {f"texts.jsonl@{start}": at for at, start in enumerate(starts)}
        shards = ShardSet.open(folder / "out")
        kept = [shards.read(at)[0].meta for at in range(len(shards))]
        drops = list(read_rejects(folder / "out"))
        by_id = {one.source_id: number[one.address] for one in (*kept, *drops)}
        self.pairs: Pairs = {}
        for line in edges:
            (larger, found), _ = decode_verified(line)
            one, other = sorted((by_id[larger], by_id[found.beside]))
            self.pairs[one, other] = found.similarity
        groups: dict[str, set[int]] = {}
        for one in (*kept, *drops):
            groups.setdefault(one.cluster, set()).add(by_id[one.source_id])
        self.clusters = {frozenset(group) for group in groups.values() if len(group) > 1}
        self.kept = len(kept)


class Watched:
    """Reads the verified pairs of a build while they lie in its folder."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines, self._components = lines, banded.components

    def __enter__(self) -> None:
        def watched(work: Any, name: str, edges: list[Path]) -> list[Path]:
            for path in edges:
                self._lines += path.read_bytes().splitlines()
            return self._components(work, name, edges)

        banded.components = watched

    def __exit__(self, *_: object) -> None:
        banded.components = self._components


def figures(texts: list[str], folder: Path, **parameters: Any) -> dict[str, Any]:
    """Recall and precision of the job's pairs and clusters against the truth."""
    threshold = float(parameters.get("threshold", 0.75))
    began = time.process_time()
    job = Job(texts, folder, **parameters)
    seconds = time.process_time() - began
    truth = true_pairs(texts, threshold)
    at = {pair for pair, similarity in truth.items() if similarity >= AT}
    own, true = union_find(job.pairs), union_find(truth)
    return {
        "documents": len(texts),
        "cpu_seconds": round(seconds, 1),
        "kept": job.kept,
        "pairs": len(job.pairs),
        "true_pairs": len(truth),
        f"true_pairs_of_{AT}": len(at),
        f"recall_of_{AT}": sum(pair in job.pairs for pair in at) / max(1, len(at)),
        "recall": sum(pair in job.pairs for pair in truth) / max(1, len(truth)),
        "precision": sum(pair in truth for pair in job.pairs) / max(1, len(job.pairs)),
        "clusters": len(job.clusters),
        "in_clusters": sum(map(len, job.clusters)),
        "clusters_are_union_find": job.clusters == own,
        "clusters_of_the_truth_found": len(own & true) / max(1, len(true)),
    }


def holds(found: dict[str, Any]) -> bool:
    return found[f"recall_of_{AT}"] >= RECALL and found["precision"] == 1.0 and found["clusters_are_union_find"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--engine", default="rensa", choices=("rensa", "datasketch"))
    parser.add_argument("--bands", type=int, default=16)
    parser.add_argument("--rows", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    pool = paragraphs(30_000_000)
    if not pool:
        raise SystemExit("no real text is here: run `trivium inputs fetch python3.11-doc git-doc` first")
    texts = [one.text for one in documents(arguments.documents, pool)]
    folder = Path(tempfile.mkdtemp())
    try:
        found = figures(texts, folder, engine=arguments.engine, bands=arguments.bands, rows=arguments.rows)
    finally:
        shutil.rmtree(folder)
    if arguments.json:
        emit_json(found)
    else:
        for name, value in found.items():
            note(f"{name.replace('_', ' ')}: {value:,.4g}" if isinstance(value, float) else f"{name}: {value}")
    return 0 if holds(found) else 1


if __name__ == "__main__":
    sys.exit(main())
