"""Candidate pairs from band buckets: all pairs of a small bucket, neighbours in several orders of a large one.

A band's record is 56 bytes: the key (the band's number, then 7 bytes of its values' hash), the tail (one byte of each
of the next 32 values of the signature), the hash of the source id, and where the text's set lies.

Odd: a bucket of n members has n² / 2 pairs, and one boilerplate can put a million members into it. A large bucket is
therefore sorted by its members' tails, four times from four places of the tail, and each member is paired with the two
before it and with the first of its run of equal tails: linear in n. True copies agree in most values, so they stand
side by side unless the first value in which they differ from the crowd is one of the few in which they differ from each
other; each order, and each further bucket that they share, is another chance.

A crowd, a bucket of more than CROWD members, is handed back instead: its orders are sorted by many workers, cut further
by the first value of each tail (`crowd_records`, `crowd_pairs`). No neighbours are looked for across such a cut.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trivium.data.dedup.sketches import ID, RowArray
from trivium.data.dedup.spill import Rows, ordered

KEY, TAIL, NAME, PLACE = 8, 32, 8, 8
BAND_RECORD = KEY + TAIL + NAME + PLACE
PAIR_RECORD = 24  # two places, the band, 7 bytes of nothing
ALL_PAIRS = 64  # members of a bucket up to which all its pairs are taken
CROWD = 20_000  # members of a bucket above which several workers share it
WINDOW = 2  # neighbours of a member in one order of a large bucket
ORDERS = (0, 8, 16, 24)  # where in the tail each order begins
SLACK = 0.25  # pairs of a large bucket whose tails agree in fewer values than the threshold less this are left out

_MIX = np.uint64(0x9E3779B97F4A7C15)
_BAND_SHIFT = np.uint64(56)

Places = npt.NDArray[np.uint64]
Keys = npt.NDArray[np.uint64]


def band_keys(values: npt.NDArray[np.uint32], bands: int, rows: int) -> Keys:
    """[N, bands] keys of [N, at least bands x rows] values: the band's number in the top byte, a hash below it."""
    count = len(values)
    keys = np.zeros((count, bands), dtype=np.uint64)
    for row in range(rows):
        keys ^= values[:, row : bands * rows : rows]
        keys *= _MIX
        keys ^= keys >> np.uint64(29)
    keys &= np.uint64((1 << 56) - 1)
    keys |= np.arange(bands, dtype=np.uint64) << _BAND_SHIFT
    return keys


def name_hashes(source_ids: npt.NDArray[np.bytes_]) -> Keys:
    """A 64-bit hash of each source id: an order that has nothing to do with who was read first."""
    padded = np.zeros((len(source_ids), 32), dtype=np.uint8)
    padded[:, :ID] = np.ascontiguousarray(source_ids).view(np.uint8).reshape(-1, ID)
    words = padded.view("<u8")
    hashes = np.zeros(len(words), dtype=np.uint64)
    for column in range(words.shape[1]):
        hashes ^= words[:, column]
        hashes *= _MIX
        hashes ^= hashes >> np.uint64(32)
    return hashes


