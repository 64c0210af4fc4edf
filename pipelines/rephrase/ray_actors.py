"""Many copies of a backend as Ray actors, one a GPU, on one machine or a cluster.

Odd: the launcher makes the actors, and they end with it; a build's workers find them by name. A call goes to the actor
with the fewest of this worker's calls; when an actor dies the call goes to another, and Ray starts the dead one again
`restarts` times. The cache is the workers': what it holds never travels.
"""

import asyncio
import contextlib
import math
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec

from trivium.data.rephrase.backend import Backend, BackendConfig, Failure, Reply, Request, Usage
from trivium.data.rephrase.backends.fake import FakeConfig
from trivium.data.rephrase.backends.local import LocalConfig
from trivium.data.rephrase.backends.openai import OpenAIConfig
from trivium.errors import BuildError, MissingDependencyError
from trivium.needs import cure
from trivium.pipelines.rephrase.checkpoint import CheckpointConfig

_STORE = 100 << 20  # bytes of Ray's object store: texts are small


class RayConfig(BackendConfig, tag="ray"):
    """`each` is what every actor runs: a checkpoint, a local model, or a client; `gpus` and `cpus` are one actor's.

    `address` is a Ray cluster's; without it Ray is started on this machine and ends with the build.
    """

    each: CheckpointConfig | LocalConfig | OpenAIConfig | FakeConfig
    actors: Annotated[int, msgspec.Meta(ge=1)] = 2  # models that run side by side
    gpus: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    cpus: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    in_flight: Annotated[int, msgspec.Meta(ge=1)] = 16  # calls of one actor
    restarts: Annotated[int, msgspec.Meta(ge=0)] = 3  # of each actor
    start_seconds: Annotated[float, msgspec.Meta(gt=0)] = 600.0  # until all of them are ready
    call_seconds: Annotated[float, msgspec.Meta(gt=0)] = 600.0  # of one text
    address: str = ""
    session: str = ""  # the actors' names begin so; filled in by the launcher

    def build(self, cache: Path | None) -> Backend:
        """A client of the launched actors. Raises BuildError when nobody launched them."""
        from trivium.data.rephrase.backends.cache import cached

        if not self.session:
            raise BuildError("there are no actors yet; build the backend inside `with config.launched() as config`")
        return cached(RayBackend(self), cache)

    def share(self, workers: int) -> Self:
        """The calls of one of `workers` clients; the actors stay all of theirs."""
        return msgspec.structs.replace(self, in_flight=max(1, self.in_flight // workers))

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """Those of `each`."""
        return {("each", *keys): path for keys, path in self.each.paths().items()}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """Those of `each` in other places."""
        return msgspec.structs.replace(
            self, each=self.each.with_paths({keys[1:]: path for keys, path in paths.items()})
        )

    @contextlib.contextmanager
    def launched(self) -> Iterator[Self]:
        """Makes the actors and ends them after the block. Raises MissingDependencyError, BuildError."""
        ray = _ray()
        ours = _join(ray, self.address, max(os.cpu_count() or 1, math.ceil(self.actors * self.cpus)))
        session = f"trivium-rephrase-{uuid.uuid4().hex[:12]}"
        options = {
            "num_cpus": self.cpus,
            "num_gpus": self.gpus,
            "max_restarts": self.restarts,
            "max_concurrency": self.in_flight + 1,  # and one for `model`
            "namespace": session,
        }
        actors: list[Any] = []
        try:
            actors += [
                ray.remote(_Actor).options(name=f"{session}-{number}", **options).remote(self.each)
                for number in range(self.actors)
            ]
            try:
                ray.get([actor.model.remote() for actor in actors], timeout=self.start_seconds)
            except ray.exceptions.GetTimeoutError:
                raise BuildError(
                    f"{self.actors} actors of {self.cpus:g} CPUs and {self.gpus:g} GPUs were not ready within the "
                    f"{self.start_seconds:g} s of start_seconds; does the cluster have room for them?"
                ) from None
            except ray.exceptions.RayError as error:
                raise BuildError(f"an actor could not start: {_last_line(error)}") from None
            address = ray.get_runtime_context().gcs_address
            yield msgspec.structs.replace(self, address=address, session=session)
        finally:
            for actor in actors:
                with contextlib.suppress(Exception):  # it may be gone
                    ray.get(actor.leave.remote(), timeout=10)
                ray.kill(actor)
            if ours:
                ray.shutdown()


class _Actor:
    """One copy of the backend, in a process of its own."""

    def __init__(self, each: BackendConfig) -> None:
        self._stack = contextlib.ExitStack()
        self._backend = self._stack.enter_context(each.launched()).build(None)
        self._opened: asyncio.Task[None] | None = None

    async def model(self) -> str:
        """The backend's, opened."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._backend.open())
        await asyncio.shield(self._opened)
        return self._backend.model

    async def generate(self, request: Request) -> Reply | Failure:
        await self.model()
        return await self._backend.generate(request)

    async def leave(self) -> None:
        """Ends what the backend started."""
        await self._backend.close()
        self._stack.close()


class RayBackend:
    """The actors' client in one worker. `usage` counts its own calls; tokens are those of replies."""

    name = "ray"

    def __init__(self, config: RayConfig) -> None:
        self.model, self.usage = "", Usage()
        self._config = config
        self._actors: list[Any] = []
        self._busy: list[int] = []
        self._slots = asyncio.Semaphore(config.actors * config.in_flight)
        self._ours = False

    async def open(self) -> None:
        """Finds the actors. Raises BuildError when they are gone."""
        ray, config = _ray(), self._config
        self._ours = await asyncio.to_thread(_join, ray, config.address, None)
        try:
            names = [f"{config.session}-{number}" for number in range(config.actors)]
            self._actors = [ray.get_actor(name, namespace=config.session) for name in names]
            self._busy = [0] * len(names)
            self.model = await asyncio.wait_for(_awaited(self._actors[0].model.remote()), config.start_seconds)
        except (ValueError, TimeoutError, ray.exceptions.RayError) as error:
            raise BuildError(f"the actors of {config.session} are not there: {_last_line(error)}") from None

    async def close(self) -> None:
        """Leaves Ray where this backend joined it."""
        if self._ours:
            await asyncio.to_thread(_ray().shutdown)
            self._ours = False

    async def generate(self, request: Request) -> Reply | Failure:
        """One text, from whichever actor has the least to do; from another one when it dies."""
        self.usage.requests += 1
        async with self._slots:
            answer = await self._patiently(request)
        if isinstance(answer, Failure):
            self.usage.failures += 1
        else:
            self.usage.prompt_tokens += answer.prompt_tokens
            self.usage.completion_tokens += answer.completion_tokens
        return answer

    async def _patiently(self, request: Request) -> Reply | Failure:
        ray, tries = _ray(), self._config.restarts + 1
        for attempt in range(1, tries + 1):
            number = self._busy.index(min(self._busy))
            self._busy[number] += 1
            began = time.perf_counter()
            self.usage.calls += 1
            self.usage.retries += attempt > 1
            call = self._actors[number].generate.remote(request)
            try:
                answer: Reply | Failure = await asyncio.wait_for(_awaited(call), self._config.call_seconds)
                return answer
            except TimeoutError:
                ray.cancel(call)
                detail = f"no answer of an actor within the {self._config.call_seconds:g} s of call_seconds"
                return Failure(reason="timeout", detail=detail, attempts=attempt)
            except (ray.exceptions.ActorDiedError, ray.exceptions.ActorUnavailableError) as error:
                died = Failure(reason="worker_died", detail=_last_line(error), attempts=attempt)
                await asyncio.sleep(min(2.0 ** (attempt - 1), 30.0))
            except ray.exceptions.RayError as error:
                return Failure(reason="server_error", detail=_last_line(error), attempts=attempt)
            finally:
                self._busy[number] -= 1
                self.usage.seconds += time.perf_counter() - began
        return died


async def _awaited(call: Any) -> Any:
    return await call


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingDependencyError(f"Ray actors need ray, which is not installed; {cure('ray')}") from None
    return ray


def _join(ray: Any, address: str, cpus: int | None) -> bool:
    """Joins Ray, or starts it where no address is given; whether this call did it. Raises BuildError."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=cpus, object_store_memory=_STORE, include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises plain ones when a part of it doesn't come up
        with contextlib.suppress(Exception):
            ray.shutdown()
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise BuildError(f"{where} can't be joined: {_last_line(error)}") from None
    return True


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
