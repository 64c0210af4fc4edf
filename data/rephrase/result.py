"""From a written text to a record of its own or a reject, by the gate's verdict on it and its source."""

import re

import msgspec

from trivium.data.config import digest
from trivium.data.records import Document, Meta, Rewrite, Step, Text, source_id
from trivium.data.rephrase.backend import Backend, Failure
from trivium.data.rephrase.excerpts import Measure
from trivium.data.rephrase.gate import Gate, Pair, Verdict
from trivium.data.rephrase.gate.needs import made_of
from trivium.data.rephrase.gate.vote import Vote, vote
from trivium.data.rephrase.rewrite import CUT_OFF, VERSION, Decoding, Written, rewrite
from trivium.data.rephrase.style import Style
from trivium.data.stage import Draft, Drop, refuse

FIDELITY = 2  # version of the gate's checks in a lineage
SHOWN = 1200  # characters of a source, and of a refused rewrite, that records and rejects show
_EXCERPT = re.compile(r"#excerpt-\d{4,}\Z")
OWN = (CUT_OFF, "empty", "filtered", "too_long")  # failures that are about one text, and no fault of the server


def broken(failure: Failure) -> bool:
    """Whether it says that the backend doesn't work, rather than that this text gave nothing."""
    return failure.reason not in OWN


class Rewriter:
    """Writes an excerpt in a style, and makes of what was written a document or a drop of `stage`.

    `judge` is the model that votes where it is not the one that writes; a lineage holds its name.
    """

    def __init__(
        self, decoding: Decoding, measure: Measure, backend: Backend, gate: Gate, stage: str,
        *, judge: Backend | None = None,
    ) -> None:  # fmt: skip
        self._decoding, self._measure, self._backend = decoding, measure, backend
        self._gate, self._stage, self._voter = gate, stage, judge or backend
        voter = [] if judge is None else [f"{judge.name} {judge.model}"]
        parameters = digest([msgspec.to_builtins(gate.config), [*made_of(gate.config), *voter]])
        self._judged = Step(name="fidelity", version=FIDELITY, parameters=parameters)

    async def write(self, excerpt: Draft, style: Style) -> Written | Failure:
        meta = excerpt.document.meta
        return await rewrite(excerpt.document.text, style, meta.language, self._backend, self._decoding, self._measure)

    def judge(self, excerpt: Draft, style: Style, text: Written | Failure) -> Verdict:
        """The gate's verdict; what failed to be written is refused for that."""
        if isinstance(text, Failure):
            tries = f" ({text.attempts} tries)" if text.attempts > 1 else ""
            return Verdict(accepted=False, reason=text.reason, detail=f"{text.detail}{tries}", scores={}, findings=())
        return self._gate.judge(_pair(excerpt, style, text))

    async def voted(self, excerpt: Draft, style: Style, text: Written, verdict: Verdict, config: Vote) -> Verdict:
        """The verdict with the vote of the judge, or of the model that wrote."""
        pair = _pair(excerpt, style, text)
        condenses = self._gate.config.scope(pair).condenses
        return await vote(pair, verdict, config, self._voter, condenses=condenses)

    def outcome(self, excerpt: Draft, style: Style, text: Written | Failure, verdict: Verdict) -> Draft | Drop:
        """The rewrite as a record, or why there is none."""
        if isinstance(text, Written) and verdict.accepted:
            return self._accepted(excerpt, style, text, verdict)
        detail, shown = f"{style.name}: {verdict.detail}", text.text if isinstance(text, Written) else ""
        return self._refused(excerpt, style, verdict.reason, detail, shown, verdict.scores)

    def _accepted(self, excerpt: Draft, style: Style, text: Written, verdict: Verdict) -> Draft:
        meta = excerpt.document.meta
        cut = meta.rewrite or Rewrite(source=meta.source_id, start=0, stop=len(excerpt.document.text))
        address = address_of(meta, style)
        made = Meta(
            source_id=source_id(meta.source, address),
            corpus=meta.corpus,
            domain=meta.domain,
            source=meta.source,
            address=address,
            license=meta.license,
            language=style.writes(meta.language),
            title=meta.title,
            declared=meta.declared,
            scores=verdict.scores,
            cluster=meta.family,
            family=meta.family,
            rewrite=msgspec.structs.replace(
                cut,
                excerpt=meta.source_id,
                style=style.name,
                model=self._backend.model,
                backend=self._backend.name,
                seed=text.seed,
                text=excerpt.document.text[:SHOWN],
            ),
            lineage=msgspec.structs.replace(
                meta.lineage, steps=(*meta.lineage.steps, self._step(style, text), self._judged)
            ),
        )
        return Draft(document=Document(segments=(Text(text=text.text),), meta=made))

    def _step(self, style: Style, text: Written) -> Step:
        written = [style.digest, self._backend.name, self._backend.model, msgspec.to_builtins(self._decoding)]
        return Step(
            name="rephrase",
            version=VERSION,
            parameters=digest(written),
            seed=self._decoding.seed,
            counts={
                "chunks": text.chunks,
                "prompt_tokens": text.prompt_tokens,
                "completion_tokens": text.completion_tokens,
            },
        )

    def _refused(
        self, excerpt: Draft, style: Style, reason: str, detail: str, text: str, scores: dict[str, float]
    ) -> Drop:
        meta = excerpt.document.meta
        drop = refuse(excerpt, self._stage, reason, detail)
        address = address_of(meta, style)
        return msgspec.structs.replace(
            drop,
            source_id=source_id(meta.source, address),
            address=address,
            excerpt=text[:SHOWN],
            against=excerpt.document.text[:SHOWN],
            scores=scores,
            language=style.writes(meta.language),
        )


def _pair(excerpt: Draft, style: Style, text: Written) -> Pair:
    language = excerpt.document.meta.language
    return Pair(
        source=excerpt.document.text,
        rewrite=text.text,
        language=language,
        target=style.writes(language),
        style=style.id,
        protected=text.protected,
    )


def address_of(excerpt: Meta, style: Style) -> str:
    """Where a rewrite is; of the style's id alone, since another version of a prompt is the same place."""
    return f"{excerpt.address}/{style.id}"


def excerpt_of(address: str) -> str:
    """The address of the excerpt that a rewrite at `address` was made from; "" when it is none."""
    excerpt, _, style = address.rpartition("/")
    return excerpt if style and _EXCERPT.search(excerpt) else ""
