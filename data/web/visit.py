"""One visit of a page, and the browser's tabs in which visits happen; all of it in the browser's thread."""

import base64
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trivium.data.pairs.facts import Box
from trivium.data.web.screen import Screen
from trivium.data.web.scripts import script
from trivium.data.web.serving import ORIGIN, Serving, address_of
from trivium.errors import GuardError

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, CDPSession, Frame, Page, Request, Route

T = TypeVar("T")
START = "2025-01-01T00:00:00Z"  # the clock of pages with scripts
_LOCAL = "Not allowed to load local resource: "  # Chromium's words
_TABS = 4  # kept for pages without scripts, one a screen
_CHANCE = script("chance.js")  # runs before anything of a page with scripts
_STILL = script("still.js")


class Visit:
    """A loaded page. `page` is Playwright's, `protocol` speaks to the browser itself.

    `complaints` are errors that the page's own scripts raised, `serving` knows what was refused.
    """

    def __init__(self, page: "Page", protocol: "CDPSession", serving: Serving, screen: Screen) -> None:
        self.page, self.protocol, self.serving, self.screen = page, protocol, serving, screen
        self.complaints: list[str] = []

    def ask(self, script: str, argument: Any = None) -> Any:
        """What a JavaScript function gives; it runs in the page though the page's own scripts may not."""
        return self.page.evaluate(script, argument)

    def run_for(self, milliseconds: int) -> None:
        """Lets the clock of a page with scripts run: timers and animation frames fire, and it stands again."""
        self.page.clock.run_for(milliseconds)

    def still(self) -> None:
        """Ends what CSS moves."""
        self.ask(_STILL)

    def shot(self, clip: Box | None = None) -> bytes:
        """PNG of the window, or of `clip` (left, top, right, bottom in CSS pixels of the page), even outside it."""
        wanted: dict[str, Any] = {"format": "png", "optimizeForSpeed": True}  # what is kept is encoded anew
        if clip is not None:
            left, top, right, bottom = clip
            area = {"x": left, "y": top, "width": right - left, "height": bottom - top, "scale": 1}
            wanted |= {"clip": area, "captureBeyondViewport": True}
        return base64.b64decode(self.protocol.send("Page.captureScreenshot", wanted)["data"])


class Tabs:
    """A browser, started; deadlines are the caller's."""

    def __init__(self, program: Path, flags: Sequence[str]) -> None:
        from playwright.sync_api import sync_playwright

        manager = sync_playwright()
        self._driver = manager.start()
        # When the browser is ended from outside, calls that nobody waits for fail too; that is no news.
        manager._loop.set_exception_handler(_ignore)
        try:
            self._browser = self._driver.chromium.launch(
                executable_path=str(program),
                args=list(flags),
                timeout=0,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                env={"PATH": "/usr/bin:/bin"},
            )
        except BaseException:
            self._driver.stop()
            raise
        self._tabs: dict[Screen, Tab] = {}

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it may be gone already
            self._browser.close()
        self._driver.stop()

    def visit(self, main: str, serving: Serving, screen: Screen, work: Callable[[Visit], T]) -> T:
        if screen.scripts and not screen.kept:
            tab = self._tab(screen)
            try:
                return tab.visit(main, serving, work)
            finally:
                tab.close()
        tab = self._tabs.pop(screen) if screen in self._tabs else self._tab(screen)
        self._tabs[screen] = tab  # the last used last
        if len(self._tabs) > _TABS:
            self._tabs.pop(next(iter(self._tabs))).close()
        try:
            return tab.visit(main, serving, work)
        except GuardError:
            self._tabs.pop(screen).close()  # whatever it still does must not meet the next page
            raise

    def _tab(self, screen: Screen) -> "Tab":
        context = self._browser.new_context(
            viewport={"width": screen.width, "height": screen.height},
            device_scale_factor=screen.scale,
            is_mobile=screen.mobile,
            has_touch=screen.mobile,
            color_scheme="dark" if screen.dark else "light",
            reduced_motion="no-preference" if screen.prelude else "reduce",
            java_script_enabled=screen.scripts,
            locale="en-US",
            timezone_id="UTC",
            offline=True,
            accept_downloads=False,
            service_workers="block",
        )
        return Tab(context, screen)


def _ignore(_loop: Any, _context: dict[str, Any]) -> None:
    pass


class Tab:
    """One browser profile with one page, for one screen."""

    def __init__(self, context: "BrowserContext", screen: Screen) -> None:
        self._context, self._screen = context, screen
        self._serving = Serving({})
        self._complaints: list[str] = []
        self._crashed = False
        context.route("**/*", self._answer)
        context.route_web_socket("**/*", lambda socket: self._serving.refuse_socket(socket))
        if screen.prelude:
            context.add_init_script(screen.prelude)
        elif screen.scripts:
            context.add_init_script(_CHANCE.replace("SEED", str(screen.seed)))
            context.clock.pause_at(START)
        self._page = context.new_page()
        self._page.on("pageerror", lambda error: self._complaints.append(str(error)[:300]))
        self._page.on("crash", self._note_crash)
        self._page.on("framenavigated", self._note_place)
        context.on("page", lambda page: page.close() if page is not self._page else None)
        self._protocol = context.new_cdp_session(self._page)
        self._protocol.on("Log.entryAdded", self._note_log)
        self._protocol.send("Log.enable")
        # A picture is of the size that the session which asks for it has set, whatever Playwright's own has.
        size = {"width": screen.width, "height": screen.height, "deviceScaleFactor": screen.scale}
        self._protocol.send("Emulation.setDeviceMetricsOverride", {**size, "mobile": screen.mobile})

    def close(self) -> None:
        self._context.close()

    def visit(self, main: str, serving: Serving, work: Callable[[Visit], T]) -> T:
        from playwright.sync_api import Error

        self._serving = serving
        self._complaints = []
        try:
            self._page.goto(address_of(main), wait_until="load", timeout=0)  # the caller keeps the deadline
            visit = Visit(self._page, self._protocol, serving, self._screen)
            visit.complaints = self._complaints
            return work(visit)
        except Error as error:
            if self._crashed:
                raise GuardError("crashed", "the page's process died") from None
            if self._page.is_closed() and serving.leads:
                raise serving.led() from None
            line = error.message.splitlines()[0].replace(ORIGIN, "")
            if "net::ERR_" in line or "Download is starting" in line:
                raise GuardError("error_page", line[:200]) from None
            browser = self._context.browser
            if browser is not None and browser.is_connected():  # the page's doing; else the browser is gone
                raise GuardError("timeout" if "Timeout" in line else "refused", line[:200]) from None
            raise

    def _note_crash(self, _page: Any) -> None:
        self._crashed = True

    def _answer(self, route: "Route", request: "Request") -> None:
        self._serving.answer(route, request)
        self._end_if_it_left()

    def _note_place(self, frame: "Frame") -> None:
        """A page may go to what needs no request: to nothing, or to words of its own."""
        if frame.parent_frame is None and self._serving.opened and not frame.url.startswith((ORIGIN, "chrome-error:")):
            self._serving.note_lead(frame.url)
            self._end_if_it_left()

    def _note_log(self, event: dict[str, Any]) -> None:
        """What leads to a file of the machine never becomes a request: the browser only says that it may not."""
        said = str(event["entry"]["text"])
        if said.startswith(_LOCAL):
            self._serving.note_refused(said.removeprefix(_LOCAL))

    def _end_if_it_left(self) -> None:
        """A page whose scripts lead elsewhere never becomes one that has loaded: what waits for it fails at once."""
        if self._screen.scripts and self._serving.leads and not self._page.is_closed():
            self._page.close()
