"""Byte ranges of files behind addresses: fsspec opens them, tenacity tries again, and nothing waits without an end.

Odd: fsspec's own HTTP reader hands out the whole body as if it were the range when a server ignores ranges, so ranges
over HTTP are asked for here, on fsspec's session, and what comes back is checked against what was asked.
"""

import concurrent.futures
import functools
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, BinaryIO, TypeVar

from trivium.data.shards import names
from trivium.data.shards.address import Address
from trivium.data.shards.shelf import Shelf
from trivium.errors import MissingDependencyError, ShardError, StorageError
from trivium.needs import cure

PIECE = 8 << 20  # bytes of one request, so that its time-out is one of standstill, not of size
COPIES = 4 << 30  # bytes of temporary files at most that stand in for files of servers without ranges
_CHUNK = 1 << 20
_INDEX_PAGES = 10_000  # that a listing over HTTP looks at
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # HTTP answers that may be better next time
_UNREACHED = ("ConnectorError", "ConnectorDNSError", "EndpointConnectionError")  # of aiohttp and botocore
_PERMANENT = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    ValueError,
    NotImplementedError,
)

S = TypeVar("S")
T = TypeVar("T")


class _Refused(Exception):  # noqa: N818 (never seen outside)
    """An answer that trying again does not change."""


class _NoRanges(_Refused):
    """The server sends whole files, whatever part is asked for."""


