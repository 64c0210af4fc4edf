"""A repository's order: laws over random graphs, and imports of each language resolved on a small tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.code.imports import imports_of
from trivium.data.code.order import dependencies, ordered
from trivium.data.code.parts import crossings, split
from trivium.data.code.resolve import Resolver

PATHS = st.lists(
    st.sampled_from(
        [f"{folder}{name}.py" for folder in ("", "a/", "a/b/", "tests/") for name in "pqrst"] + ["README.md"]
    ),
    unique=True,
    min_size=1,
    max_size=16,
)


@st.composite
def graphs(draw):
    paths = draw(PATHS)
    node = st.integers(0, len(paths) - 1)
    edges = draw(st.lists(st.lists(node, unique=True, max_size=4), min_size=len(paths), max_size=len(paths)))
    return paths, [[target for target in targets if target != number] for number, targets in enumerate(edges)]


def reachable(start: int, edges, within) -> set[int]:
    seen, stack = set(), [start]
    while stack:
        for target in edges[stack.pop()]:
            if target in within and target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def kind(path: str) -> int:
    return 0 if path == "README.md" else 2 if path.startswith("tests/") else 1


@settings(max_examples=40)
@given(graphs())
def test_what_is_used_comes_first_unless_a_circle_forbids_it(graph):
    paths, edges = graph
    found = ordered(paths, edges)
    assert sorted(found) == list(range(len(paths)))
    assert [kind(paths[n]) for n in found] == sorted(kind(path) for path in paths)
    at = {number: place for place, number in enumerate(found)}
    for number, targets in enumerate(edges):
        same = {n for n in range(len(paths)) if kind(paths[n]) == kind(paths[number])}
        for target in set(targets) & same:
            assert at[target] < at[number] or number in reachable(target, edges, same)


@settings(max_examples=40)
@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_does_not_hang_on_how_files_arrive(graph, random):
    paths, edges = graph
    shuffled = list(range(len(paths)))
    random.shuffle(shuffled)
    place = {number: at for at, number in enumerate(shuffled)}
    moved = ordered([paths[n] for n in shuffled], [[place[t] for t in edges[n]] for n in shuffled])
    assert [paths[shuffled[n]] for n in moved] == [paths[n] for n in ordered(paths, edges)]


@settings(max_examples=40)
@given(graphs(), st.lists(st.integers(0, 50), min_size=16, max_size=16), st.integers(1, 120))
def test_parts_hold_every_file_once_in_order_and_keep_the_budget(graph, sizes, budget):
    paths, edges = graph
    order = ordered(paths, edges)
    parts = split(order, sizes, edges, budget)
    assert [number for part in parts for number in part] == order
    assert all(part for part in parts)
    assert all(len(part) == 1 or sum(sizes[n] for n in part) <= budget for part in parts)
    at = {number: place for place, number in enumerate(order)}
    for border, count in enumerate(crossings(order, edges)):
        across = [1 for n, ts in enumerate(edges) for t in ts if min(at[n], at[t]) < border <= max(at[n], at[t])]
        assert count == len(across)


def test_a_part_ends_where_the_fewest_imports_cross():
    edges = [[], [0], [1], [], [3], [4], []]  # 0 ← 1 ← 2, 3 ← 4 ← 5
    assert split(range(7), [10] * 7, edges, 40) == [[0, 1, 2], [3, 4, 5, 6]]


def test_a_chain_of_twenty_thousand_files_is_ordered():
    count = 20_000
    paths = [f"f{n:06d}.py" for n in range(count)]
    edges = [[n + 1] if n + 1 < count else [] for n in range(count)]
    assert ordered(paths, edges) == list(reversed(range(count)))


# language, text, what it imports
READ = [
    (
        "python",
        "import a.b, c as d\nfrom . import e\nfrom ..f import g\nfrom h import *\n",
        ("a.b", "c", ".e", "..f.g", "..f", "h"),
    ),
    (
        "python",
        "from a import (\n    b as c,  # d\n    e,\n)\ntry: import f\nexcept E: pass\n",
        ("a.b", "a.e", "a", "f"),
    ),
    ("python", "(" * 50_000 + "\nimport a\n", ("a",)),
    ("python", "print 'two'\nfrom a import (b)\nimport c\n", ("a.b", "a", "c")),
    ("python", '"""\nimport nothing\n"""\nx = "\\d"\n', ()),
    ("c", '#include <a/b.h>\n  #  include "c.h"\n', ("<a/b.h", "c.h")),
    (
        "typescript",
        "import x from './a';\nexport * from \"../b\";\nimport {\n  y,\n} from './c.js'\n"
        "import 'z';\nconst d = require('./d')\n",
        ("./a", "../b", "./c.js", "./d"),
    ),
    ("java", "import a.b.C;\nimport static a.D.e;\nimport f.*;\n", ("a.b.C", "a.D")),
    ("go", 'import (\n\t"fmt"\n\tx "m/y/z"\n)\n', ("fmt", "m/y/z")),
    ("rust", "pub mod a;\nuse crate::b::C;\nmod t { }\n", ("mod a", "crate::b::C")),
    ("ruby", "require 'a/b'\nrequire_relative 'c'\n", ("a/b", "./c")),
    ("scss", "@use 'a/b';\n", ("a/b",)),
    ("text", "import a\n", ()),
]


@pytest.mark.parametrize(("language", "text", "names"), READ)
def test_imports_are_read_as_written(language, text, names):
    assert imports_of(language, text) == names


# paths of a repository; file and what it imports; the files that are meant
RESOLVED = [
    (
        "python",
        ["src/p/__init__.py", "src/p/a.py", "old/p/a.py", "src/q.py"],
        "src/q.py",
        ["p.a", "p"],
        ["src/p/a.py", "src/p/__init__.py"],
    ),
    (
        "python",
        ["p/a.py", "p/b/c.py", "p/b/d.py"],
        "p/b/c.py",
        ["..a", ".d", "..", "..nothing"],
        ["p/a.py", "p/b/d.py"],
    ),
    ("c", ["x/util.h", "y/util.h", "y/m.c"], "y/m.c", ["util.h", "<x/util.h"], ["y/util.h", "x/util.h"]),
    ("c", ["include/lib/a.h", "src/m.c"], "src/m.c", ["<lib/a.h", "<stdio.h"], ["include/lib/a.h"]),
    (
        "typescript",
        ["a/m.ts", "a/b.ts", "a/c/index.ts"],
        "a/m.ts",
        ["./b.js", "./c", "./d"],
        ["a/b.ts", "a/c/index.ts"],
    ),
    (
        "java",
        ["s/com/z/A.java", "t/com/z/A.java", "t/com/z/B.java"],
        "t/com/z/B.java",
        ["com.z.A", "java.util.List"],
        ["t/com/z/A.java"],
    ),
    ("go", ["pkg/y/a.go", "pkg/y/a_test.go", "main.go"], "main.go", ["github.com/me/r/pkg/y", "fmt"], ["pkg/y/a.go"]),
    (
        "rust",
        ["src/lib.rs", "src/a.rs", "src/b/mod.rs", "src/b/c.rs"],
        "src/lib.rs",
        ["mod a", "mod b"],
        ["src/a.rs", "src/b/mod.rs"],
    ),
    ("rust", ["src/lib.rs", "src/a.rs", "src/b/c.rs"], "src/b/c.rs", ["crate::a::Thing"], ["src/a.rs"]),
    ("scss", ["s/main.scss", "s/parts/_grid.scss"], "s/main.scss", ["parts/grid"], ["s/parts/_grid.scss"]),
    ("bash", ["bin/run.sh", "lib/common.sh"], "bin/run.sh", ["../lib/common.sh"], ["lib/common.sh"]),
]


@pytest.mark.parametrize(("language", "paths", "importer", "names", "meant"), RESOLVED)
def test_imports_lead_to_the_nearest_file_that_fits(language, paths, importer, names, meant):
    found = Resolver(paths).targets(paths.index(importer), language, names)
    assert [paths[number] for number in found] == meant


def test_a_file_does_not_depend_on_itself():
    assert dependencies(["a.py"], ["python"], [["a"]]) == [[]]


def test_a_file_stands_right_before_the_first_that_uses_it():
    paths = ["a/common.h", "b/one.c", "b/two.c", "c/three.c", "README"]
    found = ordered(paths, [[], [], [0], [0], []])
    wanted = ["README", "b/one.c", "a/common.h", "b/two.c", "c/three.c"]
    assert [paths[number] for number in found] == wanted
    inside = [f"test-1.0/{path}" for path in paths]  # as archives lay it: one folder around all, whatever its name
    assert ordered(inside, [[], [], [0], [0], []]) == found
