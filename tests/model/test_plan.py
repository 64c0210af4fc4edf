"""A plan's memory adds up, falls with ranks and equals the formulas; its traffic is the report's."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from trivium.cli import app
from trivium.commands.plan_view import plan_view
from trivium.errors import UsageError
from trivium.model.flops import ELEMENTWISE, Work, algorithmic
from trivium.model.layout import (
    MASTER,
    WEIGHT,
    Layout,
    Model,
    bank_rows,
    chunks,
    in_flight,
    rank_memory,
    stage_numbers,
    state_message,
)
from trivium.model.machine import Assumptions, gpu
from trivium.model.memory import Storage, activations
from trivium.model.plan import Ask, find, fits_from, place
from trivium.model.presets import preset
from trivium.model.sizes import measure

DEALT = [
    Layout(data=4, expert=2),
    Layout(data=2, context=2, expert=4),
    Layout(data=2, expert=2, pipeline=2, virtual=2),
    Layout(data=4, expert=4, pipeline=3, shard_gradients=True),
]


@pytest.fixture(scope="module", name="small")
def fixture_small() -> Model:
    return Model.of(preset("small"))


@pytest.fixture(scope="module", name="k3")
def fixture_k3() -> Model:
    return Model.of(preset("k3"))


def _rank(model: Model, layout: Layout, stage: int = 0, context: int = 8192) -> dict[str, float]:
    return rank_memory(model, layout, context, 64, Assumptions(), Storage(), stage)


@pytest.mark.parametrize("layout", DEALT, ids=["experts", "context", "rounds", "stages"])
def test_what_is_dealt_adds_up_to_the_model(small, layout):
    total = small.total
    per_stage = layout.ranks // layout.pipeline
    ranks = [_rank(small, layout, stage) for stage in range(layout.pipeline)]
    assert sum(rank["master"] for rank in ranks) * per_stage == pytest.approx(MASTER * (total.dense + total.experts))
    moments = total.dense_moments + total.expert_moments
    assert sum(rank["moments"] for rank in ranks) * per_stage == pytest.approx(moments)
    weights = WEIGHT * (total.dense + total.experts / layout.expert)
    assert sum(rank["weights"] for rank in ranks) == pytest.approx(weights)
    stages = [stage_numbers(small, layout, stage) for stage in range(layout.pipeline)]
    assert sum(stage.dense + stage.experts for stage in stages) == total.dense + total.experts
    assert [layer for chunk in chunks(small, layout) for layer in chunk] == list(range(13))


def test_one_gpu_needs_what_the_formulas_say(small):
    found = find(preset("small"), Ask(1, gpu("h200")))
    sizes = measure(preset("small"), (8192,))
    memory = found.best[0].memory
    for part in ("weights", "gradients", "master", "moments"):
        assert memory[part] == getattr(sizes.memory, part)
    rows = activations(preset("small"), Work((8192,)), found.best[0].layout.policy, Storage())
    assert memory["activations"] + memory["bank"] == pytest.approx(sum(rows.values()))
    numbers = sizes.parameters.total + sizes.parameters.parts["mtp"]
    assert small.total.dense + small.total.experts == pytest.approx(numbers, rel=1e-5)  # router biases apart


def test_memory_falls_with_ranks_and_policies(k3):
    for grow in ("data", "expert", "context", "pipeline"):
        used = []
        for size in (1, 2, 4, 8):
            changes = {"data": 8, grow: size} if grow == "expert" else {grow: size}
            context = 65536 if grow == "context" else 8192
            used.append(sum(_rank(k3, replace(Layout(), **changes), context=context).values()))
        assert used == sorted(used, reverse=True), grow
        assert used[0] > used[-1]
    policies = [_rank(k3, replace(DEALT[2], policy=policy))["activations"] for policy in ("keep", "attn_res", "layers")]
    assert policies == sorted(policies, reverse=True)
    whole, dealt = (
        _rank(k3, Layout(data=64, expert=8, pipeline=4, virtual=4, shard_gradients=s)) for s in (False, True)
    )
    assert dealt["gradients"] < whole["gradients"]


def test_traffic_is_the_reports(k3):
    assert state_message(preset("k3").backbone.kda) == 96 * 128 * 1024  # 128 KiB a head, 12 MiB a layer
    layout = Layout(pipeline=4, virtual=3)
    assert bank_rows(layout, 2.0, cached=False) == 12 * 11 / 2 * 2
    assert bank_rows(layout, 2.0, cached=True) == (4 * 3 / 2 + 2 * 16) * 2
    assert bank_rows(Layout(pipeline=4), 1.0, cached=True) == bank_rows(Layout(pipeline=4), 1.0, cached=False)
    assert [in_flight(Layout(pipeline=4), stage, 64) for stage in range(4)] == [4, 3, 2, 1]
    assert in_flight(layout, 0, 64) == 2 * 3 + 2 * 4 + 1
    assert in_flight(layout, 0, 1) == 3
    heavy = chunks(k3, Layout(pipeline=31))
    assert len(heavy[-1]) < len(heavy[0])  # head and MTP stand there


def test_a_step_takes_at_least_its_products_at_full_rate():
    ask = Ask(8, gpu("h200"), batch_tokens=1 << 20, assumed=Assumptions(pictures=0.0))
    found = find(preset("small"), ask)
    work = Work((8192,), targets=8192)
    flow = algorithmic(preset("small"), work)
    flops = 128 * sum(passes.total for part, passes in flow.items() if part not in ELEMENTWISE)
    assert found.best[0].step > flops / (8 * 989e12)
    for one in found.best:
        assert one.mfu == pytest.approx(flops / one.step / 8 / 989e12, rel=1e-6)
        assert one.used <= ask.room
        assert one.layout.ranks == 8
    steps = [one.step for one in found.best]
    assert steps == sorted(steps)
    slower = find(preset("small"), replace(ask, assumed=Assumptions(pictures=0.0, matmul=0.35)))
    assert slower.best[0].step > steps[0]


def test_pipelines_wait_less_with_rounds_and_micro_batches(k3):
    ask = Ask(64, gpu("b200"), batch_tokens=1 << 22)
    layout = Layout(data=8, pipeline=8, policy="layers")
    bubble = {v: place(k3, replace(layout, virtual=v), ask, 0, {}).seconds["bubble"] for v in (1, 3)}
    assert bubble[3] < bubble[1]
    longer = place(k3, layout, replace(ask, batch_tokens=1 << 24), 0, {})
    assert longer.seconds["bubble"] / longer.step < bubble[1] / place(k3, layout, ask, 0, {}).step


def test_a_model_that_does_not_fit_is_refused_with_what_it_needs():
    run = CliRunner().invoke(app, ["plan", "k3", "--gpus", "1", "--json"])
    assert run.exit_code == 1
    facts = json.loads(run.stdout)
    assert facts["best"] == []
    assert facts["state_bytes"] == pytest.approx(2.81e12 * 14, rel=0.001)
    assert facts["refused"][0]["needs"] > facts["room"]
    enough = facts["fits_from_gpus"]
    assert facts["state_bytes"] / enough < facts["room"]
    assert 256 < enough <= 1024
    assert fits_from(preset("nano"), Ask(1, gpu("h200"))) == 1


def test_a_million_tokens_want_context_ranks():
    ask = Ask(2048, gpu("h200"), context=1 << 20, batch_tokens=1 << 25)
    found = find(preset("k3"), ask, best=1)
    best = found.best[0]
    assert best.layout.context >= 32
    assert best.memory["gathered"] > 0
    assert best.seconds["attention"] / best.step > 0.5
    assert any("no row for each data rank" in row.reason for row in found.refused)


@pytest.mark.parametrize(("rows", "idle"), [(4, True), (32, False)])
def test_stages_that_wait_most_of_the_time_are_told_what_helps(rows, idle):
    found = find(preset("k3"), Ask(1024, gpu("h200"), context=1 << 20, batch_tokens=rows << 20), best=1)
    wide = Console(width=120, file=StringIO())
    wide.print(plan_view("k3", "h200", found))
    assert (f"of the step: {rows} rows a step; more by --batch-tokens" in wide.file.getvalue()) == idle


def test_the_command_shows_layouts_and_takes_assumptions(tmp_path):
    file = tmp_path / "machine.yaml"
    file.write_text("gpu: {memory: 20.0e9}\nassumed: {matmul: 0.5}\n")
    given = ["plan", "small", "--gpus", "8", "--assumptions", str(file), "--assume", "assumed.pictures=0.0"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    assert "memory of the fullest rank, of 18.4 GB" in shown.stdout
    assert "matmul 0.5" in shown.stdout
    narrow = Console(width=80, file=StringIO())
    narrow.print(plan_view("small", "h200", find(preset("small"), Ask(8, gpu("h200")))))
    assert "…" not in narrow.file.getvalue()
    facts = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    assert facts["ask"]["assumed"]["pictures"] == 0.0
    assert all(one["used"] <= facts["room"] for one in facts["best"])
    run = tmp_path / "run.yaml"
    run.write_text("model: {preset: nano, backbone: {layers: 9}}\n")
    assert json.loads(CliRunner().invoke(app, ["plan", str(run), "--gpus", "1", "--json"]).stdout)["fitting"] > 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("--gpu tpu", "no GPU 'tpu'; known: a100"),
        ("--assume gpu.peak=0", "--assume gpu.peak=0: gpu: peak is 0; give a finite number above 0"),
        ("--assume gpu.memory=-1", "memory is -1; give"),
        ("--assume gpu.link=.nan", "link is nan; give"),
        ("--assume gpu.network=.inf", "network is inf; give"),
        ("--assume gpu.node=0", "node is 0; give 1 or more"),
        ("--assume assumed.matmul=2.0", "matmul is 2; give a share"),
        ("--assume assumed.imbalance=.inf", "imbalance is inf; give"),
        ("--assume assumed.matmull=0.5", "did you mean 'matmul'?"),
        ("--assume foo=1", "--assume foo=1: expected gpu.KEY=VALUE or assumed.KEY=VALUE, such as --assume assumed."),
        ("--assume gpu.peak", "--assume gpu.peak: expected"),
        ("--batch-tokens 100", "--batch-tokens 100 is less than one row of 8,192 tokens; give at least 8192"),
    ],
)
def test_wrong_values_are_refused_in_one_line_that_names_the_option(wrong, words):
    error = CliRunner().invoke(app, ["plan", "nano", "--gpus", "1", *wrong.split()]).exception
    assert isinstance(error, UsageError)
    assert error.exit_code == 2
    assert words in str(error)
    assert "\n" not in str(error)
    assert "--set" not in str(error)


def test_tokens_are_read_with_units_and_gpus_in_any_case():
    asked = ["plan", "nano", "--gpus", "1", "--gpu", "H200", "--context", "64K", "--batch-tokens", "1m", "--best", "1"]
    ask = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["ask"]
    assert (ask["context"], ask["batch_tokens"]) == (1 << 16, 1 << 20)
    assert "time of a step on the slowest stage" in " ".join(CliRunner().invoke(app, asked).stdout.split())
    for wrong in ("0", "-5", "1.5M", "64G", "many"):
        run = CliRunner().invoke(app, ["plan", "nano", "--gpus", "1", "--context", wrong])
        assert run.exit_code == 2
        assert "no number of tokens" in run.output


def test_too_few_tokens_a_step_are_blamed_and_the_named_step_fits():
    asked = ["plan", "nano", "--gpus", "64", "--best", "1", "--batch-tokens"]
    run = CliRunner().invoke(app, [*asked, "8K"])
    assert run.exit_code == 1
    shown = " ".join(run.stdout.split())
    assert "a step of 8,192 tokens has no row of 8,192 for each data rank. Raise --batch-tokens to at least" in shown
    assert "fewer GPUs, such as --gpus 4." in shown  # a pipeline of four stages, one data rank
    enough = int(shown.split("to at least ")[1].split(",")[0])
    assert CliRunner().invoke(app, [*asked, str(enough)]).exit_code == 0
    assert CliRunner().invoke(app, [*asked, str(enough - 1)]).exit_code == 1
