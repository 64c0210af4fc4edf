"""Each structure of a page as the exact text that it becomes. The pages are written here."""

import pytest

from trivium.data.text.html.page import read_page
from trivium.data.text.html.tree import TangledError

PROSE = "A paragraph of plain prose, long enough to be taken for the main text of its page by anyone who reads it. " * 3


def text_of(inside: str, **options) -> str:
    """What `inside` becomes between two paragraphs of prose."""
    page = f"<html><body><nav><a href=/>Home</a></nav><main><p>{PROSE}</p>{inside}<p>{PROSE}</p></main></body></html>"
    options = {"skip": ("a.headerlink", ".mw-editsection"), "max_elements": 10_000} | options
    text = read_page(page, **options).text
    assert text.startswith(PROSE.strip())
    assert text.endswith(PROSE.strip())
    return text.removeprefix(PROSE.strip()).removesuffix(PROSE.strip()).strip("\n")


STRUCTURES = {
    "headings": ("<h1>One</h1><h3>Two <b>bold</b><a class='headerlink' href=#x>¶</a></h3>", "# One\n\n### Two bold"),
    "links, emphasis": ("<p>Read <a href=x>the <em>manual</em></a>,\n  please.</p>", "Read the manual, please."),
    "line breaks": ("<p>first<br>second <br/> third</p>", "first\nsecond\nthird"),
    "bare text": ("<div>one<p>two</p>three</div>", "one\n\ntwo\n\nthree"),
    "list": ("<ul><li>one<li>two <b>x</b></ul>", "- one\n- two x"),
    "numbers": ("<ol start=9><li>nine<li>ten</ol>", "9. nine\n10. ten"),
    "nested list": (
        "<ul><li>a<ul><li>b<ol><li>c</ol></ul></li><li><p>d</p></li></ul>",
        "- a\n  - b\n    1. c\n- d",
    ),
    "list that indents": (
        "<ul>Some <a href=x>words</a>,<br>more</ul><ol><i>else</i></ol>",
        "Some words,\nmore\n\nelse",
    ),
    "text between items": (
        "<ul>They are: <li>one | <li>two</ul><dl>Terms<dt>a<dd>b</dl><ul><li>x</li> | <li>y</li></ul>",
        "They are:\n\n- one |\n\n- two\n\nTerms\n\na\n:   b\n\n- x\n- y",
    ),
    "links that an item tells of": (
        "<ul><li>In progress:<ul><li><a href=x>Bug one</a></li></ul></li><li><a href=/>Menu</a><ul><li><a href=y>z</a>"
        "</li></ul></li></ul>",
        "- In progress:\n  - Bug one\n- Menu",
    ),
    "readers' comments": (
        f'<div class="post-comments-holder"><div id="comment-text" class="post-text"><p>{PROSE}</p></div></div>'
        '<div class="article no-comments">the text</div>',
        "the text",
    ),
    "list of paragraphs": (
        "<ol><li><p>one</p><p>more</p></li><li>two<pre>code\n  in</pre></li></ol>",
        "1. one\n\n   more\n\n2. two\n\n   ```\n   code\n     in\n   ```",
    ),
    "quote": ("<blockquote><p>one<br>two</p><p>three</p></blockquote>", "> one\n> two\n>\n> three"),
    "definitions": (
        "<dl><dt>term <code>f()</code></dt><dd><p>meaning</p><p>more</p></dd><dt>second<dd>other</dl>",
        "term f()\n:   meaning\n\n    more\n\nsecond\n:   other",
    ),
    "code": (
        '<pre><code class="language-Python">def f(x):\n\tif x &lt; 1:\n\n        <b class=k>return</b>  x</code></pre>',
        "```python\ndef f(x):\n\tif x < 1:\n\n        return  x\n```",
    ),
    "code by Sphinx": (
        '<div class="highlight-c notranslate"><div class="highlight"><pre><span></span>  int x;\n</pre></div></div>',
        "```c\n  int x;\n```",
    ),
    "code with numbers": (
        '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td class="code">'
        '<div class="highlight-sh"><pre>ls\npwd</pre></div></td></tr></table>',
        "```sh\nls\npwd\n```",
    ),
    "code with a fence": ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
    "inline code": ("<p>Call <code>f(<i>x</i>)</code> or <tt>a`b</tt>.</p>", "Call `f(x)` or a`b."),
    "powers": (
        "<p>E = mc<sup>2</sup>, x<sub>i</sub>, 10<sup>-12</sup>, the 1<sup>st</sup> note<sup><a href=#n>[1]</a></sup>",
        "E = mc^2, x_i, 10^{-12}, the 1st note[1]",
    ),
    "table": (
        "<table><caption>Sizes</caption><tr><th>Name<th>Size<tr><td>a|b<td>1<tr><td><p>c</p><td></table>",
        "Sizes\n\n| Name | Size |\n| --- | --- |\n| a\\|b | 1 |\n| c |  |",
    ),
    "spans": (
        "<table><tr><th colspan=2>wide<th>x<tr><td rowspan=2>tall<td>1<td>2<tr><td>3<td>4</table>",
        "| wide |  | x |\n| --- | --- | --- |\n| tall | 1 | 2 |\n| tall | 3 | 4 |",
    ),
    "pairs": (
        "<table><tr><th colspan=2>Norway<tr><th>Capital<td>Oslo<tr><th>Area<td>385,207 km<sup>2</sup></table>",
        "Norway\nCapital: Oslo\nArea: 385,207 km^2",
    ),
    "layout table": (
        f"<table><tr><td><p>left</p><p>{PROSE}</p></td><td>right</td></tr></table>",
        f"left\n\n{PROSE.strip()}\n\nright",
    ),
    "MathML": (
        "<p>so <math><msup><mi>x</mi><mn>2</mn></msup><mo>≤</mo><mfrac><mi>α</mi><mn>2</mn></mfrac></math>.</p>",
        r"so $x^2 \leq \frac{\alpha}{2}$.",
    ),
    "annotation": (
        '<p><span class="katex"><span class="katex-mathml"><math><semantics><mi>a</mi><annotation encoding='
        '"application/x-tex">\\hat a</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">'
        "<span>a^</span></span></span> is it</p>",
        r"$\hat a$ is it",
    ),
    "MathJax": (
        'let <span class="MathJax_Preview">drawn</span><span class="MathJax"><span>drawn</span></span>'
        '<script type="math/tex">x<y</script><script type="math/tex; mode=display">\\sum_i x_i</script> and',
        "let $x<y$\n\n$$\n\\sum_i x_i\n$$\n\nand",
    ),
    "picture of a formula": (
        '<p>as <span><math><mi>A</mi></math></span><img class="mwe-math-fallback-image" alt="{\\displaystyle A}">'
        ' or <img class="latex" alt="$E_0$">.</p>',
        "as $A$ or $E_0$.",
    ),
    "hidden and chrome": (
        "<div style='display: none'>hidden</div><div class='share-buttons'>Share</div><button>Go</button>"
        "<script>var x = '<p>no</p>'</script><!-- <p>no</p> --><p>kept</p><style>p {}</style>",
        "kept",
    ),
    "see also, references": (
        '<h2>Notes<span class="mw-editsection">[<a>edit</a>]</span></h2><div class="reflist"><ol><li>a book</ol></div>',
        "## Notes",
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structure_becomes_text(name):
    html, expected = STRUCTURES[name]
    assert text_of(html) == expected


def test_pictures_keep_their_place_alternative_and_caption():
    html = (
        '<p>before <img src="/a b.png" alt="A ]"> after</p><figure><img data-src="c.jpg" src="data:x"><figcaption>'
        'The "sea"</figcaption></figure><img src=x.gif width=1><p>![no](x)</p>'
    )
    text = text_of(html, images=True, address="https://e.org/d/")
    assert text == (
        "before\n\n![A \\]](https://e.org/a%20b.png)\n\nafter\n\n"
        '![](https://e.org/d/c.jpg "The \\"sea\\"")\n\n\\![no](x)'
    )
    assert text_of(html) == "before after\n\n![no](x)"


def test_more_elements_than_the_limit_are_refused_by_name():
    with pytest.raises(TangledError, match=r"20,0\d\d elements, limit 10,000"):
        text_of("<p>x</p>" * 20_000)


@pytest.mark.parametrize("opening", ["<blockquote>", "<ul><li>", "<div>", "<dl><dd>", "<table><tr><td>"])
def test_deep_nesting_gives_its_text_without_deep_indent(opening):
    text = text_of(opening * 700 + "inmost", max_elements=10_000)
    assert text.count("inmost") == 1
    assert len(text) < 5_000
