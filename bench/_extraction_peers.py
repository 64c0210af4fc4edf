"""Other extractors over a file of pages, in an environment of their own (bench/extraction.py). Imports nothing of ours.

peers/bin/python bench/_extraction_peers.py PAGES.json ANSWERS.json
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


def by_trafilatura(page: str) -> str:
    import trafilatura

    return trafilatura.extract(page, deduplicate=False, include_comments=False) or ""


def by_resiliparse(page: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    return extract_plain_text(HTMLTree.parse(page), preserve_formatting=True, main_content=True, alt_texts=False)


def by_readability(page: str) -> str:
    from readability import Document

    return _plain(Document(page).summary())


def by_justext(page: str) -> str:
    import justext

    words = justext.get_stoplist("English")
    found = justext.justext(page.encode(), words, encoding="utf-8")
    return "\n".join(paragraph.text for paragraph in found if not paragraph.is_boilerplate)


def by_goose(page: str) -> str:
    from goose3 import Goose

    return Goose().extract(raw_html=page).cleaned_text


def by_newspaper(page: str) -> str:
    import newspaper

    article = newspaper.Article("http://example.org/")
    article.download(input_html=page)
    article.parse()
    return article.text


def _plain(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    return extract_plain_text(HTMLTree.parse(html), preserve_formatting=False, alt_texts=False)


PEERS: dict[str, tuple[str, Callable[[str], str]]] = {
    "trafilatura": ("trafilatura", by_trafilatura),
    "readability": ("readability-lxml", by_readability),
    "resiliparse": ("resiliparse", by_resiliparse),
    "jusText": ("justext", by_justext),
    "goose3": ("goose3", by_goose),
    "newspaper4k": ("newspaper4k", by_newspaper),
}


def main() -> None:
    pages = json.loads(Path(sys.argv[1]).read_text())
    answers = {}
    for name, (package, extract) in PEERS.items():
        texts, failed = [], 0
        with contextlib.suppress(Exception):
            extract(pages[0])  # libraries are loaded before the clock starts
        began = time.process_time()
        for page in pages:
            try:
                texts.append(extract(page))
            except Exception:  # a peer's crash is an empty answer, counted
                texts.append("")
                failed += 1
        seconds = time.process_time() - began
        answers[name] = {"version": version(package), "texts": texts, "seconds": seconds, "failed": failed}
    Path(sys.argv[2]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
