"""Looks at the machine for `trivium doctor`. Nothing here raises: what can't be had is a finding."""

import ctypes
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec

from trivium.data.guard.layers import Layer, layers
from trivium.needs import DRAWS, Brought, apt, cure, install, requirements

State = Literal["ok", "partly", "missing", "broken"]

_PURPOSES = {
    "core": "everything",
    "build": "trivium build, tokenizer, demo",
    "train": "pages, plots, TensorBoard (optional in training)",
    "cad": "CAD and 3D corpora",
    "web": "web page rendering",
    "video": "video corpora",
    "remote": "shards at addresses (s3, gs, http)",
    "rephrase": "rephrasing by a model behind an endpoint",
    "rephrase-local": "rephrasing by a small model on this machine",
    "sixel": "pictures inside a terminal that knows sixel",
    "ray": "rephrasing by models on many GPUs",
    "dev": "make check, make test",
    "bench": "a peer beside ours in bench/loader.py",
    "quality": "trivium quality train",
    "interop": "independent models in tests/model/interop",
}
# What is lost without one package where the rest of its extra works on.
_PARTS = {
    "aiohttp": "http(s):// addresses",
    "gcsfs": "gs:// addresses",
    "s3fs": "s3:// addresses",
    "matplotlib": "plots",
    "tensorboard": "TensorBoard events",
    "tokenizers": "tokenizer.json files",
    "tiktoken": "rank files of tiktoken",
    "fastwarc": "WARC archives",
    "cairosvg": "SVG corpora",
    "decord": "the quick way through long clips",
    "trimesh": "meshes",
}


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One package of an extra; `version` is empty when it is not installed."""

    name: str
    version: str
    cure: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `required` says that Trivium can't work without it, `packages` are those of an extra."""

    name: str
    state: State
    found: str
    purpose: str
    required: bool = False
    cure: str = ""
    packages: tuple[Package, ...] = ()


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    python: str
    cores: int
    memory_gb: float
    disk_free_gb: float
    gpus: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    ok: bool
    version: str
    checks: tuple[Check, ...]
    isolation: tuple[Layer, ...]
    machine: Machine


def examine() -> Report:
    """Looks at Python, the packages of every extra, torch, system libraries, the sandbox, and the machine."""
    from trivium import __version__

    torch, gpus = _torch()
    checks = (
        _python(),
        *(_extra(extra, names) for extra, names in requirements().items()),
        torch,
        _triton(),
        _cairo(),
        *map(drawing, DRAWS),
        sandbox(),
    )
    machine = Machine(
        python=sys.executable,
        cores=len(os.sched_getaffinity(0)),
        memory_gb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
        disk_free_gb=shutil.disk_usage(Path.cwd()).free / 1e9,
        gpus=gpus,
    )
    ok = all(check.state == "ok" for check in checks if check.required)
    return Report(ok=ok, version=__version__, checks=checks, isolation=layers(), machine=machine)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    fits = (3, 11) <= sys.version_info[:2] < (3, 13)
    return Check(
        name="python",
        state="ok" if fits else "broken",
        found=found,
        purpose="everything (3.11 or 3.12)",
        required=True,
        cure="" if fits else "make setup PYTHON=/path/to/python3.12",
    )


def _extra(extra: str, names: list[str]) -> Check:
    packages = tuple(_package(name) for name in names)
    missing = [package.name for package in packages if not package.version]
    there = len(packages) - len(missing)
    count = f"{there} package{'s' * (there != 1)}"
    lost = ", ".join(f"{name} ({_PARTS[name]})" if name in _PARTS else name for name in missing)
    state: State = "ok" if not missing else "partly" if there else "missing"
    found = {"ok": count, "partly": f"{there} of {len(packages)}; without {lost}", "missing": "none of its packages"}
    return Check(
        name="packages: core" if extra == "core" else f"extra: {extra}",
        state="missing" if missing and extra == "core" else state,
        found=found[state],
        purpose=_PURPOSES.get(extra, extra),
        required=extra == "core",
        cure=cure(extra) if missing else "",
        packages=packages,
    )


def _package(name: str) -> Package:
    try:
        return Package(name=name, version=metadata.version(name))
    except metadata.PackageNotFoundError:
        return Package(name=name, version="", cure=install(name))


def _torch() -> tuple[Check, tuple[str, ...]]:
    """Torch is imported, not only looked up: a broken build shows at import."""
    purpose = "training, sampling"
    try:
        import torch
    except Exception as error:
        state: State = "missing" if isinstance(error, ModuleNotFoundError) else "broken"
        found = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Check(name="torch", state=state, found=found, purpose=purpose, required=True, cure=cure("core")), ()
    gpus = tuple(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    return Check(name="torch", state="ok", found=f"{torch.__version__} ({build})", purpose=purpose, required=True), gpus


def _triton() -> Check:
    purpose = "GPU kernels; their tests through the interpreter"
    try:
        return Check(name="triton", state="ok", found=metadata.version("triton"), purpose=purpose)
    except metadata.PackageNotFoundError:
        return Check(name="triton", state="missing", found="", purpose=purpose, cure=cure("dev"))


def _cairo() -> Check:
    purpose = "SVG corpora (cairosvg)"
    try:
        library = ctypes.CDLL("libcairo.so.2")
        library.cairo_version_string.restype = ctypes.c_char_p
        found = library.cairo_version_string().decode()
    except (OSError, AttributeError):
        return Check(name="libcairo2", state="missing", found="", purpose=purpose, cure=apt("libcairo2"))
    return Check(name="libcairo2", state="ok", found=found, purpose=purpose)


def drawing(one: Brought) -> Check:
    """Whether a program, library or family of fonts that draws is here, and in which version apt brought it."""
    try:
        here = (
            bool(ctypes.CDLL(one.sign))
            if ".so" in one.sign
            else bool(shutil.which(one.sign) or os.path.isfile(one.sign))
        )
    except OSError:
        here = False
    if not here:
        return Check(name=one.name, state="missing", found="", purpose=one.purpose, cure=apt(*one.packages))
    return Check(name=one.name, state="ok", found=_apt_version(one.packages[0]), purpose=one.purpose)


def _apt_version(package: str) -> str:
    """The version of a Debian package; "here" where it came in another way."""
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "here"
    return done.stdout.strip() or "here"


def sandbox() -> Check:
    """Runs a program under bubblewrap with no network, as the guard of untrusted input does."""
    purpose = "isolation of untrusted input; only with it strangers' code runs (CAD scripts, scenes, games, JSX pages)"
    program = shutil.which("bwrap")
    if program is None:
        command = apt("bubblewrap")
        return Check(name="sandbox", state="missing", found="no bwrap", purpose=purpose, cure=command)
    trial = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "/bin/true"]
    try:
        done = subprocess.run(trial, capture_output=True, text=True, timeout=20, check=False)
        complaint = done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        complaint = str(error)
    if complaint:
        command = "sudo sysctl kernel.unprivileged_userns_clone=1 (inside a container: allow user namespaces)"
        return Check(name="sandbox", state="broken", found=complaint, purpose=purpose, cure=command)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Check(name="sandbox", state="ok", found=f"{version}, works", purpose=purpose)
