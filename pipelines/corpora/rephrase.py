"""The recipe's kind `rephrase`: which styles, how many rewrites, which model, how it writes, and what the gate lets by.

Odd: it stands here and not in data/, since two of its backends need torch or Ray. What runs it is
shuffles/rephrase.py.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from trivium.data.rephrase.backends.fake import FakeConfig
from trivium.data.rephrase.backends.local import LocalConfig
from trivium.data.rephrase.backends.openai import OpenAIConfig
from trivium.data.rephrase.gate.config import CHECKS, GateConfig
from trivium.data.rephrase.rewrite import Decoding
from trivium.data.rephrase.stage import Lengths
from trivium.data.rephrase.style import Style, load_style
from trivium.data.stage import Content, ShuffleConfig
from trivium.pipelines.rephrase.checkpoint import CheckpointConfig
from trivium.pipelines.rephrase.ray_actors import RayConfig

BackendKind = OpenAIConfig | LocalConfig | CheckpointConfig | RayConfig | FakeConfig

CACHE = "~/.cache/trivium/replies"
_NAMED = re.compile(r"([a-z][a-z0-9_]*)@([1-9][0-9]*)")


class Rephrase(Lengths, ShuffleConfig, kw_only=True, tag="rephrase"):
    """Rewrites each excerpt in at most `rewrites` of the `styles`, drawn by hash, and keeps what the `gate` lets by.

    `in_flight` excerpts a worker are in work side by side. When more than the share `max_failed` of the rewrites fails
    for the backend's reasons (no connection, time-outs, errors of the server), the build stops and can go on later.
    """

    TAKES = frozenset({Content.EXCERPTS})
    GIVES = Content.TEXT
    SCORES = (*CHECKS, "vote")

    styles: tuple[str, ...]  # each with its version, such as textbook@1
    rewrites: Annotated[int, Meta(ge=1, le=100)] = 2  # of an excerpt at most
    seed: int = 0  # of the draw of styles
    backend: BackendKind  # the model that writes
    judge: BackendKind | None = None  # the model that `gate.vote` asks; none: the one that writes
    decoding: Decoding = Decoding()  # how it writes
    gate: GateConfig = GateConfig()  # what a rewrite must keep of its source
    in_flight: Annotated[int, Meta(ge=1)] = 32
    max_failed: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    cache: str = CACHE  # folder of the replies, so that nothing is generated twice; relative to the recipe

    def __post_init__(self) -> None:
        if not self.styles:
            raise ValueError("styles is empty; name at least one, such as textbook@1")
        ids = []
        for index, name in enumerate(self.styles):
            try:
                ids.append(named(name).id)
            except ValueError as error:
                raise ValueError(f"styles[{index}]: {error}") from None
            if ids.index(ids[-1]) < index:
                raise ValueError(f"styles[{index}]: {ids[-1]!r} is named twice")
        if self.judge is not None and self.gate.vote is None:
            raise ValueError(
                "judge is given, but gate.vote asks nobody; add vote: {ask: 1} to the gate, or take judge out"
            )
        if not self.cache:
            raise ValueError("cache is empty; name a folder: without it a build that is stopped pays twice")

    def made_of(self) -> list[Style]:
        """The styles themselves, in the recipe's order."""
        return [named(name) for name in self.styles]

    def cache_folder(self, base: Path) -> Path:
        """Where replies are kept; `base` is the recipe's folder."""
        return (base / Path(self.cache).expanduser()).absolute()

    def paths(self) -> dict[tuple[str | int, ...], str]:
        found = super().paths()
        for role, backend in self._backends().items():
            found |= {(role, *keys): path for keys, path in backend.paths().items()}
        return found

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        placed = {
            role: backend.with_paths({keys[1:]: path for keys, path in paths.items() if keys[0] == role})
            for role, backend in self._backends().items()
        }
        return msgspec.structs.replace(super().with_paths(paths), **placed)

    def _backends(self) -> dict[str, BackendKind]:
        return {"backend": self.backend} | ({} if self.judge is None else {"judge": self.judge})


def named(name: str) -> Style:
    """The style that a recipe calls `textbook@1`. Raises ValueError when there is none of that version."""
    found = _NAMED.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no style with its version; write it like textbook@1")
    style = load_style(found[1])
    if style.name != name:
        raise ValueError(
            f"{found[1]!r} has version {style.version} here, and {found[2]} is asked for; write {style.name}"
        )
    return style
