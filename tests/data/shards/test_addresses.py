"""Shard sets behind addresses: real HTTP servers that misbehave, memory, and S3 where its server is installed."""

import importlib.util
import pickle
import subprocess
import sys
import threading
import time

import fsspec
import pytest

from trivium.data.shards import Patience, ShardSet, place
from trivium.data.shards.address import Address
from trivium.data.shards.diff import diff
from trivium.data.shards.lookup import find_records
from trivium.data.shards.summary import find_sets, read_heads, summarize
from trivium.data.shards.verify import verify
from trivium.errors import InputError, MissingDependencyError, ShardError, StorageError, UsageError

HASTE = Patience(seconds=5.0, attempts=4, pause=0.001, longest=0.01)


@pytest.fixture
def serve(folder, load_server):
    """Starts a server of a manner over the set's parent folder; gives it and the set's address."""
    servers = []

    def start(manner):
        server = load_server(folder.parent, manner)
        servers.append(server.__enter__())
        return server, f"{server.url}/set"

    yield start
    for server in servers:
        server.__exit__()


def same(one, two):
    assert one.digest == two.digest
    assert len(one) == len(two) > 0
    for number in range(0, len(one), 7):
        assert one.read(number) == two.read(number)
        assert one.read_document(number) == two.read_document(number)


@pytest.mark.parametrize("manner", ["ranges", "whole", "flaky", "cut"])
def test_a_set_over_http_is_the_set(serve, folder, manner):
    server, url = serve(manner)
    far = ShardSet.open(url, patience=HASTE)
    same(far, ShardSet.open(folder))
    assert verify(url, patience=HASTE).problems == []
    assert sum(server.asked.values()) > 10


def test_one_record_is_one_request_of_its_bytes(serve, folder):
    server, url = serve("ranges")
    far = ShardSet.open(url, patience=HASTE)
    number = far.entries.images.tolist().index(1)
    server.asked.clear()
    server.sent = 0
    far.read(number)
    assert sum(server.asked.values()) == 1
    end = time.monotonic() + 30
    while not server.sent and time.monotonic() < end:  # the server counts after it has sent
        time.sleep(0.01)
    assert server.sent == far.entries.size[number]


def test_a_server_that_says_nothing_is_an_error_that_says_how_long(serve):
    _, url = serve("stall")
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"manifest\.json: can't be read \(no answer within 0\.2 s\)") as caught:
        ShardSet.open(url, patience=Patience(seconds=0.2, attempts=2, pause=0.001))
    assert 0.4 <= caught.value.waited <= time.monotonic() - began < 10
    assert caught.value.address == f"{url}/manifest.json"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 (our own)


def test_a_read_that_stalls_in_the_middle_ends(serve):
    server, url = serve("ranges")
    far = ShardSet.open(url, patience=Patience(seconds=0.2, attempts=2, pause=0.001))
    assert far.members(0)  # the index is known
    server.manner = "stall"
    with pytest.raises(StorageError, match=r"-00000\.tar: .*2 tries"):
        far.read(0)
    server.manner = "ranges"
    assert far.read(0)


@pytest.mark.parametrize(
    ("manner", "kind", "match", "requests"),
    [("forbidden", StorageError, "HTTP 403.*1 try", 1), ("liar", StorageError, "asked for bytes 0-.*gave 1-", 1)],
    ids=["forbidden", "liar"],
)
def test_what_trying_again_can_not_mend_is_tried_once(serve, manner, kind, match, requests):
    server, url = serve(manner)
    with pytest.raises(kind, match=match):
        ShardSet.open(url, patience=HASTE)
    assert sum(server.asked.values()) == requests


def test_errors_that_last_end_after_the_tries(serve, monkeypatch):
    server, url = serve("flaky")
    with pytest.raises(StorageError, match=r"HTTP 500.*gave up after 2 tries"):
        ShardSet.open(url, patience=Patience(seconds=5.0, attempts=2, pause=0.001))
    assert server.asked["/set/manifest.json"] == 2