def band_records(
    rows: RowArray, places: Places, bands: int, per_band: int, part: tuple[int, int, int]
) -> Iterator[tuple[int, bytes]]:
    """(partition, records) of signed texts, for the partitions from part[0] to below part[1] of part[2] in all."""
    values = rows["values"]
    keys = band_keys(values, bands, per_band)
    low, high, count = part
    numbers = ((keys & np.uint64((1 << 56) - 1)) >> np.uint64(8)) % np.uint64(count)
    ours = (numbers >= low) & (numbers < high)
    small = values.astype(np.uint8)
    small = np.tile(small, (1, 2 + -(-TAIL // small.shape[1])))  # so that a tail goes round the end
    ends = np.concatenate((_bytes(name_hashes(rows["source_id"])), _bytes(places)), axis=1)
    found = []
    for band in range(bands):
        texts = np.flatnonzero(ours[:, band])
        records = np.empty((len(texts), BAND_RECORD), dtype=np.uint8)
        records[:, :KEY] = _bytes(keys[texts, band])
        begin = (band + 1) * per_band
        records[:, KEY : KEY + TAIL] = small[texts, begin : begin + TAIL]
        records[:, KEY + TAIL :] = ends[texts]
        found.append(records)
    return split(np.concatenate(found), numbers.T[ours.T])


def split(records: Rows, numbers: Keys) -> Iterator[tuple[int, bytes]]:
    """(partition, its records) by the number of each record."""
    where = numbers.argsort(kind="stable")
    found, starts = np.unique(numbers[where], return_index=True)
    for number, rows in zip(found.tolist(), np.split(records[where], starts[1:]), strict=True):
        yield number, rows.tobytes()


def pairs(blocks: Iterable[bytes], threshold: float, most: int, scratch: Path) -> Iterator[Rows]:
    """Candidate pairs of one partition's band records, as PAIR_RECORDs, in memory bounded by `most` records.

    Between them come the BAND_RECORDs of crowds, as they are.
    """
    chunks = ordered(blocks, BAND_RECORD, 0, KEY, most, scratch)
    for single, group in groupby(chunks, key=_single):
        if single is None:
            for chunk in group:
                yield from _bucket_pairs(chunk, threshold, most, scratch)
        else:  # one key, and perhaps so many members that they come in pieces
            yield from _one_bucket(group, threshold, most, scratch)


def crowd_records(rows: Rows, part: tuple[int, int, int]) -> Iterator[tuple[int, bytes]]:
    """(partition, turned records) of crowds' BAND_RECORDs, for the partitions from part[0] to below part[1] of part[2].

    A partition holds whole cuts: all records of a bucket in one order whose tails begin with the same value. No two
    orders meet in one, when there are as many partitions.
    """
    low, high, count = part
    each = np.uint64(max(1, count // len(ORDERS)))
    for number, begin in enumerate(ORDERS):
        turned = _turned(rows, number, begin)
        keys = np.ascontiguousarray(turned[:, 1 : 1 + KEY]).view(">u8").ravel().astype(np.uint64)
        cuts = (keys ^ (turned[:, 1 + KEY].astype(np.uint64) + np.uint64(1))) * _MIX
        numbers = (np.uint64(number) * each + (cuts >> np.uint64(32)) % each) % np.uint64(count)
        ours = (numbers >= low) & (numbers < high)
        if ours.any():
            yield from split(turned[ours], numbers[ours])


def crowd_pairs(blocks: Iterable[bytes], threshold: float, most: int, scratch: Path) -> Iterator[Rows]:
    """Candidate pairs of one partition's turned records, as PAIR_RECORDs, in memory bounded by `most` records."""
    yield from _neighbours(blocks, threshold, most, scratch, same=1 + KEY + 1)


def _single(chunk: Rows) -> bytes | None:
    """The key of a chunk that holds one bucket only, else None."""
    first, last = chunk[0, :KEY].tobytes(), chunk[-1, :KEY].tobytes()
    return first if first == last and len(chunk) > ALL_PAIRS else None


def _bucket_pairs(chunk: Rows, threshold: float, most: int, scratch: Path) -> Iterator[Rows]:
    """Pairs of the buckets of a chunk that is sorted by key."""
    keys = np.ascontiguousarray(chunk[:, :KEY]).view(">u8").ravel()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sizes = np.diff(np.append(starts, len(keys)))
    small = np.repeat(sizes <= ALL_PAIRS, sizes)
    rows, few = chunk[small], keys[small]
    for distance in range(1, ALL_PAIRS):
        same = few[distance:] == few[:-distance]
        if not same.any():
            break
        at = np.flatnonzero(same)
        yield _pair_records(rows[at], rows[at + distance])
    for start, size in zip(starts[sizes > ALL_PAIRS].tolist(), sizes[sizes > ALL_PAIRS].tolist(), strict=True):
        yield from _one_bucket([chunk[start : start + size]], threshold, most, scratch)


def _one_bucket(bucket: Iterable[Rows], threshold: float, most: int, scratch: Path) -> Iterator[Rows]:
    """Pairs of one large bucket, or its records when it is a crowd."""
    pieces = iter(bucket)
    held: list[Rows] = []
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) > CROWD:
            yield from held
            yield from pieces
            return
    turned = (_turned(rows, number, begin).tobytes() for rows in held for number, begin in enumerate(ORDERS))
    yield from _neighbours(turned, threshold, most, scratch, same=1)


def _neighbours(turned: Iterable[bytes], threshold: float, most: int, scratch: Path, *, same: int) -> Iterator[Rows]:
    """Pairs of neighbours, and of first and later members of runs, of turned records that agree in the `same` first
    bytes."""
    least = int(TAIL * (threshold - SLACK))
    before = np.empty((0, 1 + BAND_RECORD), dtype=np.uint8)  # the first of the last run, and the last members
    for chunk in ordered(turned, 1 + BAND_RECORD, 0, 1 + KEY + TAIL + NAME, most, scratch):
        rows = np.concatenate((before, chunk))
        known = len(before)
        new = np.arange(known, len(rows))
        runs = np.ascontiguousarray(rows[:, : 1 + KEY + TAIL]).view(f"S{1 + KEY + TAIL}").ravel()
        begins = np.concatenate(([not known], runs[1:] != runs[:-1]))[new]
        heads = np.maximum.accumulate(np.where(begins, new, 0))  # 0: of a run that began in an earlier chunk
        for distance in range(1, WINDOW + 1):
            at = new[new - distance >= min(known, 1)]
            yield _close(rows[at - distance], rows[at], same, least)
        far = heads < new - WINDOW
        yield _close(rows[heads[far]], rows[new[far]], same, least)
        before = np.concatenate((rows[heads[-1]][None], rows[max(min(known, 1), len(rows) - WINDOW) :]))


def _turned(rows: Rows, number: int, begin: int) -> Rows:
    """Band records with the number of an order in front, and the tail from where that order begins."""
    turned = np.empty((len(rows), 1 + BAND_RECORD), dtype=np.uint8)
    turned[:, 0] = number
    turned[:, 1:] = rows
    turned[:, 1 + KEY : 1 + KEY + TAIL] = np.roll(rows[:, KEY : KEY + TAIL], -begin, axis=1)
    return turned


def _close(a: Rows, b: Rows, same: int, least: int) -> Rows:
    """Pairs of turned records that agree in the `same` first bytes and in `least` values of their tails."""
    tail = slice(1 + KEY, 1 + KEY + TAIL)
    alike = (a[:, :same] == b[:, :same]).all(axis=1) & (np.count_nonzero(a[:, tail] == b[:, tail], axis=1) >= least)
    return _pair_records(a[alike, 1:], b[alike, 1:])


def _pair_records(a: Rows, b: Rows) -> Rows:
    """Each pair with the one first whose name hashes lower, whoever came first."""
    names = slice(KEY + TAIL, KEY + TAIL + NAME)
    swap = _numbers(a[:, names]) > _numbers(b[:, names])
    found = np.zeros((len(a), PAIR_RECORD), dtype=np.uint8)
    found[:, :PLACE] = np.where(swap[:, None], b[:, -PLACE:], a[:, -PLACE:])
    found[:, PLACE : 2 * PLACE] = np.where(swap[:, None], a[:, -PLACE:], b[:, -PLACE:])
    found[:, 2 * PLACE] = a[:, 0]
    return found


def distinct_pairs(blocks: Iterable[bytes], most: int, scratch: Path) -> Iterator[tuple[Places, Places, Rows]]:
    """(first place, second place, band) of each pair once, by the lowest band that brought it."""
    last = b""
    for rows in ordered(blocks, PAIR_RECORD, 0, 2 * PLACE + 1, most, scratch):
        both = np.ascontiguousarray(rows[:, : 2 * PLACE])
        keys = both.view(f"S{2 * PLACE}").ravel()
        first = np.concatenate(([both[0].tobytes() != last], keys[1:] != keys[:-1]))
        last = both[-1].tobytes()
        yield _numbers(both[first, :PLACE]), _numbers(both[first, PLACE:]), rows[first, 2 * PLACE]


def _bytes(numbers: Keys) -> Rows:
    """Big-endian bytes of each number, [N, 8]."""
    return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)


def _numbers(rows: Rows) -> Keys:
    return np.ascontiguousarray(rows).view(">u8").ravel().astype(np.uint64)
