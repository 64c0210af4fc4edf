"""datatrove's stages, as its FineWeb example sets them up, on the files that bench/text_peers.py made.

Odd: its language filter would download lid.176.bin; it is given the same model in its compressed form. Filters and
signatures run without an executor, so that no reading is counted; the whole de-duplication runs with its own.
"""

import os
import sys
from pathlib import Path
from typing import Any

from datatrove.data import Document
from text_stage import clock, main, read, timed

GEOMETRY = {"n_grams": 5, "num_buckets": 14, "hashes_per_bucket": 8}


def extract(folder: Path) -> dict[str, Any]:
    from datatrove.pipeline.extractors import Trafilatura
    from datatrove.pipeline.readers import WarcReader

    extractor = Trafilatura(favour_precision=True, timeout=10)
    reader = WarcReader(str(folder), glob_pattern="pages.warc.gz", default_metadata={})
    list(extractor.run(iter([Document(text="<html><body><p>A page to begin with.</p></body></html>", id="warm")])))
    began = clock()
    found = list(extractor.run(reader.run()))
    return {
        "seconds": clock() - began,
        "documents": extractor.stats["total"].total,
        "bytes": sum(len(document.text.encode()) for document in found),
    }


def filters(folder: Path) -> dict[str, Any]:
    from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter

    made = [GopherRepetitionFilter(), GopherQualityFilter(), FineWebQualityFilter()]
    _, texts = read(folder / "pages.jsonl")
    return timed(texts, lambda some: [one.filter(Document(text=text, id="")) for text in some for one in made])


def language(folder: Path) -> dict[str, Any]:
    import fasttext
    from datatrove.pipeline.filters import LanguageFilter

    one = LanguageFilter("en")
    one.model._model = fasttext.load_model(os.environ["LID_MODEL"])
    _, texts = read(folder / "pages.jsonl")
    return timed(texts, lambda some: [one.filter(Document(text=text, id="")) for text in some])


def sign(folder: Path) -> dict[str, Any]:
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig

    step = MinhashDedupSignature(str(folder / "unused"), config=MinhashConfig(**GEOMETRY))
    _, texts = read(folder / "planted.jsonl")
    return timed(texts, lambda some: [step.get_signature(step.get_shingles(text)) for text in some])


def dedup(folder: Path) -> dict[str, Any]:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    config, out = MinhashConfig(**GEOMETRY), folder / "datatrove"
    names = {name: str(out / name) for name in ("signatures", "buckets", "remove", "kept", "logs")}
    reader = JsonlReader(str(folder), glob_pattern="planted.jsonl")
    steps = [
        [reader, MinhashDedupSignature(names["signatures"], config=config)],
        [MinhashDedupBuckets(names["signatures"], names["buckets"], config=config)],
        [MinhashDedupCluster(names["buckets"], names["remove"], config=config)],
        [reader, MinhashDedupFilter(names["remove"]), JsonlWriter(names["kept"], compression=None)],
    ]
    began = clock()
    for number, step in enumerate(steps):
        tasks = GEOMETRY["num_buckets"] if number == 1 else 1
        LocalPipelineExecutor(step, tasks=tasks, workers=1, logging_dir=f"{names['logs']}/{number}").run()
    seconds = clock() - began
    ids, texts = read(folder / "planted.jsonl")
    kept = [one for path in sorted(Path(names["kept"]).glob("*.jsonl")) for one in read(path)[0]]
    size = sum(len(text.encode()) for text in texts)
    return {"seconds": seconds, "documents": len(ids), "bytes": size, "kept": kept}


STAGES = {"extract": extract, "filters": filters, "language": language, "signatures": sign, "near dedup": dedup}

if __name__ == "__main__":
    sys.exit(main(STAGES))
