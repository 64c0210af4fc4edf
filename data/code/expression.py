"""SPDX licence expressions: read, joined, and judged against a list of allowed licences.

`license-expression` reads them and knows SPDX's identifiers with their deprecated forms (GPL-2.0+ becomes
GPL-2.0-or-later). An identifier that SPDX does not know makes the whole expression unknown ("").
"""

import functools
import re
from collections.abc import Collection, Iterable
from typing import Any

from trivium.errors import MissingDependencyError
from trivium.needs import cure

# The Blue Oak Council's list, model to lead, and dedications to the public domain, as The Stack v2 takes them
# (StarCoder 2, section 2.1); those that real packages have, not all 200 of them.
PERMISSIVE = (
    "0BSD", "AFL-2.1", "AFL-3.0", "AML", "Apache-1.1", "Apache-2.0", "Artistic-2.0", "BSD-1-Clause", "BSD-2-Clause",
    "BSD-2-Clause-Patent", "BSD-2-Clause-Views", "BSD-3-Clause", "BSD-3-Clause-Clear", "BSD-3-Clause-LBNL",
    "BSD-4-Clause", "BSD-Source-Code", "BSL-1.0", "Beerware", "Bitstream-Vera", "BlueOak-1.0.0", "CC-BY-3.0",
    "CC-BY-4.0", "CC0-1.0", "CNRI-Python", "ECL-2.0", "FSFAP", "FSFUL", "FTL", "HPND", "HPND-Markus-Kuhn",
    "HPND-sell-variant", "ICU", "IJG", "ISC", "Libpng", "MIT", "MIT-0", "MIT-CMU", "MIT-Modern-Variant",
    "MIT-open-group", "MS-PL", "MulanPSL-2.0", "NCSA", "NTP", "OLDAP-2.8", "OpenSSL", "PHP-3.01", "PSF-2.0",
    "PostgreSQL", "Python-2.0", "Python-2.0.1", "Ruby", "SMLNJ", "SSLeay-standalone", "Spencer-86", "Spencer-94",
    "TCL", "TCP-wrappers", "UPL-1.0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Vim", "W3C", "WTFPL", "X11",
    "Xnet", "ZPL-2.1", "Zlib", "blessing", "bzip2-1.0.6", "curl", "libpng-2.0", "libtiff",
)  # fmt: skip

_SLASH = re.compile(r"\s*/\s*")
_NO_EXPRESSION = frozenset({"", "NONE", "NOASSERTION", "UNKNOWN", "UNLICENSED"})


@functools.cache
def _licensing() -> Any:
    try:
        from license_expression import get_spdx_licensing
    except ModuleNotFoundError:
        raise MissingDependencyError(f"license-expression is not installed; run: {cure('build')}") from None
    return get_spdx_licensing()


@functools.lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """The expression in SPDX's present spelling, "" when it is none or holds an identifier that SPDX does not know.

    `MIT/Apache-2.0`, as old Cargo manifests write it, means OR.
    """
    text = _SLASH.sub(" OR ", " ".join(text.split()))
    if text.upper() in _NO_EXPRESSION:
        return ""
    try:
        parsed = _licensing().parse(text, validate=True, strict=True, simple=False)
    # The library raises several kinds of its own and, on odd input, AttributeError and TypeError from within.
    except Exception:
        return ""
    return str(parsed.simplify()) if parsed is not None else ""


def joined(expressions: Iterable[str], operator: str = "AND") -> str:
    """One expression of several, each once, sorted; "" when none is known."""
    known = sorted({expression for expression in expressions if expression})
    if len(known) < 2:
        return "".join(known)
    return normalise(f" {operator} ".join(f"({expression})" for expression in known))


@functools.lru_cache(maxsize=4096)
def _tree(expression: str) -> Any:
    return _licensing().parse(expression)


def allowed(expression: str, allow: Collection[str]) -> bool:
    """Whether the licences in `allow` suffice: every term of an AND, one of an OR; a WITH only adds rights."""
    return bool(expression) and _suffices(_tree(expression), frozenset(allow))


def _suffices(node: Any, allow: frozenset[str]) -> bool:
    operator = getattr(node, "operator", "").strip()
    if operator == "AND":
        return all(_suffices(term, allow) for term in node.args)
    if operator == "OR":
        return any(_suffices(term, allow) for term in node.args)
    if str(node) in allow:
        return True
    base = getattr(node, "license_symbol", None)
    return base is not None and base.key in allow


@functools.lru_cache(maxsize=4096)
def licenses_of(expression: str) -> frozenset[str]:
    """The identifiers in an expression, exceptions left out; versions "only" and "or later" count as one."""
    keys = _licensing().license_keys(expression) if expression else ()
    names = {str(key).removesuffix("-only").removesuffix("-or-later") for key in keys}
    return frozenset(name for name in names if not name.endswith("-exception") and "-exception-" not in name)
