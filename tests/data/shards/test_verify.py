"""Hostile and damaged tars: named with reasons, and nothing in them is ever run or unpacked."""

import gzip
import io
import os
import pickle
import shutil
import tarfile

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.records import encode
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.verify import verify
from trivium.errors import InputError


class Bomb:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def plain(name, payload=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(payload)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, payload


def crafted(path, members, form=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=form) as tar:
        for info, payload in members:
            tar.addfile(info, io.BytesIO(payload))
    return path


def test_a_whole_set_has_no_problems(folder):
    report = verify(folder)
    assert report.problems == []
    assert (report.records, report.shards) == (52, len(ShardSet.open(folder).manifest.shards))
    assert report.facts()["ok"] is True


def test_one_tar_alone_can_be_verified(folder):
    assert verify(folder / "shards" / "licences-all-00000.tar").problems == []


def test_nothing_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        verify(tmp_path / "nothing")


K1, K2 = "a" * 26, "b" * 26


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([plain("../../etc/passwd", b"x")], "not named <id>.<field>"),
        ([plain(f"/{K1}.json", b"{}")], "not named <id>.<field>"),
        ([plain(f"{K1}.json", type=tarfile.SYMTYPE, linkname="/etc/passwd")], "a symbolic link"),
        ([plain(f"{K1}.json", type=tarfile.LNKTYPE, linkname="x")], "a hard link"),
        ([plain("folder", type=tarfile.DIRTYPE)], "a directory"),
        ([plain(f"{K1}.json", type=tarfile.CHRTYPE)], "a character device"),
        ([plain("a.b.json", b"{}")], "not 26 characters"),
        ([plain(f"{K1.upper()}.json", b"{}")], "not 26 characters"),
        ([plain(f"{K1}.i0.png", b"x")], "begins with 'i0.png'"),
        ([plain(f"{K1}.json", b"{}"), plain(f"{K1}.json", b"{}")], "comes twice"),
        ([plain(f"{K1}.json", b"{}"), plain(f"{K2}.json", b"{}"), plain(f"{K1}.tokens", b"")], "not together"),
        ([plain(f"{K2}.json", b"{}"), plain(f"{K1}.json", b"{}")], "not sorted"),
        ([plain(f"{K1}.json", b"{}"), plain(f"{K1}.pyd", b"x")], "'pyd' is not allowed"),
        ([plain(f"{K1}.json", b"{}"), plain(f"{K1}.i0.png.gz", b"x")], "is not allowed"),
        ([plain(f"{K1}.json", b"{}", mtime=1)], "a header that our writer never makes"),
        ([plain(f"{K1}.json", b"{}", uname="root")], "a header that our writer never makes"),
        ([plain(f"{K1}.json", b"{}", mode=0o4755)], "a header that our writer never makes"),
    ],
)
def test_hostile_members_are_refused_with_a_reason(tmp_path, members, reason):
    report = verify(crafted(tmp_path / "x.tar", members))
    assert any(reason in problem for problem in report.problems), report.problems
    assert all("x.tar" in problem for problem in report.problems)


def test_pickles_are_never_loaded(tmp_path, texts):
    document, _ = texts[0]
    bomb = pickle.dumps(Bomb(tmp_path / "ran"))
    members = [plain(f"{document.id}.json", encode(document))]
    for suffix in ("pkl", "pickle", "pyd"):
        report = verify(crafted(tmp_path / "x.tar", [*members, plain(f"{document.id}.{suffix}", bomb)]))
        assert any(f"'{suffix}' is not allowed" in problem for problem in report.problems)
    assert verify(crafted(tmp_path / "y.tar", [plain(f"{document.id}.json", bomb)])).problems
    assert not (tmp_path / "ran").exists()


def test_long_names_of_other_formats_are_refused(tmp_path):
    for form, reason in ((tarfile.GNU_FORMAT, "GNU"), (tarfile.PAX_FORMAT, "pax")):
        path = crafted(tmp_path / "x.tar", [plain("a" * 200 + ".json", b"{}")], form)
        assert any(reason in p or "no ustar header" in p for p in verify(path).problems)


