"""C4's rules: which lines go and why, what is left, and words that a list forbids."""

import re

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trivium.data.records import Document, Image, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.bad_words import BadWords, Lexicon
from trivium.data.text.c4 import C4Lines, C4Rule

GOOD = ("This line has words and ends.", "So does this one, does it not?", 'He said: "It is a third sentence."')


def draft(*segments, language: str = "") -> Draft:
    raw = Raw(corpus="c", domain="web", source="s", address="a", license="x", body=b"", mime="", language=language)
    return Draft(document=Document(segments=segments, meta=raw.meta(source_sha256="")))


def run(text: str, **config) -> Draft | Drop:
    (outcome,) = C4Lines.Config(**config).build().process(draft(Text(text=text)))
    return outcome


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("A heading without any end", "no_sentence_end"),
        ("And then it was all over...", "no_sentence_end"),
        ("Read the whole story here…", "no_sentence_end"),
        ("Only four words here.", "few_words"),
        (f"A word of {'x' * 1001} letters is here.", "long_word"),
        ("You have to turn on JavaScript to read.", "javascript"),
        ("By going on you accept our Cookie Policy.", "notice"),
        ("Here stands a fact with a source.[12]", ""),
        ("  Blanks on either side do not matter.  ", ""),
    ],
)
def test_each_line_goes_for_its_reason(line, reason):
    kept = run("\n".join((*GOOD, line)))
    assert kept.document.meta.lineage.steps[0].counts == ({reason: 1} if reason else {})
    assert kept.document.meta.scores["c4_removed_lines"] == bool(reason)
    last = re.sub(r"\[12\]", "", line.strip())
    assert kept.document.text == "".join(f"{part}\n" for part in (*GOOD, *(() if reason else (last,))))


def test_the_page_goes_when_too_little_is_left_or_a_rule_says_so():
    assert run("\n".join(GOOD[:2])).reason == "too_few_sentences"
    assert run("\n".join((*GOOD, "The code is { a: 1 } as said."))).reason == "curly_brackets"
    assert run("\n".join((*GOOD, "Lorem ipsum dolor sit amet."))).reason == "placeholder"
    assert isinstance(run(GOOD[0], policy=(C4Rule(score="c4_sentences", min=1, reason="x"),)), Draft)
    assert run("\n".join((*GOOD, "No end but long enough")), ends=()).document.meta.scores["c4_removed_lines"] == 0
    sentences = "One is here. Two is there! Three, e.g. this one? Four.\n这是第一句。这是第二句！\n" + GOOD[0]
    assert run(sentences, min_words=1).document.meta.scores["c4_sentences"] == 8  # `e.g.` counts as one


WRAPPED = """# A heading.

The first paragraph goes over
two lines, as editors wrap
it. It has a second one.[3]
It ends here.

Its title
---------
- An item that is wrapped behind
  its sixth word.
- short item.
| a | row that ends with enough words. |

And this one never comes to
an end

```
print("five words are in here.")
x = 1
```
He said: "The code of
conduct is short."

By going on you accept our Cookie
Policy and all its words.
"""


def test_wrapped_lines_are_judged_by_paragraph():
    kept = run(WRAPPED, wrapped=True)
    assert kept.document.text == (
        "The first paragraph goes over\ntwo lines, as editors wrap\nit. It has a second one.\nIt ends here.\n\n"
        "- An item that is wrapped behind\nits sixth word.\n\n"
        'He said: "The code of\nconduct is short."\n'
    )
    assert "over" not in run(WRAPPED).document.text  # line by line the paragraph's head is no sentence
    web = "\n".join((*GOOD, "Menu", "", "Another line that stays here."))  # one paragraph a line: nothing is wrapped
    assert run(web) == run(web, wrapped=False)
    parts = "\n\n".join((*GOOD, "Menu"))
    assert run(parts, wrapped=True).document.meta.scores == run(parts).document.meta.scores
    assert run(run(parts, wrapped=True).document.text, wrapped=True).document.text == "\n\n".join(GOOD) + "\n"


def test_the_option_left_out_changes_no_digest():
    plain = msgspec.to_builtins(C4Lines.Config())
    assert "wrapped" not in plain
    assert msgspec.to_builtins(C4Lines.Config(wrapped=False)) == plain
    assert msgspec.to_builtins(C4Lines.Config(wrapped=True)) == {**plain, "wrapped": True}


def test_pictures_stay_between_the_texts():
    image = Image(media="i0.png", width=28, height=28, mime="image/png")
    (kept,) = (
        C4Lines.Config()
        .build()
        .process(draft(Text(text="\n".join(GOOD)), image, Text(text="Menu\nHome"), image, Text(text=GOOD[0])))
    )
    assert kept.document.segments == (
        Text(text="".join(f"{g}\n" for g in GOOD)),
        image,
        image,
        Text(text=GOOD[0] + "\n"),
    )


ENTRIES = ("bad", "very bad", "b-d", "s&m", "ugly word")


@example(["very", "badly", "bad"], " ")
@given(st.lists(st.sampled_from(("bad", "badly", "very", "word", "ugly", "b-d", "s&m", "Bad", "_bad")), max_size=8),
       st.sampled_from((" ", ", ", "\n", "-")))  # fmt: skip
def test_words_are_found_as_c4s_expression_finds_them(parts, glue):
    text = glue.join(parts)
    expected = [
        entry for entry in ENTRIES if re.search(rf"(?:\W|^){re.escape(entry)}(?:\W|$)", text.lower())
    ]  # as published, entry by entry
    assert Lexicon(list(ENTRIES), spaced=True).found(text) == sorted(expected)


def test_lists_go_by_language(tmp_path):
    (tmp_path / "en").write_text("bad word\nworse\n")
    (tmp_path / "ja.txt").write_text("悪い\n")
    stage = BadWords.Config(path=str(tmp_path)).build()
    stage.open()
    for text, language, kept in (
        ("A bad word.", "en", False),
        ("A bad word.", "", False),
        ("A bad word.", "de", True),
        ("これは悪いです", "ja", False),
        ("All good, badly worded.", "en", True),
    ):
        (outcome,) = stage.process(draft(Text(text=text), language=language))
        assert isinstance(outcome, Draft) == kept, (text, language)
    whole = BadWords.Config(path=str(tmp_path / "en")).build()
    (outcome,) = whole.process(draft(Text(text="worse"), language="de"))
    assert (outcome.reason, outcome.scores) == ("bad_words", {"bad_words": 1.0})
    stage.close()
