import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.pipelines.pages import short
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.report import page
from trivium.pipelines.train.report.charts import POINTS, Band, Chart, Rule, Series, smoothed, thinned, ticks
from trivium.pipelines.train.report.facts import summarize


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
    assert written["pictures"]["icons"].keys() == {"matched", "exchanged", "records", "nats_a_picture"}
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
    assert len(probe["before"]) == len(probe["after"]) == len(probe["floor"]) == len(facts["experts"]["layers"]) == 4


def test_the_page_needs_nothing_from_outside(trained):
    text = (trained[0] / "report.html").read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert "@import" not in text
    for title in ("Training loss by modality", "Held-out loss", "Gradient norm of the vision tower", "Learning rate"):
        assert title in text
    assert text.count("<svg") >= 9
    assert "bigram entropy of the training text" in text
    assert ">complete<" in text


def test_every_drawing_is_well_formed_and_shows_both_stages(trained):
    text = (trained[0] / "report.html").read_text()
    for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
        root = ElementTree.fromstring(drawing)
        assert next(node.text for node in root.iter("text") if node.get("class") == "stage") == "short"
        assert len([node for node in root.iter("line") if node.get("class") == "edge"]) == 1


def test_names_can_not_break_the_page(trained):
    _, facts, _ = trained
    hostile = {**facts, "samples": [{"title": "<script>x</script>", "text": "</pre><b>", "picture": None}]}
    text = page.render("<i>run", hostile, [])
    assert "<script>x" not in text
    assert "</pre><b>" not in text
    assert "<i>run" not in text


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
