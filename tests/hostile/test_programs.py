"""Hostile code, pages and files in every engine: refused for their reasons, in time; nothing is read, nothing sent.

A listener notes who connects; a canary stands outside every sandbox, readable by all, and its words must come back in
no picture, reason or detail. The suite takes some cases of each engine, `make soak` all of them.
"""

import hashlib
import os
import runpy
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from listening import Listener

from trivium.data.cad.engine import LIMITS as CAD
from trivium.data.cad.engine import CadEngine
from trivium.data.guard import Limits, sandbox
from trivium.data.guard.limits import MIB
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.engine import Engine
from trivium.data.scene.mesh import MeshEngine
from trivium.data.scene.openscad import OpenscadEngine
from trivium.data.scene.povray import PovrayEngine
from trivium.data.stage import Draft, Raw
from trivium.data.web.engine import PageEngine
from trivium.data.web.games.engine import GameEngine
from trivium.data.web.screen import BROWSER_LIMITS

HERE = Path(__file__).parent
SECRET = "the canary sings at dawn"
PROGRAM = Limits(wall_seconds=60, cpu_seconds=4, memory_bytes=1 << 30, output_bytes=8 * MIB, scratch_bytes=64 * MIB)
SOME = 4  # cases of an engine in the suite
LONGEST = 120.0  # seconds for one item, whatever it does; the limits above end it far earlier on a free machine

Case = tuple[str, dict[str, bytes], str, str]  # code, files, settings, reason


def cases(name: str, part: str, web: str, canary: str) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = runpy.run_path(str(HERE / f"{name}_cases.py"))[part](web, canary)
    return found


def scripts(web: str, canary: str) -> Iterator[tuple[str, Case]]:
    for name, (code, reason) in cases("cad", "scripts", web, canary).items():
        yield name, (str(code), {}, '{"view":"front"}', str(reason))


def step(web: str, canary: str) -> Iterator[tuple[str, Case]]:
    for name, (body, reason) in cases("cad", "step_files", web, canary).items():
        assert isinstance(body, bytes)
        yield name, ("", {"a.step": body}, '{"view":"front"}', str(reason))


def scenes(language: str) -> Callable[[str, str], Iterator[tuple[str, Case]]]:
    def listed(web: str, canary: str) -> Iterator[tuple[str, Case]]:
        for name, (code, reason) in cases("scene", language, web, canary).items():
            yield name, (str(code), {}, '{"height":48,"width":64}', str(reason))

    return listed


def meshes(web: str, canary: str) -> Iterator[tuple[str, Case]]:
    for name, (main, files, reason) in cases("mesh", "cases", web, canary).items():
        assert isinstance(files, dict)
        settings = msgspec.json.encode({"main": main, "width": 64, "height": 48}).decode()
        yield name, ("", files, settings, str(reason))


def pages(web: str, canary: str) -> Iterator[tuple[str, Case]]:
    for name, (main, files, reason) in cases("page", "cases", web, canary).items():
        assert isinstance(files, dict)
        beside = {path: body for path, body in files.items() if path != main}
        yield name, (files[str(main)].decode(errors="replace"), beside, "{}", str(reason))


def games(web: str, canary: str) -> Iterator[tuple[str, Case]]:
    for name, (code, reason) in cases("game", "cases", web, canary).items():
        yield name, (str(code), {}, '{"frames":3}', str(reason))


BROWSER = msgspec.structs.replace(BROWSER_LIMITS, wall_seconds=20)
ENGINES: dict[str, tuple[Callable[[], Engine], Callable[[str, str], Iterator[tuple[str, Case]]]]] = {
    "scripts": (lambda: CadEngine(msgspec.structs.replace(CAD, wall_seconds=60, cpu_seconds=4)), scripts),
    "step": (CadEngine, step),
    "povray": (lambda: PovrayEngine(PROGRAM), scenes("povray")),
    "openscad": (lambda: OpenscadEngine(PROGRAM), scenes("openscad")),
    "mesh": (MeshEngine, meshes),
    "pages": (lambda: PageEngine(BROWSER), pages),
    "games": (lambda: GameEngine(BROWSER), games),
}


@pytest.fixture
def canary() -> Iterator[str]:
    """A file outside every sandbox that anybody may read."""
    path = Path(f"/var/tmp/trivium-canary-{os.getpid()}.png")
    path.write_text(SECRET)
    path.chmod(0o644)
    yield str(path)
    path.unlink()


def refused(drawer: Drawer, name: str, case: Case) -> tuple[str, str]:
    """Reason and detail of one item; a picture instead is `drawn`."""
    code, files, settings, _ = case
    raw = Raw(corpus="c", domain="d", source="hostile", address=name, license="none", body=b"", mime="text/plain")
    meta = raw.meta(source_sha256="")
    found = drawer.item(raw, meta=meta, code=code, language="x", files=files, views={"view": settings})
    if isinstance(found, Draft):
        assert not any(SECRET.encode() in payload for payload in found.media.values())
        return "drawn", ""
    assert not found.error
    return found.reason, found.detail


def over(
    engine: str, chosen: Callable[[Mapping[str, Case]], list[str]], canary: str, listener: Listener
) -> tuple[dict[str, str], dict[str, str]]:
    """What was expected and what came, by name; a case may have several right reasons, `a|b`."""
    make, listed = ENGINES[engine]
    known = dict(listed(listener.web, canary))
    wanted, came = {}, {}
    drawer = Drawer(make(), None, DrawRules(edits=0, bugs=0), "draw")
    drawer.open()
    try:
        for name in chosen(known):
            began = time.monotonic()
            came[name], detail = refused(drawer, name, known[name])
            right = known[name][3].split("|")
            wanted[name] = came[name] if came[name] in right else known[name][3]
            assert time.monotonic() - began < LONGEST, name
            assert SECRET not in detail
    finally:
        drawer.close()
    assert listener.connections == 0
    return wanted, came


def some(known: Mapping[str, Case]) -> list[str]:
    """The first cases by hash, one of each reason before a second of any; endless ones are left to the soak."""
    short = [name for name, case in known.items() if not {"timeout", "memory"} & set(case[3].split("|"))]
    ranked = sorted(short, key=lambda name: hashlib.sha256(name.encode()).digest())
    firsts = list({known[name][3]: name for name in reversed(ranked)}.values())
    return (firsts + [name for name in ranked if name not in firsts])[:SOME]


needs_walls = pytest.mark.skipif(not sandbox().strong, reason="strangers' code runs only where namespaces hold")


@needs_walls
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_some_of_each_engine_are_refused_for_their_reasons(engine: str, canary: str, listener: Listener) -> None:
    wanted, came = over(engine, some, canary, listener)
    assert came == wanted
    assert len(came) == SOME


@needs_walls
@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ENGINES)
def test_all_are_refused_for_their_reasons(engine: str, canary: str, listener: Listener) -> None:
    wanted, came = over(engine, list, canary, listener)
    assert came == wanted


def test_the_whole_set_is_large_and_every_name_is_of_one_case(canary: str) -> None:
    svg = runpy.run_path(str(HERE / "svg_cases.py"))["cases"]("http://127.0.0.1:9")
    known = {engine: dict(listed("http://127.0.0.1:9", canary)) for engine, (_, listed) in ENGINES.items()}
    assert len(svg) + sum(map(len, known.values())) >= 300
    assert all(len(of) >= 14 for of in known.values())
