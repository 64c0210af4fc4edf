"""What an HTTP answer of an OpenAI-compatible server means: a reply, a failure, or that it is worth another try."""

import datetime
import email.utils
from typing import Any

import msgspec

from trivium.data.rephrase.backend import Failure, Reply, Request

_BUSY = (408, 409, 425, 429)  # beside all of 5xx: may be better next time
_DETAIL = 300  # characters of what a server says that a failure keeps


class Again(Exception):  # noqa: N818 (never seen outside)
    """A fault that may pass; `wait` is what the server asks for, in seconds."""

    def __init__(self, reason: str, detail: str, wait: float | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.wait = reason, detail, wait


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] = []
    usage: msgspec.Raw = msgspec.Raw()
    model: str | None = None
    error: Any = None


class Tokens(msgspec.Struct, frozen=True):
    """Read and written."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


_ANSWER = msgspec.json.Decoder(_Answer)
_TOKENS = msgspec.json.Decoder(Tokens | None)


def body(request: Request, limit_name: str = "max_tokens") -> bytes:
    """The JSON that asks for it; a completion sends its one message as `prompt`."""
    asked: dict[str, Any] = {
        "model": request.model,
        limit_name: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
    }
    if request.completion:
        asked["prompt"] = request.messages[0].content
    else:
        asked["messages"] = request.messages
    if request.stop:
        asked["stop"] = request.stop
    return msgspec.json.encode(asked)


def read(status: int, retry_after: str | None, payload: bytes, request: Request) -> tuple[Reply | Failure, Tokens]:
    """What came back, and the tokens that it cost; `attempts` of a failure is left at 0. Raises Again."""
    if 300 <= status < 400:
        return _failure("redirected", f"HTTP {status}; give the address that answers itself"), Tokens()
    if status != 200:
        return _fault(status, retry_after, payload), Tokens()
    try:
        answer = _ANSWER.decode(payload)
    except msgspec.ValidationError as error:
        return _failure("wrong_schema", f"{error}: {_start(payload)}"), Tokens()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"{error}: {_start(payload)}" if payload else "an answer of no bytes"
        return _failure("not_json", what), Tokens()
    if answer.error is not None:  # some routers say 200 and put the fault inside
        code = answer.error.get("code") if isinstance(answer.error, dict) else None
        return _fault(code if isinstance(code, int) and 400 <= code < 600 else 500, retry_after, payload), Tokens()
    tokens = _tokens(answer.usage)
    return _reply(answer, payload, request, tokens), tokens


def _reply(answer: _Answer, payload: bytes, request: Request, tokens: Tokens) -> Reply | Failure:
    if not answer.choices:
        return _failure("wrong_schema", f"no choices: {_start(payload)}")
    choice = answer.choices[0]
    if choice.finish_reason == "content_filter":
        return _failure("filtered", "the server withheld the text (content_filter)")
    message = _Message(choice.text) if request.completion and choice.text is not None else choice.message
    if message is None:
        kind = "text" if request.completion else "message"
        return _failure("wrong_schema", f"a choice without {kind}: {_start(payload)}")
    if not message.content or not message.content.strip():
        return _failure("empty", f"no text, finish_reason {choice.finish_reason}")
    return Reply(
        text=message.content,
        finish="length" if choice.finish_reason == "length" else "stop",
        prompt_tokens=tokens.prompt_tokens,
        completion_tokens=tokens.completion_tokens,
        model=answer.model or request.model,
    )


def _tokens(usage: msgspec.Raw) -> Tokens:
    """As the server counts; none where it doesn't."""
    try:
        counted = _TOKENS.decode(usage) if bytes(usage) else None
    except (msgspec.DecodeError, RecursionError):
        counted = None
    counted = counted or Tokens()
    return Tokens(max(0, counted.prompt_tokens), max(0, counted.completion_tokens))


def _fault(status: int, retry_after: str | None, payload: bytes) -> Failure:
    said = _start(payload)
    detail = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    lower = payload[:4096].lower()
    # A spent balance is told as 429 too; waiting brings no money.
    if status in _BUSY and b"insufficient_quota" not in lower:
        raise Again("rate_limited" if status == 429 else "server_error", detail, _wait(retry_after))
    # llama.cpp, OpenAI, vLLM
    if any(sign in lower for sign in (b"exceed_context_size", b"context_length_exceeded", b"maximum context length")):
        return _failure("too_long", detail)
    if status >= 500:
        raise Again("server_error", detail, _wait(retry_after))
    return _failure("refused", detail)


def _wait(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After, which is a number or a date (RFC 9110, 10.2.3); None for anything else."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        return None
    return max(0.0, (date - datetime.datetime.now(datetime.UTC)).total_seconds())


def _start(payload: bytes) -> str:
    """The beginning of what a server said, on one line."""
    return " ".join(payload[: 4 * _DETAIL].decode("utf-8", "replace").split())[:_DETAIL]


def _failure(reason: str, detail: str) -> Failure:
    return Failure(reason=reason, detail=detail, attempts=0)
