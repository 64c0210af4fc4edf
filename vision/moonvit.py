"""MoonViT-V2 (K3 report, section 2.4): pictures of any size, packed without padding, no biases, RMSNorm.

Odd: attention is joint over the t·h·w patches of one grid (a picture, or a chunk of at most four frames), which for
pictures equals the report's factorised form and for video follows the released code. Grids of equal size are laid
side by side: without the kernels of kernels/patches a plain batched attention serves each group of them.

P patches of all grids, I grids, W width, H heads, D head width, C pixels a patch (3·14·14), M merged tokens.
"""

from dataclasses import dataclass
from itertools import accumulate, groupby

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trivium.data.config import Strict
from trivium.data.patches import MERGE, PATCH
from trivium.errors import InputError
from trivium.kernels.patches import PatchPlan, patch_attention
from trivium.vision.norm import RMSNorm
from trivium.vision.positions import resized_positions, rotate_pairs, rotation_2d, time_positions

PIXELS = 3 * PATCH * PATCH


@dataclass(frozen=True, slots=True)
class Layout:
    """How the grids of a batch lie in the packed buffer, the smallest first; `borders` are their patches'."""

    grids: tuple[tuple[int, int, int], ...]  # in the buffer's order
    borders: tuple[int, ...]
    patch_order_P: Tensor | None  # from the caller's order to the buffer's; None when they agree
    token_order_M: Tensor | None  # from the buffer's merged tokens back to the caller's


