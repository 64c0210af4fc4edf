"""Pictures of `trivium shards show` in a terminal of its own: drawn in pixels, or as half blocks."""

import fcntl
import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import PIL.Image
import pytest

from trivium.data.records import Document, Image, Meta, Text, finish, source_id
from trivium.data.shards import Manifest, write_set


@pytest.fixture
def icon(tmp_path):
    """A set of one record with one picture."""
    target = io.BytesIO()
    PIL.Image.new("RGB", (24, 24), (200, 30, 30)).save(target, "PNG")
    address = "https://icons.org/1"
    key = source_id("icons", address)
    meta = Meta(source_id=key, corpus="icons", domain="d", source="icons-pages", address=address, license="MIT")
    segments = (Image(media="i0.png", width=24, height=24, mime="image/png"), Text(text="An icon. " * 20))
    media = {"i0.png": target.getvalue()}
    document = finish(Document(segments=segments, meta=meta), media)
    write_set(tmp_path / "icons", [(document, media)], Manifest(corpus="icons", domain="d", recipe=""))
    return tmp_path / "icons", document.id


def in_terminal(arguments, *, sixel, seconds=60):
    """What a terminal gets that answers the question for its abilities; with sixel (4) or without."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 800, 640))  # rows, columns, pixels
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    command = [sys.executable, "-m", "trivium", *map(str, arguments)]
    child = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment, start_new_session=True)
    os.close(side)
    said, answered, end = b"", 0, time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([main], [], [], 0.1)
        if ready:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        asked = said.count(b"\x1b[c")
        for _ in range(asked - answered):
            os.write(main, b"\x1b[?62;4c" if sixel else b"\x1b[?62c")
        answered = asked
    child.wait(10)
    os.close(main)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("sixel", [True, False])
def test_pictures_are_drawn_as_the_terminal_can(icon, sixel):
    pytest.importorskip("textual_image")
    folder, key = icon
    said = in_terminal(["shards", "show", folder, key], sixel=sixel)
    assert (b"\x1bP" in said and b"q" in said) == sixel, said[:2000]  # the introducer of sixel data
    assert ("▀".encode() in said) != sixel
