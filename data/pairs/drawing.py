"""What every stage that draws does with one item: draw each view twice, look at it, then draw changed versions too."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import Strict
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit, Editor
from trivium.data.pairs.engine import Drawing, Engine
from trivium.data.pairs.facts import Facts
from trivium.data.pairs.item import Change, Sheet, drawn_item
from trivium.data.pairs.look import Look, Looker, LookRules, judge
from trivium.data.records import Drawn, Image, Meta, Video
from trivium.data.stage import Draft, Drop, Raw, refuse
from trivium.errors import GuardError

EDIT, BUG = "edit", "bug"
_CLIPS = {"video/mp4": "mp4", "video/webm": "webm", "video/x-matroska": "mkv", "video/quicktime": "mov"}
_FILES = ("png", "jpg", "jpeg", "webp", "gif", "bmp", "mp4", "webm")  # others are kept as f0.bin
_SEEN = 64  # changes of one kind that are looked at before an item goes without


class DrawRules(Strict, kw_only=True):
    """How an item is drawn and judged; changes are drawn for the tasks `edit` and `bug_fix`."""

    twice: bool = True  # draw everything twice and refuse what differs
    look: LookRules = LookRules()  # which pictures are refused
    edits: Annotated[int, Bound(ge=0, le=16)] = 1  # changed versions that someone asks for
    bugs: Annotated[int, Bound(ge=0, le=16)] = 1  # versions with a mistake
    tries: Annotated[int, Bound(ge=1, le=_SEEN)] = 4  # changes drawn for each that is wanted; a failed one costs a try
    min_change: Annotated[float, Bound(ge=0, le=1)] = 0.0005  # share of a picture's pixels that a change must change
    min_contrast: Annotated[float, Bound(ge=0, le=1)] = 0.03  # how far a square of 16 pixels must change, of all levels
    seed: int = 0  # which changes


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One picture or clip as it is kept, how it looks, and what its engine said of it."""

    media: str
    payload: bytes
    picture: Image | Video
    drawn: Drawn
    look: Look
    facts: Facts | None