def layout(grids: list[tuple[int, int, int]], frames: int, device: torch.device) -> Layout:
    """Lays grids of equal size side by side. Raises InputError for one that can't be merged or has too many frames."""
    for t, h, w in grids:
        if not 1 <= t <= frames or h < 1 or w < 1 or h % MERGE or w % MERGE:
            raise InputError(
                f"a picture grid of {t}x{h}x{w} patches (frames, rows, columns); rows and columns must be multiples of "
                f"{MERGE} and frames between 1 and {frames}: prepare it with trivium.vision.preprocess"
            )
    sizes = [t * h * w for t, h, w in grids]
    order = sorted(range(len(grids)), key=lambda i: (sizes[i], i))
    borders = tuple(accumulate((sizes[i] for i in order), initial=0))
    ordered = tuple(grids[i] for i in order)
    if order == list(range(len(grids))):
        return Layout(ordered, borders, None, None)
    merged = [h * w // MERGE**2 for _, h, w in grids]
    back = sorted(range(len(order)), key=lambda i: order[i])
    return Layout(
        ordered,
        borders,
        _spans(sizes, order).to(device),
        _spans([merged[i] for i in order], back).to(device),
    )


def _spans(lengths: list[int], order: list[int]) -> Tensor:
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return torch.cat([torch.arange(starts[i], starts[i] + lengths[i]) for i in order])


class Block(nn.Module):
    """x += wo · attention(norm1 x); x += fc1 · GELU(fc0 · norm2 x)."""

    def __init__(self, config: "MoonViT.Config") -> None:
        super().__init__()
        width, channels = config.width, config.heads * config.head_dim
        self.config = config
        self.norm1 = RMSNorm(width, eps=config.norm_eps)
        self.wqkv = nn.Linear(width, 3 * channels, bias=False)
        self.wo = nn.Linear(channels, width, bias=False)
        self.norm2 = RMSNorm(width, eps=config.norm_eps)
        self.fc0 = nn.Linear(width, config.hidden, bias=False)
        self.fc1 = nn.Linear(config.hidden, width, bias=False)

    def forward(self, x_PW: Tensor, turn_PD: tuple[Tensor, Tensor], plan: PatchPlan) -> Tensor:
        qkv_P3HD = self.wqkv(self.norm1(x_PW)).unflatten(-1, (3, self.config.heads, self.config.head_dim))
        q_PHD, k_PHD = rotate_pairs(qkv_P3HD[:, :2], turn_PD).unbind(1)
        o_PHD = patch_attention(q_PHD, k_PHD, qkv_P3HD[:, 2], plan.borders, plan)
        x_PW = x_PW + self.wo(o_PHD.flatten(1))
        return x_PW + self.fc1(F.gelu(self.fc0(self.norm2(x_PW)), approximate="tanh"))


class MoonViT(nn.Module):
    """patches_PC and their grids → one vector of 4·W per 2×2 patches, time averaged, in the order of the grids."""

    class Config(Strict, frozen=True, kw_only=True):
        width: int
        layers: int
        heads: int
        head_dim: int
        hidden: int
        # 1e-5 for training from scratch; 2^-7 reproduces the released weights' bf16 default (spec, 6.1).
        norm_eps: float = 1e-5
        table: int = 64  # learned positions a side
        frames: int = 4  # most frames a grid
        rope_base: float = 10000.0

        def __post_init__(self) -> None:
            for name in ("width", "layers", "heads", "head_dim", "hidden", "table", "frames"):
                if getattr(self, name) < 1:
                    raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
            if self.head_dim % 4:
                raise ValueError(
                    f"head_dim is {self.head_dim}; give a multiple of 4, since positions turn pairs of dims, half of "
                    "the pairs by row and half by column (width may be any: heads have a head_dim of their own)"
                )

        def build(self) -> "MoonViT":
            return MoonViT(self)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.patch_embed = nn.Linear(PIXELS, config.width, bias=False)
        self.pos_embed = nn.Parameter(torch.empty(config.table, config.table, config.width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, eps=config.norm_eps)

    def forward(self, patches_PC: Tensor, grids_I3: Tensor) -> Tensor:
        """Raises InputError when the grids and the number of patches disagree."""
        grids = [tuple(grid) for grid in grids_I3.tolist()]
        needed = sum(t * h * w for t, h, w in grids)
        if needed != patches_PC.shape[0]:
            raise InputError(f"{patches_PC.shape[0]} patches and grids that hold {needed}; give one grid a picture")
        plan = layout(grids, self.config.frames, patches_PC.device)
        if plan.patch_order_P is not None:
            patches_PC = patches_PC[plan.patch_order_P]
        x_PW = self.patch_embed(patches_PC.to(self.patch_embed.weight.dtype))
        x_PW = x_PW + self._positions(plan.grids)
        turn_PD = rotation_2d(plan.grids, self.config.head_dim, self.config.rope_base, x_PW)
        attention = PatchPlan.build(plan.borders, needed)
        for block in self.blocks:
            x_PW = block(x_PW, turn_PD, attention)
        merged_MX = merge(self.norm(x_PW), plan.grids)
        return merged_MX if plan.token_order_M is None else merged_MX[plan.token_order_M]

    def _positions(self, grids: tuple[tuple[int, int, int], ...]) -> Tensor:
        tables = {size: resized_positions(self.pos_embed, *size) for size in {(h, w) for _, h, w in grids}}
        parts = []
        for (t, h, w), run in groupby(grids):
            space_NW = tables[h, w]
            if t > 1:
                time_tW = time_positions(t, self.config.width, space_NW)
                space_NW = (space_NW[None] + time_tW[:, None]).flatten(0, 1)
            parts.append(space_NW.repeat(len(list(run)), 1))
        return torch.cat(parts)


def merge(x_PW: Tensor, grids: tuple[tuple[int, int, int], ...]) -> Tensor:
    """Mean over the frames of each grid, then 2×2 neighbours side by side: [M, 4·W], rows of pictures in order."""
    parts = []
    start = 0
    run: list[tuple[int, int, int]] = []
    for grid in [*grids, None]:
        if run and grid != run[0]:
            t, h, w = run[0]
            stop = start + len(run) * t * h * w
            x = x_PW[start:stop].view(len(run), t, h // MERGE, MERGE, w // MERGE, MERGE, -1).mean(1)
            parts.append(x.permute(0, 1, 3, 2, 4, 5).reshape(-1, MERGE * MERGE * x_PW.shape[-1]))
            start, run = stop, []
        if grid is not None:
            run.append(grid)
    return torch.cat(parts)
