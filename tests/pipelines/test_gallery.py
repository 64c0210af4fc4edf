"""The page is one file, loads nothing, shows what is sound beside what is damaged, and no record becomes markup."""

import html.parser
import io
import json
import shutil
import sys
from pathlib import Path

import msgspec
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.records import Document, Image, Meta, Text, Video, finish, source_id
from trivium.data.shards import FunnelStage, Manifest, write_set
from trivium.data.stage import Drop
from trivium.errors import ShardError
from trivium.pipelines.gallery import record as gallery_record
from trivium.pipelines.gallery import write_gallery
from trivium.pipelines.gallery.draw import arranged, interleaved, ranked, shares
from trivium.pipelines.gallery.page import harmless_json
from trivium.pipelines.gallery.record import LINE_LIMIT, PICTURES, TEXT_LIMIT, THUMBNAIL
from trivium.pipelines.pages import policy

sys.path.insert(0, str(Path(__file__).parents[1] / "data" / "video"))
from clips import clip, lying_avi

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


@pytest.fixture
def folder(tmp_path):
    hostile = make(
        HOSTILE,
        (Text(text=HOSTILE),),
        {},
        title=HOSTILE,
        license=HOSTILE,
        language=HOSTILE,
        scores={HOSTILE: 0.5},
        cluster="k" * 26,
    )
    records = [
        hostile,
        make("picture", (IMAGE, Text(text="red")), {"i0.png": picture()}),
        make("broken", (IMAGE, Text(text="broken")), {"i0.png": b"\x89PNG no picture"}),
        make("long", (Text(text="long " * 10_000),), {}),
    ]
    drop = Drop(
        source_id="r" * 26,
        source=HOSTILE,
        address=HOSTILE,
        stage=HOSTILE,
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


def parsed(page):
    tags = Tags()
    tags.feed(page)
    return tags


def written(paths, target, **more):
    """The facts of a page, its text and the data inside it."""
    facts = write_gallery(paths, target, **more)
    text = target.read_text(encoding="utf-8")
    return facts, text, json.loads(parsed(text).raw[1][2])


@pytest.fixture
def page(folder, tmp_path):
    facts, text, _ = written([folder], tmp_path / "deep" / "page.html")
    assert (facts.records, facts.clusters, facts.rejects, facts.bytes) == (4, 1, 1, len(text.encode()))
    assert facts.damaged == ()
    return text


# ---- nothing of a record runs or loads


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


# ---- what is drawn, in which order, how much of it


@given(sizes=st.lists(st.integers(0, 50), max_size=8), count=st.integers(0, 200))
def test_shares_are_even_and_leave_nothing_over(sizes, count):
    given_ = shares(sizes, count)
    assert sum(given_) == min(count, sum(sizes))
    assert all(0 <= one <= size for one, size in zip(given_, sizes, strict=True))
    short = [one for one, size in zip(given_, sizes, strict=True) if one < size]
    if short:  # who did not get all has as much as anybody, but for the remainder
        assert min(short) >= max(given_) - 1


@given(items=st.sets(st.text(max_size=8), max_size=60), limit=st.integers(0, 40), seed=st.integers(0, 3))
def test_a_draw_is_a_prefix_of_a_larger_one_whatever_the_order(items, limit, seed):
    small, large = ranked(sorted(items), limit, seed, str), ranked(sorted(items, reverse=True), limit + 9, seed, str)
    assert small == large[: len(small)]
    assert len(small) == min(limit, len(items))


def test_first_screens_mix_sets_pictures_and_titles():
    """Titles: upper case has a picture."""
    order = arranged(["a", "a", "b", "B", "C", "a", "C"], str.isupper, str)
    assert order == ["B", "a", "C", "b", "C", "a", "a"]
    assert interleaved(["abc", "d", "ef"]) == list("adebfc")
    assert arranged(["", ""], str.isupper, str) == ["", ""]  # no title is no repeat


def test_repeated_titles_give_way_to_addresses(tmp_path):
    records = [make(f"a/{i}.txt", (Text(text=f"t{i}"),), {}, title="drawing" if i else "one") for i in range(4)]
    write_set(tmp_path / "set", records, Manifest(corpus="c", domain="d", recipe="r"))
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    assert sorted(one["name"] for one in data["records"]) == ["a/1.txt", "a/2.txt", "a/3.txt", "one"]


def test_a_page_of_two_corpora_begins_with_both(tmp_path):
    texts = [make(f"t{i}", (Text(text=f"t{i}"),), {}, corpus="texts") for i in range(30)]
    pictures = [make(f"p{i}", (IMAGE, Text(text=f"p{i}")), {"i0.png": picture()}, corpus="pictures") for i in range(3)]
    for name, made in (("texts", texts), ("pictures", pictures)):
        write_set(tmp_path / "both" / name, made, Manifest(corpus=name, domain="d", recipe="r"))
    facts, _, data = written([tmp_path / "both"], tmp_path / "p.html", count=10)
    assert facts.records == 10
    assert [one["corpus"] for one in data["records"][:6]] == ["pictures", "texts"] * 3
    assert sum(one["corpus"] == "texts" for one in data["records"]) == 7  # the small set's rest went to the other


def test_everything_is_bounded(tmp_path):
    many = tuple(Image(media=f"i{n}.png", width=40, height=20, mime="image/png") for n in range(PICTURES + 3))
    media = {segment.media: picture() for segment in many}
    records = [
        make("long", (Text(text="long " * 10_000), Text(text="tail")), {}, title="t" * 5000),
        make("many", many, media, duplicates=tuple(f"{n:026}" for n in range(500))),
    ]
    drop = Drop(source_id="r" * 26, source="s", address="a" * 9000, stage="s", reason="r", excerpt="e" * 5000)
    write_set(tmp_path / "set", records, Manifest(corpus="c", domain="d", recipe="r"), rejects={"build": [drop]})
    facts, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    shown = {record["address"]: record for record in data["records"]}
    assert [len(segment["text"]) for segment in shown["long"]["segments"]] == [TEXT_LIMIT, 0]
    assert [segment["more"] for segment in shown["long"]["segments"]] == [50_000 - TEXT_LIMIT, 4]
    assert len(shown["long"]["title"]) == LINE_LIMIT
    assert ["uri" in segment for segment in shown["many"]["segments"]] == [True] * PICTURES + [False] * 3
    assert len(shown["many"]["duplicates"]) + shown["many"]["more_duplicates"] == 500
    assert len(data["rejects"][0]["excerpt"]) == 400
    assert len(data["rejects"][0]["address"]) == LINE_LIMIT
    assert facts.bytes < 200_000


def test_a_full_page_says_what_it_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("trivium.pipelines.gallery.collect.PAGE_BYTES", 20_000)
    records = [make(f"t{i}", (Text(text=f"{i} " + "word " * 1500),), {}) for i in range(8)]
    write_set(tmp_path / "set", records, Manifest(corpus="c", domain="d", recipe="r"))
    facts, text, data = written([tmp_path / "set"], tmp_path / "p.html")
    assert facts.records == 2
    assert data["rule"]["left_out"] == 6
    assert "6 of them were left out" in text


def test_counts_of_a_drawn_sample_are_of_the_whole(folder, tmp_path):
    facts, text, data = written([folder], tmp_path / "p.html", count=2, seed=3)
    assert (facts.records, facts.rejects) == (2, 1)
    assert data["sets"][0]["records"] == 4
    assert data["sets"][0]["reasons"] == [{"stage": HOSTILE, "reason": HOSTILE, "count": 1}]
    assert data["sets"][0]["funnel"][0]["dropped"] == {HOSTILE: 1}
    assert "2 of 4 records are on this page (--count 2 --seed 3)" in text


def test_the_page_is_a_function_of_set_and_seed(folder, tmp_path):
    pages, drawn = [], set()
    for seed in (0, 0, 1, 2):
        _, text, data = written([folder], tmp_path / "p.html", count=2, seed=seed)
        pages.append(text)
        drawn.add(tuple(record["id"] for record in data["records"]))
    assert pages[0] == pages[1]
    assert len(drawn) > 1


# ---- media


def test_thumbnails_are_small_and_broken_pictures_are_named(folder, tmp_path):
    _, _, data = written([folder], tmp_path / "p.html")
    shown = {record["address"]: record["segments"][0] for record in data["records"]}
    assert shown["picture"]["uri"].startswith("data:image/webp;base64,")
    assert "can't be decoded" in shown["broken"]["fault"]
    assert THUMBNAIL == 256


def test_clips_show_frames_with_times_or_their_fault(tmp_path):
    avi = msgspec.structs.replace(CLIP, frames=444)
    records = [
        make("good", (CLIP, Text(text="a bar moves")), {"v0.mp4": clip()}),
        make("lies", (avi,), {"v0.mp4": lying_avi(40, 444)}),
        make("small", (CLIP,), {"v0.mp4": clip(width=64, height=48)}),
        make("broken", (CLIP,), {"v0.mp4": b"no clip at all"}),
    ]
    write_set(tmp_path / "set", records, Manifest(corpus="c", domain="d", recipe="r"))
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    shown = {record["address"]: record["segments"][0] for record in data["records"]}
    assert len(shown["good"]["strip"]) == 8
    times = [frame["seconds"] for frame in shown["good"]["strip"]]
    assert times == sorted(set(times))
    assert times[-1] <= shown["good"]["seconds"] == pytest.approx(59 / 25, abs=0.01)
    assert all(frame["uri"].startswith("data:image/webp;base64,") for frame in shown["good"]["strip"])
    assert shown["good"]["notes"] == []
    assert shown["lies"]["notes"][0] == "the record states 444 frames, the clip holds 40"
    assert shown["broken"]["fault"].startswith("damaged: ")
    assert shown["small"]["notes"] == ["the record states 160 × 120 pixels, the clip has 64 × 48"]


def test_clips_that_run_out_of_time_do_not_hold_up_the_page():
    class Slow:
        asked = 0

        def clip(self, payload, side, frames):
            self.asked += 1
            return gallery_record.Preview(fault="timeout: no answer within 10 s; killed")

    slow = Slow()
    media = gallery_record.Media(slow)
    faults = [media.clip(b"x", CLIP)["fault"] for _ in range(20)]
    assert slow.asked == gallery_record.MOST_TIMEOUTS
    assert faults[0].startswith("timeout")
    assert faults[-1].startswith("not decoded")


# ---- duplicates


def test_clusters_hold_survivor_and_duplicates_through_every_step(tmp_path):
    stays = make("stays", (Text(text="the text that stays"),), {}, title="stays")
    alone = make("alone", (Text(text="alone"),), {})
    twins = [make(f"twin{i}", (Text(text=f"twin {i}"),), {}, cluster="t" * 26) for i in range(2)]

    def gone(address, survivor, similarity, stage):
        return Drop(
            source_id=source_id("s", address),
            source="s",
            address=address,
            stage=stage,
            reason=stage,
            excerpt=f"text of {address}",
            survivor=survivor,
            similarity=similarity,
        )

    near = gone("near", stays[0].meta.source_id, 0.87, "near_dedup")
    behind = gone("behind", near.source_id, 1.0, "exact_dedup")  # went for a record that went itself
    loop = [gone("a", source_id("s", "b"), 1.0, "x"), gone("b", source_id("s", "a"), 1.0, "x")]
    base = Manifest(corpus="c", domain="d", recipe="r")
    write_set(tmp_path / "set", [stays, alone, *twins], base, rejects={"build": [near, behind, *loop]})
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    first, second = data["clusters"]
    assert [one["address"] for one in first["kept"]] == ["stays"]
    assert [(one["address"], one["similarity"]) for one in first["lost"]] == [("behind", 1.0), ("near", 0.87)]
    assert first["kept"][0]["text"] == "the text that stays"
    assert first["lost"][0]["survivor"] == near.source_id
    assert (first["near"], first["size"]) == (True, 3)
    assert sorted(one["address"] for one in second["kept"]) == ["twin0", "twin1"]
    assert (second["near"], second["lost"]) == (False, [])
    assert data["sets"][0]["clusters"] == 2


# ---- damage


def three_sets(root):
    for name in ("a", "b", "c"):
        records = [make(f"{name}{i}", (Text(text=f"{name} {i} " + "x" * 700),), {}, corpus=name) for i in range(20)]
        drop = Drop(source_id="r" * 26, source="s", address=name, stage="s", reason="r")
        base = Manifest(corpus=name, domain="d", recipe="r")
        write_set(root / name, records, base, target_bytes=9000, rejects={"build": [drop]})
    return root


def test_a_damaged_tar_is_named_and_the_rest_is_shown(tmp_path):
    root = three_sets(tmp_path / "all")
    tars = sorted((root / "b" / "shards").glob("*.tar"))
    assert len(tars) > 1
    tars[0].write_bytes(tars[0].read_bytes()[:1000])
    (root / "c" / "manifest.json").write_text("{}")
    (root / "a" / "rejects" / "build.jsonl").write_bytes(b"no reject\n")
    facts, text, data = written([root], tmp_path / "p.html")
    corpora = [record["corpus"] for record in data["records"]]
    assert corpora.count("a") == 20
    assert 0 < corpora.count("b") < 20
    assert "c" not in corpora
    named = {Path(one["path"]).name: one["reason"] for one in facts.damaged}
    assert set(named) == {tars[0].name, "c", "rejects"}
    assert "cut short" in named[tars[0].name]
    for one in facts.damaged:
        assert one["path"] in text


def test_a_changed_record_costs_itself_alone(tmp_path):
    root = three_sets(tmp_path / "all")
    tar = sorted((root / "a" / "shards").glob("*.tar"))[0]
    payload = bytearray(tar.read_bytes())
    payload[600] ^= 1  # inside the first record's JSON
    tar.write_bytes(payload)
    facts, _, data = written([root / "a"], tmp_path / "p.html")
    assert len(data["records"]) == 19
    assert "CRC differs" in facts.damaged[0]["reason"]


def test_nothing_to_show_is_an_error_that_names_the_damage(tmp_path):
    root = three_sets(tmp_path / "all")
    shutil.rmtree(root / "b")
    shutil.rmtree(root / "c")
    (root / "a" / "manifest.json").write_text("{}")
    with pytest.raises(ShardError, match=r"a/manifest\.json"):
        write_gallery([root], tmp_path / "p.html")
    assert not (tmp_path / "p.html").exists()
