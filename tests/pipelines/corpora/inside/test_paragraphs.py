"""Repeated paragraphs against a dictionary of their words, and the order of survivors."""

from hypothesis import given
from hypothesis import strategies as st
from in_process import SETTINGS, again_changes_nothing, draft_of, order_of, segments

from trivium.data.dedup.paragraphs import RepeatedParagraphs, id_of, rank_of
from trivium.data.dedup.words import words_of
from trivium.data.records import source_id

BODY = st.integers(0, 400).map(lambda number: f"unique words {number} " + "z" * (number % 30))
PARAGRAPH = st.sampled_from(
    ("One same paragraph here.", "one SAME paragraph: here", "Другой абзац\nв две строки", "short", "--------")
)
TEXT = st.lists(st.one_of(PARAGRAPH, BODY), max_size=6).map("\n\n".join)


@SETTINGS
@given(
    st.lists(st.tuples(st.lists(TEXT, min_size=1, max_size=2), st.sampled_from((None, -1.5, 0.0, 2.0))), max_size=8),
    st.sampled_from(("", "q")),
    st.sampled_from((0, 10)),
    st.integers(1, 9),
)
def test_of_each_paragraph_the_best_copy_stays_and_no_other(apply, documents, quality, least, limit):
    config = RepeatedParagraphs(min_chars=10, min_left=least, quality=quality)
    drafts = [
        draft_of(n, *texts, scores={} if score is None else {"q": score}) for n, (texts, score) in enumerate(documents)
    ]
    seen: set[tuple[str, ...]] = set()
    kept: dict[str, list[list[str]]] = {}
    for draft in sorted(drafts, key=lambda draft: order_of(draft, quality)):
        kept[draft.document.meta.source_id] = own = []
        for part in draft.document.segments:
            bodies = [body.strip("\n") for body in part.text.split("\n\n") if body.strip()]
            fresh = []
            for body in bodies:
                words = tuple(words_of(body))
                if len(body) < 10 or not words or words not in seen:
                    fresh.append(body)
                if len(body) >= 10:
                    seen.add(words)
            own.append(fresh)
    work = apply(config, drafts, limit=limit)
    for key, parts in segments(work).items():
        expected = [part for part in kept[key] if part]
        assert [[body for body in text.split("\n\n") if body.strip()] for text in parts if text.strip()] == expected
    for key in work.drops:
        assert sum(len("\n\n".join(part)) for part in kept[key]) < least
    everything = {tuple(words_of(body)) for parts in segments(work).values() for t in parts for body in t.split("\n\n")}
    assert {words for words in seen if words} <= everything  # no copy went with a dropped document
    again_changes_nothing(apply, config, work)


def test_ranks_and_ids_are_in_the_order_of_survivors():
    ids = sorted(source_id("s", str(n)) for n in range(200))
    assert sorted(map(id_of, ids)) == [id_of(key) for key in ids]
    assert id_of(ids[0]) < 1 << 60
    scores = [{"q": 3.5}, {"q": 0.25}, {"q": 0.0}, {"q": -0.25}, {"q": -7.0}, {}]
    ranks = [rank_of(score, "q", 10) for score in scores]
    assert ranks == sorted(ranks)
    assert rank_of({}, "", 11) < rank_of({}, "", 10)
    assert rank_of({"q": 0.25}, "q", 1) < rank_of({}, "q", 10_000)
