"""Laws of rows: every answer is found again, evidence stands where it is said to, lengths and budgets hold."""

import re
from collections import Counter

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_rows import METER, draft_of, flat

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds import KINDS
from trivium.data.longcontext.kinds.base import HEADING, Room
from trivium.data.longcontext.layout import answer_text
from trivium.data.longcontext.pages import PICTURE_MARK, heading, page_of
from trivium.data.longcontext.row import Pool, RefusedError, RowRules, compose
from trivium.data.longcontext.verify import LongVerify
from trivium.data.longcontext.wording import fill, load_wording
from trivium.data.records import Text

LAWS = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SEEDS = st.integers(0, 2**32)


def problem(row) -> str:
    stage = LongVerify.Config().build()
    return stage._problem(draft_of(row))


@LAWS
@given(seed=SEEDS, tokens=st.integers(30_000, 90_000), questions=st.integers(1, 20), loss=st.booleans())
def test_every_answer_is_found_by_reading(make_row, seed, tokens, questions, loss):
    row = make_row(seed, RowRules(tokens=tokens, questions=questions, context_loss=loss, least=0.5))
    assert problem(row) == ""
    assert 0.5 * tokens <= row.layout.tokens <= tokens
    assert 1 <= len(row.tasks) <= questions


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_made_and_solved(make_row, kind):
    found = Counter()
    for seed in range(4):
        row = make_row(seed, RowRules(tokens=60_000, questions=4, tasks={kind: 1.0}, least=0.5))
        assert problem(row) == ""
        found.update(task.kind for task in row.tasks)
    assert set(found) == {kind}
    assert found[kind] >= 6


@LAWS
@given(seed=SEEDS)
def test_evidence_and_answers_stand_where_the_record_says(make_row, seed):
    row = make_row(seed, questions=14)
    text = flat(row)
    assert len(text) == row.layout.tokens == METER.document(draft_of(row).document)
    for task, evidence in zip(row.tasks, row.evidence, strict=True):
        assert evidence.task == task.kind
        assert text.startswith(answer_text(task.answer), evidence.answer)
        assert max(evidence.at) < evidence.answer
        forms = [shown(plant) for plant in task.plants if plant.evidence]
        for number, block in task.pages:
            page = row.pages[number]
            if block == HEADING:
                forms.append([heading(page, number + 1, frame) for frame in load_wording().frames])
            else:
                found = page.blocks[block]
                forms.append([found if isinstance(found, str) else PICTURE_MARK])
        assert len(evidence.at) == len(forms)
        for at in evidence.at:
            assert any(text.startswith(form, at) for some in forms for form in some)
        for some in forms:
            assert any(text.startswith(form, at) for at in evidence.at for form in some)


def shown(plant) -> list[str]:
    """How a statement may stand in a row: in a paragraph's place, as a note, or as an edit."""
    frames = load_wording().frames
    if plant.document:
        return [fill(frame.edit, step=plant.step, number=plant.document) + plant.text for frame in frames]
    return [plant.text, *(frame.note + plant.text for frame in frames)]


@LAWS
@given(seed=SEEDS)
def test_no_document_comes_twice_and_budgets_hold(make_row, seed):
    row = make_row(seed, patches=1_500)
    keys = [page.key for page in row.pages]
    assert len(set(keys)) == len(keys)
    assert row.layout.patches <= 1_500
    pictures = [s for s in row.layout.segments if not isinstance(s, Text)]
    assert row.layout.patches == sum(METER.fit(p.width, p.height).patches for p in pictures)
    assert {p.media for p in pictures} == set(row.layout.media)


@LAWS
@given(seed=SEEDS)
def test_the_same_seed_gives_the_same_row_and_another_another(make_row, seed):
    one, two, other = make_row(seed), make_row(seed), make_row(seed + 1)
    assert msgspec.json.encode(one.layout.segments) == msgspec.json.encode(two.layout.segments)
    assert one.layout.media == two.layout.media
    assert one.evidence == two.evidence
    assert one.layout.segments != other.layout.segments