def test_gzip_is_not_inflated(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(gzip.compress(bytes(50_000_000)))
    report = verify(path)
    assert len(report.problems) == 1
    assert "gzip data" in report.problems[0]


def test_a_header_that_lies_about_its_size(tmp_path):
    path = crafted(tmp_path / "x.tar", [plain(f"{K1}.json", b"{}")])
    raw = bytearray(path.read_bytes())
    info, _ = plain(f"{K1}.json")
    info.size = 8_000_000_000
    raw[:512] = info.tobuf(tarfile.USTAR_FORMAT)
    path.write_bytes(raw)
    assert any("cut short" in problem or "bytes of JSON" in problem for problem in verify(path).problems)


@pytest.mark.parametrize("part", ["header", "payload", "padding", "end"])
def test_any_flipped_bit_is_found(folder, part):
    name = "licences-all-00000.tar"
    path = folder / "shards" / name
    raw = bytearray(path.read_bytes())
    size = int(raw[124:135], 8)
    raw[{"header": 3, "payload": 512 + size // 2, "padding": 512 + size, "end": len(raw) - 1}[part]] ^= 1
    path.write_bytes(raw)
    problems = verify(folder).problems
    assert any(name in problem and "sha256" in problem for problem in problems)
    assert len(problems) > 1 or part == "payload"


def test_any_changed_byte_is_found_and_nothing_else_is_raised(folder):
    name = "licences-all-00000"
    paths = [folder / "shards" / f"{name}.tar", folder / "shards" / f"{name}.idx.json", folder / "manifest.json"]
    whole = [path.read_bytes() for path in paths]

    @given(which=st.integers(0, 2), place=st.floats(0, 1, exclude_max=True), byte=st.integers(1, 255))
    @settings(max_examples=40)
    def law(which, place, byte):
        raw = bytearray(whole[which])
        raw[int(place * len(raw))] ^= byte
        paths[which].write_bytes(raw)
        problems = verify(folder).problems
        paths[which].write_bytes(whole[which])
        assert problems or which == 2  # a manifest may be changed to another that fits as well

    law()
    assert verify(folder).problems == []


def test_truncation_is_found(folder):
    path = folder / "shards" / "licences-all-00000.tar"
    os.truncate(path, path.stat().st_size - 1500)
    assert any("cut short" in p or "two zero blocks" in p for p in verify(folder).problems)


def test_a_changed_record_no_longer_has_its_id(tmp_path, texts, pictures, base):
    document, _ = pictures[0]
    other = pictures[1][1]
    forged = [(document, other), *texts[:2]]
    write_set(tmp_path / "s", forged, base)
    problems = verify(tmp_path / "s").problems
    assert any("content hashes to" in problem for problem in problems)


def test_a_picture_that_is_not_what_its_segment_says(tmp_path, pictures, base):
    document, media = pictures[0]
    text, picture, tail = document.segments
    wrong = msgspec.structs.replace(document, segments=(text, msgspec.structs.replace(picture, width=999), tail))
    write_set(tmp_path / "s", [(wrong, media)], base)
    assert any("its segment says 999" in problem for problem in verify(tmp_path / "s").problems)
    write_set(tmp_path / "s", [(document, {"i0.png": b"GIF89a nothing"})], base)
    assert any("can't be read as a picture" in problem for problem in verify(tmp_path / "s").problems)


def test_strays_duplicates_and_false_sums_are_found(folder):
    shutil.copy(folder / "shards" / "licences-all-00000.tar", folder / "shards" / "licences-all-00009.tar")
    path = folder / "manifest.json"
    raw = msgspec.json.decode(path.read_bytes())
    raw["licences"] = {"MIT": 52}
    raw["rejects"] = 3
    raw["shards"][0]["tokens"] = 7
    path.write_bytes(msgspec.json.encode(raw))
    text = "\n".join(verify(folder).problems)
    for reason in ("00009.tar: not in the manifest", "licences", "3 rejects", "tokens sum to 0, the manifest says 7"):
        assert reason in text


def test_without_a_manifest_the_tars_are_still_read(folder):
    (folder / "manifest.json").unlink()
    report = verify(folder)
    assert report.records == 52
    assert len(report.problems) == 1
    assert "did not finish" in report.problems[0]
