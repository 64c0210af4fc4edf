"""A checkpoint of our own model (or imported weights) writes, by the decode path of `trivium sample`.

Odd: requests that wait when a batch ends are the next batch, at most `together` of them, and are decoded in the same
steps; a thread of its own does it, so that the event loop goes on. A text ends at its `max_tokens` at the latest, which
is its bound in time. It is a base model: requests are completions.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import msgspec

from trivium.data.rephrase.backend import Backend, BackendConfig, Failure, Reply, Request, Usage
from trivium.errors import UsageError

if TYPE_CHECKING:
    from trivium.model.batch import Sample
    from trivium.pipelines.train.sample import Drawn, Writer

Asked = tuple[Request, "asyncio.Future[Reply | Failure]"]


class CheckpointConfig(BackendConfig, tag="checkpoint"):
    """`path` is a run folder, one checkpoint, or a folder of `trivium model import`; up to `together` texts a batch."""

    path: str
    tokenizer: str = ""  # where the folder holds none
    device: Literal["cpu", "cuda"] = "cpu"  # where it decodes
    together: Annotated[int, msgspec.Meta(ge=1)] = 8

    def build(self, cache: Path | None) -> Backend:
        """Not yet opened: `open` loads the model."""
        from trivium.data.rephrase.backends.cache import cached

        return cached(CheckpointBackend(self), cache)

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """The model's folder, and the tokenizer's place when one is given."""
        given = {"path": self.path, "tokenizer": self.tokenizer}
        return {(name,): path for name, path in given.items() if path}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """Other places of both."""
        return msgspec.structs.replace(self, **{str(key[0]): path for key, path in paths.items()})


class CheckpointBackend:
    """The model in this process. `model` names the run's folder, the step and the weights' hash."""

    name = "checkpoint"

    def __init__(self, config: CheckpointConfig) -> None:
        self.model, self.usage = "", Usage()
        self._config = config
        self._writer: Writer | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._asked: asyncio.Queue[Asked | None] = asyncio.Queue()  # None: no more
        self._pump: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Loads it. Raises InputError, CheckpointError, UsageError."""
        loop = asyncio.get_running_loop()
        self._writer, self.model = await loop.run_in_executor(self._thread, _load, self._config)
        self._pump = asyncio.create_task(self._write_what_waits(self._writer))

    async def close(self) -> None:
        """Ends it, once those who ask have their answers."""
        if self._pump is not None:
            self._asked.put_nowait(None)
            await self._pump
            self._pump = None
        await asyncio.to_thread(self._thread.shutdown)
        if self._writer is not None:
            self._writer.close()

    async def generate(self, request: Request) -> Reply | Failure:
        """One text, once those before it are written."""
        self.usage.requests += 1
        answer: Reply | Failure
        if request.completion:
            future: asyncio.Future[Reply | Failure] = asyncio.get_running_loop().create_future()
            self._asked.put_nowait((request, future))
            answer = await future
        else:
            answer = _refused("it is a base model, which knows no turns; set completion")
        self.usage.failures += isinstance(answer, Failure)
        return answer

    async def _write_what_waits(self, writer: "Writer") -> None:
        loop, ends = asyncio.get_running_loop(), False
        while not ends:
            taken = [await self._asked.get()]
            while len(taken) < self._config.together and not self._asked.empty():
                taken.append(self._asked.get_nowait())
            ends = None in taken
            # Nobody waits for those that were cancelled.
            batch = [one for one in taken if one is not None and not one[1].done()]
            began = loop.time()
            requests = [request for request, _ in batch]
            answers = await loop.run_in_executor(self._thread, _write, writer, requests, self.model)
            self.usage.calls += len(batch)
            self.usage.seconds += (loop.time() - began) * len(batch)
            for (_, future), (answer, read, written) in zip(batch, answers, strict=True):
                self.usage.prompt_tokens += read
                self.usage.completion_tokens += written
                if not future.done():
                    future.set_result(answer)


def _load(config: CheckpointConfig) -> tuple["Writer", str]:
    from trivium.pipelines.train.sample import load_writer

    path = Path(config.path)
    writer = load_writer(path, tokenizer=Path(config.tokenizer) if config.tokenizer else None, device=config.device)
    writer.settle_threads()
    digest = hashlib.sha256(writer.tokenizer.digest.encode())
    for name, tensor in sorted(writer.model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(_bytes_of(tensor))
    step = "" if writer.step is None else f" step {writer.step}"
    return writer, f"{path.absolute().name}{step}@{digest.hexdigest()[:12]}"


def _bytes_of(tensor: "object") -> bytes:
    import torch

    assert isinstance(tensor, torch.Tensor)
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


Answered = tuple[Reply | Failure, int, int]  # with tokens read and written


def _write(writer: "Writer", requests: Sequence[Request], model: str) -> list[Answered]:
    """Those that can be written, in one batch. Raises nothing: what fails is a Failure of each."""
    from trivium.model.sampling import Sampling
    from trivium.pipelines.train.sample import Opening

    answers: dict[int, Answered] = {}
    ready: list[tuple[int, Sample, Sampling]] = []
    for place, request in enumerate(requests):
        try:
            sampling = Sampling(
                tokens=request.max_tokens,
                temperature=request.temperature,
                top_p=request.top_p,
                seed=request.seed,
                stop=request.stop,
            )
            sample = writer.read(Opening(request.messages[0].content))
        except Exception as error:
            answers[place] = _refused(str(error)), 0, 0
            continue
        try:
            writer.refuse_longer(sample)
        except UsageError as error:
            answers[place] = Failure(reason="too_long", detail=str(error), attempts=1), 0, 0
            continue
        ready.append((place, sample, sampling))
    if ready:
        try:
            drawn = writer.write_together([sample for _, sample, _ in ready], [sampling for *_, sampling in ready])
        except Exception as error:
            failure = Failure(reason="server_error", detail=f"{type(error).__name__}: {error}"[:300], attempts=1)
            return [answers.get(place, (failure, 0, 0)) for place in range(len(requests))]
        for (place, *_), one in zip(ready, drawn, strict=True):
            answers[place] = _reply(one, model), one.prompt_tokens, one.tokens
    return [answers[place] for place in range(len(requests))]


def _reply(drawn: "Drawn", model: str) -> Reply | Failure:
    if not drawn.text.strip():
        return Failure(reason="empty", detail=f"no text in {drawn.tokens:,} tokens ({drawn.reason})", attempts=1)
    return Reply(
        text=drawn.text,
        finish="length" if drawn.reason == "max_tokens" else "stop",
        prompt_tokens=drawn.prompt_tokens,
        completion_tokens=drawn.tokens,
        model=model,
    )


def _refused(detail: str) -> Failure:
    return Failure(reason="refused", detail=detail, attempts=1)
