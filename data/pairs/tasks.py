"""The last stage of a programmatic corpus: a drawn item → the documents that a model learns from, one a task.

Each task is drawn by itself from a hash of the seed and the item, so taking one out changes no other. What is told,
asked and answered comes from the item's facts; a task that an item allows nothing of gives no document.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import Strict, digest
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.coordinates import Scale, located
from trivium.data.pairs.description import describe
from trivium.data.pairs.drawing import BUG, EDIT
from trivium.data.pairs.item import SHEET, Change, Sheet, sheet_of
from trivium.data.pairs.page import Page
from trivium.data.pairs.questions import Asker, Question
from trivium.data.pairs.session import NoSession, SessionRules, Sessions
from trivium.data.pairs.wording import Wording, load_wording, of_clips, say
from trivium.data.records import Image, Step, Text, Video
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, StageConfig, refuse, touched

Share = Annotated[float, Bound(ge=0, le=1)]
Count = Annotated[int, Bound(ge=1, le=1000)]


class TaskShares(Strict, kw_only=True):
    """Of all items that allow a task, the share that gives its document; 0 leaves the task out."""

    picture_to_code: Share = 1.0  # the code by the pictures
    description: Share = 0.5  # a paragraph by pictures, code or both
    questions: Share = 0.5  # some of them, with their exact answers
    coordinates: Share = 0.5  # boxes and points of named parts
    edit: Share = 1.0  # of the changed versions that were drawn
    bug_fix: Share = 1.0  # likewise


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """An item taken apart."""

    draft: Draft
    sheet: Sheet
    words: Wording
    code: str  # "" where there are pictures only
    pictures: tuple[Image | Video, ...]


class PairTasks:
    """Drawn items → documents of pictures and code."""

    name = "pair_tasks"
    version = 4  # no counts of one thing, nothing twice, no description that says nothing

    class Config(StageConfig, kw_only=True, tag="pair_tasks"):
        """Which documents an item gives. `seed`: of all that is drawn by chance, shares and words."""

        TAKES = frozenset({Content.DRAWN})
        GIVES = Content.PAIRS

        shares: TaskShares = TaskShares()  # how many items give each task's document
        most: Count = 12  # documents of one item; which, is drawn
        questions: Count = 8  # in one document
        coordinates: Count = 12  # questions in one document
        normalised: Share = 0.5  # of documents of coordinates: 0 to 1000 instead of pixels
        views: Count = 4  # pictures of one version that a document shows
        session: SessionRules | None = None  # which items give one long document more, a chain of edits
        wording: str = ""  # a YAML file of one's own words; left out: those that come with Trivium
        seed: int = 0

        def build(self) -> "PairTasks":
            return PairTasks(self)

        def paths(self) -> dict[tuple[str | int, ...], str]:
            return {("wording",): self.wording} if self.wording else {}

        def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
            return msgspec.structs.replace(self, wording=paths.get(("wording",), self.wording))

        def check(self, name: str, base: Path) -> None:
            if self.wording:
                load_wording(base / self.wording)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.wording = load_wording(Path(config.wording)) if config.wording else load_wording()
        self._of_clips = of_clips(self.wording)
        known = config.with_paths({("wording",): digest(self.wording)})  # what is said counts, not where it lies
        parameters = digest(known)
        self.step = Step(name=self.name, version=self.version, parameters=parameters, seed=config.seed)
        self._sessions = Sessions(config.session, config.seed) if config.session else None

    def open(self) -> None:
        pass

    def close(self) -> None:
        if self._sessions is not None:
            self._sessions.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("pair_tasks takes drawn items; put a stage that draws before it")
        drawing = self._taken_apart(item)
        key = item.document.meta.source_id
        names = {
            name: (make, dice)
            for name, share, make in self._tasks(drawing)
            if (dice := Dice(self.config.seed, name, key)).share() < share
        }
        pages = {name: page for name, (make, dice) in names.items() if (page := make(dice)) is not None}
        kept = set(Dice(self.config.seed, "most", key).sample(sorted(pages), self.config.most))
        if self._sessions is not None:
            session = self._session(drawing)
            if isinstance(session, Drop):
                yield session
            elif session is not None:
                pages["session"] = session
                kept.add("session")
        if not kept:
            yield refuse(item, self.name, "no_task", "no document was drawn that its code, facts and changes allow")
        for name, page in pages.items():
            if name in kept:
                yield touched(page.draft(item.document.meta, name), self.step)

    def _session(self, drawing: Drawing) -> Page | Drop | None:
        """The one long document, or why the item gives none although it was to; its other documents are kept."""
        assert self._sessions is not None
        try:
            session = self._sessions.page(drawing.draft, drawing.sheet, drawing.words, drawing.code)
        except Exception as error:  # a fault of an editor after hundreds of its edits must not take the others along
            last = traceback.extract_tb(error.__traceback__)[-1]
            line = traceback.format_exception_only(error)[-1].strip()
            why = f"the session broke off, the item's other documents are kept; {line[:200]}"
            where = f"{'/'.join(Path(last.filename).parts[-3:])}:{last.lineno}"
            return refuse(drawing.draft, self.name, "crash", f"{why} ({where})", error=True)
        if isinstance(session, NoSession):
            why = f"the item's other documents are kept; {session.why}"
            return refuse(drawing.draft, self.name, "no_session", why)
        return session

    def _taken_apart(self, draft: Draft) -> Drawing:
        segments = draft.document.segments
        code = segments[0].text if isinstance(segments[0], Text) else ""
        pictures = tuple(segment for segment in segments if not isinstance(segment, Text))
        words = self._of_clips if isinstance(pictures[0], Video) else self.wording
        return Drawing(draft=draft, sheet=sheet_of(draft), words=words, code=code, pictures=pictures)

    def _tasks(self, drawing: Drawing) -> Iterator[tuple[str, float, Callable[[Dice], Page | None]]]:
        shares = self.config.shares
        if drawing.code:
            yield "picture_to_code", shares.picture_to_code, lambda dice: self._picture_to_code(drawing, dice)
        if drawing.sheet.facts.what:
            yield "description", shares.description, lambda dice: self._description(drawing, dice)
        yield "questions", shares.questions, lambda dice: self._questions(drawing, dice)
        yield "coordinates", shares.coordinates, lambda dice: self._coordinates(drawing, dice)
        for role, name, share in ((EDIT, "edit", shares.edit), (BUG, "bug_fix", shares.bug_fix)):
            changes = [change for change in drawing.sheet.changes if change.role == role]
            for number, change in enumerate(changes):
                task = name if number == 0 else f"{name}-{number + 1}"
                make = self._edit if role == EDIT else self._bug_fix
                yield task, share, lambda dice, make=make, change=change: make(drawing, change, dice)  # type: ignore[misc]

    def _picture_to_code(self, drawing: Drawing, dice: Dice) -> Page:
        page = self._page(drawing)
        page.say(say(dice, drawing.words.picture_to_code, language=drawing.sheet.language))
        self._files(page, drawing, dice)
        self._show(page, drawing, dice)
        self._code(page, drawing, drawing.code, dice, loss=True)
        return page

    def _description(self, drawing: Drawing, dice: Dice) -> Page | None:
        facts, words, code = drawing.sheet.facts, drawing.words.description, drawing.code
        given = dice.pick(("picture", "code", "both")) if code else "picture"
        first = drawing.pictures[0]
        text = describe(
            facts,
            first.width,
            first.height,
            drawing.words,
            dice,
            code="" if given == "picture" else code,
            shown=given != "code",
            alone=given != "code" and self._shown(drawing) == 1 and isinstance(first, Image),
        )
        if not text:
            return None
        page = self._page(drawing)
        page.say(say(dice, getattr(words.asked, given), **({} if given == "picture" else _named(drawing))))
        if given != "picture":
            self._code(page, drawing, code, dice, loss=False)
        if given != "code":
            self._show(page, drawing, dice, most=self._shown(drawing))
        page.say(f"{text}\n", loss=True)
        return page

    def _questions(self, drawing: Drawing, dice: Dice) -> Page | None:
        read = bool(drawing.code) and dice.share() < 0.5
        first = drawing.pictures[0]
        asker = Asker(
            drawing.sheet.facts,
            first.width,
            first.height,
            drawing.words,
            dice,
            code=drawing.code if read else "",
            alone=self._shown(drawing) == 1 and isinstance(first, Image),
        )
        questions = asker.questions(self.config.questions)
        if not questions:
            return None
        words, page = drawing.words.questions, self._page(drawing)
        if read:
            page.say(say(dice, words.asked_code, **_named(drawing)))
            self._code(page, drawing, drawing.code, dice, loss=False)
        else:
            page.say(say(dice, words.asked))
        self._show(page, drawing, dice, most=self._shown(drawing))
        _ask(page, questions, dice.pick(words.question), dice.pick(words.answer))
        return page

    def _coordinates(self, drawing: Drawing, dice: Dice) -> Page | None:
        words, first = drawing.words.coordinates, drawing.pictures[0]
        normalised = dice.share() < self.config.normalised
        scale = Scale(first.width, first.height, normalised=normalised)
        questions = located(drawing.sheet.facts, scale, drawing.words, dice, self.config.coordinates)
        if not questions or isinstance(first, Video):
            return None
        page = self._page(drawing)
        sizes = {} if normalised else {"width": first.width, "height": first.height}
        page.say(say(dice, words.normalised if normalised else words.absolute, **sizes))
        page.picture(first, drawing.draft.document.meta.drawn[0], drawing.code)
        page.say(dice.pick(drawing.words.after))
        _ask(page, questions, dice.pick(words.question), dice.pick(words.answer))
        return page

    def _edit(self, drawing: Drawing, change: Change, dice: Dice) -> Page:
        words, language, page = drawing.words.edit, drawing.sheet.language, self._page(drawing)
        how = dice.pick(("instruct", "instruct", "match", "explain"))
        if change.pictures == drawing.pictures:
            how = "instruct"  # the same picture from other code: only words can ask for that
        page.say(say(dice, words.asked, language=language))
        self._files(page, drawing, dice)
        self._code(page, drawing, drawing.code, dice, loss=False)
        self._show(page, drawing, dice)
        if how == "instruct":
            page.say(say(dice, words.instruct, instruction=change.instruction))
            self._code(page, drawing, change.code, dice, loss=True)
            page.say(say(dice, words.drawn))
            self._show(page, drawing, dice, change)
        elif how == "match":
            page.say(say(dice, words.match))
            self._show(page, drawing, dice, change)
            self._code(page, drawing, change.code, dice, loss=True)
        else:
            page.say(say(dice, words.explain_asked))
            self._code(page, drawing, change.code, dice, loss=False)
            page.say(say(dice, words.drawn))
            self._show(page, drawing, dice, change)
            page.say(say(dice, words.explain))
            page.say(f"{change.instruction}\n", loss=True)
        return page

    def _bug_fix(self, drawing: Drawing, change: Change, dice: Dice) -> Page:
        """The changed code is the broken one; the item's own is what mends it."""
        words, language, page = drawing.words.bug_fix, drawing.sheet.language, self._page(drawing)
        page.say(say(dice, words.asked, language=language))
        self._files(page, drawing, dice)
        self._code(page, drawing, change.code, dice, loss=False)
        self._show(page, drawing, dice, change)
        how = dice.pick(("told", "wanted", "find"))
        if how == "told" and not change.enough:
            how = "wanted"
        if how == "told":
            page.say(say(dice, words.told, instruction=change.instruction))
        else:
            page.say(say(dice, words.wanted))
            self._show(page, drawing, dice)
        if how == "find":
            page.say(say(dice, words.find))
            page.say(f"{change.instruction}\n", loss=True)
        page.say(say(dice, words.mend))
        self._code(page, drawing, drawing.code, dice, loss=True)
        if how == "told":
            page.say(say(dice, drawing.words.edit.drawn))
            self._show(page, drawing, dice)
        return page

    def _page(self, drawing: Drawing) -> Page:
        return Page(drawing.draft.media, drawing.sheet.files)

    def _code(self, page: Page, drawing: Drawing, code: str, dice: Dice, *, loss: bool) -> None:
        write_code(page, drawing.words, drawing.sheet.language, code, dice, loss=loss)

    def _files(self, page: Page, drawing: Drawing, dice: Dice) -> None:
        if drawing.sheet.files:
            page.say(say(dice, drawing.words.files, files=", ".join(sorted(drawing.sheet.files))))

    def _shown(self, drawing: Drawing) -> int:
        """How many views go with what is said of the facts: the first one where it shows all of them."""
        facts = drawing.sheet.facts
        whole = all(part.box is not None for part in facts.parts) and not facts.legible
        return 1 if whole else min(len(drawing.pictures), self.config.views)

    def _show(
        self, page: Page, drawing: Drawing, dice: Dice, change: Change | None = None, most: int | None = None
    ) -> None:
        """The views of the item, or of a changed version, each under its name where there are several."""
        views = list(drawing.sheet.views.values())
        pictures = drawing.pictures if change is None else change.pictures
        drawn = drawing.draft.document.meta.drawn if change is None else change.drawn
        template = dice.pick(drawing.words.view)
        for number, picture in enumerate(pictures[: most or self.config.views]):
            if len(pictures) > 1:
                page.say(template.format(view=views[number]))
            page.picture(picture, drawn[number], drawing.code if change is None else change.code)
            page.say(dice.pick(drawing.words.after))


def write_code(page: Page, wording: Wording, language: str, code: str, dice: Dice, *, loss: bool) -> None:
    """Code between its fences; a fence that stands in the code is not taken."""
    tag = language.lower().replace(" ", "-")
    fitting = [fence for fence in wording.fences if not fence.open or fence.open.partition("{")[0] not in code]
    fence = dice.pick(fitting or wording.fences)
    page.say(fence.open.format(tag=tag))
    page.code(code, loss=loss)
    page.say(fence.close, loss=loss)


def _named(drawing: Drawing) -> dict[str, str]:
    return {"language": drawing.sheet.language}


def _ask(page: Page, questions: list[Question], question: str, answer: str) -> None:
    for one in questions:
        page.say(question.format(text=one.text) + answer)
        page.say(f" {one.answer}\n", loss=True)


__all__ = ["SHEET", "PairTasks", "TaskShares", "write_code"]