class Drawer:
    """Draws items by one engine. `stage` is the name that drops carry; `open` and `close` start and end all children.

    Raises on `open` what the engine raises (MissingDependencyError).
    """

    def __init__(self, engine: Engine, editor: Editor | None, rules: DrawRules, stage: str) -> None:
        self.engine, self.editor, self.rules, self.stage = engine, editor, rules, stage
        self._looker = Looker(max_pixels=rules.look.max_pixels)
        self._environment = ""

    def open(self) -> None:
        self.engine.open()
        self._looker.open()
        self._environment = self.engine.environment()

    def close(self) -> None:
        self._looker.close()
        self.engine.close()

    def item(
        self,
        origin: Raw | Draft,
        *,
        meta: Meta,
        code: str,
        language: str,
        files: Mapping[str, bytes] = {},
        views: Mapping[str, str],
        facts: Facts | None = None,
        shown: bool = True,
    ) -> Draft | Drop:
        """The drawn item, or why it is refused.

        `views`: settings (canonical JSON) by what a picture shows, in order. `facts` stand in for the engine's own.
        `shown=False`: `code` is for the engine alone and no document shows it (a STEP file's text).
        """
        try:
            drawn = self.views(code, files, views)
        except GuardError as error:
            return refuse(origin, self.stage, error.reason, str(error)[:300], excerpt=code)
        found = facts or drawn[0].facts or Facts(what="")
        if not found.colors:
            found = msgspec.structs.replace(found, colors=drawn[0].look.colors)
        held = 0 if shown and code else -1  # without its code an item can't be drawn again: files would be dead weight
        places = {path: file_name(path, number) for number, path in enumerate(sorted(files))} if held == 0 else {}
        media = {view.media: view.payload for view in drawn} | {name: files[path] for path, name in places.items()}
        changes: list[Change] = []
        if held == 0:
            for role in (EDIT, BUG):
                changes += self._changes(role, meta.source_id, code, found, files, views, drawn, media)
        sheet = Sheet(
            language=language,
            facts=found,
            views=dict(zip((view.media for view in drawn), views, strict=True)),
            changes=tuple(changes),
            files=places,
        )
        return drawn_item(
            meta=meta,
            code=code if shown else "",
            pictures=[view.picture for view in drawn],
            drawn=[msgspec.structs.replace(view.drawn, code=held, files=places) for view in drawn],
            sheet=sheet,
            media=media,
        )

    def views(
        self,
        code: str,
        files: Mapping[str, bytes],
        views: Mapping[str, str],
        *,
        first: int = 0,
        letter: str = "",
        twice: bool = True,
        before: Sequence[View] = (),
    ) -> list[View]:
        """All views of one code, drawn (`twice`: if the rules say so), compared and judged; numbered from `first`.

        `before`: the views that a change must look different from, in one at least. Raises GuardError with the reason
        why the item, or the change (`unchanged`), must be refused.
        """
        found: list[View] = []
        for number, (name, settings) in enumerate(views.items(), first):
            beside = before[len(found)].payload if before else b""
            view = self._view(code, files, settings, number, letter, twice and self.rules.twice, beside)
            fault = judge(view.look, self.rules.look)
            if fault:
                raise GuardError(fault[0], f"{name}: {fault[1]}" if len(views) > 1 else fault[1])
            found.append(view)
        changed = max((view.look.unlike for view in found), default=1.0)
        if before and changed < self.rules.min_change:
            raise GuardError("unchanged", f"{changed:.3%} of the pixels differ, {self.rules.min_change:.3%} must")
        far = max((view.look.contrast for view in found), default=1.0)
        if before and far < self.rules.min_contrast:
            what = f"no square of 16 pixels differs by more than {far:.2%}, one must by {self.rules.min_contrast:.2%}"
            raise GuardError("unchanged", what)
        return found

    def _view(
        self, code: str, files: Mapping[str, bytes], settings: str, number: int, letter: str, twice: bool, beside: bytes
    ) -> View:
        drawing = self.engine.draw(code, files, settings)
        look = self._look(drawing, beside)
        if twice:
            again = self.engine.draw(code, files, settings)
            if again.payload != drawing.payload and self._look(again).pixels != look.pixels:
                raise GuardError("not_deterministic", "drawn twice, the pictures differ")
        picture: Image | Video
        if drawing.mime in _CLIPS:
            media, payload = f"{letter or 'v'}{number}.{_CLIPS[drawing.mime]}", drawing.payload
            picture = Video(
                media=media, width=look.width, height=look.height, mime=drawing.mime, frames=look.frames, fps=look.fps
            )
        else:
            media, payload = f"{letter or 'i'}{number}.png", look.png
            picture = Image(media=media, width=look.width, height=look.height, mime="image/png")
        drawn = Drawn(
            media=media,
            engine=self.engine.name,
            settings=settings,
            environment=self._environment or self.engine.environment(),
            phash=look.phash,
        )
        return View(media=media, payload=payload, picture=picture, drawn=drawn, look=look, facts=drawing.facts)

    def _look(self, drawing: Drawing, beside: bytes = b"") -> Look:
        return self._looker.look(drawing.payload, clip=drawing.mime in _CLIPS, beside=beside)

    def _changes(
        self,
        role: str,
        key: str,
        code: str,
        facts: Facts,
        files: Mapping[str, bytes],
        views: Mapping[str, str],
        before: list[View],
        media: dict[str, bytes],
    ) -> Iterator[Change]:
        """Changes that draw, and draw something else; their pictures are added to `media`."""
        wanted = self.rules.edits if role == EDIT else self.rules.bugs
        tries = self.rules.tries * wanted
        seen = {code}
        for edit in offered(self.editor, role, code, facts, Dice(self.rules.seed, role, key)):
            if wanted == 0 or tries == 0:
                return
            if edit.code in seen or not edit.instruction:
                continue
            seen.add(edit.code)
            tries -= 1
            first = sum(name.startswith(role) for name in media)
            try:
                drawn = self.views(edit.code, files, views, first=first, letter=role, before=before)
            except GuardError:
                continue
            wanted -= 1
            media |= {view.media: view.payload for view in drawn}
            yield Change(
                role=role,
                instruction=edit.instruction,
                code=edit.code,
                enough=edit.enough,
                pictures=tuple(view.picture for view in drawn),
                drawn=tuple(view.drawn for view in drawn),
            )


def offered(editor: Editor | None, role: str, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
    """The first changes of a role; editors may never end."""
    if editor is None:
        return
    made = editor.edits(code, facts, dice) if role == EDIT else editor.bugs(code, facts, dice)
    for _, edit in zip(range(_SEEN), made, strict=False):
        yield edit


def file_name(path: str, number: int) -> str:
    """The member that holds a file of the code: its own extension where it is a picture or clip, else `bin`."""
    extension = path.rpartition(".")[2].lower()
    return f"f{number}.{extension if extension in _FILES else 'bin'}"
