"""The only fonts that drawings with words are drawn in: DejaVu's six core faces (Debian: fonts-dejavu-core).

A guarded child sees this folder alone, under a fontconfig of ours (fonts.conf), so no machine's taste enters a picture.
"""

import functools
import hashlib
import re
from pathlib import Path

from trivium.data.guard import Profile
from trivium.errors import MissingDependencyError

FOLDER = "/usr/share/fonts/truetype/dejavu"
CONFIG = Path(__file__).with_name("fonts.conf")
FACES = {  # (family, bold) → file
    ("DejaVu Sans", False): "DejaVuSans.ttf",
    ("DejaVu Sans", True): "DejaVuSans-Bold.ttf",
    ("DejaVu Serif", False): "DejaVuSerif.ttf",
    ("DejaVu Serif", True): "DejaVuSerif-Bold.ttf",
    ("DejaVu Sans Mono", False): "DejaVuSansMono.ttf",
    ("DejaVu Sans Mono", True): "DejaVuSansMono-Bold.ttf",
}
FAMILIES = frozenset(family for family, _ in FACES)
_FAMILY = re.compile(r'font-family="([^"]*)"')


def profile() -> Profile:
    """The walls of a child that draws words."""
    return Profile(name="svg", fonts=(FOLDER,), environment={"FONTCONFIG_FILE": str(CONFIG)})


def check() -> None:
    """Raises MissingDependencyError when a face is absent."""
    absent = [name for name in FACES.values() if not Path(FOLDER, name).is_file()]
    if absent:
        raise MissingDependencyError(
            f"drawings need the fonts of DejaVu, and {FOLDER} has no {', '.join(absent)}; run: apt-get install "
            "fonts-dejavu-core"
        )


@functools.cache
def digest() -> str:
    """12 hex digits of sha256 over the six faces and our fontconfig."""
    found = hashlib.sha256(CONFIG.read_bytes())
    for name in FACES.values():
        found.update(Path(FOLDER, name).read_bytes())
    return found.hexdigest()[:12]


def foreign(code: str) -> str:
    """The first family in canonical code that is not one of ours; empty when there is none."""
    return next((family for family in _FAMILY.findall(code) if family not in FAMILIES), "")


def files_for(code: str) -> tuple[str, ...]:
    """The faces that canonical code may use; loading all of them would take the checking engine longer than drawing."""
    if "<text" not in code:
        return ()
    families = set(_FAMILY.findall(code)) or {"DejaVu Sans"}
    weights = {False, True} if "font-weight" in code else {False}
    return tuple(f"{FOLDER}/{name}" for (family, bold), name in FACES.items() if family in families and bold in weights)
