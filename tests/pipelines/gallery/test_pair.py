"""Records of code and picture on the page: which code draws what, what is marked, where boxes lie."""

from pathlib import Path

import pytest
from gallery_sets import picture, written

from trivium.data.records import Document, Drawn, Image, Lineage, Meta, Step, Text, finish
from trivium.data.shards import FunnelStage, Manifest, write_set
from trivium.pipelines.gallery.pair import BOXES, boxes, pair, task, words

CHROMIUM = "/usr/lib/chromium/chromium"


def document(segments, drawn=(), name="edit", engine="build123d"):
    meta = Meta(
        source_id="a" * 26,
        corpus="c",
        domain="d",
        source="s",
        address=f"part-1#{name}",
        license="l",
        drawn=tuple(Drawn(media=m, engine=engine, settings="{}", environment="", code=code) for m, code in drawn),
        lineage=Lineage(steps=(Step(name="pair_tasks", version=1),)),
    )
    return Document(segments=segments, meta=meta)


def image(name, width=200, height=100):
    return Image(media=name, width=width, height=height, mime="image/png")


BEFORE, AFTER = 'x = 12\nname = "plate"\n# end', 'x = 14\nname = "plate"\n# end'
EDIT = document(
    (
        Text(text="This code draws the picture.\n```python\n", loss=False),
        Text(text=BEFORE, loss=False),
        Text(text="\n```\n", loss=False),
        image("i0.png"),
        Text(text="Change it: make it wider.\n", loss=False),
        Text(text=AFTER),
        image("i1.png"),
    ),
    (("i0.png", 1), ("i1.png", 5)),
)


def shown(one):
    return [{"text": s.text} if isinstance(s, Text) else {"media": s.media} for s in one.segments]


def test_each_code_lies_beside_what_it_draws_and_what_changed_is_marked():
    found = pair(EDIT, shown(EDIT))
    assert found["groups"] == [{"code": 1, "media": [3]}, {"code": 5, "media": [6]}]
    assert [mark for mark, _ in found["codes"]["1"]] == ["-", "", ""]
    assert [mark for mark, _ in found["codes"]["5"]] == ["+", "", ""]
    for at, code in ((1, BEFORE), (5, AFTER)):
        assert "\n".join("".join(text for _, text in runs) for _, runs in found["codes"][str(at)]) == code
    kinds = {text: kind for _, runs in found["codes"]["5"] for kind, text in runs}
    assert (kinds["14"], kinds['"plate"'], kinds["# end"]) == ("n", "s", "c")
    said = [("This code draws the picture.", False), ("Change it: make it wider.", False)]
    assert found["words"] == words(EDIT, {1, 5}) == said
    assert task(EDIT) == "edit"
    assert pair(document((Text(text="alone"),)), [{"text": "alone"}]) is None


def test_what_is_asked_and_what_is_learnt_are_told_apart_around_code():
    """A mistake's head: the question, a picture it points at, the answer, each by itself."""
    one = document(
        (
            Text(text="Something is wrong. It should look like this:\n", loss=False),
            image("i1.png"),
            Text(text="Say what is wrong.\n", loss=False),
            Text(text="The hole is absent.\n"),
            Text(text=BEFORE, loss=False),
        ),
        (("i1.png", 4),),
    )
    assert words(one, {4}) == [
        ("Something is wrong. It should look like this: (a picture)", False),
        ("Say what is wrong.", False),
        ("The hole is absent.", True),
    ]


def test_a_record_without_its_code_and_one_cut_short_are_shown_too():
    one = document((Text(text="What?", loss=False), image("i0.png")), (("i0.png", -1),), "questions-2")
    found = pair(one, shown(one))
    assert (found["groups"], found["codes"], task(one)) == ([{"code": None, "media": [1]}], {}, "questions")
    assert pair(EDIT, shown(EDIT)[:4])["groups"] == [{"code": 1, "media": [3]}]


