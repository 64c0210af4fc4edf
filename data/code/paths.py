"""What a file's path says by itself: its repository, and whether it is a readme, a test, a licence, vendored, …"""

import re
from pathlib import PurePosixPath

_LICENSE = re.compile(r"(?:un)?licen[cs]e(?:s)?|copying|copyright", re.IGNORECASE)
_LICENSE_FILE = re.compile(
    r"(?!.*(?:third|3rd|external|bundled|vendor))(?:(?:un)?licen[cs]es?|copying|mit-licen[cs]e|licen[cs]e-mit)"
    r"(?:[-_.](?!(?:py|js|ts|c|h|go|rs|java|rb|cpp|json|xml)$)[\w.+-]+)?",
    re.IGNORECASE,
)
_DUAL = re.compile(
    r"(?:licen[cs]e|copying)[-_.](?:mit|apache|apache2|bsd|isc|zlib|cc0|unlicense|boost)[\w.-]*", re.IGNORECASE
)
_MANIFESTS = frozenset({"package.json", "cargo.toml", "pyproject.toml", "pkg-info", "composer.json"})
_README = re.compile(r"readme(?:[-_.][\w.-]+)?", re.IGNORECASE)
_TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "spec", "specs", "__tests__", "testsuite", "selftests", "unittests", "e2e", "bench"}
    | {"benches", "benchmark", "benchmarks", "examples", "example", "samples", "demo", "demos"}
)
_TEST_FILE = re.compile(
    r"(?:test_.*|.*_test|.*_tests|conftest|.*[.-](?:test|tests|spec|stories)|.*(?:Test|Tests|TestCase|Spec))\.\w+"
)
# Folders that package managers or habit fill with other people's code (as GitHub's Linguist lists them).
_VENDORED = frozenset(
    {"node_modules", "bower_components", "vendor", "vendors", "vendored", "_vendor", "third_party", "third-party"}
    | {"3rdparty", "thirdparty", "external", "externals", "extern", "deps", "godeps", "site-packages", ".yarn", "pods"}
    | {"carthage", "jspm_packages", "_vendored_packages", "dist"}
)
_VENDORED_FILE = re.compile(
    r"gradlew(?:\.bat)?|mvnw(?:\.cmd)?|jquery(?:[-.]\d[\w.]*)?\.js|modernizr.*\.js|versioneer\.py", re.I
)
_FIXTURES = frozenset(
    {"fixtures", "fixture", "__fixtures__", "testdata", "test-data", "test_data", "__snapshots__", "snapshots"}
    | {"cassettes", "golden", "goldens", "goldenfiles", "baselines", "mocks", "__mocks__", "corpus"}
)
_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "cargo.lock", "go.sum"}
    | {"poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "gemfile.lock", "composer.lock", "mix.lock", "flake.lock"}
    | {"packages.lock.json", "pubspec.lock", "podfile.lock", "gradle.lockfile", "conan.lock", "package.resolved"}
)
_MINIFIED = re.compile(r".*[.-](?:min|bundle|bundled|pack|prod|umd\.min)\.(?:m|c)?(?:js|css)", re.IGNORECASE)


def split_repository(address: str, depth: int) -> tuple[str, str]:
    """(repository, path inside it): the repository is the first `depth` folders of an address, "" for depth 0.

    A file that does not lie that deep belongs to the folder in which it lies.
    """
    parts = address.split("/")
    depth = min(depth, len(parts) - 1)
    return "/".join(parts[:depth]), "/".join(parts[depth:])


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def folder_of(path: str) -> str:
    """The folder of a path, "" at the top."""
    return path.rpartition("/")[0]


def _folders(path: str) -> frozenset[str]:
    return frozenset(path.lower().split("/")[:-1])


def is_license(path: str) -> bool:
    """A file that holds the licence of what lies beside and below it (LICENSE, COPYING.LIB, LICENSE-MIT.txt, …).

    Folders of licences by name (REUSE's LICENSES/) hold texts that headers speak of, and give nothing to what lies
    beside them.
    """
    return _LICENSE_FILE.fullmatch(name_of(path)) is not None and not _LICENSE.fullmatch(name_of(folder_of(path)))


def is_dual(path: str) -> bool:
    """A licence file that names its licence, as packages under a choice of two have them (LICENSE-MIT)."""
    return _DUAL.fullmatch(name_of(path)) is not None


def is_manifest(path: str) -> bool:
    """A package's manifest that may name its licence (package.json, Cargo.toml, …)."""
    return name_of(path).lower() in _MANIFESTS


def is_readme(path: str) -> bool:
    return _README.fullmatch(name_of(path)) is not None


def is_test(path: str) -> bool:
    """A test, benchmark or example by its folder or its name: what shows the use of the rest."""
    return not _TEST_FOLDERS.isdisjoint(_folders(path)) or _TEST_FILE.fullmatch(name_of(path)) is not None


def is_vendored(path: str) -> bool:
    """Other people's code, or what a build made of this one (`dist`), by its folder or its name."""
    return not _VENDORED.isdisjoint(_folders(path)) or _VENDORED_FILE.fullmatch(name_of(path)) is not None


def is_fixture(path: str) -> bool:
    """Data of tests: fixtures, snapshots, recorded answers."""
    return not _FIXTURES.isdisjoint(_folders(path)) or path.endswith(".snap")


def is_lock(path: str) -> bool:
    """The exact versions that a package manager wrote down."""
    return name_of(path).lower() in _LOCKS


def is_minified(path: str) -> bool:
    return _MINIFIED.fullmatch(name_of(path)) is not None


def stem_of(path: str) -> str:
    return PurePosixPath(path).stem
