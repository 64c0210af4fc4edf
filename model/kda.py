"""Kimi Delta Attention layer (K3 report, section 2.1.1): short convolutions, decay by channel, delta rule, gate.

Odd: the decay bias and scale go into the kernel raw, since the bounded gate is part of the recurrence's definition.

T tokens, D model width, H heads, K head width (keys and values), C = H·K channels.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from trivium.data.config import Strict
from trivium.kernels.gated_norm import gated_norm, rms_norm
from trivium.kernels.kda import ChunkPlan, kda, kda_step
from trivium.kernels.kda.plan import TILE
from trivium.kernels.kda.tiles import MAX_FALL
from trivium.kernels.short_conv import TapPlan, short_conv, short_conv_step
from trivium.model.cache import KDACache

CONV_TAPS = 4
LOWEST_BOUND = -MAX_FALL / (TILE - 1)  # what a tile's rows hold in fp32


class ShortConv(nn.Module):
    """The weight of one causal depthwise convolution of four taps, kept fp32 in training."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, CONV_TAPS))


class HeadNorm(nn.Module):
    """RMSNorm weight shared by all heads; applied together with the output gate."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps


class KDA(nn.Module):
    """x_TD → y_TD with a state of H·K·K numbers a document instead of a key-value cache."""

    class Config(Strict, frozen=True, kw_only=True):
        heads: int
        head_dim: int
        # full_rank is K3's gate; low_rank (through head_dim) is Kimi Linear's; none leaves the norm alone.
        gate: Literal["full_rank", "low_rank", "none"] = "full_rank"
        # Log decay of a token: bound · σ(e^A z); None: Kimi Linear's −e^A · softplus(z), on the PyTorch path alone.
        decay_bound: float | None = -5.0
        # The released checkpoint stores A_log zero-padded to this many entries: counted, never built.
        stored_decay_scales: int | None = None

        def __post_init__(self) -> None:
            for name in ("heads", "head_dim"):
                if getattr(self, name) < 1:
                    raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
            if self.decay_bound is not None and not LOWEST_BOUND <= self.decay_bound < 0:
                raise ValueError(
                    f"decay_bound is {self.decay_bound:g}; give a log decay of a token from {LOWEST_BOUND:.2f} up to 0 "
                    "(K3: -5), or null for Kimi Linear's decay without a bound"
                )

        def build(self, width: int, eps: float) -> "KDA":
            return KDA(self, width, eps)

    def __init__(self, config: Config, width: int, eps: float) -> None:
        super().__init__()
        self.config = config
        heads, head_dim = config.heads, config.head_dim
        channels = heads * head_dim
        self.q_proj = nn.Linear(width, channels, bias=False)
        self.k_proj = nn.Linear(width, channels, bias=False)
        self.v_proj = nn.Linear(width, channels, bias=False)
        self.q_conv = ShortConv(channels)
        self.k_conv = ShortConv(channels)
        self.v_conv = ShortConv(channels)
        self.b_proj = nn.Linear(width, heads, bias=False)
        self.f_a_proj = nn.Linear(width, head_dim, bias=False)
        self.f_b_proj = nn.Linear(head_dim, channels, bias=False)
        self.A_log = nn.Parameter(torch.empty(heads))
        self.dt_bias = nn.Parameter(torch.empty(channels))
        if config.gate == "full_rank":
            self.g_proj = nn.Linear(width, channels, bias=False)
        elif config.gate == "low_rank":
            self.g_a_proj = nn.Linear(width, head_dim, bias=False)
            self.g_b_proj = nn.Linear(head_dim, channels, bias=False)
        self.o_norm = HeadNorm(head_dim, eps)
        self.o_proj = nn.Linear(channels, width, bias=False)

    def forward(
        self,
        x_TD: Tensor,
        cu_seqlens: Tensor,
        cache: KDACache | None = None,
        *,
        chunks: ChunkPlan | None = None,
        taps: TapPlan | None = None,
    ) -> Tensor:
        """Packed documents; an empty cache takes what they leave behind, a filled one has one more token of each."""
        split, bound = (self.config.heads, self.config.head_dim), self.config.decay_bound
        q_TC, k_TC, v_TC = self._convolve(x_TD, cu_seqlens, cache, taps)
        operands = (
            q_TC.unflatten(-1, split),
            k_TC.unflatten(-1, split),
            v_TC.unflatten(-1, split),
            self.f_b_proj(self.f_a_proj(x_TD)).unflatten(-1, split),
            self.b_proj(x_TD),
            self.A_log,
            self.dt_bias.unflatten(-1, split),
        )
        if cache is None:
            o_THK = kda(*operands, cu_seqlens, lower_bound=bound, plan=chunks)
        elif cache.state_BHKV is None:
            o_THK, cache.state_BHKV = kda(*operands, cu_seqlens, return_state=True, lower_bound=bound, plan=chunks)
        else:
            o_THK, cache.state_BHKV = kda_step(*operands, cache.state_BHKV, lower_bound=bound)
        gate_THK = self._gate(x_TD)
        if gate_THK is None:
            y_THK = rms_norm(o_THK, self.o_norm.weight, self.o_norm.eps)
        else:
            y_THK = gated_norm(o_THK, gate_THK, self.o_norm.weight, self.o_norm.eps)
        return self.o_proj(y_THK.flatten(-2))

    def _convolve(self, x_TD: Tensor, cu_seqlens: Tensor, cache: KDACache | None, taps: TapPlan | None) -> list[Tensor]:
        """The three streams after their convolutions; a cache gives and takes each stream's last three inputs."""
        streams = (
            (self.q_proj, self.q_conv),
            (self.k_proj, self.k_conv),
            (self.v_proj, self.v_conv),
        )
        if cache is None:
            return [short_conv(proj(x_TD), conv.weight, cu_seqlens, plan=taps) for proj, conv in streams]
        if cache.tails is None:
            pairs = [
                short_conv(proj(x_TD), conv.weight, cu_seqlens, return_tail=True, plan=taps) for proj, conv in streams
            ]
        else:
            pairs = [
                short_conv_step(proj(x_TD), conv.weight, tail_B3C)
                for (proj, conv), tail_B3C in zip(streams, cache.tails, strict=True)
            ]
        cache.tails = (pairs[0][1], pairs[1][1], pairs[2][1])
        return [stream_TC for stream_TC, _ in pairs]

    def _gate(self, x_TD: Tensor) -> Tensor | None:
        if self.config.gate == "none":
            return None
        gate_TC = self.g_proj(x_TD) if self.config.gate == "full_rank" else self.g_b_proj(self.g_a_proj(x_TD))
        return gate_TC.unflatten(-1, (self.config.heads, self.config.head_dim))
