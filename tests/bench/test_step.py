"""The step's profile: who a kernel belongs to, what a gap is, the rows of the first and the other steps."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from trivium.kernels.bench.page import step_lines, step_rows
from trivium.model.presets import preset

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", name="step")
def fixture_step():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec = importlib.util.spec_from_file_location("step_bench", ROOT / "bench" / "step.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["step_bench"] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(ROOT / "bench"))
        for name in ("step_bench", "curves", "_step_trace", "_corpus", "_curve_facts", "_curve_plot"):
            sys.modules.pop(name, None)


def event(name, kind, start, took, thread=1, link=None):
    args = {} if link is None else {"correlation": link}
    return {"ph": "X", "name": name, "cat": kind, "ts": start, "dur": took, "tid": thread, "args": args}


def launched(name, link, host, device, took, kind="kernel"):
    return [event("cudaLaunchKernel", "cuda_runtime", host, 1, 1, link), event(name, kind, device, took, 7, link)]


def trace(step, *events):
    return {"traceEvents": [event(step._step_trace.STEP, "user_annotation", 0, 1000), *events]}


def test_a_kernel_belongs_to_the_autograd_function_around_its_launch(step):
    seen = step._step_trace.read(
        trace(
            step,
            event("TritonNorm", "cpu_op", 10, 20),
            *launched("_forward", 1, 12, 20, 30),
            event("autograd::engine::evaluate_function: TritonShortConvBackward", "cpu_op", 40, 20),
            event("TritonShortConvBackward", "cpu_op", 41, 18),
            *launched("_forward", 2, 44, 50, 40),
            event("aten::mm", "cpu_op", 70, 10),
            *launched("nvjet_tst_128x256", 3, 72, 90, 100),
            event("Optimizer.step#PerHeadMuon.step", "user_annotation", 100, 50),
            event("aten::bmm", "cpu_op", 110, 10),
            *launched("nvjet_tst_64x64", 4, 112, 190, 60),
            *launched("multi_tensor_apply_kernel", 5, 130, 250, 10),
            *launched("Memcpy HtoD", 6, 160, 260, 5, "gpu_memcpy"),
        )
    )
    found = {name: (family.ms, family.launches) for name, family in seen.families.items()}
    assert found == {
        "products": (0.1, 1), "newton_schulz": (0.06, 1), "short_conv": (0.04, 1), "norms": (0.03, 1),
        "optimizer": (0.01, 1), "copies": (0.005, 1),
    }  # fmt: skip
    assert next(iter(found)) == "products"  # the longest first


def test_gaps_are_what_no_stream_covers_and_say_what_the_host_did(step):
    seen = step._step_trace.read(
        trace(
            step,
            *launched("a", 1, 2, 5, 95),
            *launched("b", 2, 3, 50, 150),  # another stream, until 200
            *launched("d", 4, 4, 60, 10),  # a third, done long before
            event("aten::item", "cpu_op", 150, 350),
            event("cudaStreamSynchronize", "cuda_runtime", 160, 50),
            event("aten::pad", "cpu_op", 250, 230),
            *launched("c", 3, 490, 500, 496),
        )
    )
    assert (seen.idle, seen.gaps, seen.gap_ms) == (0.309, 1, 0.3)  # 5 before, 300 between, 4 behind
    assert [(gap.ms, gap.host) for gap in seen.largest] == [(0.3, "aten::pad")]
    assert (seen.waits, seen.wait_ms) == ({"aten::item": 1}, 0.05)


def test_kernels_of_other_steps_are_not_counted_and_a_late_one_is(step):
    late = launched("late", 1, 990, 1100, 10)
    seen = step._step_trace.read(trace(step, *late, *launched("after", 2, 1200, 1210, 10)))
    assert seen.families["elementwise"].launches == 1
    with pytest.raises(ValueError, match="the trace holds no"):
        step._step_trace.read({"traceEvents": late})


def test_every_autograd_function_of_the_kernels_has_its_family(step):
    pattern = re.compile(r"^class (\w+)\((?:torch\.)?autograd\.Function\)", re.M)
    folder = ROOT / "kernels"
    names = {name for path in folder.rglob("*.py") for name in pattern.findall(path.read_text(encoding="utf-8"))}
    assert len(names) > 15
    assert names <= set(step._step_trace.OWNERS)


@pytest.mark.parametrize("name", ["nano", "tiny", "base"])
def test_other_rows_differ_in_length_documents_and_pictures(step, name):
    first, others = step.given(step.TOKENS[name])
    config = preset(name)
    batches = [rows.batch(config) for rows in (first, *others)]
    assert batches[0].tokens == step.TOKENS[name]
    assert len({batch.tokens for batch in batches}) > 1
    assert len({batch.cu_seqlens.numel() for batch in batches}) > 2
    assert len({tuple(batch.grids_I3[0].tolist()) if len(batch.grids_I3) else () for batch in batches}) > 2
    assert [len(batch.grids_I3) for batch in batches] == [3, 3, 1, 0, 3]


@pytest.mark.slow
def test_a_step_on_a_cpu_names_its_operators_and_compiles_nothing(step, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    found = step.measured("nano", 192, 1, step.torch.device("cpu"), cold=True, compiled=False)
    operators = {"kda", "short_conv", "norms", "mla", "attn_res", "moe", "cross_entropy", "newton_schulz", "products"}
    assert operators <= set(found.families)
    assert all(family.ms > 0 and family.launches > 0 for family in found.families.values())
    assert found.ms > 0
    assert (found.idle_ms, found.mfu) == (None, None)
    assert found.cold is not None
    assert (found.cold.compiled, set(found.cold.again.values())) == (0, {0})
    assert len(step_rows(found)) == len(found.families) + 1
    assert "192 tokens" in step_lines(found)[0]
