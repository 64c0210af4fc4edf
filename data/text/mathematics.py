"""How mathematical a text is, as one score: marked formulas, mathematical characters, words of the subject.

Recall-oriented and without training: the score says that mathematics is present, not that it is good, so that a recipe
can cast a wide net (OpenWebMath, arXiv 2310.06786, section 3.2, filters in the same order: marks first, then a model).
Measured on pages of manuals with and without formulas: docs/decisions/140-mathematics-by-marks.md.
"""

import math
import re

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.stage import Content, Draft, Outcome, StageConfig

SCORES = ("math_score", "math_formulas", "math_symbols", "math_words")

# A formula between dollars holds a command, a script, a relation or is one letter; prices and shell variables are none.
_FORMULA = re.compile(
    r"\\\((?:[^\\\n]|\\(?!\)))+\\\)|\\\[(?:[^\\]|\\(?!\]))+\\\]|\$\$[^$]+\$\$"
    r"|\\begin\{(?:align|equation|eqnarray|gather|math|multline|[bpvV]?matrix)\*?\}"
    r"|(?<![\w$\\])\$(?![\s\d$])(?:[A-Za-z]|(?=[^$\n]*(?:\\[A-Za-z]|[_^=<>+]))[^$\n]{1,300}(?<!\s))\$(?![\w$])"
)
_COMMAND = re.compile(
    r"\\(?:alpha|beta|cdot|delta|epsilon|eta|frac|gamma|geq?|in|infty|int|lambda|ldots|leq?|lim|log|mathbb|mathbf|mathcal"
    r"|mathrm|mu|nabla|omega|operatorname|partial|phi|pi|prod|psi|rho|sigma|sqrt|sum|tau|theta|times|to|varepsilon|vec|xi)"
    r"(?![A-Za-z])"
)
_SYMBOL = re.compile(r"[∀-⋿⟨⟩⟹⟺αβγδεζηθλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩℝℂℤℕℚℓ±×÷²³⁻ⁿ₀-₉′𝐀-𝟿]")
_GREEK_WORD = re.compile(r"[α-ωΑ-Ωά-ώ]{4,}")
_WORD = re.compile(r"[^\W\d_]+")
_SUBJECT = re.compile(
    r"\b(?:abelian|algebra(?:ic)?s?|arithmetic|asymptotic|axioms?|bijection|binomial|calculus|coefficients?|combinatori\w+"
    r"|conjectures?|convergen(?:t|ce)|converges|convex|corollary|cosine|covariance"
    r"|(?:partial|second|time) derivatives?|derivatives? (?:of|with)|determinants?"
    r"|differentiable|differential|diophantine|disjoint|distribution function|divisors?|eigenvalues?|eigenvectors?"
    r"|equations?|euclidean|factorial|finite field|fourier|gaussian|geometr(?:y|ic)|gradient|hermitian|hilbert"
    r"|homomorphisms?|hyperbolic|hypotenuse|identity matrix|inequalit(?:y|ies)|infinit(?:y|esimal)|injective|integers?"
    r"|integrals?|integrable|integration by parts|isomorphi\w+|jacobian|laplac\w+|lemmas?|linear(?:ly)?|logarithm\w*"
    r"|manifolds?|math(?:s|ematics?|ematical\w*)|matri(?:x|ces)|modulo|monotone|multivariate|numerators?|denominators?"
    r"|orthogonal\w*|orthonormal|permutations?|polynomials?|prime numbers?|primes|probabilit(?:y|ies)|proofs?"
    r"|propositions?|quadratic|quotient|rational numbers?|real numbers?|recurrence|scalars?|sine|subspace|summation"
    r"|surjective|symmetric|tangent|tensors?|theorems?|topolog\w+|triangles?|trigonometr\w+|variance|vectors?)\b",
    re.IGNORECASE,
)
# What of each kind a thousand words hold in a plainly mathematical text; the score reaches 1 - 1/e at it.
_PLENTY_FORMULAS = 12.0
_PLENTY_COMMANDS = 30.0
_PLENTY_SYMBOLS = 25.0
_PLENTY_WORDS = 40.0
_LEAST_WORDS = 50  # a shorter text is measured as if it had so many


class MathLimit(Limit, kw_only=True):
    """A limit on one of the scores of mathematics; the `math_…` counts are per thousand words."""

    KNOWN = SCORES


def measure(text: str) -> dict[str, float]:
    """All scores: counts of formulas, mathematical characters and words of the subject per thousand words; `math_score`
    from 0 to 1 puts them together, any one of them is enough.
    """
    words = max(_LEAST_WORDS, len(_WORD.findall(text))) / 1000
    formulas = len(_FORMULA.findall(text)) / words
    commands = len(_COMMAND.findall(text)) / words if "\\" in text else 0.0
    symbols = 0.0
    if not text.isascii():
        greek = sum(len(word) for word in _GREEK_WORD.findall(text))  # prose in Greek is none
        symbols = max(0, len(_SYMBOL.findall(text)) - greek) / words
    subject = len(_SUBJECT.findall(text)) / words
    without = (
        math.exp(-formulas / _PLENTY_FORMULAS)
        * math.exp(-commands / _PLENTY_COMMANDS)
        * math.exp(-symbols / _PLENTY_SYMBOLS)
        * math.exp(-((subject / _PLENTY_WORDS) ** 1.5))
    )
    return {
        "math_score": round(1.0 - without, 4),
        "math_formulas": round(formulas, 2),
        "math_symbols": round(symbols, 2),
        "math_words": round(subject, 2),
    }


class MathScore(DocumentStage["MathScore.Config"]):
    """Measures how mathematical a document is; the recipe's policy, empty by default, may drop the others."""

    name = "math_score"
    version = 1

    class Config(StageConfig, kw_only=True, tag="math_score"):
        """`policy`: limits on the scores, such as `{score: math_score, min: 0.3, reason: no_mathematics}`."""

        TAKES = frozenset({Content.TEXT, Content.RECORDS})
        SCORES = SCORES

        policy: tuple[MathLimit, ...] = ()

        def build(self) -> "MathScore":
            return MathScore(self)

    def outcome(self, draft: Draft) -> Outcome:
        return decide(draft, measure(draft.document.text), self.config.policy, self.step)
