"""The order of a repository's files: readme first, what is used before what uses it, tests and examples last.

Depth first along the imports, each file after all it depends on; from the files that no other uses, then from what is
left (circles), both in order of path. So a file stands right before the first that uses it. In a circle of imports the
edge that closes it is the one that is not kept, and where a walk enters a circle depends on paths alone: the order is a
pure function of (path, imports).
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from trivium.data.code.paths import folder_of, is_readme, is_test, name_of
from trivium.data.code.resolve import Resolver

Edges = Sequence[Sequence[int]]  # of each file the files that it depends on


def dependencies(paths: Sequence[str], languages: Sequence[str], imports: Sequence[Sequence[str]]) -> list[list[int]]:
    """Of each file the numbers of those that it imports."""
    resolver = Resolver(paths)
    return [
        resolver.targets(number, language, names)
        for number, (language, names) in enumerate(zip(languages, imports, strict=True))
    ]


def ordered(paths: Sequence[str], edges: Edges) -> list[int]:
    """All numbers once: readmes of the top, then the rest by dependency, then tests by dependency."""
    top = _top(paths)
    kinds = [_kind(path, top) for path in paths]
    by_path = sorted(range(len(paths)), key=lambda number: _place(paths[number]))
    used = {target for number, targets in enumerate(edges) for target in targets if kinds[target] == kinds[number]}
    starts = [*(number for number in by_path if number not in used), *by_path]
    done = [False] * len(paths)
    found: list[int] = []
    for kind in range(3):
        for start in starts:
            if kinds[start] == kind and not done[start]:
                found.extend(_walk(start, edges, kinds, done))
    return found


def _top(paths: Sequence[str]) -> str:
    """The deepest folder that holds all files; an archive often has one of its own name (`flask-3.0/`)."""
    folders = [folder_of(path).split("/") for path in (min(paths), max(paths))] if paths else [[], []]
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(*folders, strict=False))
    return "/".join(one for one, _ in shared)


def _kind(path: str, top: str) -> int:
    if is_readme(path) and folder_of(path) == top:
        return 0
    return 2 if is_test(path.removeprefix(top)) else 1


def _place(path: str) -> tuple[str, int, str, str]:
    """Folders in order of name, a folder's own readme first, its files before its folders' files."""
    return folder_of(path), 0 if is_readme(path) else 1, name_of(path), path


def _walk(start: int, edges: Edges, kinds: Sequence[int], done: list[bool]) -> Iterator[int]:
    """Post-order from `start` along edges to files of its kind; without recursion, for chains of any length."""
    done[start] = True
    stack = [(start, iter(edges[start]))]
    while stack:
        number, following = stack[-1]
        for target in following:
            if not done[target] and kinds[target] == kinds[start]:
                done[target] = True
                stack.append((target, iter(edges[target])))
                break
        else:
            stack.pop()
            yield number
