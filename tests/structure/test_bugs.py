"""The page of other tools' bugs names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/corpora/bugs.md"
TEXT_ROWS = {1, 2, 4, 6, 8, 9, 10, 11, 12, 13, 18, 21, 22, 31, 32}


def test_every_bug_that_touches_text_has_tests_that_exist() -> None:
    rows = {
        int(number): re.findall(r"`(tests/[^`]+\.py)::(test_\w+)`", rest)
        for number, rest in re.findall(r"^\| (\d+) \|(.*)$", PAGE.read_text(), re.MULTILINE)
    }
    assert set(rows) == TEXT_ROWS
    for number, tests in rows.items():
        assert tests, f"row {number} names no test"
        for path, name in tests:
            assert f"def {name}(" in (ROOT / path).read_text(), f"row {number}: {path} has no {name}"
