"""Whether a recipe's stages can follow each other, judged from what each takes and gives, before anything runs."""

from collections.abc import Iterable, Iterator, Sequence

from trivium.data.config import nearest
from trivium.data.dedup.exact import ExactDedup
from trivium.data.stage import DOCUMENTS, RAW, Content, ShuffleConfig, StageConfig
from trivium.pipelines.corpora.sources import Source

_UNKNOWN = {Content.RECORDS, Content.LONG_ROWS}  # documents that may bring any score along


def check_order(
    sources: Sequence[Source],
    stages: Sequence[StageConfig],
    stage_kinds: Sequence[type[StageConfig]],
    source_kinds: Sequence[type[Source]],
) -> None:
    """Raises ValueError naming the stage, what it needs, and which kind gives that; the kinds are all that exist."""
    if not stages:
        raise ValueError("stages is empty; name at least one")
    useful = {index for source in sources for index in _taken(source, stages)}
    for source in sources:
        content, giver = source.GIVES, f"of source {source.name!r}"
        for index, stage in enumerate(stages):
            if content not in stage.TAKES:
                if stage.TAKES <= RAW and index in useful:
                    continue  # it makes documents of another source's files and leaves these as they are
                cure = _cure(index, content, stages, stage_kinds, source_kinds)
                wanted = " or ".join(sorted(stage.TAKES)) if stage.TAKES != DOCUMENTS else "documents"
                raise ValueError(
                    f"stages[{index}].kind: {_kind(stage)} takes {wanted}, and here it gets {content} {giver}; {cure}"
                )
            if stage.GIVES is not None:
                content, giver = stage.GIVES, f"of {_kind(stage)}"
        if content not in DOCUMENTS:
            makers = _named(kind for kind in stage_kinds if kind.GIVES in DOCUMENTS and content in kind.TAKES)
            raise ValueError(f"stages: none makes documents of the {content} {giver}; add {makers}")
    if isinstance(stages[0], ShuffleConfig):
        raise ValueError(
            f"stages[0].kind: {_kind(stages[0])} compares records with each other and can't come first; put a stage "
            "that looks at each record before it, such as unicode"
        )
    _check_cuts(stages)
    _check_scores(sources, stages, stage_kinds)


def _check_cuts(stages: Sequence[StageConfig]) -> None:
    """Raises ValueError when texts are cut and nothing looks for equal records afterwards; shards take each id once."""
    for index in reversed(range(len(stages))):
        stage = stages[index]
        if isinstance(stage, ExactDedup):
            return
        if isinstance(stage, ShuffleConfig) and stage.cuts:
            raise ValueError(
                f"stages[{index}].kind: {_kind(stage)} cuts texts, which can make two records equal; put exact_dedup "
                "behind it (a second one when there is one before)"
            )


def _taken(source: Source, stages: Sequence[StageConfig]) -> Iterator[int]:
    """The stages that take what the source's items are by then."""
    content = source.GIVES
    for index, stage in enumerate(stages):
        if content in stage.TAKES:
            yield index
            content = stage.GIVES or content


def _cure(
    index: int,
    content: Content,
    stages: Sequence[StageConfig],
    stage_kinds: Sequence[type[StageConfig]],
    source_kinds: Sequence[type[Source]],
) -> str:
    takes = stages[index].TAKES
    for later in range(index + 1, len(stages)):
        if stages[later].GIVES in takes and content in stages[later].TAKES:
            return f"move it behind {_kind(stages[later])} (stages.{later}), which makes them"
    makers = [kind for kind in stage_kinds if kind.GIVES in takes]
    fitting = _named(kind for kind in makers if content in kind.TAKES)
    if fitting:
        return f"put {fitting} before it, which makes them of {content}"
    given = _named([*makers, *(kind for kind in source_kinds if kind.GIVES in takes)])
    return f"what it takes comes from {given}: take it out, or read that"


def _check_scores(
    sources: Sequence[Source], stages: Sequence[StageConfig], stage_kinds: Sequence[type[StageConfig]]
) -> None:
    """Raises ValueError when a shuffle compares by a score that nothing before it writes."""
    if any(source.GIVES in _UNKNOWN for source in sources):
        return
    known: list[str] = []
    for index, stage in enumerate(stages):
        for score in stage.compared if isinstance(stage, ShuffleConfig) else ():
            if score not in known:
                makers = _named(kind for kind in stage_kinds if score in kind.SCORES)
                cure = f"; put {makers} before it, which writes it" if makers else nearest(score, known)
                raise ValueError(f"stages[{index}].quality: no stage before it writes the score {score!r}{cure}")
        known += stage.SCORES


def _kind(stage: StageConfig) -> str:
    return str(stage.__struct_config__.tag)


def _named(kinds: Iterable[type[StageConfig | Source]]) -> str:
    return " or ".join(str(kind.__struct_config__.tag) for kind in kinds)
