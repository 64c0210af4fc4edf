"""Files in folders, in archives, behind addresses: nothing is lost, leads outside, waits or explodes."""

import bz2
import gzip
import io
import lzma
import os
import resource
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
import zstandard
from given import bodies, outcomes, reasons

from trivium.errors import InputError
from trivium.pipelines.corpora.sources import HtmlFolder, streams
from trivium.pipelines.corpora.sources.jsonl import Jsonl
from trivium.pipelines.corpora.sources.latex import LatexFolder
from trivium.pipelines.corpora.sources.text import MarkdownFolder, TextFolder
from trivium.pipelines.corpora.sources.tree import SourceTree, path_of, repository_of
from trivium.pipelines.corpora.warc import Warc

FILES = {"one/a.py": b"print(1)\n", "one/lib/b.c": b"int b;\n", "two/c.txt": "Größe".encode()}


def tree(path: Path, **more) -> SourceTree:
    return SourceTree(name="t", path=str(path), license="L", **more)


def tar(path: Path, fill: Callable[[tarfile.TarFile], None], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        fill(archive)
    return path


def add(archive: tarfile.TarFile, name: str, body: bytes = b"x", **fields) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(body) if info.isreg() else None)


def pack(folder: Path, form: str) -> None:
    if form == "files":
        for name, body in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(body)
    elif form == "zip":
        with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("one")
            for name, body in FILES.items():
                archive.writestr(name, body)
    else:
        plain = tar(folder / "x.tar", lambda archive: [add(archive, f"./{name}", body) for name, body in FILES.items()])
        if form != "tar":
            press = {"gz": gzip.compress, "zst": zstandard.compress, "bz2": bz2.compress, "xz": lzma.compress}[form]
            (folder / f"x.tar.{form}").write_bytes(press(plain.read_bytes()))
            plain.unlink()


@pytest.mark.parametrize("form", ["files", "zip", "tar", "gz", "zst", "bz2", "xz"])
def test_every_packing_gives_the_same_files(tmp_path, form):
    pack(tmp_path, form)
    found = bodies(tree(tmp_path))
    inside = "" if form == "files" else f"{next(tmp_path.iterdir()).name}/"
    assert found == {inside + name: body for name, body in FILES.items()}
    assert {repository_of(address) for address in found} == ({"one", "two"} if form == "files" else {inside[:-1]})
    assert path_of("one/lib/b.c") == "lib/b.c"
    whole = bodies(tree(tmp_path, whole=True))
    assert {repository_of(address) for address in whole} == {"t"}


def test_what_is_no_file_is_said_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "loop.py").symlink_to("loop2.py")
    (tmp_path / "loop2.py").symlink_to("loop.py")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "bin.py").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "wide.py").write_bytes("print('ä')".encode("utf-16"))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config.py").write_bytes(b"x")
    os.mkfifo(tmp_path / "x.tar.gz")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")).write_bytes(b"x")
    assert reasons(tree(tmp_path, suffixes=(".py",))) == {
        "bin.py": "binary",
        "caf\\xe9.py": "bad_name",
        "device.py": "symlink_escape",
        "fifo.py": "not_a_file",
        "loop.py": "unreadable",
        "loop2.py": "unreadable",
        "wide.py": "kept",
        "x.tar.gz": "not_a_file",
    }
    for kind in (Warc, Jsonl):
        suffix = ".warc.gz" if kind is Warc else ".jsonl"
        (tmp_path / kind.__name__).mkdir()
        os.mkfifo(tmp_path / kind.__name__ / f"a{suffix}")
        read = kind(name="t", path=str(tmp_path / kind.__name__), license="L")
        assert list(reasons(read).values()) == ["not_a_file"]


