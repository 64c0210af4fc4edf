"""Two actors on this machine: both work, one dies and nothing is lost, and the launcher takes them along."""

import asyncio
import os
import time

import pytest

from trivium.data.rephrase.backend import Backend, Message, Reply, Request
from trivium.data.rephrase.backends.fake import FakeConfig
from trivium.errors import BuildError, MissingDependencyError
from trivium.pipelines.rephrase import ray_actors
from trivium.pipelines.rephrase.ray_actors import RayConfig


def asked(number: int) -> Request:
    return Request(
        model="fake", prompt="test@1", messages=(Message("user", f"text {number}"),), max_tokens=64, completion=True
    )


def test_without_actors_or_without_ray_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RayConfig(each=FakeConfig())
    with pytest.raises(BuildError, match="launched"):
        config.build(None)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"\[ray\]"), config.launched():
        pass


def test_places_of_what_an_actor_runs_are_its_own(tmp_path) -> None:
    config = RayConfig(each=ray_actors.CheckpointConfig(path="runs/a"))
    assert config.paths() == {("each", "path"): "runs/a"}
    assert config.with_paths({("each", "path"): "/x"}).each.path == "/x"
    assert config.share(3).in_flight == 5


@pytest.mark.slow
def test_two_actors_share_the_work_and_one_that_dies_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    ray = pytest.importorskip("ray")
    config = RayConfig(each=FakeConfig(seconds=0.05), actors=2, in_flight=4, cpus=0.5)
    with config.launched() as launched:
        pids = asyncio.run(_work_and_kill(ray, launched, tmp_path))
        assert len(pids) == 2
        assert os.getpid() not in pids
    assert not ray.is_initialized()
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def _work_and_kill(ray, launched: RayConfig, folder) -> set[int]:
    backend: Backend = launched.build(folder)
    await backend.open()
    assert (backend.name, backend.model) == ("ray", "fake")
    actors = [ray.get_actor(f"{launched.session}-{n}", namespace=launched.session) for n in (0, 1)]
    pids = {await actor.__ray_call__.remote(lambda self: os.getpid()) for actor in actors}
    calls = asyncio.gather(*(backend.generate(asked(number)) for number in range(60)))
    await asyncio.sleep(0.15)
    ray.kill(actors[0], no_restart=False)
    replies = await calls
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f"text {n}" for n in range(60)], replies
    asked_of = [await actor.__ray_call__.remote(lambda self: self._backend.usage.requests) for actor in actors]
    assert all(asked_of), asked_of
    assert backend.usage.retries > 0
    again = await backend.generate(asked(7))
    assert isinstance(again, Reply)
    assert again.cached
    await backend.close()
    return pids
