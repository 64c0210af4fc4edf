import re
from collections import Counter

import msgspec
import numpy as np
import pytest

from trivium.data.records import finish
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.lineage import trace
from trivium.data.shards.lookup import find_records, open_at, open_first
from trivium.data.shards.search import check_fields, grep, sample
from trivium.data.shards.summary import read_heads
from trivium.errors import ShardError, UsageError


def test_grep_equals_a_plain_search(folder):
    shards = ShardSet.open(folder)
    wanted = re.compile(r"[Cc]opyright \d{4}")
    expected = {n: len(wanted.findall(shards.read_document(n).text)) for n in range(len(shards))}
    found = {match.record: match.count for match in grep(shards, wanted)}
    assert found == {n: count for n, count in expected.items() if count}
    assert len(found) > 5
    first = next(grep(shards, wanted))
    assert wanted.fullmatch(first.found)
    assert first.before + first.found + first.after in shards.read_document(first.record).text


def test_grep_looks_into_metadata(folder):
    shards = ShardSet.open(folder)
    matches = list(grep(shards, re.compile(r"\.png$"), ("address", "meta.source")))
    assert len(matches) == 12
    assert {match.field for match in matches} == {"address"}
    assert not list(grep(shards, re.compile("."), ("scores.words",)))
    assert len(list(grep(shards, re.compile("read"), ("lineage.steps",)))) == 52
    with pytest.raises(UsageError, match="did you mean 'title'"):
        check_fields(("titel",))


def test_samples_depend_on_seed_and_set_alone(folder):
    shards = ShardSet.open(folder)
    one = sample(shards, 7, 3)
    assert one == sorted(set(one)) == sample(ShardSet.open(folder), 7, 3)
    assert len(one) == 7
    assert any(sample(shards, 7, seed) != one for seed in range(4, 9))
    assert sample(shards, 500, 0) == list(range(52))


def test_a_sample_by_weight_prefers_what_is_long(folder):
    shards = ShardSet.open(folder)
    drawn = Counter(sample(shards, 1, seed, by_tokens=True)[0] for seed in range(600))
    sizes = np.asarray(shards.entries.size)
    expected = sizes / sizes.sum()
    longest = int(sizes.argmax())
    assert abs(drawn[longest] / 600 - expected[longest]) < 0.04
    assert abs(sum(drawn[n] * float(sizes[n]) for n in drawn) / 600 / float((sizes * expected).sum()) - 1) < 0.15
    assert max(Counter(sample(shards, 1, seed)[0] for seed in range(600)).values()) < 40


def test_one_record_is_found_by_any_of_its_names(folder):
    shards = ShardSet.open(folder)
    (head,), _ = read_heads([folder])
    for number in (0, 17, 51):
        key, source = str(shards.entries.id[number]), str(shards.entries.source_id[number])
        for name in (key, source, key[:14], source[:14]):
            ((info, found),) = find_records(head, name)
            assert found == key
            opened, at = open_at(head, info, key)
            assert opened.read(at) == shards.read(number)
    assert find_records(head, "z" * 26) == []
    assert find_records(head, '"') == []
    assert find_records(head, "") == []
    letters = [str(one)[0] for one in shards.entries.id]
    assert len(find_records(head, max(letters, key=letters.count))) == 3


def test_the_other_indexes_are_not_read_for_an_id(folder):
    shards = ShardSet.open(folder)
    (head,), _ = read_heads([folder])
    key = str(shards.entries.id[0])
    for info in head.manifest.shards[1:]:
        (folder / "shards" / info.name.replace(".tar", ".idx.json")).write_bytes(b"damaged")
    ((info, _),) = find_records(head, key)
    assert open_at(head, info, key)[0].read(0) == shards.read(0)
    with pytest.raises(ShardError, match="sha256"):
        find_records(head, key[:5])
    assert len(open_first(head, 3)) == head.manifest.shards[0].records


def test_lineage_goes_back_through_parents_to_the_source_bytes(tmp_path, texts, base):
    recipe = {"sources": [{"name": "site-packages", "kind": "files", "path": "/raw/site-packages"}]}
    write_set(tmp_path / "raw", texts[:4], msgspec.structs.replace(base, resolved=recipe))
    document, _ = texts[0]
    lineage = msgspec.structs.replace(document.meta.lineage, parents=(document.id, "q" * 26))
    meta = msgspec.structs.replace(document.meta, lineage=lineage, address="joined/1", source="joined")
    child = finish(msgspec.structs.replace(document, meta=meta, segments=document.segments * 2), {})
    write_set(tmp_path / "joined", [(child, {})], base)
    heads, _ = read_heads([tmp_path])
    head = next(one for one in heads if one.folder.name == "joined")
    chain = trace(child, head, heads)
    assert chain["source"] == {"name": "joined"}
    parent, missing = chain["parents"]
    assert (parent["id"], parent["address"]) == (document.id, document.meta.address)
    assert parent["source"]["path"] == "/raw/site-packages"
    assert parent["sha256"] == document.meta.lineage.source_sha256
    assert [step["name"] for step in parent["steps"]] == ["read"]
    assert missing == {"id": "q" * 26, "missing": True}


def test_a_lineage_that_bites_its_tail_ends(tmp_path, texts, base):
    document, _ = texts[0]
    lineage = msgspec.structs.replace(document.meta.lineage, parents=(document.id,))
    forged = msgspec.structs.replace(document, meta=msgspec.structs.replace(document.meta, lineage=lineage))
    write_set(tmp_path / "s", [(forged, {})], base)
    heads, _ = read_heads([tmp_path / "s"])
    chain = trace(forged, heads[0], heads)
    depth = 0
    while "parents" in chain:
        chain, depth = chain["parents"][0], depth + 1
    assert depth < 50
