"""What is shown of many: even shares, one order, and bounds on everything."""

from gallery_sets import HOSTILE, IMAGE, make, picture, written
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.records import Image, Text
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Drop
from trivium.pipelines.gallery.draw import arranged, interleaved, ranked, shares
from trivium.pipelines.gallery.record import LINE_LIMIT, PICTURES, TEXT_LIMIT


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


def test_a_reject_s_address_is_one_line_and_its_reason_has_a_meaning(tmp_path):
    lost = [
        Drop(source_id="r" * 26, source="s", address="a\nb.html", stage="page_clean", reason="too_deep"),
        Drop(source_id="q" * 26, source="s", address="c.txt", stage="heuristics", reason="too_deep"),
    ]
    write_set(tmp_path / "set", [], Manifest(corpus="c", domain="d", recipe="r"), rejects={"build": lost})
    _, _, data = written([tmp_path / "set"], tmp_path / "p.html")
    found = {one["address"]: one for one in data["rejects"]}
    assert found[r"a\nb.html"]["help"].startswith("raise `rules.max_depth`")
    assert "means" not in found["c.txt"]


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
