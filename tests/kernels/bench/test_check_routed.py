"""Pass, fail and missing for the experts' and the router's targets; every verdict is seen both ways."""

import json
from pathlib import Path

import msgspec
import pytest

from trivium.kernels.bench import page, report, targets
from trivium.kernels.bench.check import verdicts
from trivium.kernels.bench.launches import gathered
from trivium.kernels.bench.operators.routed import LATENT, LATENT_FEWER, PLAIN
from trivium.kernels.bench.report import Figure, Launches, Limits, Report, Row, Run, Waste

ROOT = Path(__file__).resolve().parents[3]
ROUTER = targets.ROUTER.shape
READING = 4 * ROUTER.tokens * ROUTER.experts / 4e12 * 1e3  # ms
SPARE = Waste(buffer=0.04, tiles=0.09, rows_a_tile=16, fullest=1.3)


def row(ours=True, *, op="moe", shape=PLAIN, ms=10.0, flops=0, peak=100, **counted):
    figure = Figure(samples_ms=[ms], bytes=4 * ROUTER.tokens * ROUTER.experts, flops=flops)
    return Row(
        op=op, layout=shape.name, contestant="trivium" if ours else "liger-kernel", peer=not ours, path="x",
        errors={"u": 1e-3}, forward=figure, both=figure, peak_bytes=peak, **counted,
    )  # fmt: skip


def whole(*rows):
    run = Run(
        command="x", commit="abc", device="a GPU", versions={}, rows=list(rows),
        limits=Limits(copy_bytes_s=4e12, matmul_flop_s=8e14),
    )  # fmt: skip
    return Report(version=report.VERSION, runs=[run])


def judged(what, *rows):
    """(state, found) by level of one target's line."""
    return {v.level: (v.state, v.found) for v in verdicts(whole(*rows)) if v.what == what}


def states(what, *rows):
    return {level: state for level, (state, _) in judged(what, *rows).items()}


@pytest.mark.parametrize(
    ("ours", "must", "goal"), [(10.0, "pass", "pass"), (14.0, "pass", "FAIL"), (15.0, "FAIL", "FAIL")]
)
def test_experts_are_as_many_times_faster_than_ligers(ours, must, goal):
    what = f"moe both, {PLAIN.name}"
    found = judged(what, row(ms=ours), row(False, ms=16.0))
    assert {level: state for level, (state, _) in found.items()} == {"must": must, "goal": goal}
    assert found["must"][1] == f"{16 / ours:.2f}× ({ours:g} beside 16 ms, liger-kernel)"
    assert states(what, row(ms=1.0)) == {"must": "missing", "goal": "missing"}


@pytest.mark.parametrize(("ours", "goal"), [(90, "pass"), (110, "FAIL")])
def test_memory_stands_beside_ligers_as_a_goal_alone(ours, goal):
    assert states(f"moe peak, {PLAIN.name}", row(peak=ours), row(False, peak=100)) == {"goal": goal}


@pytest.mark.parametrize("shape", [LATENT, LATENT_FEWER])
@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("host", {"waits": True, "waste": SPARE}),
        ("buffer", {"waits": False, "waste": msgspec.structs.replace(SPARE, buffer=0.06)}),
        ("tiles", {"waits": False, "waste": msgspec.structs.replace(SPARE, tiles=0.11)}),
    ],
)
def test_latent_experts_wait_for_nothing_and_waste_little(shape, word, wrong):
    what = f"moe {word}, {shape.name}"
    assert states(what, row(shape=shape, waits=False, waste=SPARE)) == {"must": "pass"}
    assert states(what, row(shape=shape, **wrong)) == {"must": "FAIL"}
    assert states(what, row(shape=shape)) == states(what) == {"must": "missing"}
    assert states(what, msgspec.structs.replace(row(shape=shape), red="u is 1 off")) == {"must": "FAIL"}


def test_the_share_of_the_product_rate_is_that_of_the_same_run():
    what = f"moe both, {LATENT.name}"
    assert judged(what, row(shape=LATENT, flops=4 * 10**12))["goal"] == ("pass", "50% (400 of 800 TFLOP/s)")
    assert states(what, row(shape=LATENT, flops=39 * 10**11)) == {"goal": "FAIL"}


def launched(own=1, others=4.0):
    seen = Launches(kernels={"_route": own, "at::native::fill": 3}, us={"_route": 30.0, "at::native::fill": others})
    return row(op="route", shape=ROUTER, launches={"forward": seen})


def test_the_router_is_one_kernel_beside_which_none_goes_over_the_logits():
    what = f"route launches, {ROUTER.name}"
    assert judged(what, launched())["must"] == ("pass", "1 of ours; 3 of PyTorch's, 4.0 µs (the logits: 29.4)")
    assert states(what, launched(own=2)) == states(what, launched(own=0)) == {"must": "FAIL"}
    assert states(what, launched(others=1e3 * READING)) == {"must": "FAIL"}
    assert states(what, row(op="route", shape=ROUTER)) == {"must": "missing"}


@pytest.mark.parametrize(("times", "goal"), [(1.19, "pass"), (1.21, "FAIL")])
def test_the_router_is_measured_in_readings_of_its_logits(times, goal):
    found = judged(f"route forward, {ROUTER.name}", row(op="route", shape=ROUTER, ms=times * READING))
    assert found["goal"][0] == goal
    assert found["goal"][1].startswith(f"{times:.2f}× ")


def test_kernels_are_counted_by_name_and_copies_are_none():
    events = [
        ("void at::native::(anonymous namespace)::fill<int, 4>(int*, long)", 1.5), ("_route", 2.0),
        ("void at::native::fill<float>(float*)", 1.0), ("void at::native::fill<int>(int*)", 1.0),
        ("Memcpy DtoH (Device -> Pageable)", 9.0), ("Memset (Device)", 9.0),
    ]  # fmt: skip
    found = gathered(events)
    assert found.kernels == {"at::native::fill": 3, "_route": 1}
    assert found.us == {"at::native::fill": 3.5, "_route": 2.0}
    assert found.count == 4


def test_what_was_counted_comes_back_from_a_file_and_stands_on_the_page(tmp_path):
    found = whole(
        row(shape=LATENT, waits=False, waste=SPARE, launches={"forward": gathered([("_a", 1.0)])}), row(False)
    )
    report.write(tmp_path / "b.json", found)
    assert report.read(tmp_path / "b.json") == found
    assert f"| {LATENT.name} | trivium | 1 |  | no | 4.0% | 9.0% of 16 | 1.30× |" in page.page(found).splitlines()
    assert "tile rows wasted" not in page.page(whole(row(False)))


def test_a_report_from_before_counts_is_read_with_its_names_of_shapes():
    """docs/benchmarks.json holds rows of the first runs: the targets find them by name."""
    path = ROOT / "docs" / "benchmarks.json"
    known = {row["layout"] for run in json.loads(path.read_text())["runs"] for row in run["rows"] if row["op"] == "kda"}
    assert {target.layout.name for target in targets.RATIOS if target.op == "kda"} <= known
    assert "missing" not in {v.state for v in verdicts(report.read(path)) if v.target in ("K1", "K2", "K3", "K4")}
