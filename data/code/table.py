"""Which language a file is in: its name, its extension, its first line, its text where an extension is shared.

Names and extensions come from Pygments' table of lexers (some 600 languages), read without loading a lexer; the ids
are Pygments' short names with the few mergers below. A wrong guess is worse than none: what nothing tells is "".
"""

import fnmatch
import functools
import re
from typing import NamedTuple

from trivium.data.code.paths import is_license, is_readme, name_of
from trivium.data.code.signs import SIGNS, by_content
from trivium.errors import MissingDependencyError
from trivium.needs import cure

# Pygments has one lexer for each dialect of a notation; a corpus wants the language.
_SAME = {
    "python2": "python",
    "pycon": "python",
    "python-console": "python",
    "php": "php",
    "html+php": "php",
    "splus": "r",
    "delphi": "pascal",
    "ca65": "gas",
    "tasm": "nasm",
    "fortranfixed": "fortran",
    "emacs-lisp": "elisp",
    "text": "text",
    "restructuredtext": "rst",
    "raku": "raku",
    "perl6": "raku",
    "rst": "rst",
    "nimrod": "nim",
    "lesscss": "less",
    "batch": "batch",
    "bat": "batch",
    "lighttpd": "ini",
}
# What Pygments does not list, or lists under several names though one is meant nearly always.
_EXTENSIONS = {
    ".txt": "text", ".text": "text", ".for": "fortran", ".f77": "fortran", ".f08": "fortran", ".svelte": "svelte",
    ".metal": "metal", ".glsl": "glsl", ".hlsl": "hlsl", ".gd": "gdscript", ".nix": "nix", ".wgsl": "wgsl",
    ".ipynb": "jupyter", ".csv": "csv", ".tsv": "csv", ".svg": "svg", ".xml": "xml", ".html": "html", ".htm": "html",
    ".xhtml": "html", ".xsd": "xml", ".plist": "xml", ".ui": "xml", ".json": "json", ".jsonl": "json",
    ".geojson": "json", ".map": "source-map", ".po": "gettext", ".pot": "gettext", ".php": "php", ".s": "gas",
    ".S": "gas", ".asm": "nasm", ".ll": "llvm", ".sql": "sql", ".jl": "julia", ".lisp": "common-lisp", ".lsp":
    "common-lisp", ".el": "elisp", ".scm": "scheme", ".ss": "scheme", ".pas": "pascal", ".pp": "puppet", ".sh": "bash",
    ".ksh": "bash", ".ac": "m4", ".m4": "m4", ".am": "make", ".mk": "make", ".mak": "make", ".cmake": "cmake",
    ".gyp": "python", ".gypi": "python", ".bzl": "python", ".pyi": "python", ".pxi": "cython", ".mts": "typescript",
    ".cts": "typescript", ".es6": "javascript", ".rs": "rust", ".agda": "agda", ".lean": "lean", ".rd": "rd",
    ".conf": "ini", ".cfg": "ini", ".properties": "properties", ".cu": "cuda", ".cuh": "cuda", ".vue": "vue",
    ".dts": "devicetree", ".dtsi": "devicetree", ".lds": "ld", ".ld": "ld", ".adoc": "asciidoc", ".asciidoc":
    "asciidoc", ".org": "org", ".pod": "pod", ".tex": "tex", ".sty": "tex", ".bib": "bibtex", ".diff": "diff",
    ".patch": "diff", ".log": "log", ".tcl": "tcl", ".snap": "json", ".c": "c", ".cc": "cpp", ".cpp": "cpp",
    ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".hxx": "cpp", ".ipp": "cpp", ".tcc": "cpp", ".mm": "objective-c++",
    ".ttl": "turtle", ".hs": "haskell", ".rb": "ruby", ".lua": "lua", ".cocci": "smpl", ".its": "devicetree",
}  # fmt: skip
_NAMES = {
    "makefile": "make", "gnumakefile": "make", "kbuild": "make", "kconfig": "kconfig", "dockerfile": "docker",
    "containerfile": "docker", "cmakelists.txt": "cmake", "meson.build": "meson", "meson_options.txt": "meson",
    "meson.options": "meson", "build": "python", "build.bazel": "python", "workspace": "python", "sconstruct": "python",
    "sconscript": "python", "wscript": "python", "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby",
    "podfile": "ruby", "jenkinsfile": "groovy", "configure.ac": "m4", "configure.in": "m4", "go.mod": "go-mod",
    "pipfile": "toml", "cargo.lock": "toml", "justfile": "just", "pkg-info": "text", "manifest.in": "text",
    "requirements.txt": "requirements", "maintainers": "text", "authors": "text", "changelog": "text", "changes":
    "text", "news": "text", "todo": "text", "install": "text", "notice": "text", "readme": "text", ".gitignore":
    "ignore", ".npmignore": "ignore", ".dockerignore": "ignore", ".gitattributes": "ignore", ".editorconfig": "ini",
    ".eslintrc": "json", ".babelrc": "json", ".clang-format": "yaml",
}  # fmt: skip
_INTERPRETERS = {
    "sh": "bash", "bash": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "python": "python", "pypy": "python",
    "node": "javascript", "deno": "typescript", "perl": "perl", "ruby": "ruby", "lua": "lua", "tclsh": "tcl", "wish":
    "tcl", "php": "php", "awk": "awk", "gawk": "awk", "sed": "sed", "make": "make", "rscript": "r", "julia": "julia",
    "escript": "erlang", "runhaskell": "haskell", "osascript": "applescript", "fish": "fish", "groovy": "groovy",
    "guile": "scheme", "racket": "racket", "swipl": "prolog", "ocaml": "ocaml", "elixir": "elixir", "pwsh":
    "powershell", "expect": "tcl", "bpftrace": "bpftrace",
}  # fmt: skip
PROSE = frozenset({"markdown", "rst", "text", "asciidoc", "org", "pod", "tex", "rd", "bibtex", "requirements"})
DATA = frozenset(
    {"json", "csv", "xml", "svg", "yaml", "toml", "ini", "properties", "gettext", "jupyter", "source-map", "html"}
    | {"diff", "log", "ignore", "qt-linguist", "turtle", "css-map", "resource", "output", "debcontrol", "asc"}
)

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*(?:\S*/)?)?([A-Za-z]+)")
_MODELINE = re.compile(
    r"-\*-\s*(?:.*?\bmode:\s*)?([\w+#-]+)\s*(?:;.*?)?-\*-|\b(?:vim?|ex):.*?\b(?:ft|filetype|syn)=(\w+)"
)
_XML = re.compile(r"\s*(?:\ufeff)?<\?xml\b")


