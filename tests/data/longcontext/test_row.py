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
from trivium.data.longcontext.row import Pool, RefusedError, RowRules, compose
from trivium.data.longcontext.verify import LongVerify
from trivium.data.longcontext.wording import load_wording
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
        assert text[evidence.answer :].lstrip(" \n").startswith(task.answer)
        assert max(evidence.at) < evidence.answer
        assert list(evidence.at) == sorted(evidence.at)
        seen = [text[at : at + 2000] for at in evidence.at]
        if task.kind == "needle":
            assert task.answer in seen[0][:200]
        elif task.kind == "needles":
            for value, found in zip(task.answer.split(", "), seen, strict=True):
                assert value in found[:200]
        elif task.kind in ("copy", "quote"):
            wanted = task.answer.partition(": ")[2] if task.kind == "quote" else task.answer
            assert wanted in text[evidence.at[0] : evidence.answer]
        elif task.kind in ("order", "compare", "count"):
            assert len(set(evidence.at)) == len(evidence.at)
        elif task.kind == "code_of_picture":
            assert seen[0].startswith(task.answer.split("\n")[1])


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
        statements = flat(row).rpartition("Question")[0]
        pages = "\n".join(page.text for page in row.pages)
        for task in row.tasks:
            for plant in task.plants:
                if not plant.document:
                    assert plant.text not in pages
                    assert statements.count(plant.text) == 1
                    for name in re.findall(r"\d{6}|[A-Z]{3}\d{2}\b", plant.text):
                        assert name.lower() not in pages.lower()


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
    records = [(first, media), (msgspec.structs.replace(first, meta=twin), media), *pages[1:]]
    row = compose([Pool("p", 1.0, iter(records))], RowRules(tokens=60_000), load_wording(), METER, Dice(2))
    assert not {"other", first.meta.source_id} <= {page.key for page in row.pages}


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
