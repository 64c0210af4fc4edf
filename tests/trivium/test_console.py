"""What goes to a terminal obeys us, not the text; what goes into a file is exact."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import BarColumn

from trivium import console
from trivium.console import inline, printable, say, size

HOSTILE = "a\x1b[2J\x07\tb\nc\r\x9b1m\u202ed\x00"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_controls_are_written_out_and_the_rest_stays() -> None:
    assert printable(HOSTILE) == "a\\x1b[2J\\x07\tb\nc\\r\\x9b1m\\u202ed\\x00"
    assert printable("straße 数 👩‍👩‍👧 \\x1b") == "straße 数 👩‍👩‍👧 \\x1b"


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    shown = printable(text)
    assert all(char in "\t\n" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in shown)
    assert printable(shown) == shown


@given(st.text())
def test_a_name_is_one_line(text: str) -> None:
    shown = inline(text)
    assert shown.splitlines() in ([], [shown])
    assert "\t" not in shown
    assert inline(shown) == shown
    assert inline("a\nb\tc\r\x1b[0m\u2028d ü") == "a\\nb\\tc\\r\\x1b[0m\\u2028d ü"


@pytest.mark.parametrize(
    ("stream", "raw", "exact"), [(Terminal, False, False), (Terminal, True, True), (io.StringIO, False, True)]
)
def test_only_a_terminal_gets_them_written_out(monkeypatch, stream, raw, exact) -> None:
    told = stream()
    monkeypatch.setattr(sys, "stdout", told)
    say(HOSTILE, raw=raw)
    assert told.getvalue() == (HOSTILE if exact else printable(HOSTILE)) + "\n"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (384, "384 bytes"),
        (999_600, "1 MB"),
        (16_018_252, "16 MB"),
        (5_559_863_674_368, "5.56 TB"),
        (10**16, "10,000 TB"),
    ],
)
def test_sizes_are_readable(count: int, shown: str) -> None:
    assert size(count) == shown


def test_a_bar_leaves_nothing_where_there_is_no_terminal(capsys, monkeypatch) -> None:
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=False))
    with console.progress(BarColumn()) as bar:
        bar.advance(bar.add_task("work", total=2))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=True, width=40))
    with console.progress(BarColumn()) as bar:
        bar.advance(bar.add_task("work", total=2))
    assert "━" in capsys.readouterr().err
