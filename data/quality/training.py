"""Learning a model: logistic regression of scikit-learn over mean n-gram features, then calibration, then the table.

Odd: which texts are learned from, tuned on (a tenth) and held out (a fifth) goes by a hash of each text, so that a text
never changes sides when others come or go. Texts with a `group` go by its hash together: only a model that is judged on
sites that it never saw says what it will do on others. A text that stands twice counts once; one with two labels is
left out.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.quality.features import FeatureSpec, features
from trivium.data.quality.labelled import Labelled
from trivium.data.quality.model import Header, HeldOut, Model, Row, Weights, write_model
from trivium.errors import InputError, MissingDependencyError
from trivium.needs import cure

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # inverse regularisations to choose from
_UNIT = 100.0  # features are percent of a text's n-grams, so that the strengths above are of the right order
_LEAST = 5  # texts of each label on each side
_LARGEST = 32_000  # weights are scaled to this many steps
_BINS = 10

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class _Side(msgspec.Struct, frozen=True):
    texts: list[str]
    positive: Flags


class _Seeds(msgspec.Struct, frozen=True):
    counts: Counter[str]
    contradicted: int
    digest: str


def train(seeds: Iterable[Labelled], positive: str, target: Path, spec: FeatureSpec) -> Model:
    """Learns to tell texts labelled `positive` from all others and writes the model to `target`.

    Raises InputError when there are too few texts of either kind, MissingDependencyError without scikit-learn.
    """
    try:
        import sklearn
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError:
        raise MissingDependencyError(
            f"scikit-learn is not installed and training needs it; run: {cure('quality')}"
        ) from None

    known, (learn, tune, held) = _sides(seeds, positive)
    rows, tune_rows = _matrix(learn.texts, spec), _matrix(tune.texts, spec)
    best: tuple[float, float, Any] | None = None
    for strength in _STRENGTHS:
        fitted = LogisticRegression(C=strength, class_weight="balanced", max_iter=200, tol=1e-3).fit(
            rows, learn.positive
        )
        loss = _log_loss(fitted.predict_proba(tune_rows)[:, 1], tune.positive)
        if best is None or loss < best[0] - 1e-4:
            best = (loss, strength, fitted)
    if best is None:
        raise AssertionError("there is always a strength to try")
    _, strength, fitted = best
    weights, scale = _whole(fitted.coef_[0] * _UNIT)
    header = Header(
        spec=spec,
        scale=scale,
        slope=1.0,
        offset=0.0,
        positive=positive,
        texts=dict(sorted(known.counts.items())),
        contradicted=known.contradicted,
        data=known.digest,
        held_out=HeldOut(positive=0, negative=0, auc=0, average_precision=0, brier=0, error=0, rows=()),
        made_with={"scikit-learn": sklearn.__version__, "strength": f"{strength:g}"},
    )
    model = Model(header, weights, "")
    slope, offset = _calibrate(np.array([model.mean(text) for text in tune.texts]), tune.positive)
    header = msgspec.structs.replace(header, slope=slope, offset=offset)
    judged = judge(Model(header, weights, ""), held.texts, held.positive)
    header = msgspec.structs.replace(header, held_out=judged)
    return Model(header, weights, write_model(target, header, weights))


def judge(model: Model, texts: Sequence[str], positive: Flags) -> HeldOut:
    """How the model does on texts whose label is known."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    scores = np.array([model.score(text) for text in texts])
    rows = []
    for threshold in THRESHOLDS:
        kept = scores >= threshold
        right = int((kept & positive).sum())
        rows.append(
            Row(
                threshold=threshold,
                precision=round(right / max(1, int(kept.sum())), 4),
                recall=round(right / max(1, int(positive.sum())), 4),
                kept=round(float(kept.mean()), 4),
            )
        )
    return HeldOut(
        positive=int(positive.sum()),
        negative=int((~positive).sum()),
        auc=round(float(roc_auc_score(positive, scores)), 4),
        average_precision=round(float(average_precision_score(positive, scores)), 4),
        brier=round(float(np.mean((scores - positive) ** 2)), 4),
        error=round(_calibration_error(scores, positive), 4),
        rows=tuple(rows),
    )


