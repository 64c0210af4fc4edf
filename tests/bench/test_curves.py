"""The training comparison: the same rows for both paths, who took which path, and the two rules."""

import importlib.util
import json
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from trivium.kernels.bench.report import versions
from trivium.model.batch import NO_TARGET
from trivium.model.presets import dense, preset
from trivium.model.sizes import measure

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")


@pytest.fixture(scope="module", name="curves")
def fixture_curves():
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec = importlib.util.spec_from_file_location("curves", ROOT / "bench" / "curves.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.facts = sys.modules["_curve_facts"]
        yield module
    finally:
        sys.path.remove(str(ROOT / "bench"))
        for name in ("_corpus", "_curve_facts", "_curve_plot"):
            sys.modules.pop(name, None)


def test_rows_are_the_same_for_the_same_seed_full_and_real_text(curves):
    corpus = curves._corpus
    documents = corpus.texts(ROOT / "docs" / "..")[:12]
    words = corpus.Words(documents, 600)
    ids = [words.encode(text) for text in documents]
    spelled = {place: word.encode() for word, place in words.ids.items()} | {b: bytes([b]) for b in range(256)}
    assert b"".join(spelled[token] for token in ids[3].tolist()).decode() == documents[3]
    assert max(int(document.max()) for document in ids) < 600 - corpus.SPECIALS
    rows, again = (list(islice(corpus.batches(ids, 512, 599, seed=1), 30)) for _ in range(2))
    assert all(torch.equal(a.tokens_T, b.tokens_T) for a, b in zip(rows, again, strict=True))
    assert np.mean([row.tokens for row in rows]) > 0.9 * 512
    assert max(row.tokens for row in rows) <= 512
    assert any(len(row.cu_seqlens) > 3 for row in rows)
    assert all((row.targets_T != NO_TARGET).sum() >= row.tokens - (len(row.cu_seqlens) - 1) for row in rows)


def test_dense_leaves_no_expert_and_keeps_the_rest():
    config = dense(preset("nano"))
    assert not config.build(device="meta").balances()
    assert preset("nano").build(device="meta").balances()
    sizes, experts = measure(config, (1024,)), measure(preset("nano"), (1024,))
    assert {layer.channels for layer in sizes.layers} == {"dense"}
    assert sizes.parameters.parts["kda"] == experts.parameters.parts["kda"]
    # Of the MTP layer every parameter but its vectors makes two operations a token, six in training.
    mtp = sizes.flops[0].training // 3 - sizes.flops[0].forward
    assert mtp > 2 * sizes.parameters.parts["mtp"] + 2 * sizes.parameters.parts["head"] - 10_000


def test_the_rule_without_experts_holds_for_each_of_the_first_hundred_steps(curves):
    a = [5.0 - 0.01 * step for step in range(120)]
    near = [loss + (0.0049 if step < 100 else 1.0) for step, loss in enumerate(a)]
    far = [loss + (0.0051 if step == 99 else 0.0) for step, loss in enumerate(a)]
    assert curves.judge("nano", False, a, near, {}).verdict == "pass"
    assert curves.judge("nano", False, a, far, {}).verdict == "FAIL"
    assert curves.judge("nano", False, a[:99], near[:99], {}).verdict == "missing"


def test_the_rule_with_experts_holds_for_the_mean_of_the_last_fifty(curves):
    a = [5.0] * 500
    noisy = [5.0 + (0.3 if step % 2 else -0.3) for step in range(500)]  # single steps may differ
    late = [5.0] * 450 + [5.011] * 50
    assert curves.judge("nano", True, a, noisy, {}).verdict == "pass"
    assert curves.judge("nano", True, a, late, {}).verdict == "FAIL"
    assert curves.judge("nano", True, a, late[:480], {}).verdict == "missing"


def test_the_flip_rate_counts_rows_whose_sets_differ(curves):
    a, b = torch.tensor([[0, 1], [1, 2], [3, 4], [5, 6]]), torch.tensor([[0, 1], [1, 3], [3, 4], [5, 6]])
    assert curves.flip_rates({0: a, 50: a}, {0: a, 50: b, 100: b}) == {"0": 0.0, "50": 0.25}


def test_the_floor_is_the_references_distance_from_itself_and_decides_nothing(curves):
    a, b, other = [5.0] * 100, [5.001] * 100, [5.0] * 99 + [5.1]
    found = curves.judge("nano", False, a, b, {}, other)
    assert (found.verdict, found.found, found.median) == ("pass", pytest.approx(0.001), pytest.approx(0.001))
    assert found.floor == pytest.approx(0.099)
    assert curves.judge("nano", False, a, other, {}, other).verdict == "FAIL"


def test_documents_in_reverse_are_the_same_documents(curves):
    batch = curves._corpus.collate(
        [curves._corpus.Sample(np.arange(start, start + 5), np.ones(5, bool), next_id=99) for start in (0, 10, 20)], 300
    )
    back = curves.reverse(batch)
    assert back.tokens_T.tolist() == [*range(20, 25), *range(10, 15), *range(5)]
    assert back.targets_T.tolist() == [21, 22, 23, 24, 99, 11, 12, 13, 14, 99, 1, 2, 3, 4, 99]
    assert back.cu_seqlens.tolist() == [0, 5, 10, 15]


def test_an_operator_on_another_path_than_asked_for_is_named(curves):
    gpu = torch.device("cuda")
    good = {f"{operator}: Triton" for operator in curves.TRITON}
    assert not curves.check_paths(good, "triton", gpu)
    assert curves.check_paths(good | {"kda: PyTorch"}, "triton", gpu) == ["kda: PyTorch (wanted Triton)"]
    some = good | {"newton_schulz: Triton", "newton_schulz: PyTorch"}  # it has kernels for small blocks alone
    assert not curves.check_paths(some, "triton", gpu)
    assert curves.check_paths(some - {"newton_schulz: Triton"}, "triton", gpu) == [
        "newton_schulz: PyTorch (wanted Triton)"
    ]
    assert curves.check_paths(
        {o.replace("Triton", "PyTorch") for o in some} | {"newton_schulz: Triton"}, "reference", gpu
    )
    assert len(curves.check_paths(good, "reference", gpu)) == len(good)
    assert curves.check_paths(good - {"kda: Triton"}, "triton", gpu) == ["kda never ran"]


def test_both_paths_train_and_the_report_holds_their_curves(curves, tmp_path, monkeypatch):
    small = curves.configure(
        {"preset": "nano", "vision": None, "backbone": {"vocab": 300, "layers": 2, "mla_every": 2, "width": 32,
         "moe": {"experts": 4, "experts_per_token": 2, "hidden": 16, "latent": 16}}, "media_pad": 299},
        name="small",
    )  # fmt: skip
    monkeypatch.setattr(curves, "model_config", lambda name, experts: small if experts else dense(small))
    monkeypatch.setattr(curves, "PROBE_EVERY", 1)
    documents = curves._corpus.texts(ROOT)[:6]
    monkeypatch.setattr(curves._corpus, "texts", lambda root: documents)
    options = type("Options", (), {"context": 64, "limit": 100.0, "floor": "both", "apart": False})
    found = [curves.compare("nano", experts, 2, CPU, options) for experts in (False, True)]
    for pair, comparison, _ in found:
        assert pair[0].losses == pair[1].losses  # both are the PyTorch path here
        assert pair[2].losses == pytest.approx(pair[1].losses, abs=1e-4)  # the same but for roundings
        assert comparison.floor == curves.facts.distance(comparison.experts, pair[2].losses, pair[1].losses)
        assert all(entry.endswith(": PyTorch") for entry in pair[0].taken)
        assert (comparison.verdict, comparison.found) == ("missing", 0.0)
    assert found[1][1].flips == {"0": 0.0, "1": 0.0, "2": 0.0}
    all_curves = [curve for pair, _, _ in found for curve in pair]
    curves.write(tmp_path, [comparison for _, comparison, _ in found], all_curves, CPU)
    facts = json.loads((tmp_path / "curves.json").read_text())
    assert facts["versions"] == versions(set())
    assert [len(curve["losses"]) for curve in facts["curves"]] == [2] * 6
    assert (tmp_path / "curves.svg").read_text().count("<polyline") == 6 + 4


def test_the_page_takes_each_pair_from_its_last_run_and_fails_on_a_broken_rule(curves, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.setitem(sys.modules, "curves", curves)
    spec = importlib.util.spec_from_file_location("curves_page", ROOT / "bench" / "curves_page.py")
    curves_page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(curves_page)

    def run(name, gap, *, experts):
        losses = [5.0 - 0.01 * step for step in range(100)]
        pair = [
            curves.Curve(preset="nano", experts=experts, path=path, losses=of, seconds=1.0, taken=[])
            for path, of in (("triton", [loss + gap for loss in losses]), ("reference", losses))
        ]
        found = curves.judge("nano", experts, pair[0].losses, losses, {"0": 0.1, "50": 0.25} if experts else {})
        facts = curves.Facts(command=name, commit="c", device="d", versions={}, comparisons=[found], curves=pair)
        (tmp_path / name).mkdir()
        (tmp_path / name / "curves.json").write_bytes(curves.msgspec.json.encode(facts))
        return str(tmp_path / name)

    bad, good, other = run("bad", 0.3, experts=False), run("good", 0.001, experts=False), run("o", 0.0, experts=True)
    out = tmp_path / "page.md"
    assert curves_page.main(["--out", str(out), bad, good, other]) == 0
    text = out.read_text()
    assert "0.00100 | ≤ 0.005" in text
    assert "10.0%, 25.0%" in text
    assert "`bad`" not in text
    assert curves_page.main(["--out", str(out), good, bad, other]) == 1
    assert "0.30000" in out.read_text()
    assert out.with_suffix(".svg").read_text().count("<polyline") == 4 + 2
