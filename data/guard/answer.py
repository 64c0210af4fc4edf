"""One request answered inside the guarded child: status and body, whatever the task does."""

from collections.abc import Callable
from typing import Any

import msgspec

from trivium.errors import GuardError

READY, DONE, REFUSED, MEMORY, TOO_LARGE, IMPORT_FAILED, LATE, DIED = range(8)
_REASON_LIMIT = 400  # characters of an exception's text that travel back


def answer(task: Callable[[Any], Any], kind: Any, payload: bytes, limit: int) -> tuple[bytes, bytes]:
    """`task` of the payload read as `kind`; a reply of `limit` bytes or more is left behind."""
    try:
        reply = msgspec.msgpack.encode(task(msgspec.msgpack.decode(payload, type=kind)))
    except MemoryError:
        return bytes([MEMORY]), b""
    except GuardError as error:
        return bytes([REFUSED]), msgspec.msgpack.encode([error.reason, _plain(str(error)[:_REASON_LIMIT])])
    except Exception as error:
        return bytes([REFUSED]), msgspec.msgpack.encode(["refused", describe(error).decode()])
    if len(reply) >= limit:
        return bytes([TOO_LARGE]), str(len(reply)).encode()
    return bytes([DONE]), reply


def describe(error: Exception) -> bytes:
    """Kind and text of an exception, one line."""
    text = " ".join(str(error).split())[:_REASON_LIMIT]
    return _plain(f"{type(error).__name__}: {text}").encode()


def _plain(text: str) -> str:
    """The text without the lone surrogates that a stranger's words may hold and no reply can."""
    return text.encode(errors="replace").decode()
