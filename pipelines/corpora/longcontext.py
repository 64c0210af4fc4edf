"""Long rows joined from shard sets, as a source: each row is a pure function of (recipe, sets, its number).

Odd: nothing is shuffled and nothing kept. A set's documents stand in a keyed permutation; row n begins reading it n
strides on and takes what fits, by offset, so a worker holds one row and the sets' indexes, and bytes are read only for
the documents that a row looks at. All rows together use a set evenly, at any number of rows.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

import msgspec
import numpy as np

from trivium.curriculum.schedule import HeldOut
from trivium.curriculum.shuffle import key64, permute
from trivium.data.config import Strict, digest
from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.row import Pool, RefusedError, Row, RowRules, compose
from trivium.data.longcontext.wording import Wording, load_wording
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Lineage, Meta, Step, source_id
from trivium.data.shards import ShardSet
from trivium.data.stage import Content, Draft, Outcome
from trivium.errors import ShardError
from trivium.pipelines.corpora.shards import TOKENS, check_set, local_paths, open_set, set_path
from trivium.pipelines.corpora.sources import AbsentError, Place, Source

NAME, VERSION = "long_context", 1


class PoolSet(Strict, kw_only=True):
    """One shard set: its `path` (relative to the recipe, or an address) and its `share` of a row's tokens."""

    name: str  # unique; stands in the lineage
    path: str
    share: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class LongContext(Source, kw_only=True, tag="long_context"):
    """`rows` long documents. `tokenizer` (a path) counts tokens exactly; without it `bytes_per_token` estimates them.

    `held_out` is the schedule's rule: documents that it keeps from training stand in no row.
    """

    GIVES = Content.LONG_ROWS

    path: str = ""
    license: str = ""  # of a row: those of its documents
    sets: tuple[PoolSet, ...]  # where the documents come from
    rows: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]  # 0: none, and its sets need not be there
    seed: int = 0  # of all choices
    row: RowRules  # what a row is
    tokenizer: str = ""
    bytes_per_token: Annotated[float, msgspec.Meta(ge=0.5, le=16)] = 2.0
    pictures: PictureRules = PictureRules()  # limits, as the schedule has them
    held_out: HeldOut = HeldOut()
    wording: Wording | None = None  # left out: the one that comes with Trivium

    def __post_init__(self) -> None:
        names = [one.name for one in self.sets]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"sets holds the names {names}; give at least one set, and each a name of its own")

    def paths(self) -> dict[tuple[str | int, ...], str]:
        return {**{("sets", at, "path"): one.path for at, one in enumerate(self.sets)}, ("tokenizer",): self.tokenizer}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        sets = tuple(
            msgspec.structs.replace(one, path=paths.get(("sets", at, "path"), one.path))
            for at, one in enumerate(self.sets)
        )
        return msgspec.structs.replace(self, sets=sets, tokenizer=paths.get(("tokenizer",), self.tokenizer))

    def reads(self, base: Path) -> tuple[Path, ...]:
        return local_paths(set_path(one.path, base) for one in self.sets)

    def check(self, base: Path) -> None:
        if not self.rows:
            return
        for at, one in enumerate(self.sets):
            check_set(f"{self.name}/{one.name}", set_path(one.path, base), ("sets", at, "path"))
        if self.tokenizer and not (base / Path(self.tokenizer).expanduser()).exists():
            raise AbsentError(
                f"source {self.name!r}: no tokenizer at {base / self.tokenizer}; make one with `trivium tokenizer "
                "train`, or leave the key out: lengths are then estimated from bytes",
                ("tokenizer",),
            )

    def places(self, base: Path) -> Iterator[Place]:
        """One place a row; `path` is the recipe's folder."""
        for number in range(self.rows):
            yield Place(path=str(base.absolute()), address=f"row-{number:08d}", offset=number)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:  # type: ignore[override]
        try:
            yield self._row(place, corpus, domain)
        except RefusedError as error:
            yield self.drop(place.address, error.reason, error.detail)
        except ShardError as error:
            yield self.drop(place.address, "damaged", str(error), error=True)

    def _row(self, place: Place, corpus: str, domain: str) -> Draft:
        base, number = Path(place.path), place.offset
        sets = {one.name: open_set(set_path(one.path, base)) for one in self.sets}
        tokenizer = str((base / Path(self.tokenizer).expanduser()).absolute()) if self.tokenizer else ""
        meter = _meter(tokenizer, self.bytes_per_token, self.pictures)
        wording = self.wording or load_wording()
        pools = [Pool(one.name, one.share, self._records(one, sets[one.name], number)) for one in self.sets]
        row = compose(pools, self.row, wording, meter, Dice(self.seed, self.name, number))
        made_of = [
            msgspec.to_builtins(self),
            msgspec.to_builtins(wording),
            [sets[one.name].digest for one in self.sets],
        ]
        step = Step(name=NAME, version=VERSION, parameters=digest(made_of), seed=self.seed)
        meta = self._meta(row, step, place.address, corpus, domain)
        return Draft(document=Document(segments=tuple(row.layout.segments), meta=meta), media=row.layout.media)

    def _records(self, one: PoolSet, shards: ShardSet, number: int) -> Iterator[tuple[Document, Mapping[str, bytes]]]:
        """The set's documents from this row's place in the permutation on, each at most once."""
        count = len(shards)
        start = number * self._stride(one, shards)
        for position in range(start, start + count):
            epoch, place = divmod(position, count)
            key = key64(NAME, self.seed, one.name, epoch)
            record = int(permute(np.array([place], dtype=np.int64), count, key)[0])
            if held_out(str(shards.entries.cluster[record]) or str(shards.entries.id[record]), self.held_out):
                continue
            document, media = shards.read(record)
            media.pop(TOKENS, None)
            yield document, media

    def _stride(self, one: PoolSet, shards: ShardSet) -> int:
        """About as many documents as a row takes of the set; rows next to each other share few of them."""
        share = one.share / sum(other.share for other in self.sets)
        stored = sum(info.bytes for info in shards.manifest.shards) / max(1, len(shards))
        return max(1, int(share * self.row.aim * self.row.tokens * self.bytes_per_token / max(1.0, stored)))

    def _meta(self, row: Row, step: Step, address: str, corpus: str, domain: str) -> Meta:
        languages = {page.language for page in row.pages if page.language}
        return Meta(
            source_id=source_id(self.name, address),
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=address,
            license=joined({page.license for page in row.pages}),
            language=languages.pop() if len(languages) == 1 else "mul" * bool(languages),
            title=f"{len(row.pages)} documents, {len(row.tasks)} questions",
            scores=_scores(row),
            evidence=row.evidence,
            lineage=Lineage(parents=tuple(sorted(page.key for page in row.pages)), steps=(step,)),
        )


