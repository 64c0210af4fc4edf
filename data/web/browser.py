"""Headless Chromium behind the guard, driven through Playwright: the one way in which pages are drawn.

    with Browser() as browser:
        png = browser.visit("index.html", files, Screen(), lambda visit: visit.shot())

The browser has no network, sees no file but libraries and fonts, and is given the page's own files by path. What the
page asks for beyond them is refused and counted. One language, zone, set of fonts and colour profile for all; nothing
moves. Odd: Playwright belongs to the thread that started it, and some of its calls wait for ever on a page that hangs.
So it lives in a thread of its own, the caller keeps the deadline, and what is late loses its browser.

Pages without scripts follow each other in one tab: nothing of them is ever executed. A page with scripts gets a profile
and a process of its own.
"""

import contextlib
import os
import queue
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from trivium.data.closing import Opening
from trivium.data.guard.limits import Limits
from trivium.data.web.chromium import CHROMIUM, FLAGS, PROFILE, environment, start_file
from trivium.data.web.screen import BROWSER_LIMITS, Screen
from trivium.data.web.serving import Serving
from trivium.data.web.visit import Tabs, Visit
from trivium.errors import GuardError, MissingDependencyError
from trivium.needs import cure

T = TypeVar("T")
_GRACE = 10.0  # seconds in which a browser that was ended must be gone
_LAST = 0.3  # seconds from a broken pipe to the guard's word of why


class Browser(Opening):
    """`pages`: visits after which a fresh browser takes over, which bounds leaks; `limits.wall_seconds` is a visit's.

    One a worker; it starts at the first visit. Raises MissingDependencyError (from `open`) without Chromium or
    Playwright.
    """

    def __init__(self, limits: Limits = BROWSER_LIMITS, *, pages: int = 300) -> None:
        self._limits, self._pages = limits, pages
        self._life: _Life | None = None
        self._served = 0
        self.starts = 0  # browsers started so far

    def open(self) -> None:
        """Finds out that everything is here; the browser itself starts at the first visit."""
        if not Path(CHROMIUM).exists():
            raise MissingDependencyError(f"{CHROMIUM} is not there; run `apt-get install chromium`")
        try:
            import playwright.sync_api  # noqa: F401
        except ImportError:
            raise MissingDependencyError(f"playwright is not installed; run `{cure('web')}`") from None

    def environment(self) -> str:
        """Versions of what decides pixels, and the digest of the fonts."""
        return environment()

    def visit(self, main: str, files: Mapping[str, bytes], screen: Screen, work: Callable[[Visit], T]) -> T:
        """Opens `main` of `files` and gives what `work` makes of the loaded page.

        `work` runs in the browser's thread, within `limits.wall_seconds` of the visit's beginning. Raises GuardError:
        timeout, memory, processes, output_too_large, crashed, error_page (it did not become a page), or what `work`
        raised. A browser that died gets another, once: on a busy machine it may be none of the page's doing.
        """
        try:
            return self._visit(main, files, screen, work)
        except GuardError as error:
            if error.reason != "crashed" or self._life is not None:
                raise
            return self._visit(main, files, screen, work)

    def _visit(self, main: str, files: Mapping[str, bytes], screen: Screen, work: Callable[[Visit], T]) -> T:
        if self._life is None or self._served >= self._pages:
            self.close()
            self._life = _Life(self._limits)
            self.starts += 1
            self._served = 0
        self._served += 1
        try:
            return self._life.visit(main, files, screen, work)
        except GuardError:
            if self._life.over:
                self._life = None
            raise

    def close(self) -> None:
        """Ends the browser; the next visit starts another."""
        if self._life is not None:
            self._life.close()
            self._life = None


class _Life:
    """One browser from its start to its end, and the thread that speaks to it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.over = False
        self._tabs: Tabs | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="trivium-browser-"))
        self._folder.chmod(0o755)  # the sandbox's user starts what lies in it
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=_serve, args=(self._work,), name="browser", daemon=True)
        self._thread.start()

    def visit(self, main: str, files: Mapping[str, bytes], screen: Screen, work: Callable[[Visit], T]) -> T:
        """As `Browser.visit`. What is late, or fails with the browser, ends this life."""
        limits = self._limits
        tabs = self._tabs or self._in_thread(self._start, limits.start_seconds, "the browser did not start")
        return self._in_thread(
            lambda: tabs.visit(main, Serving(files, main), screen, work), limits.wall_seconds, "the page was not done"
        )

    def close(self) -> None:
        """Ends the browser and its thread, by force when it does not answer."""
        self.over = True
        self._work.put(self._close_tabs)
        self._work.put(None)
        self._thread.join(_GRACE)
        if self._thread.is_alive():
            self._kill()
            self._thread.join(_GRACE)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> Tabs:
        self._tabs = Tabs(start_file(self._folder, self._limits), FLAGS)
        return self._tabs

    def _in_thread(self, call: Callable[[], T], seconds: float, late: str) -> T:
        answer: Future[T] = Future()
        self._work.put(lambda: _settle(answer, call))
        try:
            return answer.result(seconds)
        except GuardError:
            raise
        except TimeoutError:
            raise self._ended("timeout", f"{late} within {seconds:g} s") from None
        except Exception as error:
            raise self._ended("crashed", _line(error)) from None

    def _ended(self, reason: str, detail: str) -> GuardError:
        """Ends the browser; the guard's own word for what it broke goes before `reason`."""
        said = self._folder / f"{PROFILE.name}.reason"
        if reason != "timeout" and not said.exists():
            time.sleep(_LAST)  # the guard may be about to say it
        self._kill()
        if said.exists():
            reason, _, detail = said.read_text().strip().partition(": ")
        self.close()
        return GuardError(reason, detail, reason == "timeout")

    def _kill(self) -> None:
        """Ends the browser's processes and Playwright's own from outside, upon which every waiting call fails."""
        with contextlib.suppress(OSError, ValueError):
            for pid in (self._folder / "pid").read_text().split():
                os.kill(int(pid), signal.SIGKILL)

    def _close_tabs(self) -> None:
        tabs, self._tabs = self._tabs, None
        if tabs is not None:
            with contextlib.suppress(Exception):
                tabs.close()


def _serve(work: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
    while (call := work.get()) is not None:
        call()


def _settle(answer: "Future[Any]", call: Callable[[], Any]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
