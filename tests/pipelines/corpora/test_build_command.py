"""`trivium build` as a user meets it: facts, one-screen errors, a full disk, a killed build."""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from trivium.cli import main
from trivium.commands.build import print_report

TWO = ("--", "--direct_num_workers=2", "--direct_running_mode=multi_processing")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "trivium", "build", *map(str, arguments)]


def trivium_build(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=250, check=False, **more)


class Said(NamedTuple):
    """What a command wrote, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(monkeypatch, capsys) -> Callable[..., Said]:
    """The same command in this process, which has imported all that it needs."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", command(*arguments)[2:])
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code or 0, *capsys.readouterr())

    return run


def sums(folder: Path) -> dict[str, str]:
    """sha256 of every file but the report's, which tells of times."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "report")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def one_screen(run: Said | subprocess.CompletedProcess[str]) -> str:
    """The message; it must be short, without a traceback, and standard output must be clean."""
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) <= 12, run.stderr
    return run.stderr


def fewer(inputs: Path) -> tuple[str, ...]:
    """Another recipe of the same corpus: one folder of pages, extracted, in two jobs instead of eleven."""
    source = f"{{kind: html_folder, name: faq, path: {inputs / 'faq'}, license: PSF-2.0}}"
    return ("--set", f"sources=[{source}]", "--set", "stages=[{kind: extract_html}]")


def test_facts_as_json_are_the_manifest(recipe_file, tmp_path):
    run = trivium_build(recipe_file, "--out", tmp_path / "out", *fewer(recipe_file.parent / "inputs"), "--json")
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    facts, manifest = json.loads(run.stdout), json.loads((tmp_path / "out/manifest.json").read_text())
    assert facts["funnel"] == manifest["funnel"]
    assert facts["records"] == sum(shard["records"] for shard in manifest["shards"]) > 0


def test_the_table_says_that_a_stage_had_more_reasons(capsys):
    reasons = [{"reason": name, "count": count} for name, count in zip("abcde", (9, 4, 3, 2, 1), strict=True)]
    stage = {"name": "draw", "in": 20, "kept": 1, "dropped": 19, "reasons": reasons}
    print_report({"corpus": "c", "stages": [stage], "run": {"stages": []}})
    said = capsys.readouterr().out
    assert "2 more: 3 (in the report)" in said
    print_report({"corpus": "c", "stages": [{**stage, "reasons": reasons[:3]}], "run": {"stages": []}})
    assert "more:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "stages.0.max_dept=3"), "did you mean 'max_depth'"),
        (
            ("--set", "sources.0.path=nowhere"),
            "(path nowhere, relative to where the command runs; in a recipe, to the recipe); mend `path`",
        ),
        (("--", "--direct_worker=2"), "Beam has no option --direct_worker"),
        (("--", "--runner=DirectRunner"), "is refused"),
        (("--", "--runner=Nope"), "Beam has no runner 'Nope'; known: DataflowRunner, FlinkRunner, FnApiRunner"),
        (("--set", "stages=[{kind: language}]"), "put extract_html before it"),
        (("--out", "{inputs}/faq/out"), "lies in what source 'faq' reads"),
        (("--out", "{inputs}"), "holds what source 'faq' reads"),
    ],
)
def test_wrong_usage_is_refused_before_any_work(recipe_file, tmp_path, here, arguments, message):
    inputs = recipe_file.parent / "inputs"
    before = sums(inputs)
    run = here(recipe_file, "--out", tmp_path / "out", *(one.replace("{inputs}", str(inputs)) for one in arguments))
    assert run.returncode == 2
    assert message in one_screen(run)
    assert not (tmp_path / "out").exists()
    assert sums(inputs) == before


def test_a_folder_of_someone_else_is_refused(recipe_file, tmp_path, here):
    (tmp_path / "letter.txt").write_text("dear")
    run = here(recipe_file, "--out", tmp_path)
    assert run.returncode == 2
    assert "holds letter.txt" in one_screen(run)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """A tmpfs of that size on `folder`; yields False where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    options = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(options, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [16, 400])
def test_a_full_disk_is_one_message_and_nothing_half_written(recipe_file, built, build_small, tmp_path, kilobytes):
    """Full at once, and in the middle; then, with room, the same command succeeds over what the latter left."""
    disk = tmp_path / "disk"
    with small_disk(disk, kilobytes) as mounted:
        limit = None if mounted else (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 50,) * 2))
        run = trivium_build(recipe_file, "--out", disk / "out", preexec_fn=limit)
        assert run.returncode == 1, run.stderr
        assert "no room left to write" in one_screen(run)
        assert {path.name for path in (disk / "out").iterdir()} <= {".build"}
        if kilobytes == 16:
            return
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        build_small(disk / "out")
        assert sums(disk / "out") == sums(built)


def workers_of(process: int) -> list[int]:
    """The Beam worker processes that a build has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            if parent == process and b"trivium.pipelines.worker" in (entry.parent / "cmdline").read_bytes():
                found.append(int(entry.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["worker", pytest.param("driver", marks=pytest.mark.soak)])
def test_a_build_whose_driver_or_worker_is_killed_leaves_no_half_shard_and_can_be_run_again(
    recipe_file, built, build_small, tmp_path, whom
):
    """In short, a killed driver is test_beam's (its workers die) and test_resume's (what it left is gone on with)."""
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        command(recipe_file, "--out", out, *TWO), stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + 200
    while not any(path.stat().st_size for path in out.glob(".build/*/spool/*.spool")):
        assert process.poll() is None, "the build ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid if whom == "driver" else workers_of(process.pid)[0], signal.SIGKILL)
    _, told = process.communicate(timeout=200)
    assert process.returncode == (-signal.SIGKILL if whom == "driver" else 1)
    assert whom == "driver" or "a Beam worker process died (signal SIGKILL)" in " ".join(told.split())
    assert [path.name for path in out.iterdir()] == [".build"]
    assert list(temporary.iterdir()) == []
    build_small(out)
    assert sums(out) == sums(built)


def test_another_recipe_of_the_same_corpus_is_said_and_another_corpus_refused(recipe_file, built, tmp_path, here):
    shutil.copytree(built, tmp_path / "out")
    before = json.loads((built / "manifest.json").read_text())["recipe"]
    other = here(recipe_file, "--out", tmp_path / "out", "--set", "corpus=others")
    assert other.returncode == 2
    assert "and this recipe makes 'others'" in one_screen(other)
    run = here(recipe_file, "--out", tmp_path / "out", *fewer(recipe_file.parent / "inputs"), "--json")
    assert run.returncode == 0, run.stderr
    (line,) = run.stderr.splitlines()
    assert f"by recipe {before[:12]}…, is replaced by that of recipe {json.loads(run.stdout)['recipe'][:12]}…" in line
