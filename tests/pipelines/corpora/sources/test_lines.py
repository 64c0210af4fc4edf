"""Blocks of lines: however a file is cut, the same records, none read twice, and all of its bytes."""

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.pipelines.corpora.sources import lines

PIECES = st.lists(st.sampled_from([b"%", b"a", b"bb\n", b"\n", b"%x\n", b"a longer line\n"]), max_size=60)
RULE = st.sampled_from([None, re.compile(rb"%")])


@settings(max_examples=80, deadline=None)
@given(PIECES, RULE, st.sampled_from([3, 10, 1000]), st.integers(1, 40), st.sampled_from([2, 5, 1 << 20]))
def test_blocks_give_the_records_of_the_whole(pieces, begins, limit, size, step):
    data = b"".join(pieces)
    lines._STEP = step
    try:
        whole = list(lines.records(io.BytesIO(data), limit, begins=begins))
        parts = []
        for offset in range(0, max(1, len(data)), size):
            length = min(size, len(data) - offset)
            parts += lines.records(io.BytesIO(data), limit, offset=offset, length=length, begins=begins)
    finally:
        lines._STEP = 1 << 20
    assert parts == whole
    assert [(r.offset, r.body) for r in whole] == expected(data, begins, limit)


def expected(data: bytes, begins: re.Pattern[bytes] | None, limit: int) -> list[tuple[int, bytes | None]]:
    """The oracle: all in memory."""
    found: list[tuple[int, bytes]] = []
    at = 0
    for line in data.splitlines(keepends=True):
        if begins is None or at == 0 or begins.match(line):
            found.append((at, line))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
        at += len(line)
    length = (lambda body: len(body.rstrip(b"\r\n"))) if begins is None else len
    return [(offset, body if length(body) <= limit else None) for offset, body in found]
