"""Every hostile file is refused with its reason, in time, and nothing is fetched: by the sanitiser, by the guard."""

import runpy
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from listening import Listener

from trivium.data.guard import Guard, Limits, sandbox
from trivium.data.shards import ShardSet, read_rejects
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.sanitise import sanitise
from trivium.errors import GuardError

HERE = Path(__file__).parent
SET: dict[str, Any] = runpy.run_path(str(HERE / "svg_cases.py"))
NAMES = sorted(SET["cases"]("http://127.0.0.1:9"))
EXPECTED_S = 1.0  # what a file may take on a slow machine; tests allow ten times that


@pytest.mark.parametrize("name", NAMES)
def test_the_sanitiser_refuses_with_its_reason_in_time(name: str, listener: Listener) -> None:
    payload, reason = SET["cases"](listener.web)[name]
    began = time.monotonic()
    with pytest.raises(SvgRefusedError) as caught:
        sanitise(payload, SvgPolicy())
    assert caught.value.reason == reason, str(caught.value)
    assert time.monotonic() - began < 10 * EXPECTED_S
    assert listener.connections == 0


def test_a_document_type_that_is_only_named_is_left_aside_unread(listener: Listener) -> None:
    names = f'PUBLIC "-//W3C//DTD SVG 1.1//EN" "{listener.web}/svg11.dtd"', f'SYSTEM "{listener.web}/svg.dtd"'
    plain = sanitise(SET["svg"](SET["CIRCLE"]), SvgPolicy()).text
    for name in names:
        assert sanitise(SET["svg"](SET["CIRCLE"], before=f"<!DOCTYPE svg {name}>"), SvgPolicy()).text == plain
    assert listener.connections == 0


def test_the_listener_would_notice(listener: Listener) -> None:
    with socket.create_connection(("127.0.0.1", int(listener.web.rpartition(":")[2]))) as connection:
        connection.recv(1)
    assert listener.connections == 1


def test_dropping_instead_of_rejecting_leaves_nothing_active_or_external(listener: Listener) -> None:
    policy = SvgPolicy(active="drop", external="drop")
    made = {**SET["active_cases"](listener.web), **SET["reference_cases"](listener.web)}
    kept = 0
    for payload, _ in made.values():
        try:
            text = sanitise(payload, policy).text
        except SvgRefusedError:
            continue
        kept += 1
        for trace in ("127.0.0.1", "script", " on", "foreign", "animate", "passwd", "import"):
            assert trace not in text.lower()
    assert kept > len(made) / 2
    assert listener.connections == 0


@pytest.mark.slow
def test_the_guard_fetches_nothing_even_when_the_sanitiser_is_bypassed(listener: Listener) -> None:
    limits = Limits(wall_seconds=0.4, cpu_seconds=5)
    outcomes: dict[str, str] = {}
    with Guard("unsafe_tasks:draw_anything", limits, extra=[HERE]) as guard:
        for name, (payload, _) in SET["cases"](listener.web).items():
            began = time.monotonic()
            try:
                guard.call(payload, int)
                outcomes[name] = "done"
            except GuardError as error:
                outcomes[name] = error.reason
            assert time.monotonic() - began < 10 * limits.wall_seconds + limits.start_seconds
    assert listener.connections == 0
    assert set(outcomes.values()) <= {"done", "timeout", "memory", "crashed", "refused"}
    assert any(outcome != "done" for outcome in outcomes.values()), "the set no longer troubles the engines"


def test_a_direct_fetch_fails_in_the_guard(listener: Listener) -> None:
    with Guard("unsafe_tasks:fetch", Limits(), extra=[HERE]) as guard:
        with pytest.raises(GuardError) as caught:
            guard.call(listener.web, int)
        assert caught.value.reason == "refused"
        if sandbox().strong:
            with pytest.raises(GuardError, match="No such file"):
                guard.call("file:///etc/passwd", int)
    assert listener.connections == 0


def test_a_build_over_the_set_ends_with_a_reason_for_every_file(tmp_path: Path, listener: Listener) -> None:
    from trivium.data.config import from_mapping
    from trivium.pipelines.beam import parse_options
    from trivium.pipelines.corpora.driver import build
    from trivium.pipelines.corpora.recipe import Recipe

    hostile = tmp_path / "hostile"
    hostile.mkdir()
    reasons = SET["write"](hostile, listener.web)
    (hostile / "good.svg").write_bytes(SET["svg"](SET["CIRCLE"]))
    raw = {
        "version": 1,
        "corpus": "hostile",
        "domain": "visual-coding",
        "sources": [{"kind": "svg_folder", "name": "hostile", "path": "hostile", "license": "none"}],
        "stages": [{"kind": "svg_sanitize"}, {"kind": "exact_dedup"}, {"kind": "svg_render", "pixels": 28}],
        "error_budget": 0.0,
    }
    began = time.monotonic()
    manifest = build(from_mapping(raw, Recipe, name="recipe"), tmp_path, tmp_path / "out", parse_options([]))
    assert time.monotonic() - began < 120
    assert manifest.records == 1
    assert manifest.rejects == len(reasons)
    assert sum(sum(stage.dropped.values()) for stage in manifest.funnel) == len(reasons)
    drops = {drop.address: drop for drop in read_rejects(tmp_path / "out")}
    assert {address: drop.reason for address, drop in drops.items()} == reasons
    assert not any(drop.error for drop in drops.values())
    document, media = ShardSet.open(tmp_path / "out").read(0)
    assert document.meta.address == "good.svg"
    assert media["i0.png"].startswith(b"\x89PNG")
    assert listener.connections == 0
