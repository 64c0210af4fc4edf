"""Documents of whole repositories: the files of one in dependency order under a line with their path each.

    ==> psutil/psutil/_common.py <==
    (the file)

    ==> psutil/psutil/__init__.py <==
    …

The line is the one that `head` and `tail` print between files: plain text, no token of its own.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta as Bounds

from trivium.data.code.expression import joined
from trivium.data.config import digest
from trivium.data.records import Document, Lineage, Meta, Step, Text, source_id
from trivium.data.stage import Draft, ShuffleConfig

NAME, VERSION = "repository", 1


class Repository(ShuffleConfig, kw_only=True, tag="repository"):
    """Files of one repository → one document or several of at most `max_bytes` bytes of text, headers included.

    The first `depth` folders of an address name the repository. A file is never cut: one that is longer stands alone.
    `group: file` leaves every file a document of its own, with its path above it.
    """

    group: Literal["repository", "file"] = "repository"
    depth: Annotated[int, Bounds(ge=0)] = 1
    max_bytes: Annotated[int, Bounds(ge=1)] = 1 << 20


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which document of a repository: the number from 1, of how many; `whole` for a file by itself."""

    source: str
    repository: str
    number: int
    count: int

    @property
    def address(self) -> str:
        return f"{self.repository or self.source}#{self.number}"

    @property
    def title(self) -> str:
        name = self.repository or self.source
        return name if self.count == 1 else f"{name} (part {self.number} of {self.count})"


def header(address: str) -> str:
    return f"==> {address} <==\n"


def framed_size(address: str, text_bytes: int) -> int:
    """Bytes that a file takes in a document, from its address and its text's bytes."""
    return len(header(address).encode()) + text_bytes + 1


def framed(address: str, text: str) -> str:
    """The file as it stands in a document: its header line, its text, a blank line."""
    return header(address) + text + ("" if text.endswith("\n") else "\n") + "\n"


def step_of(config: Repository) -> Step:
    return Step(name=NAME, version=VERSION, parameters=digest(config))


def document_of(files: Sequence[Draft], part: Part, config: Repository) -> Draft:
    """One document of the files, in the order given; its lineage names each as a parent.

    Licences are joined by AND, the language is that of most bytes, and the near and exact duplicates that the files
    survived are the document's.
    """
    metas = [file.document.meta for file in files]
    texts = [framed(meta.address, file.document.text) for meta, file in zip(metas, files, strict=True)]
    languages: Counter[str] = Counter()
    for meta, text in zip(metas, texts, strict=True):
        languages[meta.language] += len(text)
    hashes = "".join(meta.lineage.source_sha256 for meta in metas)
    lineage = Lineage(
        source_sha256=hashlib.sha256(hashes.encode()).hexdigest(),
        parents=tuple(meta.source_id for meta in metas),
        steps=(*_steps(metas), step_of(config)),
    )
    meta = Meta(
        source_id=source_id(part.source, part.address),
        corpus=metas[0].corpus,
        domain=metas[0].domain,
        source=part.source,
        address=part.address,
        license=joined(meta.license for meta in metas),
        language=min(languages, key=lambda name: (-languages[name], name)),
        title=part.title,
        scores={"files": float(len(files)), **_masked(metas)},
        duplicates=tuple(sorted({one for meta in metas for one in meta.duplicates})),
        lineage=lineage,
    )
    return Draft(document=Document(segments=tuple(Text(text=text) for text in texts), meta=meta))


def _masked(metas: Sequence[Meta]) -> dict[str, float]:
    """How many of each kind of personal data and keys were masked in all files."""
    sums: dict[str, float] = {}
    for meta in metas:
        for name, score in meta.scores.items():
            if name.startswith("pii_"):
                sums[name] = sums.get(name, 0.0) + score
    return sums


def _steps(metas: Sequence[Meta]) -> Iterator[Step]:
    """The steps that the files took, each once in order of first use, with what they did to all files in numbers."""
    counts: dict[tuple[str, int, str, int | None], Counter[str]] = {}
    for meta in metas:
        for step in meta.lineage.steps:
            counts.setdefault((step.name, step.version, step.parameters, step.seed), Counter()).update(step.counts)
    for (name, version, parameters, seed), sums in counts.items():
        yield Step(name=name, version=version, parameters=parameters, seed=seed, counts=dict(sorted(sums.items())))


def file_document(file: Draft, config: Repository) -> Draft:
    """A file by itself under its path; it keeps its source id."""
    meta = file.document.meta
    lineage = msgspec.structs.replace(meta.lineage, steps=(*meta.lineage.steps, step_of(config)))
    meta = msgspec.structs.replace(meta, lineage=lineage)
    return Draft(document=Document(segments=(Text(text=framed(meta.address, file.document.text)),), meta=meta))


def read_frames(text: str) -> Iterator[tuple[str, str]]:
    """(address, text) of each file of a document's text that a line `==> … <==` opens; for readers and tests."""
    address, lines = "", list[str]()
    for line in text.splitlines(keepends=True):
        if line.startswith("==> ") and line.endswith(" <==\n"):
            if address:
                yield address, "".join(lines)[:-1]
            address, lines = line[4:-5], []
        else:
            lines.append(line)
    if address:
        yield address, "".join(lines)[:-1]
