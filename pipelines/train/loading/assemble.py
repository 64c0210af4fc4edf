"""Rows to a batch: one vectorised pass over all tokens of a step; records that can't be used are left out by name.

T tokens of the step, P pieces, I pictures.

Odd: `model.batch.collate` defines what a batch is; this does the same for many pieces at once, without objects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trivium.curriculum.rows import Piece, Row
from trivium.data.patches import PictureRules
from trivium.data.shards import ShardSet, Vocabulary
from trivium.data.tokenizers.layout import NO_LOSS
from trivium.model.batch import MEDIA, NO_TARGET, PATCH_PIXELS, TEXT, TEXT_AFTER_PICTURE, Batch, Sample
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.decoders import Decoders, need_clip_decoder
from trivium.pipelines.train.loading.faults import BadRecordError, Reason, Skip
from trivium.pipelines.train.loading.pictures import Pictures, PictureStore
from trivium.pipelines.train.loading.tokens import NOTHING, Stored, TokenReader
from trivium.vision.preprocess import normalise


@dataclass(frozen=True, slots=True)
class Assembled:
    """A batch and what was left out of it."""

    batch: Batch
    skips: tuple[Skip, ...]


class Assembler:
    """Turns pieces of opened sets into batches; `pin` puts them into memory that a GPU copies from directly."""

    def __init__(
        self,
        sets: Mapping[str, ShardSet],
        rules: PictureRules,
        vocabulary: Vocabulary,
        data: Data | None = None,
        *,
        pin: bool = False,
        ranks_here: int = 1,
    ) -> None:
        self.sets, self.vocabulary, self.pin = sets, vocabulary, pin
        data = data or Data()
        self._tokens = TokenReader(sets, data)
        self._aside = TokenReader(sets, data)  # for single samples: an evaluation reads while the feed does
        need_clip_decoder(sets)
        decoders = Decoders(data.processes(ranks_here), rules, data.decode_seconds, data.clip_seconds)
        self.store = PictureStore(sets, decoders, data)

    @property
    def media_pad(self) -> int:
        return self.vocabulary.media_pad

    def prefetch(self, rows: Sequence[Row]) -> None:
        """Asks for the pictures of rows that will be assembled later; returns at once."""
        if self.store.decoders.workers:
            for piece in (piece for row in rows for piece in row.pieces):
                if self.shows(piece):
                    self.store.ask(piece.corpus, piece.record)

    def shows(self, piece: Piece) -> bool:
        """Whether the piece's record has pictures or clips."""
        return bool(self.sets[piece.corpus].entries.patches[piece.record])

    def assemble(self, rows: Sequence[Row]) -> Assembled:
        """All pieces of the rows, in order, without those of bad records. Raises StorageError or TrainError."""
        pieces = [piece for row in rows for piece in row.pieces]
        stored = self._tokens.read(pieces)
        shown = [self._shown(piece) for piece in pieces]
        faults = self._faults(pieces, stored, shown)
        skips = tuple(self._skip(pieces[i], faults[i]) for i in sorted(faults))
        kept = [pictures for i, pictures in enumerate(shown) if i not in faults and isinstance(pictures, Pictures)]
        return Assembled(self._batch(stored, kept, faults), skips)

    def batch(self, rows: Sequence[Row]) -> Batch:
        """The batch alone."""
        return self.assemble(rows).batch

    def sample(self, piece: Piece, pictures: Pictures | None = None) -> Sample:
        """One piece's tokens and pictures; `pictures` stand in for its own ones of equal grids.

        Raises BadRecordError when its record can't be used, StorageError or TrainError when it can't be had.
        """
        stored = self._aside.read([piece])
        own = self._shown(piece) if pictures is None else pictures
        fault = self._faults([piece], stored, [own]).get(0)
        if fault is not None:
            raise fault
        assert isinstance(own, Pictures)
        ids_T, loss_T = stored.raw_T & ~NO_LOSS, (stored.raw_T & NO_LOSS) == 0
        patches = tuple(normalise(one) for one in own.patches)
        return Sample(ids_T.astype(np.int64), loss_T, own.grids, patches, self._next(stored.next_P[0]))

    def _next(self, follows: np.uint32) -> int | None:
        return None if follows & NO_LOSS or follows == self.media_pad else int(follows)

    def usable(self, rows: Sequence[Row]) -> tuple[list[Row], tuple[Skip, ...]]:
        """The rows without the pieces of bad records, which are looked for now, and these; rows left empty are gone."""
        kept, skips = [], []
        for row in rows:
            faults = [self._fault(piece) for piece in row.pieces]
            pieces = tuple(piece for piece, fault in zip(row.pieces, faults, strict=True) if fault is None)
            skips += [self._skip(p, fault) for p, fault in zip(row.pieces, faults, strict=True) if fault is not None]
            if len(pieces) == len(row.pieces):
                kept.append(row)
            elif pieces:
                patches = sum(int(self.sets[piece.corpus].entries.patches[piece.record]) for piece in pieces)
                kept.append(Row(pieces, sum(piece.tokens for piece in pieces), patches))
        return kept, tuple(skips)

    def _fault(self, piece: Piece) -> BadRecordError | None:
        try:
            self.sample(piece)
        except BadRecordError as error:
            return error
        return None

    def pictures(self, corpus: str, record: int) -> Pictures:
        """The pictures and clips of a record; none for a text record, of which then nothing is read."""
        if not self.sets[corpus].entries.patches[record]:
            return Pictures()
        return self.store.get(corpus, record)

    def _shown(self, piece: Piece) -> Pictures | BadRecordError:
        try:
            return self.pictures(piece.corpus, piece.record)
        except BadRecordError as error:
            return error

    def _faults(
        self, pieces: Sequence[Piece], stored: Stored, shown: Sequence[Pictures | BadRecordError]
    ) -> dict[int, BadRecordError]:
        """By piece number: the first reason for which its record can't be used."""
        faults: dict[int, BadRecordError] = {}

        def found(i: int, reason: Reason, what: str) -> None:
            piece = pieces[i]
            record = self.sets[piece.corpus].entries.id[piece.record]
            faults.setdefault(i, BadRecordError(reason, f"corpus {piece.corpus}: record {record}: {what}"))

        for i, why in stored.damage.items():
            faults[i] = BadRecordError("bytes", f"corpus {pieces[i].corpus}: {why}")
        for i, one in enumerate(shown):
            if isinstance(one, BadRecordError):
                faults.setdefault(i, one)
        ids_T = stored.raw_T & ~NO_LOSS
        owner_of = _Owner(stored.lengths_P)
        if len(ids_T) and ids_T.max() >= self.vocabulary.size:
            for at in np.flatnonzero(ids_T >= self.vocabulary.size).tolist():
                what = f"token {ids_T[at]} lies outside the vocabulary of {self.vocabulary.size}"
                found(int(owner_of(at)), "vocabulary", what)
        pads_P = np.bincount(owner_of(np.flatnonzero(ids_T == self.media_pad)), minlength=len(pieces))
        needed_P = np.array([one.tokens if isinstance(one, Pictures) else 0 for one in shown], np.int64)
        for i in np.flatnonzero(pads_P != needed_P).tolist():
            found(
                i,
                "layout",
                f"{pads_P[i]} media tokens, and its pictures fill {needed_P[i]}; tokenise the shards anew with the "
                "picture rules of this run",
            )
        return faults

    def _skip(self, piece: Piece, fault: BadRecordError) -> Skip:
        key = f"{piece.corpus}/{self.sets[piece.corpus].entries.id[piece.record]}"
        return Skip(key=key, reason=fault.reason, detail=str(fault), start=piece.start, stop=piece.stop)

    def _batch(self, stored: Stored, shown: Sequence[Pictures], faults: Mapping[int, object]) -> Batch:
        raw_T, lengths_P, next_P = stored.raw_T, stored.lengths_P, stored.next_P
        if faults:
            good_P = np.ones(len(lengths_P), bool)
            good_P[list(faults)] = False
            raw_T = raw_T[np.repeat(good_P, lengths_P)]
            lengths_P, next_P = lengths_P[good_P], next_P[good_P]
        if not len(raw_T):  # a step, or a rank's part of one, without a usable record: one token, and no target
            raw_T, next_P = np.array([np.uint32(self.vocabulary.pad) | NO_LOSS], np.uint32), np.array([NOTHING])
            lengths_P, shown = np.ones(1, np.int64), [Pictures()]
        ids_T = (raw_T & ~NO_LOSS).astype(np.int64)
        stops_P = np.cumsum(lengths_P)
        follows_T = np.empty_like(raw_T)  # the token behind each, flags and all
        follows_T[:-1] = raw_T[1:]
        follows_T[stops_P - 1] = next_P
        targets_T = follows_T.astype(np.int64)
        targets_T[(follows_T >= NO_LOSS) | (follows_T == self.media_pad)] = NO_TARGET
        kind_P = np.array([TEXT_AFTER_PICTURE if one.grids else TEXT for one in shown], np.uint8)
        modality_T = np.repeat(kind_P, lengths_P)
        modality_T[ids_T == self.media_pad] = MEDIA
        grids = [grid for one in shown for grid in one.grids]
        return Batch(
            self._tensor(ids_T),
            self._tensor(targets_T),
            self._tensor(np.concatenate([np.zeros(1, np.int64), stops_P])),
            self._patches(shown),
            torch.tensor(grids, dtype=torch.int64).reshape(-1, 3),
            self._tensor(modality_T),
        )

    def _patches(self, shown: Sequence[Pictures]) -> Tensor:
        parts = [patches for one in shown for patches in one.patches]
        out_PC = torch.empty(sum(map(len, parts)), PATCH_PIXELS, pin_memory=self.pin)
        at = 0
        for part in parts:
            normalise(part, out_PC[at : at + len(part)])
            at += len(part)
        return out_PC

    def _tensor(self, array: NDArray[np.int64] | NDArray[np.uint8]) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.pin_memory() if self.pin else tensor

    def close(self) -> None:
        """Ends worker processes, threads and reads under way; the assembler can't be used again."""
        self._tokens.close()
        self._aside.close()
        self.store.close()


class _Owner:
    """Which piece a token belongs to."""

    def __init__(self, lengths_P: NDArray[np.int64]) -> None:
        self._stops_P = np.cumsum(lengths_P)

    def __call__(self, at: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Piece numbers of token numbers."""
        return np.searchsorted(self._stops_P, at, side="right")
