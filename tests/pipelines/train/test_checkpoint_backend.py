"""Rephrasing by a checkpoint of ours: here because the run that it needs is made here."""

import asyncio
import time

import pytest

from trivium.data.rephrase.backend import Failure, Message, Reply, Request
from trivium.errors import InputError
from trivium.model.sampling import Sampling
from trivium.pipelines.rephrase.checkpoint import CheckpointConfig
from trivium.pipelines.train.sample import Opening


def asked(text="The ", **changes):
    fields = {"prompt": "test@1", "messages": (Message("user", text),), "max_tokens": 12, "completion": True}
    return Request(**({"model": "ours"} | fields | changes))


async def using(backend, *requests):
    await backend.open()
    try:
        return await asyncio.gather(*map(backend.generate, requests))
    finally:
        await backend.close()


def test_it_writes_what_trivium_sample_writes_and_each_request_gets_its_own(trained, writer):
    backend = CheckpointConfig(path=str(trained[0]), together=4).build(None)
    prompts = ["The ", "A ", "<svg ", "In 1905 ", "x", "(a + b)"]
    replies = asyncio.run(using(backend, *(asked(prompt, temperature=0.0) for prompt in prompts)))
    for prompt, reply in zip(prompts, replies, strict=True):
        drawn = writer.write(Opening(prompt), Sampling(tokens=12, temperature=0.0))
        assert isinstance(reply, Reply), reply
        assert reply.text == drawn.text
        assert (reply.prompt_tokens, reply.completion_tokens) == (drawn.prompt_tokens, drawn.tokens)
        assert reply.finish == ("length" if drawn.reason == "max_tokens" else "stop")
    assert backend.name == "checkpoint"
    name, _, digest = backend.model.partition("@")
    assert name == f"{trained[0].name} step {writer.step}"
    assert len(digest) == 12
    usage = backend.usage
    assert (usage.requests, usage.calls, usage.failures) == (6, 6, 0)
    assert usage.completion_tokens == sum(reply.completion_tokens for reply in replies)


def test_what_it_can_t_write_is_a_failure_of_that_request_alone(trained, writer, monkeypatch, tmp_path):
    backend = CheckpointConfig(path=str(trained[0])).build(tmp_path)
    long = "word " * writer.context
    requests = (asked(), asked(long), asked(completion=False), asked(temperature=-1.0))
    good, *bad = asyncio.run(using(backend, *requests))
    assert isinstance(good, Reply)
    assert [failure.reason for failure in bad] == ["too_long", "refused", "refused"]

    def breaks(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("trivium.pipelines.train.sample.Writer.write_together", breaks)
    kept, broken = asyncio.run(using(CheckpointConfig(path=str(trained[0])).build(tmp_path), asked(), asked("Other")))
    assert kept.text == good.text  # from the cache
    assert isinstance(broken, Failure)
    assert (broken.reason, "out of memory" in broken.detail) == ("server_error", True)


def test_closing_waits_for_who_asked_and_forgets_who_left(trained):
    async def closed_at_once():
        backend = CheckpointConfig(path=str(trained[0]), together=1).build(None)
        await backend.open()
        tasks = [asyncio.create_task(backend.generate(asked(seed=seed))) for seed in range(3)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await backend.close()
        return backend.usage.calls, await asyncio.gather(*tasks, return_exceptions=True)

    began = time.monotonic()
    calls, (first, second, third) = asyncio.run(closed_at_once())
    assert time.monotonic() - began < 60
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert isinstance(third, asyncio.CancelledError)
    assert calls == 2


def test_a_folder_without_a_model_is_said_when_it_opens(tmp_path):
    with pytest.raises(InputError, match="neither a run folder"):
        asyncio.run(CheckpointConfig(path=str(tmp_path)).build(None).open())
