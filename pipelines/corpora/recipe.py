"""A corpus recipe: sources, stages, shards and limits, as strict YAML.

A new kind of source or stage is one class with a `tag` and one name in the unions below.
"""

import os
import re
from pathlib import Path
from typing import Annotated, get_args

import msgspec

from trivium.data.cad.stages import CadDraw, CadScript, StepDraw
from trivium.data.code.filter import CodeFilter
from trivium.data.code.language import CodeLanguage
from trivium.data.code.license import CodeLicense
from trivium.data.code.repository import Repository
from trivium.data.code.repository_license import RepositoryLicense
from trivium.data.config import Strict, given_by, load_yaml, locate
from trivium.data.dedup.decontaminate import Decontaminate
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.lines import RepeatedLines
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.paragraphs import RepeatedParagraphs
from trivium.data.dedup.pictures import PictureDedup
from trivium.data.dedup.substrings import Substrings
from trivium.data.longcontext.clean.stage import LongClean
from trivium.data.longcontext.verify import LongVerify
from trivium.data.pairs.tasks import PairTasks
from trivium.data.quality.stage import Quality
from trivium.data.rephrase.stage import Excerpts, RewriteCap
from trivium.data.scene.stage import SceneDraw
from trivium.data.svg.draw import SvgDraw
from trivium.data.svg.pairs import SvgRender, SvgSanitize
from trivium.data.text.bad_words import BadWords
from trivium.data.text.c4 import C4Lines
from trivium.data.text.extract import ExtractHtml
from trivium.data.text.heuristics import Heuristics
from trivium.data.text.language import Language
from trivium.data.text.latex.stage import ExtractLatex
from trivium.data.text.man import ExtractMan
from trivium.data.text.markdown import ExtractMarkdown
from trivium.data.text.mathematics import MathScore
from trivium.data.text.pdf.stage import ExtractPdf
from trivium.data.text.pii.mask import Pii
from trivium.data.text.plain import ExtractText
from trivium.data.text.unicode import Unicode
from trivium.data.text.urls import Urls
from trivium.data.web.draw import PageDraw
from trivium.data.web.games.stage import GameDraw
from trivium.data.web.normalise import PageClean
from trivium.errors import InputError
from trivium.pipelines.corpora.cad import CadFolder, CadParts, StepFolder
from trivium.pipelines.corpora.games import GamePages, GameVariants
from trivium.pipelines.corpora.longcontext import LongContext
from trivium.pipelines.corpora.order import check_order
from trivium.pipelines.corpora.rephrase import Rephrase
from trivium.pipelines.corpora.scenes import SceneFolder, SceneGenerator
from trivium.pipelines.corpora.shards import Shards
from trivium.pipelines.corpora.sources import READ, AbsentError
from trivium.pipelines.corpora.sources.kinds import FileSource
from trivium.pipelines.corpora.svg import SvgDrawings, SvgFolder, SvgGenerated
from trivium.pipelines.corpora.warc import Warc
from trivium.pipelines.corpora.web_jsx import PageJsx
from trivium.pipelines.corpora.web_pages import PageComposed, PageFolder

SceneSource = SceneFolder | SceneGenerator
CadSource = CadFolder | CadParts | StepFolder
SourceConfig = (
    CadSource
    | SceneSource
    | FileSource
    | Warc
    | GamePages
    | GameVariants
    | PageFolder
    | PageComposed
    | PageJsx
    | SvgFolder
    | SvgDrawings
    | SvgGenerated
    | Shards
    | LongContext
)
FileStage = ExtractText.Config | ExtractMarkdown.Config | ExtractMan.Config | ExtractLatex.Config | ExtractPdf.Config
TextStage = ExtractHtml.Config | Language.Config | Heuristics.Config | MathScore.Config
FilterStage = Urls.Config | Unicode.Config | C4Lines.Config | BadWords.Config | Pii.Config | Quality.Config
CodeStage = CodeLanguage.Config | CodeLicense.Config | CodeFilter.Config
SvgStage = SvgSanitize.Config | SvgRender.Config | SvgDraw.Config
GameStage = GameDraw.Config
PageStage = PageClean.Config | PageDraw.Config
LongStage = LongClean.Config | LongVerify.Config
CadStage = CadScript.Config | CadDraw.Config | StepDraw.Config
SceneStage = SceneDraw.Config
PairStage = PairTasks.Config
RephraseStage = Excerpts.Config
ItemStage = (
    FileStage
    | TextStage
    | FilterStage
    | CodeStage
    | SvgStage
    | GameStage
    | CadStage
    | PageStage
    | SceneStage
    | LongStage
    | PairStage
    | RephraseStage
)
Inside = RepeatedLines | RepeatedParagraphs | Substrings | Decontaminate
Shuffle = ExactDedup | NearDedup | PictureDedup | Inside | RepositoryLicense | Repository | Rephrase | RewriteCap
StageKind = ItemStage | Shuffle

