"""Numbers, dates and units as texts of many languages write them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.rephrase.gate.read.formulas import form, value
from trivium.data.rephrase.gate.read.numerals import numerals
from trivium.data.rephrase.gate.read.sentences import sentences
from trivium.data.rephrase.gate.reading import Reading


def values(text, language):
    return [max(number.readings) for number in numerals(text, language) if number.sort not in ("part", "ordinal")]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("1,234,567 and 3.5 million, two hundred and five, twenty-one", "en", [1234567, 3500000, 205, 21]),
        (
            "nineteen forty-five, 6.02 × 10^23, two thirds, 1½, −5",
            "en",
            [1945, 602 * 10**21, Fraction(2, 3), Fraction(3, 2), -5],
        ),
        ("Fünfundzwanzig, 1.234,50, zweitausenddreihundert, 3,5 Mio.", "de", [25, Fraction("1234.5"), 2300, 3500000]),
        (
            "quatre-vingt-dix-neuf, dix-sept, vingt et un, soixante-dix, 1 234,5",
            "fr",
            [99, 17, 21, 70, Fraction("1234.5")],
        ),
        ("двадцать пять тысяч, 1 234 567, 3,5 млн", "ru", [25000, 1234567, 3500000]),
        ("treinta y uno, doscientos mil", "es", [31, 200000]),
        ("三百五十个人，3万，1.5亿，二〇二一年，三个月，十分好", "zh", [350, 30000, 150000000, 2021, 3]),
    ],
)
def test_numbers_are_read_however_they_are_written(text, language, expected):
    assert values(text, language) == expected


@given(st.integers(0, 10**12), st.sampled_from(["en", "de", "fr"]))
def test_grouping_marks_change_nothing(number, language):
    mark = {"en": ",", "de": ".", "fr": "\u202f"}[language]
    assert number in {value for n in numerals(f"x {number:,}".replace(",", mark), language) for value in n.readings}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("on 4 March 2021", "en"),
        ("March 4, 2021", "en"),
        ("2021-03-04", "en"),
        ("am 4. März 2021", "de"),
        ("04.03.2021", "de"),
        ("le 4 mars 2021", "fr"),
        ("4 de marzo de 2021", "es"),
        ("4 марта 2021 года", "ru"),
        ("2021年3月4日", "ja"),
    ],
)
def test_dates_are_read_in_each_language(text, language):
    reading = Reading(text, language)
    assert [date.readings[0] for date in reading.dates] == [(2021, 3, 4)]
    assert not reading.numbers


def test_units_meet_across_languages_and_scales():
    pairs = [
        ("5 km", "en", "5000 Meter", "de"),
        ("30 km/h", "en", "30 Kilometer pro Stunde", "de"),
        ("3 hours", "en", "3小时", "zh"),
    ]
    pairs += [
        ("20 percent", "en", "20 процентов", "ru"),
        ("10 °C", "en", "10 degrés Celsius", "fr"),
        ("50 °F", "en", "10 °C", "en"),
    ]
    for one, first, two, second in pairs:
        a, b = Reading(one, first).quantities, Reading(two, second).quantities
        assert len(a) == len(b) == 1, (one, two)
        assert a[0].equals(b[0]), (one, two)
    assert not Reading("5 km", "en").quantities[0].equals(Reading("5 miles", "en").quantities[0])


def test_arithmetic_is_read_in_exact_fractions_and_nothing_else_is():
    assert value(form("3 × 4 + 1")) == 13
    assert value(form("(1 + 2)^2 / 9")) == 1
    assert value(form("-2^2")) == -4
    assert value(form("1/0")) is None
    assert value("__import__('os')") is None
    assert value(form("9^9^9^9^9")) is None


def test_sentences_end_where_they_do():
    text = "Dr. Smith paid 3.5 dollars, i.e. little. He left at 5 p.m. today! 我们走。他来了？\n- one\n- two"
    assert [text[a:b] for a, b in sentences(text)] == [
        "Dr. Smith paid 3.5 dollars, i.e. little.", "He left at 5 p.m. today!", "我们走。", "他来了？",
        "- one", "- two",
    ]  # fmt: skip
