"""Our stages on the files that bench/text_peers.py made; and rensa and datasketch by themselves.

`signatures (LIBRARY)` are ours with that engine, normaliser and shingles included; `LIBRARY alone` is the library fed
by a plain Python loop over lower-case words, as its guide does. `near dedup` is a whole build of a recipe that does no
more than that: reading, near duplicates with verified pairs, rejects, shards and report.
"""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from text_stage import SAMPLE, Stage, Watch, main, read, timed

from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Raw

PERMUTATIONS, NGRAM, BATCH = 112, 5, 256
RECIPE = """version: 1
corpus: planted
domain: bench
sources:
  - {{kind: jsonl, name: planted, path: {path}, license: CC0-1.0}}
stages:
  - {{kind: urls, lists: [{{name: none, path: none.txt, kind: domains}}]}}
  - {{kind: near_dedup, keep: false, bands: {bands}, rows: {rows}}}
"""


def extract(folder: Path) -> dict[str, Any]:
    from trivium.data.text.extract import ExtractHtml
    from trivium.pipelines.corpora.sources import Place
    from trivium.pipelines.corpora.warc import Warc

    stage = ExtractHtml.Config().build()
    source = Warc(name="pages", path=str(folder / "pages.warc.gz"), license="")
    body = b"<html><body><p>A page to begin with.</p></body></html>"
    warm = Raw(corpus="c", domain="d", source="s", address="a", license="", body=body, mime="text/html")
    list(stage.process(warm))
    count = size = 0
    watch = Watch()
    for place in source.places(folder):
        for item in source.split(place):
            for raw in source.read(item, "c", "d") if isinstance(item, Place) else ():
                count += 1
                found = list(stage.process(raw)) if isinstance(raw, Raw) else []
                size += sum(len(one.document.text.encode()) for one in found if isinstance(one, Draft))
    return watch.stop() | {"documents": count, "bytes": size}


def filters(folder: Path) -> dict[str, Any]:
    from text_rules import SETS

    from trivium.data.text.heuristics import Heuristics

    stage = Heuristics.Config(policy=tuple(rule for rules in SETS.values() for rule in rules)).build()
    return timed(read(folder / "pages.jsonl")[1], lambda texts: [list(stage.process(_draft(text))) for text in texts])


def _draft(text: str) -> Draft:
    meta = Raw(corpus="c", domain="d", source="s", address="a", license="", body=b"", mime="").meta(source_sha256="")
    return Draft(document=Document(segments=(Text(text=text),), meta=meta))


def language(folder: Path) -> dict[str, Any]:
    from trivium.data.text.language import Identifier

    identifier = Identifier()
    return timed(read(folder / "pages.jsonl")[1], lambda texts: [identifier.best(text[:4000]) for text in texts])


def signer(engine: str) -> Stage:
    def sign(folder: Path) -> dict[str, Any]:
        from trivium.data.dedup.signature import sign_texts, spec

        made = spec(engine, permutations=PERMUTATIONS, seed=1, ngram=NGRAM)  # type: ignore[arg-type]

        def all_of(texts: list[str]) -> None:
            for start in range(0, len(texts), BATCH):
                sign_texts(texts[start : start + BATCH], made, min_words=20)

        return timed(read(folder / "planted.jsonl", None if engine == "rensa" else SAMPLE)[1], all_of)

    return sign


def parts(folder: Path) -> dict[str, Any]:
    """Where the time of a signature goes: each part runs over all texts by itself, in the batches of a build."""
    from trivium.data.dedup.shingles import ngrams, shingle
    from trivium.data.dedup.signature import sign_rows, sign_texts, spec
    from trivium.data.dedup.words import hash_words

    texts = read(folder / "planted.jsonl")[1]
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    made = spec("rensa", permutations=PERMUTATIONS, seed=1, ngram=NGRAM)
    sign_texts(batches[0], made, min_words=20)
    hashed, words = [shingle(batch, NGRAM) for batch in batches], [hash_words(batch) for batch in batches]
    watch = Watch()
    for batch in batches:
        hash_words(batch)
    watch.step("normalise, cut and hash words")
    for one in words:
        ngrams(one.hashes, NGRAM)
    watch.step("hash 5-grams")
    for row in hashed:
        sign_rows(row.hashes, row.offsets, made)
    watch.step("112 permutations (rensa)")
    steps = dict(watch.steps)
    for batch in batches:
        sign_texts(batch, made, min_words=20)
    watch.step("all")
    steps["cut at the texts' borders, pack"] = round(watch.steps["all"] - sum(steps.values()), 2)
    return watch.stop(texts) | {"seconds": watch.steps["all"], "steps": steps}


