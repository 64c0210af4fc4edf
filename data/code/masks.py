"""Keys and tokens in source files, masked by `<KEY>` and counted; e-mail addresses and the like are `pii`'s.

The patterns are those of Yelp's detect-secrets, of its detectors that know one issuer's form. Left out are its entropy
and keyword detectors, which take hashes, test vectors and identifiers for keys (BigCode puts a gibberish model behind
them), and those for four products whose forms fit ordinary words.
"""

import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from trivium.data.config import digest
from trivium.data.records import Document, Step, Text
from trivium.data.stage import Draft, Item, Outcome, StageConfig, touched
from trivium.errors import MissingDependencyError
from trivium.needs import cure

MASK = "<KEY>"
# Module and class of each detector; of the words at least one stands in every match: a quick look before the patterns.
_DETECTORS = (
    ("aws", "AWSKeyDetector", ("AKIA", "ASIA", "A3T", "ABIA", "ACCA")),
    ("azure_storage_key", "AzureStorageKeyDetector", ("AccountKey=",)),
    ("discord", "DiscordBotTokenDetector", (".",)),
    ("github_token", "GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("gitlab_token", "GitLabTokenDetector", ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941")),
    ("jwt", "JwtTokenDetector", ("eyJ",)),
    ("mailchimp", "MailchimpDetector", ("-us",)),
    ("openai", "OpenAIDetector", ("T3BlbkFJ",)),
    ("pypi_token", "PypiTokenDetector", ("pypi-AgE",)),
    ("sendgrid", "SendGridDetector", ("SG.",)),
    ("slack", "SlackDetector", ("xox", "hooks.slack.com")),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
    ("stripe", "StripeDetector", ("k_live_",)),
    ("telegram_token", "TelegramBotTokenDetector", (":AA",)),
    ("twilio", "TwilioKeyDetector", ("AC", "SK")),
)
# A private key's whole block, also as a string over several source lines; the library only finds its first line.
_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----)[\s\S]){40,8000})"
    r"(?=-----END [A-Z0-9 ]*PRIVATE KEY)"
)
_VARIED = 6  # different characters that a key has at least; xxxx and 0123 in documentation are none


class Detector(NamedTuple):
    """One issuer's patterns; `words`: one of them stands in each match."""

    name: str
    words: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]


@functools.cache
def detectors() -> tuple[Detector, ...]:
    """The library's patterns, read once. Raises MissingDependencyError when it is absent."""
    found = []
    for module, kind, words in _DETECTORS:
        try:
            plugin: Any = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), kind)
        except ModuleNotFoundError:
            raise MissingDependencyError(f"detect-secrets is not installed; run: {cure('build')}") from None
        # The first pattern of a detector is the issuer's form; later ones of AWS look for words such as "password".
        patterns = tuple(plugin.denylist[:1] if module == "aws" else plugin.denylist)
        found.append(Detector(module, words, patterns))
    return tuple(found)


def mask_keys(text: str) -> tuple[str, int]:
    """(text with every key replaced, how many there were); pure, and a second pass changes nothing."""
    spans = [match.span(2) for match in _PEM.finditer(text)] if "PRIVATE KEY" in text else []
    for detector in detectors():
        if any(word in text for word in detector.words):
            for pattern in detector.patterns:
                spans += [m.span() for m in pattern.finditer(text) if len(set(m[0])) >= _VARIED]
    if not spans:
        return text, 0
    parts, at, count = [], 0, 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], MASK]
            count += 1
        at = max(at, end)
    return "".join(parts) + text[at:], count


class CodeSecrets:
    """Masks keys and tokens; the score `keys` counts them."""

    name = "code_secrets"
    version = 1

    class Config(StageConfig, kw_only=True, tag="code_secrets"):
        SCORES = ("keys",)

        def build(self) -> "CodeSecrets":
            return CodeSecrets(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        detectors()

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("code_secrets takes documents; put code_language before it")
        keys = 0
        segments = []
        for segment in item.document.segments:
            if isinstance(segment, Text):
                masked, count = mask_keys(segment.text)
                keys += count
                segment = msgspec.structs.replace(segment, text=masked)
            segments.append(segment)
        meta = item.document.meta
        meta = msgspec.structs.replace(meta, scores={**meta.scores, "keys": float(keys)})
        document = Document(segments=tuple(segments), meta=meta)
        yield touched(msgspec.structs.replace(item, document=document), self.step)
