"""Hostile pages of markup alone, each with the reason for which it must be refused: (main file, files, reason)."""

import struct
import zlib

Case = tuple[str, dict[str, bytes], str]


def png(width: int, height: int) -> bytes:
    """A PNG whose header promises width × height pixels, with hardly a byte behind it."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 64))]
    parts.append((b"IEND", b""))
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def page(body: str, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><title>x</title>{head}</head><body><h1>Words</h1>{body}</body></html>".encode()


def one(body: bytes, reason: str, **beside: bytes) -> Case:
    return "index.html", {"index.html": body, **beside}, reason


def cases(web: str, canary: str) -> dict[str, Case]:
    """Name → (main, files, reason)."""
    return {**_outside(web, canary), **_large(), **_broken()}


# What a browser without scripts does not even ask for leaves a page with hardly anything on it; what leads to a path of
# this machine is looked up among the page's own files.
_REASONS = {
    **dict.fromkeys(
        ("picture_absolute", "picture_above", "picture_above_encoded", "picture_backslash"), "missing_file"
    ),
    **dict.fromkeys(("svg_use", "icon", "connection", "refresh", "script"), "blank"),
    "preload": "blank|external_reference",  # asked for once the browser has nothing else to do, or not at all
}


def _outside(web: str, canary: str) -> dict[str, Case]:
    markup = {
        "picture_web": f'<img src="{web}/x.png">',
        "picture_file": f'<img src="file://{canary}">',
        "picture_absolute": f'<img src="{canary}">',
        "picture_above": '<img src="../../../../etc/passwd">',
        "picture_above_encoded": '<img src="%2e%2e/%2e%2e/etc/passwd">',
        "picture_backslash": '<img src="..\\..\\etc\\passwd">',
        "picture_no_scheme": f'<img src="{web.partition(":")[2]}/x.png">',
        "picture_set": f'<img srcset="{web}/x.png 2x" src="">',
        "frame": f'<iframe src="{web}/x"></iframe>',
        "object": f'<object data="{web}/x"></object>',
        "embed": f'<embed src="{web}/x">',
        "video": f'<video poster="{web}/x.png" src="{web}/x.mp4"></video>',
        "svg_picture": f'<svg><image href="{web}/x.png" width="10" height="10"/></svg>',
        "svg_use": f'<svg><use href="{web}/x.svg#a"/></svg>',
        "style_url": f'<p style="background: url({web}/x.png)">x</p>',
        "style_url_file": f'<p style="background: url(file://{canary})">x</p>',
    }
    heads = {
        "style_sheet": f'<link rel="stylesheet" href="{web}/x.css">',
        "style_import": f"<style>@import url({web}/x.css);</style>",
        "style_font": f"<style>@font-face {{ font-family: a; src: url({web}/x.woff) }} h1 {{ font-family: a }}</style>",
        "icon": f'<link rel="icon" href="{web}/x.ico">',
        "preload": f'<link rel="preload" as="image" href="{web}/x.png">',
        "connection": f'<link rel="preconnect" href="{web}">',
        "refresh": f'<meta http-equiv="refresh" content="0; url={web}/x">',
        "base": f'<base href="{web}/"><link rel="stylesheet" href="x.css">',
        "script": f'<script src="{web}/x.js"></script>',
    }
    found = {name: one(page(body), _REASONS.get(name, "external_reference")) for name, body in markup.items()}
    return found | {
        f"head_{name}": one(page("", head), _REASONS.get(name, "external_reference")) for name, head in heads.items()
    }


def _large() -> dict[str, Case]:
    return {
        "many": one(page("<p>x</p>" * 300_000), "timeout"),
        "tall": one(page('<div style="height: 3000000px">x</div>'), "blank"),
        "a_long_text": one(page("x " * 12_000_000), "timeout"),
        "a_large_picture": one(page('<img src="a.png">'), "blank", **{"a.png": png(60_000, 60_000)}),
        "many_shadows": one(
            page("".join(f'<p style="box-shadow: {", ".join(["0 0 500px red"] * 200)}">x</p>' for _ in range(300))),
            "crashed|timeout",
        ),
        "filters": one(page('<div style="filter: ' + "blur(99px) " * 400 + '">x</div>'), "crashed|timeout"),
        "fan_out": one(
            page(
                "<svg><defs><g id='a0'><circle r='1'/></g>"
                + "".join(f"<g id='a{n}'>" + f"<use href='#a{n - 1}'/>" * 10 + "</g>" for n in range(1, 9))
                + "</defs><use href='#a8'/></svg>"
            ),
            "timeout",
        ),
    }


def _broken() -> dict[str, Case]:
    return {
        "empty": one(b"", "one_colour"),
        "nothing_seen": one(b"<!DOCTYPE html><html><body></body></html>", "one_colour"),
        "white_on_white": one(b'<body style="color: #fff; background: #fff">words</body>', "one_colour"),
    }
