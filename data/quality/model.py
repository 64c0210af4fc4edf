"""The model and its file: whole-number weights over hashed n-grams, a calibrated probability, and how it was made.

A file is one line that names format and version, one line of JSON, and the deflated weights (int16, little-endian). A
score is the mean weight of a text's n-grams, as fastText's is, through a sigmoid. The sum is one of integers, so that
order and machine do not change it.
"""

import hashlib
import math
import os
import uuid
import zlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.quality.features import FeatureSpec, features
from trivium.errors import InputError

FORMAT = "trivium-quality"
VERSION = 1
_HEAD = 64  # bytes in which the first line ends
Weights = npt.NDArray[np.int16]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a threshold does on the held-out texts: shares between 0 and 1."""

    threshold: float
    precision: float
    recall: float
    kept: float


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """How good the model is on texts that it did not learn from; `error`: mean distance of probability and share of
    positive texts over ten bins (expected calibration error), `brier`: mean squared distance.
    """

    positive: int
    negative: int
    auc: float
    average_precision: float
    brier: float
    error: float
    rows: tuple[Row, ...]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a model but its weights. Probability = 1 / (1 + exp(-(slope · mean · scale + offset)))."""

    spec: FeatureSpec
    scale: float
    slope: float
    offset: float
    positive: str  # what the label that scores high was called
    texts: dict[str, int]  # texts learned from, by label
    contradicted: int  # texts left out because they came with two labels
    data: str  # digest of all labelled texts
    held_out: HeldOut
    made_with: dict[str, str]  # library versions, seed, regularisation


class Model:
    """A loaded model; `digest` is the sha256 of its file."""

    def __init__(self, header: Header, weights: Weights, digest: str) -> None:
        self.header, self.weights, self.digest = header, weights, digest

    def mean(self, text: str) -> float:
        """The mean weight of the text's n-grams; 0 for a text without any."""
        places = features(text, self.header.spec)
        if not len(places):
            return 0.0
        return int(self.weights[places].sum(dtype=np.int64)) / len(places) * self.header.scale

    def score(self, text: str) -> float:
        """The probability that the text is like the positive ones, to four digits; 0 for a text without any token."""
        if not text or text.isspace():
            return 0.0
        logit = self.header.slope * self.mean(text) + self.header.offset
        return round(1 / (1 + math.exp(-max(-500.0, min(500.0, logit)))), 4)


def write_model(path: Path, header: Header, weights: Weights) -> str:
    """Writes the file whole or not at all and returns its sha256; the same model gives the same bytes."""
    line = msgspec.json.encode(header, order="sorted")
    packed = zlib.compress(weights.astype("<i2").tobytes(), 9)
    payload = f"{FORMAT} {VERSION}\n".encode() + line + b"\n" + packed
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
    part.write_bytes(payload)
    os.replace(part, path)
    return hashlib.sha256(payload).hexdigest()


def read_model(path: Path) -> Model:
    """Raises InputError when the file is no model, is damaged, or of a version that this code does not know."""
    try:
        payload = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror}); train one with `trivium quality train`") from None
    first, _, rest = payload.partition(b"\n")
    name, _, version = first[:_HEAD].decode("ascii", "replace").partition(" ")
    if name != FORMAT:
        raise InputError(
            f"{path} is no quality model; it begins with {first[:24]!r}: give a file of `trivium quality train`"
        )
    if version != str(VERSION):
        raise InputError(
            f"{path} is a quality model of version {version!r} and this code reads version {VERSION}; train it again, "
            "or use the Trivium release that wrote it"
        )
    line, _, packed = rest.partition(b"\n")
    try:
        header = msgspec.json.decode(line, type=Header)
        weights: Any = np.frombuffer(zlib.decompress(packed), dtype="<i2")
    except (msgspec.DecodeError, zlib.error, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); copy it again or train it anew") from None
    if len(weights) != 1 << header.spec.bits:
        raise InputError(f"{path} is damaged: {len(weights):,} weights where {1 << header.spec.bits:,} belong")
    return Model(header, weights, hashlib.sha256(payload).hexdigest())
