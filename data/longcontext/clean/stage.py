"""The stage `long_clean`: measures a long document, then the recipe's policy decides; scores stay with what is kept."""

from collections.abc import Iterator

from trivium.data.config import digest
from trivium.data.longcontext.clean.blobs import blob_characters
from trivium.data.longcontext.clean.copies import copied_words
from trivium.data.longcontext.clean.logs import log_characters
from trivium.data.longcontext.clean.truncated import cut_markup, cut_sentence
from trivium.data.policy import Limit, decide
from trivium.data.records import Step
from trivium.data.stage import Draft, Item, Outcome, StageConfig

MEASURES = {
    "characters": lambda text: float(len(text)),
    "cut_sentence": cut_sentence,
    "cut_markup": cut_markup,
    "blob_characters": blob_characters,
    "log_characters": log_characters,
    "copied_words": copied_words,
}


class CleanLimit(Limit, kw_only=True):
    """A limit on one of the measures."""

    KNOWN = MEASURES


# The report names what is cleaned away and no threshold; these are ours.
POLICY = (
    CleanLimit(score="cut_sentence", max=0.75, reason="truncated"),
    CleanLimit(score="cut_markup", max=0.0, reason="truncated"),
    CleanLimit(score="blob_characters", max=0.15, reason="blobs"),
    CleanLimit(score="log_characters", max=0.4, reason="log"),
    CleanLimit(score="copied_words", max=0.3, reason="copies_inside"),
)


class LongClean:
    """Measures a document's text; the first broken limit of the policy names the drop's reason."""

    name = "long_clean"
    version = 1

    class Config(StageConfig, kw_only=True, tag="long_clean"):
        SCORES = tuple(MEASURES)

        policy: tuple[CleanLimit, ...] = POLICY

        def build(self) -> "LongClean":
            return LongClean(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("long_clean takes documents; put an extracting stage before it, or read `shards`")
        text = item.document.text
        scores = {name: round(measure(text), 4) for name, measure in MEASURES.items()}
        yield decide(item, scores, self.config.policy, self.step)
