"""Files cut into ranges, and shuffles into parts, hold everything exactly once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trivium.pipelines.corpora.blocks import Range, pack, read_lines, unpack
from trivium.pipelines.corpora.shuffles.exact import parts


@given(st.lists(st.integers(0, 12), max_size=30), st.integers(1, 40))
def test_ranges_of_a_file_hold_each_line_once(tmp_path_factory, lengths, step):
    path = tmp_path_factory.mktemp("lines") / "f"
    given = [b"x" * length + b"%d" % number for number, length in enumerate(lengths)]
    path.write_bytes(b"".join(line + b"\n" for line in given))
    size = path.stat().st_size
    cut = [Range(str(path), start, min(start + step, size)) for start in range(0, size, step)]
    assert [line for part in cut for line in read_lines(part)] == given
    packed = dict(pack((len(line) % 3, line) for line in given))
    assert Counter(line for block in packed.values() for line in unpack([block])) == Counter(given)


@given(st.integers(0, 2**40), st.integers(0, 10**7), st.integers(1, 10**5), st.integers(1, 2**30))
def test_the_parts_of_a_shuffle_hold_each_partition_once(size, records, each, most):
    found = parts([Range("", 0, size)], records, each, most)
    count = found[0][2]
    assert [low for low, _, _ in found] == [0, *(high for _, high, _ in found[:-1])]
    assert found[-1][1] == count
    assert all(low < high for low, high, _ in found)
