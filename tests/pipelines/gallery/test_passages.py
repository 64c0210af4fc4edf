"""Two texts beside each other: from where they part, with the words marked that only one has."""

from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup.survivor import LEAD, parting
from trivium.pipelines.gallery.passages import ONLY, SAME, beside, compared

TEXT = st.text("ab \n", max_size=300)


@given(TEXT, TEXT, st.integers(1, 50))
def test_an_excerpt_begins_before_the_first_difference_and_at_the_same_place_in_both(text, other, shown):
    begins = parting(text, other, shown)
    assert text[:begins] == other[:begins]
    same = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    assert begins <= same
    assert begins == 0 or same - begins <= LEAD or begins + shown >= len(text) - LEAD


@given(TEXT, TEXT)
def test_pieces_are_the_texts_and_what_is_marked_stands_on_one_side(left, right):
    a, b = compared(left, right)
    assert ("".join(text for _, text in a), "".join(text for _, text in b)) == (left, right)
    shared = ["".join(text for kind, text in side if kind == SAME).casefold().split() for side in (a, b)]
    assert "".join(shared[0]) == "".join(shared[1])


def test_a_word_exchanged_behind_the_beginning_is_found_and_marked():
    lead = "the same words " * 40
    stays, went = f"{lead}then one thing and more {lead}", f"{lead}then another thing and more {lead}"
    begins = parting(went, stays, 400)
    assert 0 < begins <= len(lead)
    start, a, b = beside(stays, went[begins : begins + 400], begins)
    assert start == begins
    assert [text for kind, text in a if kind == ONLY] == ["one"]
    assert [text for kind, text in b if kind == ONLY] == ["another"]


def test_a_survivor_that_was_cut_since_is_found_by_its_words_or_not_at_all():
    stays, went = (
        "x " * 30 + "a passage of words that both texts have in common",
        "a passage of words that both texts have in their own way",
    )
    assert beside("gone since: " + stays[60:], went, 60)[0] == 12
    assert beside("nothing of it", went, 60) is None
