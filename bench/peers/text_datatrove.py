"""datatrove's stages, as its FineWeb example sets them up, on the files that bench/text_peers.py made.

Odd: its language filter would download lid.176.bin; it is given the same model in its compressed form. Filters and
signatures run without an executor, so that no reading is counted; the whole de-duplication runs with its own. `same
words` gives it the word splitter of the brute force (runs of letters and digits, lower case) in place of spaCy's, so
that decisions can be compared, and it costs less.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datatrove.data import Document
from text_stage import SAMPLE, Watch, main, read, timed

GEOMETRY = {"n_grams": 5, "num_buckets": 14, "hashes_per_bucket": 8}


def extract(folder: Path) -> dict[str, Any]:
    from datatrove.pipeline.extractors import Trafilatura
    from datatrove.pipeline.readers import WarcReader

    extractor = Trafilatura(favour_precision=True, timeout=10)
    reader = WarcReader(str(folder), glob_pattern="pages.warc.gz", default_metadata={})
    list(extractor.run(iter([Document(text="<html><body><p>A page to begin with.</p></body></html>", id="warm")])))
    watch, size = Watch(), 0
    for document in extractor.run(reader.run()):
        size += len(document.text.encode())
    return watch.stop() | {"documents": extractor.stats["total"].total, "bytes": size}


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


class Words:
    """The brute force's word splitter, in place of datatrove's."""

    def word_tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())


def signature(same_words: bool, folder: str) -> Any:
    from datatrove.pipeline.dedup import MinhashDedupSignature, minhash
    from datatrove.pipeline.dedup.minhash import MinhashConfig

    step = MinhashDedupSignature(folder, config=MinhashConfig(**GEOMETRY))
    if same_words:
        step.word_tokenizer = Words()
        minhash.simplify_text = lambda text, config: text  # its own takes digits and marks out first
    return step


def signer(same_words: bool) -> Callable[[Path], dict[str, Any]]:
    def sign(folder: Path) -> dict[str, Any]:
        step = signature(same_words, str(folder / "unused"))
        _, texts = read(folder / "planted.jsonl", SAMPLE)
        return timed(texts, lambda some: [step.get_signature(step.get_shingles(text)) for text in some])

    return sign


def deduper(same_words: bool) -> Callable[[Path], dict[str, Any]]:
    def dedup(folder: Path) -> dict[str, Any]:
        from datatrove.executor import LocalPipelineExecutor
        from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter
        from datatrove.pipeline.dedup.minhash import MinhashConfig
        from datatrove.pipeline.readers import JsonlReader
        from datatrove.pipeline.writers.jsonl import JsonlWriter

        config, out = MinhashConfig(**GEOMETRY), folder / f"datatrove-{same_words}"
        shutil.rmtree(out, ignore_errors=True)  # of a run that was stopped: it would skip what is there
        name = "planted.jsonl" if same_words else "planted-slow.jsonl"
        names = {part: str(out / part) for part in ("signatures", "buckets", "remove", "kept", "gone", "logs")}
        reader = JsonlReader(str(folder), glob_pattern=name)
        gone, stays = (JsonlWriter(names[part], compression=None) for part in ("gone", "kept"))
        steps = {
            "signatures": [reader, signature(same_words, names["signatures"])],
            "buckets": [MinhashDedupBuckets(names["signatures"], names["buckets"], config=config)],
            "clusters": [MinhashDedupCluster(names["buckets"], names["remove"], config=config, save_cluster_id=True)],
            "filter": [reader, MinhashDedupFilter(names["remove"], gone, load_cluster_ids=True), stays],
        }
        _, texts = read(folder / name)
        watch = Watch()
        for part, step in steps.items():
            tasks = GEOMETRY["num_buckets"] if part == "buckets" else 1
            LocalPipelineExecutor(step, tasks=tasks, workers=1, logging_dir=f"{names['logs']}/{part}").run()
            watch.step(part)
        found = watch.stop(texts)
        rows = {part: _rows(Path(names[part])) for part in ("kept", "gone")}
        groups: dict[int, list[str]] = {}
        for row in (*rows["kept"], *rows["gone"]):
            cluster = row["metadata"]["minhash_cluster_id"]
            if cluster >= 0:
                groups.setdefault(cluster, []).append(row["id"])
        return found | {"kept": [row["id"] for row in rows["kept"]], "clusters": list(groups.values())}

    return dedup


def _rows(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


STAGES = {
    "extract": extract,
    "filters": filters,
    "language": language,
    "signatures": signer(same_words=False),
    "signatures, same words": signer(same_words=True),
    "near dedup": deduper(same_words=False),
    "near dedup, same words": deduper(same_words=True),
}

if __name__ == "__main__":
    sys.exit(main(STAGES))
