"""One excerpt rewritten in one style: chunk after chunk, each seeing the source and what is written so far; stitched.

K2's report, section 2.2: an excerpt in chunks of 256 tokens, rewritten from left to right with the source as context,
then joined. Code, tables and displayed formulas stand between the chunks and are never given to the model to write.

Odd: nothing here judges. A reply without an end, or none, ends the rewrite with its reason; whether what was written
is true is the gate's question.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.rephrase.backend import Backend, Failure, Message, Reply, Request
from trivium.data.rephrase.excerpts import CHUNK, Chunk, Measure, chunks, stitched
from trivium.data.rephrase.protect import literals
from trivium.data.rephrase.style import UNKNOWN, Style, language_name, load_frame

VERSION = 1
CUT_OFF = "cut_off"  # reason: the model did not end within the tokens it was given
SPARE = 48  # tokens that the rewrite of a short chunk may have beyond its style's growth
CONTEXT = 1024  # tokens of the passage before a chunk, and of what is written, that a base model goes on from

_BREAK = re.compile(r"\s*\n\s*\n\s*")
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_TAG = re.compile(r"\A\s*<(part|written|rewrite)>\s*(.*?)\s*</\1>\s*\Z", re.DOTALL)


class Decoding(Strict, kw_only=True):
    """How a model writes. `completion`: it is a base model, which goes on from a text and knows no turns."""

    completion: bool = False
    chunk_tokens: Annotated[int, Meta(ge=16)] = CHUNK  # that are rewritten at a time
    temperature: Annotated[float, Meta(ge=0.0, le=2.0)] = 0.7  # 0: the likeliest token each time
    top_p: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.95  # share of the likeliest tokens that are drawn from
    seed: int = 0  # each request's own seed is made of it


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A rewrite, what of its source it must hold letter by letter, and what it took."""

    text: str
    protected: tuple[str, ...]
    chunks: int  # that were given to the model
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seed: int = 0  # of the first request


async def rewrite(
    text: str, style: Style, language: str, backend: Backend, decoding: Decoding, measure: Measure
) -> Written | Failure:
    """The excerpt in that style, or why there is none. `language` is the excerpt's (ISO 639-1, "" unknown)."""
    parts = chunks(text, decoding.chunk_tokens, measure)
    made: list[str] = []
    asked, tokens, protected, first = 0, [0, 0], [], 0
    for at, part in enumerate(parts):
        own = text[part.start : part.stop]
        if part.fixed:
            made.append(own)
            protected.append(own)
            continue
        protected += literals(own)
        request = prompt(text, parts, made, at, style, language, backend.model, decoding, measure)
        reply = await backend.generate(request)
        if isinstance(reply, Failure):
            return msgspec.structs.replace(reply, detail=_where(at, parts, reply.detail))
        new = cleaned(reply, decoding.completion)
        if isinstance(new, Failure):
            return msgspec.structs.replace(new, detail=_where(at, parts, new.detail))
        first = request.seed if not asked else first
        asked += 1
        tokens = [tokens[0] + reply.prompt_tokens, tokens[1] + reply.completion_tokens]
        made.append(new)
    if not asked:
        return Failure(reason="empty", detail="nothing in it is prose", attempts=0)
    return Written(
        text=stitched(text, parts, made),
        protected=tuple(dict.fromkeys(protected)),
        chunks=asked,
        prompt_tokens=tokens[0],
        completion_tokens=tokens[1],
        seed=first,
    )


def prompt(
    text: str,
    parts: Sequence[Chunk],
    made: Sequence[str],
    at: int,
    style: Style,
    language: str,
    model: str,
    decoding: Decoding,
    measure: Measure,
) -> Request:
    """The request for chunk `at` of an excerpt whose chunks before it are `made`."""
    own = text[parts[at].start : parts[at].stop]
    written = stitched(text, parts[:at], made)
    turns, stop = (
        (_base(text, parts, made, at, style, measure), load_frame().base.stop)
        if decoding.completion
        else (_chat(text, own, written, style, language), ())
    )
    return Request(
        model=model,
        prompt=style.name,
        messages=turns,
        max_tokens=int(style.growth * measure(own)) + SPARE,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        seed=seed_of(decoding.seed, style, text, at),
        stop=stop,
        completion=decoding.completion,
    )


def seed_of(seed: int, style: Style, text: str, at: int) -> int:
    """A request's own seed, from the recipe's, the style, the excerpt's text and the chunk; 31 bits.

    Of the text and not of its place: what is found in the cache depends on nothing but what is written from.
    """
    digest = hashlib.sha256(f"{seed} {style.name} {at} ".encode() + text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _chat(text: str, own: str, written: str, style: Style, language: str) -> tuple[Message, ...]:
    frame = load_frame().chat
    target = style.writes(language)
    system = frame.system.format(task=style.task, target=language_name(target) if target else UNKNOWN)
    if own == text.strip():
        turn = frame.only.format(chunk=own)
    elif not written:
        turn = frame.first.format(source=text, chunk=own)
    else:
        turn = frame.next.format(source=text, written=written, chunk=own)
    return Message("system", system), Message("user", turn)


def _base(
    text: str, parts: Sequence[Chunk], made: Sequence[str], at: int, style: Style, measure: Measure
) -> tuple[Message]:
    """Two worked examples, then the passage up to and with the chunk, and behind it what is written of it already.

    The passage begins CONTEXT tokens before the chunk, at a chunk, and so does what is written.
    """
    frame = load_frame().base
    shots = [frame.shot.format(source=shot.source, label=style.label, rewrite=shot.rewrite) for shot in style.shots]
    begin = at
    while begin and measure(text[parts[begin - 1].start : parts[at].start]) <= CONTEXT:
        begin -= 1
    source = _BREAK.sub("\n", text[parts[begin].start : parts[at].stop])  # a blank line ends a passage here
    before = [_BREAK.sub("\n", piece) for piece in made[begin:at]]
    go = frame.go.format(source=source, label=style.label, written="".join(piece + "\n" for piece in before))
    return (Message("user", "\n\n".join((*shots, go))),)


def cleaned(reply: Reply, completion: bool) -> str | Failure:
    """What a model wrote, without what stands around it; a Failure when it did not end, or wrote nothing."""
    text = reply.text
    if not completion:
        text = _THOUGHT.sub("", text)
        tagged = _TAG.match(text)
        text = tagged[2] if tagged else text
    text = text.strip()
    if reply.finish == "length":
        return Failure(
            reason=CUT_OFF,
            detail=f"no end after {reply.completion_tokens:,} tokens: … {text[-80:]!r}",
            attempts=1,
        )
    return text or Failure(reason="empty", detail="the model wrote nothing", attempts=1)


def _where(at: int, parts: Sequence[Chunk], detail: str) -> str:
    return f"chunk {at + 1} of {len(parts)}: {detail}" if len(parts) > 1 else detail
