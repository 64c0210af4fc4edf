"""What was cut inside texts that stayed, and which held-out text a record held, as the stages' reports say.

Odd: the reports name the most frequent and the longest; a gallery shows those and draws no others. A set without its
report shows no cuts; a report that can't be read is named among what is damaged.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from trivium.data.shards import ShardSet
from trivium.data.shards.storage import read_file
from trivium.errors import ShardError, StorageError
from trivium.pipelines.gallery.passages import compared
from trivium.pipelines.gallery.record import LINE_LIMIT

KINDS = ("repeated_lines", "repeated_paragraphs", "substrings", "decontaminate")
MOST = 60  # of one stage
SHOWN = 600  # characters of one text
REPORT_BYTES = 32 << 20
PREFIX = 12  # characters of a source id by which a report names where a copy stays

Cut = dict[str, Any]
Held = dict[str, list[Cut]]  # by source_id


def read_cuts(shards: ShardSet, number: int, tell: Callable[[str], None]) -> tuple[list[Cut], Held]:
    """(What was cut, by stage; what held-out text each dropped record held) of set `number`."""
    names = [stage.name for stage in shards.manifest.funnel if stage.name.split("-")[0] in KINDS]
    cuts: list[Cut] = []
    held: Held = {}
    sources: dict[str, str] = {}
    for name in names:
        path = shards.folder / "report" / f"{name}.json"
        try:
            payload = read_file(path, REPORT_BYTES)
        except (ShardError, StorageError):
            continue  # a set need not have its report with it
        try:
            facts = msgspec.json.decode(payload)
            kind = facts["kind"]
            found = list(islice(READ[kind](facts), MOST))
            drops = kind == "decontaminate" and facts["parameters"]["action"] == "drop"
        except (msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
            tell(f"{path}: no report of a stage that cuts ({type(error).__name__}: {error}); what it cut is not shown")
            continue
        sources = sources or {str(source)[:PREFIX]: str(source) for source in shards.entries.source_id}
        for cut in found:
            if drops:
                held.setdefault(cut["source_id"], []).append(cut)
            else:
                kept = sources.get(cut["kept"][:PREFIX], "")
                cuts.append({**cut, "set": number, "stage": name, "kind": kind, "kept": kept})
    return cuts, held


def _lines(facts: Mapping[str, Any]) -> Iterator[Cut]:
    for said in facts["top"]:
        scope = said["scope"] or "the corpus"
        yield _cut(said["line"], f"on {said['pages']:,} pages of {scope}", f"{said['source']}: {said['address']}")


def _paragraphs(facts: Mapping[str, Any]) -> Iterator[Cut]:
    for said in facts["top"]:
        why, stays = f"{said['copies']:,} copies; one stays", said["kept_in"][:LINE_LIMIT]
        yield {
            **_cut(said["paragraph"], why, said.get("gone_from", ""), kept=said.get("source_id", "")),
            "stays": stays,
        }


def _stretches(facts: Mapping[str, Any]) -> Iterator[Cut]:
    for said in facts["longest"]:
        more: Cut = {key: said.get(key, "") for key in ("before", "after", "source_id")}
        more["more"] = max(0, said["characters"] - len(said["text"]))
        where = f"{said['source']}: {said['address']}"
        kept = said.get("kept_in", "")
        yield {**_cut(said["text"], f"{said['characters']:,} characters stand elsewhere", where, kept=kept), **more}


def _found(facts: Mapping[str, Any]) -> Iterator[Cut]:
    """What a record shares with a held-out item, both texts in pieces: here the words of both are what counts."""
    for of in facts["sets"]:
        for said in of["found"]:
            ours, theirs = compared(said["text"][:SHOWN], said["held_out"][:SHOWN], open_ends=True)
            hits, ngrams = said["ngrams"]
            why = f"{hits} of {ngrams} n-grams of {of['name']}, {said['item']}"
            where = f"{said['source']}: {said['address']}"
            cut = _cut(said["text"], why, where)
            yield {**cut, "source_id": said["source_id"], "ours": ours, "theirs": theirs}


READ: dict[str, Callable[[Mapping[str, Any]], Iterator[Cut]]] = {
    "repeated_lines": _lines,
    "repeated_paragraphs": _paragraphs,
    "substrings": _stretches,
    "decontaminate": _found,
}


def _cut(text: str, why: str, where: str, *, kept: str = "") -> Cut:
    return {
        "text": text[:SHOWN],
        "why": why[:LINE_LIMIT],
        "where": where[:LINE_LIMIT],
        "before": "",
        "after": "",
        "source_id": "",
        "kept": str(kept),
        "stays": "",
        "more": 0,
    }
