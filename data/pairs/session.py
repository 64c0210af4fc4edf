"""A long document of one item: a chain of edits, each told, made and drawn, until it holds so many tokens.

Odd: an answer is a replacement that can be made by hand (the old text stands once in the code), and the whole code
comes again every few steps with its picture, so that what is learnt is to keep the present state of a long history.
"""

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Annotated

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import Strict
from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.meter import Meter
from trivium.data.pairs.drawing import EDIT, Drawer, DrawRules, View, offered
from trivium.data.pairs.editor import Editor, editor
from trivium.data.pairs.engine import engine
from trivium.data.pairs.facts import Facts
from trivium.data.pairs.item import Sheet
from trivium.data.pairs.look import LookRules
from trivium.data.pairs.page import Page
from trivium.data.pairs.wording import SessionWords, Wording, say
from trivium.data.patches import PictureRules
from trivium.data.records import Image
from trivium.data.stage import Draft
from trivium.errors import GuardError

_LINE = 300  # characters of a line that a replacement takes whole
_CONTEXT = 24  # characters by which a replacement grows until its old text stands once
_LINES, _PARTS = 4000, 12  # of code that is compared by lines, and that one answer replaces: else it is one part
_SKIPPED = 4  # edits that a step may pass over, so that not each takes the editor's first


class SessionRules(Strict, kw_only=True):
    """Which items give a session, and how long it is. Tokens are estimated from bytes, as for long rows."""

    share: Annotated[float, Bound(ge=0, le=1)] = 0.0  # of the items
    addresses: tuple[str, ...] = ()  # items that give one in any case
    tokens: Annotated[int, Bound(ge=1000)] = 262_144  # the longest; a session ends with the last step that fits
    least: Annotated[int, Bound(ge=0)] = 131_072  # a shorter one is refused (`no_session`): it had no more edits
    every: Annotated[int, Bound(ge=1)] = 8  # steps from one picture to the next
    steps: Annotated[int, Bound(ge=1, le=100_000)] = 4000  # the most
    tries: Annotated[int, Bound(ge=1, le=64)] = 8  # edits that are drawn for a step
    bytes_per_token: Annotated[float, Bound(ge=0.5, le=16)] = 2.0  # UTF-8 bytes of text
    pictures: PictureRules = PictureRules()  # limits, as the schedule has them
    look: LookRules = LookRules()  # a step whose picture is refused is not taken


class State(msgspec.Struct):
    """Where a session stands: the code, its picture and facts, and how long the document is."""

    code: str
    view: View
    facts: Facts
    tokens: int


class NoSession(msgspec.Struct, frozen=True):
    """Why an item that was to give a session gives none."""

    why: str


class Sessions:
    """Makes sessions; an engine is started for the first item that gives one."""

    def __init__(self, rules: SessionRules, seed: int) -> None:
        self.rules, self.seed = rules, seed
        self.meter = Meter(rules.bytes_per_token, rules.pictures)
        self._drawers: dict[str, Drawer] = {}

    def close(self) -> None:
        for drawer in self._drawers.values():
            drawer.close()
        self._drawers.clear()

    def chosen(self, draft: Draft) -> bool:
        meta = draft.document.meta
        lucky = Dice(self.seed, "session", meta.source_id).share() < self.rules.share
        return lucky or meta.address in self.rules.addresses

    def page(self, draft: Draft, sheet: Sheet, words: Wording, code: str) -> "Page | NoSession | None":
        """The session of a drawn item; None when it was not to give one."""
        meta = draft.document.meta
        if not self.chosen(draft):
            return None
        changes = editor(meta.drawn[0].engine) if code and meta.drawn else None
        if changes is None:
            return NoSession("it has no code that an editor changes")
        drawer = self._drawer(meta.drawn[0].engine)
        files = {path: draft.media[name] for path, name in sheet.files.items()}
        chain = _Chain(self, words.session, drawer, changes, files, meta.drawn[0].settings, meta.source_id)
        return chain.page(draft, sheet, code)

    def _drawer(self, name: str) -> Drawer:
        if name not in self._drawers:
            drawer = Drawer(engine(name), None, DrawRules(look=self.rules.look), "edit_session")
            drawer.open()
            self._drawers[name] = drawer
        return self._drawers[name]


