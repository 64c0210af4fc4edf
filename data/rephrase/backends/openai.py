"""Any endpoint that speaks the OpenAI protocol (vLLM, SGLang, llama.cpp, hosted ones), chat or completion.

Odd: nothing that a server does takes for ever or fills the memory: connecting, a pause between bytes, a whole call,
the wait that it asks for and the bytes that it sends are all bounded, and it can't send us elsewhere.
The key stands in an environment variable that the configuration names; it is never written, not into errors either.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from trivium.data.rephrase.backend import Backend, BackendConfig, Failure, Reply, Request, Usage
from trivium.data.rephrase.backends.answers import Again, Tokens, body, read
from trivium.errors import ConfigError, MissingDependencyError
from trivium.needs import cure

if TYPE_CHECKING:
    import aiolimiter
    import tenacity

BYTES_PER_TOKEN = 3  # to foresee what a request takes of `tokens_per_minute`; English has about 4
_WINDOW = 6.0  # seconds over which tokens may come in a burst


class OpenAIConfig(BackendConfig, tag="openai"):
    """Where the endpoint is, and what it bears; prices are for a million tokens, in any currency."""

    url: str  # up to and with /v1
    model: str  # as the endpoint calls it
    key_env: str = ""  # the environment variable that holds the key; empty: none is sent
    concurrency: int = 16  # requests out at once, of all workers together
    requests_per_minute: float | None = None  # of all workers together
    tokens_per_minute: float | None = None  # read and written
    attempts: int = 5  # at one request, the first among them
    longest_wait: float = 60.0  # seconds between two tries; a server that asks for more is given up
    connect_seconds: float = 10.0  # until a connection stands
    read_seconds: float = 120.0  # without a byte
    call_seconds: float = 300.0  # of one try as a whole
    reply_bytes: int = 1 << 20  # of one answer at most
    price_in: float = 0.0  # of a million tokens read
    price_out: float = 0.0  # of a million tokens written
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"  # how the server calls it

    def __post_init__(self) -> None:
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: {self.url!r} is no http(s) address; give one such as http://127.0.0.1:8000/v1")
        if parts.username is not None or parts.password is not None or parts.query:
            raise ValueError("url: holds a name, a password or a query; put the key into a variable, named by key_env")
        for name in ("concurrency", "attempts", "reply_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; give at least 1")
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ValueError(f"{name}: {getattr(self, name)}; give a number above 0, or leave it out")
        for name in ("longest_wait", "connect_seconds", "read_seconds", "call_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)}; give seconds above 0")

    def build(self, cache: Path | None) -> Backend:
        """Not yet opened."""
        from trivium.data.rephrase.backends.cache import cached

        return cached(OpenAI(self), cache)

    def share(self, workers: int) -> Self:
        """Concurrency and rates of one of `workers` processes."""
        parts = {name: getattr(self, name) for name in ("requests_per_minute", "tokens_per_minute")}
        return msgspec.structs.replace(
            self,
            concurrency=max(1, self.concurrency // workers),
            **{name: value / workers for name, value in parts.items() if value is not None},
        )


class OpenAI:
    """The client; `open` makes its connections' pool, `generate` may be awaited any number of times at once."""

    def __init__(self, config: OpenAIConfig, name: str = "openai") -> None:
        self.name, self.model, self.usage = name, config.model, Usage()
        self._config = config
        self._key = ""
        self._session: Any = None
        self._slots = asyncio.Semaphore(config.concurrency)
        self._quiet_until = 0.0  # the loop's clock; set when the server asks for patience
        self._limits: list[tuple[aiolimiter.AsyncLimiter, bool]] = []  # with whether it counts tokens

    async def open(self) -> None:
        """Makes the pool of connections. Raises ConfigError for an absent key, MissingDependencyError."""
        try:
            import aiohttp
            import tenacity  # noqa: F401
            from aiolimiter import AsyncLimiter
        except ImportError as error:
            raise MissingDependencyError(
                f"an endpoint needs the package {error.name}, which is not installed; {cure('rephrase')}"
            ) from None
        config = self._config
        self._key = _key(config.key_env)
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._limits.clear()
        rate = (config.requests_per_minute or 0) / 60
        if rate:
            self._limits.append((AsyncLimiter(max(1.0, rate), max(1.0, 1 / rate)), False))
        if config.tokens_per_minute:
            self._limits.append((AsyncLimiter(config.tokens_per_minute / 60 * _WINDOW, _WINDOW), True))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=config.concurrency),
            headers=headers,
            auto_decompress=False,  # nothing that grows when it is unpacked
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=config.call_seconds, sock_connect=config.connect_seconds, sock_read=config.read_seconds
            ),
        )

    async def close(self) -> None:
        """Ends the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def generate(self, request: Request) -> Reply | Failure:
        """One text, in at most `attempts` × (`call_seconds` + `longest_wait`) beside the wait for our own limits."""
        self.usage.requests += 1
        async with self._slots:
            answer = await self._patiently(request)
        if isinstance(answer, Failure):
            self.usage.failures += 1
            return self._without_key(answer)
        if self._key and self._key in answer.text:
            self.usage.failures += 1
            return Failure(reason="wrong_schema", detail="the answer repeats the key it was asked with", attempts=1)
        return answer

    async def _patiently(self, request: Request) -> Reply | Failure:
        import tenacity

        attempts, payload = 0, body(request, self._config.limit_name)
        try:
            async for attempt in tenacity.AsyncRetrying(
                stop=tenacity.stop_after_attempt(self._config.attempts),
                wait=self._pause,
                retry=tenacity.retry_if_exception(self._worth_it),
                reraise=True,
            ):
                with attempt:
                    attempts += 1
                    self.usage.retries += attempts > 1
                    await self._our_turn(request, len(payload))
                    answer = await self._call(request, payload)
                    return msgspec.structs.replace(answer, attempts=attempts) if isinstance(answer, Failure) else answer
        except Again as error:
            detail = error.detail
            if not self._worth_it(error):
                detail += f"; asks to wait {error.wait:.0f} s, and longest_wait is {self._config.longest_wait:g}"
            return Failure(reason=error.reason, detail=detail, attempts=attempts)
        raise AssertionError("tenacity ended without a result")

    def _worth_it(self, error: BaseException) -> bool:
        return isinstance(error, Again) and (error.wait or 0.0) <= self._config.longest_wait

    def _pause(self, state: "tenacity.RetryCallState") -> float:
        """What the server asked for; else twice as long each time, with chance, so that callers don't come at once."""
        import tenacity

        error = state.outcome and state.outcome.exception()
        if isinstance(error, Again) and error.wait is not None:
            return error.wait
        return tenacity.wait_random_exponential(multiplier=0.5, max=self._config.longest_wait)(state)

    async def _our_turn(self, request: Request, payload: int) -> None:
        """Waits until the rates allow this request and the server's wish for quiet is over."""
        for limiter, of_tokens in self._limits:
            left: float = payload / BYTES_PER_TOKEN + request.max_tokens if of_tokens else 1.0
            while left > 0:
                part = min(left, limiter.max_rate)
                await limiter.acquire(part)
                left -= part
        clock = asyncio.get_running_loop().time
        while (rest := self._quiet_until - clock()) > 0:
            await asyncio.sleep(rest)

    async def _call(self, request: Request, payload: bytes) -> Reply | Failure:
        """One try. Raises Again."""
        began = time.perf_counter()
        self.usage.calls += 1
        try:
            async with _told_apart():
                path = "/completions" if request.completion else "/chat/completions"
                url = self._config.url.rstrip("/") + path
                async with self._session.post(url, data=payload, allow_redirects=False) as response:
                    received = await _bounded(response, self._config.reply_bytes)
                    if received is None:
                        limit = f"more than the {self._config.reply_bytes:,} bytes of reply_bytes"
                        return Failure(reason="endless", detail=f"HTTP {response.status}, {limit}", attempts=0)
                    answer, tokens = read(response.status, response.headers.get("Retry-After"), received, request)
                    self._pay(tokens)
                    return answer
        except Again as error:
            if error.wait is not None and error.wait <= self._config.longest_wait:
                until = asyncio.get_running_loop().time() + error.wait
                self._quiet_until = max(self._quiet_until, until)
            raise
        finally:
            self.usage.seconds += time.perf_counter() - began

    def _pay(self, tokens: Tokens) -> None:
        """An answer that is of no use costs too."""
        self.usage.prompt_tokens += tokens.prompt_tokens
        self.usage.completion_tokens += tokens.completion_tokens
        spent = tokens.prompt_tokens * self._config.price_in + tokens.completion_tokens * self._config.price_out
        self.usage.cost += spent / 1e6

    def _without_key(self, failure: Failure) -> Failure:
        """A server may repeat the key in what it says."""
        if not self._key or self._key not in failure.detail:
            return failure
        return msgspec.structs.replace(failure, detail=failure.detail.replace(self._key, "…"))


async def _bounded(response: Any, limit: int) -> bytes | None:
    """The answer's bytes; None, and the connection is given up, when there are more than `limit`."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > limit:
            response.close()
            return None
        parts.append(part)
    return b"".join(parts)


@contextlib.asynccontextmanager
async def _told_apart() -> AsyncIterator[None]:
    """The client's exceptions as reasons; all of these may pass."""
    import aiohttp

    try:
        yield
    except TimeoutError as error:  # aiohttp's time-outs are TimeoutErrors and ClientErrors
        raise Again("timeout", str(error) or "no answer in time") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a header that can't be parsed
        raise Again("connection", f"{type(error).__name__}: {error}"[:300]) from None


def _key(variable: str) -> str:
    """The key in the environment, "" when none is wanted. Raises ConfigError; its message holds no part of the key."""
    if not variable:
        return ""
    found = os.environ.get(variable, "").strip()
    if not found:
        raise ConfigError(f"key_env: the environment variable {variable} is not set; export {variable}=… and run again")
    if not (found.isascii() and found.isprintable()):
        raise ConfigError(f"key_env: what {variable} holds is no key: it has characters that no HTTP header may have")
    return found
