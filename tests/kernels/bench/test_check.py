"""Pass, fail and missing for each target, from the report alone."""

from pathlib import Path

import msgspec
import pytest

from trivium.errors import InputError
from trivium.kernels.bench import page, report, targets
from trivium.kernels.bench.__main__ import main
from trivium.kernels.bench.check import failed, verdicts
from trivium.kernels.bench.report import Accuracy, Cold, Figure, Limits, Report, Row, Run

ROOT = Path(__file__).resolve().parents[3]
SHAPE = targets.RATIOS[0].layout.name
OPERATORS = ("kda", "short_conv", "rms_norm")
ERRORS = {"o": 4e-3, "dq": 4e-3}


def figure(ms):
    return Figure(samples_ms=[ms * 3, ms, ms / 2], bytes=4_000_000_000, flops=0)  # the median is ms


def row(contestant, ms=1.0, *, peer=True, peak=100, layout=SHAPE, red=""):
    return Row(
        op="kda", layout=layout, contestant=contestant, peer=peer, path="x", errors=ERRORS, red=red,
        forward=None if red else figure(ms), both=None if red else figure(ms * 3), peak_bytes=None if red else peak,
    )  # fmt: skip


def run(rows=(), accuracy=(), cold=()):
    return Run(
        command="python -m x", commit="abc", device="a GPU", versions={"torch": "2", "fla-core": "0.6.0"},
        limits=Limits(copy_bytes_s=4e12, matmul_flop_s=7e14), rows=[*rows], accuracy=[*accuracy], cold=[*cold],
    )  # fmt: skip


def whole(*runs):
    return Report(version=report.VERSION, runs=list(runs))


def states(found, target, what=""):
    return {v.level: v.state for v in verdicts(found) if v.target == target and what in v.what}


def accurate(contestant, *, peer, case="T = 1", errors=ERRORS, problem="", causal=True, repeats=True):
    return Accuracy(
        op="kda", case=case, contestant=contestant, peer=peer, errors=errors, problem=problem, causal=causal,
        repeats=repeats,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "must", "goal"), [(1.0, "pass", "pass"), (1.7, "pass", "FAIL"), (1.8, "FAIL", "FAIL")]
)
def test_a_ratio_is_that_of_the_medians_to_the_fastest_peer(ours, must, goal):
    found = whole(run([row("trivium", ours, peer=False), row("slow", 9.0), row("fast", 2.4)]))
    assert states(found, "K1", SHAPE) == {"must": must, "goal": goal}
    assert failed(verdicts(found)) == (must == "FAIL")
    text = next(v.found for v in verdicts(found) if v.target == "K1" and v.what.endswith(SHAPE))
    assert text == f"{2.4 / ours:.2f}× ({ours:g} beside 2.4 ms, fast)"


def test_memory_is_compared_with_the_leanest_setting():
    rows = [row("trivium", peer=False, peak=60), row("fast", 1.0, peak=100), row("lean", 2.0, peak=80)]
    assert states(whole(run(rows)), "K3") == {"must": "pass", "goal": "FAIL"}
    assert states(whole(run([row("trivium", peer=False, peak=81), *rows[1:]])), "K3")["must"] == "FAIL"


def test_a_target_that_names_its_rival_looks_at_no_other():
    """Extra memory of the head's loss: peers that hold no sums in fp32 take less and do less."""
    layout, rivals = targets.HEAD.name, (row("lean", 1.0, peak=10), row(targets.FP32_SUMS, 2.0, peak=100))
    ours = row("trivium", peer=False, peak=90)
    rows = [msgspec.structs.replace(one, op="cross_entropy", layout=layout) for one in (ours, *rivals)]
    judged = [v for v in verdicts(whole(run(rows))) if v.what == f"cross_entropy peak, {layout}"]
    assert [v.state for v in judged] == ["pass", "pass"]
    assert "beside" in judged[0].found
    assert targets.FP32_SUMS in judged[0].found


def test_figures_of_two_processes_are_never_divided():
    apart = whole(run([row("trivium", peer=False)]), run([row("fla-core", 5.0)]))
    assert states(apart, "K1", SHAPE) == {"must": "missing", "goal": "missing"}
    assert not failed(verdicts(apart))


