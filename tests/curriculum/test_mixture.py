import pytest

from trivium.curriculum.line import WHOLE
from trivium.curriculum.mixture import vision_share
from trivium.curriculum.plan import Plan
from trivium.errors import ConfigError

BASE = {"context": 4096, "rows": 2, "tokens": 60_000}


@pytest.fixture(scope="module")
def corpora(make_catalogue):
    return {
        "web": make_catalogue("web", [100] * 400 + [500] * 60 + [3000] * 20),
        "svg": make_catalogue("svg", [200] * 300, [400] * 300),  # half of the tokens are picture tokens
    }


def _shares(make_schedule, sets, stage, **changes):
    plan = Plan.open(make_schedule([BASE | stage], **changes), sets)
    return plan, {line.pool.name: line.weight / WHOLE for line in plan.stages[0].lines}


def test_buckets_weigh_what_they_hold_times_their_factor(make_schedule, corpora) -> None:
    mixture = {"web": 3, "svg": 1}
    _, natural = _shares(make_schedule, corpora, {"mixture": mixture})
    assert natural["web/256"] == pytest.approx(0.75 * 40 / 130)
    assert natural["web/4096"] == pytest.approx(0.75 * 60 / 130)
    _, raised = _shares(make_schedule, corpora, {"mixture": mixture, "upsample": {"4096": 4}})
    assert raised["web/4096"] == pytest.approx(0.75 * 240 / 310)
    assert raised["svg/256"] == natural["svg/256"] == pytest.approx(0.25)


def test_weights_may_be_given_by_bucket(make_schedule, corpora) -> None:
    plan, shares = _shares(make_schedule, corpora, {"mixture": {"web": {"4096": 2, "256": 1}, "svg": 1}})
    assert shares == pytest.approx({"web/256": 0.25, "web/4096": 0.5, "svg/256": 0.25})
    assert sum(line.weight for line in plan.stages[0].lines) == WHOLE
    with pytest.raises(ConfigError, match="bucket '8192' of corpus 'web' has no training document"):
        _shares(make_schedule, corpora, {"mixture": {"web": {"8192": 1}}})


@pytest.mark.parametrize("wanted", [0.02, 0.125, 0.4])
def test_a_share_of_vision_is_reached(make_schedule, corpora, wanted: float) -> None:
    plan, shares = _shares(make_schedule, corpora, {"mixture": {"web": 3, "svg": 1}, "vision": wanted})
    assert vision_share(plan.stages[0].lines) == pytest.approx(wanted)
    assert shares["svg/256"] == pytest.approx(2 * wanted)
    rows = [row for step, _ in plan.rows() for row in step.rows]
    assert sum(row.patches for row in rows) / 4 / sum(row.tokens for row in rows) == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        ({"web": 3, "svg": 1}, r"0.5 of the tokens .* the mixture gives 0.125, .* \(svg\) alone would give 0.5"),
        ({"svg": 1}, "so the share can't be moved"),
        ({"web": 1}, r"pictures \(none\) alone would give 0"),
    ],
)
def test_a_share_of_vision_that_can_not_be_is_refused(make_schedule, corpora, mixture, message) -> None:
    with pytest.raises(ConfigError, match=message):
        _shares(make_schedule, corpora, {"mixture": mixture, "vision": 0.5})


def test_buckets_have_limits_of_their_own(make_schedule, corpora) -> None:
    stage = {"mixture": {"web": 1}, "upsample": {"4096": 8}, "tokens": 130_000}
    limits = {"web": {"path": "web", "max_epochs": 1, "bucket_epochs": {"4096": 2}}}
    plan, _ = _shares(make_schedule, corpora, stage, corpora=limits)
    assert plan.stages[0].taken("web/4096") > 60_000
    with pytest.raises(ConfigError, match=r"bucket 4096 1\.\d\d times and 1 is allowed .* more training tokens"):
        _shares(make_schedule, corpora, stage, corpora={"web": {"path": "web", "max_epochs": 1}})


def test_a_corpus_may_have_a_seed_of_its_own(make_schedule, corpora) -> None:
    stage = {"mixture": {"web": 3, "svg": 1}}
    plans = [
        _shares(make_schedule, corpora, stage, corpora={"web": {"path": "web", "seed": seed}, "svg": {"path": "svg"}})[
            0
        ]
        for seed in (1, 2)
    ]
    orders = [{name: pool.look_up(0, 0, 50)[0].tolist() for name, pool in plan.pools.items()} for plan in plans]
    assert orders[0]["svg/256"] == orders[1]["svg/256"]
    assert orders[0]["web/256"] != orders[1]["web/256"]
