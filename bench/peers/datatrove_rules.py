"""datatrove's published filters on a file of documents: run by bench/rules.py with the peers' own Python.

    PEER/bin/python bench/peers/datatrove_rules.py DOCUMENTS.jsonl RESULT.json [--words blanks|own]

`--words blanks` gives datatrove a word splitter that cuts at blanks, as ours does, so that what remains are differences
of the rules; `own` is its default (spaCy for English). Each filter runs alone over all documents.
"""

import argparse
import json
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--words", choices=("blanks", "own"), default="own")
    arguments = parser.parse_args()
    from datatrove.data import Document
    from datatrove.pipeline.filters import c4_filters, fineweb_quality_filter, gopher_quality_filter
    from datatrove.pipeline.filters import gopher_repetition_filter as repetition

    if arguments.words == "blanks":
        for module in (gopher_quality_filter, repetition, fineweb_quality_filter):
            module.split_into_words = lambda text, language: text.split()
    texts = [json.loads(line)["text"] for line in arguments.documents.read_text(encoding="utf-8").splitlines()]
    made = {
        "gopher_quality": gopher_quality_filter.GopherQualityFilter(),
        "gopher_repetition": repetition.GopherRepetitionFilter(),
        "fineweb_quality": fineweb_quality_filter.FineWebQualityFilter(),
        "c4_quality": c4_filters.C4QualityFilter(),
    }
    found = {}
    for name, peer in made.items():
        peer.filter(Document(text=texts[0], id="warm"))  # its models are loaded before the clock starts
        documents = [Document(text=text, id=str(place)) for place, text in enumerate(texts)]
        began = time.process_time()
        answers = [peer.filter(document) for document in documents]
        seconds = time.process_time() - began
        reasons = ["" if answer is True else answer[1] for answer in answers]
        found[name] = {"seconds": seconds, "reasons": reasons, "texts": [len(document.text) for document in documents]}
    scores = [_scores(text, repetition) for text in texts] if arguments.words == "blanks" else []
    arguments.result.write_text(json.dumps({"filters": found, "scores": scores}), encoding="utf-8")
    return 0


def _scores(text: str, module: object) -> dict[str, float]:
    """The figures that the repetition filter compares with its thresholds."""
    peer = module.GopherRepetitionFilter()
    words, size = text.split(), len(text)
    paragraphs = peer.paragraph_exp.split(text.strip())
    lines = peer._line_splitter.split(text.strip("\n"))
    repeated, characters = module.find_duplicates(paragraphs)
    found = {"duplicate_paragraphs": repeated / len(paragraphs), "duplicate_paragraph_characters": characters / size}
    repeated, characters = module.find_duplicates(lines)
    found |= {"duplicate_lines": repeated / len(lines)}
    found |= {"duplicate_line_characters": characters / len(text.replace("\n", ""))}
    for n, _ in peer.top_n_grams:
        grams = module.get_n_grams(words, n)
        found[f"top_{n}gram"] = module.find_top_duplicate(grams) / size if grams else 0.0
    for n, _ in peer.dup_n_grams:
        found[f"duplicate_{n}grams"] = module.find_all_duplicate(words, n) / size
    return found


if __name__ == "__main__":
    sys.exit(main())
