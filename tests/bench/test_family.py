"""The family's runs: what counts as a spike, a dead expert, an even load; the schedules; the verdicts and the page."""

import importlib
import json
import math
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import yaml

from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.schedule import Schedule
from trivium.data.config import from_mapping
from trivium.model.presets import configure

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("_curve_plot", "_family_facts", "_family_gathered", "_family_jobs", "_family_page", "_family_pool", "family")


@pytest.fixture(scope="module", name="family")
def fixture_family():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        yield {name.removeprefix("_family_"): importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(ROOT / "bench"))
        for name in MODULES:
            sys.modules.pop(name, None)


def step_line(step, loss, *, idle=((), ()), load=(1.1, 1.2), tokens=70_000, lr=1.0):
    return {
        "kind": "step", "step": step, "lr": lr, "loss": {"total": loss, "text": loss, "image": loss, "mtp": loss},
        "grad_norm": 1.0, "max_logit": 3.0, "clipped_heads": 0, "tokens": {"text": tokens, "vision": 0},
        "experts": {"layers": ["layer 1", "mtp"], "idle": [list(one) for one in idle], "max_over_mean": list(load)},
        "time": {"step": 0.5, "data": 0.0},
    }  # fmt: skip


def gap(low):
    return {"mean": low + 0.02, "low": low, "high": low + 0.04, "records": 300}


def held_line(step, low):
    worth = {"gap": gap(low), "corpora": {"drawings": {"gap": gap(low)}}}
    return {"kind": "held_out", "step": step, "text": {"loss": 3.0}, "image": {"loss": 1.0}, "image_shuffled": worth}


def noisy(deviation, steps=800):
    drawn = np.random.default_rng(7).normal(0.0, deviation, steps)
    return [2.0 + 7.0 * math.exp(-at / 60) + float(drawn[at]) for at in range(steps)]


@pytest.mark.parametrize("deviation", [0.0, 0.05, 0.17, 0.4])
def test_the_noise_of_steps_and_the_fall_of_the_loss_are_no_spike(family, deviation):
    losses = noisy(deviation)
    assert family["facts"].spikes(losses, 40) == []
    assert family["facts"].spikes([*losses[:150], None, *losses[151:]], 40) == []  # a step without such a target


@pytest.mark.parametrize(
    ("nats", "steps"), [(0.9, 8), (0.9, 60), (2.5, 1)], ids=["a few steps", "many steps", "one step"]
)
def test_a_rise_of_the_loss_is_a_spike(family, nats, steps):
    losses = noisy(0.15)
    raised = [loss + nats * (400 <= at < 400 + steps) for at, loss in enumerate(losses)]
    found = family["facts"].spikes(raised, 40)
    assert found
    assert 400 < found[0] <= 403
    creeping = [loss + nats * min(1.0, max(0, at - 400) / 60) for at, loss in enumerate(losses)]
    assert family["facts"].spikes(creeping, 40)


def test_one_step_of_hard_rows_is_no_spike_and_the_warm_up_is_not_judged(family):
    losses = [2.0] * 300
    spikes = family["facts"].spikes
    assert spikes([*losses[:200], 2.9, 2.9, *losses[202:]], 20) == []
    assert spikes([*losses[:200], 2.9, 2.9, 2.9, *losses[203:]], 20) == [203, 204, 205]
    assert spikes([*losses[:200], 3.1, *losses[201:]], 20) == [201]
    assert spikes([2.0] * 60 + [9.0] * 60 + losses, 124) == []


def test_an_expert_is_dead_when_no_step_of_the_tail_used_it(family):
    dead = family["facts"].dead_experts
    lines = [step_line(step, 3.0, idle=((3, 9, step), (step % 2,))) for step in range(100)]
    assert dead(lines) == 2
    assert dead([*lines[:-1], step_line(100, 3.0, idle=((9,), (0, 1, 2)))]) == 1  # 3 was used once
    assert dead(lines[:99]) is None


def test_load_is_judged_behind_the_twentieth_step_at_enough_tokens(family):
    facts, judge = family["facts"], family["facts"].judge

    def verdict(late, tokens=70_000, balance="quantile"):
        lines = [step_line(step, 3.0, load=(9.0, 9.0) if step < 20 else late, tokens=tokens) for step in range(40)]
        found = facts.run_facts(lines, 40) | {"balance": balance}
        return judge({"load-x": found}, {"load-x": "load"})[0].verdict

    assert verdict((1.1, 1.19)) == "pass"
    assert verdict((1.0, 1.31)) == "FAIL"  # the worst layer
    assert verdict((1.2, 1.2)) == "FAIL"  # the mean
    assert verdict((1.1, 1.1), tokens=60_000) == "missing"
    assert verdict((5.0, 5.0), balance="sign") == "beside"


