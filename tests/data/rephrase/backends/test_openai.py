"""A real server over real sockets that does all that a server shouldn't: bounded time, a reason, nothing lost."""

import asyncio
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("aiolimiter")
pytest.importorskip("tenacity")

from trivium.data.config import from_mapping, to_mapping
from trivium.data.rephrase.backend import REASONS, Backend, BackendConfig, Failure, Message, Reply, Request
from trivium.data.rephrase.backends.openai import OpenAI, OpenAIConfig
from trivium.errors import ConfigError

# What ends in which reason after how many tries; None: in a reply.
ENDS: dict[str, tuple[str | None, int]] = {
    "ok": (None, 1),
    "silent": ("timeout", 2),
    "drip": ("timeout", 2),
    "endless": ("endless", 1),
    "endless-header": ("connection", 3),
    "drops": ("connection", 3),
    "resets": ("connection", 3),
    "half": ("connection", 3),
    "length-too-long": ("timeout", 2),
    "length-too-short": (None, 2),
    "length-no-number": ("connection", 3),
    "length-negative": ("connection", 3),
    "not-http": ("connection", 3),
    "busy-once": (None, 2),
    "busy-twice-silently": (None, 3),
    "busy-date": (None, 2),
    "busy-nonsense": (None, 2),
    "busy-for-ever": ("rate_limited", 3),
    "busy-for-a-day": ("rate_limited", 1),
    "no-money": ("refused", 1),
    "broken-once": (None, 2),
    "broken": ("server_error", 3),
    "broken-inside": ("server_error", 3),
    "forbidden": ("refused", 1),
    "too-long": ("too_long", 1),
    "elsewhere": ("redirected", 1),
    "nothing": ("not_json", 1),
    "empty": ("empty", 1),
    "withheld": ("filtered", 1),
    "page": ("not_json", 1),
    "cut": ("not_json", 1),
    "no-utf8": ("not_json", 1),
    "half-a-pair": ("not_json", 1),
    "packed": ("not_json", 1),
    "deep": ("not_json", 1),
    "deep-usage": ("not_json", 1),
    "no-choices": ("wrong_schema", 1),
    "list": ("wrong_schema", 1),
    "number": ("wrong_schema", 1),
    "chat-for-completion": ("wrong_schema", 1),
    "odd-usage": (None, 1),
    "tells-key": ("refused", 1),
    "writes-key": ("wrong_schema", 1),
}
LATE = ("silent", "drip", "length-too-long")


def asked(number: int = 0, **changes: Any) -> Request:
    fields: dict[str, Any] = {
        "model": "m",
        "prompt": "test@1",
        "messages": (Message("user", f"text {number}"),),
        "max_tokens": 64,
        "completion": True,
    }
    return Request(**(fields | changes))


def client(server: Any, part: str, **changes: Any) -> OpenAI:
    late = {"attempts": 2, "read_seconds": 0.5, "call_seconds": 1.0} if part in LATE else {"attempts": 3}
    fields = {"url": f"{server.url}/{part}/v1", "model": "m", "longest_wait": 5.0} | late | changes
    return OpenAI(OpenAIConfig(**fields))


async def using(backend: Backend, *requests: Request) -> list[Reply | Failure]:
    await backend.open()
    try:
        return list(await asyncio.gather(*map(backend.generate, requests)))
    finally:
        await backend.close()


@pytest.fixture(scope="module")
def alone(hostile: ModuleType) -> Iterator[Any]:
    """A server that `ends` alone asks, since what it does and what it counts hang on what it was asked before."""
    with hostile.serving() as server:
        yield server


