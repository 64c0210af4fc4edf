"""Manual pages to text: headings, tagged paragraphs, literal blocks, tables, letters by name; what is not read."""

import pytest

from trivium.data.stage import Draft, Raw
from trivium.data.text.man import ExtractMan

PAGE = r"""'\" t
.\" A comment
.TH LS 1 "January 2024" "GNU" "User Commands"
.ds GN GNU
.de XX
never
..
.SH NAME
ls \- list
directory \fIcontents\fP
.SH "TWO WORDS"
.PP
A \*(GN page\(em\[co] 2024, caf\['e], \(lqq\(rq, \s-1SMALL\s0 \e, x.\" gone
.if t never
.TP
.BR \-a ", " \-\-all
do not ignore
.B "quoted ""text"" here"
.IP \(bu 2
An item
.br
next line
.nf
$ ls \-l
  indented 'quote
.fi
.TS
tab(@);
l l.
one@two
.TE
.SS Sub
日本語の
文章
"""
TEXT = """## NAME

ls - list directory contents

## TWO WORDS

A GNU page—© 2024, café, “q”, SMALL \\, x.

- -a, --all: do not ignore quoted "text" here

- An item
next line

```
$ ls -l
  indented 'quote
```

one | two

### Sub

日本語の文章
"""


def run(body: bytes):
    raw = Raw(corpus="c", domain="d", source="s", address="a", license="L", body=body, mime="text/troff")
    (outcome,) = ExtractMan.Config().build().process(raw)
    return outcome


def test_a_page_reads_as_text():
    found = run(PAGE.encode())
    assert isinstance(found, Draft)
    assert found.document.text == TEXT
    assert found.document.meta.title == "ls(1)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b".so man1/ls.1\n", "redirect"),
        (b".Dd January\n.Dt LS 1\n.Sh NAME\n", "mdoc"),
        (b".TH LS 1\n", "no_text"),
        (bytes(range(256)) * 3, "not_text"),
    ],
)
def test_what_is_no_page_is_rejected(body, reason):
    assert run(body).reason == reason