class _Chain:
    """One session as it grows."""

    def __init__(
        self,
        sessions: Sessions,
        words: SessionWords,
        drawer: Drawer,
        changes: Editor,
        files: Mapping[str, bytes],
        settings: str,
        key: str,
    ) -> None:
        self._rules, self._words, self._meter = sessions.rules, words, sessions.meter
        self._drawer, self._editor, self._files, self._settings = drawer, changes, files, settings
        self._key = (sessions.seed, "session", key)
        self._dice = Dice(*self._key, "words")
        self._frame = tuple(self._dice.pick(words) for words in (self._words.old, self._words.new, self._words.end))
        self._media: dict[str, bytes] = {}

    def page(self, draft: Draft, sheet: Sheet, code: str) -> "Page | NoSession":
        self._media = dict(draft.media)
        page = Page(self._media, sheet.files)
        try:
            state, steps = self._run(page, sheet, code)
        except GuardError as error:  # the item itself does not draw here, or not the same twice
            return NoSession(f"{error.reason}: {error}")
        if state.tokens >= self._rules.least:
            return page
        ended = "it may have no more" if steps >= self._rules.steps else "the editor found no other that draws well"
        return NoSession(f"{state.tokens:,} of {self._rules.least:,} tokens after {steps:,} edits; {ended}")

    def _run(self, page: Page, sheet: Sheet, code: str) -> tuple[State, int]:
        rules, seen = self._rules, {code}
        view = self._draw(code, 0)
        state = State(code=code, view=view, facts=sheet.facts, tokens=2)
        self._say(page, state, say(self._dice, self._words.intro, language=sheet.language))
        self._say(page, state, say(self._dice, self._words.begin))
        self._whole(page, state, loss=False)
        shown = step = 0
        while step < rules.steps:
            taken = self._step(state, step + 1, seen)
            if taken is None or state.tokens + taken.tokens + self._closing(taken) > rules.tokens:
                break
            step += 1
            seen.add(taken.code)
            self._replaced(page, state, taken, step)
            if step % rules.every == 0:
                shown = self._picture(page, state, step)
        if shown < step:
            self._picture(page, state, step)
        return state, step

    def _step(self, state: State, step: int, seen: set[str]) -> "_Taken | None":
        """The next edit that draws something else; its `tokens` are those of its words."""
        dice = Dice(*self._key, step)
        passed, tries = dice.below(_SKIPPED), self._rules.tries
        for number, edit in enumerate(offered(self._editor, EDIT, state.code, state.facts, dice)):
            if number < passed or edit.code in seen or not edit.instruction:
                continue
            if tries == 0:
                break
            tries -= 1
            try:
                view = self._draw(edit.code, step, state.view)
            except GuardError:
                continue
            asked = say(self._dice, self._words.step, step=step, instruction=edit.instruction)
            before, by, end = self._frame
            answer = "".join(f"{before}{old}{by}{new}{end}" for old, new in replacements(state.code, edit.code))
            tokens = self._meter.text(asked) + self._meter.text(answer)
            return _Taken(code=edit.code, view=view, asked=asked, answer=answer, tokens=tokens)
        return None

    def _draw(self, code: str, step: int, before: View | None = None) -> View:
        """Once: only what is shown is drawn again."""
        views = {"": self._settings}
        changed = (before,) if before else ()
        return self._drawer.views(code, self._files, views, first=step, letter="s", twice=False, before=changed)[0]

    def _replaced(self, page: Page, state: State, taken: "_Taken", step: int) -> None:
        page.say(taken.asked)
        page.say(taken.answer, loss=True)
        state.tokens += taken.tokens
        state.code, state.view = taken.code, taken.view
        state.facts = taken.view.facts or state.facts

    def _picture(self, page: Page, state: State, step: int) -> int:
        self._say(page, state, say(self._dice, self._words.whole, step=step))
        self._whole(page, state, loss=True)
        return step

    def _whole(self, page: Page, state: State, *, loss: bool) -> None:
        view = state.view
        if self._drawer.rules.twice and self._draw(state.code, 0).look.pixels != view.look.pixels:
            raise GuardError("not_deterministic", "drawn twice, the pictures differ")
        page.code(state.code, loss=loss)
        state.tokens += self._meter.text(state.code) + self._cost(view)
        self._say(page, state, "\n" + say(self._dice, self._words.drawn))
        self._media[view.media] = view.payload
        page.picture(view.picture, view.drawn, state.code)
        self._say(page, state, "\n")

    def _say(self, page: Page, state: State, text: str) -> None:
        page.say(text)
        state.tokens += self._meter.text(text)

    def _closing(self, taken: "_Taken") -> int:
        """What the whole code at the end takes, words included."""
        return self._meter.text(taken.code) + self._cost(taken.view) + 100

    def _cost(self, view: View) -> int:
        shown = view.picture
        return self._meter.picture(shown.width, shown.height) if isinstance(shown, Image) else self._meter.clip(shown)


class _Taken(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    view: View
    asked: str
    answer: str
    tokens: int


def replacements(before: str, after: str) -> list[tuple[str, str]]:
    """Parts and what takes their place, one after the other; each stands once in the code as it is by then."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    spans: list[tuple[str, int, int, int, int]] = []
    if max(len(old), len(new)) <= _LINES:
        spans = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    if not 1 < len(spans) <= _PARTS:
        return [replaced(before, after)]
    steps, now = [], before
    for _, _, until, _, then in spans:  # what is changed up to here, and the rest as it was
        following = "".join(new[:then] + old[until:])
        steps.append(replaced(now, following))
        now = following
    return steps


def replaced(before: str, after: str) -> tuple[str, str]:
    """The one part of `before` that changes, which stands in it once, and what takes its place.

    Grown to whole lines where they are short, and on until it is found nowhere else. `before` is not empty and differs.
    """
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - start) if before[-1 - at] != after[-1 - at]), shorter - start)
    stop = len(before) - tail
    start, stop = _grown(before, start, stop, 0)
    while (start > 0 or stop < len(before)) and (start == stop or before.count(before[start:stop]) > 1):
        start, stop = _grown(before, start, stop, _CONTEXT)
    return before[start:stop], after[start : len(after) - (len(before) - stop)]


def _grown(text: str, start: int, stop: int, least: int) -> tuple[int, int]:
    """A part with the rest of its first and last line, or the lines beside them: `least` characters where lines are
    long."""
    line = text.rfind("\n", 0, max(0, start - least)) + 1
    end = text.find("\n", stop + least)
    end = len(text) if end < 0 else end
    start = line if start - line <= _LINE else max(0, start - least)
    return start, end if end - stop <= _LINE else min(len(text), stop + least)