@pytest.mark.parametrize(
    ("losses", "steps", "low", "expected"),
    [
        ([3.0] * 2400, 2400, 0.12, ["pass", "pass", "pass", "pass"]),
        ([3.0] * 300, 2400, 0.09, ["missing", "pass", "pass", "FAIL"]),
        ([3.0] * 2397 + [3.6] * 3, 2400, 0.12, ["pass", "FAIL", "pass", "pass"]),
        ([3.0] * 1000 + [None] + [3.0] * 1399, 2400, 0.12, ["pass", "FAIL", "pass", "pass"]),
    ],
)
def test_a_run_is_judged_by_steps_spikes_experts_and_pictures(family, losses, steps, low, expected):
    lines = [step_line(at + 1, loss, lr=min(1.0, (at + 1) / 20)) for at, loss in enumerate(losses)]
    found = family["facts"].run_facts([*lines, held_line(len(losses), low)], steps)
    assert found["warmup"] == 20
    verdicts = family["facts"].judge({"tiny": found}, {"tiny": "run", "small": "run"})
    assert [verdict.verdict for verdict in verdicts] == [*expected, "missing"]


def test_a_switch_must_fall_and_stay_finite(family):
    facts = family["facts"]

    def verdict(losses, steps=100):
        found = facts.run_facts([step_line(at + 1, loss) for at, loss in enumerate(losses)], steps)
        return facts.judge({"s": found}, {"s": "switch"})[0].verdict

    falling = [6.0 - 0.03 * step for step in range(100)]
    assert verdict(falling) == "pass"
    assert verdict([6.0] * 100) == "FAIL"
    assert verdict([*falling[:50], None, *falling[51:]]) == "FAIL"
    assert verdict(falling[:30]) == "missing"


def test_speed_is_of_the_second_half(family):
    lines = [step_line(step, 3.0) for step in range(10)]
    for line in lines[:5]:
        line["time"]["step"] = 60.0
    found = family["facts"].speed(lines, flops_a_token=989_000_000)
    assert found["tokens_per_second"] == 140_000
    assert found["mfu"] == pytest.approx(0.14)


def test_every_job_has_the_steps_it_was_given_and_a_model_that_can_be_built(family):
    jobs = family["jobs"]
    made = [*jobs.main_runs(jobs.STEPS), *jobs.load_runs(), *jobs.switch_runs(), *jobs.trial_runs()]
    assert len({job.name for job in made}) == len(made)
    rates = {}
    for job in made:
        schedule = from_mapping(job.schedule(), Schedule, name=job.name)
        assert sum(stage.tokens // stage.batch for stage in schedule.stages) == job.steps
        changes = [c.removeprefix("model.") for c in job.changes if c.startswith("model.backbone.")]
        config = configure({"preset": job.preset}, name=job.name, overrides=changes)
        if job.kind in ("load", "trial"):
            assert config.backbone.moe.experts == 256
            assert schedule.stages[0].batch >= 65536
            rates[job.name] = learning_rate(19, job.steps, schedule.lr)  # of the last step before load is judged
            assert schedule.window == (job.window or 40)
    assert (rates["load-tiny"], rates["trial-steep-half"]) == (pytest.approx(4e-6), pytest.approx(8e-4))
    assert (rates["trial-slow"], rates["trial-2e-4"]) == (pytest.approx(4e-5), pytest.approx(2e-4))
    short = made[0].shortened(700)
    assert sum(s.tokens // s.batch for s in from_mapping(short.schedule(), Schedule, name="s").stages) == 700


def test_a_run_that_would_be_late_gets_the_steps_that_fit(family):
    fitting = family["pool"].fitting
    assert fitting(left=900, rate=0.1, seconds=100, start_up=20) is None  # 90 s of 100
    assert fitting(left=2000, rate=0.1, seconds=100, start_up=20) == 700
    assert fitting(left=2000, rate=1.0, seconds=30, start_up=40) == 0


def test_a_run_is_over_when_its_last_evaluation_stands_too(family, tmp_path):
    jobs, pool = family["jobs"], family["pool"].Pool(tmp_path, tmp_path, [], 1, print)
    run, switch = (jobs.Job(name=kind, kind=kind, preset="nano", steps=3) for kind in ("run", "switch"))
    for job in (run, switch):
        folder = tmp_path / "runs" / job.name
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("".join(json.dumps(step_line(at, 3.0)) + "\n" for at in (1, 2, 3)))
    assert pool._complete(switch)
    for told, expected in ((None, False), ({"complete": False}, False), ({"complete": True}, True)):
        if told is not None:
            (tmp_path / "runs" / "run" / "report.json").write_text(json.dumps(told))
        assert pool._complete(run) == expected


def test_jobs_share_a_gpu_by_slots_and_memory(family, tmp_path):
    jobs, module = family["jobs"], family["pool"]
    pool = module.Pool(tmp_path, tmp_path, ["0", "1"], 2, print)

    def job(name, memory, place=None):
        return jobs.Job(name=name, kind="run", preset="nano", steps=1, memory=memory, place=place)

    def begin(following):
        pool.running.append(module.Running(following[0], following[1], None, 0.0))
        return following[0].name, following[1]

    large, other, light = job("large", 0.6, 0), job("other", 0.5, 0), job("light", 0.1)
    assert begin(pool._next([large, other, light])) == ("large", "0")
    assert begin(pool._next([other, light])) == ("light", "1")  # not beside `large`, which leaves too little
    assert pool._next([other]) is None
    assert begin(pool._next([job("small", 0.4, 2)])) == ("small", "0")  # places go round
    assert pool._next([job("third", 0.0, 0)]) is None  # no slot


def test_processes_that_train_see_this_code_first_and_what_was_given(family, monkeypatch):
    for given, expected in ((None, [ROOT]), ("/a:/b", [ROOT, Path("/a"), Path("/b")])):
        monkeypatch.delenv("PYTHONPATH", raising=False)
        if given:
            monkeypatch.setenv("PYTHONPATH", given)
        assert [Path(part) for part in family["pool"].surroundings()["PYTHONPATH"].split(":")] == expected


def packed(family, folder, steps):
    """An archive of a run, a load test and a switch of so many steps each."""
    jobs, pool = family["jobs"], family["pool"]
    work = folder / f"work-{steps}"
    known = {}
    for job, lines in (
        (jobs.Job(name="tiny", kind="run", preset="tiny", steps=120), [held_line(0, 0.0), held_line(120, 0.2)]),
        (jobs.Job(name="load-tiny", kind="load", preset="tiny", steps=120), []),
        (jobs.Job(name="switch-none", kind="switch", preset="nano", steps=120), []),
    ):
        made = work / "runs" / job.name
        made.mkdir(parents=True)
        told = [step_line(at + 1, 6.0 - at / 50) for at in range(steps)]
        (made / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*told, *lines]))
        start = {"gpu": "0", "seconds": 9.0, "exit": 0, "beside": 1.0, "left": False}
        known[job.name] = {"job": json.loads(jobs.msgspec.json.encode(job)), "command": ["x"], "starts": [start]}
        log = work / "logs" / f"{job.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text("said\n")
    (work / "runs" / "tiny" / "checkpoints").mkdir()
    facts = {"command": f"c {steps}", "commit": "abc", "device": "d", "versions": {}, "seconds": 1.0}
    file = folder / f"{steps}.tar.gz"
    pool.pack(work, file, facts | {"wanted": {"small": "run"}, "jobs": known})
    return file


