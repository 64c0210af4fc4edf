"""What rephrasing asks of a language model and what it gets back, whichever model it is and wherever it runs.

Odd: a backend never raises for what a server did. A fault is a `Failure` with its reason, which becomes the reject of
one document; only wrong configuration, an absent package, or a server that can't be started is an exception.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import msgspec

from trivium.data.config import Strict


class Message(msgspec.Struct, frozen=True):
    """One turn of a chat; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One text to write. Whatever decides the text stands in here, so that `key` is its address in the cache."""

    model: str
    prompt: str  # "textbook@1": id and version of the prompt
    messages: tuple[Message, ...]  # with `completion` one message: the text to go on from
    max_tokens: int
    temperature: float = 0.7
    top_p: float = 0.95
    seed: int = 0
    stop: tuple[str, ...] = ()
    completion: bool = False  # a base model, which knows no turns

    def key(self) -> str:
        """sha256 over the canonical JSON of all fields, 64 hex digits."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What was written; `finish` is `stop` (the model ended, or a stop text came) or `length` (`max_tokens` came).

    `cached` differs between a run and its repetition: it belongs into counts, never into a record.
    """

    text: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    model: str  # as the server names it
    cached: bool = False


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no reply: a reason of REASONS, one line for people, and how often it was tried."""

    reason: str
    detail: str
    attempts: int


REASONS = {
    "timeout": "no answer, or not all of it, within the seconds that it may take",
    "connection": "no connection, or one that broke before the answer was whole",
    "rate_limited": "429 until the tries were used up",
    "server_error": "5xx, or an answer that says so, until the tries were used up",
    "refused": "the server refuses the request: 400, 401, 403, 404, too long a prompt; trying again changes nothing",
    "redirected": "the server sends elsewhere, where neither text nor key goes",
    "endless": "more bytes than an answer may have",
    "not_json": "the answer is no JSON",
    "wrong_schema": "JSON, but no completion",
    "empty": "a completion without text",
    "filtered": "the server withheld the text",
    "too_long": "the prompt has more tokens than the model reads",
    "worker_died": "the process that runs the model ended",
}


class Usage(msgspec.Struct, kw_only=True):
    """What a backend has been asked and what it cost, since it was made; `add` sums those of several workers.

    `seconds` are those of the calls that went out, summed, so that calls side by side count each.
    """

    requests: int = 0  # asked of us, whatever came of them
    cached: int = 0  # of these answered without a call
    calls: int = 0  # that went out, tries again among them
    retries: int = 0
    failures: int = 0
    prompt_tokens: int = 0  # of calls that were answered, as the server counts
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0  # in the currency of the configured prices

    def add(self, other: "Usage") -> None:
        """Adds what another one counted."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@runtime_checkable
class Backend(Protocol):
    """A model that writes. `name` and `model` stand in the lineage; limits and concurrency are the backend's own.

    `open`, `generate` and `close` belong to one event loop; any number of `generate` may be awaited side by side.
    """

    name: str  # openai, local, checkpoint, ray, fake
    usage: Usage

    @property
    def model(self) -> str:
        """What requests call it; known once it is open."""
        ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> Reply | Failure:
        """Text for one request, in bounded time. Never raises for a server's fault."""
        ...


class BackendConfig(Strict, kw_only=True, tag_field="kind"):
    """Base of the backends' parameters in a recipe; each adds `tag=` and its fields."""

    def build(self, cache: Path | None) -> Backend:
        """The backend that these parameters make, not yet opened; answers are kept in the folder `cache`."""
        raise NotImplementedError

    def share(self, workers: int) -> Self:
        """One of `workers` equal parts of what the endpoint bears (concurrency, rates): what each process builds."""
        return self

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """The files and folders that it reads, by the keys that lead to them; absolute when it is launched."""
        return {}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """The same parameters with some of `paths()` replaced."""
        return self

    @contextlib.contextmanager
    def launched(self) -> Iterator[Self]:
        """What workers are given while the block runs: a server that has to be started lives as long as it.

        The launcher (the process that drives a build) enters it once. Raises MissingDependencyError, BuildError.
        """
        yield self
