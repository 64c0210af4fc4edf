"""A real HTTP server over a folder, on a thread, that can misbehave in the ways that storage does."""

import http.server
import threading
import time
from collections import Counter
from pathlib import Path


class Server:
    """Serves `folder` at `url`. `manner` is ranges | whole | stall | flaky | cut | forbidden | liar; `asked` counts."""

    def __init__(self, folder: Path, manner: str = "ranges") -> None:
        self.folder, self.manner = folder, manner
        self.asked: Counter[str] = Counter()
        self.sent = 0
        self.closing = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                outer.answer(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "Server":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        name = request.path.partition("?")[0]
        self.asked[name] += 1
        path = self.folder / name.lstrip("/")
        if not path.is_file():
            self._say(request, 404)
        elif self.manner == "forbidden":
            self._say(request, 403)
        elif self.manner == "stall":
            while not self.closing.is_set():
                time.sleep(0.02)
        elif self.manner == "flaky" and self.asked[name] % 3:  # two answers of three are errors
            self._say(request, 500)
        else:
            self._send(request, path.read_bytes(), request.headers.get("Range"), self.asked[name])

    @staticmethod
    def _say(request: http.server.BaseHTTPRequestHandler, status: int) -> None:
        request.send_response(status)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def _send(self, request: http.server.BaseHTTPRequestHandler, body: bytes, span: str | None, nth: int) -> None:
        total, status = len(body), 200
        if span and self.manner != "whole":
            first, _, last = span.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(total, int(last) + 1)
            if start >= total:
                request.send_response(416)
                request.send_header("Content-Range", f"bytes */{total}")
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
            if self.manner == "liar":  # other bytes than were asked for
                start, stop = start + 1, min(total, stop + 1)
            body, status = body[start:stop], 206
        request.send_response(status)
        if status == 206:
            request.send_header("Content-Range", f"bytes {start}-{stop - 1}/{total}")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if self.manner == "cut" and nth % 2 and len(body) > 1:
            body = body[: len(body) // 2]
            request.close_connection = True
        try:
            request.wfile.write(body)
            self.sent += len(body)
        except OSError:  # the reader had enough
            request.close_connection = True
