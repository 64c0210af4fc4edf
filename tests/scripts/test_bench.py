"""The benchmarks' front door: what it says of itself and of wrong words, without measuring anything."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "scripts/bench.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_is_help() -> None:
    done = bench("--help")
    assert done.returncode == 0
    for said in ("usage: bench.py", "--host", "[WORD ...]", "make bench ARGS="):
        assert said in done.stdout


def test_wrong_words_and_options_end_with_2() -> None:
    done = bench("--host", "nonesuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no benchmark's name holds ['nonesuch']; there are: curriculum, " in done.stderr
    done = bench("--host", "--quick")
    assert done.returncode == 2
    assert "--quick: no such option here" in done.stderr
