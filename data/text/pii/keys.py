"""Keys and tokens that open something: forms that their makers document, and blocks of private keys."""

import re
from collections.abc import Iterator

# (literals of which one must stand in the text, the whole form)
_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),  # AWS access key ids
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b")),  # GitHub
    (("github_pat_",), re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b")),
    (("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_-]{20,64}")),  # GitLab
    (("xox",), re.compile(r"\bxox[abeprs]-[A-Za-z0-9-]{10,250}")),  # Slack
    (("AIza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")),  # Google
    (("_live_",), re.compile(r"\b(?:sk|rk|pk)_live_[A-Za-z0-9]{16,250}\b")),  # Stripe
    (("sk-",), re.compile(r"\bsk-(?:proj-|ant-[a-z0-9]+-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{32,250}")),  # OpenAI …
    (("npm_",), re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    (("hf_",), re.compile(r"\bhf_[A-Za-z0-9]{34}\b")),  # Hugging Face
    (("pypi-AgE",), re.compile(r"\bpypi-AgE[A-Za-z0-9_-]{50,250}")),
    (
        ("eyJ",),
        re.compile(r"\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{16,1400}"),
    ),  # JWT
)
_BEGIN = "-----BEGIN "
_PRIVATE = re.compile(
    r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----).){0,20000}?-----END \1-----|(?:\s*[A-Za-z0-9+/=]{16,80}(?![A-Za-z0-9+/=]))+)",
    re.S,
)
_ENCODED = re.compile(r"[A-Za-z0-9+/=]{40}")  # a key has at least one line of it, an example has dots
# One of these stands in each form and each key: four looks at a text instead of one for each literal.
_SIGNS = (
    re.compile(r"_(?:(?<=gh[pousr]_)|(?<=npm_)|(?<=hf_)|(?<=github_)pat_|live_)"),
    re.compile(r"-(?:(?<=sk-)|(?<=glpat-)|(?<=xox[abeprs]-)|(?<=pypi-)AgE|----BEGIN )"),
    re.compile(r"A(?:KIA|SIA|Iza)"),
    re.compile(r"eyJ"),
)
_DISTINCT = 8  # a token of fewer different characters is a placeholder: `ghp_xxxxxxxx…`


def secrets(text: str) -> Iterator[tuple[int, int]]:
    """Tokens of known forms and whole private keys; examples (`…EXAMPLE`, rows of one letter) are left."""
    if not any(sign.search(text) for sign in _SIGNS):
        return
    for literals, form in _FORMS:
        if any(literal in text for literal in literals):
            for found in form.finditer(text):
                if len(set(found[0])) >= _DISTINCT and "EXAMPLE" not in found[0]:
                    yield found.span()
    if _BEGIN in text and "PRIVATE KEY" in text:
        for found in _PRIVATE.finditer(text):
            if _ENCODED.search(found[0]):
                yield found.span()
