"""`trivium shards find`: from an address, whole or in part, to what became of it."""

import json
import re

from typer.testing import CliRunner

from trivium import console
from trivium.cli import app
from trivium.data.records import Document, Meta, Text, finish, source_id
from trivium.data.shards import Manifest, write_set
from trivium.data.stage import Drop


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_an_address_is_found_in_records_their_duplicates_rejects_and_takedowns(tmp_path):
    """What is whole hides its parts; letters that begin some id hide no address that holds them."""

    head = "https://plants.org/"

    def page(name, *duplicates):
        address = f"{head}{name}"
        meta = Meta(
            source_id=source_id("plants-pages", address),
            corpus="plants",
            domain="d",
            source="plants-pages",
            address=address,
            license="MIT",
            language="en",
            duplicates=duplicates,
        )
        return finish(Document(segments=(Text(text=f"{name} grows here"),), meta=meta), {}), {}

    twin = source_id("plants-pages", "https://mirror.org/fern")
    records = [page("fern", twin), page("fern/leaf"), *(page(f"moss/{number}") for number in range(40))]
    recipe = {"sources": [{"name": "plants-pages"}]}
    base = Manifest(corpus="plants", domain="d", recipe="0" * 64, resolved=recipe)
    lost = Drop(source_id="r" * 26, source="plants-pages", address=f"{head}rust", stage="heuristics", reason="short")
    write_set(tmp_path / "plants", records, base, rejects={"build": [lost]})

    def found(text, code=0):
        told = json.loads(run("shards", "find", text, tmp_path, "--limit", 99, "--json", code=code).stdout)["found"]
        return sorted((one["address"].removeprefix(head), re.sub(r"\w{26}", "ID", one["is"])) for one in told)

    assert found(f"{head}fern") == [("fern", "record ID")]
    assert found("fern") == [("fern", "record ID"), ("fern/leaf", "record ID")]
    assert found(twin) == found("https://mirror.org/fern") == [("fern", "stands in record ID")]
    assert {f"moss/{number}" for number in range(40)} < {address for address, _ in found("s")}
    assert found("rust") == found("rrr") == [("rust", "refused by heuristics: short")]
    key = records[1][0].meta.source_id
    assert found(key) == found(key[:12]) == [("fern/leaf", "record ID")]
    run("shards", "drop", tmp_path / "plants", "--id", key, "--reason", "asked")
    assert found("fern/leaf") == [("fern/leaf", "refused by takedown: takedown")]
    assert found("elm", code=1) == []
    few = run("shards", "find", "moss", tmp_path, "--limit", 2)
    assert "there may be more than these 2 (--limit)" in few.stderr
    assert few.stdout.count("record") == 2


ODD = "dir/a\nb\x1b[2J\tc\u202e.svg"
SHOWN = r"dir/a\nb\x1b[2J\tc\u202e.svg"


def odd_set(folder):
    """A record and a reject whose file names would break a listing, in a corpus of drawings."""
    meta = Meta(
        source_id=source_id("s", ODD), corpus="drawn", domain="d", source="s", address=ODD, license="MIT", language="en"
    )
    recipe = {"sources": [{"name": "s"}], "stages": [{"kind": "svg_sanitize"}, {"kind": "svg_draw"}]}
    base = Manifest(corpus="drawn", domain="d", recipe="0" * 64, resolved=recipe)
    why = "an element <text>, drawn with whatever fonts a machine has"
    lost = [
        Drop(source_id="r" * 26, source="s", address=f"{ODD}z", stage="svg_sanitize", reason="text", detail=why),
        Drop(source_id="q" * 26, source="s", address="empty.svg", stage="read", reason="empty", excerpt="one\ntwo"),
        Drop(source_id="p" * 26, source="s", address="odd.svg", stage="heuristics", reason="too_long"),
    ]
    record = finish(Document(segments=(Text(text="words"),), meta=meta), {})
    write_set(folder, [(record, {})], base, rejects={"build": lost})
    return record


def test_no_listing_prints_a_file_s_name_raw(tmp_path):
    record = odd_set(tmp_path)
    for command in (
        ("find", "dir/a", tmp_path),
        ("show", tmp_path, record.id),
        ("show", tmp_path, "rrrr"),
        ("ls", "--records", tmp_path),
        ("sample", tmp_path),
    ):
        told = run("shards", *command).stdout
        assert "a\nb" not in told
        assert not set("\t\x1b\u202e") & set(told)
        assert command[0] == "ls" or SHOWN in told.replace("│\n│ ", ""), told


def test_what_is_found_stands_on_one_line_however_narrow_the_terminal(tmp_path, monkeypatch):
    record = odd_set(tmp_path)
    for width in (80, 20):
        monkeypatch.setattr(console.out, "width", width)
        head, *lines = run("shards", "find", "dir/a", tmp_path).stdout.splitlines()
        assert head.split() == ["source_id", "is", "address"]
        assert [re.split(" {2,}", line) for line in lines] == [
            [record.meta.source_id, f"record {record.id}", f"s: {SHOWN}"],
            ["r" * 26, "refused by svg_sanitize: text", f"s: {SHOWN}z"],
        ]


def test_a_reject_says_what_its_reason_means_and_what_helps(tmp_path):
    odd_set(tmp_path)
    told = " ".join(run("shards", "show", tmp_path, "rrrr").stdout.split())
    assert "it has words, which other machines would draw" in told
    assert "set `policy.text: true`" in told
    facts = json.loads(run("shards", "show", tmp_path, "rrrr", "--json").stdout)
    assert (facts["rejected"]["reason"], list(facts["refusal"])) == ("text", ["means", "help"])
    read = run("shards", "show", tmp_path, "qqqq").stdout
    assert "a file without a byte" in read
    assert "what helps" not in read
    assert re.search(r"excerpt +one *\n +two", read), "an excerpt keeps its lines"
    assert "refusal" not in json.loads(run("shards", "show", tmp_path, "pppp", "--json").stdout)
