"""`trivium shards find`: from an address, whole or in part, to what became of it."""

import json
import re

from typer.testing import CliRunner

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
