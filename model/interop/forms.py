"""The few shapes in which a published tensor differs from ours, there and back without a rounding."""

import math
from typing import Literal

import torch
from torch import Tensor

from trivium.data.patches import PATCH

Form = Literal["same", "row", "taps", "padded", "picture", "experts", "swapped"]

FORMS: dict[Form, str] = {
    "same": "as ours",
    "row": "[D] stands as one row [1, D]",
    "taps": "[C, 4] stands as a convolution's [C, 1, 4]",
    "padded": "[H], zeros behind where the release stores more (K3: 128 for 96 heads); Kimi Linear's is [1, 1, H, 1]",
    "picture": "[W, 588] stands as a convolution's [W, 3, 14, 14]",
    "experts": "[E, …] stands as E tensors",
    "swapped": "the two halves of the columns change places",
}


def published_shape(
    form: Form, shape: tuple[int, ...], stored: int | None, *, scattered: bool = False
) -> tuple[int, ...]:
    """The shape of one published tensor; `stored` is the length that decay scales are padded to, None: not padded.

    `scattered` gives decay scales Kimi Linear's [1, 1, H, 1].
    """
    match form:
        case "row":
            return (1, *shape)
        case "taps":
            return (shape[0], 1, shape[1])
        case "padded":
            count = shape[0] if stored is None else max(stored, shape[0])
            return (1, 1, count, 1) if scattered else (count,)
        case "picture":
            return (shape[0], 3, PATCH, PATCH)
        case "experts":
            return shape[1:]
        case _:
            return shape


def publish(tensor: Tensor, form: Form, shape: tuple[int, ...]) -> Tensor:
    """Our tensor as the published one of `shape`; of experts, one at a time."""
    if form == "padded":
        return torch.cat([tensor, tensor.new_zeros(math.prod(shape) - tensor.shape[0])]).reshape(shape)
    if form == "swapped":
        return _swap(tensor)
    return tensor.reshape(shape)


def take(tensor: Tensor, form: Form, shape: tuple[int, ...]) -> Tensor:
    """The published tensor as ours of `shape`. Raises ValueError when padding is not zero."""
    if form == "padded":
        tensor = tensor.flatten()
        if tensor[shape[0] :].any():
            raise ValueError(f"numbers behind the first {shape[0]} are not zero, so it is of a model with more heads")
        return tensor[: shape[0]].clone()
    if form == "swapped":
        return _swap(tensor)
    return tensor.reshape(shape)


def _swap(tensor: Tensor) -> Tensor:
    first, second = tensor.chunk(2, dim=-1)
    return torch.cat([second, first], dim=-1)
