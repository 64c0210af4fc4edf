"""Our stages on the files that bench/text_peers.py made; and rensa and datasketch by themselves.

`signatures (LIBRARY)` are ours with that engine, normaliser and shingles included; `LIBRARY alone` is the library fed
by a plain Python loop over lower-case words, as its guide does.
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

from text_stage import Stage, clock, main, read, timed

from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Raw

PERMUTATIONS, NGRAM, BATCH = 112, 5, 256
RECIPE = """version: 1
corpus: planted
domain: bench
sources:
  - {{kind: jsonl, name: planted, path: {path}, license: CC0-1.0}}
stages:
  - {{kind: language, keep: []}}
  - {{kind: exact_dedup}}
  - {{kind: near_dedup, keep: false}}
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
    began = clock()
    for place in source.places(folder):
        for item in source.split(place):
            for raw in source.read(item, "c", "d") if isinstance(item, Place) else ():
                count += 1
                found = list(stage.process(raw)) if isinstance(raw, Raw) else []
                size += sum(len(one.document.text.encode()) for one in found if isinstance(one, Draft))
    return {"seconds": clock() - began, "documents": count, "bytes": size}


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

        return timed(read(folder / "planted.jsonl")[1], all_of)

    return sign


def _grams(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[at : at + NGRAM]) for at in range(len(words) - NGRAM + 1)]


def rensa_alone(folder: Path) -> dict[str, Any]:
    from rensa import RMinHash

    def one(text: str) -> None:
        made = RMinHash(num_perm=PERMUTATIONS, seed=1)
        made.update(_grams(text))
        made.digest()

    return timed(read(folder / "planted.jsonl")[1], lambda texts: [one(text) for text in texts])


def datasketch_alone(folder: Path) -> dict[str, Any]:
    from datasketch import MinHash

    def one(text: str) -> None:
        made = MinHash(num_perm=PERMUTATIONS, seed=1)
        made.update_batch([gram.encode() for gram in _grams(text)])

    return timed(read(folder / "planted.jsonl")[1], lambda texts: [one(text) for text in texts])


def dedup(folder: Path) -> dict[str, Any]:
    from trivium.data.shards import ShardSet
    from trivium.pipelines.beam import BeamOptions
    from trivium.pipelines.corpora.driver import build
    from trivium.pipelines.corpora.recipe import load_recipe

    recipe, out = folder / "planted.yaml", folder / "ours"
    recipe.write_text(RECIPE.format(path="planted.jsonl"))
    shutil.rmtree(out, ignore_errors=True)
    began = clock()
    build(load_recipe(recipe), folder, out, BeamOptions())
    seconds = clock() - began
    ids, texts = read(folder / "planted.jsonl")
    shards = ShardSet.open(out)
    kept = [shards.read(number)[0].meta.address for number in range(len(shards))]
    size = sum(len(text.encode()) for text in texts)
    return {"seconds": seconds, "documents": len(ids), "bytes": size, "kept": kept}


STAGES = {
    "extract": extract,
    "filters": filters,
    "language": language,
    "signatures (rensa)": signer("rensa"),
    "signatures (datasketch)": signer("datasketch"),
    "rensa alone": rensa_alone,
    "datasketch alone": datasketch_alone,
    "near dedup": dedup,
}

if __name__ == "__main__":
    sys.exit(main(STAGES))
