"""What was cut inside texts comes from the stages' reports: shown with where a copy stays, never believed blindly."""

import json

import pytest
from gallery_sets import HOSTILE, make, parsed, written

from trivium.data.records import Text, source_id
from trivium.data.shards import FunnelStage, Manifest, write_set
from trivium.data.stage import Drop
from trivium.pipelines.gallery.passages import ONLY

KINDS = ("repeated_lines", "repeated_paragraphs", "substrings", "decontaminate")
STAYS = source_id("s", "stays")
FOUND = {
    "item": "held.jsonl:1",
    "held_out": "how many rolls does the baker sell",
    "source": "s",
    "address": "leak",
    "source_id": source_id("s", "leak"),
    "ngrams": [3, 4],
    "text": "how many pies does the baker sell",
}


def report(action: str) -> dict[str, dict]:
    line = {"pages": 1200, "scope": HOSTILE, "line": HOSTILE, "source": "s", "address": "a"}
    paragraph = {"copies": 3, "paragraph": "p", "kept_in": "s: gone since", "gone_from": "s: b", "source_id": "x" * 26}
    stretch = {"source": "s", "address": "c", "characters": 900, "text": "t" * 400, "before": "<b>", "after": HOSTILE}
    return {
        "repeated_lines": {"kind": "repeated_lines", "top": [line]},
        "repeated_paragraphs": {"kind": "repeated_paragraphs", "top": [paragraph]},
        "substrings": {"kind": "substrings", "longest": [{**stretch, "source_id": "d" * 26, "kept_in": STAYS[:12]}]},
        "decontaminate": {
            "kind": "decontaminate",
            "parameters": {"action": action},
            "sets": [{"name": "probes", "found": [FOUND]}],
        },
    }


@pytest.fixture
def folder(tmp_path):
    funnel = tuple(FunnelStage(name=kind, input=2, kept=2, dropped={}) for kind in KINDS)
    base = Manifest(corpus="c", domain="d", recipe="r", funnel=funnel)
    drop = Drop(source_id=FOUND["source_id"], source="s", address="leak", stage="decontaminate", reason="contaminated")
    write_set(tmp_path / "set", [make("stays", (Text(text="the text"),), {})], base, rejects={"decontaminate": [drop]})
    (tmp_path / "set/report").mkdir()
    return tmp_path / "set"


def shown(folder, facts):
    for name, told in facts.items():
        (folder / f"report/{name}.json").write_text(told if isinstance(told, str) else json.dumps(told))
    return written([folder], folder.parent / "p.html")


def test_cuts_name_what_went_why_and_where_a_copy_stays(folder):
    _, page, data = shown(folder, report("drop"))
    lines, paragraphs, stretches = data["cuts"]
    assert (lines["text"], lines["why"].partition(" of ")[0]) == (HOSTILE, "on 1,200 pages")
    assert (paragraphs["kept"], paragraphs["stays"], paragraphs["where"]) == ("", "s: gone since", "s: b")
    assert (stretches["kept"], stretches["more"], stretches["before"]) == (STAYS, 500, "<b>")
    (reject,) = data["rejects"]
    (held,) = reject["held"]
    marked = [[text for kind, text in held[side] if kind == ONLY] for side in ("ours", "theirs")]
    assert marked == [["pies"], ["rolls"]]
    assert {tag for tag, _ in parsed(page).tags}.isdisjoint({"img", "a", "b", "svg"})


def test_held_out_text_that_was_cut_stands_among_the_cuts(folder):
    _, _, data = shown(folder, report("cut"))
    assert [cut["kind"] for cut in data["cuts"]] == list(KINDS)
    assert data["rejects"][0]["held"] == []


def test_a_report_that_is_none_is_named_and_one_that_is_missing_is_not(folder):
    broken = {"repeated_lines": "{", "substrings": {"kind": "substrings", "longest": [{"text": 1}]}}
    facts, _, data = shown(folder, broken)
    assert data["cuts"] == []
    assert [one["reason"].partition(":")[0].rpartition("/")[2] for one in facts.damaged] == [
        "repeated_lines.json",
        "substrings.json",
    ]
