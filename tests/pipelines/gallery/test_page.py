"""The page is one file, loads nothing, and text of a record never becomes markup or script."""

import json

import msgspec
from gallery_sets import HOSTILE, parsed

from trivium.pipelines.gallery.page import harmless_json
from trivium.pipelines.pages import policy


def test_hostile_text_makes_no_markup(page):
    tags = parsed(page)
    assert [(tag, attrs.get("type")) for tag, attrs, _ in tags.raw] == [
        ("style", None),
        ("script", "application/json"),
        ("script", None),
    ]
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "span", "dl", "dt", "dd", "div"}
    allowed |= {"button", "nav", "small", "section", "input", "select", "option", "output", "main", "article", "p"}
    allowed |= {"table", "tr", "th", "td", "footer", "aside", "noscript", "script"}
    assert {tag for tag, _ in tags.tags} <= allowed
    assert not any(key.startswith("on") for _, attrs in tags.tags for key in attrs)
    assert "{{7*7}}" in page  # the template engine ran nothing
    data = json.loads(tags.raw[1][2])
    assert HOSTILE in {segment.get("text") for record in data["records"] for segment in record["segments"]}
    assert data["rejects"][0]["reason"] == data["clusters"][0]["lost"][0]["reason"] == HOSTILE


def test_policy_allows_this_script_and_style_only(page):
    tags = parsed(page)
    (content,) = [a["content"] for tag, a in tags.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert content == policy([tags.raw[2][2]], [tags.raw[0][2]])
    assert "default-src 'none'" in content
    assert "unsafe" not in content
    assert policy([]) == policy([], [])
    assert "script-src 'none'" in policy([])


def test_script_never_writes_markup(page):
    script = parsed(page).raw[2][2]
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "setAttribute('on",
        'setAttribute("on',
        "href",
        "createContextualFragment",
        "srcdoc",
    ):
        assert way not in script
    assert script.count(".src =") == 1  # the one picture, behind the check of its address
    before = script[: script.index(".src =")]
    assert 'uri.startsWith("data:image/webp;base64,")' in before[before.rindex("function drawn") :]


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attrs in parsed(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img", "a", "form")
        assert not {"src", "href", "action", "srcset", "style"} & set(attrs)
    css = parsed(page).raw[0][2]
    assert "url(" not in css
    assert "@import" not in css


def test_harmless_json_is_still_json():
    assert json.loads(harmless_json({HOSTILE: [HOSTILE]})) == {HOSTILE: [HOSTILE]}
    assert not set("<>&\u2028") & set(harmless_json(HOSTILE))
    assert msgspec.json.decode(harmless_json("a")) == "a"
