"""Personal data and secrets masked, counted by kind, and a policy on the counts.

The placeholders follow Dolma (arXiv 2402.00159, section 5.1.5: `|||EMAIL_ADDRESS|||`), with names for the kinds that it
does not have. FineWeb writes other addresses instead (`email@example.com`); then nobody can tell what was masked.
"""

from collections import Counter

import msgspec

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.records import Text
from trivium.data.stage import Draft, Outcome, StageConfig
from trivium.data.text.pii.find import KINDS, Kind, find
from trivium.data.text.pii.phones import known

PLACEHOLDERS = {
    Kind.SECRET: "|||SECRET_KEY|||",
    Kind.EMAIL: "|||EMAIL_ADDRESS|||",
    Kind.IBAN: "|||BANK_ACCOUNT|||",
    Kind.CARD: "|||CARD_NUMBER|||",
    Kind.IP: "|||IP_ADDRESS|||",
    Kind.PHONE: "|||PHONE_NUMBER|||",
}


def score_of(kind: Kind) -> str:
    return f"pii_{kind}"


SCORES = tuple(score_of(kind) for kind in KINDS)


class PiiRule(Limit, kw_only=True):
    """A limit on how many of a kind a document held."""

    KNOWN = SCORES


def mask(text: str, kinds: tuple[Kind, ...] = KINDS, regions: tuple[str, ...] = ("US",)) -> tuple[str, Counter[Kind]]:
    """The text with placeholders, and how many of each kind there were; masking again changes nothing."""
    counts: Counter[Kind] = Counter()
    parts, end = [], 0
    for start, stop, kind in find(text, kinds, regions):
        parts += [text[end:start], PLACEHOLDERS[kind]]
        counts[kind] += 1
        end = stop
    return ("".join((*parts, text[end:])) if parts else text), counts


class Pii(DocumentStage["Pii.Config"]):
    """Masks every text of a document and its title; what was masked is counted, never kept."""

    name = "pii"
    version = 1

    class Config(StageConfig, kw_only=True, tag="pii"):
        """`regions`: ISO 3166 codes of countries whose national telephone numbers are looked for."""

        SCORES = SCORES

        kinds: tuple[Kind, ...] = KINDS  # what is looked for
        regions: tuple[str, ...] = ("US",)
        policy: tuple[PiiRule, ...] = ()  # limits on the counts `pii_KIND`

        def __post_init__(self) -> None:
            for region in self.regions:
                if len(region) != 2 or not region.isascii() or not region.isupper():
                    raise ValueError(f"region {region!r} is no ISO 3166 code of two capitals, such as US or DE")
                if not known(region):
                    raise ValueError(f"region {region!r} has no numbering plan; give a country, such as US or DE")
            left = sorted({rule.score for rule in self.policy} - {score_of(kind) for kind in self.kinds})
            if left:
                raise ValueError(
                    f"the policy has a rule on {left[0]!r}, and `kinds` leaves that kind out; add it there"
                )

        def build(self) -> "Pii":
            return Pii(self)

    def outcome(self, draft: Draft) -> Outcome:
        counts: Counter[Kind] = Counter()
        segments = []
        for segment in draft.document.segments:
            if isinstance(segment, Text):
                segment = msgspec.structs.replace(segment, text=self._mask(segment.text, counts))
            segments.append(segment)
        meta = msgspec.structs.replace(draft.document.meta, title=self._mask(draft.document.meta.title, counts))
        document = msgspec.structs.replace(draft.document, segments=tuple(segments), meta=meta)
        scores = {score_of(kind): float(counts[kind]) for kind in self.config.kinds}
        step = msgspec.structs.replace(self.step, counts={str(kind): counts[kind] for kind in KINDS if counts[kind]})
        return decide(msgspec.structs.replace(draft, document=document), scores, self.config.policy, step)

    def _mask(self, text: str, counts: Counter[Kind]) -> str:
        masked, found = mask(text, self.config.kinds, self.config.regions)
        counts += found
        return masked
