"""Where a patch stands: a learned table resized to each grid, 2-D rotary phases, sine and cosine of the frame number.

N patches a frame, P patches of all grids, W width, D head width.
"""

import torch
from torch import Tensor

TIME_BASE = 10000.0


def resized_positions(table_RRW: Tensor, rows: int, columns: int) -> Tensor:
    """The table resized to rows × columns, bilinear with half-pixel centres and no antialiasing: [rows·columns, W]."""
    if tuple(table_RRW.shape[:2]) == (rows, columns):
        return table_RRW.flatten(0, 1)
    left_rR = _bilinear(table_RRW.shape[0], rows, table_RRW)
    right_cR = _bilinear(table_RRW.shape[1], columns, table_RRW)
    return torch.einsum("ra,abw,cb->rcw", left_rR, table_RRW, right_cR).flatten(0, 1)


def _bilinear(source: int, target: int, like: Tensor) -> Tensor:
    """The [target, source] matrix of a linear resize; a matrix so that the backward is a product too."""
    centres = ((torch.arange(target, dtype=torch.float64) + 0.5) * source / target - 0.5).clamp(0, source - 1)
    left = centres.floor().long()
    right = (left + 1).clamp(max=source - 1)
    share = centres - left
    weights = torch.zeros(target, source, dtype=torch.float64)
    rows = torch.arange(target)
    weights[rows, left] += 1 - share
    weights[rows, right] += share
    return weights.to(like)


def time_positions(frames: int, width: int, like: Tensor) -> Tensor:
    """Fixed sine (first half) and cosine (second half) of frame · 10000^(−j / (W/2)): [frames, W]."""
    half = width // 2
    rates = TIME_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(frames, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(like)


def rotation_2d(
    grids: tuple[tuple[int, int, int], ...], head_dim: int, base: float, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Cosines and sines [P, D/2]: pairs alternate between the column's and the row's phase, equal in each frame."""
    rates = base ** (-torch.arange(0, head_dim, 4, dtype=torch.float64) / head_dim)
    turns = {}
    for t, h, w in set(grids):
        column_NF = torch.arange(w, dtype=torch.float64).repeat(h)[:, None] * rates
        row_NF = torch.arange(h, dtype=torch.float64).repeat_interleave(w)[:, None] * rates
        angle_PF = torch.stack([column_NF, row_NF], dim=-1).flatten(-2).repeat(t, 1)
        turns[t, h, w] = angle_PF.cos().to(like), angle_PF.sin().to(like)
    return torch.cat([turns[grid][0] for grid in grids]), torch.cat([turns[grid][1] for grid in grids])


def rotate_pairs(x_PAHD: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turns neighbouring pairs (2i, 2i+1) of the last dimension; x is [P, anything, heads, D]."""
    cos_P11F, sin_P11F = (part[:, None, None] for part in turn)
    even, odd = x_PAHD.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack([even * cos_P11F - odd * sin_P11F, even * sin_P11F + odd * cos_P11F], dim=-1)
    return turned.flatten(-2)
