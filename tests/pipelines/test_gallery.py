"""The page is one file, loads nothing, and text of a record never becomes markup or script."""

import html.parser
import io
import json
import re

import msgspec
import PIL.Image
import pytest

from trivium.data.records import Document, Image, Meta, Text, finish, source_id
from trivium.data.shards import FunnelStage, Manifest, ShardSet, write_set
from trivium.data.stage import Drop
from trivium.pipelines.gallery import write_gallery
from trivium.pipelines.gallery.collect import TEXT_LIMIT, THUMBNAIL, draw, thumbnail
from trivium.pipelines.gallery.page import harmless_json, policy

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--<style>*{}</style>{{7*7}}\u2028'\"`"


def picture(size=(40, 20)):
    target = io.BytesIO()
    PIL.Image.new("RGB", size, (200, 30, 30)).save(target, "PNG")
    return target.getvalue()


def make(address, segments, media, **meta):
    known = {"license": "MIT", "language": "en"} | meta
    made = Meta(source_id=source_id("s", address), corpus="c", domain="d", source="s", address=address, **known)
    return finish(Document(segments=segments, meta=made), media), media


@pytest.fixture
def folder(tmp_path):
    image = Image(media="i0.png", width=40, height=20, mime="image/png")
    hostile = make(
        HOSTILE, (Text(text=HOSTILE),), {}, title=HOSTILE, license=HOSTILE, language=HOSTILE, cluster="k" * 26
    )
    records = [
        hostile,
        make("picture", (image, Text(text="red")), {"i0.png": picture()}),
        make("broken", (image, Text(text="broken")), {"i0.png": b"\x89PNG no picture"}),
        make("long", (Text(text="long " * 10_000),), {}),
    ]
    drop = Drop(
        source_id="r" * 26,
        source="s",
        address=HOSTILE,
        stage="dedup",
        reason=HOSTILE,
        detail=HOSTILE,
        excerpt=HOSTILE * 10,
        survivor=hostile[0].meta.source_id,
        similarity=0.9,
    )
    base = Manifest(
        corpus="c",
        domain=HOSTILE,
        recipe=HOSTILE,
        funnel=(FunnelStage(name=HOSTILE, input=5, kept=4, dropped={HOSTILE: 1}),),
    )
    write_set(tmp_path / "set", records, base, rejects={"build": [drop]})
    return tmp_path / "set"


class Tags(html.parser.HTMLParser):
    """All start tags with attributes, and the text of scripts and styles."""

    def __init__(self):
        super().__init__()
        self.tags, self.raw, self.inside = [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = (tag, dict(attrs)) if tag in ("script", "style") else None
        if self.inside:
            self.raw.append((tag, dict(attrs), ""))

    def handle_data(self, data):
        if self.inside:
            tag, attrs, text = self.raw[-1]
            self.raw[-1] = (tag, attrs, text + data)

    def handle_endtag(self, tag):
        self.inside = None


@pytest.fixture
def page(folder, tmp_path):
    facts = write_gallery([ShardSet.open(folder)], tmp_path / "deep" / "page.html")
    text = (tmp_path / "deep" / "page.html").read_text(encoding="utf-8")
    assert (facts.records, facts.rejects, facts.bytes) == (4, 1, len(text.encode()))
    return text


def parsed(page):
    tags = Tags()
    tags.feed(page)
    return tags


def test_hostile_text_makes_no_markup(page):
    tags = parsed(page)
    assert [(tag, attrs.get("type")) for tag, attrs, _ in tags.raw] == [
        ("style", None),
        ("script", "application/json"),
        ("script", None),
    ]
    assert not any(tag == "img" for tag, _ in tags.tags)
    assert not any(key.startswith("on") for _, attrs in tags.tags for key in attrs)
    assert "49" not in re.sub(r"\d{3,}", "", tags.raw[1][2].split("domain")[1][:200])  # the template engine ran nothing
    data = json.loads(tags.raw[1][2])
    assert HOSTILE in {segment.get("text") for record in data["records"] for segment in record["segments"]}
    assert data["rejects"][0]["reason"] == HOSTILE


def test_policy_allows_this_script_and_style_only(page):
    tags = parsed(page)
    (content,) = [a["content"] for tag, a in tags.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert content == policy(tags.raw[0][2], tags.raw[2][2])
    assert "default-src 'none'" in content
    assert "unsafe" not in content


def test_script_never_writes_markup(page):
    script = parsed(page).raw[2][2]
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        'setAttribute("on',
    ):
        assert way not in script


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attrs in parsed(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not {"src", "href", "action", "srcset"} & set(attrs)
    css = parsed(page).raw[0][2]
    assert "url(" not in css
    assert "@import" not in css


def test_everything_is_bounded(page):
    data = json.loads(parsed(page).raw[1][2])
    (long,) = [record for record in data["records"] if record["address"] == "long"]
    assert len(long["segments"][0]["text"]) == TEXT_LIMIT
    assert long["segments"][0]["more"] == 50_000 - TEXT_LIMIT
    assert len(data["rejects"][0]["excerpt"]) <= 400


def test_thumbnails_are_small_and_broken_pictures_are_named(page):
    data = json.loads(parsed(page).raw[1][2])
    shown = {record["address"]: record["segments"][0] for record in data["records"]}
    assert shown["picture"]["uri"].startswith("data:image/webp;base64,")
    assert "can't be decoded" in shown["broken"]["fault"]
    import base64

    wide = base64.b64decode(thumbnail(picture((900, 30)))["uri"].partition(",")[2])
    with PIL.Image.open(io.BytesIO(wide)) as opened:
        assert max(opened.size) == THUMBNAIL


def test_counts_of_a_drawn_sample_are_of_the_whole(folder, tmp_path):
    shards = ShardSet.open(folder)
    facts = write_gallery([shards], tmp_path / "p.html", limit=2, seed=3)
    assert (facts.records, facts.rejects) == (2, 1)
    data = json.loads(parsed((tmp_path / "p.html").read_text(encoding="utf-8")).raw[1][2])
    assert data["sets"][0]["records"] == 4
    assert data["sets"][0]["reasons"] == {f"dedup: {HOSTILE}": 1}
    assert data["sets"][0]["funnel"][0]["dropped"] == {HOSTILE: 1}


def test_the_page_is_a_function_of_set_and_seed(folder, tmp_path):
    shards = ShardSet.open(folder)
    pages = []
    for seed in (0, 0, 1, 2, 3):
        write_gallery([shards], tmp_path / "p.html", limit=2, seed=seed)
        pages.append((tmp_path / "p.html").read_bytes())
    assert pages[0] == pages[1]
    assert len(set(pages)) > 1


def test_draw_keeps_order_and_limit():
    assert draw("abcdef", 9, 0, str) == list("abcdef")
    chosen = draw("abcdef", 3, 0, str)
    assert len(chosen) == 3
    assert chosen == sorted(chosen)
    assert draw("fedcba", 3, 0, str) == chosen[::-1]


def test_harmless_json_is_still_json():
    assert json.loads(harmless_json({HOSTILE: [HOSTILE]})) == {HOSTILE: [HOSTILE]}
    assert not set("<>&\u2028") & set(harmless_json(HOSTILE))
    assert msgspec.json.decode(harmless_json("a")) == "a"
