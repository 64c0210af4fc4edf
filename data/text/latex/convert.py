"""LaTeX → text in Markdown's manner, by pylatexenc's parser; imported only inside a guarded child.

Headings, lists, tables and code become Markdown's; formulas stay as they were written, between `$` or `$$`, with the
document's own macros expanded. What a command shows stands in `words`; of an unknown one its arguments are shown.
"""

import re
from typing import Any

from pylatexenc import latex2text, latexwalker
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec

from trivium.data.text.latex import words
from trivium.data.text.latex.formulas import set_aside
from trivium.data.text.latex.macros import MacroBombError, closing, definitions, expand
from trivium.data.text.latex.requests import LatexRequest, LatexText
from trivium.data.text.latex.runs import Runs
from trivium.data.text.latex.source import Literals, without_comments
from trivium.errors import GuardError

_BEGIN, _END = "\\begin{document}", "\\end{document}"
_TITLE = re.compile(r"\\(?:icml|twocolumn)?title\s*(?:\[[^\[\]]*\])?\s*(?=\{)", re.IGNORECASE)
_THEOREM = re.compile(r"\\newtheorem\*?\s*\{\s*([A-Za-z]+)\*?\s*\}\s*(?:\[[^\[\]]*\])?\s*\{([^{}]{1,100})\}")
_ASSIGNMENT = re.compile(
    r"\\[A-Za-z@]+\s*=?\s*[-+]?\d*\.?\d+\s*(?:true)?(?:pt|em|ex|cm|mm|in|sp|pc|bp|fil)\b(?:\s*(?:plus|minus)\s*[-\d.]+\s*[a-z]+)*"
    r"|\\[A-Za-z@]+\s*=\s*[-+]?\d+\b"
)
_SPACES = re.compile(r"[ \t]+")
_BLANKS = re.compile(r"\s*\n\s*\n\s*")


def convert(request: LatexRequest) -> LatexText:
    """The guarded task. Raises GuardError: `macro_bomb`, `too_deep`, `no_text`."""
    literals = Literals()
    text = without_comments(literals.set_aside(request.text))
    try:
        macros, text = definitions(text)
        preamble, _, body = text.partition(_BEGIN) if _BEGIN in text else ("", "", text)
        body = expand(body.partition(_END)[0], macros)
        title = _title(preamble) or _title(body)
        theorems = {**words.THEOREMS, **dict(_THEOREM.findall(text))}
        heading = _rendered(set_aside(expand(title, macros), literals), theorems)
        found = _rendered(set_aside(body, literals), theorems)
    except MacroBombError as error:
        raise GuardError("macro_bomb", str(error)) from None
    except RecursionError:
        raise GuardError("too_deep", "groups or environments nested too deep") from None
    heading = " ".join(literals.shown(heading).split())
    found = literals.shown(tidied(found)).strip()
    return LatexText(text=f"# {heading}\n\n{found}" if heading and found else found, title=heading)


def _rendered(text: str, theorems: dict[str, str]) -> str:
    runs = Runs()
    text = _ASSIGNMENT.sub("", text)
    return runs.whole(Renderer(theorems).text(runs.shortened(text)))


def _title(text: str) -> str:
    match = _TITLE.search(text)
    end = closing(text, match.end()) if match else -1
    return text[match.end() + 1 : end] if match and end >= 0 else ""


def tidied(text: str) -> str:
    """One space, one line break or one blank line between words; tabs mark indents that stay."""
    lines = [_SPACES.sub(" ", line).strip(" ") for line in text.split("\n")]
    return _BLANKS.sub("\n\n", "\n".join(lines)).replace("\x0e", "  ")


