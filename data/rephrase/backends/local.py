"""A GGUF model on this machine, served by llama.cpp to the build's workers.

Odd: the server belongs to the launcher: `launched` starts it and ends it, and what it yields holds the address that
workers build their clients with. How many texts are written side by side changes the last bits of llama.cpp's sums, so
another run may write otherwise; the cache is what makes a repetition exact.
"""

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Self

import msgspec

from trivium.data.rephrase.backend import Backend, BackendConfig
from trivium.data.rephrase.backends.gguf import EXTRA, MODELS, assemble, sha256_of
from trivium.data.rephrase.backends.llama_server import Settings
from trivium.errors import BuildError, InputError, MissingDependencyError
from trivium.needs import cure

_LOG = 2000  # characters of the server's own words that an error keeps


class LocalConfig(BackendConfig, tag="local"):
    """A model that a package brings, by name, or any GGUF file by its path.

    `slots` texts of up to `context` tokens each, read and written, are made side by side.
    """

    model: str = "gemma-3-270m"  # a name, or the path of a .gguf file
    slots: int = 4
    context: int = 8192
    threads: int | None = None  # None: all cores that this process may use
    start_seconds: float = 300.0  # until the model is loaded
    call_seconds: float = 600.0  # of one text, the wait for a slot among them
    url: str = ""  # of a server that runs; filled in by the launcher
    identity: str = ""  # the model's name and hash; filled in by the launcher for a file

    def __post_init__(self) -> None:
        for name, least in (("slots", 1), ("context", 256)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: {getattr(self, name)}; give at least {least}")
        if not self.model.endswith(".gguf") and self.model not in MODELS:
            raise ValueError(f"model: {self.model!r}; give one of {', '.join(MODELS)}, or the path of a .gguf file")

    def build(self, cache: Path | None) -> Backend:
        """A client of the launched server. Raises BuildError when nobody launched one."""
        from trivium.data.rephrase.backends.cache import cached
        from trivium.data.rephrase.backends.openai import OpenAI, OpenAIConfig

        if not self.url:
            raise BuildError("the local backend has no server yet; build it inside `with config.launched() as config`")
        client = OpenAIConfig(
            url=f"{self.url}/v1",
            model=self.identity,
            concurrency=2 * self.slots,  # the next text waits at the server, so that no slot is idle
            attempts=3,
            read_seconds=self.call_seconds,
            call_seconds=self.call_seconds,
        )
        return cached(OpenAI(client, name="local"), cache)

    def share(self, workers: int) -> Self:
        """The slots of one of `workers` clients; the server keeps all of them."""
        return msgspec.structs.replace(self, slots=max(1, self.slots // workers))

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """The model's file, where it is one."""
        return {} if self.model in MODELS else {("model",): self.model}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """Another place of it."""
        return msgspec.structs.replace(self, model=paths.get(("model",), self.model))

    @contextlib.contextmanager
    def launched(self) -> Iterator[Self]:
        """Starts the server, and ends it after the block. Raises MissingDependencyError, InputError, BuildError."""
        if self.url:
            yield self
            return
        path = _file(self.model)
        digest = MODELS[self.model].sha256 if self.model in MODELS else sha256_of(path)
        with _serving(self, path) as url:
            yield msgspec.structs.replace(self, url=url, identity=f"{path.stem}@{digest[:12]}")


def _file(model: str) -> Path:
    if model in MODELS:
        return assemble(model)
    path = Path(model)
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the path of a .gguf file, or one of {', '.join(MODELS)}")
    return path


@contextlib.contextmanager
def _serving(config: LocalConfig, path: Path) -> Iterator[str]:
    """The address of a server of its own process; it ends with the block, and with this process however that ends."""
    if find_spec("xllamacpp") is None:
        raise MissingDependencyError(f"the local backend needs xllamacpp, which is not installed; {cure(EXTRA)}")
    settings = Settings(
        model=str(path.absolute()),
        context=config.context,
        slots=config.slots,
        threads=config.threads or len(os.sched_getaffinity(0)),
    )
    command = [sys.executable, "-m", llama_module(), msgspec.json.encode(settings).decode()]
    with tempfile.TemporaryFile(prefix="trivium-") as log:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            yield _address(child, config.start_seconds, log)
            if child.poll() is not None:
                raise BuildError(f"the model's server ended while it was needed ({_ending(child, log)})")
        finally:
            child.kill()
            child.communicate()


def llama_module() -> str:
    """The import name of the server's program."""
    from trivium.data.rephrase.backends import llama_server

    return llama_server.__name__


def _address(child: "subprocess.Popen[bytes]", seconds: float, log: IO[bytes]) -> str:
    """The first line that the server prints, which it does once its model is loaded. Raises BuildError."""
    assert child.stdout is not None
    end, line = time.monotonic() + seconds, b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise BuildError(f"the model's server was not ready within the {seconds:g} s of start_seconds")
        part = os.read(child.stdout.fileno(), 1024)
        if not part:
            child.wait()
            raise BuildError(f"the model's server did not start ({_ending(child, log)})")
        line += part
    return line.decode().strip()


def _ending(child: "subprocess.Popen[bytes]", log: IO[bytes]) -> str:
    """Its exit code and the end of what it said."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG))
    said = " ".join(log.read().decode("utf-8", "replace").split())
    return f"exit code {child.returncode}: {said}" if said else f"exit code {child.returncode}"