_NAME = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")


class ShardRules(Strict, kw_only=True):
    """`target_bytes` is the size that a shard aims at; 256 MiB suits object stores."""

    target_bytes: Annotated[int, msgspec.Meta(ge=1)] = 256 << 20


class Recipe(Strict, kw_only=True):
    """One corpus. `domain` is one word, any, for people to group corpora by. `error_budget` is the share of items that
    may end as errors (damaged input, crashed stage).
    """

    version: int  # of recipes: 1
    corpus: str  # its name: lower-case letters, digits, - and _
    domain: str
    sources: tuple[SourceConfig, ...]  # what is read; at least one
    stages: tuple[StageKind, ...]  # what each record passes, in order
    shards: ShardRules = msgspec.field(default_factory=ShardRules)  # how the set is cut into files
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
        if all(isinstance(source, LongContext) and source.rows == 0 for source in self.sources):
            raise ValueError("sources have 0 rows in all; give at least one of them `rows: 1` or more")
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
    recipe = load_yaml(path, Recipe, overrides=overrides)
    base, sources = path.parent, []
    absent: list[tuple[str, AbsentError]] = []
    stages = tuple(_with_files(stage, index, path, overrides) for index, stage in enumerate(recipe.stages))
    for index, source in enumerate(recipe.sources):
        given = [
            keys
            for keys, value in source.paths().items()
            if value and "://" not in value and given_by(path, ("sources", index, *keys), overrides) is not None
        ]
        try:
            source.with_paths({keys: str(_absolute(source.paths()[keys])) for keys in given}).check(base)
        except AbsentError as error:
            keys = error.keys
            told = _of_override(error, source.paths()[keys]) if keys in given else error
            absent.append((locate(path, ("sources", index, *keys), overrides=overrides), told))
        except InputError as error:
            raise InputError(f"{locate(path, ('sources', index, 'path'), overrides=overrides)}: {error}") from None
        # Kept as a relative path: a recipe's digest must not hang on where the checkout lies.
        relative = {keys: os.path.relpath(_absolute(source.paths()[keys]), base) for keys in given}
        sources.append(source.with_paths(relative))
    if absent:
        raise InputError(_missing(absent))
    return msgspec.structs.replace(recipe, sources=tuple(sources), stages=stages)


def _of_override(error: AbsentError, value: str) -> AbsentError:
    """The same for a path that --set gave, which says what it is relative to."""
    own = Path(value).expanduser().is_absolute()
    how = "" if own else f" (path {value}, relative to where the command runs; in a recipe, to the recipe)"
    return AbsentError(f"{error.what}{how}; mend `path`", error.keys, what=f"{error.what}{how}", bring=error.bring)


def _missing(absent: list[tuple[str, AbsentError]]) -> str:
    """All inputs that are not there, and the one command that brings those that are packages."""
    if len(absent) == 1:
        where, error = absent[0]
        return f"{where}: {error}"
    names = dict.fromkeys(name for _, error in absent for name in error.bring)
    own = sum(not error.bring for _, error in absent)
    fetch = f"bring {'what is a package' if own else 'them'} with `trivium inputs fetch {' '.join(names)}`, or "
    lines = [f"  {where}: {error.what}" for where, error in absent]
    paths = "the paths of the others" if own and names else "the paths in the recipe"
    head = f"the inputs of {len(absent)} sources are missing; {fetch if names else ''}mend {paths}:"
    return "\n".join([head, *lines])


def _with_files(stage: StageKind, index: int, path: Path, overrides: tuple[str, ...]) -> StageKind:
    """The stage with its files relative to the recipe. Raises InputError, with file and line, when one is absent."""
    found = {}
    for keys, value in stage.paths().items():
        given = given_by(path, ("stages", index, *keys), overrides) is not None
        file = _absolute(value if given else str(path.parent / value))
        if not file.exists():
            where = locate(path, ("stages", index, *keys), overrides=overrides)
            base = "where the command runs" if given else "the recipe's folder"
            raise InputError(f"{where}: {file} does not exist; mend the path (it is relative to {base})")
        found[keys] = os.path.relpath(file, path.parent)
    return stage.with_paths(found)


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))
