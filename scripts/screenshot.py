"""Pictures of a gallery or report for the documentation: one page of ours in headless Chromium, at most so many bytes.

    python scripts/screenshot.py PAGE.html docs/corpora/img/svg-cards.png
    python scripts/screenshot.py PAGE.html docs/corpora/img/svg-edit.png --task edit --open 3
    python scripts/screenshot.py PAGE.html docs/corpora/img/svg-boxes.png --task coordinates --find "bar chart" --open 1

`--task`, `--engine`, `--corpus` and `--find` set the page's own filters; `--open N` opens the N-th card then shown.
A picture above the bound loses colours first, then size.
"""

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

CHROMIUM = "/usr/lib/chromium/chromium"
MOST = 300_000  # bytes
FILTERS = ("corpus", "task", "engine", "kind")


def main(given: list[str] | None = None) -> int:
    wanted = parser().parse_args(given)
    payload = fitted(shot(wanted), wanted.most)
    wanted.target.parent.mkdir(parents=True, exist_ok=True)
    wanted.target.write_bytes(payload)
    width, height = Image.open(io.BytesIO(payload)).size
    print(f"{wanted.target}: {width} × {height}, {len(payload):,} bytes")
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("page", type=Path, help="the HTML file")
    made.add_argument("target", type=Path, help="the PNG to write")
    made.add_argument("--size", default="1360x860", help="of the window, in pixels (1360x860)")
    made.add_argument("--tab", default="records", help="records, clusters, rejects, funnel or sets")
    for name in FILTERS:
        made.add_argument(f"--{name}", default="", help=f"a choice of the page's filter of that name: {name}")
    made.add_argument("--find", default="", help="words for the page's search")
    made.add_argument("--open", type=int, default=0, metavar="N", help="open the N-th card, from 1")
    made.add_argument("--dark", action="store_true")
    made.add_argument("--most", type=int, default=MOST, help=f"bytes of the picture ({MOST:,})")
    return made


def shot(wanted: argparse.Namespace) -> bytes:
    """The window as PNG; nothing but the page itself is loaded."""
    from playwright.sync_api import sync_playwright

    width, height = map(int, wanted.size.split("x"))
    with sync_playwright() as playwright:
        # The page is a file of ours that loads nothing, and Chromium's own sandbox can't work for root.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        window = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if wanted.dark else "light",
            offline=True,
        )
        page = window.new_page()
        page.goto(wanted.page.resolve().as_uri())
        if wanted.tab != "records":
            page.click(f"nav [data-tab={wanted.tab}]")
        for name in FILTERS:
            if getattr(wanted, name):
                value = getattr(wanted, name)
                page.select_option(f"#{name}", value if name == "kind" else f"={value}")
        if wanted.find:
            page.fill("#search", wanted.find)
        if wanted.open:
            page.click(f"#records .card:nth-child({wanted.open})")
        page.wait_for_timeout(500)
        taken: bytes = page.screenshot()
        browser.close()
    return taken


def fitted(payload: bytes, most: int) -> bytes:
    """The picture in at most `most` bytes: all its colours, else 256 and fewer of them, else smaller too."""
    for candidate in candidates(payload):
        if len(candidate) <= most:
            return candidate
    raise SystemExit(f"no picture of this page fits in {most:,} bytes; give a smaller --size, or a larger --most")


def candidates(payload: bytes) -> Iterator[bytes]:
    picture = Image.open(io.BytesIO(payload)).convert("RGB")
    yield encoded(picture)
    for scale in (1.0, 0.8, 0.65, 0.5):
        size = round(picture.width * scale), round(picture.height * scale)
        smaller = picture.resize(size, Image.Resampling.LANCZOS) if scale < 1 else picture
        for colors in (256, 128, 64):
            yield encoded(smaller.quantize(colors, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE))


def encoded(picture: Image.Image) -> bytes:
    target = io.BytesIO()
    picture.save(target, "PNG", optimize=True)
    return target.getvalue()


if __name__ == "__main__":
    sys.exit(main())
