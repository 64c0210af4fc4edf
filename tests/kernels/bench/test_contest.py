"""Who gets a figure: a real run on the CPU, and contestants that are wrong in every way that matters."""

import math
import sys
import time
from dataclasses import replace

import pytest
import torch

from trivium.errors import UsageError
from trivium.kernels.bench import accuracy, cold, measure, page, report
from trivium.kernels.bench.__main__ import main
from trivium.kernels.bench.case import Contestant, Hard, Layout
from trivium.kernels.bench.operators import OPERATORS, chosen
from trivium.kernels.bench.operators.kda import KDA, _operands
from trivium.kernels.bench.operators.norms import GATED_NORM, RMS_NORM

CPU = torch.device("cpu")
SMALL = Layout(lengths=(17, 0, 5), heads=2, width=64)


def contestant(name, change, peer=False):
    """Ours with its first output changed by `change(output, operands)`."""
    ours = KDA.contestants(CPU)[0]

    def bind(layout, device):
        call = ours.bind(layout, device)

        def changed(*x):
            first, *others = call(*x)
            return change(first, x), *others

        return changed

    return Contestant(name=name, bind=bind, peer=peer)


def broken(y, x):
    raise RuntimeError("no such shape")


def test_every_row_of_a_run_on_the_cpu_is_measured_saved_and_shown(tmp_path, capsys):
    saved, shown = tmp_path / "b.json", tmp_path / "b.md"
    arguments = ["kda", "rms_norm", "--quick", "--device", "cpu", "--speed", "--json", str(saved), "--page", str(shown)]
    assert main(arguments) == 0
    found = report.read(saved)
    (run,) = found.runs
    assert run.command == " ".join(["python -m trivium.kernels.bench", *arguments])
    assert run.versions["torch"] == torch.__version__
    assert run.limits.copy_bytes_s > 0
    assert [(row.op, row.contestant, row.peer) for row in run.rows] == [
        (op, name, peer) for op in ("kda", "rms_norm") for name, peer in (("trivium", False), ("definition", True))
    ]
    for row in run.rows:
        assert not row.red
        assert max(row.errors.values()) < 1e-4
        assert len(row.forward.samples_ms) == len(row.both.samples_ms) == 6  # two rounds of three
        assert row.forward.bytes < row.both.bytes
    assert set(run.rows[0].errors) == {"o", "dq", "dk", "dv", "dgate", "dbeta", "dA", "dbias"}
    assert shown.read_text() == page.page(found)
    assert "×" in capsys.readouterr().out
    # Once more, one operator alone: its rows replace the old ones, the others stay with the run that made them.
    assert main(["rms_norm", "--quick", "--device", "cpu", "--speed", "--no-peers", "--json", str(saved)]) == 0
    assert [[row.op for row in run.rows] for run in report.read(saved).runs] == [["kda", "kda"], ["rms_norm"]]


def test_a_wrong_result_gets_no_figure():
    wrong = contestant("wrong", lambda y, x: y * 1.01)
    rows = measure.contest(
        KDA, SMALL, [*KDA.contestants(CPU), wrong, contestant("broken", broken, peer=True)], CPU, lambda f: [1.0], 1
    )
    assert [bool(row.red) for row in rows] == [False, False, True, True]
    assert rows[2].red.startswith("o is 1.0e-02 off")
    assert rows[3].red == "RuntimeError: no such shape"
    assert all(row.forward is None and row.both is None and row.peak_bytes is None for row in rows[2:])


def test_one_wrong_head_among_many_is_seen_when_it_is_not_finite():
    layout = replace(SMALL, heads=3)
    few = replace(KDA, oracle_heads=1)

    def poison(y, x):
        return torch.where(torch.arange(3)[:, None] == 2, torch.nan, y)

    (row,) = measure.contest(few, layout, [contestant("poison", poison)], CPU, lambda f: [1.0], 1)
    assert row.red == "o is not finite"
    assert row.errors["o"] is None


def test_short_rows_are_drawn_more_often():
    hard = [Hard(name="x", layout=Layout(lengths=(T,), heads=96), operands=_operands) for T in (1, 15, 63, 4096)]
    assert [accuracy.draws_of(case) for case in hard] == [64, 12, 4, 4]


