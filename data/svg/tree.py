"""Bytes to a small tree of SVG elements; refuses early, while the parser still reads.

Odd: depth, count and forbidden elements are checked at each start tag, so a hostile file never becomes a large tree. A
DOCTYPE that only names a document type, as every drawing program wrote for years, is left aside: the parser never reads
what it names. One with declarations of its own, which is where entities come from, is refused.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException, DTDForbidden
from defusedxml.ElementTree import DefusedXMLParser

from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.vocabulary import ACTIVE, ELEMENTS, NAMELESS, TEXT_ELEMENTS

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
_XHTML = "http://www.w3.org/1999/xhtml"


@dataclass(slots=True)
class Node:
    """An SVG element: local name, attributes by local name, children; strings only inside text elements."""

    tag: str
    attributes: dict[str, str]
    children: list["Node | str"] = field(default_factory=list)

    def elements(self) -> Iterator["Node"]:
        return (child for child in self.children if isinstance(child, Node))

    def walk(self) -> Iterator["Node"]:
        """This element and all below it, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.elements())))


@dataclass(slots=True)
class Source:
    """What a file holds: its root, its style sheets' text, its title."""

    root: Node
    sheets: list[str]
    title: str


def parse(payload: bytes, policy: SvgPolicy) -> Source:
    """Raises SvgRefusedError."""
    payload = _inflate(payload, policy.max_bytes)
    if len(payload) > policy.max_bytes:
        raise SvgRefusedError("too_large", f"{len(payload)} bytes, {policy.max_bytes} allowed")
    builder = _Builder(policy)
    parser = _Parser(target=builder, forbid_dtd=True)
    try:
        parser.feed(payload)
        parser.close()
    except DTDForbidden:
        raise SvgRefusedError("doctype", "a DOCTYPE with declarations, which may be entities") from None
    except DefusedXmlException as error:
        raise SvgRefusedError("entity", type(error).__name__) from None
    except (ParseError, ValueError, LookupError) as error:
        raise SvgRefusedError("bad_xml", str(error)) from None
    if builder.root is None:
        raise SvgRefusedError("bad_xml", "no element")
    return Source(root=builder.root, sheets=builder.sheets, title=builder.title)


def _inflate(payload: bytes, limit: int) -> bytes:
    """A gzip member unpacked, at most `limit` + 1 bytes of it; anything else as it is."""
    if payload[:2] != b"\x1f\x8b":
        return payload
    unpacker = zlib.decompressobj(wbits=31)
    try:
        return unpacker.decompress(payload, limit + 1)
    except zlib.error as error:
        raise SvgRefusedError("bad_gzip", str(error)) from None


class _Parser(DefusedXMLParser):  # type: ignore[misc] # untyped library
    def defused_start_doctype_decl(self, name: str, sysid: str, pubid: str, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise DTDForbidden(name, sysid, pubid)


class _Builder:
    """The parser's target: elements of the allow-list become nodes, foreign ones and their content are skipped."""

    def __init__(self, policy: SvgPolicy) -> None:
        self.policy = policy
        self.root: Node | None = None
        self.sheets: list[str] = []
        self.title = ""
        self._stack: list[Node | None] = []
        self._count = 0
        self._namespace = SVG

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > self.policy.max_elements:
            raise SvgRefusedError("too_many_elements", f"more than {self.policy.max_elements}")
        if len(self._stack) >= self.policy.max_depth:
            raise SvgRefusedError("too_deep", f"nested deeper than {self.policy.max_depth}")
        namespace, _, name = tag.rpartition("}")
        namespace = namespace[1:]
        if not self._stack:
            if name != "svg" or namespace not in ("", SVG):
                raise SvgRefusedError("not_svg", f"the root element is {tag[:80]!r}")
            self._namespace = namespace
        parent = self._stack[-1] if self._stack else None
        node: Node | None = None
        if namespace != self._namespace:
            self._foreign(namespace, name)
        elif self._stack and (parent is None or parent.tag in NAMELESS):
            self._refuse_active(name)
        else:
            node = self._node(name, attributes)
        if node is not None and parent is not None:
            parent.children.append(node)
        elif node is not None:
            self.root = node
        self._stack.append(node)

    def end(self, tag: str) -> None:
        node = self._stack.pop()
        if node is None or node.tag not in NAMELESS:
            return
        text = "".join(child for child in node.children if isinstance(child, str))
        if node.tag == "style":
            self.sheets.append(text)
        elif node.tag == "title" and not self.title:
            self.title = " ".join(text.split())[:200]
        parent = self._stack[-1]
        assert parent is not None
        parent.children.pop()

    def data(self, text: str) -> None:
        node = self._stack[-1] if self._stack else None
        if node is not None and (node.tag in NAMELESS or node.tag in TEXT_ELEMENTS):
            node.children.append(text)

    def pi(self, target: str, data: str | None = None) -> None:
        if target.split()[:1] == ["xml-stylesheet"] and self.policy.external == "reject":
            raise SvgRefusedError("external_reference", f"a style sheet by processing instruction: {data or target}")

    def close(self) -> None:
        pass

    def _node(self, name: str, attributes: dict[str, str]) -> Node | None:
        if self._refuse_active(name):
            return None
        if name in TEXT_ELEMENTS and not self.policy.text:
            raise SvgRefusedError("text", f"an element <{name}>, drawn with whatever fonts a machine has")
        if name not in ELEMENTS or (name == "svg" and self._stack):
            raise SvgRefusedError("unsupported_element", f"an element <{name[:80]}>")
        return Node(name, self._attributes(attributes))

    def _refuse_active(self, name: str) -> bool:
        """True when the policy drops this active element."""
        if name in ACTIVE and self.policy.active == "reject":
            raise SvgRefusedError(ACTIVE[name], f"an element <{name}>")
        return name in ACTIVE

    def _foreign(self, namespace: str, name: str) -> None:
        if namespace == _XHTML and name in ("script", "iframe", "object", "embed"):
            self._refuse_active("script")

    def _attributes(self, attributes: dict[str, str]) -> dict[str, str]:
        kept: dict[str, str] = {}
        for key, value in attributes.items():
            namespace, _, name = key.rpartition("}")
            if namespace == "" and name[:2].lower() == "on":
                if self.policy.active == "reject":
                    raise SvgRefusedError("script", f"an event handler {name[:40]}")
            elif namespace == "":
                kept[name] = value
            elif namespace == "{" + XLINK and name == "href":
                kept.setdefault("href", value)
        return kept
