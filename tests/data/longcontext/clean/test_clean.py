"""Measures of long natural documents, on real ones: documentation, licences, certificates, logs that Python writes."""

import base64
import io
import logging
import sysconfig
from pathlib import Path
from pydoc_data import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import from_mapping
from trivium.data.longcontext.clean.blobs import blob_characters
from trivium.data.longcontext.clean.copies import copied_words
from trivium.data.longcontext.clean.logs import log_characters
from trivium.data.longcontext.clean.stage import MEASURES, LongClean
from trivium.data.longcontext.clean.truncated import cut_markup, cut_sentence
from trivium.data.records import Document, Meta, Text, source_id
from trivium.data.stage import Draft, Drop
from trivium.errors import ConfigError

SITE = Path(sysconfig.get_paths()["purelib"])
LICENCES = Path(__file__).parents[4] / "examples/web/licences"
MANUAL = "\n".join(topics.topics[name] for name in sorted(topics.topics))
HANDBOOK_LICENCE = (LICENCES / "debian-handbook.txt").read_text()
# Long pages of Python's manual that are prose to their last line.
PROSE = [name for name, text in sorted(topics.topics.items()) if len(text) > 2500 and text.rstrip().endswith(".")]


@pytest.mark.parametrize("text", [MANUAL, HANDBOOK_LICENCE], ids=["manual", "licence"])
def test_good_long_documents_break_no_limit(text):
    draft = Draft(document=Document(segments=(Text(text=text),), meta=meta("good")))
    (found,) = LongClean.Config().build().process(draft)
    assert isinstance(found, Draft), found
    assert set(found.document.meta.scores) == set(MEASURES)


def meta(address: str) -> Meta:
    return Meta(
        source_id=source_id("s", address), corpus="c", domain="d", source="s", address=address, license="MIT", title="t"
    )


def test_a_page_cut_inside_a_sentence_is_seen_and_whole_ones_are_not():
    assert len(PROSE) > 20
    cut = whole = 0
    for name in PROSE:
        text = topics.topics[name].rstrip()
        whole += cut_sentence(text) > 0.75
        last = text[: text.rindex(" ", 0, len(text) - 30)]
        cut += cut_sentence(last) > 0.0
    assert whole == 0
    assert cut > len(PROSE) // 3


@pytest.mark.parametrize("mark", ["[truncated]", "(truncated)", "[...]", "Read more »"])
def test_marks_of_truncation_count_for_all(mark):
    assert cut_sentence(f"A sentence that was whole.\n\nAnd another one {mark}") == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>A paragraph.</p>\n<a href='pag", 1.0),
        ("<table><tr><td>1</td></tr></table>\n<table><tr><td>2", 1.0),
        ("```python\nprint()\n```\nText.\n```\nopen", 1.0),
        ("half a charac\ufffd", 1.0),
        ("<p>A paragraph.</p>", 0.0),
        ("if a < b and the rest is prose, nothing was cut.", 0.0),
        ("Text.\n```\nclosed\n```\n", 0.0),
        ("Heading\n~~~~~~~\nUnderlined, not fenced.", 0.0),
        ("", 0.0),
    ],
)
def test_open_markup(text, expected):
    assert cut_markup(text) == expected


def test_certificates_base64_and_dumps_are_blobs():
    certificates = (SITE / "certifi/cacert.pem").read_text()
    assert blob_characters(certificates) > 0.6
    payload = (SITE / "matplotlib/mpl-data/images/home.png").read_bytes()
    wrapped = base64.encodebytes(payload).decode()
    assert blob_characters(wrapped) > 0.9
    dump = "\n".join(f"{at:08x}  {payload[at : at + 16].hex(' ')}  |..|" for at in range(0, len(payload), 16))
    assert blob_characters(dump) > 0.9
    mixed = MANUAL[:20_000] + "\n" + wrapped
    assert abs(blob_characters(mixed) - len(wrapped) / len(mixed)) < 0.05


def test_minified_code_is_a_blob_and_code_is_not():
    source = (Path(sysconfig.get_paths()["stdlib"]) / "shutil.py").read_text()
    assert blob_characters(source) == 0.0
    assert blob_characters("".join(source.split())) > 0.9


def test_prose_paths_and_scripts_without_spaces_are_no_blobs():
    assert blob_characters(MANUAL) == 0.0
    paths = "\n".join(str(path) for path in sorted(SITE.rglob("*.py"))[:300])
    assert blob_characters(paths) < 0.02
    assert blob_characters("天地玄黃宇宙洪荒日月盈昃辰宿列張" * 100) == 0.0


def test_a_log_that_python_writes_is_a_log():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.Logger("server")
    logger.addHandler(handler)
    for number in range(200):
        logger.info("request %d took %d ms", number, number * 7 % 113)
    assert log_characters(stream.getvalue()) == 1.0
    bare = "\n".join(f"request {number} took {number * 7 % 113} ms" for number in range(200))
    assert log_characters(bare) > 0.95
    assert log_characters(MANUAL) < 0.05
    half = MANUAL[: len(bare)] + "\n" + bare
    assert 0.3 < log_characters(half) < 0.7


def test_a_list_of_like_lines_without_other_numbers_is_no_log():
    assert log_characters("The same line of a refrain.\n" * 50) == 0.0


def test_sections_said_again_are_copies():
    text = HANDBOOK_LICENCE
    assert copied_words(text) < 0.1
    assert 0.4 < copied_words(text + "\n\n" + text) < 0.55
    words = text.split()
    changed = " ".join("other" if number % 40 == 0 else word for number, word in enumerate(words))
    assert copied_words(text + "\n\n" + changed) > 0.3
    # Topics of Python's manual do share sections: `operator-summary` stands in `expressions` again, and more.
    assert 0.1 < copied_words(MANUAL) < 0.3
    assert copied_words(topics.topics["assignment"]) == 0.0


@given(st.text(max_size=400))
def test_shares_are_shares(text):
    for name, measure in MEASURES.items():
        if name != "characters":
            assert 0.0 <= measure(text) <= 1.0, name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ((SITE / "certifi/cacert.pem").read_text(), "blobs"),
        (HANDBOOK_LICENCE * 2, "copies_inside"),
        ("\n".join(f"2026-01-01 00:00:{n % 60:02d} INFO step {n}" for n in range(300)), "log"),
        ("First.\n\n<table><tr><td>2", "truncated"),
    ],
    ids=["blobs", "copies", "log", "truncated"],
)
def test_the_first_broken_limit_names_the_reason(text, reason):
    (found,) = (
        LongClean.Config().build().process(Draft(document=Document(segments=(Text(text=text),), meta=meta("bad"))))
    )
    assert isinstance(found, Drop)
    assert found.reason == reason
    assert "wanted" in found.detail


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"score": "blobs", "reason": "r", "max": 1}, "no score 'blobs'"),
        ({"score": "characters", "reason": "r"}, "neither min nor max"),
        ({"score": "characters", "reason": "r", "min": 100, "max": 10}, "at least 100 and at most 10; nothing keeps"),
    ],
)
def test_a_wrong_policy_is_named(limit, message):
    with pytest.raises(ConfigError, match=message):
        from_mapping({"policy": [limit], "kind": "long_clean"}, LongClean.Config, name="recipe")
