import re
from collections import Counter

import msgspec
import numpy as np
import pytest

from trivium.data.records import finish
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.glimpse import glimpse, of_record
from trivium.data.shards.lineage import trace
from trivium.data.shards.lookup import find_records, open_first
from trivium.data.shards.search import check_fields, check_scores, grep, sample
from trivium.data.shards.sound import Faults
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
    assert len(list(grep(shards, re.compile("^read$"), ("lineage.steps.name",)))) == 52
    check_fields(("meta", "title", "meta.title", "scores.any", "evidence.task", "lineage.steps.seed"))
    for wrong, match in (
        ("titel", "did you mean 'title'"),
        ("lineage.step", r"lineage has no part 'step'; it has recipe, source_sha256, parents, steps"),
        ("meta.lineage.steps.names", "lineage.steps has no part 'names'; it has name, version"),
        ("title.x", "title has no part 'x'; it has no parts"),
    ):
        with pytest.raises(UsageError, match=match):
            check_fields((wrong,))
    check_scores(("text", "scores.words", "meta.scores.words"), {"words", "lines"})
    with pytest.raises(UsageError, match=r"no record has the score 'word'; they have lines, words"):
        check_scores(("meta.scores.word",), {"words", "lines"})


def test_samples_depend_on_seed_and_set_alone(folder):
    shards = ShardSet.open(folder)
    one = sample(shards, 7, 3)
    assert one == sorted(set(one)) == sample(ShardSet.open(folder), 7, 3)
    assert len(one) == 7
    assert any(sample(shards, 7, seed) != one for seed in range(4, 9))
    assert sample(shards, 500, 0) == list(range(52))


def test_a_sample_by_weight_prefers_what_is_long(folder, tmp_path, base):
    with pytest.raises(UsageError, match=r"not tokenised, so no record weighs any tokens"):
        sample(ShardSet.open(folder), 1, 0, by_tokens=True)
    records = [ShardSet.open(folder).read(number) for number in range(52)]
    tokenised = [(one, {**media, "tokens": bytes(4 * (9 + len(one.text) // 40))}) for one, media in records]
    write_set(tmp_path / "long", tokenised, msgspec.structs.replace(base, tokenizer="t" * 64))
    shards = ShardSet.open(tmp_path / "long")
    drawn = Counter(sample(shards, 1, seed, by_tokens=True)[0] for seed in range(600))
    sizes = np.asarray(shards.entries.tokens)
    expected = sizes / sizes.sum()
    longest = int(sizes.argmax())
    assert abs(drawn[longest] / 600 - expected[longest]) < 0.04
    assert abs(sum(drawn[n] * float(sizes[n]) for n in drawn) / 600 / float((sizes * expected).sum()) - 1) < 0.15
    assert max(Counter(sample(shards, 1, seed)[0] for seed in range(600)).values()) < 40


def test_one_record_is_found_by_any_of_its_names(folder):
    shards = ShardSet.open(folder)
    for number in (0, 17, 51):
        key, source = str(shards.entries.id[number]), str(shards.entries.source_id[number])
        for name in (key, source, key[:14], source[:14]):
            assert find_records(shards, name) == {number: key}
    assert find_records(shards, "z" * 26) == {}
    assert find_records(shards, '"') == {}
    assert find_records(shards, "") == {}
    letters = [str(one)[0] for one in shards.entries.id]
    assert len(find_records(shards, max(letters, key=letters.count))) == 3


def test_a_glimpse_of_the_text_of_an_index_is_what_the_index_says(folder):
    shards = ShardSet.open(folder)
    for number in range(len(shards)):
        seen = glimpse(shards, str(shards.entries.id[number]))
        assert seen == of_record(shards, number)
        held = [(name, *place) for name, place in seen.members.items()]
        assert shards.read_span(number, seen.offset, seen.size, held) == shards.read(number)
    assert glimpse(shards, "z" * 26) is glimpse(shards, str(shards.entries.id[0])[:25]) is None


def test_the_other_indexes_are_not_read_for_an_id(folder):
    key = str(ShardSet.open(folder).entries.id[0])
    (head,), _ = read_heads([folder])
    for info in head.manifest.shards[1:]:
        (folder / "shards" / info.name.replace(".tar", ".idx.json")).write_bytes(b"damaged")
    shards = ShardSet.open(folder)
    assert find_records(shards, key) == {0: key}
    assert shards.read(0)[0].id == key
    with pytest.raises(ShardError, match="sha256"):
        find_records(shards, key[:5])
    faults = Faults()
    assert find_records(shards, key[:8], tell=faults) == {0: key}
    assert len(faults.found) == len(head.manifest.shards) - 1
    assert len(open_first(head, 3)) == head.manifest.shards[0].records


def test_lineage_goes_back_through_parents_to_the_source_bytes(tmp_path, texts, base):
    recipe = {"sources": [{"name": "site-packages", "kind": "files", "path": "/raw/site-packages"}]}
    write_set(tmp_path / "raw", texts[:4], msgspec.structs.replace(base, resolved=recipe))
    document, _ = texts[0]
    lineage = msgspec.structs.replace(document.meta.lineage, parents=(document.id, "q" * 26))
    meta = msgspec.structs.replace(document.meta, lineage=lineage, address="joined/1", source="joined")
    child = finish(msgspec.structs.replace(document, meta=meta, segments=document.segments * 2), {})
    write_set(tmp_path / "joined", [(child, {})], base)
    sets = [ShardSet.open(tmp_path / name) for name in ("raw", "joined")]
    chain = trace(child, sets[1], sets)
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
    shards = ShardSet.open(tmp_path / "s")
    chain = trace(forged, shards, [shards])
    depth = 0
    while "parents" in chain:
        chain, depth = chain["parents"][0], depth + 1
    assert depth < 50
