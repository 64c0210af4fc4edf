"""What runs inside a page: our own JavaScript, one function a file."""

from pathlib import Path


def script(name: str) -> str:
    """The text of a script beside this module."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