def _grams(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[at : at + NGRAM]) for at in range(len(words) - NGRAM + 1)]


def rensa_alone(folder: Path) -> dict[str, Any]:
    from rensa import RMinHash

    def one(text: str) -> None:
        made = RMinHash(num_perm=PERMUTATIONS, seed=1)
        made.update(_grams(text))
        made.digest()

    return timed(read(folder / "planted.jsonl", SAMPLE)[1], lambda texts: [one(text) for text in texts])


def datasketch_alone(folder: Path) -> dict[str, Any]:
    from datasketch import MinHash

    def one(text: str) -> None:
        made = MinHash(num_perm=PERMUTATIONS, seed=1)
        made.update_batch([gram.encode() for gram in _grams(text)])

    return timed(read(folder / "planted.jsonl", SAMPLE)[1], lambda texts: [one(text) for text in texts])


def deduper(bands: int, rows: int) -> Callable[[Path], dict[str, Any]]:
    def dedup(folder: Path) -> dict[str, Any]:
        from dedup_quality import Watched

        from trivium.data.shards import ShardSet, read_rejects
        from trivium.pipelines.beam import BeamOptions
        from trivium.pipelines.corpora.driver import build
        from trivium.pipelines.corpora.recipe import load_recipe
        from trivium.pipelines.corpora.shuffles.edges import decode_verified

        recipe, out = folder / f"planted-{bands}.yaml", folder / f"ours-{bands}"
        shutil.rmtree(out, ignore_errors=True)  # of a run that was stopped
        (folder / "none.txt").write_text(
            "blocked.example\n"
        )  # some stage must look at each record; this one costs least
        recipe.write_text(RECIPE.format(path="planted.jsonl", bands=bands, rows=rows))
        ids, texts = read(folder / "planted.jsonl")
        loaded, edges = load_recipe(recipe), list[bytes]()
        watch = Watch()
        with Watched(edges):
            build(loaded, folder, out, BeamOptions())
        found = watch.stop(texts)
        sizes = map(len, (folder / "planted.jsonl").read_bytes().splitlines(keepends=True))
        number, at = {}, 0
        for one, size in zip(ids, sizes, strict=True):
            number[f"planted.jsonl@{at}"], at = one, at + size
        shards = ShardSet.open(out)
        kept, drops = [shards.read(place)[0].meta for place in range(len(shards))], list(read_rejects(out))
        by_id = {one.source_id: number[one.address] for one in (*kept, *drops)}
        groups: dict[str, list[str]] = {}
        for one in (*kept, *drops):
            groups.setdefault(one.cluster, []).append(number[one.address])
        verified = [(by_id[larger], by_id[pair.beside]) for (larger, pair), _ in map(decode_verified, edges)]
        clusters = [group for group in groups.values() if len(group) > 1]
        return found | {"kept": [number[one.address] for one in kept], "clusters": clusters, "pairs": verified}

    return dedup


STAGES = {
    "extract": extract,
    "filters": filters,
    "language": language,
    "signatures (rensa)": signer("rensa"),
    "signatures (datasketch)": signer("datasketch"),
    "signatures, by part": parts,
    "rensa alone": rensa_alone,
    "datasketch alone": datasketch_alone,
    "near dedup": deduper(14, 8),
    "near dedup, our bands": deduper(16, 7),
}

if __name__ == "__main__":
    sys.exit(main(STAGES))