def coordinates(first: str):
    return document(
        (
            Text(text=f"{first}\n", loss=False),
            image("i0.png"),
            Text(text="\nQuestion: Give the box of the hole.\nAnswer:", loss=False),
            Text(text=" [50, 20, 100, 40]\n"),
            Text(text="Q: What is in the box [0, 0, 200, 100]?\nA:", loss=False),
            Text(text=" the plate\n"),
            Text(text="Which point is the centre of the hole?\nA:", loss=False),
            Text(text=" (100, 50)\n"),
        ),
        (("i0.png", -1),),
        "coordinates",
    )


def test_boxes_and_points_are_read_off_questions_and_answers():
    absolute = boxes(coordinates("The picture has 200 × 100 pixels."))
    assert (absolute[1]["asked"], absolute[1]["answer"]) == ("What is in the box [0, 0, 200, 100]?", "the plate")
    assert [(one["label"], one["boxes"]) for one in absolute] == [
        ("Give the box of the hole.", [[0.25, 0.2, 0.25, 0.2]]),
        ("the plate", [[0.0, 0.0, 1.0, 1.0]]),
        ("Which point is the centre of the hole?", [[0.5, 0.5, 0.0, 0.0]]),
    ]
    normalised = boxes(coordinates("From 0 to 1000."))
    assert normalised[0]["boxes"] == [[0.05, 0.02, 0.05, 0.02]]
    assert boxes(EDIT) == []


ALL = "Give the boxes of all holes, from the top down, then from the left."


def holes(rows, columns, step=20):
    """A document that asks for the boxes of many small things in rows, and then for each of some."""
    found = [
        f"[{x}, {y}, {x + 16}, {y + 12}]" for y in range(0, rows * step, step) for x in range(0, columns * step, step)
    ]
    asked = [Text(text=f"Q: {ALL}\nA:", loss=False), Text(text=f" {', '.join(found)}\n")]
    for number, one in enumerate(found[:8]):
        asked += [Text(text=f"Q: Where is hole {number}?\nA:", loss=False), Text(text=f" {one}\n")]
    size = max(rows, columns) * step + 40
    head = Text(text=f"The picture has {size} × {size} pixels.\n", loss=False)
    return document((head, image("i0.png", size, size), *asked), (("i0.png", -1),), "coordinates")


def test_a_question_stands_once_however_many_boxes_answer_it():
    found = boxes(holes(3, 4))
    assert [one["label"] for one in found] == [ALL, *(f"Where is hole {number}?" for number in range(8))]
    assert [len(one["boxes"]) for one in found] == [12, *[1] * 8]
    assert sum(len(one["boxes"]) for one in boxes(holes(10, 10))) == BOXES


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `web`")
    if not Path(CHROMIUM).exists():
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        # The page is a file of ours that loads nothing, and Chromium's own sandbox can't work for root.
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


def opened(browser, folder, made, media, funnel=()):
    """The page of a set of one record, that record open."""
    base = Manifest(corpus="c", domain="d", recipe="0" * 64, funnel=funnel)
    write_set(folder / "set", [(finish(made, media), media)], base)
    written([folder / "set"], folder / "page.html")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((folder / "page.html").as_uri())
    page.click("#records .card")
    page.wait_for_timeout(500)
    return page


def texts(page, which):
    return page.eval_on_selector_all(which, "all => all.map((one) => one.textContent)")


def test_numbers_lie_beside_their_marks_and_over_no_other_number(browser, tmp_path):
    """In a browser, where pictures have the size that the page gives them."""
    made = holes(4, 4, step=60)
    page = opened(browser, tmp_path, made, {"i0.png": picture((280, 280))})
    numbers, marks = (page.eval_on_selector_all(which, BOUNDS) for which in (".boxed .number", ".boxed .place"))
    listed, answered = texts(page, ".legend li"), texts(page, ".legend .answer")
    assert [one.removesuffix(answer) for one, answer in zip(listed, answered, strict=True)] == [
        f"{ALL} × 16",
        *(f"Where is hole {number}?" for number in range(8)),
    ]
    assert answered[1] == "[0, 0, 16, 12]"
    assert len(numbers) == len(marks) == 24
    for at, one in enumerate(numbers):
        assert not any(covered(one, other) > 1 for other in numbers[:at]), (at, one)
        assert covered(one, marks[at]) < 0.5 * area(one), "it hides what its own mark shows"
        assert covered(one, grown(marks[at], 30)) > 0, "it lies far from its mark"


