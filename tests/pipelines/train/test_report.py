import html.parser
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.commands import train as commands
from trivium.model.machine import peak_of
from trivium.pipelines.pages import policy, short, templates
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.gap import FEWEST
from trivium.pipelines.train.meter import Meter
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.report import page
from trivium.pipelines.train.report.charts import POINTS, Band, Chart, Rule, Series, smoothed, thinned, ticks
from trivium.pipelines.train.report.facts import summarize
from trivium.pipelines.train.report.figures import figures


def test_report_json_holds_the_contract(trained):
    out, facts, _ = trained
    written = json.loads((out / "report.json").read_text())
    for split in ("text", "image"):
        assert written["held_out"][split].keys() >= {"first", "last"}
    lines = [line for line in read_metrics(out / "metrics.jsonl") if line["kind"] == "held_out"]
    assert written["held_out"]["text"]["first"] == lines[0]["text"]["loss"]
    assert written["held_out"]["text"]["last"] == lines[-1]["text"]["loss"]
    assert written["held_out"]["image_shuffled"]["last"] == lines[-1]["image_shuffled"]["loss"]
    assert 0 < written["bigram_entropy"] < written["bigram"]["held_out_cross_entropy"]
    assert written["seconds"] > 0
    assert written["machine"]["threads"] == 1
    assert 0 < written["bigram_pictures"]["entropy"] < written["bigram_pictures"]["held_out_cross_entropy"]
    gap, last = written["held_out"]["picture_gap"], lines[-1]["image_shuffled"]
    assert gap.keys() == {"mean", "low", "high", "records"}
    assert gap["mean"] == pytest.approx(last["loss"] - last["matched"], abs=1e-12)
    assert (gap["low"] is None) == (gap["records"] < FEWEST)
    assert written["held_out"]["text"]["evaluations"] == len(lines)
    icons = written["pictures"]["icons"]
    assert icons.keys() == {"matched", "exchanged", "records", "nats_a_picture", "gap"}
    assert icons["gap"] == gap  # the only corpus with pictures
    assert icons["records"] == gap["records"]
    assert written["steps"] == written["step"] == facts["steps"]


def test_the_facts_are_sums_over_the_steps(trained):
    out, facts, _ = trained
    steps = [line for line in read_metrics(out / "metrics.jsonl") if line["kind"] == "step"]
    for kind in ("text", "vision"):
        assert facts["tokens"][kind] == sum(line["tokens"][kind] for line in steps)
        assert facts["tokens"][kind] == sum(stage["tokens"][kind] for stage in facts["stages"])
    assert [stage["done"] for stage in facts["stages"]] == [stage["steps"] for stage in facts["stages"]]
    assert facts["parameters"]["total"] == sum(facts["parameters"]["parts"].values())
    assert 0 <= facts["waiting_for_data"] < 1
    probe = facts["experts"]["probe"]
    assert len(probe["before"]) == len(probe["after"]) == len(probe["floor"]) == len(facts["experts"]["layers"]) == 2


@pytest.mark.parametrize(
    ("device", "peak"),
    [("NVIDIA H200", 989e12), ("NVIDIA A100-SXM4-80GB", 312e12), ("NVIDIA H100 PCIe", None), ("Tesla V100", None)],
)
def test_a_step_s_use_of_the_machine_is_told_where_its_peak_is_known(trained, device, peak):
    """On a CPU no step has one; where all have 0.5, so has the report."""
    assert peak_of(device) == peak
    lines = read_metrics(trained[0] / "metrics.jsonl")
    steps = [line for line in lines if line["kind"] == "step"]
    assert {line["time"]["mfu"] for line in steps} == {None}
    assert trained[1]["throughput"]["median_mfu"] is None
    meter = Meter(None if peak is None else 2 * peak)
    for line in steps:
        line["time"]["mfu"] = meter.mfu(line["flops"], line["flops"] / 989e12)
    facts = summarize(lines, {**trained[1], "stages": []})
    assert facts["throughput"]["median_mfu"] == (None if peak is None else pytest.approx(989e12 / (2 * peak), abs=1e-6))
    titles = [chart.title for chart in figures(facts, lines)]
    assert ("Model FLOPs utilisation" in titles) == (peak is not None)


def test_the_page_needs_nothing_from_outside(trained):
    text = (trained[0] / "report.html").read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert "@import" not in text
    for title in ("Training loss by modality", "Held-out loss", "Gradient norm of the vision tower", "Learning rate"):
        assert title in text
    assert text.count("<svg") >= 9
    assert "bigram entropy of the training text" in text
    assert "bigram entropy beside pictures" in text
    assert "What its own picture is worth" in text
    assert ">complete<" in text


def test_every_drawing_is_well_formed_and_shows_both_stages(trained):
    text = (trained[0] / "report.html").read_text()
    for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
        root = ElementTree.fromstring(drawing)
        assert next(node.text for node in root.iter("text") if node.get("class") == "stage") == "short"
        assert len([node for node in root.iter("line") if node.get("class") == "edge"]) == 1


