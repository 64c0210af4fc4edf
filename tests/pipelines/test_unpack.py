"""Archives that others made are unpacked inside one folder and nowhere else."""

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from trivium.errors import FetchError
from trivium.pipelines.unpack import unpack_deb, unpack_tar, unpack_wheel


def member(
    name: str, *, kind: bytes = tarfile.REGTYPE, link: str = "", body: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(body)
    return info, body


def make_tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for info, body in members:
            opened.addfile(info, io.BytesIO(body))
    return path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_files_and_folders_come_out_whole(tmp_path: Path, mode: str) -> None:
    body = bytes(range(256)) * 9000
    members = [member("top", kind=tarfile.DIRTYPE), member("top/a/b.bin", body=body), member("./top/c", body=b"c")]
    unpack_tar(make_tar(tmp_path / "x.tar", members, mode), tmp_path / "out", strip=1)
    assert everything(tmp_path / "out") == {"a", "a/b.bin", "c"}
    assert (tmp_path / "out/a/b.bin").read_bytes() == body


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/tmp/evil", "a/..", "top/../../../evil"])
def test_a_member_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    out = tmp_path / "deep" / "out"
    with pytest.raises(FetchError, match="points outside the folder"):
        unpack_tar(make_tar(tmp_path / "x.tgz", [member(name, body=b"evil")]), out)
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as opened:
        opened.writestr(name, b"evil")
    with pytest.raises(FetchError, match="points outside the folder"):
        unpack_wheel(tmp_path / "x.whl", out)
    assert not [path for path in tmp_path.rglob("*") if path.name == "evil"]


def test_links_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    link = tarfile.SYMTYPE
    members = [
        member("d/e/real", body=b"real"),
        member("good", kind=link, link="d/e/real"),
        member("dangling", kind=link, link="d/none"),
        member("absolute", kind=link, link=str(tmp_path / "secret")),
        member("up", kind=link, link="../secret"),
        # Each looks harmless alone; together they lead out: hop is d/e, hop/../../.. is above the folder.
        member("hop", kind=link, link="d/e"),
        member("d/out", kind=link, link="../hop/../../../secret"),
        member("hard", kind=tarfile.LNKTYPE, link="d/e/real"),
        member("fifo", kind=tarfile.FIFOTYPE),
        member("device", kind=tarfile.CHRTYPE),
    ]
    out = tmp_path / "out"
    unpack_tar(make_tar(tmp_path / "x.tgz", members), out)
    assert everything(out) == {"d", "d/e", "d/e/real", "good", "dangling", "hop", "hard"}
    assert (out / "good").read_text() == (out / "hard").read_text() == "real"


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    members = [member("door", kind=tarfile.SYMTYPE, link="../outside"), member("door/evil", body=b"evil")]
    unpack_tar(make_tar(tmp_path / "x.tgz", members), tmp_path / "out")
    assert everything(tmp_path / "outside") == set()
    assert (tmp_path / "out/door/evil").read_bytes() == b"evil"


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    whole = make_tar(tmp_path / "x.tgz", [member("a", body=b"a" * 100_000)]).read_bytes()
    for name, body in (("cut.tgz", whole[: len(whole) // 2]), ("noise.tgz", b"\x00\x01" * 600), ("empty.tgz", b"")):
        (tmp_path / name).write_bytes(body)
        with pytest.raises(FetchError, match=f"{name}: damaged archive"):
            unpack_tar(tmp_path / name, tmp_path / "out")
    (tmp_path / "x.whl").write_bytes(b"PK nothing")
    with pytest.raises(FetchError, match=r"x\.whl: damaged archive"):
        unpack_wheel(tmp_path / "x.whl", tmp_path / "out")


def test_a_debian_package_gives_its_files(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        "Package: p\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: d\n"
    )
    (root / "usr/share").mkdir(parents=True)
    (root / "usr/share/page.html").write_text("<p>page</p>")
    (root / "usr/share/out").symlink_to("/etc/passwd")
    subprocess.run(["dpkg-deb", "--build", str(root), str(tmp_path / "p.deb")], check=True, capture_output=True)
    unpack_deb(tmp_path / "p.deb", tmp_path / "out")
    assert everything(tmp_path / "out") == {"usr", "usr/share", "usr/share/page.html"}
    (tmp_path / "cut.deb").write_bytes((tmp_path / "p.deb").read_bytes()[:300])
    with pytest.raises(FetchError, match=r"cut\.deb: "):
        unpack_deb(tmp_path / "cut.deb", tmp_path / "other")
