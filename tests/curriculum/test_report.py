"""What `check` measures and remarks on."""

import pytest

from trivium.curriculum.measure import measure
from trivium.curriculum.plan import Plan
from trivium.curriculum.report import report


def _plan(make_schedule, make_catalogue, tokens, **stage):
    base = {"context": 100, "rows": 4, "tokens": 20_000, "mixture": {"web": 1}}
    sizes, patches = zip(*tokens, strict=True)
    return Plan.open(make_schedule([base | stage], window=64), {"web": make_catalogue("web", sizes, patches)})


def test_all_windows_are_measured_when_they_are_few_and_a_sample_agrees(make_schedule, make_catalogue) -> None:
    plan = _plan(make_schedule, make_catalogue, [(n % 37 + 4, 0) for n in range(3000)])
    whole, some = measure(plan, 0), measure(plan, 0, pieces=300)
    assert len(whole.fills) == plan.stages[0].windows.count > 3 * len(some.fills)
    assert whole.tokens == sum(row.tokens for step, _ in plan.rows() for row in step.rows)
    assert whole.rows_a_step == [len(step.rows) for step, _ in plan.rows()]
    assert some.tokens / some.rows == pytest.approx(whole.tokens / whole.rows, rel=0.03)


def test_rows_that_fill_badly_are_told_with_the_key_to_turn(make_schedule, make_catalogue) -> None:
    badly = report(_plan(make_schedule, make_catalogue, [(60, 0)] * 50))
    (warning,) = [line for line in badly.warnings if "fill" in line]
    assert "documents fill rows to 60.0%, and fill is 0.996: steps have up to 7 rows rather than 4" in warning
    told = report(_plan(make_schedule, make_catalogue, [(60, 0)] * 50, fill=0.6))
    assert not [line for line in told.warnings if "fill" in line]
    assert told.stages[0].rows_most == told.stages[0].rows == 4


def test_pictures_that_wait_for_a_longer_stage_are_a_note_and_lost_ones_a_warning(
    make_schedule, make_catalogue
) -> None:
    documents = [(50, 0)] * 40 + [(150, 8)] * 3 + [(60, 900)] * 2
    facts = report(_plan(make_schedule, make_catalogue, documents))
    assert facts.notes == (
        "stage s0: 3 documents with pictures are longer than 100 tokens and wait for a longer stage, and there is none",
    )
    assert any("2 too_many_patches" in line for line in facts.warnings)
    (often,) = [line for line in facts.warnings if "max_epochs" in line]
    assert "documents come more than 4 times" in often
    assert "web 256 (" in often
