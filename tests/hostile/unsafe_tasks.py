"""The renderers with every door open, for the proof that the guard's walls hold when the sanitiser is bypassed."""

import contextlib
import urllib.request

import cairosvg
import resvg_py


def draw_anything(payload: bytes) -> int:
    """cairosvg in its unsafe mode (entities, local files and addresses allowed), then resvg."""
    with contextlib.suppress(Exception):
        cairosvg.svg2png(bytestring=payload, unsafe=True, output_width=64)
    with contextlib.suppress(Exception):
        resvg_py.svg_to_bytes(svg_string=payload.decode("utf-8", "replace"), width=64, resources_dir="/etc")
    return 1


def fetch(address: str) -> int:
    with urllib.request.urlopen(address, timeout=3) as answer:
        return int(answer.status)
