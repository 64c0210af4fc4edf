"""The page and its facts: all of the build, nothing that a record could make it do, of a bounded size."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import hypothesis.strategies as st
import msgspec
from hypothesis import given, settings

from trivium.data.records import Document, Meta, Text
from trivium.data.shards import read_manifest, read_rejects
from trivium.data.stage import Drop
from trivium.pipelines.corpora.marks import Input
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.report.facts import Story, summarize
from trivium.pipelines.corpora.report.meter import (
    EXAMPLES,
    OTHER,
    ROWS,
    Member,
    Meter,
    Reading,
    total,
)
from trivium.pipelines.corpora.report.page import render

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\x1b[31m\u202eevil\x00"
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "main", "header", "h1", "h2", "h3", "p", "section", "div"}
ELEMENTS |= {"span", "details", "summary", "pre", "b", "i", "table", "tr", "th", "td", "figure", "svg", "line", "rect"}
ELEMENTS |= {"text", "footer"}


class Elements(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")


def facts_of(folder):
    return json.loads((folder / "report/report.json").read_text())


def test_the_facts_are_those_of_the_manifest_and_the_rejects(built):
    facts, (manifest, _) = facts_of(built), read_manifest(built)
    assert [(s["name"], s["in"], s["kept"]) for s in facts["stages"]] == [
        (s.name, s.input, s.kept) for s in manifest.funnel
    ]
    found = {s["name"]: {r["reason"]: r["count"] for r in s["reasons"]} for s in facts["stages"]}
    assert found == {s.name: s.dropped for s in manifest.funnel}
    rejects = list(read_rejects(built))
    for stage in facts["stages"]:
        for reason in stage["reasons"]:
            alike = [r for r in rejects if (r.stage, r.reason) == (stage["name"], reason["reason"])]
            assert sum(reason["sources"].values()) == len(alike)
            assert len(reason["examples"]) == min(EXAMPLES, len(alike))
            assert {e["address"] for e in reason["examples"]} <= {r.address for r in alike}
    for before, after in pairwise(facts["stages"]):
        assert after["bytes_in"] == before["bytes_out"] > 0
    written = sum(row["bytes"] for row in facts["languages"])
    assert facts["stages"][-1]["bytes_out"] == facts["totals"]["bytes"] == written
    assert facts["totals"]["records"] == manifest.records
    assert sum(row["records"] for row in facts["languages"]) == manifest.records
    assert {row["language"]: row["records"] for row in facts["languages"] if row["records"]} == manifest.languages
    assert sum(row["refused"] for row in facts["languages"]) == sum(1 for reject in rejects if reject.language)
    assert sum(source["items"] for source in facts["sources"]) == facts["totals"]["items"] == manifest.funnel[0].input


def test_histograms_count_what_was_measured_and_what_was_written(built):
    facts, (manifest, _) = facts_of(built), read_manifest(built)
    entered = {stage.name: stage.input for stage in manifest.funnel}
    assert {score["stage"] for score in facts["scores"]} == {"language", "heuristics"}
    for score in facts["scores"]:
        assert sum(score["counts"]["measured"]) == entered[score["stage"]]
        assert sum(score["counts"]["written"]) == manifest.records
    (words,) = (score for score in facts["scores"] if score["score"] == "words")
    assert words["limits"] == [{"min": 50, "max": 100000, "reason": "word_count"}]
    assert 50 in words["edges"]
    assert sum(facts["lengths"]["characters"]["counts"]["written"]) == manifest.records


def test_clusters_name_survivor_and_members(built):
    rejects = list(read_rejects(built))
    for dedup in facts_of(built)["dedup"]:
        gone = [reject for reject in rejects if reject.stage == dedup["stage"]]
        assert dedup["removed"] == len(gone) == sum((row["size"] - 1) * row["clusters"] for row in dedup["sizes"])
        for cluster in dedup["largest"]:
            lost = {reject.source_id for reject in gone if reject.survivor == cluster["survivor"]["source_id"]}
            assert {member["source_id"] for member in cluster["members"]} <= lost
            assert cluster["size"] == len(lost) + 1


def test_the_page_needs_nothing_but_itself(built):
    page = (built / "report/index.html").read_text()
    elements = Elements(page)
    assert elements.found <= ELEMENTS
    assert not {"src", "href", "onclick", "onload", "action"} & elements.attributes.keys()
    assert any("default-src 'none'; script-src 'none'" in value for value in elements.attributes["content"])
    assert not re.search(r"url\(|@import", page)
    assert "near_dedup" in page


def hostile_story() -> Story:
    meter = Meter()
    recipe = msgspec.convert(
        {
            "version": 1,
            "corpus": "hostile",
            "domain": "test",
            "sources": [{"kind": "html_folder", "name": "pages", "path": "p", "license": HOSTILE}],
            "stages": [{"kind": "extract_html"}, {"kind": "exact_dedup"}],
        },
        Recipe,
    )
    for number in range(8):
        meter.dropped(
            Drop(
                source_id=f"{number}",
                source=HOSTILE,
                address=HOSTILE * 3000,
                stage="extract_html",
                reason="crash",
                detail=HOSTILE * 3000,
                excerpt=HOSTILE,
                language=HOSTILE,
            )
        )
    member = Member(source_id="s", source=HOSTILE, address=HOSTILE * 3000, similarity=0.5, excerpt=HOSTILE)
    meter.grouped("exact_dedup", 3, member, [member, member])
    meta = Meta(
        source_id="s",
        corpus="c",
        domain="d",
        source=HOSTILE,
        address="",
        license="",
        language=HOSTILE,
        scores={HOSTILE: 1},
    )
    meter.written(Document(segments=(Text(text="text"),), meta=meta), 4)
    line = meter.take()
    return Story(
        recipe=recipe,
        counts={"read/in": 9, "read/kept": 9, "extract_html/in": 9, "extract_html/kept": 1},
        drops={("extract_html", "crash"): 8},
        volumes={"extract_html": 4},
        reading=total([line]),
        inputs={"pages": Input(files=1, bytes=2)},
        run={
            "command": HOSTILE,
            "seconds": 1.0,
            "items_per_second": 1.0,
            "bytes_per_second": 1.0,
            "resumed": 0,
            "memory": {"driver": 1, "workers": 0},
            "workers": 1,
            "mode": "in_memory",
            "machine": {"processor": HOSTILE, "cores": 1},
            "versions": {"trivium": "0"},
        },
    )


def test_a_hostile_record_stays_text():
    facts = summarize(hostile_story())
    page = render({**facts, "resolved": {}})
    assert '<a href="repeated_lines.json">' in render({**facts, "resolved": {}}, ["repeated_lines.json"])
    assert Elements(page).found <= ELEMENTS
    assert "<script" not in page.lower()
    assert "onerror" not in Elements(page).attributes
    assert "{{ 7 * 7 }}" in page
    assert not re.search("[\x00\x1b\u202e]", page)
    assert len(page) < 60_000
    json.loads(msgspec.json.encode(facts))


NAMES = st.integers(0, ROWS * 3).map(lambda number: f"n{number}")


@settings(max_examples=15)
@given(names=st.lists(NAMES, min_size=ROWS, max_size=ROWS * 4), data=st.data())
def test_readings_add_up_to_the_same_in_any_order_and_stay_small(names, data):
    def reading(part):
        meter = Meter()
        for name in part:
            meta = Meta(source_id=name, corpus="c", domain="d", source=name, address="", license="", language=name)
            meter.written(Document(segments=(Text(text="one two"),), meta=meta), 7)
            meter.dropped(Drop(source_id=name, source="s", address=name, stage="a", reason="b", language=name))
            meter.grouped("dedup", 2 + len(name), Member(source_id=name, source="s", address=name), [])
        return meter.take() or msgspec.json.encode(Reading())

    size = data.draw(st.integers(1, len(names)))
    whole = total([reading(names)])
    mixed = data.draw(st.permutations(names))
    parts = [reading(mixed[at : at + size]) for at in range(0, len(mixed), size)]
    found = total(parts)
    assert found == whole
    assert len(found.languages) <= ROWS + 1
    assert sum(amount.records for amount in found.languages.values()) == len(names)
    assert (OTHER in found.languages) == (len(set(names)) > ROWS)
    assert len(found.refusals["a"]["b"].examples) == EXAMPLES


def stage(name, came, kept, reasons=()):
    lost = [
        {"reason": reason, "count": count, "sources": {}, "examples": [], **more} for reason, count, more in reasons
    ]
    dropped = sum(one["count"] for one in lost)
    amounts = {"in": came, "kept": kept, "dropped": dropped, "bytes_in": 1, "bytes_out": 1, "reasons": lost}
    return {"name": name, "kind": name, **amounts}


def test_no_share_is_above_the_whole_where_one_item_makes_several(built):
    """Ten items make thirty documents, of which some go: percentages and bars are of what came, never more than all."""
    why = {"means": "looks odd", "help": "look again"}
    made = [stage("read", 10, 10), stage("draw", 10, 8, [("blank", 2, why)]), stage("pair_tasks", 8, 30)]
    made.append(stage("near_dedup", 30, 20, [("near_duplicate", 10, {})]))
    facts = facts_of(built)
    facts["totals"] |= {"items": 10, "records": 20}
    for stages, said in ((made, "from 8 of 10 items read"), (made[:2], "from 10 items read")):
        page = render({**facts, "stages": stages})
        assert said in page
        assert all(float(one) <= 100 for one in re.findall(r"([\d.]+)%", page))
        tracks = re.findall(
            r'class="kept" style="width: ([\d.]+)%"></span><span class="lost" style="width: ([\d.]+)%', page
        )
        assert len(tracks) == len(stages)
        assert all(float(kept) + float(lost) <= 100.001 for kept, lost in tracks)
        assert "Looks odd. What helps: look again." in page
