"""What the engines that are programs share: that they are installed, which version, and what else decides pixels."""

import functools
import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path

from trivium.data.guard import Limits, Outcome, Profile, run
from trivium.data.guard.program import locate
from trivium.errors import GuardError, MissingDependencyError

# A name in quotes, or in angles behind the words that read a file, that leads out of the scene's own folder.
_OUTWARD = re.compile(
    r"""(?:"|\b(?:use|include)\s*<)(?P<name>(?:/|[A-Za-z]:[\\/]|[a-z]{2,}://|[^">\n]*\.\.[\\/])[^">\n]*)"""
)
_COMMENT = re.compile(r"""(?P<string>"(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)


def need(program: str, packages: str) -> None:
    """Raises MissingDependencyError with the command that brings the program."""
    try:
        locate(program)
    except MissingDependencyError:
        raise MissingDependencyError(
            f"{program} is not installed; run: apt-get install --no-install-recommends {packages}"
        ) from None


def told(argv: Sequence[str], profile: Profile) -> str:
    """What a program says of itself, behind the walls."""
    outcome = run(argv, limits=Limits(threads=64), profile=profile)
    return (outcome.stdout + b"\n" + outcome.stderr).decode(errors="replace")


@functools.cache
def digest_of(folders: tuple[str, ...]) -> str:
    """12 hex digits over names and contents of all files below the folders: standard includes, fonts."""
    sums = hashlib.sha256()
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                sums.update(f"{path.relative_to(folder)}\0".encode())
                sums.update(hashlib.sha256(path.read_bytes()).digest())
    return sums.hexdigest()[:12]


def wait_for_next_second() -> None:
    """Before a second run of code that may read the clock: within one second it would say the same again."""
    time.sleep(1.01 - time.time() % 1)


def ended(outcome: Outcome) -> None:
    """Raises GuardError with the guard's reason when a limit ended the program."""
    if outcome.reason:
        raise GuardError(outcome.reason, outcome.detail)


def wanting(reason: str, detail: str, code: str) -> GuardError:
    """Why a scene that lacks a file or fails is refused: `external_reference` where its code names a place outside."""
    found = _OUTWARD.search(_COMMENT.sub(lambda one: one["string"] or " ", code))
    if found is None:
        return GuardError(reason, detail)
    return GuardError("external_reference", f"it names {found['name'][:120]!r}, outside its own files; {detail}")
