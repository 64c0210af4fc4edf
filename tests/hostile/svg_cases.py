"""The hostile SVG set: each file with the reason for which it must be refused.

Files are made, not stored: some are large, and some must name a listener's port. To look at them:

    python tests/hostile/svg_cases.py FOLDER
"""

import base64
import functools
import gzip
import struct
import sys
import zlib
from pathlib import Path

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
CIRCLE = '<circle cx="5" cy="5" r="4"/>'


def svg(body: str, *, root: str = 'viewBox="0 0 10 10"', before: str = "") -> bytes:
    return f"{before}<svg {NS} {root}>{body}</svg>".encode()


def png(width: int, height: int) -> bytes:
    """A PNG whose header promises width × height pixels, with hardly a byte behind it."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 64))]
    parts.append((b"IEND", b""))
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def image(kind: str, payload: bytes) -> bytes:
    uri = f"data:image/{kind};base64,{base64.b64encode(payload).decode()}"
    return svg(f'<image width="10" height="10" href="{uri}"/>{CIRCLE}')


def fan_out(levels: int, width: int) -> str:
    """`width` to the power of `levels` circles from a few lines."""
    lines = [f'<g id="l0">{CIRCLE}</g>']
    for level in range(1, levels + 1):
        lines.append(f'<g id="l{level}">' + f'<use xlink:href="#l{level - 1}"/>' * width + "</g>")
    return f'<defs>{"".join(lines)}</defs><use href="#l{levels}"/>'


def patterns(levels: int) -> str:
    nested = "".join(
        f'<pattern id="p{n}" width="1" height="1">'
        + f'<rect width="9" height="9" fill="url(#p{n - 1})"/>' * 10
        + "</pattern>"
        for n in range(1, levels + 1)
    )
    first = f'<pattern id="p0" width="1" height="1">{CIRCLE}</pattern>'
    return f'{first}{nested}<rect width="9" height="9" fill="url(#p{levels})"/>'


def entities() -> str:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE svg [<!ENTITY e0 "ha">{lines}]>'


def cases(web: str) -> dict[str, tuple[bytes, str]]:
    """Name → (bytes, reason). `web` is an address such as http://127.0.0.1:4711 that must never be asked."""
    return {**xml_cases(web), **reference_cases(web), **active_cases(web), **size_cases(), **junk_cases()}


