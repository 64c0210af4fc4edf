"""Why items went, in words for an error: the commonest reasons with one example each, and what to do about them."""

from collections import Counter
from collections.abc import Iterable

from trivium.console import inline
from trivium.data.stage import Drop
from trivium.pipelines.corpora.sources import READ

MOST = 3  # reasons that are told
SHOWN = 300  # characters of an example

_COLUMN = (
    "name the column that holds the text: --set sources.{source}.columns.text=COLUMN, or `columns: {{text: COLUMN}}` "
    "of that source in the recipe"
)
# Of what a reader refuses; other stages have keys of their own.
_CURES = {
    "no_column": _COLUMN,
    "no_text": _COLUMN,
    "damaged": "a damaged file is cut short, or no such file as its name says: bring it again, or leave it out",
    "broken_json": "each line must be one JSON object, or the file one array: mend the file, or leave it out",
    "too_large": "raise the limit of source {source} (--set sources.{source}.max_bytes=N), or leave these out",
    "bomb": "if the file can be trusted, raise --set sources.{source}.max_ratio=N, else leave it out",
}


class Causes:
    """Counts drops by stage and reason, and keeps of each the example whose words come first, whatever the order."""

    def __init__(self, drops: Iterable[Drop] = ()) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], tuple[str, str]] = {}
        for drop in drops:
            self.add(drop)

    def add(self, drop: Drop) -> None:
        """Counts one more."""
        key = drop.stage, drop.reason
        detail = f": {drop.detail.rstrip('.')}" if drop.detail else ""
        shown = inline(f"{drop.address}{detail}")[:SHOWN], drop.source
        self._counts[key] += 1
        self._examples[key] = min(self._examples.get(key, shown), shown)

    def total(self) -> int:
        """How many drops there were."""
        return self._counts.total()

    def why(self) -> str:
        """`read: no_column 30, such as a.jsonl@0: no column 'text'; there are: content, id`, for the commonest."""
        listed = [
            f"{stage}: {reason} {n:,}, such as {self._examples[stage, reason][0]}" for stage, reason, n in self._most()
        ]
        left = len(self._counts) - len(listed)
        return "; ".join(listed) + (
            f"; and {left} more reasons" if left > 1 else "; and one more reason" if left else ""
        )

    def cure(self) -> str:
        """What to do about the commonest, each cure once."""
        cures = {self._cure(stage, reason): None for stage, reason, _ in self._most()}
        return "; ".join(cures)

    def _most(self) -> list[tuple[str, str, int]]:
        order = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))
        return [(stage, reason, n) for (stage, reason), n in order[:MOST]]

    def _cure(self, stage: str, reason: str) -> str:
        if stage == READ and reason in _CURES:
            return _CURES[reason].format(source=self._examples[stage, reason][1])
        if stage == READ:
            return "mend or leave out these inputs"
        return f"look at {stage}.jsonl among the rejects, then change stages.{stage} in the recipe, or what it gets"
