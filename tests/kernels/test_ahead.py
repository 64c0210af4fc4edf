"""Backward passes compiled ahead: once a shape, on a thread of its own, and no failure reaches the caller."""

import logging
import threading
from uuid import uuid4

import pytest
import torch

from trivium.kernels.ahead import rehearse

CPU = torch.device("cpu")


def wait() -> None:
    for thread in threading.enumerate():
        if thread.name == "trivium-rehearsal":
            thread.join(10)


def test_each_key_is_rehearsed_once_and_elsewhere() -> None:
    seen, key = [], uuid4()
    with torch.no_grad():
        for _ in range(3):
            rehearse(key, CPU, lambda: seen.append((threading.current_thread(), torch.is_grad_enabled())))
    rehearse(uuid4(), CPU, lambda: seen.append((None, True)))
    wait()
    assert len(seen) == 2
    assert all(thread is not threading.current_thread() for thread, _ in seen)
    assert all(gradient for _, gradient in seen)


def test_a_rehearsal_that_fails_is_told_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def run() -> None:
        raise ValueError("no such shape")

    with caplog.at_level(logging.DEBUG, logger="trivium.kernels.ahead"):
        rehearse(uuid4(), CPU, run)
        wait()
    assert "no such shape" in caplog.text
