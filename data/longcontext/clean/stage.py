"""The stage `long_clean`: measures a long document, then the recipe's policy decides; scores stay with what is kept."""

from trivium.data.frames import DocumentStage
from trivium.data.longcontext.clean.blobs import blob_characters
from trivium.data.longcontext.clean.copies import copied_words
from trivium.data.longcontext.clean.logs import log_characters
from trivium.data.longcontext.clean.truncated import cut_markup, cut_sentence
from trivium.data.policy import Limit, decide
from trivium.data.stage import Draft, Outcome, StageConfig

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


class LongClean(DocumentStage["LongClean.Config"]):
    """Measures a document's text; the first broken limit of the policy names the drop's reason."""

    name = "long_clean"
    version = 1
    after = "put an extracting stage before it, or read `shards`"

    class Config(StageConfig, kw_only=True, tag="long_clean"):
        SCORES = tuple(MEASURES)

        policy: tuple[CleanLimit, ...] = POLICY  # limits on the scores

        def build(self) -> "LongClean":
            return LongClean(self)

    def outcome(self, draft: Draft) -> Outcome:
        text = draft.document.text
        scores = {name: round(measure(text), 4) for name, measure in MEASURES.items()}
        return decide(draft, scores, self.config.policy, self.step)
