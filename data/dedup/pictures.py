"""Parameters of the removal of near-identical pictures, and how alike two of them are.

Odd: a perceptual hash alone removes nothing. Screenshots and icons are near-uniform, and their hashes are equal by
chance; so it only brings pictures together, and what decides is the largest difference of their thumbnails anywhere.
A difference weighs less where both change quickly: an edge moves by half a pixel when a picture is scaled, while other
words of a page differ where the grey is even.
"""

from typing import Annotated, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from trivium.data.dedup.config import Dedup
from trivium.data.dedup.sketches import Set
from trivium.data.records import Image, Video
from trivium.data.stage import Content

GREY, COLOR = 48, 16  # pixels a side of the two thumbnails
VIEW = GREY * GREY + 3 * COLOR * COLOR  # bytes of a view's thumbnails
ASPECT = 0.03  # relative difference of width / height from which two pictures are unlike
VALUES = 32  # of a sketch: 16 nibbles of the hash, 16 cells of the first view
EDGE = 2.0  # how much less a difference counts on an edge of the whole range: divided by 1 + EDGE
VERSION = 1  # of hash, thumbnails and comparison together

_HEAD = 2  # words before a sketch's views: the hash

Bytes = npt.NDArray[np.uint8]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A picture or clip and what its record says of it."""

    payload: bytes
    stated: Image | Video


class Thumbs(msgspec.Struct, frozen=True, kw_only=True):
    """VIEW bytes for each picture or frame, one after the other, and the width and height of each in pixels."""

    thumbs: bytes
    sizes: list[tuple[int, int]]


class PictureDedup(Dedup, kw_only=True, tag="picture_dedup"):
    """Of drawn items whose pictures look the same one stays, whatever their code says.

    Candidates share one of the four 16-bit bands of the first picture's 64-bit pHash. A pair is kept when the hashes
    differ in at most `distance` bits and the thumbnails (48 x 48 in grey, 16 x 16 in colour) of each of the first
    `views` pictures differ nowhere by more than 1 - `threshold` of the whole range, or up to three times that on edges:
    pictures of other proportions, or another number of them, are never alike. The survivor has the best `quality`, then
    the longest code, then the smallest source id. `max_cluster` stops the build; a larger value is the override that a
    person gives. What `keep` leaves is 3 kB a picture.
    """

    WORD = "picture"
    REASON: ClassVar[str] = "near_identical"
    LIKENESS: ClassVar[str] = "likeness"
    TAKES = frozenset({Content.DRAWN})

    distance: Annotated[int, Meta(ge=0, le=16)] = 8  # bits of 64
    threshold: Annotated[float, Meta(gt=0, le=1)] = 0.89  # no cell differs by more than 28 of 255 levels
    views: Annotated[int, Meta(ge=1, le=16)] = 4  # pictures of an item that are compared; of a clip four frames
    max_cluster: int = 1000  # records

    @property
    def bands(self) -> int:
        return 4

    @property
    def rows(self) -> int:
        return 4  # nibbles: 16 bits of the hash

    @property
    def permutations(self) -> int:
        return VALUES

    @property
    def agreement(self) -> float:
        """Hashes that differ in `distance` bits have 16 - distance equal nibbles; cells may all differ a little."""
        return (16 - self.distance) / VALUES + 0.25

    @property
    def made(self) -> dict[str, str | int | float]:
        own = {"pictures": VERSION, "distance": self.distance, "threshold": self.threshold, "views": self.views}
        return {**own, **super().made}

    def alike(self, a: Set, b: Set) -> float:
        """1 less the largest weighed difference of any cell of any view; 0 where the two can't be compared."""
        if len(a) != len(b) or distance(a, b) > self.distance:
            return 0.0
        (sizes, one), (others, other) = views_of(a), views_of(b)
        if np.any(np.abs(sizes[:, 0] * others[:, 1] / (sizes[:, 1] * others[:, 0]) - 1) > ASPECT):
            return 0.0
        apart = (np.maximum(one, other) - np.minimum(one, other)).astype(np.float32)
        edges = np.minimum(ranges(one), ranges(other)).astype(np.float32)
        apart[:, : GREY * GREY] /= 1 + EDGE * edges.reshape(len(one), -1) / 255
        return 1.0 - float(apart.max()) / 255


def sketch(phash: str, sizes: npt.NDArray[np.int64], thumbs: Bytes) -> tuple[npt.NDArray[np.uint32], Set]:
    """(VALUES values, set) of an item: its 16 hex digits, [V, 2] widths and heights, [V, VIEW] thumbnails."""
    nibbles = np.array([int(digit, 16) for digit in phash], dtype=np.uint32)
    grid = thumbs[0, : GREY * GREY].reshape(4, GREY // 4, 4, GREY // 4).mean(axis=(1, 3)).astype(np.uint32) // 16
    head = np.array([int(phash[:8], 16), int(phash[8:], 16)], dtype=np.uint32)
    words = np.concatenate((head, sizes.astype(np.uint32).ravel(), np.ascontiguousarray(thumbs).view("<u4").ravel()))
    return np.concatenate((nibbles, grid.ravel())), words.astype(np.uint32)


def ranges(thumbs: Bytes) -> Bytes:
    """[V, GREY, GREY]: the range of each grey cell and its eight neighbours."""
    grey = np.pad(thumbs[:, : GREY * GREY].reshape(-1, GREY, GREY), ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = [grey[:, top : top + GREY, left : left + GREY] for top in range(3) for left in range(3)]
    found: Bytes = np.maximum.reduce(around) - np.minimum.reduce(around)
    return found


def distance(a: Set, b: Set) -> int:
    """Bits in which the hashes of two sets differ."""
    return sum(int(word).bit_count() for word in (a[:_HEAD] ^ b[:_HEAD]).tolist())


def views_of(found: Set) -> tuple[npt.NDArray[np.float64], Bytes]:
    """([V, 2] widths and heights, [V, VIEW] thumbnails) of a set."""
    count = (len(found) - _HEAD) // (2 + VIEW // 4)
    sizes = found[_HEAD : _HEAD + 2 * count].reshape(count, 2).astype(np.float64)
    return sizes, np.ascontiguousarray(found[_HEAD + 2 * count :]).view(np.uint8).reshape(count, VIEW)
