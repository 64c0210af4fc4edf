"""Licences: what one file states, what a folder gives, and what the policy makes of both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.code.expression import PERMISSIVE, allowed, joined, normalise
from trivium.data.code.license import look
from trivium.data.code.license_text import leading_comment
from trivium.data.code.repository_license import RepositoryLicense, Stated, verdicts

MIT = """The MIT License (MIT)

Copyright (c) 2020 A. Author and others

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
GPL = """/*
 * This program is free software; you can redistribute it and/or modify
 * it under the terms of the GNU General Public License as published by
 * the Free Software Foundation; either version 2 of the License, or
 * (at your option) any later version.
 */
int x;
"""


@pytest.mark.parametrize(
    ("path", "text", "expression"),
    [
        ("a.c", "// SPDX-License-Identifier: GPL-2.0+ OR MIT\n", "GPL-2.0-or-later OR MIT"),
        (
            "a.c",
            "/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) */\n",
            "GPL-2.0-only WITH Linux-syscall-note",
        ),
        ("a.c", "// SPDX-License-Identifier: Our-Own\n", ""),
        ("a.py", "x = 1\n# SPDX-License-Identifier: MIT\n", ""),
        ("a.c", GPL, "GPL-2.0-or-later"),
        ("a.c", "/* Under the GPL, as you know it. */\nint x;\n", "GPL-1.0-or-later"),
        ("a.js", "/*!\n * a 1.0\n * Licensed under MIT (https://a.org/LICENSE)\n */\nvar x\n", "MIT"),
        ("a.js", "// Dual licensed under the MIT and BSD licenses.\n", ""),
        ("a.py", '"""Docs.\n\nReleased under the Apache License 2.0."""\n', "Apache-2.0"),
        ("a.go", "// Use of this is governed by a BSD-style\n// license that can be found in the LICENSE file.\n", ""),
        ("a.py", "print('Licensed under MIT')\n", ""),
        ("LICENSE", MIT, "MIT"),
        ("LICENSE", MIT.replace("Copyright", "Third parties' parts are none of this.\n\nCopyright"), "MIT"),
        ("COPYING", "You may do nothing with this.\n", ""),
        ("package.json", '{"name": "a", "license": "(MIT OR Apache-2.0)"}', "Apache-2.0 OR MIT"),
        ("Cargo.toml", '[package]\nlicense = "MIT/Apache-2.0"\n', "Apache-2.0 OR MIT"),
        ("package.json", '{"license": "SEE LICENSE IN x"}', ""),
        ("package.json", "[" * 100_000, ""),
    ],
)
def test_a_file_states_a_licence_or_none(path, text, expression):
    assert look(path, text).expression == expression


def test_the_comment_at_the_top_ends_where_code_begins():
    assert leading_comment("#!/bin/sh\n# a\n\nx=1\n# b\n") == "#!/bin/sh\n# a\n\n"
    assert leading_comment("/* a\nb\n*/\nint c; /* d */\n") == "/* a\nb\n*/\n"


def judged(*files: tuple[str, str, float], source: str = "", **policy):
    """Verdicts by path; `source` is what the source declares of all files."""
    found = verdicts([Stated(*file) for file in files], RepositoryLicense(**policy), source)
    return {file[0]: verdict for file, verdict in zip(files, found, strict=True)}


def test_the_nearest_folder_with_a_licence_speaks_for_a_file():
    found = judged(
        ("LICENSE", "MIT", 1.0),
        ("a.c", "", 0.0),
        ("lib/COPYING", "GPL-2.0-only", 1.0),
        ("lib/deep/b.c", "", 0.0),
        ("lib/c.c", "BSD-3-Clause", 0.9),
        ("odd/LICENSE", "", 0.0),
        ("odd/d.c", "", 0.0),
    )
    assert found["a.c"].expression == "MIT"
    assert found["a.c"].reason == ""
    assert found["lib/deep/b.c"][:2] == ("GPL-2.0-only", "license_not_allowed")
    assert "lib/COPYING" in found["lib/deep/b.c"].detail
    assert found["lib/c.c"] == ("BSD-3-Clause", "", "", True)
    assert found["odd/d.c"].reason == "unknown_license"
    assert found["LICENSE"].reason == "license_file"


@pytest.mark.parametrize(
    ("files", "expression"),
    [
        ((("LICENSE-MIT", "MIT", 1.0), ("LICENSE-APACHE", "Apache-2.0", 1.0)), "Apache-2.0 OR MIT"),
        ((("LICENSE", "MIT", 1.0), ("COPYING", "GPL-2.0-only", 1.0)), "GPL-2.0-only AND MIT"),
        ((("LICENSE", "MIT", 1.0), ("package.json", "ISC", 0.7)), "MIT"),
        ((("LICENSE", "", 0.0), ("package.json", "ISC", 0.7)), "ISC"),
        (
            (("LICENSE", "MIT", 1.0), ("COPYING", "GPL-2.0-only", 1.0), ("Cargo.toml", "GPL-2.0-only OR MIT", 0.7)),
            "GPL-2.0-only OR MIT",
        ),
    ],
)
def test_licences_beside_each_other_are_joined_as_custom_and_manifest_say(files, expression):
    assert judged(*files, ("a.c", "", 0.0))["a.c"].expression == expression


def test_a_header_against_its_folder_goes_by_the_policy():
    files = (("LICENSE", "GPL-3.0-only", 1.0), ("a.c", "MIT", 0.9), ("b.c", "", 0.0))
    assert judged(*files)["a.c"][:2] == ("MIT", "")
    assert judged(*files, conflict="both")["a.c"][:2] == ("GPL-3.0-only AND MIT", "license_not_allowed")
    refused = judged(*files, conflict="reject")["a.c"]
    assert (refused.reason, refused.detail) == ("license_conflict", "header MIT, LICENSE GPL-3.0-only")
    assert not judged(("LICENSE", "MIT AND BSD-2-Clause", 1.0), ("a.c", "MIT", 0.9))["a.c"].conflict


def test_what_a_source_declares_counts_only_where_nothing_else_speaks():
    files = (("a.c", "", 0.0), ("b/LICENSE", "", 0.0), ("b/c.c", "", 0.0))
    assert judged(*files, source="MIT")["a.c"].reason == "no_license"
    found = judged(*files, source="MIT", declared=True)
    assert found["a.c"][:2] == ("MIT", "")
    assert found["b/c.c"].reason == "unknown_license"


TERMS = st.sampled_from(
    ["MIT", "GPL-2.0-only", "Apache-2.0", "LGPL-2.1-only", "GPL-2.0-only WITH Classpath-exception-2.0"]
)


@given(st.lists(TERMS, min_size=1, max_size=4))
def test_and_needs_every_licence_and_or_needs_one(terms):
    each = [allowed(term, PERMISSIVE) for term in terms]
    assert allowed(joined(terms, "AND"), PERMISSIVE) == all(each)
    assert allowed(joined(terms, "OR"), PERMISSIVE) == any(each)


@given(st.text(max_size=40))
def test_any_text_is_an_expression_in_spdx_or_none(text):
    found = normalise(text)
    assert found == normalise(found)


def test_an_allow_list_with_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match=r"SPDX writes it 'GPL-2\.0-only'"):
        RepositoryLicense(allow=("GPL-2.0",))
    with pytest.raises(ValueError, match="no SPDX identifier"):
        RepositoryLicense(allow=("Mine",))