def test_where_code_is_given_and_words_are_learnt_the_words_lie_beside_the_picture(browser, tmp_path):
    asked = (
        Text(text="Questions about this code:\n```python\n", loss=False),
        Text(text=BEFORE, loss=False),
        Text(text="\n```\n", loss=False),
        image("i0.png", 40, 20),
        Text(text="Q: What is its name?\nA:", loss=False),
        Text(text=" plate\n"),
    )
    funnel = (FunnelStage(name="read", input=8, kept=8), FunnelStage(name="pair_tasks", input=8, kept=24))
    made = document(asked, (("i0.png", 1),), "questions")
    page = opened(browser, tmp_path, made, {"i0.png": picture()}, funnel)
    (beside,) = texts(page, ".pairside pre")
    assert "What is its name?" in beside
    assert BEFORE not in beside
    assert texts(page, ".pairside .learnt") == [" plate\n"]
    assert [one.strip() for one in texts(page, ".segment pre")].count(BEFORE) == 1
    assert page.eval_on_selector(".pairside .picture", "one => getComputedStyle(one).backgroundImage") == "none"
    page.keyboard.press("Escape")
    page.click("[data-tab=funnel]")
    widths = page.eval_on_selector_all("#funnel .kept", "all => all.map((one) => one.style.width)")
    assert widths == ["100%", "100%"]  # as in the report: what is made of records is no wider than they
    assert texts(page, "#funnel .sum") == ["8 of 8", "24 from 8"]


def test_a_point_is_a_ring_and_its_number_leaves_the_line_of_words_free(browser, tmp_path):
    page = opened(browser, tmp_path, coordinates("The picture has 200 × 100 pixels."), {"i0.png": picture((200, 100))})
    (ring,) = page.eval_on_selector_all(".boxed .point", BOUNDS)
    number = page.eval_on_selector_all(".boxed .number", BOUNDS)[-1]
    assert number[3] <= ring[1] or number[1] >= ring[3]
    background = page.eval_on_selector(".boxed .point", "one => getComputedStyle(one).backgroundColor")
    assert background == "rgba(0, 0, 0, 0)"
    clips = (
        "[{frames: 16, fps: 8, seconds: 1.875}, {frames: 16, fps: 8}, {frames: 50, fps: 25, seconds: 9.5}].map(lasts)"
    )
    assert page.evaluate(clips) == [2, 2, 9.5]  # up to a last frame's own time; what a file says otherwise stays


def test_code_that_stands_above_its_document_is_folded_in_it(browser, tmp_path):
    made = document(
        (Text(text="Picture to code:\n", loss=False), image("i0.png", 40, 20), Text(text=BEFORE)),
        (("i0.png", 2),),
        "picture_to_code",
    )
    page = opened(browser, tmp_path, made, {"i0.png": picture()})
    assert [one.strip() for one in texts(page, ".pairside pre")] == [BEFORE]
    assert page.eval_on_selector_all("details.segment", "all => all.map((one) => one.open)") == [False]


def test_code_without_a_picture_looks_like_code_on_its_card_fenced_or_not(browser, tmp_path):
    for fence in ("", "```"):
        asked = (
            Text(text=f"Describe it.\n{fence}", loss=False),
            Text(text=BEFORE, loss=False),
            Text(text=f"\n{fence}\n", loss=False),
            Text(text="A plate.\n"),
        )
        page = opened(browser, tmp_path / f"f{fence}", document(asked, name="description"), {})
        assert texts(page, ".card .face .c") == BEFORE.split("\n")


BOUNDS = """all => all.map((one) => {
  const at = one.getBoundingClientRect();
  return [at.left, at.top, at.right, at.bottom];
})"""


def area(one):
    return (one[2] - one[0]) * (one[3] - one[1])


def grown(one, by):
    return [one[0] - by, one[1] - by, one[2] + by, one[3] + by]


def covered(one, other):
    """Square pixels that two rectangles share."""
    width, height = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)