def test_hard_cases_tell_a_leak_of_later_gates_noise_and_crashes(monkeypatch):
    monkeypatch.setattr(accuracy, "MOST", 3)
    hard = Hard(name="x", layout=SMALL, operands=_operands, positions=(3, 16))
    leak = contestant("leak", lambda y, x: y + x[3].mean(0) * 1e-7)
    noise = contestant("noise", lambda y, x: y + torch.rand(()) * 1e-6)
    found = accuracy.judge(KDA, hard, [*KDA.contestants(CPU), leak, noise, contestant("broken", broken)], CPU)
    assert [(entry.causal, entry.repeats) for entry in found] == [
        (True, True), (True, True), (False, True), (False, False), (None, None)
    ]  # fmt: skip
    assert max(found[0].errors.values()) < 1e-5
    assert found[-1].problem == "RuntimeError: no such shape"
    assert {entry.draws for entry in found} == {3}


def test_draws_are_one_entry_that_holds_their_mean_square_and_every_failure():
    def draw(error, *, causal=None, problem=""):
        return report.Accuracy(
            op="kda", case="x", contestant="c", peer=False, errors={"o": error, "dq": 1e-3}, problem=problem,
            causal=causal, repeats=True,
        )  # fmt: skip

    merged = accuracy._merged([draw(3e-3, causal=True), draw(4e-3, causal=False)])
    assert merged.errors == {"o": pytest.approx(math.sqrt(12.5e-6)), "dq": pytest.approx(1e-3)}
    assert (merged.causal, merged.repeats, merged.draws, merged.problem) == (False, True, 2, "")
    failed = accuracy._merged([draw(3e-3), draw(None, problem="o not finite")])
    assert (failed.errors["o"], failed.causal, failed.problem) == (None, None, "o not finite")


def test_hard_cases_look_at_every_head(monkeypatch):
    def last(y, x):
        return y + torch.where(torch.arange(3)[:, None] == 2, 0.5, 0.0)

    monkeypatch.setattr(accuracy, "MOST", 1)
    few = replace(KDA, oracle_heads=1)
    hard = Hard(name="x", layout=replace(SMALL, heads=3), operands=_operands)
    (entry,) = accuracy.judge(few, hard, [contestant("last head", last)], CPU)
    assert entry.errors["o"] > 1e-2


def test_the_first_call_is_timed_and_what_compiles_anew_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    layouts = tuple(Layout(lengths=(n,), heads=2, width=64) for n in (8, 9))
    ours = RMS_NORM.contestants(CPU)[0]

    def compiling(layout, device):
        """A compiler leaves a binary in a folder of its own, here one for each T."""
        folder = tmp_path / layout.name
        folder.mkdir()
        (folder / "kernel.cubin").touch()
        time.sleep(0.05)
        return ours.bind(layout, device)

    def ready(layout, device):
        """Nothing is left to compile, but it takes time that can be seen."""
        time.sleep(0.05)
        return ours.bind(layout, device)

    operators = [
        replace(RMS_NORM, cold=layouts, contestants=lambda device, bind=bind: [Contestant(name="x", bind=bind)])
        for bind in (compiling, ready)
    ]
    entries = list(cold._measure(operators, CPU))
    assert all(entry.seconds >= 0.04 for entry in entries)
    assert [(entry.compiled, entry.again) for entry in entries] == [
        (1, {layouts[1].name: 1}), (0, {layouts[1].name: 0})
    ]  # fmt: skip


def test_a_fresh_process_reports_all_first_calls_or_what_went_wrong(monkeypatch):
    entries = cold.first_calls([RMS_NORM, GATED_NORM], CPU)
    assert [(entry.op, entry.problem) for entry in entries] == [("rms_norm", ""), ("gated_norm", "")]
    assert all(entry.seconds > 0 and set(entry.again.values()) == {0} for entry in entries)
    monkeypatch.setattr(sys, "executable", "false")
    assert [entry.problem for entry in cold.first_calls([RMS_NORM, GATED_NORM], CPU)] == ["no message"] * 2


def test_an_unknown_operator_is_named_with_those_that_are(capsys):
    with pytest.raises(UsageError, match="no operator 'kdaa' in the table; there are: kda, short_conv"):
        chosen(["kdaa"])
    assert main(["kdaa"]) == 2
    assert "there are: kda" in capsys.readouterr().err
    assert [operator.name for operator in OPERATORS] == [operator.name for operator in chosen([])]