def test_nobody_there_and_nothing_there(serve):
    server, _ = serve("ranges")
    with pytest.raises(ShardError, match=r"no manifest\.json"):
        ShardSet.open(f"{server.url}/elsewhere", patience=HASTE)
    with pytest.raises(StorageError, match="can't be reached"):
        ShardSet.open("http://127.0.0.1:1/set", patience=HASTE)


def test_a_server_without_ranges_sends_each_tar_once(serve, folder):
    server, url = serve("whole")
    far, near = ShardSet.open(url, patience=HASTE), ShardSet.open(folder)
    assert [far.read_document(n) for n in range(len(far))] == [near.read_document(n) for n in range(len(near))]
    tars = [count for name, count in server.asked.items() if name.endswith(".tar")]
    # the length when it is opened, the first range, which is answered by the whole file, and the copy
    assert tars == [3] * len(far.manifest.shards)
    assert pickle.loads(pickle.dumps(far)).read(3) == near.read(3)  # noqa: S301 (our own)


def test_what_is_too_large_to_copy_is_refused(serve, monkeypatch):
    from trivium.data.shards import remote

    _, url = serve("whole")
    far = ShardSet.open(url, patience=HASTE)
    assert far.members(len(far) - 1)
    monkeypatch.setattr(remote, "COPIES", 1000)
    with pytest.raises(StorageError, match="the server ignores ranges"):
        far.read(len(far) - 1)


def test_damage_behind_an_address_is_named(serve, folder):
    _, url = serve("ranges")
    path = folder / "shards" / "licences-all-00000.tar"
    raw = bytearray(path.read_bytes())
    raw[600] ^= 1
    path.write_bytes(raw)
    far = ShardSet.open(url, patience=HASTE)
    with pytest.raises(ShardError, match=r"CRC differs.*the tar is not the manifest's"):
        far.read(0)
    assert any("sha256" in problem for problem in verify(url, patience=HASTE).problems)
    path.write_bytes(raw[:-700])
    with pytest.raises(ShardError, match=r"00000\.tar: \d+ bytes long"):
        ShardSet.open(url, patience=HASTE)


def test_a_tar_that_is_missing_there_is_named_beside_the_sound_ones(serve, folder):
    _, url = serve("ranges")
    (folder / "shards" / "licences-all-00001.tar").unlink()
    (head,), damaged = read_heads([place(url, HASTE)])
    assert list(head.faults) == ["licences-all-00001.tar"]
    assert not damaged
    with pytest.raises(ShardError, match=r"00001\.tar: can't be read \(no such file\)"):
        ShardSet.open(url, patience=HASTE)
    assert ShardSet.open(url, patience=HASTE, damaged=True).read(0)


def test_a_wrong_address_and_a_silent_host_are_no_damage(serve, folder):
    server, url = serve("ranges")
    wrong = place(f"{server.url}/nothing", HASTE)
    with pytest.raises(InputError, match=r"/nothing: nothing is there: no manifest\.json"):
        read_heads([wrong])
    closed = place("http://127.0.0.1:9/set", HASTE)
    with pytest.raises(StorageError, match="can't be reached"):
        read_heads([closed])
    heads, missing = read_heads([wrong, place(url, HASTE), closed])
    assert [str(head.folder) for head in heads] == [url]
    assert [fault.code for fault in missing.values()] == [2, 1]


def test_it_crosses_threads_and_pickles(serve, folder):
    _, url = serve("ranges")
    far = pickle.loads(pickle.dumps(ShardSet.open(url, patience=HASTE)))  # noqa: S301 (our own)
    near, found = ShardSet.open(folder), {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: far.read(n)})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: near.read(n) for n in range(8)}


def test_looking_up_an_id_reads_one_index(serve):
    server, url = serve("ranges")
    far = ShardSet.open(url, patience=HASTE)
    assert len(far.manifest.shards) > 2
    key = str(far.entries.id[-1])
    there = ShardSet.open(url, patience=HASTE)
    server.asked.clear()
    assert find_records(there, key) == {len(far) - 1: key}
    assert list(server.asked) == [f"/set/shards/{far.manifest.shards[-1].name.replace('.tar', '.idx.json')}"]
    assert there.read(len(far) - 1) == far.read(len(far) - 1)


