"""K5: the first whole training step of `base` with an empty cache, judged from the report alone; and its page."""

import msgspec
import pytest

from trivium.kernels.bench import report
from trivium.kernels.bench.check import verdicts
from trivium.kernels.bench.page import page, step_lines, step_rows
from trivium.kernels.bench.report import ColdStep, Family, Gap, Limits, Report, Run, Step


def cold(seconds=10.0, again=0, compiled=40):
    return ColdStep(
        seconds=seconds, compiled=compiled, compile_s=8.0, slowest={"kda.prepare": 3.0}, again={"T5123": again}
    )


def step(preset="base", *, start=None, compiled=False, problem=""):
    return Step(
        preset=preset, rows="8192 tokens", tokens=8192, compiled=compiled, samples_ms=[900.0, 400.0, 200.0],
        flops=40_000_000_000_000, peak=1e15, peak_bytes=2**36, families={
            "kda": Family(ms=30.0, launches=90), "products": Family(ms=10.0, launches=110),
        }, idle_ms=50.0, gaps=7, gap_ms=40.0, largest=[Gap(ms=9.0, host="aten::item")], waits={"aten::item": 3},
        wait_ms=12.0, cold=start, problem=problem,
    )  # fmt: skip


def whole(*steps):
    run = Run(
        command="python bench/step.py", commit="abc", device="a GPU", versions={"torch": "2"},
        limits=Limits(copy_bytes_s=4e12, matmul_flop_s=7e14), steps=list(steps),
    )  # fmt: skip
    return Report(version=report.VERSION, runs=[run])


def states(found):
    return {v.level: v.state for v in verdicts(found) if v.target == "K5"}


@pytest.mark.parametrize(
    ("seconds", "again", "compiled", "must", "goal"),
    [
        (19.0, 0, 40, "pass", "pass"),
        (21.0, 0, 40, "pass", "FAIL"),
        (19.0, 1, 40, "pass", "FAIL"),  # another length compiled something
        (61.0, 0, 40, "FAIL", "FAIL"),
        (1.0, 0, 0, "FAIL", "FAIL"),  # no kernel ran, so nothing was measured
    ],
)
def test_the_first_step_of_base_is_judged(seconds, again, compiled, must, goal):
    found = whole(step("tiny", start=cold(1.0)), step(start=cold(seconds, again, compiled)))
    assert states(found) == {"must": must, "goal": goal}


def test_a_step_that_is_absent_is_missing_and_one_that_failed_fails():
    missing = {"must": "missing", "goal": "missing"}
    assert states(whole(step("tiny", start=cold()))) == missing
    assert states(whole(step())) == missing  # profiled with a warm cache
    assert states(whole(step(start=cold(), compiled=True))) == missing  # torch.compile's is another figure
    assert states(whole(step(problem="out of memory"))) == {"must": "FAIL", "goal": "FAIL"}


def test_a_step_comes_back_from_its_file_and_replaces_the_older_one(tmp_path):
    found, path = whole(step("tiny"), step(start=cold())), tmp_path / "b.json"
    report.write(path, found)
    assert report.read(path) == found
    newer = whole(msgspec.structs.replace(step(), samples_ms=[1.0])).runs[0]
    kept = found.with_run(newer)
    assert [[entry.preset for entry in run.steps] for run in kept.runs] == [["tiny"], ["base"]]
    assert kept.runs[1].steps[0].ms == 1.0


def test_the_page_tells_where_the_step_goes():
    shown = page(whole(step(start=cold(again=2))))
    assert "| kda | 30.00 | 75.0% | 90 |" in shown
    assert step_rows(step())[-1] == ("all", "40.00", "100.0%", "200")
    first, idle, gap, waits, start = step_lines(step(start=cold(again=2)))
    assert "400.0 ms, 20,480 tokens/s, MFU 10.0%" in first  # 4e13 of 1e15 in 0.4 s
    assert "idle 50.0 ms; 7 gaps" in idle
    assert gap == "gap of 9.00 ms: aten::item"
    assert "aten::item 3 (12.0 ms)" in waits
    assert start.endswith("compiled anew for T5123: 2")
    assert step_lines(step(problem="out of memory")) == ["no figure: out of memory"]
