"""Languages that share a file extension, told apart by what stands in the text; the first sign that is found decides.

The signs are our own and short; docs/corpora/code.md says how often they agree with GitHub's Linguist on real trees.
"""

import re

_FLAGS = re.MULTILINE
WINDOW = 50_000  # characters looked at


def _sign(language: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return language, re.compile(pattern, _FLAGS)


_OBJC = r"^[ \t]*(?:@(?:interface|implementation|protocol|property|end|class|import)\b|#import\s+[<\"])"
_CPP = (
    r"^[ \t]*(?:template\s*<|class\s+\w+[^;{]{0,500}\{|class\s+\w+\s*;|namespace\s+[\w:]*\s*\{"
    r"|using\s+(?:namespace\s+)?[\w:]+|public:|private:|protected:|(?:virtual|constexpr|explicit|friend)\s+\w)"
    r"|\bstd::\w|^[ \t]*#[ \t]*include\s+<(?:string"
    r"|vector|map|memory|utility|iostream|algorithm|type_traits|cstd\w+|functional|cstring|cassert)>"
)
_PROLOG = r"^[ \t]*:-\s*\w+|^[a-z]\w*(?:\([^)]*\))?\s*:-|^[a-z]\w*(?:\([^)]*\))?\s*-->"
_PERL = (
    r"^[ \t]*(?:use\s+(?:strict|warnings|v?5|[A-Z]\w*)|package\s+[\w:]+\s*;|my\s+[$@%(]|sub\s+\w+\s*[{(]"
    r"|require\s+['\"])"
    r"|^#!.*\bperl\b"
)
_RAKU = r"^[ \t]*(?:use\s+v6|unit\s+(?:module|class)|my\s+class\b|multi\s+(?:sub|method)\b)"

# extension: signs in order, then what it is when none is found.
SIGNS: dict[str, tuple[tuple[tuple[str, re.Pattern[str]], ...], str]] = {
    ".h": ((_sign("objective-c", _OBJC), _sign("cpp", _CPP)), "c"),
    ".inl": ((_sign("cpp", _CPP),), "c"),
    ".inc": (
        (
            _sign("php", r"<\?php"),
            _sign("pascal", r"^[ \t]*(?:procedure|function|unit|begin)\b.*;?\s*$"),
            _sign("cpp", _CPP),
            _sign("c", r"^[ \t]*(?:#\s*(?:define|include|if)|/\*|static\s)"),
            _sign("make", r"^[\w.-]+\s*[:?+]?=|^\.PHONY"),
        ),
        "",
    ),
    ".m": (
        (
            _sign("objective-c", _OBJC + r"|\[\w+\s+\w+\]\s*;"),
            _sign("mathematica", r"\(\*|^[ \t]*\w+\[.*\]\s*:="),
            _sign("matlab", r"^[ \t]*(?:%|function\b|classdef\b|end\s*;?$)|^[ \t]*\w+\s*=\s*\[|\.\*|\bdisp\("),
        ),
        "",
    ),
    ".pl": ((_sign("raku", _RAKU), _sign("prolog", _PROLOG), _sign("perl", _PERL)), "perl"),
    ".pm": ((_sign("raku", _RAKU),), "perl"),
    ".t": ((_sign("raku", _RAKU), _sign("perl", _PERL)), ""),
    ".pro": (
        (
            _sign("prolog", _PROLOG),
            _sign("idl", r"^[ \t]*(?:pro|PRO)\s+\w+|^[ \t]*(?:endif|endfor|ENDIF)"),
            _sign("qmake", r"^[ \t]*(?:TEMPLATE|SOURCES|HEADERS|QT|CONFIG|TARGET)\s*[+*]?="),
        ),
        "",
    ),
    ".v": (
        (
            _sign("coq", r"^[ \t]*(?:Require|Import|Theorem|Lemma|Proof|Qed|Definition|Inductive|Fixpoint|Section)\b"),
            _sign("verilog", r"^[ \t]*(?:module|endmodule|always|assign|wire|reg|`\w+)\b"),
            _sign("vlang", r"^[ \t]*(?:module \w+$|fn \w+|pub fn )"),
        ),
        "",
    ),
    ".ts": ((_sign("qt-linguist", r"<!DOCTYPE TS>|<TS\b"),), "typescript"),
    ".d": (
        (
            _sign("make", r"^[\w./-]+\.o\s*:\s"),
            _sign("dtrace", r"^[ \t]*#pragma\s+D\b|^[\w$*]*:[\w$*]*:[\w$*-]*:[\w$*-]*\s*$"),
            _sign("d", r"^[ \t]*(?:module|import|void|class|struct|enum|alias|template|private|public|unittest)\b"),
        ),
        "",
    ),
    ".fs": (
        (
            _sign("glsl", r"^[ \t]*(?:#version|precision\s|uniform\s|varying\s|void\s+main\s*\()"),
            _sign("forth", r"^:\s+\S+"),
        ),
        "fsharp",
    ),
    ".cl": ((_sign("opencl", r"\b__?kernel\b|\b__global\b|^[ \t]*#\s*(?:define|ifdef|pragma)"),), "common-lisp"),
    ".cls": (
        (
            _sign("tex", r"^[ \t]*\\\w+"),
            _sign("vbnet", r"^(?:VERSION|Attribute VB_)"),
            _sign("apex", r"^[ \t]*(?:public|global|private)\s+(?:with\s+sharing\s+)?class\b"),
        ),
        "",
    ),
    ".r": ((_sign("rebol", r"^[ \t]*rebol\s*\["),), "r"),
    ".s": ((), "gas"),
    ".asm": ((), "nasm"),
    ".as": ((_sign("actionscript", r"^[ \t]*(?:package|import\s+flash|public\s+class)\b"),), ""),
    ".f": ((_sign("forth", r"^:\s+\S+"),), "fortran"),
    ".ml": ((), "ocaml"),
    ".sql": ((), "sql"),
    ".mod": ((_sign("go-mod", r"^module\s+\S+$"), _sign("modula2", r"^[ \t]*(?:IMPLEMENTATION\s+)?MODULE\b")), ""),
    ".bas": ((), "basic"),
    ".md": ((), "markdown"),
    ".toc": ((), ""),
    ".l": ((_sign("lex", r"^%%|^%\{|^%option"), _sign("common-lisp", r"^\(")), ""),
    ".y": ((_sign("yacc", r"^%%|^%token|^%\{"),), ""),
}


def by_content(extension: str, text: str) -> str:
    """The language of a file with a shared extension; "" when no sign is found and none is usual."""
    signs, usual = SIGNS[extension]
    window = text[:WINDOW]
    return next((language for language, pattern in signs if pattern.search(window)), usual)
