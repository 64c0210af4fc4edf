"""Proves a shard set: every byte of every tar against its index, the manifest, and itself."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trivium.data.patches import PictureRules
from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.address import Patience, Place, place
from trivium.data.shards.index import read_index, sums_of
from trivium.data.shards.manifest import Bucket, Manifest, ShardInfo, read_manifest
from trivium.data.shards.reader import REJECTS_LIMIT, parse_rejects
from trivium.data.shards.scan import Scanned, Tape, content_fault, index_faults, scan
from trivium.data.shards.storage import read_file, sizes_in
from trivium.data.video.plan import media_cost
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


def verify(
    path: Place | str, progress: Callable[[int], None] = lambda _: None, *, patience: Patience | None = None
) -> Report:
    """Reads a set, or one tar, from end to end; `progress` gets the bytes of each finished tar.

    Raises InputError when there is nothing at `path`, or nothing of a shard set, and StorageError. All other faults are
    problems in the report.
    """
    where, report = place(path, patience), Report()
    if where.name.endswith(".tar") and not (isinstance(where, Path) and where.is_dir()):
        if isinstance(where, Path) and not where.is_file():
            raise InputError(f"{where}: no such file or folder; give a shard set's folder or one tar")
        _scan_tar(where, None, report)
        progress(report.bytes)
        return report
    if isinstance(where, Path) and not where.is_dir():
        what = "not a folder or a tar" if where.exists() else "no such file or folder"
        raise InputError(f"{where}: {what}; give a shard set's folder or one tar")
    try:
        manifest, _ = read_manifest(where)
    except ShardError as error:
        report.problems.append(str(error))
        tars = _tars_below(where)
        if not tars and (not isinstance(where, Path) or not (where / names.MANIFEST).exists()):
            raise InputError(f"{where}: no {names.MANIFEST} and no tar; give a shard set's folder or one tar") from None
        for tar in tars:
            before = report.bytes
            _scan_tar(tar, None, report)
            progress(report.bytes - before)
        return report
    for info in manifest.shards:
        _verify_shard(where, info, manifest, report)
        progress(info.bytes)
    _check_sums(where, manifest, report)
    _check_files(where, manifest, report)
    return report


def _tars_below(folder: Place) -> list[Place]:
    if isinstance(folder, Path):
        return list[Place](sorted(folder.rglob("*.tar")))
    held = sizes_in(folder / names.SHARDS) or {}
    return [folder / names.SHARDS / name for name in sorted(held) if name.endswith(".tar")]


def _scan_tar(path: Place, manifest: Manifest | None, report: Report) -> tuple[list[Scanned], str]:
    """The records found, and the sha256 of the tar where a manifest has one to compare."""
    found = []
    tape = Tape(path)
    for record in scan(tape, report.problems):
        fault = content_fault(record)
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
    report.shards += 1
    report.records += len(found)
    report.bytes += tape.length
    digest = "" if manifest is None else tape.sha256()
    tape.close()
    return found, digest


def _verify_shard(folder: Place, info: ShardInfo, manifest: Manifest, report: Report) -> None:
    path = folder / names.SHARDS / info.name
    found: list[Scanned] | None = None
    try:
        at = len(report.problems)
        found, digest = _scan_tar(path, manifest, report)
        if digest != info.sha256:
            report.problems.insert(
                at,
                f"{path}: sha256 {digest[:16]}…, the manifest says {info.sha256[:16]}…; the file was changed or is of "
                "another build: copy it again, or build the set again",
            )
    except ShardError as error:
        report.problems.append(str(error))
    try:
        index = read_index(folder, info)
    except ShardError as error:
        report.problems.append(str(error))
        return
    where = path.parent / names.index_name(info.name)
    if found is not None:
        report.problems += [f"{where}: {fault}" for fault in index_faults(index, found)]
    for name, value in {**sums_of(index), "bytes": index.bytes}.items():
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
    if document is not None:
        yield from _media_faults(document, rules, int((ids == vocabulary.media_pad).sum()), record.columns)
    yield from _bucket_fault(len(ids), bucket, manifest.buckets)


def _media_faults(document: Document, rules: PictureRules, pads: int, columns: dict[str, Any]) -> Iterator[str]:
    """Pads against what pictures and clips need; adds the patches, which the index states, to `columns`."""
    try:
        columns["patches"], needed = media_cost(document, rules)
    except InputError as error:
        yield str(error)
        return
    if pads != needed:
        yield f"{pads} media tokens where its pictures and clips of {columns['patches']} patches need {needed}"


def _bucket_fault(tokens: int, bucket: str, buckets: tuple[Bucket, ...]) -> Iterator[str]:
    lower = 0
    for candidate in buckets:
        if candidate.name == bucket:
            if tokens <= lower or (candidate.tokens is not None and tokens > candidate.tokens):
                yield f"{tokens} tokens do not belong into bucket {bucket!r}"
            return
        lower = candidate.tokens or 0
    yield f"its shard's bucket {bucket!r} is not in the manifest"


def _check_sums(folder: Place, manifest: Manifest, report: Report) -> None:
    where = folder / names.MANIFEST
    for name, found in (("licences", report._licences), ("languages", report._languages)):
        if getattr(manifest, name) != dict(found):
            said = f"{name} are {_listed(getattr(manifest, name))}; the records have {_listed(found)}"
            report.problems.append(f"{where}: {said}")
    if manifest.picture_rules is not None and manifest.pictures != manifest.picture_rules.digest():
        report.problems.append(f"{where}: the picture digest is not that of its picture rules")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {counts[name]:,}" for name in sorted(counts)) or "none"


def _check_files(folder: Place, manifest: Manifest, report: Report) -> None:
    """Rejects byte by byte, and files that no manifest lists."""
    rejects = 0
    for name, file in sorted(manifest.reject_files.items()):
        path = folder / names.REJECTS / name
        try:
            digest = hashlib.sha256(read_file(path, REJECTS_LIMIT)).hexdigest()
            if digest != file.sha256:
                report.problems.append(f"{path}: sha256 {digest[:16]}…, the manifest says {file.sha256[:16]}…")
            rejects += sum(1 for _ in parse_rejects(path, tell=report.problems.append))
        except ShardError as error:
            report.problems.append(str(error))
    if rejects != manifest.rejects:
        where = folder / names.MANIFEST
        report.problems.append(f"{where}: {manifest.rejects} rejects, {names.REJECTS}/ holds {rejects}")
    listed = {info.name for info in manifest.shards} | {names.index_name(info.name) for info in manifest.shards}
    for below, known in ((names.SHARDS, listed), (names.REJECTS, set(manifest.reject_files))):
        for name in sorted((sizes_in(folder / below) or {}).keys() - known):
            report.problems.append(
                f"{folder / below / name}: not in the manifest; foreign, or left by a run that was killed: remove it"
            )
