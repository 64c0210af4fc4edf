"""A long row of documents through the nano model on the CPU: losses equal to the documents' alone, in bounded memory.

    python scripts/long_row.py --tokens 1048576

Prints one JSON line: tokens, documents, seconds of the forward pass, peak memory of the process (GiB), and the largest
difference of a loss (nats) between the row and `--alone` documents passed by themselves. Exit code 1 when a difference
passes 1e-4 or the memory `--most` GiB.
"""

import argparse
import json
import resource
import sys
import time

import numpy as np
import torch

from trivium.model.batch import Sample, collate
from trivium.model.joint import JointModel
from trivium.model.presets import preset

LONGEST = 8192  # tokens a document
TOLERANCE = 1e-4  # nats


def documents(tokens: int, seed: int = 0) -> list[Sample]:
    """Random ids in documents of 64 to 8192 tokens, log-uniform, `tokens` together."""
    draw = np.random.default_rng(seed)
    config = preset("nano")
    lengths: list[int] = []
    while (left := tokens - sum(lengths)) > 0:
        lengths.append(min(left, int(np.exp(draw.uniform(np.log(64), np.log(LONGEST))))))
    return [Sample(draw.integers(0, config.media_pad, n), np.ones(n, dtype=bool)) for n in lengths]


@torch.no_grad()
def compare(model: JointModel, samples: list[Sample], alone: int) -> tuple[float, float]:
    """Seconds of the row's forward pass, and its largest difference from `alone` documents passed by themselves."""
    pad = model.config.media_pad
    began = time.perf_counter()
    losses = model(collate(samples, pad)).loss_T
    seconds = time.perf_counter() - began
    borders = np.concatenate([[0], np.cumsum([len(sample.tokens) for sample in samples])])
    worst = 0.0
    for index in np.unique(np.linspace(0, len(samples) - 1, alone).astype(int)):
        own = model(collate([samples[index]], pad)).loss_T
        worst = max(worst, float((own - losses[borders[index] : borders[index + 1]]).abs().max()))
    return seconds, worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1 << 20)
    parser.add_argument("--alone", type=int, default=16, help="documents that are passed by themselves too")
    parser.add_argument("--most", type=float, default=10.0, help="GiB of memory that the process may take")
    chosen = parser.parse_args()
    torch.set_flush_denormal(True)
    samples = documents(chosen.tokens)
    model = preset("nano").build(seed=1).eval()
    seconds, worst = compare(model, samples, chosen.alone)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    facts = {
        "tokens": chosen.tokens,
        "documents": len(samples),
        "seconds": round(seconds, 1),
        "peak_gib": round(peak, 2),
        "worst_difference": worst,
    }
    print(json.dumps(facts))
    return int(worst > TOLERANCE or peak > chosen.most)


if __name__ == "__main__":
    sys.exit(main())
