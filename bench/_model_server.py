"""A server with the manners and the speed of a large one: so many texts side by side, each after so many seconds.

    python bench/_model_server.py SLOTS SECONDS        prints its address, ends with its standard input

It computes nothing, so what a client gets of SLOTS / SECONDS replies a second is the client's own doing. A reply is the
prompt's last 1,200 characters.
"""

import asyncio
import json
import os
import sys


class Server:
    def __init__(self, slots: int, seconds: float) -> None:
        self.slots, self.seconds = asyncio.Semaphore(slots), seconds

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = json.loads(await reader.readexactly(length_of(head)))
                async with self.slots:
                    await asyncio.sleep(self.seconds)
                reply = {
                    "model": "bench",
                    "choices": [{"text": body["prompt"][-1200:], "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": len(body["prompt"]) // 4, "completion_tokens": 300},
                }
                payload = json.dumps(reply).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(payload) + payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def length_of(head: bytes) -> int:
    """The Content-Length of a request's or an answer's head."""
    line = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return int(line.partition(b":")[2])


async def main() -> None:
    server = Server(int(sys.argv[1]), float(sys.argv[2]))
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, limit=1 << 20)
    print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