class Known(NamedTuple):
    """Pygments' table: languages by extension, by whole name, by pattern of names, and by other names of theirs."""

    extensions: dict[str, str]
    names: dict[str, str]
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    aliases: dict[str, str]


@functools.cache
def known() -> Known:
    """The table, read once. Raises MissingDependencyError without Pygments."""
    try:
        from pygments.lexers import get_all_lexers
    except ModuleNotFoundError:
        raise MissingDependencyError(f"pygments is not installed; run: {cure('build')}") from None
    extensions: dict[str, str] = {}
    names: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for _, short, patterns, _ in get_all_lexers(plugins=False):
        if not short:
            continue
        language = _SAME.get(short[0], short[0])
        for alias in short:
            aliases.setdefault(alias.lower(), language)
        for pattern in patterns:
            if pattern.startswith("*.") and not set("*?[") & set(pattern[2:]):
                extensions.setdefault(pattern[1:].lower(), language)
            elif pattern[0] != "*":
                names.setdefault(pattern.lower(), language)
    globs = {name: language for name, language in names.items() if set("*?[") & set(name)}
    patterns = tuple((re.compile(fnmatch.translate(glob)), language) for glob, language in globs.items())
    return Known(extensions, names, patterns, aliases)


def language_of(path: str, text: str) -> str:
    """The language's short name, "" when nothing tells it."""
    name = name_of(path).lower()
    if is_license(path):
        return "text"
    if name in _NAMES:
        return _NAMES[name]
    for extension in _extensions(name):
        if extension in SIGNS:
            return by_content(extension, text)
        found = _EXTENSIONS.get(extension) or known().extensions.get(extension)
        if found:
            return found
    if name in known().names:
        return known().names[name]
    for pattern, language in known().patterns:
        if pattern.fullmatch(name):
            return language
    return by_first_line(text) or ("text" if is_readme(path) else "")


def _extensions(name: str) -> list[str]:
    """Extensions from the longest: of `a.d.ts` .d.ts and .ts; a template (`x.h.in`) counts as what is made of it."""
    name = name.removesuffix(".in").removesuffix(".tmpl") if name.count(".") > 1 else name
    parts = name.split(".")[1:]
    return ["." + ".".join(parts[i:]) for i in range(len(parts))]


def by_first_line(text: str) -> str:
    """The language that a `#!` line, an editor's mode line or an XML declaration names, or ""."""
    first, _, rest = text[:1000].partition("\n")
    shebang = _SHEBANG.match(first)
    if shebang:
        return _INTERPRETERS.get(shebang[1].lower(), "")
    mode = _MODELINE.search(first) or _MODELINE.search(rest.partition("\n")[0])
    if mode:
        alias = (mode[1] or mode[2]).lower()
        return known().aliases.get({"c++": "cpp", "shell-script": "bash", "makefile": "make"}.get(alias, alias), "")
    return "xml" if _XML.match(text) else ""


def kind_of(language: str) -> str:
    """`prose`, `data` or `code`."""
    return "prose" if language in PROSE else "data" if language in DATA else "code"
