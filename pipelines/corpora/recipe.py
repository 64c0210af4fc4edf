"""A corpus recipe: sources, stages, shards and limits, as strict YAML.

A new kind of source or stage is one class with a `tag` and one name in the unions below.
"""

import os
import re
from pathlib import Path
from typing import Annotated, get_args

import msgspec

from trivium.data.config import Strict, load_yaml, locate
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.near import NearDedup
from trivium.data.longcontext.clean.stage import LongClean
from trivium.data.longcontext.verify import LongVerify
from trivium.data.svg.pairs import SvgRender, SvgSanitize
from trivium.data.text.extract import ExtractHtml
from trivium.data.text.heuristics import Heuristics
from trivium.data.text.language import Language
from trivium.errors import InputError
from trivium.pipelines.corpora.longcontext import LongContext
from trivium.pipelines.corpora.order import check_order
from trivium.pipelines.corpora.shards import Shards
from trivium.pipelines.corpora.sources import READ, HtmlFolder
from trivium.pipelines.corpora.svg import SvgDrawings, SvgFolder
from trivium.pipelines.corpora.warc import Warc

SourceConfig = HtmlFolder | Warc | SvgFolder | SvgDrawings | Shards | LongContext
TextStage = ExtractHtml.Config | Language.Config | Heuristics.Config
SvgStage = SvgSanitize.Config | SvgRender.Config
LongStage = LongClean.Config | LongVerify.Config
ItemStage = TextStage | SvgStage | LongStage
Shuffle = ExactDedup | NearDedup
StageKind = ItemStage | Shuffle

_SOURCE_PATH = re.compile(r"sources\.\d+\.path")
_NAME = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")


class ShardRules(Strict, kw_only=True):
    """`target_bytes` is the size that a shard aims at; 256 MiB suits object stores."""

    target_bytes: Annotated[int, msgspec.Meta(ge=1)] = 256 << 20


class Recipe(Strict, kw_only=True):
    """One corpus. `domain` is one word, any, for people to group corpora by. `error_budget` is the share of items that
    may end as errors (damaged input, crashed stage).
    """

    version: int
    corpus: str
    domain: str
    sources: tuple[SourceConfig, ...]
    stages: tuple[StageKind, ...]
    shards: ShardRules = msgspec.field(default_factory=ShardRules)
    error_budget: float = 0.01

    def __post_init__(self) -> None:
        if self.version != 1:
            raise ValueError(f"version is {self.version}; this code reads recipes of version 1")
        for key in ("corpus", "domain"):
            value = getattr(self, key)
            if not _NAME.fullmatch(value):
                raise ValueError(f"{key}: {value!r} is no name; use lower-case letters, digits, - and _")
        if not self.sources:
            raise ValueError("sources is empty; name at least one")
        names = [source.name for source in self.sources]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(
                    f"sources[{index}].name: two sources are named {name!r}; ids are made from names, so each needs "
                    "its own"
                )
        check_order(self.sources, self.stages, get_args(StageKind), get_args(SourceConfig))
        if not 0.0 <= self.error_budget <= 1.0:
            raise ValueError(f"error_budget is {self.error_budget}; give a share of all items between 0 and 1")

    def stage_names(self) -> tuple[str, ...]:
        """`read`, then one name for each stage, in order; a kind that comes again gets a number."""
        names = [READ]
        for stage in self.stages:
            kind = str(stage.__struct_config__.tag)
            times = sum(name.partition("-")[0] == kind for name in names)
            names.append(kind if times == 0 else f"{kind}-{times + 1}")
        return tuple(names)


def load_recipe(path: Path, overrides: tuple[str, ...] = ()) -> Recipe:
    """Reads and checks a recipe, then that every input exists. Raises ConfigError or InputError, before any work.

    A path in the file is relative to the file, a path in `overrides` to the working directory.
    """
    overrides = tuple(_rebased(override, path.parent) for override in overrides)
    recipe = load_yaml(path, Recipe, overrides=overrides)
    for index, source in enumerate(recipe.sources):
        try:
            source.check(path.parent)
        except InputError as error:
            where = locate(path, ("sources", index, "path"), overrides=overrides)
            raise InputError(f"{where}: {error}") from None
    return recipe


def _rebased(override: str, base: Path) -> str:
    key, sign, value = override.partition("=")
    if not sign or not _SOURCE_PATH.fullmatch(key):
        return override
    return f"{key}={os.path.relpath(Path(value).expanduser(), base)}"
