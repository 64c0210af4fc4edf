"""The shortest form of canonical code that is surely drawn alike, proved by drawing it.

Only what every reader of SVG must understand alike is taken away: line breaks, letters and separators of path data that
the grammar does not need, attributes that all children share. No number changes its value.
"""

import re

import msgspec

from trivium.data.pairs.item import SHEET, Change, sheet_of
from trivium.data.records import Image
from trivium.data.stage import Draft
from trivium.data.svg import shapes
from trivium.data.svg.engine import SvgEngine
from trivium.data.svg.sanitise import write
from trivium.data.svg.tree import Node
from trivium.data.svg.vocabulary import HIDDEN, PROPERTIES, TEXT_ELEMENTS
from trivium.errors import GuardError

INSTRUCTION = "Write this SVG as short as you can without changing a single pixel of its picture."
_SEGMENT = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_NEXT = {"M": "L", "m": "l"}  # what a repeated letter means
_WORTH = 0.97  # of the code's length; what saves less is not offered


def minify(code: str) -> str:
    """Canonical code without what can be left out."""
    root = shapes.read(code)
    _hoist(root)
    for node in root.walk():
        for name, value in node.attributes.items():
            if name == "d":
                node.attributes[name] = path(value)
            elif name in ("points", "transform", "viewBox", "stroke-dasharray"):
                node.attributes[name] = _short(value)
            elif re.fullmatch(r"-?0\.\d+", value):
                node.attributes[name] = value.replace("0.", ".", 1)
    return write(root).replace("\n", "")


def path(data: str) -> str:
    """Path data in its shortest spelling of the same numbers."""
    out, before = "", ""
    for letter, numbers in _SEGMENT.findall(data):
        body = _short(numbers) if letter not in "Aa" else _arc(numbers)
        again = letter == _NEXT.get(before, before) and letter not in "Zz"
        glue = "" if not again or body.startswith("-") else " "
        out += glue + body if again else letter + body
        before = letter
    return out


def _arc(numbers: str) -> str:
    """Flags keep their spaces: not every reader parts `a1 1 0 01.5.5` alike."""
    return " ".join(_short(number) for number in numbers.split())


def _short(numbers: str) -> str:
    text = re.sub(r"(?<![\d.])0\.(?=\d)", ".", numbers)
    return re.sub(r"[ ,](?=-)", "", text)


def _hoist(node: Node) -> None:
    """Inherited properties that all children of a group share move up to it."""
    children = list(node.elements())
    for child in children:
        if child.tag not in TEXT_ELEMENTS:
            _hoist(child)
    if len(children) < 2 or node.tag not in ("svg", "g") or any(below.tag in HIDDEN for below in node.walk()):
        return
    for name, value in list(children[0].attributes.items()):
        inherited = name in PROPERTIES and PROPERTIES[name][2]
        if not inherited or any(child.attributes.get(name) != value for child in children):
            continue
        node.attributes[name] = value
        for child in children:
            del child.attributes[name]


def with_minified(draft: Draft, code: str, engine: SvgEngine) -> tuple[Draft, float]:
    """The drawn item with its minified code as one more change, and how long that is beside `code`, as a share.

    The change shows the item's own pictures: each was drawn from the short code too, and the bytes were equal. Where
    they are not, or little is saved, the item stays as it is and the share is 1.
    """
    short = minify(code)
    share = round(len(short) / len(code), 4)
    drawn = draft.document.meta.drawn
    pictures = tuple(part for part in draft.document.segments if isinstance(part, Image))
    try:
        equal = share <= _WORTH and all(
            engine.draw(short, {}, one.settings).payload == engine.draw(code, {}, one.settings).payload for one in drawn
        )
    except GuardError:
        equal = False
    if not equal:
        return draft, 1.0
    sheet = sheet_of(draft)
    bare = tuple(msgspec.structs.replace(one, code=-1) for one in drawn)
    change = Change(role="edit", instruction=INSTRUCTION, code=short, pictures=pictures, drawn=bare)
    sheet = msgspec.structs.replace(sheet, changes=(*sheet.changes, change))
    media = {**draft.media, SHEET: msgspec.json.encode(sheet, order="sorted")}
    return msgspec.structs.replace(draft, media=media), share
