"""What is asked is answered again here by brute force, from the facts and the words alone."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.coordinates import Scale, located
from trivium.data.pairs.description import describe
from trivium.data.pairs.facts import Facts, Part
from trivium.data.pairs.naming import listed, measure, number, place, plural, some
from trivium.data.pairs.questions import Asker
from trivium.data.pairs.wording import load_wording

WORDS = load_wording()
WIDTH, HEIGHT = 320, 200
KINDS = ("circle", "box", "piece of text", "leaf")
COLORS = ("", "red", "#ff0000", "#123456", "blue")
SIZES = {"radius mm": 12.5, "height px": 30.0, "length": 1 / 3}

sides = st.floats(-20, 340, allow_nan=False).map(lambda value: round(value, 2))
parts = st.builds(
    Part,
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(("", "", "Save", "left box", "Ø12.5")),
    text=st.sampled_from(("", "", "Save", "two\nlines", "Hello world")),
    color=st.sampled_from(COLORS),
    box=st.none() | st.tuples(sides, sides, sides, sides),
    sizes=st.dictionaries(st.sampled_from(sorted(SIZES)), st.sampled_from(sorted(SIZES.values()))),
)
facts = st.builds(
    Facts,
    what=st.just("a drawing"),
    title=st.sampled_from(("", "A title")),
    parts=st.lists(parts, max_size=7).map(tuple),
    cut=st.booleans(),
    sizes=st.dictionaries(st.sampled_from(sorted(SIZES)), st.sampled_from(sorted(SIZES.values()))),
    legible=st.sampled_from(((), ("radius mm",))),
    colors=st.sampled_from(({}, {"#ffffff": 0.5, "#ff0000": 0.3}, {"#123456": 0.31, "#ffffff": 0.3})),
)


def color(value):
    """Names for the colours of these tests, however they are written."""
    return {"#ff0000": "red", "#0000ff": "blue", "#ffffff": "white", "#008000": "green"}.get(value, value)


def meant(phrase, facts):
    """The parts that a phrase may mean, whatever made it."""

    def ways(part):
        yield f"the {part.kind}"
        yield f"the {color(part.color)} {part.kind}"
        yield f"the {part.kind} “{part.name}”"
        yield f"the {part.name}"
        yield f"the {part.kind} that reads “{part.text}”"

    return [part for part in facts.parts if phrase in ways(part)]


def the(phrase, facts):
    (part,) = meant(phrase, facts)
    return part


def fields(question, templates):
    """The fields of whichever template made it; templates of one kind differ in their words."""
    for template in templates:
        made = re.escape(template).replace(r"\{", "{").replace(r"\}", "}")
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>.+?)", made), question.text)
        if match:
            return match.groupdict()
    raise AssertionError(question.text)


def kind_of(things, facts):
    (kind,) = {part.kind for part in facts.parts if plural(part.kind, WORDS) == things}
    return [part for part in facts.parts if part.kind == kind]


def sized(sizes, asked):
    words = asked.removesuffix(", to three decimals")
    (key,) = [key for key in sizes if words == " in ".join(filter(None, measure(key)))]
    unit = measure(key)[1]
    assert (words == asked) == (float(number(sizes[key])) == sizes[key])
    return key, f"{number(sizes[key])} {unit}".strip()


def solve(question, facts, code):
    """The answer, found again; every branch fails where it is not unique."""
    found = fields(question, getattr(WORDS.questions, question.about))
    match question.about:
        case "count":
            assert question.answer != "1", "whoever asks how many knows of several"
            return str(len(kind_of(found["things"], facts)))
        case "count_color":
            alike = kind_of(found["things"], facts)
            assert all(part.color for part in alike)
            assert len({color(part.color) for part in alike}) > 1, "it could only be all"
            assert question.answer != "1"
            return str(sum(color(part.color) == found["color"] for part in alike))
        case "color":
            return color(the(found["part"], facts).color)
        case "which_color":
            alike = [part for part in facts.parts if part.kind == found["kind"]]
            assert all(part.color for part in alike)
            (part,) = [part for part in alike if color(part.color) == found["color"]]
            assert the(question.answer, facts) is part
            assert found["color"] not in question.answer
            return question.answer
        case "text":
            text = the(found["part"], facts).text
            assert text not in found["part"]
            return text
        case "size" | "whole_size":
            sizes = the(found["part"], facts).sizes if "part" in found else facts.sizes
            key, answer = sized(sizes, found["measure"])
            assert code or key.endswith(" px") or key in facts.legible
            assert number(sizes[key]) not in found.get("part", "")
            return answer
        case "title":
            assert facts.title in code or facts.title in [part.text for part in facts.parts]
            return facts.title
        case "larger" | "left" | "above":
            one, other = (the(found[name], facts).box for name in ("one", "other"))
            first, last = {"left": (0, 2), "above": (1, 3)}.get(question.about, (0, 0))
            if question.about == "larger":
                sizes = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
                assert max(sizes) >= 1.5 * min(sizes)
                return found["one" if sizes[0] > sizes[1] else "other"]
            assert one[last] <= other[first] or other[last] <= one[first]
            return found["one" if one[first] < other[first] else "other"]
        case "most_color":
            (top, share), *rest = sorted(facts.colors.items(), key=lambda item: -item[1])
            assert all(share > other for _, other in rest)
            return color(top)
        case "pixels":
            return f"{WIDTH} × {HEIGHT}"


@settings(max_examples=80, deadline=None)
@given(facts=facts, code=st.sampled_from(("", "code", "code of A title")), seed=st.integers(0, 3))
def test_every_answer_is_the_only_one_that_the_facts_allow(facts, code, seed):
    asked = Asker(facts, WIDTH, HEIGHT, WORDS, Dice(seed), code=code).questions(50)
    assert len({question.text for question in asked}) == len(asked)
    assert not asked or {question.about for question in asked} - {"pixels", "most_color"}, "nothing of what it shows"
    for question in asked:
        assert solve(question, facts, code) == question.answer
        if facts.cut:
            assert question.about in {"whole_size", "title", "most_color", "pixels"}
    assert asked == Asker(facts, WIDTH, HEIGHT, WORDS, Dice(seed), code=code).questions(50)
    several = Asker(facts, WIDTH, HEIGHT, WORDS, Dice(seed), code=code, alone=False).questions(50)
    assert not {question.about for question in several} & {"larger", "left", "above", "most_color", "pixels"}


@pytest.mark.parametrize(
    ("parts", "about"),
    [
        ((), set()),  # an icon of paths: its size and the colour of its paper are all that is known
        (("black",), {"color", "pixels", "most_color"}),
        (("black", "black"), {"count", "pixels", "most_color"}),
        (("black", "red"), {"count", "pixels", "most_color"}),
        (("black", "red", "red"), {"count", "count_color", "pixels", "most_color"}),
    ],
)
def test_nothing_is_asked_that_has_one_answer_or_says_nothing(parts, about):
    made = tuple(Part(kind="circle", color=color) for color in parts)
    found = Facts(what="an icon", parts=made, colors={"#ffffff": 0.8, "#000000": 0.2})
    asked = [Asker(found, 112, 112, WORDS, Dice(seed), code="<svg/>").questions(50) for seed in range(60)]
    assert {question.about for questions in asked for question in questions} == about
    for of_any in {"pixels", "most_color"} & about:
        times = sum(of_any in {question.about for question in questions} for questions in asked)
        assert 10 <= times <= 30, "of a third of the items"


def test_nothing_is_asked_or_told_twice():
    made = tuple(Part(kind="oxygen atom", box=(40 * n, 10, 40 * n + 20, 30)) for n in range(3))
    found = Facts(
        what="a molecule", parts=made, sizes={"oxygen atoms": 3, "carbon atoms": 2}, legible=("oxygen atoms",)
    )
    for seed in range(9):
        asked = Asker(found, WIDTH, HEIGHT, WORDS, Dice(seed), code="code").questions(50)
        assert sum("oxygen" in question.text for question in asked) == 1
        assert sum("carbon" in question.text for question in asked) == 1
        text = describe(found, WIDTH, HEIGHT, WORDS, Dice(seed), code="code", shown=True, alone=True)
        assert len(re.findall("3 oxygen atoms|oxygen atoms .{2,9} 3", text)) == 1
        assert "carbon" in text


def test_what_is_known_by_its_name_alone_is_not_described():
    bare = {"what": "a drawing", "colors": {"#ffffff": 0.9}}
    for more, said in (({}, False), ({"title": "A flag"}, True), ({"parts": (Part(kind="box"),)}, True)):
        facts = Facts(**bare, **more)
        text = describe(facts, WIDTH, HEIGHT, WORDS, Dice(0), code="", shown=True, alone=True)
        assert bool(text) == said
        assert ("white" in text) == said


def test_many_kinds_of_questions_are_asked_and_no_more_than_wanted():
    made = tuple(
        Part(
            kind="box",
            name=f"box {n}",
            text=f"text {n}",
            color=c,
            box=(90 * n, 10, 90 * n + 20 + 30 * n, 40),
            sizes=SIZES,
        )
        for n, c in enumerate(("red", "blue", "green", "red"))
    )
    whole = Facts(what="boxes", title="Boxes", parts=made, sizes=SIZES, colors={"#ffffff": 0.9})
    asked = [Asker(whole, WIDTH, HEIGHT, WORDS, Dice(n), code='title = "Boxes"').questions(200) for n in range(20)]
    assert {question.about for questions in asked for question in questions} >= set(
        WORDS.questions.__struct_fields__
    ) - {
        "asked",
        "asked_code",
        "question",
        "answer",
        "above",
    }
    few = Asker(whole, WIDTH, HEIGHT, WORDS, Dice(1), code='title = "Boxes"').questions(6)
    assert len(few) == len({question.about for question in few}) == 6


@settings(max_examples=80, deadline=None)
@given(facts=facts, normalised=st.booleans(), seed=st.integers(0, 3))
def test_every_coordinate_lies_in_the_picture_and_is_its_part_s(facts, normalised, seed):
    scale = Scale(WIDTH, HEIGHT, normalised=normalised)
    across, down = (1000 / WIDTH, 1000 / HEIGHT) if normalised else (1, 1)

    def near(numbers, box, center=False):
        left, top, right, bottom = box
        exact = ((left + right) / 2, (top + bottom) / 2) if center else box
        scaled = [value * (across, down)[at % 2] for at, value in enumerate(exact)]
        assert all(abs(a - b) <= 0.5 + 1e-6 for a, b in zip(numbers, scaled, strict=True))

    asked = located(facts, scale, WORDS, Dice(seed), 20)
    assert not (facts.cut and asked)
    for question in asked:
        found = fields(question, getattr(WORDS.coordinates, question.about))
        numbers = [
            int(n) for n in re.findall(r"-?\d+", question.text if question.about == "named" else question.answer)
        ]
        for at, value in enumerate(numbers):
            assert 0 <= value <= (1000 if normalised else (WIDTH, HEIGHT)[at % 2])
        if question.about == "all":
            boxes = [part.box for part in kind_of(found["things"], facts)]
            assert len(numbers) == 4 * len(boxes)
            for at, box in enumerate(sorted(boxes, key=lambda box: (box[1], box[0], box))):
                near(numbers[4 * at : 4 * at + 4], box)
            tops = [box[1] for box in sorted(boxes, key=lambda box: (box[1], box[0], box))]
            assert all(a <= b for a, b in pairwise(tops))
        elif question.about == "named":
            part = the(question.answer, facts)
            near(numbers, part.box)
            assert [other for other in facts.parts if other.box and scale.box(other.box) == found["box"]] == [part]
        else:
            near(numbers, the(found["part"], facts).box, center=question.about == "center")


def test_what_fills_the_picture_is_no_place_in_it():
    parts = [Part(kind="floor", box=(0, 0, 100, 95)), Part(kind="box", box=(10, 10, 30, 40))]
    asked = located(Facts(what="a room", parts=tuple(parts)), Scale(100, 100, normalised=False), WORDS, Dice(1), 20)
    assert asked
    assert not any("floor" in question.text + question.answer for question in asked)


@settings(max_examples=60, deadline=None)
@given(facts=facts, code=st.sampled_from(("", "A title")), shown=st.booleans(), alone=st.booleans())
def test_a_description_says_nothing_but_facts(facts, code, shown, alone):
    text = describe(facts, WIDTH, HEIGHT, WORDS, Dice(0), code=code, shown=shown, alone=alone)
    assert ("a drawing" in text) == bool(text)
    assert text or (not (facts.title and shown) and (facts.cut or not facts.parts))
    known = [facts.title, *(number(value) for value in facts.sizes.values())]
    for part in facts.parts:
        known += [part.name, part.text]
    said = text
    for words in sorted(filter(None, known), key=len, reverse=True):
        said = said.replace(words, "")
    counted = [int(n) for n in re.findall(r"\b(\d+) (?!%)", said)]
    kinds = [part.kind for part in facts.parts]
    assert all(n in {kinds.count(kind) for kind in kinds} for n in counted)
    assert not (facts.cut and counted)
    for key, value in facts.sizes.items():
        told = re.search(rf"(?:The|Its) {measure(key)[0]} (?:is|comes to) {re.escape(number(value))}\b", text)
        assert bool(told) == (shown if key.endswith(" px") or key in facts.legible else bool(code))
    if not alone:
        assert not re.search("|".join(WORDS.places), text, re.IGNORECASE)
        assert "%" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (plural("through hole", WORDS), "through holes"),
        (plural("piece of text", WORDS), "pieces of text"),
        (plural("box", WORDS), "boxes"),
        (plural("entry", WORDS), "entries"),
        (plural("gear tooth", WORDS), "gear teeth"),
        (some("hour hand", WORDS), "an hour hand"),
        (some("unit", WORDS), "a unit"),
        (some("arc", WORDS), "an arc"),
        (number(8123.5), "8123.5"),
        (number(-0.0001), "0"),
        (number(1e7), "10000000"),
        (measure("bore diameter mm"), ("bore diameter", "mm")),
        (measure("teeth"), ("number of teeth", "")),
        (measure("rows below the head"), ("number of rows below the head", "")),
        (measure("carbon atoms"), ("number of carbon atoms", "")),
        (measure("radius of the rings"), ("radius of the rings", "")),
        (listed(["a", "b", "c"]), "a, b and c"),
        (place((0, 0, 30, 30), 90, 90, WORDS), "at the top left"),
        (place((60, 30, 90, 60), 90, 90, WORDS), "on the right"),
    ],
)
def test_how_things_are_said(given, said):
    assert given == said
