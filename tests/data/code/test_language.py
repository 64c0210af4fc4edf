"""Languages by name, extension, first line and content; bytes that are no text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.code.language import CodeLanguage
from trivium.data.code.source_text import decode_source
from trivium.data.code.table import kind_of, language_of
from trivium.data.stage import Draft, Drop, Raw

SHARED = [
    ("a.h", "#ifndef A\nint f(void);\n", "c"),
    ("a.h", "namespace a {\nclass B;\n}\n", "cpp"),
    ("a.h", "/* a class of its own; std is its namespace */\nint f(void);\n", "c"),
    ("a.h", "#import <Foundation/F.h>\n@interface A\n", "objective-c"),
    ("a.m", "@implementation A\n@end\n", "objective-c"),
    ("a.m", "function y = f(x)\n% doubles\ny = 2 * x;\nend\n", "matlab"),
    ("a.pl", "use strict;\nmy $x = 1;\n", "perl"),
    ("a.pl", ":- module(a, [b/1]).\nb(X) :- c(X).\n", "prolog"),
    ("a.v", "module top(input clk);\nendmodule\n", "verilog"),
    ("a.v", "Theorem t : True.\nProof. exact I. Qed.\n", "coq"),
    ("a.ts", "export const a: number = 1;\n", "typescript"),
    ("a.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS></TS>\n', "qt-linguist"),
    ("a.d", "main.o: main.c a.h\n", "make"),
    ("a.d", "module a;\nvoid main() {}\n", "d"),
    ("a.inc", "<?php echo 1;\n", "php"),
    ("a.m", "nothing that tells\n", ""),
]


@pytest.mark.parametrize(("path", "text", "language"), SHARED)
def test_content_tells_languages_that_share_an_extension_apart(path, text, language):
    assert language_of(path, text) == language


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("r/Makefile", "", "make"),
        ("r/src/lib.rs", "", "rust"),
        ("r/a.d.ts", "", "typescript"),
        ("r/config.h.in", "int x;\n", "c"),
        ("r/x.SCSS", "", "scss"),
        ("r/bin/run", "#!/usr/bin/env -S python3 -u\n", "python"),
        ("r/bin/run", "#!/bin/sh\n", "bash"),
        ("r/init", "# -*- mode: ruby -*-\n", "ruby"),
        ("r/LICENSE.py.txt", "", "text"),
        ("r/README", "", "text"),
        ("r/core", "no sign\n", ""),
        ("r/a.unheard-of", "no sign\n", ""),
    ],
)
def test_names_and_first_lines_tell_the_language(path, text, language):
    assert language_of(path, text) == language


@settings(max_examples=40)
@given(st.text(max_size=8), st.text(max_size=200))
def test_any_name_and_text_has_an_answer(name, text):
    assert kind_of(language_of(name, text)) in ("code", "prose", "data")


@pytest.mark.parametrize(
    ("body", "text", "fault"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n", ""),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", ""),
        ("x = 'é'\n".encode("utf-16"), "x = 'é'\n", ""),
        ("# -*- coding: koi8-r -*-\n# привет\n".encode("koi8-r"), "# -*- coding: koi8-r -*-\n# привет\n", ""),
        (b"// caf\xe9\n", "// café\n", ""),
        (b"# coding: rot13\ncaf\xe9\n", "# coding: rot13\ncafé\n", ""),
        (b"\x7fELF\0\0", "", "binary"),
        (b"\x01\x02\x03 \x04 \x05", "\x01\x02\x03 \x04 \x05", "undecodable"),
    ],
)
def test_bytes_become_text_by_what_they_say_of_themselves(body, text, fault):
    found = decode_source(body)
    assert (found.text, found.fault) == (text, fault)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoding(body):
    assert "\r" not in decode_source(body).text


@pytest.mark.parametrize(
    ("address", "body", "outcome"),
    [
        ("r/a.py", b"x = 1\n\n\n", "x = 1\n"),
        ("r/a.csv", b"a,b\n", "other_language"),
        ("r/words.txt", b"a\nb\n", "plain_text"),
        ("r/README", b"# r\n", "# r\n"),
        ("r/COPYING", b"MIT\n", "MIT\n"),
        ("r/what", b"?\n", "unknown_language"),
        ("r/a.py", b" \n", "blank"),
        ("r/a.py", b"x" * 2000, "too_large"),
    ],
)
def test_every_file_is_kept_or_refused_with_a_reason(address, body, outcome):
    stage = CodeLanguage.Config(max_bytes=1999).build()
    raw = Raw(corpus="c", domain="d", source="s", address=address, license="", body=body, mime="text/plain")
    (found,) = stage.process(raw)
    if isinstance(found, Drop):
        assert found.reason == outcome
    else:
        assert isinstance(found, Draft)
        assert (found.document.text, found.document.meta.lineage.steps[0].name) == (outcome, "code_language")
