"""What LaTeX's commands mean to a reader of plain text: tables for `convert`."""

# pylatexenc's notation: `{` an argument, `[` an optional one, `*` a star.
ARGUMENTS: dict[str, str] = {
    **dict.fromkeys(["cite", "citep", "citet", "citealp", "citealt", "citeauthor", "citeyear", "parencite"], "*[[{"),
    **dict.fromkeys(["textcite", "autocite", "footcite", "nocite"], "*[[{"),
    **dict.fromkeys(["ref", "eqref", "pageref", "autoref", "cref", "Cref", "nameref", "vref", "label"], "*{"),
    **dict.fromkeys(["part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph"], "*[{"),
    **dict.fromkeys(["caption", "captionof", "footnote", "thanks", "footnotetext", "marginpar"], "*[{"),
    **dict.fromkeys(["title", "author", "date", "affiliation", "address", "email"], "[{"),
    **dict.fromkeys(["textcolor", "colorbox"], "[{{"),
    **dict.fromkeys(["includegraphics"], "*[[{"),
    **dict.fromkeys(["vspace", "hspace", "index", "bibliography", "bibliographystyle", "pagestyle"], "*{"),
    **dict.fromkeys(["thispagestyle", "pagenumbering", "color", "phantom", "hphantom", "vphantom", "hypertarget"], "{"),
    **dict.fromkeys(
        ["graphicspath", "hypersetup", "cline", "cmidrule", "geometry", "input", "include", "glossary"], "{"
    ),
    **dict.fromkeys(["setcounter", "addtocounter", "setlength", "addtolength", "fontsize", "theoremstyle"], "{{"),
    **dict.fromkeys(["usepackage", "RequirePackage", "documentclass", "newcounter", "newlength"], "[{["),
    **dict.fromkeys(["newcommand", "renewcommand", "providecommand"], "*{[[{"),
    **dict.fromkeys(["newenvironment", "renewenvironment"], "*{[[{{"),
    "newtheorem": "*{[{[",
    "rule": "[{{",
    "addcontentsline": "{{{",
    "href": "{{",
    "hyperref": "[{",
    "texorpdfstring": "{{",
    "multicolumn": "{{{",
    "multirow": "[{[{{",
    "resizebox": "*{{{",
    "scalebox": "{{",
    "rotatebox": "[{{",
    "raisebox": "{[[{",
    "parbox": "[[[{{",
    "makebox": "[[{",
    "framebox": "[[{",
    "adjustbox": "{{",
    "foreignlanguage": "{{",
    "bibitem": "[{",
    "item": "[",
    "textnormal": "{",
    "ensuremath": "{",
    "setspace": "{",
}

# Shown is the last argument of these, the first of `texorpdfstring`; of all other commands with arguments, all.
LAST = frozenset(
    {
        "textcolor",
        "colorbox",
        "href",
        "hyperref",
        "multicolumn",
        "multirow",
        "resizebox",
        "scalebox",
        "rotatebox",
        "raisebox",
        "parbox",
        "makebox",
        "framebox",
        "adjustbox",
        "foreignlanguage",
        "captionof",
    }
)

NOTHING = frozenset(
    {
        "label",
        "index",
        "vspace",
        "hspace",
        "includegraphics",
        "bibliography",
        "bibliographystyle",
        "pagestyle",
        "thispagestyle",
        "pagenumbering",
        "color",
        "phantom",
        "hphantom",
        "vphantom",
        "graphicspath",
        "hypersetup",
        "cline",
        "cmidrule",
        "geometry",
        "setcounter",
        "addtocounter",
        "setlength",
        "addtolength",
        "fontsize",
        "theoremstyle",
        "usepackage",
        "RequirePackage",
        "documentclass",
        "newcounter",
        "newlength",
        "newcommand",
        "renewcommand",
        "providecommand",
        "newenvironment",
        "renewenvironment",
        "newtheorem",
        "rule",
        "addcontentsline",
        "maketitle",
        "tableofcontents",
        "listoffigures",
        "listoftables",
        "nocite",
        "hypertarget",
        "input",
        "include",
        "glossary",
        "date",
        "marginpar",
        "hline",
        "toprule",
        "midrule",
        "bottomrule",
    }
)

HEADINGS = {
    "part": "# ",
    "chapter": "# ",
    "section": "## ",
    "subsection": "### ",
    "subsubsection": "#### ",
    "paragraph": "##### ",
    "subparagraph": "###### ",
}

CITES = frozenset(name for name in ARGUMENTS if "cite" in name) - {"nocite"}
REFERENCES = frozenset({"ref", "eqref", "pageref", "autoref", "cref", "Cref", "nameref", "vref"})
CODE = frozenset({"texttt", "code", "lstinline"})
NOTES = frozenset({"footnote", "thanks", "footnotetext"})
# Names that are drawn, and so are defined by boxes and kerns that text can't show.
NAMES = {
    **{
        name: name for name in ("TeX", "LaTeX", "BibTeX", "XeTeX", "XeLaTeX", "LuaTeX", "LuaLaTeX", "pdfTeX", "ConTeXt")
    },
    "ConTeXt": "ConTeXt",
    "LaTeXe": "LaTeX2e",
    "eTeX": "e-TeX",
    "pdfLaTeX": "pdfLaTeX",
    "AmS": "AMS",
    "AMS": "AMS",
    "AMSTeX": "AMS-TeX",
    "amslatex": "AMS-LaTeX",
    "LyX": "LyX",
    "MiKTeX": "MiKTeX",
    "mdash": "—",
    "ndash": "–",
    "slash": "/",
}
SPACES = {
    " ": " ",
    "\\": "\n",
    "newline": "\n",
    "linebreak": "\n",
    "par": "\n\n",
    "quad": " ",
    "qquad": " ",
    ",": " ",
    "-": "",
    "/": "",
}

FORMULAS = frozenset(
    {
        "equation",
        "align",
        "alignat",
        "flalign",
        "gather",
        "multline",
        "eqnarray",
        "displaymath",
        "math",
        "dmath",
        "IEEEeqnarray",
        "subequations",
    }
)
PLAIN_FORMULAS = frozenset({"equation", "displaymath", "math", "dmath"})  # the environment says no more than $$
TABLES = frozenset({"tabular", "tabularx", "tabulary", "longtable", "supertabular", "tabbing", "array"})
PICTURES = frozenset({"tikzpicture", "picture", "pspicture", "comment", "pgfpicture", "asy", "CJKfilecontents"})
LISTS = frozenset({"itemize", "enumerate", "description", "list", "compactitem", "compactenum", "thebibliography"})
# What follows the name of an environment and is no text: column specifications, widths, places.
ENVIRONMENTS: dict[str, str] = {
    **dict.fromkeys(["tabular", "longtable", "array", "supertabular"], "[{"),
    **dict.fromkeys(["tabularx", "tabulary", "tabular*"], "{[{"),
    **dict.fromkeys(["figure", "table", "figure*", "table*", "wrapfigure", "algorithm", "algorithmic", "frame"], "["),
    **dict.fromkeys(["itemize", "enumerate", "description", "compactitem", "compactenum"], "["),
    **dict.fromkeys(["minipage"], "[[[{"),
    **dict.fromkeys(["thebibliography", "multicols", "adjustwidth", "spacing", "otherlanguage"], "{"),
    "alignat": "{",
    "alignat*": "{",
}
THEOREMS = {
    name: name.capitalize()
    for name in (
        *("theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "conjecture"),
        *("claim", "proof", "exercise"),
    )
}