def test_what_is_not_measured_is_missing_and_what_is_wrong_fails():
    nothing = verdicts(whole())
    assert {v.target for v in nothing} == {f"K{number}" for number in range(1, 13)}
    assert {v.state for v in nothing} == {"missing"}
    ours_red = whole(run([row("trivium", peer=False, red="dA is 1 off"), row("fla-core", 5.0)]))
    assert states(ours_red, "K1", SHAPE) == {"must": "FAIL", "goal": "FAIL"}
    peer_red = whole(run([row("trivium", peer=False), row("fla-core", red="dk is not finite")]))
    (verdict, *_) = (v for v in verdicts(peer_red) if v.target == "K1" and v.what.endswith(SHAPE))
    assert (verdict.state, verdict.found) == ("missing", "fla-core: dk is not finite")


def test_first_calls_of_two_processes_are_not_added_up():
    entries = [Cold(op=op, layout="x", seconds=1.0, compiled=3, again={}) for op in OPERATORS]
    found = whole(run([row("trivium", peer=False)], cold=entries[1:])).with_run(run(cold=entries[:1]))
    assert [[entry.op for entry in part.cold] for part in found.runs] == [[], [OPERATORS[0]]]


@pytest.mark.parametrize(
    ("ours", "peer", "must"),
    [
        (ERRORS, {"o": 4e-3, "dq": 3.9e-3}, "pass"),  # within what rounding does by chance
        (ERRORS, {"o": 9e-3, "dq": 3e-3}, "FAIL"),  # better in one tensor is no excuse in another
        ({"o": 1e-7, "dq": 1e-7}, {"o": 0.0, "dq": 0.0}, "pass"),
    ],
)
def test_every_tensor_must_be_as_exact_as_the_peers(ours, peer, must):
    entries = [accurate("trivium", peer=False, errors=ours), accurate("fla-core", peer=True, errors=peer)]
    assert states(whole(run(accuracy=entries)), "K6") == {"must": must, "goal": "pass"}


def test_a_peer_that_fails_sets_no_bar_and_our_own_failure_is_one():
    broken = accurate("fla-core", peer=True, errors={}, problem="dk not finite")
    fine = whole(run(accuracy=[accurate("trivium", peer=False, causal=False), broken]))
    assert states(fine, "K6") == {"must": "pass", "goal": "FAIL"}
    bad = accurate("trivium", peer=False, errors={"o": None}, problem="o not finite")
    assert states(whole(run(accuracy=[bad, broken])), "K6")["must"] == "FAIL"
    assert states(whole(run(accuracy=[accurate("trivium", peer=False)])), "K6")["must"] == "missing"


def test_a_report_comes_back_from_its_file_and_is_judged_on_any_machine(tmp_path, capsys):
    found = whole(
        run([row("trivium", peer=False), row("fla-core", 1.1)], [accurate("trivium", peer=False, errors={"o": None})]),
        run(cold=[Cold(op="kda", layout="x", seconds=1.0, compiled=3, again={})]),
    )
    path, shown = tmp_path / "b.json", tmp_path / "b.md"
    report.write(path, found)
    assert report.read(path) == found
    assert len(path.read_text().splitlines()) < 40  # a line a measurement
    assert main(["--check", str(path), "--page", str(shown)]) == 1  # 1.1 times is less than 1.4
    assert "FAIL" in capsys.readouterr().out
    assert "| K1 | kda forward, " + SHAPE + " | must | ≥ 1.4× | 1.10× (1 beside 1.1 ms, fla-core) | FAIL |" in (
        shown.read_text().splitlines()
    )
    assert "1.000 (100%) 1.10×" in shown.read_text()
    report.write(path, whole(run([row("trivium", peer=False), row("fla-core", 3.0)])))
    assert main(["--check", str(path)]) == 1  # nothing is missed, and not all is measured
    assert not failed(verdicts(report.read(path)))
    assert "missing: K4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}", "no report of the kernels' table"), ('{"version": 9, "runs": []}', "version 9; this code reads 1")],
)
def test_a_file_that_is_no_report_is_refused(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        report.read(path)
    with pytest.raises(InputError, match="can't be read"):
        report.read(tmp_path / "absent.json")


def test_the_page_in_docs_is_made_of_the_report_in_docs():
    saved, shown = ROOT / "docs" / "benchmarks.json", ROOT / "docs" / "benchmarks.md"
    assert saved.exists() == shown.exists(), "make both: --json docs/benchmarks.json --page docs/benchmarks.md"
    if saved.exists():
        assert shown.read_text(encoding="utf-8") == page.page(report.read(saved)), "make it with --check … --page …"
