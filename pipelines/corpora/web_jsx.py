"""Pages written as React components: bundled with React by esbuild, run once by node, both behind the guard.

What they give is static HTML, which then goes the way of every page. A component is code of a stranger (`EXECUTES`);
node and esbuild see nothing but their own folder and have no network.
"""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from trivium.data.guard import Limits, Outcome, Profile, run
from trivium.data.guard.limits import MIB
from trivium.data.pairs import bundle
from trivium.data.stage import Content
from trivium.data.stage import Outcome as Read
from trivium.errors import MissingDependencyError
from trivium.pipelines.corpora.sources import Folder, Place, files
from trivium.pipelines.corpora.sources.base import AbsentError, RefusedError, known_input

_NODE = "/usr/bin/node"
_MAIN = "index.html"
_ENTRY = b"""import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import Page from "./page.jsx";
process.stdout.write("<!DOCTYPE html>" + renderToStaticMarkup(createElement(Page)));
"""
_ARGUMENTS = ("entry.js", "--bundle", "--platform=node", "--format=cjs", "--jsx=automatic", "--outfile=out.js")
_PRODUCTION = '--define:process.env.NODE_ENV="production"'
_LEFT = ("development", "profiling", ".edge.", ".bun.", "browser")  # in names of files that no page needs
_LIMITS = Limits(wall_seconds=60, cpu_seconds=20, memory_bytes=1024 * MIB, threads=64, files=4000)


class PageJsx(Folder, kw_only=True, tag="page_jsx"):
    """Components below a folder, one page a file; the page is the file's default export."""

    GIVES = Content.PAGES
    EXECUTES = True

    suffixes: tuple[str, ...] = (".jsx",)
    mime: str = bundle.MIME
    max_bytes: Annotated[int, Meta(ge=1)] = 1 << 20
    esbuild: str  # the program, as the package of this machine's kind brings it
    modules: dict[str, str]  # folders of the packages that components import, by name; react and react-dom among them

    def paths(self) -> dict[tuple[str | int, ...], str]:
        found: dict[tuple[str | int, ...], str] = {
            ("modules", name): path for name, path in sorted(self.modules.items())
        }
        return {**super().paths(), ("esbuild",): self.esbuild, **found}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        moved = super().with_paths(paths)
        modules = {name: paths.get(("modules", name), path) for name, path in self.modules.items()}
        return msgspec.structs.replace(moved, esbuild=paths.get(("esbuild",), self.esbuild), modules=modules)

    def check(self, base: Path) -> None:
        super().check(base)
        if not Path(_NODE).exists():
            raise MissingDependencyError(f"{_NODE} is not there; run `apt-get install nodejs`")
        named: list[tuple[tuple[str, ...], str]] = [(("esbuild",), self.esbuild)]
        named += [(("modules", name), path) for name, path in self.modules.items()]
        absent = {keys: path for keys, path in named if not _expanded(path, base).exists()}
        if absent:
            what = f"source {self.name!r}: {', '.join(absent.values())} do{'es' if len(absent) == 1 else ''} not exist"
            packages = ["esbuild-linux-x64" if keys[0] == "esbuild" else keys[-1] for keys in absent]
            paths = zip(packages, absent.values(), strict=True)
            bring = tuple(name for name, path in paths if known_input(name) and name in Path(path).parts)
            cure = f"bring what is a package by `trivium inputs fetch {' '.join(bring)}` or mend" if bring else "mend"
            raise AbsentError(f"{what}; {cure} the paths in the recipe", next(iter(absent)), what=what, bring=bring)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Read]:
        try:
            component = files.read_whole(place.path, self.max_bytes, place.root)
            page = self._page(component)
        except RefusedError as why:
            yield self.refused(place.address, why)
            return
        body = bundle.pack(_MAIN, {_MAIN: b"\xef\xbb\xbf" + page})  # a mark that it is UTF-8
        yield self.raw(corpus, domain, address=place.address, body=body, mime=self.mime)

    def _page(self, component: bytes) -> bytes:
        """Static HTML of a component. Raises RefusedError: `not_bundled`, `crashed`, or the guard's own reasons."""
        taken = {"page.jsx": component, "entry.js": _ENTRY, **self._modules()}
        profile = Profile(name="esbuild", reserves=True)
        program = _runnable(str(Path(self.esbuild).expanduser()))
        bundled = run([program, *_ARGUMENTS, _PRODUCTION], taken, ["out.js"], limits=_LIMITS, profile=profile)
        _held(bundled, "not_bundled")
        node = Profile(name="node", reserves=True)
        ran = run([_NODE, "out.js"], {"out.js": bundled.files["out.js"]}, [], limits=_LIMITS, profile=node)
        _held(ran, "crashed")
        return ran.stdout

    def _modules(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name, folder in sorted(self.modules.items()):
            root = Path(folder).expanduser()
            for path in sorted(root.rglob("*")):
                if path.suffix in (".js", ".json", ".mjs", ".cjs") and not any(part in path.name for part in _LEFT):
                    found[f"node_modules/{name}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
        return found


@functools.cache
def _runnable(program: str) -> str:
    """A copy that may be executed: what is fetched is data and has no right to."""
    folder = Path(tempfile.mkdtemp(prefix="trivium-esbuild-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    copy = folder / "esbuild"
    shutil.copyfile(program, copy)
    copy.chmod(0o755)
    return str(copy)


def _held(outcome: Outcome, reason: str) -> None:
    if outcome.reason:
        raise RefusedError(outcome.reason, outcome.detail)
    if outcome.status:
        said = " ".join(outcome.stderr.decode("utf-8", "replace").split())
        raise RefusedError(reason, said[-300:] or f"exit {outcome.status}")


def _expanded(path: str, base: Path) -> Path:
    return base / Path(path).expanduser()
