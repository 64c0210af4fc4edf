"""Which parameter is updated how, decided by its name: Muon on which blocks, or AdamW, and whether it decays.

Odd: names and not tensor attributes, since wrapping for distribution drops attributes. A name that no rule knows is
an error, so a new parameter can't slip into a default. Blocks are runs of rows, so a head's block is a plain view.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch import Tensor

from trivium.errors import ConfigError

if TYPE_CHECKING:
    from trivium.model.joint import JointConfig

RMS = 0.2  # of an update's entries, AdamW's usual size (Moonlight, section 2.2)

Split = Literal[
    "whole", "kda heads", "query heads", "key and value heads", "latent and extra", "experts", "qkv heads", "qkv"
]

_LAYER = r"backbone\.(?:layers\.\d+|mtp\.layer)\."
_VISION = r"vision\.blocks\.\d+\."


@dataclass(frozen=True, slots=True)
class Rule:
    """Names that match `pattern` whole; `split` None means AdamW."""

    pattern: str
    split: Split | None
    decay: bool = True


RULES = (
    # AdamW: embeddings, the head, vectors, convolutions (spec, section 5.3).
    Rule(r"backbone\.(embed|head)\.weight", None),
    Rule(r"vision\.(patch_embed\.weight|pos_embed)", None),
    Rule(_LAYER + r"attn\.[qkv]_conv\.weight", None),
    Rule(r"(?:.*\.)?\w*norm\d?\.weight", None, decay=False),
    Rule(r"(?:.*\.)?(attn_res|mlp_res|out_res)\.(query|gamma)", None, decay=False),
    Rule(_LAYER + r"attn\.(A_log|dt_bias)", None, decay=False),
    Rule(r".*\.bias", None, decay=False),
    # Muon by head (K3 report, section 2.5).
    Rule(_LAYER + r"attn\.[qkv]_proj\.weight", "kda heads"),
    Rule(_LAYER + r"attn\.q_b_proj\.weight", "query heads"),
    Rule(_LAYER + r"attn\.kv_b_proj\.weight", "key and value heads"),
    Rule(_LAYER + r"attn\.kv_a_proj\.weight", "latent and extra"),
    Rule(_VISION + r"wqkv\.weight", "qkv heads"),
    # Muon by expert, and on whole matrices.
    Rule(_LAYER + r"mlp\.experts\.w[123]", "experts"),
    Rule(_LAYER + r"attn\.(q_a|g|g_a|g_b|o|b|f_a|f_b)_proj\.weight", "whole"),
    Rule(_LAYER + r"mlp\.(shared\.)?(gate|up|down)_proj\.weight", "whole"),
    Rule(_LAYER + r"mlp\.(router|latent_down|latent_up)\.weight", "whole"),
    Rule(r"backbone\.mtp\.proj\.weight", "whole"),
    Rule(_VISION + r"(wo|fc0|fc1)\.weight", "whole"),
    Rule(r"projector\.fc[01]\.weight", "whole"),
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows [start, stop) of a parameter flattened to 2-D, cut into `count` blocks of [rows, columns] each."""

    start: int
    stop: int
    count: int
    columns: int

    @property
    def rows(self) -> int:
        return (self.stop - self.start) // self.count

    @property
    def scale(self) -> float:
        """0.2·√max(A, B) of the block that is orthogonalised, never of the whole matrix (Moonlight, equation 4)."""
        return RMS * max(self.rows, self.columns) ** 0.5

    def view(self, tensor: Tensor) -> Tensor:
        """The blocks of a contiguous tensor of the parameter's shape: [count, rows, columns], sharing its memory."""
        if self.start or tensor.numel() != self.stop * self.columns:
            tensor = tensor.view(-1, self.columns)[self.start : self.stop]
        return tensor.view(self.count, self.rows, self.columns)


@dataclass(frozen=True, slots=True)
class Group:
    """How one parameter is updated; `blocks` is empty for AdamW."""

    name: str
    shape: tuple[int, ...]
    optimizer: Literal["muon", "adamw"]
    split: str
    blocks: tuple[Blocks, ...]
    decay: bool


def describe_groups(
    named_parameters: Iterable[tuple[str, Tensor]],
    config: "JointConfig",
    *,
    per_head: bool = True,
    adamw_also: tuple[str, ...] = (),
) -> list[Group]:
    """One row a parameter, in their order; see `group_of`."""
    rows = [
        group_of(name, tuple(p.shape), config, per_head=per_head, adamw_also=adamw_also) for name, p in named_parameters
    ]
    for pattern in adamw_also:
        if not any(re.fullmatch(pattern, row.name) for row in rows):
            raise ConfigError(f"optimizer.adamw_also: no parameter's name matches {pattern!r}; take it out or mend it")
    return rows


def group_of(
    name: str,
    shape: tuple[int, ...],
    config: "JointConfig",
    *,
    per_head: bool = True,
    adamw_also: tuple[str, ...] = (),
) -> Group:
    """The group of one parameter. `per_head=False` is K2's Muon: whole matrices, only fused ones split.

    `adamw_also` are patterns of names that AdamW updates besides. Raises ConfigError for a name that no rule knows.
    """
    rule = next((rule for rule in RULES if re.fullmatch(rule.pattern, name)), None)
    if rule is None:
        raise ConfigError(
            f"no optimizer rule for the parameter {name!r} of shape {shape}; add one to the table in "
            "model/optim/groups.py"
        )
    if rule.split is None or any(re.fullmatch(pattern, name) for pattern in adamw_also):
        return Group(name, shape, "adamw", "", (), rule.decay and len(shape) > 1)
    split = rule.split if per_head else _WHOLE.get(rule.split, "whole")
    return Group(name, shape, "muon", split, _blocks(split, shape, config), rule.decay)


_WHOLE: dict[Split, Split] = {"experts": "experts", "qkv heads": "qkv"}  # several matrices in one tensor


def _blocks(split: Split, shape: tuple[int, ...], config: "JointConfig") -> tuple[Blocks, ...]:
    """Blocks by kind. A head of kv_b is its key rows, then its value rows, of equal number: twice as many blocks."""
    rows, columns = int(shape[0]), int(shape[-1])
    for size in shape[1:-1]:
        rows *= int(size)
    if split == "latent and extra":
        latent = config.backbone.mla.kv_lora
        return (Blocks(0, latent, 1, columns), Blocks(latent, rows, 1, columns))
    count = 1
    if split == "kda heads":
        count = config.backbone.kda.heads
    elif split == "query heads":
        count = config.backbone.mla.heads
    elif split == "key and value heads":
        count = 2 * config.backbone.mla.heads
    elif split == "experts":
        count = int(shape[0])
    elif split == "qkv heads":
        count = 3 * (config.vision.heads if config.vision is not None else 1)
    elif split == "qkv":
        count = 3
    return (Blocks(0, rows, count, columns),)
