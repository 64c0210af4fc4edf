"""A page's own files as the browser asks for them by path; everything else is refused and written down."""

import mimetypes
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from trivium.data.web.written import written
from trivium.errors import GuardError

if TYPE_CHECKING:
    from playwright.sync_api import Request, Route, WebSocketRoute

HOST = "page.test"  # a name that is nobody's (RFC 2606)
ORIGIN = f"https://{HOST}/"
_TYPES = mimetypes.MimeTypes()  # the library's own table, never the machine's
for _type, _end in (("font/woff2", ".woff2"), ("font/woff", ".woff"), ("image/webp", ".webp"), ("image/avif", ".avif")):
    _TYPES.add_type(_type, _end)
_KEPT = 20  # addresses of each kind that are written down; all are counted
_LONGEST = 2000  # characters of one


class Serving:
    """Answers for `files`; `refused` are addresses outside them, `missing` those inside that they do not hold.

    `unstyled`: style sheets among both. The page stays where it is: `leads` is where it wanted to go.
    """

    def __init__(self, files: Mapping[str, bytes], main: str = "") -> None:
        self._files, self._main = files, main
        self.refused: list[str] = []
        self.missing: list[str] = []
        self.unstyled: list[str] = []
        self.leads: list[str] = []
        self.count_refused = self.count_missing = 0
        self.opened = False

    def answer(self, route: "Route", request: "Request") -> None:
        """For Playwright's `route`."""
        path = path_of(request.url)
        if request.is_navigation_request() and _of_a_window(request):
            if path != self._main or self.opened:
                self.note_lead(request.url)
                # No content: a page without scripts stays and goes on, where an abort would leave it waiting.
                route.fulfill(status=204)
                return
            self.opened = True
        body = None if path is None else self._files.get(path)
        if path is not None and body is not None:
            route.fulfill(status=200, body=body, content_type=mime_of(path))
            return
        if path is None:
            self.note_refused(request.url)
        elif path != "favicon.ico":  # the browser's own wish
            self.count_missing += 1
            self.missing += [path] if len(self.missing) < _KEPT else []
        if request.resource_type == "stylesheet":
            self.unstyled.append(request.url[:_LONGEST])
        route.abort("blockedbyclient")

    def refuse_socket(self, socket: "WebSocketRoute") -> None:
        """For Playwright's `route_web_socket`; it is never connected."""
        self.note_refused(socket.url)
        socket.close()

    def note_lead(self, address: str) -> None:
        self.leads += [address[:_LONGEST]] if len(self.leads) < _KEPT else []

    def led(self) -> GuardError:
        """Why a page that wanted to go elsewhere is refused; `leads` must not be empty."""
        reason = "external_reference" if path_of(self.leads[0]) is None else "error_page"
        return GuardError(reason, f"leads on to {self.written(self.leads[0])}")

    def asked(self) -> str:
        """What is said of `refused`, which must not be empty."""
        more = f" and {self.count_refused} in all" if self.count_refused > 1 else ""
        return f"asks for {self.written(self.refused[0])}{more}"

    def written(self, address: str) -> str:
        """An address as the page's author wrote it, for people: the host that pages have here is nobody's."""
        return written(address, ORIGIN, self._main, self._files)[:200]

    def note_refused(self, address: str) -> None:
        self.count_refused += 1
        self.refused += [address[:_LONGEST]] if len(self.refused) < _KEPT else []


def _of_a_window(request: "Request") -> bool:
    """Whether it fills a whole window; one that is only being opened has no frame yet, the page's own too."""
    from playwright.sync_api import Error

    try:
        return request.frame.parent_frame is None
    except Error:
        return True


def path_of(address: str) -> str | None:
    """The bundle's path that an address means; None for one that leaves it."""
    parts = urlsplit(address)
    if parts.scheme != "https" or parts.netloc != HOST:
        return None
    return unquote(parts.path).lstrip("/")


def address_of(path: str) -> str:
    return ORIGIN + quote(path)


def mime_of(path: str) -> str:
    """By the name's end. Pages are UTF-8, unless they say otherwise themselves."""
    return _TYPES.guess_type(path)[0] or "application/octet-stream"