def _sides(seeds: Iterable[Labelled], positive: str) -> tuple[_Seeds, tuple[_Side, _Side, _Side]]:
    """Distinct texts in three parts by their hash: to learn from, to tune on, held out."""
    counts: Counter[str] = Counter()
    known: dict[bytes, tuple[str, set[str], set[str]]] = {}
    for text, label, group in seeds:
        if text.strip():
            _, labels, groups = known.setdefault(_key(text), (text, set(), set()))
            labels.add(label)
            groups.add(group)
    plain = {key: (text, *labels, min(groups)) for key, (text, labels, groups) in known.items() if len(labels) == 1}
    parts: tuple[list[tuple[str, str]], ...] = ([], [], [])
    total = hashlib.sha256()
    for key in sorted(plain):
        text, label, group = plain[key]
        counts[label] += 1
        total.update(key + label.encode())
        place = (_key(group) if group else key)[0] % 10
        parts[0 if place < 7 else 1 if place == 7 else 2].append((text, label))
    if known and not plain:
        raise InputError(
            f"every one of the {len(known):,} distinct texts carries more than one label, so none is left to learn "
            "from; do both paths hold the same texts?"
        )
    if positive not in counts:
        raise InputError(f"no text is labelled {positive!r}; labels are: {', '.join(sorted(counts)) or 'none'}")
    sides = tuple(
        _Side([text for text, _ in part], np.array([label == positive for _, label in part], dtype=bool))
        for part in parts
    )
    for side in sides:
        least = min(int(side.positive.sum()), int((~side.positive).sum()))
        if least < _LEAST:
            raise InputError(
                f"too few texts: of {counts.total():,} distinct ones, {counts[positive]:,} are {positive!r}, and one "
                f"of the three parts (70, 10 and 20 % by hash of the text, or of its group) holds {least} of one kind "
                f"where {_LEAST} are needed; give about 100 of each kind, and of a dozen groups or more"
            )
    return _Seeds(counts, len(known) - len(plain), total.hexdigest()[:16]), (sides[0], sides[1], sides[2])


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _matrix(texts: Sequence[str], spec: FeatureSpec) -> Any:
    """Shares of n-grams in percent, one sparse row a text."""
    from scipy.sparse import csr_matrix

    places, values, ends = [], [], [0]
    for text in texts:
        found, times = np.unique(features(text, spec), return_counts=True)
        places.append(found)
        values.append(times / max(1, times.sum()) * _UNIT)
        ends.append(ends[-1] + len(found))
    shape = (len(texts), 1 << spec.bits)
    return csr_matrix((np.concatenate(values), np.concatenate(places), ends), shape=shape)


def _whole(weights: Floats) -> tuple[Weights, float]:
    """Weights as int16 and what one step is worth."""
    scale = float(np.abs(weights).max()) / _LARGEST or 1.0
    return np.rint(weights / scale).astype(np.int16), scale


def _calibrate(means: Floats, positive: Flags) -> tuple[float, float]:
    """Platt's slope and offset, by Newton's method on smoothed targets (Lin, Lin & Weng 2007)."""
    count, right = len(positive), int(positive.sum())
    targets = np.where(positive, (right + 1) / (right + 2), 1 / (count - right + 2))
    spread = float(means.std()) or 1.0
    centre = float(means.mean())
    inputs = np.stack([(means - centre) / spread, np.ones(count)])
    solution = np.zeros(2)
    for _ in range(100):
        chances = 1 / (1 + np.exp(-np.clip(solution @ inputs, -30, 30)))
        slack = chances * (1 - chances)
        gradient = inputs @ (chances - targets) + 1e-6 * solution
        curve = (inputs * slack) @ inputs.T + 1e-6 * np.eye(2)
        step = np.linalg.solve(curve, gradient)
        solution = solution - step
        if float(np.abs(step).max()) < 1e-10:
            break
    slope = float(solution[0]) / spread
    return slope, float(solution[1]) - slope * centre


def _log_loss(chances: Floats, positive: Flags) -> float:
    bounded = np.clip(chances, 1e-9, 1 - 1e-9)
    return float(-np.mean(np.where(positive, np.log(bounded), np.log(1 - bounded))))


def _calibration_error(scores: Floats, positive: Flags) -> float:
    bins = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    total = 0.0
    for number in range(_BINS):
        inside = bins == number
        if inside.any():
            total += float(inside.mean()) * abs(float(scores[inside].mean()) - float(positive[inside].mean()))
    return total
