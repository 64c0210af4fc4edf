"""What de-duplications decided, against brute force: all pairs of documents by their true Jaccard similarity.

The sets are of word 5-grams, words are runs of letters and digits in lower case: plain Python, none of the tools' own.
Recall: pairs of 0.8 and more that lie in one cluster of the tool. Precision: documents that are gone and have another
of the threshold (0.75) or more. The oracle's clusters are union-find over all true pairs of the threshold; one of them
is lost when none of its documents is kept.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HIGH, THRESHOLD = 0.8, 0.75
Pairs = npt.NDArray[np.int64]
Clusters = set[frozenset[int]]


def alike(texts: list[str], least: float) -> tuple[Pairs, npt.NDArray[np.float64]]:
    """All pairs of texts with a Jaccard similarity of at least that much, and the similarities: exact, no sketch."""
    from scipy.sparse import csr_matrix

    sets = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        sets.append({hash(tuple(words[at : at + 5])) for at in range(len(words) - 4)})
    sizes = np.array([len(one) for one in sets])
    flat = np.fromiter((gram for one in sets for gram in one), dtype=np.int64, count=int(sizes.sum()))
    _, column = np.unique(flat, return_inverse=True)
    rows = np.repeat(np.arange(len(sets)), sizes)
    matrix = csr_matrix((np.ones(len(flat), np.int32), (rows, column)))
    found, values = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for start in range(0, len(sets), 1000):
        part = (matrix[start : start + 1000] @ matrix.T).tocoo()
        first, second = part.row.astype(np.int64) + start, part.col.astype(np.int64)
        jaccard = part.data / (sizes[first] + sizes[second] - part.data)
        use = (first < second) & (jaccard >= least)
        found.append(np.column_stack((first[use], second[use])))
        values.append(jaccard[use])
    return np.concatenate(found), np.concatenate(values)


def union_find(pairs: Iterable[Sequence[int]]) -> Clusters:
    """Connected components of two and more."""
    parent: dict[int, int] = {}

    def find(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        parent[find(one)] = find(other)
    groups: dict[int, set[int]] = {}
    for node in parent:
        groups.setdefault(find(node), set()).add(node)
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def agreement(documents: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The truth, and what each row with `kept` (ids) and `clusters` made of it."""
    with documents.open(encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    at = {row["id"]: place for place, row in enumerate(read)}
    pairs, values = alike([row["text"] for row in read], THRESHOLD)
    found = []
    for row in rows:
        if "kept" not in row:
            continue
        count = row["documents"]  # the first of all: a slow tool's
        mine = pairs[(pairs < count).all(axis=1)]
        high, oracle = pairs[(pairs < count).all(axis=1) & (values >= HIGH)], union_find(mine.tolist())
        alone = ~np.isin(np.arange(count), mine)
        gone = np.ones(count, dtype=bool)
        gone[[at[one] for one in row["kept"]]] = False
        own: Clusters = {frozenset(at[one] for one in group) for group in row["clusters"]}
        label = np.arange(count)
        for group in own:
            label[list(group)] = min(group)
        together = label[high[:, 0]] == label[high[:, 1]]
        verified = None
        if "pairs" in row:
            verified = own == union_find([at[one], at[other]] for one, other in row["pairs"])
        found.append(
            {
                "tool": row["tool"],
                "stage": row["stage"],
                "documents": count,
                "recall": round(float(together.mean()), 4),
                "gone": int(gone.sum()),
                "precision": round(float(1 - alone[gone].mean()), 4) if gone.any() else None,
                "lost": sum(bool(gone[list(group)].all()) for group in oracle),
                "clusters": len(own),
                "same_clusters": len(own & oracle),
                "true_clusters": len(oracle),
                "union_find": verified,
            }
        )
    truth = {"pairs": len(pairs), "high": int((values >= HIGH).sum()), "clusters": len(union_find(pairs.tolist()))}
    return {"documents": len(read), **truth, "rows": found}
