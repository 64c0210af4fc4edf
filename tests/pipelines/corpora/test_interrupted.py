"""Ctrl-C in a build: one line that says what the same command will do, and that comes true."""

import signal
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
        (0, "interrupted in the first job; the same command begins anew, and nothing half-written is left"),
        (2, "interrupted; 2 jobs done in {out}/.build: the same command goes on behind 'exact_dedup' (--fresh begins"),
    ],
)
def test_ctrl_c_says_what_the_same_command_will_do(tmp_path, monkeypatch, capsys, jobs, said):
    """A SIGINT when so many jobs are marked as done; then what is told comes true."""
    (tmp_path / "pages").mkdir()
    for name in ("reed", "moss"):
        (tmp_path / f"pages/{name}.html").write_text(f"<p>{name} {'grows here ' * 20}</p>")
    recipe, out, mark = tmp_path / "recipe.yaml", tmp_path / "out", Marks.write
    recipe.write_text(RECIPE)

    def interrupted(marks: Marks, **given: Any) -> Done:
        if jobs == 0:
            signal.raise_signal(signal.SIGINT)
        done = mark(marks, **given)
        if len(list((out / ".build/done").iterdir())) == jobs:
            signal.raise_signal(signal.SIGINT)
        return done

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts with & would ignore it
    with monkeypatch.context() as patch:
        patch.setattr(Marks, "write", interrupted)
        patch.setattr("sys.argv", ["trivium", "build", str(recipe), "--out", str(out)])
        with pytest.raises(SystemExit) as ended:
            main()
    signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (130, "")
    assert said.replace("{out}", str(out)) in " ".join(shown.err.split())
    assert "Traceback" not in shown.err
    assert not (out / "manifest.json").exists()
    told: list[str] = []

    def at_once(label: str, *_: object) -> None:
        raise StoppedError(label)

    with pytest.raises(StoppedError, match="exact_dedup: keep" if jobs else "read → extract_html"):
        run(load_recipe(recipe), tmp_path, out, BeamOptions(), progress=at_once, tell=told.append)
    goes_on = ["an earlier run stopped here: goes on behind 'exact_dedup', 2 jobs used again"]
    assert told == (goes_on if jobs else [])
