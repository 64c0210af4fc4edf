"""Inputs come through the ordinary clients: here apt, pip and npm themselves, each from a registry on this machine."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from trivium.errors import FetchError, InputError, MissingDependencyError
from trivium.pipelines.inputs import (
    RECEIPT,
    Input,
    default_cache,
    default_list,
    fetch,
    is_cached,
    load_inputs,
)


def spec_of(archive: Path, client: str, package: str, version: str) -> Input:
    body = archive.read_bytes()
    return msgspec.convert(
        {
            "client": client,
            "package": package,
            "version": version,
            "sha256": hashlib.sha256(body).hexdigest(),
            "bytes": len(body),
            "license": "CC0-1.0",
            "about": "a test",
        },
        Input,
    )


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Input:
    """A wheel that pip finds in a local folder and nowhere else."""
    folder = tmp_path / "links"
    folder.mkdir()
    path = folder / "somepictures-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("somepictures/cat.txt", "cat")
        opened.writestr(
            "somepictures-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: somepictures\nVersion: 1.0\n"
        )
        opened.writestr(
            "somepictures-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        opened.writestr("somepictures-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return spec_of(path, "wheel", "somepictures", "1.0")


def test_a_wheel_is_fetched_once_and_then_cached(wheel: Input, tmp_path: Path) -> None:
    said: list[str] = []
    cache = tmp_path / "cache"
    assert not is_cached("pictures", wheel, cache)
    first = fetch("pictures", wheel, cache, said.append)
    assert not first.cached
    assert first.license == "CC0-1.0"
    assert "licence: CC0-1.0" in said[0]
    assert (Path(first.path) / "somepictures/cat.txt").read_text() == "cat"
    os.environ["PIP_FIND_LINKS"] = str(tmp_path / "nowhere")  # the second time needs no registry
    second = fetch("pictures", wheel, cache, said.append)
    assert second.cached
    assert second.path == first.path
    assert len(said) == 1
    assert os.listdir(cache) == ["pictures"]


def test_another_version_replaces_the_cached_one(wheel: Input, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old = msgspec.structs.replace(wheel, sha256="0" * 64)
    (cache / "pictures").mkdir(parents=True)
    (cache / "pictures" / "old.txt").write_text("old")
    (cache / "pictures" / RECEIPT).write_bytes(msgspec.json.encode(old))
    assert is_cached("pictures", old, cache)
    fetched = fetch("pictures", wheel, cache)
    assert not (Path(fetched.path) / "old.txt").exists()
    assert os.listdir(cache) == ["pictures"]


def test_a_damaged_receipt_means_fetch_again(wheel: Input, tmp_path: Path) -> None:
    fetch("pictures", wheel, tmp_path / "cache")
    (tmp_path / "cache/pictures" / RECEIPT).write_bytes(b"{")
    assert not fetch("pictures", wheel, tmp_path / "cache").cached


def test_a_wrong_hash_is_refused_by_pip_before_it_runs_anything(wheel: Input, tmp_path: Path) -> None:
    other = msgspec.structs.replace(wheel, sha256="1" * 64)
    with pytest.raises(FetchError, match=r"pip download .* failed"):
        fetch("pictures", other, tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_a_version_that_is_gone_is_said(wheel: Input, tmp_path: Path) -> None:
    gone = msgspec.structs.replace(wheel, version="9.9")
    with pytest.raises(FetchError, match="does it still have this version"):
        fetch("pictures", gone, tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


@pytest.fixture
def deb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Input:
    """A Debian package in a local repository, and an apt that knows this repository only."""
    root, repository, state = tmp_path / "root", tmp_path / "repository", tmp_path / "state"
    for folder in (root / "DEBIAN", root / "usr/share/somedoc", repository, state / "lists/partial", state / "etc"):
        folder.mkdir(parents=True)
    control = "Package: somedoc\nVersion: 1:2.0-1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: d\n"
    (root / "DEBIAN/control").write_text(control)
    (root / "usr/share/somedoc/index.html").write_text("<p>doc</p>")
    path = repository / "somedoc_2.0-1_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(path)], check=True, capture_output=True)
    spec = spec_of(path, "deb", "somedoc", "1:2.0-1")
    listed = f"{control}Filename: ./{path.name}\nSize: {spec.bytes}\nSHA256: {spec.sha256}\n\n"
    (repository / "Packages").write_text(listed)
    (state / "sources.list").write_text(f"deb [trusted=yes] file:{repository} ./\n")
    (state / "status").write_text("")
    (state / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{state}/sources.list";\nDir::Etc::sourceparts "{state}/etc";\n'
        f'Dir::State::lists "{state}/lists";\nDir::State::status "{state}/status";\nDir::Cache "{state}";\n'
        'APT::Sandbox::User "root";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(state / "apt.conf"))
    subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)
    return spec


def test_a_debian_package_is_fetched(deb: Input, tmp_path: Path) -> None:
    fetched = fetch("doc", deb, tmp_path / "cache")
    assert (Path(fetched.path) / "usr/share/somedoc/index.html").read_text() == "<p>doc</p>"


def test_other_bytes_than_the_list_names_are_not_unpacked(deb: Input, tmp_path: Path) -> None:
    other = msgspec.structs.replace(deb, sha256="2" * 64)
    with pytest.raises(FetchError, match=f"sha256 is {deb.sha256}, the list has 2222"):
        fetch("doc", other, tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_a_replaced_debian_version_names_the_one_that_there_is(deb: Input, tmp_path: Path) -> None:
    gone = msgspec.structs.replace(deb, version="1:1.9-1")
    with pytest.raises(FetchError, match=r"(?s)somedoc.*apt knows these versions: 1:2\.0-1\. Run `apt-get update`"):
        fetch("doc", gone, tmp_path / "cache")


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Input]:
    """An npm registry on the loopback interface with one scoped package."""
    path = tmp_path / "icons-3.0.0.tgz"
    with tarfile.open(path, "w:gz") as opened:
        files = {"package/package.json": b'{"name": "@some/icons", "version": "3.0.0"}', "package/svg/a.svg": b"<svg/>"}
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            opened.addfile(info, io.BytesIO(body))

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            dist = {"tarball": f"{here}/icons.tgz", "shasum": hashlib.sha1(path.read_bytes()).hexdigest()}
            version = {"name": "@some/icons", "version": "3.0.0", "dist": dist}
            packument = {"name": "@some/icons", "dist-tags": {"latest": "3.0.0"}, "versions": {"3.0.0": version}}
            body = path.read_bytes() if self.path.endswith(".tgz") else json.dumps(packument).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        yield spec_of(path, "npm", "@some/icons", "3.0.0")
        server.shutdown()


def test_an_npm_package_is_fetched_or_npm_is_asked_for(npm: Input, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        with pytest.raises(MissingDependencyError, match="apt-get install npm"):
            fetch("icons", npm, tmp_path / "cache")
        return
    fetched = fetch("icons", npm, tmp_path / "cache")
    assert (Path(fetched.path) / "svg/a.svg").read_text() == "<svg/>"
    assert os.listdir(tmp_path / "cache") == ["icons"]


@pytest.mark.parametrize("client", ["deb", "npm"])
def test_a_missing_client_is_named(client: str, wheel: Input, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="is not installed and somepictures comes through it"):
        fetch("x", msgspec.structs.replace(wheel, client=client), tmp_path / "cache")
    assert os.listdir(tmp_path / "cache") == []


def test_the_list_of_real_inputs_is_whole() -> None:
    inputs = load_inputs(default_list())
    assert len(inputs) >= 10
    assert {spec.client for spec in inputs.values()} == {"deb", "sdist", "wheel", "npm"}
    for name, spec in inputs.items():
        assert len(spec.sha256) == 64, name
        assert 0 < spec.bytes < 400_000_000, name
        assert spec.license, name
        assert "/" not in name
        assert not name.startswith(".")


def test_the_cache_lies_where_xdg_says(tmp_path: Path) -> None:
    assert default_cache({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "trivium" / "inputs"
    assert default_cache({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "trivium" / "inputs"
    assert default_cache({}) == Path.home() / ".cache" / "trivium" / "inputs"


def test_a_name_in_the_list_can_not_leave_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "inputs.yaml"
    entry = "{client: deb, package: p, version: '1', sha256: a, bytes: 1, license: x, about: y}"
    path.write_text(f"inputs:\n  ../../evil: {entry}\n")
    with pytest.raises(InputError, match=r"'\.\./\.\./evil' is no name"):
        load_inputs(path)
