"""Changes of pages that the composer made, and the composer itself; no browser is needed."""

from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice

import pytest

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts, Part
from trivium.data.web.composer.pages import ComposeRules, compose
from trivium.data.web.editor import PageEditor
from trivium.data.web.markup import body, read, with_style
from trivium.data.web.sheet import declared

KINDS = {
    "H1": "heading",
    "H2": "heading",
    "H3": "heading",
    "A": "link",
    "P": "paragraph",
    "LI": "list item",
    "TD": "table cell",
}


def facts_of(code: str) -> Facts:
    """As the engine gives them, without boxes."""
    root = body(code)
    assert root is not None
    found = [
        Part(kind=KINDS[element.tag.upper()], text=element.text, color="#112233", sizes={"font size px": 16.0})
        for element in root.walk()
        if element.tag.upper() in KINDS and element.text
    ]
    return Facts(what="a web page", parts=tuple(found))


class Balance(HTMLParser):
    """Whether every element that must be closed is closed, in order."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(code)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "img", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.mark.parametrize("kind", list(ComposeRules().kinds))
def test_every_kind_of_page_is_whole_and_the_same_again(kind: str) -> None:
    rules = ComposeRules(kinds={kind: 1.0})  # type: ignore[dict-item]
    pages = [compose(3, index, rules)[0] for index in range(4)]
    assert pages == [compose(3, index, rules)[0] for index in range(4)]
    assert len(set(pages)) == len(pages)
    for page in pages:
        state = Balance(page)
        assert not state.open
        assert not state.wrong
        assert "http" not in page
        assert any(one.value.startswith("#") for one in declared(page)), "its style is read line by line"


def changes(which: str) -> Iterator[tuple[str, Facts, Edit]]:
    for index in range(6):
        code, _ = compose(1, index, ComposeRules())
        facts = facts_of(code)
        made = getattr(PageEditor(), which)(code, facts, Dice(index))
        for edit in islice(made, 25):
            yield code, facts, edit


def test_edits_say_what_they_do_and_keep_the_page_whole() -> None:
    kinds = set()
    for code, _, edit in changes("edits"):
        assert edit.code != code
        state = Balance(edit.code)
        assert not state.open + state.wrong, edit.instruction
        assert edit.instruction.endswith(".")
        kinds.add(edit.instruction.split()[0])
        if edit.instruction.startswith("Change the words"):
            assert edit.instruction.rpartition("“")[2].rstrip("”.") in edit.code
    assert kinds >= {"Change", "Set", "Move", "Remove", "Add"}


def test_bugs_are_seen_and_not_told_how_to_mend() -> None:
    seen = set()
    for code, facts, edit in changes("bugs"):
        assert edit.code != code
        seen.add(edit.instruction.split("“")[0][:25])
        assert "“" not in edit.instruction or any(part.text in edit.instruction for part in facts.parts if part.text)
    assert len(seen) >= 5, seen


def test_the_same_dice_give_the_same_changes() -> None:
    one, two = ([edit for _, _, edit in changes(which)] for which in ("edits", "edits"))
    assert one == two


def test_elements_know_where_they_stand() -> None:
    code = '<body><p class="a">one <b>two</b> &amp; three<br></p><ul><li>x</li></ul></body>'
    page = read(code)
    texts = {element.tag: (element.text, code[element.start : element.end]) for element in page.walk() if element.tag}
    assert texts["p"] == ("one two & three", '<p class="a">one <b>two</b> &amp; three<br></p>')
    assert texts["li"] == ("x", "<li>x</li>")
    bold = next(element for element in page.walk() if element.tag == "b")
    styled = with_style(code, bold, "color: red")
    again = next(element for element in read(styled).walk() if element.tag == "b")
    assert with_style(styled, again, "top: 0").count('<b style="color: red; top: 0">two</b>') == 1
