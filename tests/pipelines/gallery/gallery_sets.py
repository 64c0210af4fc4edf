"""Small sets for the gallery's tests, and its page read as a browser would read it."""

import html.parser
import io
import json

import PIL.Image

from trivium.data.records import Document, Image, Meta, Video, finish, source_id
from trivium.pipelines.gallery import write_gallery

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)><!--<style>*{}</style>{{7*7}}"
    "<a href='javascript:alert(4)'>data:text/html;base64,PHNjcmlwdD4=</a>\u2028'\"`"
)


def picture(size=(40, 20)):
    target = io.BytesIO()
    PIL.Image.new("RGB", size, (200, 30, 30)).save(target, "PNG")
    return target.getvalue()


def make(address, segments, media, corpus="c", **meta):
    known = {"license": "MIT", "language": "en"} | meta
    made = Meta(source_id=source_id("s", address), corpus=corpus, domain="d", source="s", address=address, **known)
    return finish(Document(segments=segments, meta=made), media), media


IMAGE = Image(media="i0.png", width=40, height=20, mime="image/png")
CLIP = Video(media="v0.mp4", width=160, height=120, mime="video/mp4", frames=60, fps=25)


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


def parsed(page):
    tags = Tags()
    tags.feed(page)
    return tags


def written(paths, target, **more):
    """The facts of a page, its text and the data inside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    facts = write_gallery(paths, target, **more)
    text = target.read_text(encoding="utf-8")
    return facts, text, json.loads(parsed(text).raw[1][2])
