"""What stands after the stage where a build was told to stop: a few texts as JSON lines, drawn by hash."""

import hashlib
import heapq
from pathlib import Path

import msgspec

from trivium.data.shards.storage import write_whole
from trivium.pipelines.corpora.output import REPORT
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref, lines_of
from trivium.pipelines.corpora.work import Work

FILE = "sample.jsonl"
COUNT = 200
TEXT = 20_000  # characters of one text


def write_sample(work: Work, folder: Path) -> Path:
    """Writes `folder`/report/sample.jsonl of the current references: COUNT records with the smallest hashes of their
    source ids, in the order of these ids."""
    lines = lines_of(work.state, "refs") if work.state is not None else iter(())
    drawn = heapq.nsmallest(COUNT, map(decode_ref, lines), key=_rank)
    reader = SpoolReader(work.folder)
    found = [_line(reader, ref) for ref in sorted(drawn, key=lambda ref: ref.source_id)]
    reader.close()
    path = folder / REPORT / FILE
    write_whole(path, b"".join(found))
    return path


def _rank(ref: Ref) -> bytes:
    return hashlib.blake2b(ref.source_id.encode(), digest_size=8).digest()


def _line(reader: SpoolReader, ref: Ref) -> bytes:
    document = reader.get(ref).document
    meta, text = document.meta, document.text
    shown = {
        "source_id": meta.source_id,
        "source": meta.source,
        "address": meta.address,
        "license": meta.license,
        "language": meta.language,
        "title": meta.title,
        "scores": meta.scores,
        "media": document.media,
        "characters": len(text),
        "text": text[:TEXT],
    }
    return msgspec.json.encode(shown) + b"\n"