@given(
    steps=st.integers(2, 3_000_000),
    low=st.floats(1e-6, 1e3),
    decades=st.floats(0.01, 6),
    log=st.booleans(),
    wide=st.booleans(),
)
def test_no_two_labels_of_an_axis_meet_on_a_phone(steps, low, decades, log, wide):
    """There text is 27 units high, and a letter at most 0.58 of that wide."""
    line = Series("loss", (1, steps), (low, low * 10**decades), "s1")
    root = ElementTree.fromstring(Chart("t", "", "nats", (line,), log=log, wide=wide).svg())
    shown = [node for node in root.iter("text") if "crowded" not in node.get("class")]
    below = [node for node in shown if node.get("class") in ("tick below", "unit below")]
    spans = []
    for node in below:
        room, x = 27 * 0.58 * len(node.text), float(node.get("x"))
        spans.append((x - room, x) if node.get("text-anchor") == "end" else (x - room / 2, x + room / 2))
    assert all(left[1] < right[0] for left, right in itertools.pairwise(sorted(spans)))
    beside = sorted(float(node.get("y")) for node in shown if node.get("class") == "tick")
    assert all(lower - upper >= 27 for upper, lower in itertools.pairwise(beside))
    assert min(beside, default=99) - 22 >= 24  # below the unit's name


HOSTILE = "</script><script>x</script><svg onload=x><img src=x onerror=x>"


def test_names_can_not_break_the_page(trained):
    out, facts, _ = trained
    lines = read_metrics(out / "metrics.jsonl")
    for line in lines:  # a corpus, a layer and a stage of hostile names reach charts, tables and the hover's data
        if line["kind"] == "held_out":
            line["image_shuffled"]["corpora"] = {HOSTILE: line["image_shuffled"]["corpora"]["icons"], "b": None}
        elif line.get("experts"):
            line["experts"]["layers"] = [HOSTILE, *line["experts"]["layers"][1:]]
    hostile = {
        **facts,
        "stages": [{**stage, "name": HOSTILE} for stage in facts["stages"]],
        "pictures": {HOSTILE: facts["pictures"]["icons"]},
        "samples": [{"title": HOSTILE, "text": HOSTILE, "picture": "https://example.org/x.png"}],
        "config": {HOSTILE: HOSTILE, "seed": HOSTILE},
    }
    text = page.render(HOSTILE, hostile, lines)
    tags = Tags()
    tags.feed(text)
    assert [attrs.get("type") for tag, attrs in tags.found if tag == "script"] == ["application/json", None]
    assert not any(name.startswith("on") for _, attrs in tags.found for name in attrs)
    assert [attrs["src"] for tag, attrs in tags.found if tag == "img"] == [""]  # foreign addresses are not loaded
    assert HOSTILE in json.loads(text.split('id="data">')[1].split("</script>")[0])[2]["series"][1]["name"]


