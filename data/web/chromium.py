"""Debian's Chromium as it is started here: its walls, its flags, and what decides its pixels.

Flags are there for equal pixels: no hinting and no sub-pixel colours in text, one colour profile, no code chosen by
processor, pictures decoded before they are shown, animated pictures standing still.
"""

import functools
import hashlib
import subprocess
from importlib import metadata
from pathlib import Path

from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.stand_in import stand_in

CHROMIUM = "/usr/lib/chromium/chromium"
# Fonts that Debian's packages bring, and no others that the machine may have.
FONTS = (
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/truetype/liberation",
    "/usr/share/fonts/truetype/noto",
    "/usr/share/fontconfig",
    "/etc/fonts",
)
PROFILE = Profile(name="chromium", read=("/usr/lib/chromium",), fonts=FONTS, proc=True, sockets=True, reserves=True)
FLAGS = (
    "--disable-gpu",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--disable-skia-runtime-opts",
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
    "--disable-partial-raster",
    "--disable-threaded-animation",
    "--disable-smooth-scrolling",
    "--blink-settings=imageAnimationPolicy=2",
    "--js-flags=--max-old-space-size=512",
)


PLACE = "/scratch/user"  # of its profile: Playwright's own choice, which the last word wins over, is not in the sandbox


def start_file(folder: Path, limits: Limits) -> Path:
    """An executable in `folder` that starts the browser behind the walls; `pid` holds its process and its starter."""
    inner = stand_in(folder / PROFILE.name, CHROMIUM, limits, PROFILE)
    outer = folder / "start"
    outer.write_text(f'#!/bin/sh\necho $$ $PPID >"{folder}/pid"\nexec "{inner}" "$@" --user-data-dir={PLACE}\n')
    outer.chmod(0o755)
    return outer


@functools.cache
def environment() -> str:
    """`chromium 156.0…, playwright 1.65.2, fonts 3f2a…`; the digest is of the font files' names and bytes."""
    said = subprocess.run([CHROMIUM, "--version"], capture_output=True, text=True, timeout=60, env={}).stdout
    version = next((word for word in said.split() if word[:1].isdigit()), "unknown")
    return f"chromium {version}, playwright {metadata.version('playwright')}, fonts {_fonts()}"


def _fonts() -> str:
    found = hashlib.sha256()
    for folder in FONTS[:3]:
        for path in sorted(Path(folder).rglob("*.[to]tf")):
            found.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]