def hostile(archive: tarfile.TarFile) -> None:
    add(archive, "good.py")
    add(archive, "../up.py")
    add(archive, "/etc/root.py")
    add(archive, "a\\b.py")
    add(archive, "link.py", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    add(archive, "fifo.py", b"", type=tarfile.FIFOTYPE)
    add(archive, "empty.py", b"")
    add(archive, "good.py", b"again")
    add(archive, "large.py", b"y" * 2000)
    add(archive, "last.py")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_members_that_lead_outside_repeat_or_are_no_files(tmp_path, mode):
    name = "x.tar" if mode == "w" else "x.tgz"
    tar(tmp_path / name, hostile, mode)
    given = outcomes(tree(tmp_path, max_bytes=1000))
    found = [(item.address.partition("/")[2], getattr(item, "reason", "kept")) for item in given]
    assert found == [
        ("good.py", "kept"),
        ("../up.py", "unsafe_path"),
        ("etc/root.py", "unsafe_path"),
        ("a\\b.py", "unsafe_path"),
        ("link.py", "link"),
        ("fifo.py", "not_a_file"),
        ("empty.py", "empty"),
        ("good.py", "duplicate_member"),
        ("large.py", "too_large"),
        ("last.py", "kept"),
    ]


@pytest.mark.parametrize("form", ["tar", "gz", "zip"])
def test_a_damaged_archive_keeps_what_came_before_and_says_so(tmp_path, form):
    pack(tmp_path, form)
    (path,) = tmp_path.iterdir()
    body = bytearray(path.read_bytes())
    if form == "tar":
        body[1024:1536] = b"\xff" * 512  # the second header: tarfile would end here without a word
    elif form == "gz":
        body = body[: len(body) // 2]
    else:
        at = body.find(b"int b;") if b"int b;" in body else body.find(b"lib/b.c") + 9
        body[at] ^= 0xFF
    path.write_bytes(body)
    found = outcomes(tree(tmp_path))
    dropped = [item for item in found if hasattr(item, "reason")]
    assert [(drop.reason, drop.error) for drop in dropped] == [("damaged", True)]
    assert len(found) == {"tar": 2, "gz": len(found), "zip": 3}[form]


def test_bombs_are_refused_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "FLOOR", 1 << 20)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}.py", b"\n" * (1 << 21))
    tar(tmp_path / "b.tar.gz", lambda archive: add(archive, "zeros.py", b"\n" * (1 << 23)), "w:gz")
    longest = tarfile.TarInfo("x.py")
    longest.type, longest.size = tarfile.GNUTYPE_LONGNAME, 1 << 23
    (tmp_path / "c.tgz").write_bytes(gzip.compress(longest.tobuf() + b"n" * (1 << 23)))
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"\n" * (1 << 23)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = reasons(tree(tmp_path, suffixes=(".py",)))
    assert found["a.zip"] == "bomb"
    assert "bomb" in (found.get("b.tar.gz"), found.get("b.tar.gz/zeros.py"))
    assert found["c.tgz"] == "bomb"
    text = TextFolder(name="t", path=str(tmp_path / "d.txt.gz"), license="L", max_bytes=1 << 30)
    assert list(reasons(text).values()) == ["bomb"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 << 10  # kB


def test_an_encrypted_member_is_told(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.md", "x")
    body = bytearray(path.read_bytes())
    body[body.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(body)
    assert reasons(MarkdownFolder(name="t", path=str(tmp_path), license="L")) == {"a.zip/a.md": "encrypted"}


def test_addresses_are_read_as_folders_are(tmp_path, serve):
    pack(tmp_path, "files")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for path in tmp_path.rglob("*.*"):
        memory.pipe(f"/bucket/{path.relative_to(tmp_path)}", path.read_bytes())
    memory.pipe("/bucket/rows.jsonl", b'{"text": "a"}\n' * 3)
    local = bodies(tree(tmp_path))
    assert bodies(tree("memory://bucket", suffixes=(".py", ".c", ".txt"))) == local == bodies(tree(serve(tmp_path)))
    rows = Jsonl(name="t", path="memory://bucket/rows.jsonl", license="L")
    assert list(reasons(rows).values()) == ["kept"] * 3
    (tmp_path / "gone.html").write_bytes(b"<p>")
    page = HtmlFolder(name="t", path=serve(tmp_path), license="L")
    places = list(page.places(Path("/")))
    (tmp_path / "gone.html").unlink()
    (drop,) = page.read(places[0], "c", "d")
    assert (drop.reason, drop.error) == ("unreadable", True)
    with pytest.raises(InputError, match=r"memory://none does not exist, or lists nothing"):
        list(HtmlFolder(name="t", path="memory://none", license="L").places(Path("/")))


def test_texts_are_cut_where_a_record_begins(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"%\nfirst\n%\nsecond\nline\n%\n \n%\n" + b"z" * 100 + b"\n%\nlast")
    read = TextFolder(name="t", path=str(tmp_path), license="L", begins="%$", ends_apart=True, max_bytes=50)
    assert list(bodies(read).values()) == [b"first\n", b"second\nline\n", b"last"]
    assert sorted(reasons(read).values()) == ["empty", "kept", "kept", "kept", "too_large"]
    (tmp_path / "a.txt").write_bytes("A one\n  more\nB two\nC three\n".encode("utf-16"))
    read = TextFolder(name="t", path=str(tmp_path), license="L", begins="[A-Z] ")
    assert list(bodies(read).values()) == [b"A one\n  more\n", b"B two\n", b"C three\n"]
    read = TextFolder(name="t", path=str(tmp_path), license="L", begins="[A-Z] ", gather=20)
    assert list(bodies(read).values()) == [b"A one\n  more\nB two\n", b"C three\n"]


@pytest.mark.parametrize("form", ["files", "zip", "tgz"])
def test_latex_is_joined_inside_its_folder_only(tmp_path, form):
    parts = {
        "paper/main.tex": b"\\documentclass{article}\n% \\input{never}\n\\begin{document}\\input{sec/one}\n"
        b"\\include{latin}\\input{../../secret}\\input{/etc/passwd}\\verb|% kept|\n\\end{document}",
        "paper/sec/one.tex": b"One % comment\n\\input{main}\\input{sec/one}two.",
        "paper/latin.tex": "Größe".encode("latin-1"),
    }
    (tmp_path / "secret.tex").write_bytes(b"secret")
    root = tmp_path / "root"
    root.mkdir()
    if form == "files":
        for name, body in parts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(body)
    elif form == "zip":
        with zipfile.ZipFile(root / "x.zip", "w") as archive:
            for name, body in parts.items():
                archive.writestr(name, body)
    else:
        tar(root / "x.tgz", lambda archive: [add(archive, name, body) for name, body in parts.items()], "w:gz")
    read = LatexFolder(name="t", path=str(root), license="L")
    assert sorted(reasons(read).values()) == ["kept", "part", "part"]
    (body,) = bodies(read).values()
    text = " ".join(body.decode().split())
    assert text.startswith("\\documentclass{article} \\begin{document}One two.")
    assert "Größe" in text
    assert "\\verb|% kept|" in text
    assert not any(word in text for word in ("never", "secret", "passwd", "comment"))