def written(family, archives, before, out):
    """The verdicts on what was gathered, and the page."""
    gathered = family["gathered"].Gathered(archives, before)
    found = gathered.facts()
    verdicts = family["facts"].judge(found, gathered.kinds())
    family["page"].write(out, gathered, found, verdicts, "Where the data came from.")
    return verdicts, (out / "index.md").read_text()


def test_results_are_written_from_archives_and_judged_again(family, tmp_path):
    file, out = packed(family, tmp_path, 120), tmp_path / "out"
    with tarfile.open(file) as archive:
        assert not [name for name in archive.getnames() if "checkpoints" in name]
    verdicts, text = written(family, [file], None, out)
    names = {path.name for path in out.iterdir()}
    assert names == {"results.json", "index.md", "curves", "runs.svg", "health.svg", "load.svg", "switches.svg"}
    assert "Where the data came from." in text
    assert "0.220 (0.200 to 0.240)" in text
    assert len((out / "curves" / "tiny.csv").read_text().splitlines()) == 121
    again = json.loads((out / "results.json").read_text())
    assert family["facts"].judge(again["runs"], again["wanted"]) == verdicts
    assert [v.verdict for v in verdicts if v.what == "small"] == ["missing"]


def test_later_archives_come_beside_what_stands_and_replace_only_shorter_runs(family, tmp_path):
    out = tmp_path / "out"
    verdicts, text = written(family, [packed(family, tmp_path, 120)], None, out)
    assert written(family, [], out, tmp_path / "same") == (verdicts, text)  # nothing new: every figure as before
    pages = [(folder / "load.svg").read_text() for folder in (out, tmp_path / "same")]
    assert pages[0] == pages[1]
    assert written(family, [tmp_path / "120.tar.gz"], out, tmp_path / "twice")[1] == text
    for steps, kept in ((100, 120), (130, 130)):
        _, text = written(family, [packed(family, tmp_path, steps)], out, out)
        assert f"`c {steps}`" in text
        assert json.loads((out / "results.json").read_text())["runs"]["tiny"]["steps"] == kept
        assert len((out / "curves" / "tiny.csv").read_text().splitlines()) == kept + 1


def test_the_run_file_reads(family):
    raw = yaml.safe_load((ROOT / family["jobs"].RUN).read_text())
    assert (ROOT / family["jobs"].RUN).parent.joinpath(raw["schedule"]).resolve() == ROOT / family["jobs"].SCHEDULE