def upload(folder, fs, root):
    for path in folder.rglob("*"):
        if path.is_file():
            fs.pipe_file(f"{root}/{path.relative_to(folder).as_posix()}", path.read_bytes())


@pytest.fixture
def memory(folder):
    fs = fsspec.filesystem("memory")
    upload(folder, fs, "/shards-test/a/set")
    yield "memory://shards-test/a"
    fs.rm("/shards-test", recursive=True)


def test_memory_can_be_listed_read_and_verified(memory, folder):
    (found,) = find_sets([memory])
    assert str(found) == f"{memory}/set"
    same(ShardSet.open(found), ShardSet.open(folder))
    assert verify(found).problems == []
    assert diff(found, folder).identical
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/shards-test/a/set/shards/stray.tar", b"x")
    assert any("stray.tar: not in the manifest" in problem for problem in verify(found).problems)
    (head,), damaged = read_heads([memory])
    assert (summarize(head)["records"], head.faults, damaged) == (52, {}, {})
    name = head.manifest.shards[1].name
    fs.rm(f"/shards-test/a/set/shards/{name}")
    (head,), _ = read_heads([memory])
    assert list(head.faults) == [name]
    with pytest.raises(InputError, match=r"no manifest\.json here or below"):
        find_sets(["memory://shards-test/none"])


def test_file_addresses_are_local_paths(folder):
    shards = ShardSet.open(f"file://{folder}")
    assert shards.folder == folder
    assert shards.read(0)


@pytest.mark.parametrize(
    "text",
    ["ftp://host/x", "pipe://cat", "simplecache::s3://a/b", "http://a::s3://b", "s3a://b/c"],
    ids=["ftp", "pipe", "cached", "chained", "s3a"],
)
def test_other_schemes_are_refused(text):
    with pytest.raises(UsageError, match="are not read"):
        ShardSet.open(text)


def test_pipes_run_nothing(tmp_path):
    with pytest.raises(InputError):
        ShardSet.open(f"pipe:touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()


def test_addresses_have_the_manners_of_paths():
    from pathlib import Path

    root = place("https://host/a/b/?token=x/y")
    assert str(root / "shards" / "x.tar") == "https://host/a/b/shards/x.tar?token=x/y"
    assert (root / "x.tar").name == "x.tar"
    assert (place("s3://bucket/a") / "b").parent == place("s3://bucket/a/")
    assert place(Path("s3://bucket/a") / "b") == Address("s3://bucket/a/b")  # pathlib folds the slashes
    assert place(Path("some/where")) == Path("some/where")


def test_a_package_that_is_not_installed_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tenacity", None)
    with pytest.raises(MissingDependencyError, match=r"tenacity.*pip install .*\[remote\]'"):
        ShardSet.open("memory://x")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingDependencyError, match=r"s3://.*\[remote\]"):
        ShardSet.open("s3://bucket/x", patience=HASTE)


def test_local_sets_load_no_fsspec(folder):
    code = (
        "import sys; from trivium.data.shards import ShardSet; from trivium.data.shards.verify import verify\n"
        f"ShardSet.open({str(folder)!r}).read(0); assert not verify({str(folder)!r}).problems\n"
        "print([m for m in sys.modules if m in ('fsspec', 'tenacity', 'aiohttp')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("moto", "flask_cors", "s3fs")), reason="needs moto and s3fs"
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_set_on_s3(folder, monkeypatch):
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    try:
        fs = fsspec.filesystem("s3")
        fs.mkdir("bucket")
        upload(folder, fs, "bucket/deep/set")
        (found,) = find_sets(["s3://bucket/deep"])
        far = ShardSet.open(found, patience=HASTE)
        same(far, ShardSet.open(folder))
        assert verify(found, patience=HASTE).problems == []
        with pytest.raises(ShardError, match=r"no manifest\.json"):
            ShardSet.open("s3://bucket/none", patience=HASTE)
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        server.stop()
