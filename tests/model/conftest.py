"""Small documents with pictures, and models whose weights are far enough from their start to show mistakes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from trivium.model.batch import Sample
from trivium.model.joint import JointConfig, JointModel
from trivium.model.presets import configure

SMALL = {
    "preset": "nano",
    "backbone": {"vocab": 160, "init_std": 0.1},
    "vision": {"layers": 2, "width": 64, "heads": 2, "head_dim": 32, "hidden": 128, "table": 8},
    "media_pad": 157,
}
K2 = {
    "preset": "k2",
    "backbone": {
        "vocab": 160,
        "width": 64,
        "layers": 3,
        "mla": {"heads": 2, "head_dim": 32, "extra_dim": 16, "q_lora": 24, "kv_lora": 48},
        "dense_hidden": 160,
        "moe": {"experts": 8, "experts_per_token": 3, "hidden": 24},
        "init_std": 0.1,
    },
    "media_pad": 157,
}


@pytest.fixture(scope="session", name="small")
def fixture_small() -> JointConfig:
    """The nano backbone, whole, with a smaller tower and vocabulary."""
    return configure(SMALL, name="small")


@pytest.fixture(scope="session", name="small_k2")
def fixture_small_k2() -> JointConfig:
    return configure(K2, name="small_k2")


@pytest.fixture(scope="session", name="change")
def fixture_change() -> Callable[..., JointConfig]:
    """`change("backbone.moe.balance=sign", …)`: the small configuration with changes."""
    return lambda *overrides: configure(SMALL, name="small", overrides=overrides)


@pytest.fixture(scope="session", name="awake")
def fixture_awake() -> Callable[..., JointModel]:
    """A model off its special start: AttnRes queries, decay scales and router biases are not zero."""

    def build(config: JointConfig, dtype: torch.dtype = torch.float64) -> JointModel:
        model = config.build(seed=1, dtype=dtype)
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith((".query", ".gamma", "norm.weight", ".A_log")):
                    parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
            for balance in model.balances().values():
                balance.bias += 0.05 * torch.randn(balance.bias.shape, generator=generator)
        return model

    return build


@pytest.fixture(scope="session", name="sample")
def fixture_sample() -> Callable[..., Sample]:
    """`sample(length, (rows, columns), …)`: random text with the pictures standing after the third token."""

    def make(length: int, *pictures: tuple[int, int], seed: int = 0, pad: int = 157) -> Sample:
        draw = np.random.default_rng([seed, length])
        ids = draw.integers(0, 150, length)
        loss = draw.random(length) < 0.9
        place = 3
        patches = []
        for rows, columns in pictures:
            count = rows * columns // 4
            ids[place : place + count] = pad
            place += count + 1
            patches.append(torch.from_numpy(draw.standard_normal((rows * columns, 588))))
        assert not pictures or place <= length
        return Sample(ids, loss, [(1, *picture) for picture in pictures], patches)

    return make
