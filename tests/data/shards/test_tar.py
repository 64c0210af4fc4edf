import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.shards import tar
from trivium.errors import ShardError


def by_library(name, size):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info.tobuf(tarfile.USTAR_FORMAT, encoding="ascii", errors="strict")


@given(
    name=st.text("abcdefghijklmnopqrstuvwxyz0123456789._-", min_size=1, max_size=100),
    size=st.one_of(st.integers(0, 5000), st.integers(0, 8**11 - 1)),
)
def test_a_header_is_the_librarys_byte_for_byte(name, size):
    assert tar.header(name, size) == by_library(name, size)


@given(key=st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26), size=st.integers(0, 8**11 - 1))
def test_what_is_written_is_read(key, size):
    member = tar.parse(tar.header(f"{key}.i0.png", size), 1024)
    assert (member.key, member.field, member.offset, member.size) == (key, "i0.png", 1536, size)


@pytest.mark.parametrize(
    ("name", "size"), [("", 0), ("a" * 101, 0), ("é.json", 0), ("a\0b", 0), ("a.json", -1), ("a.json", 8**11)]
)
def test_what_does_not_fit_is_refused(name, size):
    with pytest.raises(ShardError, match="member"):
        tar.header(name, size)
