"""Records of code and picture on the page: which code draws what, what is marked, where boxes lie."""

from trivium.data.records import Document, Drawn, Image, Lineage, Meta, Step, Text
from trivium.pipelines.gallery.pair import boxes, pair, task, words


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
    assert found["words"] == words(EDIT, {1, 5}) == "This code draws the picture. Change it: make it wider."
    assert task(EDIT) == "edit"
    assert pair(document((Text(text="alone"),)), [{"text": "alone"}]) is None


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
    assert [(one["label"], one["box"]) for one in absolute] == [
        ("Give the box of the hole.", [0.25, 0.2, 0.25, 0.2]),
        ("the plate", [0.0, 0.0, 1.0, 1.0]),
        ("Which point is the centre of the hole?", [0.5, 0.5, 0.0, 0.0]),
    ]
    normalised = boxes(coordinates("From 0 to 1000."))
    assert normalised[0]["box"] == [0.05, 0.02, 0.05, 0.02]
    assert boxes(EDIT) == []