class Renderer:
    """Text of parsed LaTeX; `theorems` are environments by what they are called."""

    def __init__(self, theorems: dict[str, str]) -> None:
        self._theorems = theorems
        self._symbols = latex2text.get_default_latex_context_db()
        self._plain = latex2text.LatexNodes2Text(latex_context=self._symbols, math_mode="verbatim")
        self._context = latexwalker.get_default_latex_context_db()
        self._context.add_context_category(
            "trivium",
            prepend=True,
            macros=[MacroSpec(name, args_parser=spec) for name, spec in words.ARGUMENTS.items()],
            environments=[EnvironmentSpec(name, args_parser=spec) for name, spec in words.ENVIRONMENTS.items()],
        )
        self._lists: list[tuple[str, int]] = []  # environment and items so far, innermost last

    def text(self, latex: str) -> str:
        """Raises RecursionError for text nested too deep."""
        walker = latexwalker.LatexWalker(latex, latex_context=self._context, tolerant_parsing=True)
        nodes, _, _ = walker.get_latex_nodes()
        return self._all(nodes)

    def _all(self, nodes: Any) -> str:
        return "".join(self._one(node) for node in nodes or () if node is not None)

    def _one(self, node: Any) -> str:
        kind = type(node).__name__
        if kind == "LatexCharsNode":
            return _prose(node.chars)
        if kind == "LatexGroupNode":
            return self._all(node.nodelist)
        if kind == "LatexMathNode":
            return self._formula(node)
        if kind == "LatexMacroNode":
            return self._macro(node)
        if kind == "LatexEnvironmentNode":
            return self._environment(node)
        if kind == "LatexSpecialsNode":
            return self._special(node)
        return ""  # comments

    def _formula(self, node: Any) -> str:
        """One that was not set aside: its end is in doubt."""
        return str(node.latex_verbatim())

    def _special(self, node: Any) -> str:
        chars = str(node.specials_chars)
        if chars == "&":
            return " | "
        if chars == "~":
            return " "
        return chars if chars.startswith("\n") else str(self._plain.specials_node_to_text(node))

    def _macro(self, node: Any) -> str:
        name = str(node.macroname)
        if name in words.SPACES:
            return words.SPACES[name]
        if name in words.NAMES:
            return f"{words.NAMES[name]}{node.macro_post_space}"
        if name in words.NOTHING:
            return ""
        if name == "item":
            return self._item(node)
        arguments = [part for part in (node.nodeargd.argnlist if node.nodeargd else None) or () if part is not None]
        if not arguments:
            return self._symbol(node)
        last = self._one(arguments[-1])
        if name in words.HEADINGS:
            return f"\n\n{words.HEADINGS[name]}{' '.join(last.split())}\n\n"
        if name in words.CITES or name in words.REFERENCES:
            return f"[{', '.join(key.strip() for key in last.split(','))}]"
        if name == "bibitem":
            return f"\n- [{last.strip()}] "
        if name == "caption":
            return f"\n\n{' '.join(last.split())}\n\n"
        if name in words.CODE:
            return f"`{last}`" if last.strip() and "`" not in last else last
        if name in words.NOTES:
            return f" ({last.strip()})" if last.strip() else ""
        if name in words.LAST:
            return last
        if name == "texorpdfstring":
            return self._one(arguments[0])
        if name in words.ARGUMENTS or self._symbols.get_macro_spec(name) is None:
            return self._all(part for part in arguments if getattr(part, "delimiters", "{")[0] != "[")
        return self._symbol(node)

    def _symbol(self, node: Any) -> str:
        """Letters with accents, symbols, and commands that change nothing but letters."""
        spec = self._symbols.get_macro_spec(node.macroname)
        if spec is not None and spec.simplify_repl is None and node.nodeargd and node.nodeargd.argnlist:
            return self._all(node.nodeargd.argnlist)
        found = str(self._plain.macro_node_to_text(node))
        return found + (node.macro_post_space if found and found.isalnum() else "")

    def _item(self, node: Any) -> str:
        environment, number = self._lists[-1] if self._lists else ("itemize", 0)
        if self._lists:
            self._lists[-1] = (environment, number + 1)
        arguments = [part for part in (node.nodeargd.argnlist if node.nodeargd else None) or () if part is not None]
        label = " ".join(self._one(arguments[0]).split()) if arguments else ""
        mark = f"{number + 1}. " if environment.endswith(("enumerate", "compactenum")) and not label else "- "
        indent = "\x0e" * (len(self._lists) - 1)
        return f"\n{indent}{mark}{label.removesuffix(':')}{': ' if label else ''}"

    def _environment(self, node: Any) -> str:
        name = str(node.environmentname)
        plain = name.rstrip("*")
        if plain in words.PICTURES:
            return ""
        if plain in words.LISTS:
            self._lists.append((plain, 0))
            inner = self._all(node.nodelist)
            self._lists.pop()
            head = "## References\n\n" if plain == "thebibliography" else ""
            return f"\n\n{head}{inner}\n\n" if not self._lists else "\n" + inner.strip("\n ")
        if plain in words.TABLES:
            rows = [" ".join(row.split()) for row in self._all(node.nodelist).split("\n")]
            return "\n\n" + "\n".join(row for row in rows if row.strip(" |")) + "\n\n"
        inner = self._all(node.nodelist)
        if plain == "abstract":
            return f"\n\n## Abstract\n\n{inner}\n\n"
        if plain in self._theorems:
            return f"\n\n{self._opening(node, self._theorems[plain])} {inner.strip()}\n\n"
        return f"\n\n{inner}\n\n"

    def _opening(self, node: Any, name: str) -> str:
        """`**Theorem (Gauss).**`; the optional argument of such an environment is parsed as its first words."""
        return f"**{name}.**"


def _prose(chars: str) -> str:
    """A single line break is a space; a blank line ends a paragraph."""
    chars = chars.replace("`", "‘").replace("'", "’")
    return "\n\n".join(part.replace("\n", " ") for part in re.split(r"\n[ \t]*\n\s*", chars))