def xml_cases(web: str) -> dict[str, tuple[bytes, str]]:
    text = "<title>&x;</title>" + CIRCLE
    return {
        "entity_bomb": (svg("<title>&e9;</title>" + CIRCLE, before=entities()), "doctype"),
        "quadratic_entity": (
            svg("<desc>" + "&a;" * 5000 + "</desc>", before=f'<!DOCTYPE svg [<!ENTITY a "{"a" * 50000}">]>'),
            "doctype",
        ),
        "external_file": (svg(text, before='<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "doctype"),
        "external_web": (svg(text, before=f'<!DOCTYPE svg [<!ENTITY x SYSTEM "{web}/xxe">]>'), "doctype"),
        "parameter_entity": (svg(text, before=f'<!DOCTYPE svg [<!ENTITY % x SYSTEM "{web}/pe"> %x;]>'), "doctype"),
        "external_dtd": (svg(CIRCLE, before=f'<!DOCTYPE svg SYSTEM "{web}/svg.dtd" [ ]>'), "doctype"),
        "entity_of_external_dtd": (svg(text, before=f'<!DOCTYPE svg SYSTEM "{web}/svg.dtd">'), "bad_xml"),
        "style_sheet_pi": (
            svg(CIRCLE, before=f'<?xml-stylesheet href="{web}/style.css" type="text/css"?>'),
            "external_reference",
        ),
    }


def reference_cases(web: str) -> dict[str, tuple[bytes, str]]:
    bodies = {
        "image_web": f'<image width="9" height="9" href="{web}/a.png"/>',
        "image_xlink_web": f'<image width="9" height="9" xlink:href="{web}/b.png"/>',
        "image_scheme_relative": f'<image width="9" height="9" href="{web[5:]}/c.png"/>',
        "image_file": '<image width="9" height="9" href="file:///etc/passwd"/>',
        "image_path": '<image width="9" height="9" href="../../../../etc/passwd"/>',
        "use_web": f'<use href="{web}/sprite.svg#a"/>',
        "gradient_web": f'<linearGradient id="a" href="{web}/g.svg#b"/>{CIRCLE}',
        "css_import": f'<style>@import "{web}/d.css";</style>{CIRCLE}',
        "css_import_url": f"<style>@import url({web}/e.css);</style>{CIRCLE}",
        "css_font": f"<style>@font-face {{ font-family: x; src: url({web}/f.woff) }}</style>{CIRCLE}",
        "css_url": f"<style>circle {{ fill: url({web}/g.svg#p) }}</style>{CIRCLE}",
        "css_escaped_url": f'<circle r="4" style="fill:u\\72l({web}/h.svg#p)"/>',
        "css_nested_url": f'<circle r="4" style="fill:image-set(url({web}/i.png) 1x)"/>',
        "style_url": f'<circle r="4" style="fill:url(\'{web}/j.svg#p\')"/>',
        "css_background": f'<circle r="4" style="background:url({web}/p.png)"/>',
        "fill_url": f'<circle r="4" fill="url({web}/k.svg#p)"/>',
        "fill_url_upper_case": f'<circle r="4" fill=" URL( {web}/l.svg#p ) red"/>',
        "filter_url": f'<circle r="4" filter="url({web}/m.svg#f)"/>',
        "mask_url": f'<circle r="4" mask="url({web}/n.svg#m)"/>',
        "marker_url": f'<path d="M0 0L9 9" marker="x" style="marker:url({web}/o.svg#m)"/>',
    }
    return {name: (svg(body), "external_reference") for name, body in bodies.items()}


def active_cases(web: str) -> dict[str, tuple[bytes, str]]:
    return {
        "script": (svg(f"<script>fetch('{web}/s')</script>{CIRCLE}"), "script"),
        "script_web": (svg(f'<script href="{web}/s.js"/>{CIRCLE}'), "script"),
        "script_utf16": (svg(f"<script>alert(1)</script>{CIRCLE}").decode().encode("utf-16"), "script"),
        "onload": (svg(CIRCLE, root=f'viewBox="0 0 9 9" onload="fetch(\'{web}/o\')"'), "script"),
        "onclick": (svg('<circle r="4" onClick="alert(1)"/>'), "script"),
        "javascript_link": (svg(f'<a href="java\tscript:alert(1)">{CIRCLE}</a>'), "script"),
        "xhtml_script": (svg(f'<h:script xmlns:h="http://www.w3.org/1999/xhtml">x</h:script>{CIRCLE}'), "script"),
        "foreign_object": (svg(f'<foreignObject><iframe src="{web}/f"/></foreignObject>{CIRCLE}'), "foreign_object"),
        "animation": (svg('<circle r="4"><animate attributeName="r" values="1;9"/></circle>'), "animation"),
        "set_href": (svg(f'<a><set attributeName="href" to="{web}/x"/>{CIRCLE}</a>'), "animation"),
    }


@functools.cache
def size_cases() -> dict[str, tuple[bytes, str]]:
    deep = "<g>" * 20_000 + CIRCLE + "</g>" * 20_000
    chain = "".join(f'<linearGradient id="g{n}" href="#g{n + 1}"/>' for n in range(5000))
    chain += '<linearGradient id="g5000"/>'
    zigzag = "M0 0" + "".join(f"L{n % 9} {n % 7}" for n in range(20_000))
    marker = f'<marker id="m">{CIRCLE * 20}</marker><path d="{zigzag}" marker-mid="url(#m)"/>'
    blur = '<filter id="f"><feGaussianBlur stdDeviation="{}"/></filter><circle r="4" filter="url(#f)"/>'
    region = '<filter id="f" width="{}"><feOffset dx="1"/></filter><circle r="4" filter="url(#f)"/>'
    many = '<filter id="f">' + '<feOffset dx="1"/>' * 1000 + '</filter><circle r="4" filter="url(#f)"/>'
    rules = "".join(f".c{n}{{fill:red}}" for n in range(2000))
    return {
        "huge_view_box": (svg(CIRCLE, root='viewBox="0 0 1000000 1000000"'), "canvas"),
        "huge_size": (svg(CIRCLE, root='width="1000000" height="1000000"'), "canvas"),
        "thin_canvas": (svg(CIRCLE, root='viewBox="0 0 100000 1"'), "canvas"),
        "empty_canvas": (svg(CIRCLE, root='viewBox="0 0 0 10"'), "canvas"),
        "no_size": (svg(CIRCLE, root='width="100%"'), "no_size"),
        "deep_nesting": (svg(deep), "too_deep"),
        "many_elements": (svg(CIRCLE * 30_000), "too_many_elements"),
        "many_bytes": (svg(CIRCLE + "<!--" + "x" * (2 << 20) + "-->"), "too_large"),
        "gzip_bomb": (gzip.compress(b" " * (64 << 20), compresslevel=1), "too_large"),
        "use_fan_out": (svg(fan_out(8, 10)), "expansion"),
        "pattern_fan_out": (svg(patterns(8)), "expansion"),
        "marker_fan_out": (svg(marker), "expansion"),
        "long_chain": (svg(f'{chain}<circle r="4" fill="url(#g0)"/>'), "expansion"),
        "use_cycle": (svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'), "reference_cycle"),
        "use_of_itself": (svg('<g id="a"><circle r="4"/><use href="#a"/></g>'), "reference_cycle"),
        "clip_cycle": (
            svg('<clipPath id="c"><circle r="4" clip-path="url(#c)"/></clipPath><circle r="4" clip-path="url(#c)"/>'),
            "reference_cycle",
        ),
        "gradient_cycle": (
            svg('<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/><circle r="4" fill="url(#a)"/>'),
            "reference_cycle",
        ),
        "huge_blur": (svg(blur.format(100_000)), "filter"),
        "huge_filter_region": (svg(region.format("100000%")), "filter"),
        "endless_filter": (svg(many), "filter"),
        "turbulence": (svg('<filter id="f"><feTurbulence numOctaves="1000000"/></filter>'), "unsupported_element"),
        "many_rules": (svg(f"<style>{rules}</style>{CIRCLE * 1000}"), "unsupported_css"),
        "deep_css": (svg(f'<circle r="4" style="fill:{"(" * 100_000}"/>'), "bad_css"),
        "huge_number": (svg('<circle cx="1e300" r="4"/>'), "huge_number"),
        "long_number": (svg(f'<path d="M0 0L{"9" * 500_000} 1"/>'), "huge_number"),
        "huge_scale": (svg('<g transform="scale(1e30)"><circle r="4"/></g>'), "huge_number"),
        "png_bomb": (image("png", png(60_000, 60_000)), "embedded_image"),
        "nested_svg_image": (image("svg+xml", svg(fan_out(8, 10))), "embedded_image"),
        "large_image": (image("png", png(8, 8) + b"\0" * (64 << 10)), "embedded_image"),
        "broken_image": (image("png", b"no picture"), "embedded_image"),
    }


def junk_cases() -> dict[str, tuple[bytes, str]]:
    return {
        "no_bytes": (b"", "bad_xml"),
        "broken_xml": (svg("<g><circle></g>"), "bad_xml"),
        "cut_off": (svg(CIRCLE * 10)[:120], "bad_xml"),
        "binary": (bytes(range(256)) * 40, "bad_xml"),
        "nul_bytes": (svg('<circle r="4\0"/>'), "bad_xml"),
        "bad_utf8": (svg(CIRCLE).replace(b"circle", b"circ\xff\xfe"), "bad_xml"),
        "unknown_encoding": (b'<?xml version="1.0" encoding="zip-bomb"?>' + svg(CIRCLE), "bad_xml"),
        "cut_gzip": (gzip.compress(svg(CIRCLE * 100))[:60], "bad_xml"),
        "broken_gzip": (b"\x1f\x8b\x08\x00" + b"\xff" * 40, "bad_gzip"),
        "html": (b"<html><body><svg/></body></html>", "not_svg"),
        "bad_path": (svg('<path d="M 0 0 L 5"/>'), "bad_path"),
        "path_without_move": (svg('<path d="L 5 5 6 6"/>'), "bad_path"),
        "path_of_letters": (svg(f'<path d="M0 0{"Z" * 1000}x"/>'), "bad_path"),
        "bad_transform": (svg('<g transform="scale(1,2,3,4)"><circle r="4"/></g>'), "bad_value"),
        "bad_color": (svg('<circle r="4" fill="#12"/>'), "bad_value"),
        "not_a_number": (svg('<circle cx="NaN" r="Infinity"/>'), "bad_value"),
        "nothing_drawn": (svg("<g/>"), "empty"),
        "dangling": (svg('<use href="#nowhere"/>'), "dangling_reference"),
    }


def write(folder: Path, web: str) -> dict[str, str]:
    """Writes every case but the empty file; file name → reason."""
    made: dict[str, str] = {}
    for name, (payload, reason) in cases(web).items():
        if payload:
            file = f"{name}.svgz" if payload[:2] == b"\x1f\x8b" else f"{name}.svg"
            (folder / file).write_bytes(payload)
            made[file] = reason
    return made


if __name__ == "__main__":
    print(*write(Path(sys.argv[1]), "http://127.0.0.1:9"), sep="\n")
