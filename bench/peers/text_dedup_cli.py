"""text-dedup's MinHash on the files that bench/text_peers.py made: its command as its README has it, one process.

Its bands are ours and datatrove's near relation, 14 x 8; it keeps whom its union-find names and verifies nothing.
"""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from text_stage import clock, main, read, timed

NGRAM, PERMUTATIONS, BANDS, ROWS = 5, 112, 14, 8


def sign(folder: Path) -> dict[str, Any]:
    import numpy as np
    from text_dedup.minhash import RNG, embed_func
    from text_dedup.utils import sha1_hash

    prime, most = np.uint64((1 << 61) - 1), np.uint32((1 << 32) - 1)
    a = RNG.randint(1, prime, size=(PERMUTATIONS,), dtype=np.uint64)
    b = RNG.randint(0, prime, size=(PERMUTATIONS,), dtype=np.uint64)
    how: dict[str, Any] = {
        "num_perm": PERMUTATIONS,
        "ngram_size": NGRAM,
        "min_length": NGRAM,
        "hashranges": [(band * ROWS, (band + 1) * ROWS) for band in range(BANDS)],
        "permutations": (a, b),
        "hash_func": lambda data: sha1_hash(data, d=32),
        "dtype": np.uint64,
        "max_hash": most,
        "modulo_prime": prime,
    }
    return timed(read(folder / "planted.jsonl")[1], lambda texts: [embed_func(text, 0, **how) for text in texts])


def dedup(folder: Path) -> dict[str, Any]:
    import datasets
    from text_dedup.minhash import main as command

    out = folder / "text-dedup"
    words = ["--path", "json", "--data_files", str(folder / "planted.jsonl"), "--split", "train", "--column", "text"]
    words += ["--cache_dir", str(folder / "cache"), "--output", str(out), "--num_proc", "1"]
    words += ["--ngram", str(NGRAM), "--num_perm", str(PERMUTATIONS), "--b", str(BANDS), "--r", str(ROWS)]
    began = clock()
    with contextlib.suppress(SystemExit):
        command(words, standalone_mode=False)
    seconds = clock() - began
    ids, texts = read(folder / "planted.jsonl")
    kept = datasets.load_from_disk(str(out))["id"]
    size = sum(len(text.encode()) for text in texts)
    return {"seconds": seconds, "documents": len(ids), "bytes": size, "kept": json.loads(json.dumps(list(kept)))}


STAGES = {"signatures": sign, "near dedup": dedup}

if __name__ == "__main__":
    sys.exit(main(STAGES))