class Copy:
    """A file of such a server, fetched once into a temporary file that has no name and ends with this."""

    def __init__(self, file: BinaryIO) -> None:
        self._handle = os.dup(file.fileno())
        self.size = os.fstat(self._handle).st_size

    def pread(self, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start`, fewer only where the file ends."""
        return os.pread(self._handle, max(0, min(length, self.size - start)), start)

    def __del__(self) -> None:
        os.close(self._handle)


Copies = Shelf[str, Copy]


def copies() -> Copies:
    """A place for copies that later reads find again; the longest unused are given up beyond COPIES."""
    return Shelf(COPIES, attrgetter("size"))


def read_range(address: Address, start: int, length: int, held: Copies | None = None) -> bytes:
    """Up to `length` bytes from `start`, fewer only where the file ends. Raises StorageError, or ShardError when there
    is no such file.

    Of a server without ranges the whole file is fetched, once when it can be `held` for later reads.
    """
    parts = []
    while length:
        asked = min(length, PIECE)
        if held is not None and address.url in held:
            part = held.get(address.url, lambda _: download(address)).pread(start, asked)
        else:
            try:
                part = _patiently(address, functools.partial(_range, address=address, start=start, stop=start + asked))
            except _NoRanges:
                held = copies() if held is None else held
                part = held.get(address.url, lambda _: download(address)).pread(start, asked)
        if len(part) > asked:
            raise StorageError(f"{address}: gave {len(part)} bytes for {asked}; it is no storage to read shards from")
        parts.append(part)
        start, length = start + len(part), length - len(part)
        if len(part) < asked:
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


def download(address: Address) -> Copy:
    """A whole file of at most COPIES bytes. Raises as `read_range` does."""
    from fsspec.asyn import sync

    def ask(fs: Any) -> Copy:
        with tempfile.TemporaryFile(prefix="trivium-") as file:
            sync(fs.loop, _http_body, fs, address.url, file, address.patience.seconds)
            file.flush()
            return Copy(file)

    return _patiently(address, ask)


def length_of(address: Address) -> int:
    """Length of a file in bytes. Raises StorageError, or ShardError when there is no such file."""
    return _patiently(address, lambda fs: _length(fs, address))


def listing(address: Address) -> dict[str, int] | None:
    """Names and sizes of the files in a folder; None where storage can't list (HTTP). A missing folder is empty."""
    if address.scheme in ("http", "https"):
        return None

    def ask(fs: Any) -> dict[str, int]:
        fs.invalidate_cache()  # what others did since is to be seen
        try:
            found = _call(fs, "ls", address.patience.seconds, address.url, detail=True)
        except FileNotFoundError:
            return {}
        return {one["name"].rpartition("/")[2]: int(one["size"] or 0) for one in found if one["type"] == "file"}

    return _patiently(address, ask)


def files_below(address: Address) -> list[str]:
    """Names, relative to `address`, of all files below it; over HTTP, those that its index pages list.

    Raises StorageError, or ShardError when there is no such folder.
    """

    def ask(fs: Any) -> list[str]:
        fs.invalidate_cache()
        if address.scheme in ("http", "https"):
            return _linked(fs, f"{address.url.rstrip('/')}/", address.patience.seconds)
        found = _call(fs, "find", address.patience.seconds, address.url)
        if not found and not fs.exists(address.url):
            raise FileNotFoundError(address.url)
        below = f"{fs._strip_protocol(address.url).rstrip('/')}/"
        return [one.removeprefix(below) for one in found if one.startswith(below) and not one.endswith("/")]

    return _patiently(address, ask)


def _linked(fs: Any, top: str, seconds: float) -> list[str]:
    """What index pages of a web server list below `top`; links to elsewhere are passed over."""
    found, folders = set(), [top]
    for folder in folders:
        for url in _call(fs, "ls", seconds, folder, detail=False):
            if url.endswith("/") and url.startswith(folder) and url not in folders and len(folders) < _INDEX_PAGES:
                folders.append(url)
            elif not url.endswith("/") and url.startswith(folder) and not {"#", "?"} & set(url):
                found.add(url.removeprefix(top))
    return sorted(name for name in found if ".." not in name.split("/"))


def sets_below(address: Address) -> list[Address]:
    """The folders at or below `address` that hold a manifest, or shards without one, sorted; where storage can't list,
    itself at most."""
    if address.scheme in ("http", "https"):
        try:
            length_of(address / names.MANIFEST)
        except ShardError:  # no such file
            return []
        return [address]

    def ask(fs: Any) -> list[str]:
        fs.invalidate_cache()
        try:
            found = _call(fs, "find", address.patience.seconds, address.url)
        except FileNotFoundError:
            return []
        folders = {one.rpartition("/")[0] for one in found if one.rpartition("/")[2] == names.MANIFEST}
        for one in found:
            way, _, tar = one.rpartition("/")
            above, _, last = way.rpartition("/")
            if last == names.SHARDS and names.SHARD.fullmatch(tar):
                folders.add(above)
        return sorted(fs.unstrip_protocol(one) for one in folders)

    urls = _patiently(address, ask)
    return [Address(f"{address.scheme}://{url.partition('://')[2].strip('/')}", address.patience) for url in urls]


def at_once(ask: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """`ask` of all items, 16 at a time, in their order: what a set asks of its many files when it is opened."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, items))


def _patiently(address: Address, ask: Callable[[Any], T]) -> T:
    """`ask(filesystem)`, again after failures that may pass, with waits that grow."""
    try:
        import tenacity
    except ImportError:
        raise _absent(address, "tenacity") from None
    patience, began = address.patience, time.monotonic()
    try:
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(patience.attempts),
            wait=tenacity.wait_random_exponential(multiplier=patience.pause, max=patience.longest),
            retry=tenacity.retry_if_exception(
                lambda error: not isinstance(error, (_Refused, *_PERMANENT, ImportError))
            ),
            reraise=True,
        ):
            with attempt:
                return ask(_filesystem(address))
    except FileNotFoundError:
        raise ShardError(f"{address}: no such file; copy it again, or build the set again") from None
    except ImportError as error:
        raise _absent(address, error.name or str(error)) from None
    except _NoRanges:
        raise
    except Exception as error:  # each of fsspec's backends has exceptions of its own
        waited = time.monotonic() - began
        tried = "1 try" if isinstance(error, (_Refused, *_PERMANENT)) else f"{patience.attempts} tries"
        what = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            what = f"no answer within {patience.seconds:g} s"
        verb = "reached" if type(error).__name__.endswith(_UNREACHED) else "read"
        raise StorageError(
            f"{address}: can't be {verb} ({what}); gave up after {tried} and {waited:.1f} s. Check the network, the "
            "address and your credentials, or copy the set to a local folder",
            str(address),
            waited,
        ) from None
    raise AssertionError("tenacity ended without a result")


def _absent(address: Address, package: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"{address}: reading {address.scheme}:// needs a package that is not installed ({package}); "
        f"run: {cure('remote')}"
    )


def _filesystem(address: Address) -> Any:
    """fsspec's instance for the scheme; it keeps one a thread and process, so asking again costs microseconds."""
    import fsspec

    return fsspec.filesystem(address.scheme)


def _call(fs: Any, name: str, seconds: float, *arguments: Any, **options: Any) -> Any:
    """A method of the file system, ended after `seconds`: asynchronous ones are cancelled, others left behind."""
    if getattr(fs, "async_impl", False):
        from fsspec.asyn import sync

        return sync(fs.loop, getattr(fs, f"_{name}"), *arguments, timeout=seconds, **options)
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((getattr(fs, name)(*arguments, **options), None))
        except BaseException as error:  # handed to the thread that waits
            outcome.append((None, error))

    thread = threading.Thread(target=work, daemon=True, name=f"{name} {arguments[0]}")
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError
    found, error = outcome[0]
    if error is not None:
        raise error
    return found


def _range(fs: Any, address: Address, start: int, stop: int) -> bytes:
    seconds = address.patience.seconds
    if address.scheme in ("http", "https"):
        from fsspec.asyn import sync

        return bytes(sync(fs.loop, _http_range, fs, address.url, start, stop, timeout=seconds))
    try:
        return bytes(_call(fs, "cat_file", seconds, address.url, start=start, end=stop))
    except Exception as error:
        if "InvalidRange" in str(error) or "416" in str(error):  # the file ends before `start`
            return b""
        raise


def _length(fs: Any, address: Address) -> int:
    seconds = address.patience.seconds
    if address.scheme in ("http", "https"):
        from fsspec.asyn import sync

        return int(sync(fs.loop, _http_length, fs, address.url, timeout=seconds))
    return int(_call(fs, "info", seconds, address.url, refresh=True)["size"])


async def _http_range(fs: Any, url: str, start: int, stop: int) -> bytes:
    async with await _http_get(fs, url, start, stop) as reply:
        if reply.status == 416:
            return b""
        if reply.status == 206:
            first, last, total = _content_range(reply.headers.get("Content-Range", ""))
            if first != start or last >= stop:
                raise _Refused(f"asked for bytes {start}-{stop - 1}, the server gave {first}-{last}")
            if total is not None and last + 1 < min(stop, total):
                raise ConnectionError(f"asked for bytes {start}-{stop - 1}, the server gave only {first}-{last}")
            return await _exactly(reply, last + 1 - first)
        if reply.content_length is not None and reply.content_length <= start:
            return b""
        if start or reply.content_length is None or reply.content_length > stop:
            raise _NoRanges(url)
        return await _exactly(reply, reply.content_length)


async def _http_body(fs: Any, url: str, file: BinaryIO, seconds: float) -> None:
    """Writes the whole of a file; each piece of it may take `seconds`."""
    import asyncio

    session, size = await fs.set_session(), 0
    reply = await asyncio.wait_for(session.get(fs.encode_url(url), headers={"Accept-Encoding": "identity"}), seconds)
    async with _judged(reply, url):
        while part := await asyncio.wait_for(reply.content.read(_CHUNK), seconds):
            size += len(part)
            if size > COPIES or (reply.content_length or 0) > COPIES:
                raise _Refused(
                    f"the server ignores ranges, and at most {COPIES >> 20:,} MiB of its files are copied for that; "
                    "use a server that knows ranges"
                )
            try:
                file.write(part)
            except OSError as error:  # no room, as likely as not
                raise _Refused(f"no temporary copy of it can be written: {error.strerror}") from None
        if reply.content_length is not None and size != reply.content_length:
            raise ConnectionError(f"the body ended {reply.content_length - size} bytes early")


async def _http_length(fs: Any, url: str) -> int:
    async with await _http_get(fs, url, 0, 1) as reply:
        total = reply.content_length
        if reply.status in (206, 416):
            total = _content_range(reply.headers.get("Content-Range", ""))[2]
        if total is None:
            raise _Refused("the server does not say how long the file is")
        return int(total)


async def _http_get(fs: Any, url: str, start: int, stop: int) -> Any:
    session = await fs.set_session()
    headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
    return _judged(await session.get(fs.encode_url(url), headers=headers), url)


def _judged(reply: Any, url: str) -> Any:
    if reply.status in (200, 206, 416):
        return reply
    reply.close()
    if reply.status in (404, 410):
        raise FileNotFoundError(url)
    problem = f"HTTP {reply.status} {reply.reason or ''}".rstrip()
    raise ConnectionError(problem) if reply.status in _BUSY else _Refused(problem)


def _content_range(text: str) -> tuple[int, int, int | None]:
    """`bytes 5-9/100` → (5, 9, 100); `bytes */100` → (0, -1, 100)."""
    span, _, total = text.removeprefix("bytes ").partition("/")
    first, _, last = ("0", "", "-1") if span == "*" else span.partition("-")
    try:
        return int(first), int(last), None if total == "*" else int(total)
    except ValueError:
        raise _Refused(f"a partial answer with the Content-Range {text!r}") from None


async def _exactly(reply: Any, length: int) -> bytes:
    """The next `length` bytes of a body."""
    parts = []
    while length:
        part = await reply.content.read(length)
        if not part:
            raise ConnectionError(f"the body ended {length} bytes early")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