class Tags(html.parser.HTMLParser):
    """All start tags with their attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_policy_lets_this_script_run_and_no_other(trained):
    text = (trained[0] / "report.html").read_text()
    tags = Tags()
    tags.feed(text)
    (content,) = [a["content"] for _, a in tags.found if a.get("http-equiv") == "Content-Security-Policy"]
    script = text.rsplit("<script>", 1)[1].split("</script>")[0]
    assert content == policy([script])
    assert "default-src 'none'" in content
    assert "unsafe" not in content.split("style-src")[0]  # scripts: by hash alone
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in script


def test_one_evaluation_is_called_one(trained):
    out, facts, _ = trained
    lines = read_metrics(out / "metrics.jsonl")
    early = [lines[0], *[line for line in lines if line["kind"] == "step"][:3]]
    once = summarize(early, facts)
    assert (once["held_out"]["text"]["evaluations"], once["held_out"]["text"]["step"]) == (1, 0)
    text = page.render("run", once, early)
    assert "evaluated once, at step 0" in text
    assert "One evaluation so far, at step 0" in text
    tiles = text.split('<section class="tiles">')[1].split("</section>")[0]
    assert "→" not in tiles
    assert "→" in (out / "report.html").read_text().split('<section class="tiles">')[1].split("</section>")[0]


def test_lines_without_a_gap_still_make_a_page(trained):
    """Metrics of a run that began before the gap was measured."""
    out, facts, _ = trained
    lines = read_metrics(out / "metrics.jsonl")
    for line in lines:
        if line["kind"] == "held_out":
            line["image_shuffled"].pop("gap")
            line["image_shuffled"]["corpora"]["icons"].pop("gap")
    old = summarize(lines, facts)
    assert old["held_out"]["picture_gap"]["mean"] is None
    assert "What its own picture is worth</h2>" not in page.render("run", old, lines)


def test_an_interval_is_drawn_around_its_line():
    x, mean, low, high = [0, 10], [1.0, 2.0], [0.5, 1.0], [1.5, 3.0]
    chart = Chart("t", "n", "nats", (Series("a", x, mean, "s1", low=low, high=high),))
    root = ElementTree.fromstring(chart.svg())
    ring = next(node.get("points") for node in root.iter("polygon")).split()
    line = next(node.get("points") for node in root.iter("polyline")).split()
    heights = [float(point.split(",")[1]) for point in ring]
    assert heights[0] < float(line[0].split(",")[1]) < heights[3]
    assert heights[1] < float(line[1].split(",")[1]) < heights[2]
    assert chart.data()["series"][0]["low"] == [[0, 0.5], [10, 1.0]]
    few = Chart("t", "n", "nats", (Series("a", x, mean, "s1", low=[None, 1.0], high=[None, 3.0]),))
    assert few.data()["series"][0]["low"] == [[10, 1.0]]  # found by its step, not by its place
    alone = Chart("t", "n", "nats", (Series("a", [0], [1.0], "s1", low=[0.5], high=[1.5]),))
    assert any(node.get("class") == "whisker s1" for node in ElementTree.fromstring(alone.svg()).iter("line"))


def test_the_axes_are_named():
    chart = Chart("t", "n", "nats", (Series("a", [0, 10], [1.0, 100.0], "s1"),))
    texts = [node.text for node in ElementTree.fromstring(chart.svg()).iter("text")]
    assert "nats" in texts
    assert "step →" in texts


def test_without_jinja2_the_json_is_written_and_one_line_said(trained, tmp_path, monkeypatch):
    out, facts, _ = trained
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None)
    folder = RunFolder(tmp_path)
    folder.metrics.write_bytes((out / "metrics.jsonl").read_bytes())
    said: list[str] = []
    page.write_report(folder, {**facts, "steps": 24}, said.append)
    assert folder.report_json.is_file()
    assert not folder.report_html.exists()
    assert len(said) == 1
    assert "jinja2 is not installed" in said[0]


def test_a_run_stopped_before_its_first_step_still_reports(trained):
    _, facts, _ = trained
    empty = summarize([], facts)
    assert empty["step"] == 0
    assert not empty["complete"]
    assert "stopped at step 0" in page.render("run", empty, [])


@given(low=st.floats(-1e6, 1e6), size=st.floats(1e-3, 1e6), wanted=st.integers(2, 10))
def test_ticks_are_round_ordered_and_inside(low, size, wanted):
    found = ticks(low, low + size, wanted)
    assert found == sorted(set(found))
    assert len(found) <= 3 * wanted + 1
    slack = size * 1e-6 + abs(low) * 1e-9
    assert all(low - slack <= tick <= low + size + slack for tick in found)


def test_lines_are_thinned_by_means_and_gaps_are_passed_over():
    x = list(range(10 * POINTS))
    assert len(thinned(Series("a", x, [float(v) for v in x], "s1"))) == POINTS
    assert thinned(Series("a", [1, 2, 3], [1.0, None, float("nan")], "s1")) == [(1.0, 1.0)]
    assert smoothed([2.0, None, 2.0]) == [2.0, None, 2.0]


def test_a_chart_maps_values_into_its_frame():
    chart = Chart(
        "t",
        "n",
        "nats",
        (Series("a", [0, 10], [1.0, 100.0], "s1"),),
        (Band("one", 0, 10),),
        (Rule("r", 10.0),),
        log=True,
    )
    root = ElementTree.fromstring(chart.svg())
    points = next(node.get("points") for node in root.iter("polyline")).split()
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in points)
    assert x0 < x1
    assert y0 > y1  # larger values stand higher
    rule = next(float(node.get("y1")) for node in root.iter("line") if node.get("class") == "rule")
    assert rule == pytest.approx((y0 + y1) / 2, abs=0.2)  # 10 is half way between 1 and 100 by decades
    assert Chart("t", "n", "", (Series("a", [1], [None], "s1"),)).svg() == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0004, "4.0e-4"), (3.14159, "3.14"), (1234.0, "1234"), (12_345.0, "12.3k"), (2.5e6, "2.5M")],
)
def test_short_numbers(value, text):
    assert short(value) == text


def test_a_run_that_is_not_evaluated_heads_no_held_out_losses(trained, capsys):
    out, facts, _ = trained
    commands._print(facts, out)
    assert "held-out loss" in capsys.readouterr().out
    steps = [line for line in read_metrics(out / "metrics.jsonl") if line["kind"] == "step"]
    commands._print(summarize(steps, facts), out)
    shown = " ".join(capsys.readouterr().out.split())
    assert "not evaluated" in shown
    assert "held-out loss" not in shown


@pytest.mark.parametrize(("value", "text"), [(-0.0004, "0.000"), (0.0, "0.000"), (-0.0006, "−0.001"), (0.25, "+0.250")])
def test_a_difference_that_rounds_to_nothing_has_no_sign(value, text):
    assert templates(page.Path(page.__file__).parent).filters["signed"](value) == text
