"""Applies every deliberate defect of tests/mutations.yaml to a copy of the tree; each must turn its named test red.

A promise whose test was never seen to fail may be no promise. First the named tests run on the tree as it is, and must
be green; then each defect is applied alone. Exit code 1 when a test stays green, is red without its defect, or a defect
can't be applied.

    python scripts/mutate.py [-k WORD] [--changed REV] [--sample N --seed S] [-j JOBS] [--json FILE] [--list FILE]

The whole list takes hours on two cores. `--changed main~3` takes the defects whose file or test changed since, a sample
those that a seed draws.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import msgspec
import tree
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from trivium.console import err, out
from trivium.data.config import Strict, load_yaml
from trivium.errors import InputError, TriviumError

TIMEOUT = 600  # seconds for one test; a defect that makes it endless counts as red


class Mutation(Strict):
    """Replace `find` (found exactly once in `file`) by `replace`, and `test` (a pytest id) must fail."""

    name: str
    file: str
    find: str
    replace: str
    test: str


class Result(Strict):
    mutation: Mutation
    verdict: str  # "red" is what we want
    seconds: float
    detail: str = ""


def read(path: Path) -> list[Mutation]:
    """The list of deliberate defects. Raises ConfigError, and InputError for a name that stands twice."""
    mutations = load_yaml(path, list[Mutation])
    names = [mutation.name for mutation in mutations]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the name {name!r} stands twice; give each defect its own")
    return mutations


def changed(rev: str, root: Path = tree.ROOT) -> set[str]:
    """Paths that differ from the commit `rev`, new files among them. Raises InputError when git does not know it."""
    found: set[str] = set()
    new = ["ls-files", "-z", "--others", "--exclude-standard"]
    for arguments in (["diff", "--name-only", "-z", "--relative", rev, "--"], new):
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InputError(f"--changed {rev}: {done.stderr.strip().splitlines()[0]}; give a commit, such as HEAD~3")
        found.update(filter(None, done.stdout.split("\0")))
    return found


def choose(
    mutations: Sequence[Mutation], word: str, since: set[str] | None, sample: int | None, seed: int
) -> list[Mutation]:
    """Those that every condition holds for, in the list's order; the same seed draws the same from the same list."""
    chosen = [m for m in mutations if word in m.name or word in m.file]
    if since is not None:
        chosen = [m for m in chosen if m.file in since or m.test.partition("::")[0] in since]
    if sample is not None and sample < len(chosen):
        drawn = set(random.Random(seed).sample(range(len(chosen)), sample))
        chosen = [m for place, m in enumerate(chosen) if place in drawn]
    return chosen


def mutated(mutation: Mutation, root: Path) -> str:
    """The defective text of the file. Raises InputError when the defect does not apply."""
    path = root / mutation.file
    if not path.is_file():
        raise InputError(f"{mutation.name}: no file {mutation.file}")
    text = path.read_text(encoding="utf-8")
    count = text.count(mutation.find)
    if count != 1:
        raise InputError(f"{mutation.name}: {mutation.find!r} stands {count} times in {mutation.file}, not once")
    if mutation.find == mutation.replace:
        raise InputError(f"{mutation.name}: `replace` equals `find`")
    return text.replace(mutation.find, mutation.replace)


def environment(copy: Path) -> dict[str, str]:
    """For a Python that imports the copy and not the checkout that is installed editable."""
    # No byte code: a defect of the same length within the same second would meet the cached code of the sound file.
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


