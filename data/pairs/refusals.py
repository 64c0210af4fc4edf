"""What a refusal of a programmatic corpus means and what helps, as data (`refusals.yaml`): one place for all who tell.

`python -m trivium.data.pairs.refusals` prints docs/corpora/refusals.md.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from trivium.data.config import Strict, load_yaml

ANY = "any"
STAGES = frozenset(
    (
        *("svg_sanitize", "svg_draw", "svg_render", "page_clean", "page_draw", "game_draw", "cad_script", "cad_draw"),
        *("step_draw", "scene_draw", "picture_dedup", "pair_tasks"),
    )
)  # of programmatic corpora alone
SHARED = frozenset(("read", "exact_dedup"))  # which every corpus has


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`help` is "" where nothing can be done."""

    means: str
    help: str = ""


class Refusals(Strict, kw_only=True):
    """By stage, then by reason; `any` holds for all stages that have no word of their own."""

    any: dict[str, Refusal]
    read: dict[str, Refusal]
    svg_sanitize: dict[str, Refusal]
    svg_draw: dict[str, Refusal]
    svg_render: dict[str, Refusal]
    page_clean: dict[str, Refusal]
    page_draw: dict[str, Refusal]
    game_draw: dict[str, Refusal]
    cad_script: dict[str, Refusal]
    cad_draw: dict[str, Refusal]
    step_draw: dict[str, Refusal]
    scene_draw: dict[str, Refusal]


@lru_cache(maxsize=1)
def refusals() -> Mapping[str, Mapping[str, Refusal]]:
    """All of them, by stage and reason."""
    found = load_yaml(Path(__file__).with_name("refusals.yaml"), Refusals)
    return {name: getattr(found, name) for name in found.__struct_fields__}


def refusal(stage: str, reason: str, *, drawn: bool = False) -> Refusal | None:
    """What is known of a drop's reason; `stage` as in its name there, with or without a number.

    None for stages of other corpora: what all corpora have (`read`, `exact_dedup`) is told only where `drawn`.
    """
    kind = stage.rpartition("-")[0] if stage.rpartition("-")[2].isdigit() else stage
    if kind not in STAGES and not (drawn and kind in SHARED):
        return None
    known = refusals()
    return known.get(kind, {}).get(reason) or known[ANY].get(reason)


_HEAD = """# What was refused, and what helps

Made from `data/pairs/refusals.yaml` by `python -m trivium.data.pairs.refusals`; a test holds the two together. Every
refused item of a [programmatic corpus](../programmatic.md) stands in OUT/rejects with stage, reason and detail.
`trivium shards show SET ID` of such an item, the build's report and the gallery say what stands here. Keys are those of
the stage that refused, in the recipe.
"""


def page() -> str:
    """The page of the documentation."""
    parts = [_HEAD]
    for stage, reasons in refusals().items():
        parts += ["", "## Every stage that draws" if stage == ANY else f"## `{stage}`", ""]
        parts += ["| reason | what it means | what helps |", "|---|---|---|"]
        parts += [f"| `{reason}` | {one.means} | {one.help} |" for reason, one in reasons.items()]
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    print(page(), end="")
