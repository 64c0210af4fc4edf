"""Quality rules as a stage: it writes every score, then the recipe's policy turns scores into decisions."""

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.stage import Draft, Outcome, StageConfig
from trivium.data.text.rules import SCORES, measure


class Rule(Limit, kw_only=True):
    """A limit on one of the quality scores."""

    KNOWN = SCORES


# Thresholds as published: Gopher table A1; FineWeb section 3.6. C4's brackets are left out: they drop every code page.
POLICY = (
    Rule(score="words", min=50, max=100_000, reason="word_count"),
    Rule(score="mean_word_length", min=3, max=10, reason="word_length"),
    Rule(score="symbols_per_word", max=0.1, reason="symbols"),
    Rule(score="bullet_lines", max=0.9, reason="bullets"),
    Rule(score="ellipsis_lines", max=0.3, reason="ellipses"),
    Rule(score="alphabetic_words", min=0.8, reason="not_words"),
    Rule(score="stop_words", min=2, reason="no_prose"),
    Rule(score="duplicate_lines", max=0.3, reason="repeated_lines"),
    Rule(score="duplicate_line_characters", max=0.1, reason="repeated_lines"),  # FineWeb; Gopher has 0.2
    Rule(score="duplicate_paragraphs", max=0.3, reason="repeated_paragraphs"),
    Rule(score="duplicate_paragraph_characters", max=0.2, reason="repeated_paragraphs"),
    Rule(score="top_2gram", max=0.2, reason="repetition"),
    Rule(score="top_3gram", max=0.18, reason="repetition"),
    Rule(score="top_4gram", max=0.16, reason="repetition"),
    Rule(score="duplicate_5grams", max=0.15, reason="repetition"),
    Rule(score="duplicate_6grams", max=0.14, reason="repetition"),
    Rule(score="duplicate_7grams", max=0.13, reason="repetition"),
    Rule(score="duplicate_8grams", max=0.12, reason="repetition"),
    Rule(score="duplicate_9grams", max=0.11, reason="repetition"),
    Rule(score="duplicate_10grams", max=0.10, reason="repetition"),
    Rule(score="punctuated_lines", min=0.12, reason="few_sentences"),
    Rule(score="short_lines", max=0.67, reason="short_lines"),
    Rule(score="lines_per_word", max=0.3, reason="list_like"),
    Rule(score="placeholder", max=0, reason="placeholder"),
)


class Heuristics(DocumentStage["Heuristics.Config"]):
    """Measures a document's text; the first broken rule of the policy names the drop's reason."""

    name = "heuristics"
    version = 2

    class Config(StageConfig, kw_only=True, tag="heuristics"):
        """`languages`: by ISO 639 code, rules that stand in the place of all of the policy's on the same scores.

        A document's language is what the `language` stage found, or the source's; English where neither says. A rule on
        a score that says nothing of the document (no stop words are known, its script has no blanks) is passed over.
        """

        SCORES = SCORES

        policy: tuple[Rule, ...] = POLICY  # limits on the scores; the first broken one gives the reason
        languages: dict[str, tuple[Rule, ...]] = {}

        def build(self) -> "Heuristics":
            return Heuristics(self)

        def policy_of(self, language: str) -> tuple[Rule, ...]:
            """The policy with the language's own rules put in."""
            own = self.languages.get(language, ())
            taken = {rule.score for rule in own}
            return (*(rule for rule in self.policy if rule.score not in taken), *own)

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._policies = {language: config.policy_of(language) for language in config.languages}

    def outcome(self, draft: Draft) -> Outcome:
        language = draft.document.meta.language
        scores = measure(draft.document.text, language)
        policy = self._policies.get(language, self.config.policy)
        return decide(draft, scores, [rule for rule in policy if rule.score in scores], self.step)
