"""The guarded child's side: limits on, task imported, system calls filtered, then one reply for each request.

Runs with `python -I -S` inside the sandbox. Whatever a library prints goes to standard error, never into the protocol.
"""

import ctypes
import importlib
import inspect
import os
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from trivium.data.guard import frames, landlock, limits, seccomp
from trivium.errors import GuardError

READY, DONE, REFUSED, MEMORY, TOO_LARGE, IMPORT_FAILED = range(6)
_REASON_LIMIT = 400  # characters of an exception's text that travel back


def main(config: dict[str, Any]) -> None:
    """Serves until the parent closes the pipe."""
    requests, replies = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if config["parent"]:
        _die_with(config["parent"])
    bounds = msgspec.convert(config["limits"], limits.Limits)
    limits.apply(bounds)
    confined = not config["parent"] or landlock.confine(config["places"], os.getcwd())
    try:
        task, kind = _resolve(config["task"])
    except Exception as error:
        frames.send(replies, bytes([IMPORT_FAILED]) + _describe(error))
        return
    filtered = seccomp.install()
    frames.send(replies, bytes([READY, filtered, confined]))
    while (payload := frames.receive(requests)) is not None:
        limits.grant_cpu(bounds)
        frames.send(replies, *_answer(task, kind, payload, bounds.output_bytes))


def _resolve(name: str) -> tuple[Callable[[Any], Any], Any]:
    """The task `package.module:function` and the annotated type of its only parameter."""
    module_name, _, function_name = name.partition(":")
    task = getattr(importlib.import_module(module_name), function_name)
    (parameter,) = inspect.signature(task).parameters
    return task, typing.get_type_hints(task).get(parameter, Any)


def _answer(task: Callable[[Any], Any], kind: Any, payload: bytes, limit: int) -> tuple[bytes, bytes]:
    """Status and body."""
    try:
        reply = msgspec.msgpack.encode(task(msgspec.msgpack.decode(payload, type=kind)))
    except MemoryError:
        return bytes([MEMORY]), b""
    except GuardError as error:
        return bytes([REFUSED]), msgspec.msgpack.encode([error.reason, str(error)[:_REASON_LIMIT]])
    except Exception as error:
        return bytes([REFUSED]), msgspec.msgpack.encode(["refused", _describe(error).decode()])
    if len(reply) >= limit:
        return bytes([TOO_LARGE]), str(len(reply)).encode()
    return bytes([DONE]), reply


def _describe(error: Exception) -> bytes:
    text = " ".join(str(error).split())[:_REASON_LIMIT]
    return f"{type(error).__name__}: {text}".encode(errors="replace")


def _die_with(parent: int) -> None:
    """Without bubblewrap: SIGKILL for this process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    if os.getppid() != parent:
        os._exit(1)
