"""Writes what a source file itself states of its licence; `repository_license` then looks at the files around it."""

import msgspec

from trivium.data.code.license_text import Found, of_header, of_license_file, of_manifest
from trivium.data.code.paths import is_license, is_manifest
from trivium.data.frames import DocumentStage
from trivium.data.stage import Draft, Outcome, StageConfig, touched


class CodeLicense(DocumentStage["CodeLicense.Config"]):
    """`meta.license` becomes the SPDX expression of the file's header, of the licence text that it is, or of the
    manifest that it is; the score `license` says how sure that is. A file that says nothing keeps what its source
    declares, with the score 0."""

    name = "code_license"
    version = 1
    after = "put code_language before it"

    class Config(StageConfig, kw_only=True, tag="code_license"):
        SCORES = ("license",)

        def build(self) -> "CodeLicense":
            return CodeLicense(self)

    def open(self) -> None:
        of_license_file("")  # loads the matcher, or says that it is absent

    def close(self) -> None:
        pass

    def outcome(self, draft: Draft) -> Outcome:
        meta = draft.document.meta
        found = look(meta.address, draft.document.text)
        scores = {**meta.scores, "license": found.confidence}
        meta = msgspec.structs.replace(meta, license=found.expression or meta.license, scores=scores)
        document = msgspec.structs.replace(draft.document, meta=meta)
        return touched(msgspec.structs.replace(draft, document=document), self.step)


def look(path: str, text: str) -> Found:
    """What one file states, by what kind of file its path makes it."""
    if is_license(path):
        return of_license_file(text)
    return of_manifest(path, text) if is_manifest(path) else of_header(text)
