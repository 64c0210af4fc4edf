"""Ctrl-C and SIGTERM in a build: one line that says what the same command will do, and that comes true."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from trivium.cli import main
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import run
from trivium.pipelines.corpora.marks import Done, Marks
from trivium.pipelines.corpora.recipe import load_recipe

RECIPE = """
version: 1
corpus: stopped
domain: test
sources:
  - {kind: html_folder, name: pages, path: pages, license: CC0-1.0}
stages:
  - {kind: extract_html}
  - {kind: exact_dedup}
"""


class StoppedError(Exception):
    """What ends a run in this process."""


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        (0, "{how} in the first job; the same command begins anew, and nothing half-written is left"),
        (2, "{how}; 2 jobs done in {out}/.build: the same command goes on behind 'exact_dedup' (--fresh begins"),
    ],
)
@pytest.mark.parametrize(
    ("sent", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "stopped by SIGTERM")]
)
def test_a_signal_says_what_the_same_command_will_do(tmp_path, monkeypatch, capsys, jobs, said, sent, code, how):
    """A signal when so many jobs are marked as done; then what is told comes true."""
    (tmp_path / "pages").mkdir()
    for name in ("reed", "moss"):
        (tmp_path / f"pages/{name}.html").write_text(f"<p>{name} {'grows here ' * 20}</p>")
    recipe, out, mark = tmp_path / "recipe.yaml", tmp_path / "out", Marks.write
    recipe.write_text(RECIPE)

    def interrupted(marks: Marks, **given: Any) -> Done:
        if jobs == 0:
            signal.raise_signal(sent)
        done = mark(marks, **given)
        if len(list((out / ".build/done").iterdir())) == jobs:
            signal.raise_signal(sent)
        return done

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts with & would ignore it
    term, quiet, hook = signal.getsignal(signal.SIGTERM), logging.root.manager.disable, threading.excepthook
    with monkeypatch.context() as patch:
        patch.setattr(Marks, "write", interrupted)
        patch.setattr("sys.argv", ["trivium", "build", str(recipe), "--out", str(out)])
        with pytest.raises(SystemExit) as ended:
            main()
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGTERM, term)  # what is left as it is where the process ends
    logging.disable(quiet)
    threading.excepthook = hook
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (code, "")
    assert said.replace("{out}", str(out)).replace("{how}", how) in " ".join(shown.err.split())
    if jobs:
        told = json.loads((out / "report/report.json").read_bytes())["stopped"]
        assert told == ("interrupted" if sent == signal.SIGINT else how)
    assert "Traceback" not in shown.err
    assert not (out / "manifest.json").exists()
    told: list[str] = []

    def at_once(label: str, *_: object) -> None:
        raise StoppedError(label)

    with pytest.raises(StoppedError, match="exact_dedup: keep" if jobs else "read → extract_html"):
        run(load_recipe(recipe), tmp_path, out, BeamOptions(), progress=at_once, tell=told.append)
    goes_on = ["an earlier run stopped here: goes on behind 'exact_dedup', 2 jobs used again"]
    assert told == (goes_on if jobs else [])


def test_sigterm_to_the_whole_group_ends_workers_and_build_with_one_message(tmp_path):
    """As a batch system sends it, twice: each worker gets it too, and what they say of it is not the user's concern."""
    (tmp_path / "texts").mkdir()
    lines = (json.dumps({"text": f"{number} " + "reeds and moss " * 200}) for number in range(20_000))
    (tmp_path / "texts/a.jsonl").write_text("\n".join(lines))
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("html_folder", "jsonl").replace("path: pages", "path: texts"))
    stages = "stages=[{kind: unicode}, {kind: exact_dedup}]"
    given = ["build", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "out"), "--set", stages]
    two = ["--", "--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    run = [sys.executable, "-m", "trivium", *given, *two]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 200
    while not any(path.stat().st_size for path in (tmp_path / "out").glob(".build/*/spool/*.spool")):
        assert process.poll() is None, "the build ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGTERM)
    out, told = process.communicate(timeout=100)
    said = "error: stopped by SIGTERM in the first job; the same command begins anew, and nothing half-written is left"
    assert (process.returncode, out, told.splitlines()) == (143, "", ["read → unicode …", said])
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # none of the group is left
