"""Writes what a source file itself states of its licence; `repository_license` then looks at the files around it."""

from collections.abc import Iterator

import msgspec

from trivium.data.code.license_text import Found, of_header, of_license_file, of_manifest
from trivium.data.code.paths import is_license, is_manifest
from trivium.data.config import digest
from trivium.data.records import Step
from trivium.data.stage import Draft, Item, Outcome, StageConfig, touched


class CodeLicense:
    """`meta.license` becomes the SPDX expression of the file's header, of the licence text that it is, or of the
    manifest that it is; the score `license` says how sure that is. A file that says nothing keeps what its source
    declares, with the score 0."""

    name = "code_license"
    version = 1

    class Config(StageConfig, kw_only=True, tag="code_license"):
        SCORES = ("license",)

        def build(self) -> "CodeLicense":
            return CodeLicense(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        of_license_file("")  # loads the matcher, or says that it is absent

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("code_license takes documents; put code_language before it")
        meta = item.document.meta
        found = look(meta.address, item.document.text)
        scores = {**meta.scores, "license": found.confidence}
        meta = msgspec.structs.replace(meta, license=found.expression or meta.license, scores=scores)
        document = msgspec.structs.replace(item.document, meta=meta)
        yield touched(msgspec.structs.replace(item, document=document), self.step)


def look(path: str, text: str) -> Found:
    """What one file states, by what kind of file its path makes it."""
    if is_license(path):
        return of_license_file(text)
    return of_manifest(path, text) if is_manifest(path) else of_header(text)
