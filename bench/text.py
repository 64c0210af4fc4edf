"""Web text per second on one core: extraction, language, quality rules, signatures, with peers on the same files.

    python bench/text.py [--pages 200] [--json]

Real pages of examples/web (handbook and Python documentation). The floors that `make bench` holds are on our own path;
trafilatura and datasketch run on the same files for comparison and hold none.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from trivium.console import emit_json, note, out
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.signature import Engine, sign_rows, sign_texts, spec
from trivium.data.records import Document
from trivium.data.stage import Draft, Raw
from trivium.data.text.charset import decode_page
from trivium.data.text.extract import ExtractHtml
from trivium.data.text.language import Identifier
from trivium.data.text.rules import measure
from trivium.pipelines.corpora.sources import Place
from trivium.pipelines.corpora.warc import Warc

EXAMPLES = Path(__file__).parents[1] / "examples/web"
# Half of what two cores under load gave. Pages are of 18 kB on average, decoding, depth check and parsing included;
# language looks at up to 4,000 characters. `signed MB` is text to signature, the normaliser included.
FLOORS = {"extract": 170.0, "language": 260.0, "rules": 110.0, "shingles": 1_500.0, "rensa": 7_500.0, "signed MB": 30.0}


def pages(limit: int) -> list[Raw]:
    """The first `limit` pages of the sample archives."""
    found: list[Raw] = []
    for name in ("debian-handbook", "python"):
        source = Warc(name=name, path=str(EXAMPLES / f"{name}.warc.gz"), license="")
        for place in source.places(EXAMPLES):
            for item in source.split(place):
                if isinstance(item, Place):
                    found += [raw for raw in source.read(item, "bench", "web") if isinstance(raw, Raw)]
    return found[:limit]


def rate(count: int, work: Callable[[], object]) -> float:
    """Items a second of processor time, so that a neighbour's work changes it less than wall clock."""
    began = time.process_time()
    work()
    return count / max(1e-9, time.process_time() - began)


def extracted(raws: Sequence[Raw]) -> list[Document]:
    stage = ExtractHtml.Config().build()
    return [item.document for raw in raws for item in stage.process(raw) if isinstance(item, Draft)]


def by_trafilatura(raws: Sequence[Raw]) -> list[str | None]:
    import trafilatura

    return [trafilatura.extract(decode_page(raw.body, raw.mime)[0], deduplicate=False) for raw in raws]


def figures(limit: int) -> dict[str, float]:
    """Everything measured, per second."""
    raws = pages(limit)
    documents = extracted(raws[:3])  # the libraries are loaded before the clock starts
    found = {"extract": rate(len(raws), lambda: extracted(raws))}
    sample = raws[: min(40, len(raws))]
    try:
        by_trafilatura(sample[:1])
        found["trafilatura"] = rate(len(sample), lambda: by_trafilatura(sample))
    except ImportError as error:
        note(f"trafilatura is left out: {error}".splitlines()[0])
    texts = [document.text for document in extracted(raws)] or [document.text for document in documents]
    identifier = Identifier()
    found["language"] = rate(len(texts), lambda: [identifier.best(text[:4000]) for text in texts])
    found["rules"] = rate(len(texts), lambda: [measure(text) for text in texts])
    shingle(texts, 5)  # tables are filled before the clock starts
    found["shingles"] = rate(len(texts), lambda: shingle(texts, 5))
    hashed = shingle(texts, 5)
    engines: tuple[Engine, ...] = ("rensa", "datasketch")
    for engine in engines:
        made = spec(engine, permutations=112, seed=1, ngram=5)
        found[engine] = rate(len(texts), lambda made=made: sign_rows(hashed.hashes, hashed.offsets, made))
    made = spec("rensa", permutations=112, seed=1, ngram=5)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    found["signed MB"] = megabytes * rate(1, lambda: sign_texts(texts, made, min_words=20))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = figures(arguments.pages)
    if arguments.json:
        emit_json({name: {"per_second": round(value, 1), "floor": FLOORS.get(name)} for name, value in found.items()})
    else:
        table = Table(title="web text, one core", title_justify="left")
        table.add_column("step")
        for column in ("a second", "floor", ""):
            table.add_column(column, justify="right")
        for name, value in found.items():
            floor = FLOORS.get(name)
            verdict = "" if floor is None else "pass" if value >= floor else "FAIL"
            table.add_row(name, f"{value:,.1f}", "peer" if floor is None else f"{floor:,.0f}", verdict)
        out.print(table)
    return 0 if all(found[name] >= floor for name, floor in FLOORS.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
