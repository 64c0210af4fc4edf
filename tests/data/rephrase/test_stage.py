"""The stage that cuts documents into excerpts: places, family, what is left out and why."""

import pytest

from trivium.data.records import Document, Image, Lineage, Meta, Rewrite, Step, Text, content_id
from trivium.data.rephrase.stage import Excerpts, drawn
from trivium.data.stage import Draft, Drop, Outcome

PROSE = "A sentence of prose that says something about rivers and lakes. " * 4


def draft(text: str, **meta) -> Draft:
    made = Meta(
        source_id="s" * 26,
        corpus="c",
        domain="d",
        source="books",
        address="a.txt",
        license="MIT",
        cluster="c" * 26,
        lineage=Lineage(source_sha256="00", steps=(Step(name="extract_text", version=1),)),
        **meta,
    )
    return Draft(document=Document(segments=(Text(text=text),), meta=made))


def run(item: Draft, **config) -> list[Outcome]:
    stage = Excerpts.Config(tokens=100, **config).build()
    stage.open()
    return list(stage.process(item))


def test_an_excerpt_says_where_it_was_cut_and_whose_family_it_is() -> None:
    text = f"{PROSE}\n\n{PROSE}\n\n{PROSE}"
    source = draft(text)
    made = run(source)
    assert len(made) == 3
    for number, one in enumerate(made):
        assert isinstance(one, Draft)
        meta = one.document.meta
        assert meta.address == f"a.txt#excerpt-{number:04d}"
        assert meta.rewrite is not None
        assert text[meta.rewrite.start : meta.rewrite.stop] == one.document.text == PROSE.strip()
        assert meta.rewrite.source == source.document.meta.source_id
        assert meta.family == "c" * 26, "the cluster of its source"
        assert meta.lineage.parents == (content_id(source.document.segments, {}),)
        assert [step.name for step in meta.lineage.steps] == ["extract_text", "excerpts"]
    assert len({one.document.meta.source_id for one in made}) == 3
    assert [one.document.meta.family for one in run(draft(PROSE, family="f" * 26))] == ["f" * 26]


CODE = "```\n" + "x = 1\n" * 80 + "```"


@pytest.mark.parametrize(
    ("text", "meta", "reasons"),
    [
        ("Too short.", {}, ["too_short"]),
        (f"{PROSE}\n\n{CODE}", {}, ["kept", "too_long"]),
        (f"Some prose here that is short.\n\n{CODE[:160]}\n```", {}, ["little_prose"]),
        (" \n ", {}, ["empty"]),
        (PROSE, {"rewrite": Rewrite(source="x", start=0, stop=1, style="textbook@1")}, ["made"]),
    ],
)
def test_what_is_left_out_has_its_reason(text: str, meta: dict, reasons: list[str]) -> None:
    made = run(draft(text, **meta))
    assert [one.reason if isinstance(one, Drop) else "kept" for one in made] == reasons


def test_pictures_are_no_text() -> None:
    item = draft(PROSE)
    picture = Image(media="i0.png", width=1, height=1, mime="image/png")
    document = Document(segments=(*item.document.segments, picture), meta=item.document.meta)
    made = run(Draft(document=document, media={"i0.png": b""}))
    assert [one.reason for one in made if isinstance(one, Drop)] == ["not_text"]


def test_a_share_is_drawn_by_hash_and_a_larger_one_holds_the_smaller() -> None:
    some = {n for n in range(1000) if drawn(f"key-{n}", 0.2, 3)}
    more = {n for n in range(1000) if drawn(f"key-{n}", 0.5, 3)}
    assert 150 < len(some) < 250
    assert some < more
    left = run(draft(PROSE), share=0.0001)
    assert [one.reason for one in left if isinstance(one, Drop)] == ["not_drawn"]
