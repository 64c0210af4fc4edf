"""From what a file imports, as written, to the files of its repository that are meant.

Odd: no build system is asked. A name fits a file whose path ends with it; of several the one nearest to the importer
counts (most folders in common), then the shortest path, then the first. What fits nothing lies outside.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from trivium.data.code.paths import folder_of, is_test, name_of

MAX_SAME = 500  # files of one name; a name that more have tells nothing
MAX_PACKAGE = 64  # files of a folder that one import of the folder leads to (Go)

_SCRIPTS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".json", ".d.ts")
_INDEXES = tuple(f"/index{extension}" for extension in _SCRIPTS)
_C = frozenset({"c", "cpp", "objective-c", "objective-c++", "cuda", "gas", "glsl", "opencl", "devicetree"})
_SCRIPT = frozenset({"javascript", "typescript", "jsx", "tsx", "vue", "svelte", "coffeescript"})
_JVM = {
    "java": (".java", ".kt"),
    "kotlin": (".kt", ".java"),
    "scala": (".scala", ".java"),
    "groovy": (".groovy", ".java"),
}
_DOTTED = {"perl": ("::", (".pm", ".pl")), "haskell": (".", (".hs", ".lhs")), "lua": (".", (".lua", "/init.lua"))}
_STYLES = {"css": ".css", "scss": ".scss", "sass": ".sass", "less": ".less"}


class Resolver:
    """The files of one repository by name; holds paths only."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._number = {path: number for number, path in enumerate(paths)}
        self._paths = paths
        self._by_name: dict[str, list[int]] = {}
        self._by_folder: dict[str, list[int]] = {}
        self._folders: dict[str, list[str]] = {}
        self._nearest: dict[
            tuple[str, str], int
        ] = {}  # (folder of the importer, name) to the file that is meant, or -1
        for number, path in enumerate(paths):
            self._by_name.setdefault(_key(path), []).append(number)
            self._by_folder.setdefault(folder_of(path), []).append(number)
        for folder in self._by_folder:
            self._folders.setdefault(name_of(folder), []).append(folder)

    def targets(self, number: int, language: str, imports: Iterable[str]) -> list[int]:
        """Numbers of the files that file `number` depends on, each once, in order of import, itself left out."""
        path = self._paths[number]
        found = dict.fromkeys(target for name in imports for target in self._resolve(path, language, name))
        found.pop(number, None)
        return list(found)

    def _resolve(self, path: str, language: str, name: str) -> Iterator[int]:
        if language in ("python", "cython"):
            yield from self._python(path, name)
        elif language in _C:
            yield from self._include(path, name)
        elif language in _SCRIPT:
            yield from self._first(posixpath.join(folder_of(path), name), ("", *_SCRIPTS, *_INDEXES), swap=True)
        elif language in _JVM:
            yield from self._suffix(path, name.replace(".", "/"), _JVM[language])
        elif language == "go":
            yield from self._go(path, name)
        elif language == "rust":
            yield from self._rust(path, name)
        elif language in _DOTTED:
            separator, extensions = _DOTTED[language]
            yield from self._suffix(path, name.replace(separator, "/"), extensions)
        elif language in _STYLES:
            yield from self._style(path, name, _STYLES[language])
        else:
            yield from self._plain(path, name, language)

    def _python(self, path: str, name: str) -> Iterator[int]:
        bare = name.lstrip(".")
        inner = bare.replace(".", "/")
        if len(bare) < len(name):
            folder = folder_of(path)
            for _ in range(len(name) - len(bare) - 1):
                folder = folder_of(folder)
            yield from self._first(posixpath.join(folder, inner), (".py", ".pyx", ".pyi", ".pxd", "/__init__.py"))
        else:
            yield from self._suffix(path, inner, (".py", ".pyx", ".pxd", "/__init__.py"))

    def _include(self, path: str, name: str) -> Iterator[int]:
        if not name.startswith("<"):
            beside = self._number.get(posixpath.normpath(posixpath.join(folder_of(path), name)))
            if beside is not None:
                yield beside
                return
        yield from self._suffix(path, posixpath.normpath(name.lstrip("<")).removeprefix("../"), ("",))

    def _go(self, path: str, name: str) -> Iterator[int]:
        """All files of the package's folder, tests left out."""
        wanted = [folder for folder in self._folders.get(name_of(name), ()) if f"/{name}".endswith(f"/{folder}")]
        wanted = wanted or [
            f for f in self._folders.get(name_of(name), ()) if f.endswith("/".join(name.split("/")[-2:]))
        ]
        if wanted:
            best = min(wanted, key=lambda folder: (-_common(path, folder + "/"), len(folder), folder))
            files = (n for n in self._by_folder[best] if self._paths[n].endswith(".go") and not is_test(self._paths[n]))
            yield from sorted(files, key=self._paths.__getitem__)[:MAX_PACKAGE]

    def _rust(self, path: str, name: str) -> Iterator[int]:
        folder, stem = folder_of(path), name_of(path).removesuffix(".rs")
        own = folder if stem in ("lib", "main", "mod") else posixpath.join(folder, stem)
        if name.startswith("mod "):
            yield from self._first(posixpath.join(own, name[4:]), (".rs", "/mod.rs"))
            return
        first, *rest = name.split("::")
        if first == "crate":
            parts = folder.split("/")
            own = "/".join(parts[: len(parts) - parts[::-1].index("src")]) if "src" in parts else folder
        elif first == "super":
            own = folder_of(own)
        for length in range(len(rest), 0, -1):  # the last words name what stands in the module
            found = list(self._first(posixpath.join(own, *rest[:length]), (".rs", "/mod.rs")))
            if found:
                yield from found
                return

    def _style(self, path: str, name: str, extension: str) -> Iterator[int]:
        folder, file = posixpath.join(folder_of(path), folder_of(name)), name_of(name)
        for form in (file, f"_{file}"):
            found = list(
                self._first(posixpath.join(folder, form), ("", extension, f"/index{extension}", "/_index.scss"))
            )
            if found:
                yield from found
                return

    def _plain(self, path: str, name: str, language: str) -> Iterator[int]:
        extensions = {"ruby": ("", ".rb"), "php": ("", ".php"), "tex": ("", ".tex")}.get(language, ("", ".sh"))
        name = name.replace("\\", "/")
        found = list(self._first(posixpath.join(folder_of(path), name), extensions))
        yield from found or self._suffix(path, name.removeprefix("./"), extensions)

    def _first(self, path: str, endings: Iterable[str], *, swap: bool = False) -> Iterator[int]:
        """The first file among path + ending; `swap`: TypeScript writes ./x.js for x.ts."""
        path = posixpath.normpath(path)
        bases = [path]
        if swap and path.endswith((".js", ".mjs", ".cjs", ".jsx")):
            bases.append(path.rpartition(".")[0])
        for base in bases:
            for ending in endings:
                number = self._number.get(base + ending)
                if number is not None:
                    yield number
                    return

    def _suffix(self, path: str, name: str, endings: Iterable[str]) -> Iterator[int]:
        """The nearest file whose path is, or ends with, name + ending."""
        for ending in endings:
            key = folder_of(path), name + ending
            if key not in self._nearest:
                self._nearest[key] = self._find(path, name + ending)
            if self._nearest[key] >= 0:
                yield self._nearest[key]
                return

    def _find(self, path: str, wanted: str) -> int:
        same = self._by_name.get(_key(wanted), ())
        fitting = [n for n in same if f"/{self._paths[n]}".endswith(f"/{wanted}")] if len(same) <= MAX_SAME else []

        def rank(number: int) -> tuple[int, int, str]:
            other = self._paths[number]
            return -_common(path, other), len(other), other

        return min(fitting, key=rank, default=-1)


def _key(path: str) -> str:
    """What files are looked up by: the name, with its folder for names that every folder has."""
    folder, _, name = path.rpartition("/")
    return f"{name_of(folder)}/{name}" if name.startswith(("__init__.", "index.", "mod.rs", "init.lua")) else name


def _common(a: str, b: str) -> int:
    """Folders that two paths share from the top."""
    count = 0
    for one, other in zip(a.split("/")[:-1], b.split("/")[:-1], strict=False):
        if one != other:
            break
        count += 1
    return count
