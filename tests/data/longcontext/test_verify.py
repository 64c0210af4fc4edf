"""The reader of finished rows: what is wrong in a row is found, from the row alone."""

import re

import msgspec
import pytest
from long_rows import draft_of

from trivium.data.longcontext.row import RowRules
from trivium.data.longcontext.solve import AmbiguousError, answers
from trivium.data.longcontext.verify import LongVerify
from trivium.data.longcontext.wording import load_wording
from trivium.data.records import Text
from trivium.data.stage import Draft, Drop

WORDING = load_wording()


def outcome(draft: Draft, **config):
    (found,) = LongVerify.Config(**config).build().process(draft)
    return found


def edited(draft: Draft, change) -> Draft:
    """The draft with each text changed by `change(text, loss)`."""
    segments = tuple(
        Text(text=change(s.text, s.loss), loss=s.loss) if isinstance(s, Text) else s for s in draft.document.segments
    )
    return msgspec.structs.replace(draft, document=msgspec.structs.replace(draft.document, segments=segments))


def row_of(make_row, kind: str, seed: int = 1) -> tuple[Draft, list]:
    row = make_row(seed, RowRules(tokens=60_000, questions=2, tasks={kind: 1.0}, least=0.5))
    return draft_of(row), row.tasks


def test_a_row_that_is_right_is_kept_and_says_so(make_row):
    found = outcome(draft_of(make_row(1)))
    assert isinstance(found, Draft)
    assert [step.name for step in found.document.meta.lineage.steps] == ["long_verify"]


@pytest.mark.parametrize(
    "kind",
    ["needle", "needles", "chain", "edits", "find", "count", "order", "compare", "quote", "copy", "code_of_picture"],
)
def test_a_wrong_answer_is_an_error_that_says_what_is_right(make_row, kind):
    draft, tasks = row_of(make_row, kind)
    wrong = edited(draft, lambda text, loss: text.replace(tasks[0].answer, tasks[0].answer + "7") if loss else text)
    found = outcome(wrong)
    assert isinstance(found, Drop)
    assert (found.stage, found.reason, found.error) == ("long_verify", "wrong_answer", True)
    assert "is right" in found.detail


def test_a_second_fact_of_the_same_name_makes_a_needle_ambiguous(make_row):
    draft, tasks = row_of(make_row, "needle")
    (plant,) = (p for p in tasks[0].plants if p.evidence)
    other = re.sub(r"\d{6}", "100001", plant.text)
    twice = edited(draft, lambda text, loss: text.replace(plant.text, f"{plant.text}\n\n{other}"))
    with pytest.raises(AmbiguousError, match="2 facts"):
        answers(twice.document, twice.media, WORDING)
    assert "2 facts" in outcome(twice).detail


def test_a_fact_that_is_gone_is_missed(make_row):
    draft, tasks = row_of(make_row, "needle")
    (plant,) = (p for p in tasks[0].plants if p.evidence)
    assert "0 facts" in outcome(edited(draft, lambda text, loss: text.replace(plant.text, ""))).detail


def test_a_distractor_that_is_gone_changes_nothing(make_row):
    draft, tasks = row_of(make_row, "needle")
    for plant in (p for p in tasks[0].plants if not p.evidence):
        without = edited(draft, lambda text, loss, plant=plant: text.replace(plant.text, ""))
        assert isinstance(outcome(without), Draft)


@pytest.mark.parametrize("kind", ["chain", "edits", "needles"])
def test_any_piece_of_evidence_that_is_gone_is_missed(make_row, kind):
    draft, tasks = row_of(make_row, kind)
    for plant in (p for p in tasks[0].plants if p.evidence):
        without = edited(draft, lambda text, loss, plant=plant: text.replace(plant.text, "") if not loss else text)
        assert isinstance(outcome(without), Drop), plant.text


def test_a_register_set_twice_is_ambiguous(make_row):
    draft, tasks = row_of(make_row, "chain")
    root = next(p.text for p in tasks[0].plants if p.evidence and re.search(r"\d{6}", p.text))
    twice = edited(draft, lambda text, loss: text.replace(root, root + " " + root))
    assert "2 numbers" in outcome(twice).detail


def test_edits_out_of_order_are_missed(make_row):
    draft, tasks = row_of(make_row, "edits")
    number = tasks[0].plants[0].document
    later = edited(
        draft,
        lambda text, loss: re.sub(rf"([Ee]dit) 1 (of document|to \[){number}\b", r"\1 9 \g<2>" + str(number), text),
    )
    later = edited(
        later, lambda text, loss: re.sub(rf"([Ee]dit) 1 of document {number}\b", rf"\1 9 of document {number}", text)
    )
    assert isinstance(outcome(later), Drop)


def test_a_document_out_of_its_place_is_unreadable(make_row):
    draft = draft_of(make_row(3))
    heading = re.compile(r"(=== Document|<document|# \[)( ?)2\b")
    assert isinstance(outcome(edited(draft, lambda text, loss: heading.sub(r"\g<1>\g<2>4", text))), Drop)


def test_questions_that_can_not_be_read_are_missed(make_row):
    draft = draft_of(make_row(1))
    cut = msgspec.structs.replace(draft.document, segments=draft.document.segments[:-2])
    assert "questions can be read" in outcome(msgspec.structs.replace(draft, document=cut)).detail


def test_a_picture_of_another_drawing_is_seen(make_row, drawings):
    draft, _ = row_of(make_row, "code_of_picture")
    name = [s.media for s in draft.document.segments if not isinstance(s, Text)][-1]
    other = next(media["i0.png"] for _, media in drawings if media["i0.png"] not in draft.media.values())
    found = outcome(msgspec.structs.replace(draft, media={**draft.media, name: other}))
    assert isinstance(found, Drop)


def test_a_sample_is_chosen_by_source_id(make_row):
    draft = draft_of(make_row(1))
    assert outcome(draft, sample=0.0) is draft
    drafts = []
    for number in range(200):
        about = msgspec.structs.replace(draft.document.meta, source_id=f"{number:026d}")
        drafts.append(msgspec.structs.replace(draft.document, meta=about))
    stage = LongVerify.Config(sample=0.3).build()
    assert 35 < sum(stage._chosen(document) for document in drafts) < 85