@pytest.fixture(scope="module")
def ends(alone: Any, hostile: ModuleType) -> dict[str, tuple[OpenAI, Reply | Failure, float]]:
    """All of ENDS side by side: the client, what it gave, and after how long."""

    async def one(part: str) -> tuple[OpenAI, Reply | Failure, float]:
        backend, began = client(alone, part, key_env="TRIVIUM_TEST_KEY"), time.monotonic()
        (answer,) = await using(backend, asked())
        return backend, answer, time.monotonic() - began

    async def all_of_them() -> dict[str, Any]:
        return dict(zip(ENDS, await asyncio.gather(*map(one, ENDS)), strict=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIVIUM_TEST_KEY", hostile.KEY)
        return asyncio.run(all_of_them())


@pytest.mark.parametrize("part", ENDS)
def test_whatever_the_server_does_ends_in_a_reply_or_a_reason(ends: dict, alone: Any, part: str, hostile: Any) -> None:
    backend, answer, seconds = ends[part]
    reason, tries = ENDS[part]
    assert seconds < 60
    assert alone.hits[part] == tries or part in LATE  # on a busy machine we may be gone before it reads
    assert (backend.usage.calls, backend.usage.retries) == (tries, tries - 1)
    if reason is None:
        assert isinstance(answer, Reply), answer
        assert (answer.finish, backend.usage.failures) == ("stop", 0)
        return
    assert isinstance(answer, Failure), answer
    assert (answer.reason, answer.attempts) == (reason, tries), answer
    assert answer.detail
    assert answer.reason in REASONS
    assert hostile.KEY not in answer.detail
    assert backend.usage.failures == 1


def test_the_server_is_waited_for_as_it_asks_and_sends_nobody_elsewhere(ends: dict, alone: Any) -> None:
    assert ends["busy-once"][2] >= 1
    assert ends["busy-for-a-day"][2] < 5
    assert "86400" in ends["busy-for-a-day"][1].detail
    assert alone.hits["trap"] == 0


def test_an_answer_is_counted_and_paid_for_also_when_it_is_of_no_use(server: Any, hostile: Any) -> None:
    backend = client(server, "ok", price_in=1e6, price_out=2e6)
    reply, chat = asyncio.run(using(backend, asked(), asked(completion=False)))
    assert reply == Reply(text="answer to text 0", finish="stop", prompt_tokens=10, completion_tokens=4, model="m-1")
    assert chat == reply
    usage = backend.usage
    assert (usage.requests, usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 2, 20, 8)
    assert usage.cost == 36
    assert usage.seconds > 0
    useless = client(server, "empty", price_in=1e6)
    asyncio.run(using(useless, asked()))
    assert useless.usage.cost == 7


def test_every_request_gets_its_own_answer_within_the_concurrency(server: Any) -> None:
    server.most_open.clear()
    requests = [asked(number) for number in range(60)]
    answers = asyncio.run(using(client(server, "slowly", concurrency=7), *requests))
    assert [answer.text for answer in answers if isinstance(answer, Reply)] == [
        f"answer to text {number}" for number in range(60)
    ]
    assert 1 < server.most_open["slowly"] <= 7


def test_what_a_lying_length_leaves_over_is_no_answer_to_the_next(server: Any) -> None:
    server.hits["length-too-short"] = 0

    async def two() -> list[Reply | Failure]:
        backend = client(server, "length-too-short", concurrency=1)
        await backend.open()
        answers = [await backend.generate(asked(number)) for number in (1, 2)]
        await backend.close()
        return answers

    first, second = asyncio.run(two())
    assert isinstance(first, Failure) or first.text == "answer to text 1"
    assert isinstance(second, Reply), second
    assert second.text == "answer to text 2"


@pytest.mark.parametrize(
    ("limits", "at_least"),
    [({"requests_per_minute": 1200.0}, 0.4), ({"tokens_per_minute": 64 * 60.0}, 0.4)],
    ids=["requests", "tokens"],
)
def test_rates_are_kept(server: Any, limits: dict[str, float], at_least: float) -> None:
    began = time.monotonic()
    count = 30 if "requests_per_minute" in limits else 5
    asyncio.run(using(client(server, "ok", concurrency=30, **limits), *(asked(n) for n in range(count))))
    assert time.monotonic() - began > at_least


def test_what_is_sent_is_the_request_and_the_key_only_in_its_header(
    server: Any, hostile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", f" {hostile.KEY}\n")
    config = OpenAIConfig(url=f"{server.url}/ok/v1/", model="m", key_env="MY_KEY", limit_name="max_completion_tokens")
    turns = (Message("system", "be brief"), Message("user", "hello"))
    request = asked(messages=turns, completion=False, stop=("\n\n",), seed=7)
    asyncio.run(using(OpenAI(config), request))
    _, head, body = server.seen[-1]
    assert head.startswith("POST /ok/v1/chat/completions ")
    assert f"Authorization: Bearer {hostile.KEY}\r\n" in head
    assert body == {
        "model": "m",
        "max_completion_tokens": 64,
        "temperature": 0.7,
        "top_p": 0.95,
        "seed": 7,
        "stop": ["\n\n"],
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
    }
    assert hostile.KEY not in repr(to_mapping(config)) + repr(vars(OpenAI(config)))


def test_a_key_that_is_absent_or_no_key_is_said_without_saying_it(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = OpenAI(OpenAIConfig(url="http://127.0.0.1:1/v1", model="m", key_env="NO_SUCH_KEY"))
    with pytest.raises(ConfigError, match="NO_SUCH_KEY is not set"):
        asyncio.run(backend.open())
    monkeypatch.setenv("NO_SUCH_KEY", "abc\r\nX-Evil: 1")
    with pytest.raises(ConfigError) as caught:
        asyncio.run(backend.open())
    assert "abc" not in str(caught.value)


def test_nobody_at_the_address_is_a_connection_that_failed() -> None:
    config = OpenAIConfig(url="http://127.0.0.1:1/v1", model="m", attempts=2)
    (answer,) = asyncio.run(using(OpenAI(config), asked()))
    assert isinstance(answer, Failure)
    assert (answer.reason, answer.attempts) == ("connection", 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"url": "ftp://a/v1"}, "no http"),
        ({"url": "https://me:secret@a/v1"}, "key_env"),
        ({"url": "https://a/v1?key=secret"}, "key_env"),
        ({"concurrency": 0}, "at least 1"),
        ({"tokens_per_minute": 0}, "above 0"),
        ({"call_seconds": -1.0}, "above 0"),
    ],
)
def test_a_wrong_configuration_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        from_mapping({"kind": "openai", "url": "http://a/v1", "model": "m"} | change, OpenAIConfig, name="r.yaml")
    assert "secret" not in str(caught.value)


def test_workers_share_what_an_endpoint_bears() -> None:
    config: BackendConfig = OpenAIConfig(url="http://a/v1", model="m", concurrency=9, requests_per_minute=600)
    assert config.share(4) == OpenAIConfig(url="http://a/v1", model="m", concurrency=2, requests_per_minute=150)