def _scores(row: Row) -> dict[str, float]:
    """Sums of a row; distances in tokens, from a question's evidence to its answer."""
    distances = [one.answer - at for one in row.evidence for at in one.at]
    spreads = [one.at[-1] - one.at[0] for one in row.evidence]
    return {
        "tokens": float(row.layout.tokens),
        "patches": float(row.layout.patches),
        "documents": float(len(row.pages)),
        "questions": float(len(row.tasks)),
        "evidence_near": float(min(distances)),
        "evidence_far": float(max(distances)),
        "evidence_spread": float(max(spreads)),
    }


def joined(licences: set[str]) -> str:
    """All licences of a row's documents as one expression: `GPL-3.0-only AND (MIT OR Apache-2.0)`."""
    return " AND ".join(f"({licence})" if " OR " in licence else licence for licence in sorted(licences) if licence)


def held_out(cluster: str, rule: HeldOut) -> bool:
    """Whether a schedule with this rule keeps the cluster from training (`trivium.curriculum.catalogue.split`)."""
    payload = rule.salt.encode() + b"\x1f" + cluster.encode()
    value = int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "little")
    return value < int(rule.fraction * 2**64)


@lru_cache(maxsize=4)
def _meter(tokenizer: str, bytes_per_token: float, rules: PictureRules) -> Meter:
    return Meter.load(bytes_per_token, rules, Path(tokenizer) if tokenizer else None)
