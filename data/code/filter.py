"""Which source files are worth reading: every rule writes a score, the recipe's policy turns scores into decisions."""

from trivium.data.code.measure import SCORES, measure
from trivium.data.code.paths import is_license, is_manifest
from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.stage import Draft, Outcome, StageConfig

# Languages whose lines have no usual length (StarCoder 2, section 2.1): one line may be a paragraph.
LOOSE = ("html", "json", "markdown", "groff", "smt", "tex", "text", "xml", "rst")
DATA = ("text", "json", "yaml", "toml", "graphviz")


class CodeRule(Limit, kw_only=True):
    """A limit on one of the scores, for `languages` only, or for all `besides` some."""

    KNOWN = SCORES

    languages: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    def meant_for(self, language: str) -> bool:
        return language not in self.besides and (not self.languages or language in self.languages)


POLICY = (
    CodeRule(score="vendored", max=0, reason="vendored"),
    CodeRule(score="lock_file", max=0, reason="lock_file"),
    CodeRule(score="minified", max=0, reason="minified"),
    CodeRule(score="generated", max=0, reason="generated"),
    CodeRule(score="fixture", max=0, reason="fixture"),
    CodeRule(score="lines", max=100_000, reason="too_long"),
    CodeRule(score="max_line_length", max=1000, reason="long_lines", besides=LOOSE),
    CodeRule(score="mean_line_length", max=100, reason="long_lines", besides=LOOSE),
    CodeRule(score="max_line_length", max=100_000, reason="long_lines", languages=LOOSE),
    CodeRule(score="alphabetic", min=0.25, reason="not_letters"),
    CodeRule(score="encoded_longest", max=1024, reason="encoded_data"),
    CodeRule(score="encoded_share", max=0.5, reason="encoded_data"),
    CodeRule(score="lines", max=512, reason="data_file", languages=DATA),
    CodeRule(score="repeated_lines", max=0.85, reason="repeated_lines"),  # ours: tables written out by hand
)


class CodeFilter(DocumentStage["CodeFilter.Config"]):
    """Measures a file and drops it by the first broken rule meant for its language.

    Licence files pass with their scores: `repository_license` needs them and takes them out. A manifest that breaks a
    rule is dropped like any file, unless it names a licence (its `license` score is above 0).
    """

    name = "code_filter"
    version = 1
    after = "put code_language before it"

    class Config(StageConfig, kw_only=True, tag="code_filter"):
        SCORES = SCORES

        policy: tuple[CodeRule, ...] = POLICY  # limits on the scores

        def build(self) -> "CodeFilter":
            return CodeFilter(self)

    def outcome(self, draft: Draft) -> Outcome:
        meta = draft.document.meta
        scores = measure(meta.address, draft.document.text)
        needed = is_license(meta.address) or (is_manifest(meta.address) and meta.scores.get("license", 0) > 0)
        policy = () if needed else tuple(rule for rule in self.config.policy if rule.meant_for(meta.language))
        return decide(draft, scores, policy, self.step)
