"""Proves a shard set: every byte of every tar against its index, the manifest, and itself."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trivium.data.shards import names
from trivium.data.shards.manifest import Bucket, Manifest, ShardInfo, read_index, read_manifest
from trivium.data.shards.reader import read_rejects
from trivium.data.shards.scan import Scanned, content_fault, index_faults, scan
from trivium.data.shards.storage import Blob
from trivium.data.shards.writer import patches_of
from trivium.errors import InputError, ShardError

_ID_BITS = np.uint32((1 << 31) - 1)


@dataclass(slots=True)
class Report:
    """What `verify` read and what it found wrong; no problems = the set is whole."""

    shards: int = 0
    records: int = 0
    tokens: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    _ids: dict[str, str] = field(default_factory=dict)
    _licences: Counter[str] = field(default_factory=Counter)
    _languages: Counter[str] = field(default_factory=Counter)

    def facts(self) -> dict[str, object]:
        """For --json."""
        return {
            "ok": not self.problems,
            "shards": self.shards,
            "records": self.records,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "problems": self.problems,
        }


def verify(path: Path, progress: Callable[[int], None] = lambda _: None) -> Report:
    """Reads a set, or one tar, from end to end; `progress` gets the bytes of each finished tar.

    Raises InputError when there is nothing at `path`. All other faults are problems in the report.
    """
    report = Report()
    if path.is_file():
        _scan_tar(path, None, report)
        progress(report.bytes)
        return report
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder; give a shard set's folder or one tar")
    try:
        manifest, _ = read_manifest(path)
    except ShardError as error:
        report.problems.append(str(error))
        for tar in sorted(path.rglob("*.tar")):
            _scan_tar(tar, None, report)
            progress(tar.stat().st_size)
        return report
    for info in manifest.shards:
        _verify_shard(path, info, manifest, report)
        progress(info.bytes)
    _check_sums(path, manifest, report)
    return report


def _scan_tar(path: Path, manifest: Manifest | None, report: Report) -> list[Scanned]:
    found = []
    blob = Blob(path)
    for record in scan(path, report.problems):
        fault = content_fault(record, blob)
        if fault:
            report.problems.append(f"{path}: record {record.id}: {fault}")
        if record.id in report._ids:
            report.problems.append(f"{path}: record {record.id} is in {report._ids[record.id]} too")
        report._ids[record.id] = path.name
        if record.document is not None:
            report._licences[record.document.meta.license] += 1
            report._languages[record.document.meta.language] += 1
            if manifest is not None:
                problems = _record_faults(record, manifest, names.bucket_of_name(path.name))
                report.problems += [f"{path}: record {record.id}: {problem}" for problem in problems]
        report.tokens += 0 if record.tokens is None else len(record.tokens)
        record.tokens, record.document = None, None
        found.append(record)
    blob.close()
    report.shards += 1
    report.records += len(found)
    report.bytes += path.stat().st_size
    return found


def _verify_shard(folder: Path, info: ShardInfo, manifest: Manifest, report: Report) -> None:
    path = folder / names.SHARDS / info.name
    try:
        digest = _sha256(path)
        if digest != info.sha256:
            report.problems.append(
                f"{path}: sha256 {digest[:16]}…, the manifest says {info.sha256[:16]}…; the file was changed or is of "
                "another build: copy it again, or build the set again"
            )
        found = _scan_tar(path, manifest, report)
        index = read_index(folder, info)
    except ShardError as error:
        report.problems.append(str(error))
        return
    where = path.with_name(names.index_name(info.name))
    report.problems += [f"{where}: {fault}" for fault in index_faults(index, found)]
    sums = {"records": len(index.id), "tokens": sum(index.tokens), "patches": sum(index.patches), "bytes": index.bytes}
    for name, value in sums.items():
        if getattr(info, name) != value:
            report.problems.append(f"{where}: {name} sum to {value}, the manifest says {getattr(info, name)}")


def _record_faults(record: Scanned, manifest: Manifest, bucket: str) -> Iterator[str]:
    document, vocabulary, rules = record.document, manifest.vocabulary, manifest.picture_rules
    if document is not None and document.meta.corpus != manifest.corpus:
        yield f"is of corpus {document.meta.corpus!r}, the manifest of {manifest.corpus!r}"
    if manifest.tokenizer is None or vocabulary is None or rules is None:
        if record.tokens is not None:
            yield "has tokens in a set without a tokenizer"
        return
    if record.tokens is None:
        yield "has no tokens in a tokenised set"
        return
    ids = record.tokens & _ID_BITS
    if len(ids) < 2 or ids[0] != vocabulary.bos or ids[-1] != vocabulary.eos:
        yield "its tokens are not framed by [BOS] and [EOS]"
    if len(ids) and int(ids.max()) >= vocabulary.size:
        yield f"token {int(ids.max())} lies outside the vocabulary of {vocabulary.size}"
    pads = int((ids == vocabulary.media_pad).sum())
    if document is not None and pads * 4 != patches_of(document, rules):
        yield f"{pads} pads stand for {patches_of(document, rules)} patches; there must be one for each 4"
    yield from _bucket_fault(len(ids), bucket, manifest.buckets)


def _bucket_fault(tokens: int, bucket: str, buckets: tuple[Bucket, ...]) -> Iterator[str]:
    lower = 0
    for candidate in buckets:
        if candidate.name == bucket:
            if tokens <= lower or (candidate.tokens is not None and tokens > candidate.tokens):
                yield f"{tokens} tokens do not belong into bucket {bucket!r}"
            return
        lower = candidate.tokens or 0
    yield f"its shard's bucket {bucket!r} is not in the manifest"


def _check_sums(folder: Path, manifest: Manifest, report: Report) -> None:
    where = folder / names.MANIFEST
    if len({shard.name for shard in manifest.shards}) != len(manifest.shards):
        report.problems.append(f"{where}: a shard is listed twice")
    for name, found in (("licences", report._licences), ("languages", report._languages)):
        if getattr(manifest, name) != dict(found):
            report.problems.append(f"{where}: {name} {getattr(manifest, name)}, the records have {dict(found)}")
    if manifest.picture_rules is not None and manifest.pictures != manifest.picture_rules.digest():
        report.problems.append(f"{where}: the picture digest is not that of its picture rules")
    listed = {shard.name for shard in manifest.shards}
    for path in sorted((folder / names.SHARDS).glob("*")):
        if path.name.replace(".idx.json", ".tar") not in listed:
            report.problems.append(f"{path}: not in the manifest; remove it, or build the set again")
    try:
        rejects = sum(1 for _ in read_rejects(folder))
    except ShardError as error:
        report.problems.append(str(error))
        return
    if rejects != manifest.rejects:
        report.problems.append(f"{where}: {manifest.rejects} rejects, {names.REJECTS}/ holds {rejects}")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ShardError(
            f"{path}: can't be read ({error.strerror}); copy the file again, or build the set again"
        ) from None
