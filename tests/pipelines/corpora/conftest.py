"""A small corpus of real pages: a folder, half-translated handbook pages in two languages, four crawls by others."""

import shutil
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options import pipeline_options
from apache_beam.transforms import core

from trivium.data.shards import Manifest
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.recipe import Recipe, load_recipe

EXAMPLES = Path(__file__).parents[3] / "examples/web"
RECIPE = """
version: 1
corpus: small
domain: knowledge
sources:
  - {kind: html_folder, name: faq, path: inputs/faq, license: PSF-2.0}
  - {kind: html_folder, name: handbook, path: inputs/handbook, license: GPL-2.0-or-later OR CC-BY-SA-3.0}
  - {kind: warc, name: crawls, path: inputs/pywb, license: GPL-3.0-only}
stages:
  - {kind: extract_html, skip: [ul.docnav, a.headerlink]}
  - {kind: language, keep: [en]}
  - {kind: heuristics}
  - {kind: exact_dedup}
  - {kind: near_dedup}
shards: {target_bytes: 100000}
"""


def remember_signatures() -> None:
    """Arguments of a function stay, and Beam looks at those of all methods of a DoFn at every turn: a quarter
    of a small build's time.
    """
    asked = core.get_function_args_defaults
    known: weakref.WeakKeyDictionary[Any, dict[bool, tuple[list, list]]] = weakref.WeakKeyDictionary()

    def remembered(function: Callable) -> tuple[list, list]:
        plain = getattr(function, "__func__", function)
        if not isinstance(plain, types.FunctionType):
            return asked(function)
        answers, bound = known.setdefault(plain, {}), plain is not function
        if bound not in answers:
            answers[bound] = asked(function)
        args, defaults = answers[bound]
        return list(args), list(defaults)

    core.get_function_args_defaults = remembered


def share_formatters() -> None:
    """argparse makes a formatter of help for every option that it is told of; Beam tells all of them at every look."""
    parser = pipeline_options._BeamArgumentParser
    plain, made = parser._get_formatter, {}

    def formatter(self: Any) -> Any:
        if self.prog not in made:
            made[self.prog] = plain(self)
        return made[self.prog]

    parser._get_formatter = formatter


remember_signatures()
share_formatters()


@pytest.fixture(scope="session")
def recipe_file(tmp_path_factory) -> Path:
    """The recipe beside its inputs; paths in it are relative, so its digest is the same everywhere."""
    from fastwarc.warc import ArchiveIterator

    folder = tmp_path_factory.mktemp("small")
    shutil.copytree(EXAMPLES / "python/faq", folder / "inputs/faq")
    shutil.copytree(EXAMPLES / "pywb", folder / "inputs/pywb")
    for record in ArchiveIterator(str(EXAMPLES / "debian-handbook.warc.gz"), fsspec_args=False):
        language, name = record.headers["WARC-Target-URI"].split("/")[-2:]
        if name.startswith(("sect.a", "sect.d")):
            page = folder / "inputs/handbook" / language / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(record.reader.read())
    (folder / "small.yaml").write_text(RECIPE)
    return folder / "small.yaml"


@pytest.fixture(scope="session")
def recipe(recipe_file) -> Recipe:
    return load_recipe(recipe_file)


@pytest.fixture(scope="session")
def build_small(recipe_file) -> Callable[..., Manifest]:
    def run(out: Path, *overrides: str, options: BeamOptions | None = None, **more) -> Manifest:
        recipe = load_recipe(recipe_file, overrides)
        return build(recipe, recipe_file.parent, out, options or BeamOptions(), **more)

    return run


@pytest.fixture(scope="session")
def built(build_small, tmp_path_factory) -> Path:
    """One build of the small corpus, by one worker in this process."""
    out = tmp_path_factory.mktemp("built") / "small"
    build_small(out)
    return out
