"""The guarded child's side: limits on, task imported, system calls filtered, then one reply for each request.

Whatever a library prints goes to standard error, never into the protocol.
"""

import importlib
import inspect
import os
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from trivium.data.guard import frames, identity, landlock, rlimits, seccomp
from trivium.data.guard.answer import IMPORT_FAILED, READY, answer, describe
from trivium.data.guard.apart import answer_apart
from trivium.data.guard.limits import Limits


def main(config: dict[str, Any]) -> None:
    """Serves until the parent closes the pipe."""
    requests, replies = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    bounds = msgspec.convert(config["limits"], Limits)
    identity.become(config["user"], config["parent"])
    rlimits.apply(bounds.kept_by_kernel(counted=config["counted"], reserves=config["reserves"]))
    walls = (config["places"], [os.getcwd(), "/dev/null"], config["listed"])
    confined = landlock.confine(*walls)
    try:
        task, kind = _resolve(config["task"])
    except Exception as error:
        frames.send(replies, bytes([IMPORT_FAILED]) + describe(error))
        return
    filtered = config["apart"] or seccomp.install()
    frames.send(replies, bytes([READY, filtered, confined]))
    while (payload := frames.receive(requests)) is not None:
        if config["apart"]:
            reply = answer_apart(task, kind, payload, bounds, (requests, replies), walls)
        else:
            rlimits.grant_cpu(bounds.cpu_seconds)
            reply = answer(task, kind, payload, bounds.output_bytes)
        frames.send(replies, *reply)


def _resolve(name: str) -> tuple[Callable[[Any], Any], Any]:
    """The task `package.module:function` and the annotated type of its only parameter."""
    module_name, _, function_name = name.partition(":")
    task = getattr(importlib.import_module(module_name), function_name)
    (parameter,) = inspect.signature(task).parameters
    return task, typing.get_type_hints(task).get(parameter, Any)
