"""A language model's server as one may meet it: each first part of a path is one way to misbehave, byte by byte.

`/ok/v1/completions` answers as it should, with a text that names the prompt; `/seven/…` and the like do so too after
some other answers. `hits` counts the requests by their first part, `seen` keeps their headers and bodies.
"""

import asyncio
import collections
import contextlib
import datetime
import email.utils
import gzip
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator

Writer = asyncio.StreamWriter
Behaviour = Callable[["Server", Writer, dict, int], Awaitable[None]]
KEY = "sk-secret-0123456789"


class Server:
    def __init__(self) -> None:
        self.hits: collections.Counter[str] = collections.Counter()
        self.seen: list[tuple[str, str, dict]] = []  # first part, headers, body
        self.open: collections.Counter[str] = collections.Counter()
        self.most_open: collections.Counter[str] = collections.Counter()
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(line for line in head.splitlines() if line.lower().startswith("content-length"))
            body = json.loads(await reader.readexactly(int(length.partition(":")[2])))
            part = head.split()[1].split("/")[1]
            number = self.hits[part]
            self.hits[part] += 1
            self.seen.append((part, head, body))
            self.open[part] += 1
            self.most_open[part] = max(self.open[part], self.most_open[part])
            try:
                await BEHAVIOURS[part](self, writer, body, number)
                await writer.drain()
            finally:
                self.open[part] -= 1


def good(body: dict, text: str | None = None) -> bytes:
    text = text or f"answer to {body.get('prompt') or body['messages'][-1]['content']}"
    choice = {"text": text} if "prompt" in body else {"message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    return json.dumps({"model": "m-1", "choices": [choice | {"finish_reason": "stop"}], "usage": usage}).encode()


def put(writer: Writer, payload: bytes, status: str = "200 OK", length: object = None, headers: str = "") -> None:
    length = len(payload) if length is None else length
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n".encode() + payload)


def says(payload: bytes, status: str = "200 OK", **more: object) -> Behaviour:
    async def behave(server: Server, writer: Writer, body: dict, number: int) -> None:
        put(writer, payload, status, **more)

    return behave


def first(times: int, payload: bytes, status: str, headers: str = "") -> Behaviour:
    """Another answer so many times, then the right one."""

    async def behave(server: Server, writer: Writer, body: dict, number: int) -> None:
        put(writer, payload, status, None, headers) if number < times else put(writer, good(body))

    return behave


async def ok(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, good(body))


async def slowly(server: Server, writer: Writer, body: dict, number: int) -> None:
    await asyncio.sleep(0.02)
    put(writer, good(body))


async def silent(server: Server, writer: Writer, body: dict, number: int) -> None:
    await asyncio.sleep(3600)


async def drip(server: Server, writer: Writer, body: dict, number: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless(server: Server, writer: Writer, body: dict, number: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
        await writer.drain()


async def endless_header(server: Server, writer: Writer, body: dict, number: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: and more\r\n" * 100)
        await writer.drain()


async def drops(server: Server, writer: Writer, body: dict, number: int) -> None:
    raise ConnectionError


async def resets(server: Server, writer: Writer, body: dict, number: int) -> None:
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    raise ConnectionError


async def half(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, good(body)[:20], length=len(good(body)))
    await writer.drain()
    raise ConnectionError


async def length_too_long(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, good(body), length=10_000)
    await writer.drain()
    await asyncio.sleep(3600)


async def length_too_short(server: Server, writer: Writer, body: dict, number: int) -> None:
    """Once; what is left over must not be taken for the next answer."""
    put(writer, good(body), length=None if number else 30)


async def tells_key(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode(), "401 Unauthorized")


async def writes_key(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, good(body, f"your key is {KEY}"))


async def many_tokens(server: Server, writer: Writer, body: dict, number: int) -> None:
    put(writer, good(body).replace(b'"completion_tokens": 4', b'"completion_tokens": "four"'))


def date(seconds: float) -> str:
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return email.utils.format_datetime(at, usegmt=True)


_QUOTA = b'{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}'
_TOO_LONG = b'{"error": {"code": 400, "type": "exceed_context_size_error", "message": "too many"}}'
BEHAVIOURS: dict[str, Behaviour] = {
    "ok": ok,
    "slowly": slowly,
    "silent": silent,
    "drip": drip,
    "endless": endless,
    "endless-header": endless_header,
    "drops": drops,
    "resets": resets,
    "half": half,
    "length-too-long": length_too_long,
    "length-too-short": length_too_short,
    "length-no-number": says(b"{}", length="many"),
    "length-negative": says(b"{}", length=-5),
    "not-http": says(b"", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    "busy-once": first(1, b"slow down", "429 Too Many Requests", "Retry-After: 1\r\n"),
    "busy-twice-silently": first(2, b"", "429 Too Many Requests"),
    "busy-date": first(1, b"", "503 Service Unavailable", f"Retry-After: {date(-5)}\r\n"),
    "busy-nonsense": first(1, b"", "429 Too Many Requests", "Retry-After: soon\r\n"),
    "busy-for-ever": says(b"", "429 Too Many Requests"),
    "busy-for-a-day": says(b"", "429 Too Many Requests", headers="Retry-After: 86400\r\n"),
    "no-money": says(_QUOTA, "429 Too Many Requests"),
    "broken-once": first(1, b"oops", "500 Internal Server Error"),
    "broken": says(b"<h1>oops</h1>", "500 Internal Server Error"),
    "broken-inside": says(b'{"error": {"code": 502, "message": "upstream"}}'),
    "forbidden": says(b'{"error": "who are you?"}', "403 Forbidden"),
    "too-long": says(_TOO_LONG, "400 Bad Request"),
    "elsewhere": says(b"", "307 Temporary Redirect", headers="Location: /trap/v1/completions\r\n"),
    "trap": ok,
    "nothing": says(b""),
    "empty": says(b'{"choices": [{"text": " \\n", "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}'),
    "withheld": says(b'{"choices": [{"text": "x", "finish_reason": "content_filter"}]}'),
    "page": says(b"<!doctype html><title>Sign in</title>"),
    "cut": says(b'{"choices": [{"text": "and then'),
    "no-utf8": says(b'{"choices": [{"text": "\xff\xfe"}]}'),
    "half-a-pair": says(b'{"choices": [{"text": "\\ud800"}]}'),
    "packed": says(gzip.compress(b" " * 10_000_000), headers="Content-Encoding: gzip\r\n"),
    "deep": says(b'{"error": ' + b"[" * 500_000),
    "deep-usage": says(b'{"choices": [{"text": "fine"}], "usage": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001),
    "no-choices": says(b'{"choices": []}'),
    "list": says(b"[1, 2]"),
    "number": says(b'{"choices": [{"text": 5}]}'),
    "chat-for-completion": says(b'{"choices": [{"index": 0}]}'),
    "odd-usage": many_tokens,
    "tells-key": tells_key,
    "writes-key": writes_key,
}


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """Runs in a thread of its own; ends with the block, whatever its connections do."""
    server, loop, ready = Server(), asyncio.new_event_loop(), threading.Event()

    async def run() -> None:
        listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
        server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            listener.close()

    async def stop() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    task = loop.create_task(run())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        assert ready.wait(30)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
        assert task.done()
