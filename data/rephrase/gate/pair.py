"""What the gate is asked and what it answers."""

import msgspec


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A source and its rewrite. `language` and `target` are their ISO 639 codes: two different ones make a translation.

    `style` is the prompt's id, with or without `@version`; `protected` are stretches that must stand in the rewrite
    letter by letter (tables, code, formulas that were kept out of the model's hands).
    """

    source: str
    rewrite: str
    language: str
    target: str
    style: str = ""
    protected: tuple[str, ...] = ()

    @property
    def translated(self) -> bool:
        return self.language != self.target


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check saw: `score` from 0 (broken) to 1 (kept), a reason for counters and a line for people."""

    check: str
    score: float
    passed: bool
    reason: str = ""
    detail: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision: `reason` and `detail` are those of the first check that failed, `scores` of all that looked."""

    accepted: bool
    reason: str
    detail: str
    scores: dict[str, float]
    findings: tuple[Finding, ...]


REASONS = {
    "empty": "the rewrite holds no text",
    "protected_changed": "a table, code or formula that had to stay letter by letter is not there",
    "too_short": "much shorter than the source, in a style that leaves nothing out",
    "too_long": "much longer than the source, so most of it can't be from there",
    "copy": "the source again, not a rewrite of it",
    "loop": "the text repeats itself and the source does not",
    "chatter": "the model speaks about itself or its task",
    "unfinished": "the last sentence has no end",
    "wrong_language": "not in the language that was asked for",
    "address_lost": "a URL or e-mail address of the source is missing",
    "address_invented": "a URL or e-mail address that the source does not have",
    "identifier_changed": "an identifier, option, path or version differs from the source's",
    "formula_changed": "a formula of the source is missing or differs",
    "formula_invented": "a formula that the source does not have, in a style that derives nothing",
    "formula_wrong": "an equation between plain numbers that does not hold",
    "date_changed": "a date, weekday or time of day that contradicts the source's",
    "date_lost": "a date of the source is missing",
    "unit_changed": "a number of the source with another unit, or converted to an unequal amount",
    "number_changed": "a number of the source is missing and another one stands there",
    "number_invented": "a number that the source does not have",
    "number_lost": "a number of the source is missing, in a style that leaves nothing out",
    "number_moved": "numbers of the source stand at each other's places",
    "name_changed": "a name of the source is missing and another one stands there",
    "name_invented": "a name that the source does not have",
    "name_lost": "a name of the source is missing, in a style that leaves nothing out",
    "negation_lost": "what the source denies is said without a denial",
    "negation_added": "what the source says is denied",
    "opposite": "a word of the source stands there as its opposite: more for less, before for after",
    "dropped": "a sentence of the source has nothing like it in the rewrite",
    "invented": "a sentence of the rewrite has nothing like it in the source",
    "voted_down": "the model that votes calls the rewrite unfaithful",
    "no_vote": "the model that votes gave no answer that counts",
}
