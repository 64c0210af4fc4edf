import os
import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trivium.data.records import Text
from trivium.data.shards import Manifest, ShardSet, write_set
from trivium.data.tokenizers import SPECIALS, Tokenizer
from trivium.data.tokenizers.special import KIMI_PLACES, KIMI_RANKS, kimi_names
from trivium.data.tokenizers.tokenizer import write_ranks
from trivium.data.tokenizers.training import train
from trivium.errors import InputError, UsageError

UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def own(bpe) -> Tokenizer:
    return Tokenizer.load(bpe)


@pytest.fixture(scope="module")
def ranked(own, tmp_path_factory) -> Tokenizer:
    """The same merges as a rank file in Kimi's format."""
    path = tmp_path_factory.mktemp("ranks") / "tiktoken.model"
    write_ranks(path, own.pieces[: own.vocab_size - len(SPECIALS)])
    return Tokenizer.load(path)


@pytest.fixture(params=["own", "ranked"])
def either(request) -> Tokenizer:
    return request.getfixturevalue(request.param)


def test_nothing_is_unencodable_and_specials_are_only_text(own, ranked):
    @given(text=UNICODE | st.lists(st.sampled_from([*SPECIALS, "a", " ", "你", "\n", "7"])).map("".join))
    @example(text="".join(SPECIALS))
    @example(text="\x00\u2028\U0010ffff你好abc١٢٣")
    @settings(deadline=None)
    def law(text):
        for tokenizer in (own, ranked):
            ids = tokenizer.encode(text)
            assert tokenizer.decode(ids) == text
            assert not set(ids) & set(tokenizer.specials.values())

    law()


def test_rank_file_gives_the_same_tokens(own, ranked, texts):
    for document, _ in texts:
        assert ranked.encode(document.text) == own.encode(document.text)


def test_special_places(own, ranked):
    assert [own.specials[name] for name in SPECIALS] == list(range(own.vocab_size - len(SPECIALS), own.vocab_size))
    ranks = ranked.vocab_size - 256
    assert ranked.specials["[BOS]"] == ranks
    assert ranked.specials["<|media_pad|>"] == ranks + 21
    assert ranked.pad == ranked.vocab_size - 1
    names = kimi_names(KIMI_RANKS)
    assert {name: KIMI_RANKS + names.index(name) for name in KIMI_PLACES} == KIMI_PLACES
    assert len(set(names)) == 256


def test_every_special_decodes_to_its_name(either):
    for name, token in either.specials.items():
        assert either.decode([token]) == name


def test_han_runs_and_digits_are_pieces_of_their_own(own, ranked):
    for tokenizer in (own, ranked):
        pieces = [tokenizer.decode([token]) for token in tokenizer.encode("is2024")]
        assert pieces[-4:] == ["2", "0", "2", "4"]
        joined = b"\xff".join(tokenizer.pieces[token] for token in tokenizer.encode("in你in"))
        assert joined.startswith(b"in\xff")
        assert joined.endswith(b"\xffin")


def test_no_merge_joins_han_and_latin_or_two_digits(tmp_path, base, texts):
    document = msgspec.structs.replace(texts[0][0], segments=(Text(text="in你好in 2024年20 " * 400),))
    write_set(tmp_path / "s", [(document, {})], base)
    train([ShardSet.open(tmp_path / "s")], 300, tmp_path / "tok")
    learned = [piece.decode("utf-8", "replace") for piece in Tokenizer.load(tmp_path / "tok").pieces[256:-15]]
    assert any("你好" in piece for piece in learned)
    assert not any(re.search(r"[a-z].*[^\x00-\x7f]|[^\x00-\x7f].*[a-z]|\d\d", piece) for piece in learned)


@pytest.mark.parametrize("text", [" " * 1_000_000 + "x", "a" * 60_000, "你" * 60_000, "x \n" * 140_000])
def test_very_long_runs_neither_crash_nor_stall(either, text):
    assert either.decode(either.encode(text)) == text


def test_lone_surrogates_are_refused(either):
    with pytest.raises(InputError, match="can't be UTF-8"):
        either.encode("a\ud800")


def test_training_ignores_order_sharding_threads_and_repeats(tmp_path, texts, bpe):
    base = Manifest(corpus="licences", domain="knowledge", recipe="")
    write_set(tmp_path / "a", texts[:20], base)
    write_set(tmp_path / "b", texts[10:], base, target_bytes=30_000)
    a, b = ShardSet.open(tmp_path / "a"), ShardSet.open(tmp_path / "b")
    first = train([a, b], 512, tmp_path / "one")
    second = train([b, a], 512, tmp_path / "two")
    assert first == second
    assert first.digest == Tokenizer.load(bpe).digest
    script = (
        "import sys; from pathlib import Path; from trivium.data.shards import ShardSet\n"
        "from trivium.data.tokenizers.training import train\n"
        "train([ShardSet.open(p) for p in sys.argv[2:]], 512, Path(sys.argv[1]))"
    )
    for threads in ("1", "4"):
        out = tmp_path / f"threads{threads}"
        command = [sys.executable, "-c", script, str(out), str(tmp_path / "b"), str(tmp_path / "a")]
        environment = os.environ | {"RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        subprocess.run(command, check=True, env=environment)
        assert (out / "tokenizer.json").read_bytes() == bpe.read_bytes()


def test_info_stands_beside_the_tokenizer(bpe, own):
    info = msgspec.json.decode((bpe.parent / "tokenizer.info.json").read_bytes())
    assert info["digest"] == own.digest
    assert info["vocab"] == own.vocab_size == 512
    assert info["documents"] == 40
    assert list(info["corpora"]) == ["licences"]


def test_training_refuses_what_can_t_work(tmp_path, base):
    write_set(tmp_path / "empty", [], base)
    empty = ShardSet.open(tmp_path / "empty")
    with pytest.raises(UsageError, match="--vocab 270"):
        train([empty], 270, tmp_path / "t")
    with pytest.raises(InputError, match="no text"):
        train([empty], 512, tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not 0, 1, 2"),
        (b"hello world\n", ":1: .*no rank line"),
        (b"YQ== 0\nYg== 2\n", "not 0, 1, 2"),
        (b"YQ== 0\nYg== 1\n", "of the 256 bytes have no rank"),
        (b"{}", "no tokenizer"),
        (b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}', "."),
    ],
)
def test_damaged_files_are_named(tmp_path, content, message):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        Tokenizer.load(tmp_path)
    assert str(path) in str(caught.value)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        Tokenizer.load(tmp_path / "none.json")


def test_digest_is_of_the_file(bpe, own):
    import hashlib

    assert own.digest == hashlib.sha256(bpe.read_bytes()).hexdigest()
    assert own.vocabulary.size == own.vocab_size
