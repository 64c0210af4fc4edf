"""Long stretches against a dictionary of all runs of tokens: Cyrillic, ideographs, emoji, decomposed letters, Thai."""

import itertools
import random
from collections import defaultdict

from hypothesis import example, given
from hypothesis import strategies as st
from in_process import SETTINGS, again_changes_nothing, draft_of, order_of, segments

from trivium.data.dedup.edits import merged, pieces
from trivium.data.dedup.lines import RepeatedLines
from trivium.data.dedup.paragraphs import RepeatedParagraphs
from trivium.data.dedup.substrings import Substrings
from trivium.data.dedup.units import Tokens
from trivium.data.stage import Draft

CHUNK = st.sampled_from(
    (
        "alpha beta gamma delta epsilon",
        "в начале было слово, и",
        "中文字符测试文本",
        "e\u0301te\u0301 na\u0131\u0308ve и\u0306 х",
        "👨\u200d👩 👍🏽 🇩🇪 1\ufe0f\u20e3 ok",
        "a b a b a b a b a b a b",
        "=== --- === ---",
        "ก่ำนี้คือ",
    )
)
GLUE = st.sampled_from((" ", "\n", "  ", "", "\u0301 ", " one ", " two three "))
PROSE = st.lists(st.tuples(CHUNK, GLUE), max_size=7).map(lambda parts: "".join(itertools.chain(*parts)))


def substrings_oracle(size: int, drafts: list[Draft]) -> dict[str, list[str]]:
    """The pieces of each document's text when every run of `size` tokens but its first occurrence goes."""
    read = {d.document.meta.source_id: [(p.text, Tokens(p.text)) for p in d.document.segments] for d in drafts}
    first: dict[str, tuple] = {}
    places = defaultdict(list)
    for draft in sorted(drafts, key=lambda draft: order_of(draft, "")):
        key = draft.document.meta.source_id
        for number, (text, tokens) in enumerate(read[key]):
            for at in range(len(tokens) - size + 1):
                run = text[tokens.starts[at] : tokens.ends[at + size - 1]]
                before = first.setdefault(run, (key, number, at))
                if before[:2] != (key, number) or at >= before[2] + size:
                    places[key, number].append((int(tokens.starts[at]), int(tokens.ends[at + size - 1])))
    return {
        key: [piece for n, (text, _) in enumerate(parts) for piece in pieces_of(text, merged(places[key, n]))]
        for key, parts in read.items()
    }


def pieces_of(text: str, spans) -> list[str]:
    return pieces(text, spans) if spans else [text]


@SETTINGS
@given(st.lists(st.lists(PROSE, min_size=1, max_size=2), min_size=1, max_size=7), st.integers(4, 7), st.integers(1, 9))
@example([["a " * 60], ["b " + "a " * 30]], 5, 4)
def test_exactly_the_later_copies_of_long_runs_go(apply, documents, size, limit):
    drafts = [draft_of(n, *texts) for n, texts in enumerate(documents)]
    expected = substrings_oracle(size, drafts)
    work = apply(Substrings(min_tokens=size, min_left=0), drafts, limit=limit)
    assert segments(work) == expected
    for parts in segments(work).values():
        assert all(part.encode().decode() == part for part in parts)
    again_changes_nothing(apply, Substrings(min_tokens=size, min_left=0), work)


def test_a_dropped_document_held_no_long_run(apply):
    shared = "".join(f"w{n} " for n in range(60))
    short, han = "x" * 20, "".join(chr(0x4E00 + n) for n in range(55))
    drafts = [
        draft_of(0, shared + " ".join(f"own{n}" for n in range(40))),
        draft_of(1, shared + short),
        draft_of(2, shared + han),
    ]
    work = apply(Substrings(min_left=200), drafts)
    dropped = {drafts[1].document.meta.source_id}
    assert set(work.drops) == dropped  # 55 ideographs are fewer than 200 characters, but a run of 50 tokens
    assert work.drops.popitem()[1].reason == "repeated_text"
    assert segments(work)[drafts[2].document.meta.source_id] == [" " + han]  # exactly the range, so not the space


def test_the_order_of_arrival_changes_nothing(apply):
    chooser = random.Random(5)
    pool = [
        " ".join(chooser.choice(("один", "two", "三", "4", "five!", "шесть")) for _ in range(30)) for _ in range(12)
    ]
    drafts = [draft_of(n, "\n\n".join(chooser.choices(pool, k=5)), f"own {n}") for n in range(12)]
    for config in (
        Substrings(min_tokens=9),
        RepeatedParagraphs(min_chars=80, min_left=80),
        RepeatedLines(min_documents=3, min_share=0.1),
    ):
        first = apply(config, drafts)
        chooser.shuffle(drafts)
        second = apply(config, drafts, limit=5)
        assert first.drafts == second.drafts
        assert first.drops == second.drops
        assert first.facts == second.facts
        assert first.facts[{"substrings": "longest"}.get(first.facts["kind"], "top")]
