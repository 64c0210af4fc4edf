"""text-dedup's MinHash on the files that bench/text_peers.py made: its command, with the configuration that it reads.

Odd: its command is `python -m text_dedup.minhash` beside a config.toml; the same is called here in the process, so that
importing is not counted. By default it verifies nothing (`check_false_positive = false`); its README turns that on.
Both are run. Bands and n-grams are those of the others; by default its bands follow from the threshold.
"""

import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

from text_stage import SAMPLE, Watch, main, read, timed

CONFIG = """[input]
input_type = "local_files"
file_type = "json"
[input.read_arguments]
path = "json"
data_files = {data}
split = "train"
cache_dir = {cache}
[algorithm]
algorithm_name = "minhash"
text_column = "text"
num_perm = 112
bands = 14
rows = 8
ngram_size = 5
threshold = 0.75
num_proc = 1
check_false_positive = {verified}
[output]
output_dir = {out}
save_clusters = true
[debug]
enable_profiling = false
"""


def sign(folder: Path) -> dict[str, Any]:
    from text_dedup.config import MinHashAlgorithmConfig

    embed = MinHashAlgorithmConfig(
        algorithm_name="minhash", text_column="text", num_perm=112, bands=14, rows=8, ngram_size=5, threshold=0.75
    ).get_embed_func()
    texts = read(folder / "planted.jsonl", SAMPLE)[1]
    return timed(texts, lambda some: [embed([text], [0]) for text in some])


def deduper(verified: bool) -> Any:
    def dedup(folder: Path) -> dict[str, Any]:
        import datasets
        from text_dedup.config.base import load_config_from_toml
        from text_dedup.minhash import main as command

        ids, texts = read(folder / "planted.jsonl")
        work = folder / f"text-dedup-{verified}"
        shutil.rmtree(work, ignore_errors=True)  # of a run that was stopped
        work.mkdir()
        os.environ["HF_DATASETS_CACHE"] = str(work)
        names = {"data": folder / "planted.jsonl", "cache": work / "cache", "out": work / "out"}
        text = CONFIG.format(verified=str(verified).lower(), **{name: json.dumps(str(p)) for name, p in names.items()})
        (work / "config.toml").write_text(text, encoding="utf-8")
        config = load_config_from_toml(work / "config.toml")
        watch = Watch()
        command(config)
        found = watch.stop(texts)
        parents: dict[int, int] = pickle.loads((work / "out/clusters.pickle").read_bytes())  # noqa: S301 - written above
        groups: dict[int, list[str]] = {}
        for member, parent in parents.items():
            groups.setdefault(parent, []).append(ids[member])
        kept = datasets.load_from_disk(str(work / "out"))["id"]
        return found | {"kept": list(kept), "clusters": list(groups.values())}

    return dedup


STAGES = {"signatures": sign, "near dedup": deduper(verified=True), "near dedup, unverified": deduper(verified=False)}

if __name__ == "__main__":
    sys.exit(main(STAGES))
