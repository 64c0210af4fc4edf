"""The words around pictures and code, as data: one YAML file, checked when it is read."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.config import Strict, load_yaml
from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.wording import fill, has_fields

DEFAULT = Path(__file__).with_name("wording.yaml")
PLACES = 9
Templates = tuple[str, ...]

# The fields of each list of templates: those named here, else none.
_FIELDS = {
    "view": "view",
    "files": "files",
    "picture_to_code": "language",
    "description.asked.code": "language",
    "description.asked.both": "language",
    "description.what": "what",
    "description.title": "title",
    "description.counts": "things",
    "description.one": "thing",
    "description.placed": "things place",
    "description.size": "measure value",
    "description.color": "color share",
    "questions.asked_code": "language",
    "questions.question": "text",
    "questions.count": "things",
    "questions.count_color": "color things",
    "questions.color": "part",
    "questions.which_color": "kind color",
    "questions.text": "part",
    "questions.size": "measure part",
    "questions.whole_size": "measure",
    "questions.larger": "one other",
    "questions.left": "one other",
    "questions.above": "one other",
    "coordinates.absolute": "width height",
    "coordinates.question": "text",
    "coordinates.box": "part",
    "coordinates.center": "part",
    "coordinates.named": "box",
    "coordinates.all": "things",
    "edit.asked": "language",
    "edit.instruct": "instruction",
    "bug_fix.asked": "language",
    "bug_fix.told": "instruction",
    "session.intro": "language",
    "session.step": "step instruction",
    "session.whole": "step",
}


class Fence(Strict, kw_only=True):
    """What stands before and after code; `open` may name the `tag` of the language."""

    open: str
    close: str


class DescriptionAsked(Strict, kw_only=True):
    picture: Templates
    code: Templates
    both: Templates


class DescriptionWords(Strict, kw_only=True):
    asked: DescriptionAsked
    what: Templates
    title: Templates
    counts: Templates
    one: Templates
    placed: Templates
    size: Templates
    color: Templates


class QuestionWords(Strict, kw_only=True):
    asked: Templates
    asked_code: Templates
    question: Templates
    answer: Templates
    count: Templates
    count_color: Templates
    color: Templates
    which_color: Templates
    text: Templates
    size: Templates
    whole_size: Templates
    title: Templates
    larger: Templates
    left: Templates
    above: Templates
    most_color: Templates
    pixels: Templates


class CoordinateWords(Strict, kw_only=True):
    absolute: Templates
    normalised: Templates
    question: Templates
    answer: Templates
    box: Templates
    center: Templates
    named: Templates
    all: Templates


class EditWords(Strict, kw_only=True):
    asked: Templates
    instruct: Templates
    match: Templates
    explain_asked: Templates
    explain: Templates
    drawn: Templates


class BugWords(Strict, kw_only=True):
    asked: Templates
    told: Templates
    wanted: Templates
    find: Templates
    mend: Templates


class SessionWords(Strict, kw_only=True):
    intro: Templates
    begin: Templates
    step: Templates
    old: Templates
    new: Templates
    end: Templates
    whole: Templates
    drawn: Templates


class Wording(Strict, kw_only=True):
    """Everything that is said beside code, pictures and facts."""

    plurals: dict[str, str]
    an: tuple[str, ...]  # words that take "an" against the rule
    a: tuple[str, ...]  # words that take "a" against the rule
    colors: dict[str, str]  # names of colours by #rrggbb
    places: tuple[str, ...]  # nine, for the thirds of a picture
    view: Templates
    after: Templates
    files: Templates
    fences: tuple[Fence, ...]
    picture_to_code: Templates
    description: DescriptionWords
    questions: QuestionWords
    coordinates: CoordinateWords
    edit: EditWords
    bug_fix: BugWords
    session: SessionWords

    def __post_init__(self) -> None:
        if len(self.places) != PLACES:
            raise ValueError(f"places holds {len(self.places)}; give {PLACES}, row by row")
        if not self.fences:
            raise ValueError("fences is empty; give at least one")
        _check(self, "")


def _check(words: Strict, above: str) -> None:
    for name in words.__struct_fields__:
        value, label = getattr(words, name), f"{above}{name}"
        if isinstance(value, Strict):
            _check(value, f"{label}.")
        elif isinstance(value, tuple) and label not in ("an", "a", "places", "fences"):
            if not value:
                raise ValueError(f"{label} is empty; give at least one template")
            for template in value:
                has_fields(label, template, set(_FIELDS.get(label, "").split()))


@lru_cache(maxsize=8)
def load_wording(path: Path = DEFAULT) -> Wording:
    """Reads a file of words, by default the one that comes with Trivium. Raises InputError or ConfigError."""
    return load_yaml(path, Wording)


AT_THE_START = {
    "description": ("counts", "one"),
    "questions": ("count", "count_color", "color", "which_color", "text"),
}


def of_clips(words: Wording) -> Wording:
    """The same words where what is shown is a clip. Its facts are its first frame's, and so it is said of them."""
    made = _renamed(msgspec.to_builtins(words))
    for task, kinds in AT_THE_START.items():
        made[task] |= {kind: [_at_the_start(template) for template in made[task][kind]] for kind in kinds}
    return msgspec.convert(made, Wording)


def _at_the_start(template: str) -> str:
    bare = template.rstrip(".?!\n")
    return f"{bare} at the start{template[len(bare) :]}"


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each) for each in value]
    return value.replace("picture", "clip").replace("Picture", "Clip")


def say(dice: Dice, templates: Templates, **fields: object) -> str:
    return fill(dice.pick(templates), **fields)