def test_only_answers_are_targets_unless_the_recipe_wants_the_pages_too(make_row):
    row = make_row(5)
    texts = [s for s in row.layout.segments if isinstance(s, Text)]
    assert [s.text.strip(" \n") for s in texts if s.loss] == [task.answer for task in row.tasks]
    loud = make_row(5, context_loss=True)
    shown = "".join(s.text for s in loud.layout.segments if isinstance(s, Text) and s.loss)
    for page in loud.pages:
        for block in page.blocks:
            assert not isinstance(block, str) or block in shown
    for task in loud.tasks:
        assert task.question not in shown
        assert all(plant.text not in shown for plant in task.plants)


def test_what_is_planted_stands_nowhere_else(make_row):
    for seed in range(6):
        row = make_row(seed, questions=20)
        first = row.tasks[0].question
        statements = flat(row).partition(first)[0]
        assert statements, "no question in the row"
        pages = "\n".join(page.text for page in row.pages)
        for task in row.tasks:
            for plant in task.plants:
                if not plant.document:
                    assert plant.text not in pages
                    assert statements.count(plant.text) == 1
                    for name in re.findall(r"\d{6}|[A-Z]{3}\d{2}\b", plant.text):
                        assert name.lower() not in pages.lower()


def test_names_that_the_pages_hold_are_never_planted(pages):
    words = load_wording()
    few = msgspec.structs.replace(words, first_names=words.first_names[:8], last_names=words.last_names[:8])
    names = [f"{first} {last}" for first in few.first_names for last in few.last_names]
    text = "Visit " + ", ".join(names[:-1]).upper() + "."
    document = msgspec.structs.replace(pages[0][0], segments=(Text(text=text),))
    for seed in range(5):
        room = Room([page_of(document, {}, "all", METER)], few)
        assert room.entity(Dice(seed)) == names[-1]
        assert room.entity(Dice(seed)) is None


def test_evidence_is_spread_over_the_row(make_row):
    for seed in range(8):
        row = make_row(seed, questions=20)
        for evidence in row.evidence:
            if evidence.task in ("needles", "chain", "order"):
                assert evidence.at[-1] - evidence.at[0] > 0.2 * row.layout.tokens


def test_edits_come_in_their_order_after_their_document(make_row):
    made = 0
    for seed in range(6):
        row = make_row(seed, RowRules(tokens=60_000, questions=3, tasks={"edits": 1.0}, least=0.5))
        for task, evidence in zip(row.tasks, row.evidence, strict=True):
            text = flat(row)
            steps = [re.search(r"[Ee]dit (\d+) ", text[at : at + 60]) for at in evidence.at[1:]]
            assert [int(step[1]) for step in steps if step] == list(range(1, len(task.plants) + 1))
            made += 1
    assert made > 6


def test_pools_that_hold_too_little_are_refused(pages, drawings):
    rules = RowRules(tokens=100_000)
    pools = [Pool("few", 1.0, iter(drawings[:30]))]
    with pytest.raises(RefusedError, match="name more sets") as caught:
        compose(pools, rules, load_wording(), METER, Dice(1))
    assert caught.value.reason == "too_short"


def test_a_pool_that_runs_dry_is_made_up_for(pages, drawings):
    pools = [Pool("few", 0.9, iter(drawings[:5])), Pool("many", 0.1, iter(pages))]
    row = compose(pools, RowRules(tokens=60_000), load_wording(), METER, Dice(1))
    assert row.layout.tokens > 0.75 * 60_000


def test_near_duplicates_never_share_a_row(pages):
    first, media = pages[0]
    twin = msgspec.structs.replace(first.meta, source_id="other", cluster=first.meta.source_id)
    pair = [(first, media), (msgspec.structs.replace(first, meta=twin), media)]
    for records in (pair, pair[::-1]):
        pools = [Pool("p", 1.0, iter([*records, *pages[1:]]))]
        row = compose(pools, RowRules(tokens=120_000, longest=1.0), load_wording(), METER, Dice(2))
        assert len({"other", first.meta.source_id} & {page.key for page in row.pages}) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tasks": {"neelde": 1.0}}, "no kind 'neelde'"),
        ({"tasks": {"needle": 0.0}}, "no weight is above 0"),
        ({"aim": 0.5, "least": 0.6}, "would be refused"),
    ],
)
def test_wrong_rules_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        RowRules(tokens=65536, **fields)
