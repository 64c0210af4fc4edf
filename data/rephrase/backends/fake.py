"""A stand-in for a model, for unit tests only: deterministic, at once, and labelled `fake` in every lineage."""

import asyncio
import random
from pathlib import Path
from typing import Literal

from trivium.data.rephrase.backend import Backend, BackendConfig, Failure, Reply, Request, Usage


class FakeConfig(BackendConfig, tag="fake"):
    """`copy` gives the last paragraph of what was asked, `words` draws words of it by the request's seed."""

    answer: Literal["copy", "words"] = "copy"  # what it says
    fails: float = 0.0  # the share of requests, chosen by their keys, that get a Failure
    reason: str = "server_error"  # of these
    seconds: float = 0.0  # that each request takes

    def build(self, cache: Path | None) -> Backend:
        """Not yet opened."""
        from trivium.data.rephrase.backends.cache import cached

        return cached(Fake(self), cache)


class Fake:
    """Every answer is a function of its request alone."""

    name, model = "fake", "fake"

    def __init__(self, config: FakeConfig) -> None:
        self.usage = Usage()
        self._config = config

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def generate(self, request: Request) -> Reply | Failure:
        """The same text for the same request."""
        self.usage.requests += 1
        self.usage.calls += 1
        if self._config.seconds:
            await asyncio.sleep(self._config.seconds)
        key = request.key()
        if int(key[:8], 16) < self._config.fails * 2**32:
            self.usage.failures += 1
            return Failure(reason=self._config.reason, detail="the fake fails this request", attempts=1)
        asked = request.messages[-1].content.split()
        words = request.messages[-1].content.rstrip().rpartition("\n\n")[2].split()
        finish = "stop" if len(words) <= request.max_tokens else "length"
        words = words[: request.max_tokens] or ["nothing"]
        if self._config.answer == "words":
            words = random.Random(f"{key}").choices(words, k=len(words))
        self.usage.prompt_tokens += len(asked)
        self.usage.completion_tokens += len(words)
        return Reply(
            text=" ".join(words),
            finish=finish,
            prompt_tokens=len(asked),
            completion_tokens=len(words),
            model=self.model,
        )
