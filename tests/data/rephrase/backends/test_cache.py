"""Replies are kept by what was asked: paid for once, whoever asks, whatever is killed."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trivium.data.rephrase.backend import Backend, Failure, Message, Reply, Request, Usage
from trivium.data.rephrase.backends.cache import FILE, Cached, Replies
from trivium.data.rephrase.backends.fake import FakeConfig
from trivium.errors import StorageError


def asked(number: int = 0, **changes: Any) -> Request:
    fields: dict[str, Any] = {"model": "m", "prompt": "test@1", "messages": (Message("user", f"text {number}"),)}
    return Request(**(fields | {"max_tokens": 64, "completion": True} | changes))


class Slow:
    """Answers after a moment, each time otherwise; what it was asked is counted."""

    name, model = "slow", "m"

    def __init__(self, *failures: str) -> None:
        self.usage, self.asked, self._failures = Usage(), Counter[str](), list(failures)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> Reply | Failure:
        self.usage.requests += 1
        self.asked[request.key()] += 1
        await asyncio.sleep(0.02)
        if self._failures:
            return Failure(reason=self._failures.pop(0), detail="", attempts=1)
        text = f"{request.messages[0].content}, written {self.asked[request.key()]}"
        return Reply(text=text, finish="stop", prompt_tokens=1, completion_tokens=1, model="m")


async def using(backend: Backend, *requests: Request) -> list[Reply | Failure]:
    await backend.open()
    try:
        return list(await asyncio.gather(*map(backend.generate, requests)))
    finally:
        await backend.close()


def test_equal_requests_are_one_call_also_while_it_is_out_and_in_the_next_run(tmp_path: Path) -> None:
    slow = Slow()
    same = asyncio.run(using(Cached(slow, tmp_path), asked(1), asked(2), asked(1), asked(1)))
    assert set(slow.asked.values()) == {1}
    assert [answer.cached for answer in same if isinstance(answer, Reply)] == [False, False, True, True]
    assert msgspec.structs.replace(same[2], cached=False) == same[0]
    assert (slow.usage.requests, slow.usage.cached) == (4, 2)
    again = Slow()
    (kept,) = asyncio.run(using(Cached(again, tmp_path), asked(1)))
    assert kept == same[2]
    assert not again.asked
    assert (again.usage.requests, again.usage.cached) == (1, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "n"},
        {"prompt": "test@2"},
        {"messages": (Message("system", "text 0"),)},
        {"messages": (Message("user", "text 0"), Message("user", ""))},
        {"max_tokens": 65},
        {"temperature": 0.71},
        {"top_p": 0.9},
        {"seed": 1},
        {"stop": ("\n",)},
        {"completion": False},
    ],
    ids=str,
)
def test_whatever_decides_the_text_decides_the_key(changes: dict[str, Any]) -> None:
    assert asked().key() == asked().key()
    assert asked(**changes).key() != asked().key()


def test_a_model_s_own_useless_answer_is_kept_and_a_server_s_fault_is_not(tmp_path: Path) -> None:
    slow = Slow("empty", "timeout")

    async def one_by_one() -> list[Reply | Failure]:
        backend = Cached(slow, tmp_path)
        await backend.open()
        answers = [await backend.generate(asked(number)) for number in (1, 2, 1, 2)]
        await backend.close()
        return answers

    first, second, third, fourth = asyncio.run(one_by_one())
    assert isinstance(first, Failure)
    assert third == first
    assert isinstance(second, Failure)
    assert isinstance(fourth, Reply)


def test_who_gives_up_leaves_the_reply_to_the_others_and_to_the_file(tmp_path: Path) -> None:
    slow = Slow()

    async def impatient() -> tuple[Reply | Failure, Reply | Failure | None]:
        backend = Cached(slow, tmp_path)
        await backend.open()
        first, second, alone = (asyncio.create_task(backend.generate(asked(number))) for number in (1, 1, 2))
        await asyncio.sleep(0)
        first.cancel()
        alone.cancel()
        answer = await second
        await backend.close()
        replies = Replies(tmp_path)
        kept = replies.get(asked(2).key())
        replies.close()
        return answer, kept

    answer, kept = asyncio.run(impatient())
    assert isinstance(answer, Reply)
    assert isinstance(kept, Reply)
    assert set(slow.asked.values()) == {1}


_WRITER = """
import sys
from pathlib import Path
from trivium.data.rephrase.backend import Reply
from trivium.data.rephrase.backends.cache import Replies
replies = Replies(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(300):
    mine = Reply(text=sys.argv[2], finish="stop", prompt_tokens=1, completion_tokens=1, model="m")
    print(replies.put(f"{number:064x}", mine).text)
"""


def test_of_processes_that_write_at_once_all_hand_out_the_first_reply(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert said[0] == said[1] == said[2]
    assert len(said[0]) == 300
    replies = Replies(tmp_path)
    assert len(replies) == 300
    replies.close()


_CLIENT = """
import asyncio, json, sys
from pathlib import Path
from trivium.data.rephrase.backend import Message, Request
from trivium.data.rephrase.backends.openai import OpenAIConfig

async def main():
    backend = OpenAIConfig(url=sys.argv[1], model="m", concurrency=5).build(Path(sys.argv[2]))
    await backend.open()
    ask = [Request(model="m", prompt="kill@1", messages=(Message("user", f"text {n}"),), max_tokens=9, completion=True)
           for n in range(120)]
    answers = await asyncio.gather(*map(backend.generate, ask))
    await backend.close()
    print(json.dumps([[answer.text for answer in answers], backend.usage.cached, backend.usage.calls]))

asyncio.run(main())
"""


def test_killed_in_the_middle_it_asks_for_nothing_twice_that_was_answered(tmp_path: Path, server: Any) -> None:
    pytest.importorskip("aiolimiter")
    command = [sys.executable, "-c", _CLIENT, f"{server.url}/slowly/v1", str(tmp_path)]
    server.seen.clear()
    first = subprocess.Popen(command)
    deadline = time.monotonic() + 200
    while len(server.seen) < 40:
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    time.sleep(0.1)  # what the dead client sent last
    before = [body["prompt"] for _, _, body in server.seen]
    replies = Replies(tmp_path)
    kept = len(replies)
    replies.close()
    assert len(before) - 5 <= kept <= len(before) < 120
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    texts, cached, calls = json.loads(done.stdout)
    assert texts == [f"answer to text {number}" for number in range(120)]
    assert (cached, calls) == (kept, 120 - kept)
    twice = [prompt for prompt, times in Counter(body["prompt"] for _, _, body in server.seen).items() if times > 1]
    assert len(twice) == len(before) - kept  # those that were out when it died


def test_a_damaged_file_or_one_of_another_version_is_said(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all, and long enough to be read as one" * 100)
    with pytest.raises(StorageError, match="move the file away"):
        Replies(tmp_path)
    (tmp_path / FILE).unlink()
    file = sqlite3.connect(tmp_path / FILE)
    file.execute("PRAGMA user_version=7")
    file.close()
    with pytest.raises(StorageError, match="version 7"):
        Replies(tmp_path)
    with pytest.raises(StorageError, match="can't be used"):
        Replies(tmp_path / FILE / "below a file")


def test_the_fake_is_a_function_of_its_request_and_says_what_it_is(tmp_path: Path) -> None:
    requests = [asked(number, messages=(Message("user", f"Rewrite.\n\none two {number}"),)) for number in range(40)]
    backend = FakeConfig(fails=0.25).build(None)
    answers = asyncio.run(using(backend, *requests))
    assert asyncio.run(using(FakeConfig(fails=0.25).build(tmp_path), *reversed(requests)))[::-1] == answers
    assert (backend.name, backend.model) == ("fake", "fake")
    failed = sum(isinstance(answer, Failure) for answer in answers)
    assert 3 <= failed <= 18
    assert all(answer.text == f"one two {n}" for n, answer in enumerate(answers) if isinstance(answer, Reply))
    words = asyncio.run(using(FakeConfig(answer="words").build(None), *requests))
    assert len({answer.text for answer in words if isinstance(answer, Reply)}) > 20
