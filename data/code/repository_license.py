"""The licence of each file of a repository: its own header's, else that of the nearest folder that has one.

Odd: the shuffle works on references alone. What each file states was read by `code_license`; here it is handed down
the folders, and the recipe's policy decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from trivium.data.code.expression import PERMISSIVE, allowed, joined, licenses_of, normalise
from trivium.data.code.paths import folder_of, is_dual, is_license, is_manifest, name_of
from trivium.data.stage import ShuffleConfig

CONFLICT = "license_conflict"  # score: 1 when a file's header and the licence of its folder differ


class RepositoryLicense(ShuffleConfig, kw_only=True, tag="repository_license"):
    """Spreads licences from LICENSE files, manifests and headers, keeps the files that `allow` covers.

    The first `depth` folders of an address name the repository. `declared`: a file that nothing in its repository
    speaks for has the licence that its source declares (off: it is dropped as `no_license`). `conflict`: whose licence
    counts when a header says another one than the folder: the header's, both (joined by AND), or neither (dropped).
    Licence files themselves are dropped as `license_file` when they have spoken.
    """

    SCORES = (CONFLICT,)

    depth: int = 1
    allow: tuple[str, ...] = PERMISSIVE
    declared: bool = False
    conflict: Literal["header", "both", "reject"] = "header"
    min_confidence: float = 0.5  # below it a licence that was found does not count

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError(f"depth is {self.depth}; give the number of folders that name a repository, 0 or more")
        for name in self.allow:
            if normalise(name) != name:
                known = normalise(name)
                cure = f"SPDX writes it {known!r}" if known else "look it up at https://spdx.org/licenses"
                raise ValueError(f"allow: {name!r} is no SPDX identifier; {cure}")

    @property
    def compared(self) -> tuple[str, ...]:
        return ("license",)


class Stated(NamedTuple):
    """What one file states: `path` inside its repository; confidence 0 when it says nothing."""

    path: str
    expression: str
    confidence: float


class Given(NamedTuple):
    """What a folder's licence file or manifest (`path`) gives to the files below; expression "" for a text unknown."""

    expression: str
    path: str


class Verdict(NamedTuple):
    """A file's licence, and why it is dropped ("" when it stays); `conflict`: header and folder differ."""

    expression: str
    reason: str = ""
    detail: str = ""
    conflict: bool = False


def folder_licenses(files: Iterable[Stated], min_confidence: float) -> dict[str, Given]:
    """Of each folder that holds a licence file or a manifest with a licence what it gives.

    Texts that stand beside each other are joined by AND, except LICENSE-MIT beside LICENSE-APACHE, which by custom are
    a choice; a manifest that names the same licences says itself how they are joined.
    """
    texts: dict[str, list[Stated]] = {}
    manifests: dict[str, Stated] = {}
    for file in sorted(files):
        if is_license(file.path):
            texts.setdefault(folder_of(file.path), []).append(file)
        elif is_manifest(file.path) and file.confidence > 0:
            manifests.setdefault(folder_of(file.path), file)
    found = {folder: Given(file.expression, file.path) for folder, file in manifests.items()}
    for folder, group in texts.items():
        sure = [file for file in group if file.confidence >= min_confidence]
        path = (sure or group)[0].path
        choice = len(sure) > 1 and all(is_dual(file.path) for file in sure)
        given = Given(joined((file.expression for file in sure), "OR" if choice else "AND"), path)
        manifest = found.get(folder)
        if manifest is None or (given.expression and licenses_of(given.expression) != licenses_of(manifest.expression)):
            found[folder] = given
    return found


def nearest(path: str, given: Mapping[str, Given]) -> Given | None:
    """What the nearest folder around a file gives."""
    folder = folder_of(path)
    while True:
        if folder in given:
            return given[folder]
        if not folder:
            return None
        folder = folder_of(folder)


def judge(file: Stated, given: Mapping[str, Given], config: RepositoryLicense, declared: str) -> Verdict:
    """The file's licence and whether the recipe's policy keeps it; `declared` is what its source says of all files."""
    if is_license(file.path) or name_of(file.path) == "PKG-INFO":
        return Verdict(file.expression, "license_file", file.expression or "its text is not known")
    around = nearest(file.path, given)
    header = file.expression if file.confidence > 0 else ""
    conflict = bool(header and around and around.expression) and not _agree(header, around.expression if around else "")
    if conflict and around is not None:
        if config.conflict == "reject":
            return Verdict(header, "license_conflict", f"header {header}, {around.path} {around.expression}", True)
        if config.conflict == "both":
            header = joined((header, around.expression))
    expression, detail = _told(header, around)
    if not expression and around is None and config.declared:
        expression, detail = normalise(declared), "declared by its source"
    if not expression:
        if around is not None:
            return Verdict("", "unknown_license", f"{around.path} holds a text that is not known")
        return Verdict("", "no_license", "neither its header nor a file around it states one")
    if not allowed(expression, config.allow):
        return Verdict(expression, "license_not_allowed", f"{expression} ({detail})", conflict)
    return Verdict(expression, conflict=conflict)


def _told(header: str, around: Given | None) -> tuple[str, str]:
    if header:
        return header, "its header"
    return (around.expression, around.path) if around is not None else ("", "")


def _agree(header: str, around: str) -> bool:
    """A header that names one of the licences of its folder, or fewer or more of them, is no conflict."""
    mine, theirs = licenses_of(header), licenses_of(around)
    return mine <= theirs or theirs <= mine


def speaks(path: str) -> bool:
    """Whether a file of that path may give a licence to others; of a repository few do."""
    return is_license(path) or is_manifest(path)


def verdicts(files: Sequence[Stated], config: RepositoryLicense, declared: str) -> list[Verdict]:
    """One verdict for each file of one repository."""
    given = folder_licenses((file for file in files if speaks(file.path)), config.min_confidence)
    return [judge(file, given, config, declared) for file in files]