def pytest(copy: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    return subprocess.run(
        command, cwd=copy, env=environment(copy), capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def verify_isolation(copy: Path) -> None:
    """Raises TriviumError when Python would import another tree than the copy: every verdict would be false."""
    code = "import trivium.data.config as c; print(c.__file__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True, text=True, check=False)
    if Path(done.stdout.strip()) != copy / "data" / "config.py":
        raise TriviumError(f"the copy {copy} is not what Python imports there: {done.stdout or done.stderr}")


def red_tests(done: subprocess.CompletedProcess[str], tests: Sequence[str]) -> set[str]:
    """Those of `tests` that failed. Raises TriviumError when pytest did not run them."""
    if done.returncode == 0:
        return set()
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+?::.*?)(?: - .*)?$", done.stdout, flags=re.MULTILINE)
    red = {test for test in tests if any(re.match(re.escape(test) + r"(?:\[|::|$)", name) for name in failed)}
    if done.returncode != 1 or not red:
        raise TriviumError(f"the named tests are not green without a defect:\n{done.stdout[-3000:]}{done.stderr}")
    return red


def try_one(mutation: Mutation, copy: Path, unsound: set[str]) -> Result:
    """Applies one defect, runs its test, takes the defect away again; `unsound` are tests that are red without one."""
    start = time.monotonic()
    if mutation.test in unsound:
        return Result(
            mutation=mutation, verdict="red without it", seconds=0.0, detail="the test fails on the sound tree"
        )
    path = copy / mutation.file
    detail = ""
    try:
        defective = mutated(mutation, copy)
    except InputError as error:
        return Result(mutation=mutation, verdict="does not apply", seconds=0.0, detail=str(error))
    sound = path.read_text(encoding="utf-8")
    path.write_text(defective, encoding="utf-8")
    try:
        done = pytest(copy, [mutation.test])
        verdict = {0: "GREEN", 1: "red"}.get(done.returncode, "did not run")
        if verdict == "did not run":
            detail = (done.stdout + done.stderr)[-1500:]
    except subprocess.TimeoutExpired:
        verdict = "red"
    finally:
        path.write_text(sound, encoding="utf-8")
    return Result(mutation=mutation, verdict=verdict, seconds=time.monotonic() - start, detail=detail)


def run(mutations: Sequence[Mutation], jobs: int) -> list[Result]:
    """Tries all defects, each job in its own copy of the tree. Raises TriviumError when a test is red without one."""
    with tempfile.TemporaryDirectory(prefix="trivium-mutate-") as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            copies.put(tree.copy(Path(scratch) / str(job)))
        first = Path(scratch) / "0"
        verify_isolation(first)
        tests = sorted({mutation.test for mutation in mutations})
        err.print(f"mutate: {len(tests)} named tests on the sound tree", highlight=False)
        unsound = red_tests(pytest(first, tests), tests)

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=err, disable=not err.is_terminal) as progress:
            bar = progress.add_task("defects", total=len(mutations))

            def work(mutation: Mutation) -> Result:
                copy = copies.get()
                try:
                    result = try_one(mutation, copy, unsound)
                finally:
                    copies.put(copy)
                progress.console.print(
                    f"mutate: {mutation.name}: {result.verdict} ({result.seconds:.1f} s)", highlight=False
                )
                progress.advance(bar)
                return result

            with ThreadPoolExecutor(jobs) as pool:
                return list(pool.map(work, mutations))


def report(results: Sequence[Result], place: str) -> None:
    """The results as one JSON value, into a file or on standard output."""
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in sorted({r.verdict for r in results})}
    payload = msgspec.json.format(msgspec.json.encode({"verdicts": counts, "results": results}), indent=2).decode()
    if place == "-":
        sys.stdout.write(payload + "\n")
    else:
        Path(place).write_text(payload + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="WORD", default="", help="only defects whose name or file holds WORD")
    parser.add_argument("--changed", metavar="REV", help="only defects whose file or test differs from that commit")
    parser.add_argument("--sample", metavar="N", type=int, help="only so many of them, drawn at random")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="of the sample")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON; - is standard output")
    parser.add_argument("-j", metavar="JOBS", type=int, default=1, help="how many at once")
    parser.add_argument("--list", metavar="FILE", type=Path, default=tree.ROOT / "tests" / "mutations.yaml")
    options = parser.parse_args()
    try:
        since = changed(options.changed) if options.changed else None
        chosen = choose(read(options.list), options.k, since, options.sample, options.seed)
        if not chosen and since is None:
            raise InputError(f"no defect's name or file holds {options.k!r}")
        results = run(chosen, max(1, options.j)) if chosen else []
    except TriviumError as error:
        err.print(f"error: {error}", markup=False, highlight=False)
        return error.exit_code
    if options.json:
        report(results, options.json)
    if options.json == "-":
        return 1 if any(result.verdict != "red" for result in results) else 0
    table = Table("defect", "file", "test", "verdict", "s")
    for result in results:
        style = "" if result.verdict == "red" else "bold red"
        mutation = result.mutation
        table.add_row(mutation.name, mutation.file, mutation.test, result.verdict, f"{result.seconds:.1f}", style=style)
    out.print(table)
    wrong = [result for result in results if result.verdict != "red"]
    for result in wrong:
        out.print(f"{result.mutation.name}: {result.verdict} {result.detail}", markup=False, highlight=False)
    out.print(f"{len(results) - len(wrong)} of {len(results)} defects turn their test red", highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
