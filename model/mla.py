"""Gated multi-head latent attention (K3 report, section 2.1.2): no position encoding, output gate, output kept in fp32.

Odd: the extra key dims that other models rotate are plain content here, shared by all heads; the K2 baseline rotates
them (`rope_base`). The cached path attends in the latent space, so the cache holds L + R numbers a token.

T tokens, D width, H heads, N content dims, R extra dims, V value dims, L latent width, X = L + R; on the cached path
B documents of up to S tokens.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from trivium.data.config import Strict
from trivium.kernels.mla import BlockPlan, mla, mla_gated
from trivium.kernels.mla.step import mla_step
from trivium.kernels.packed import offsets
from trivium.model.cache import MLACache
from trivium.vision.norm import RMSNorm


class Attended(NamedTuple):
    """y_TD and each head's largest scaled logit before the softmax (for QK-clip; None on the cached path)."""

    y_TD: Tensor
    logit_max_H: Tensor | None


class MLA(nn.Module):
    """x_TD → y_TD by causal attention inside each document."""

    logit_max: Tensor

    class Config(Strict, frozen=True, kw_only=True):
        heads: int
        head_dim: int  # content dims of queries and keys, and the value dims
        extra_dim: int
        q_lora: int
        kv_lora: int
        # full_rank is K3's gate, none is K2's; low_rank goes through head_dim, as Kimi Linear's KDA gate does.
        gate: Literal["full_rank", "low_rank", "none"] = "full_rank"
        rope_base: float | None = None  # None: no positions at all (K3); a base turns the extra dims (K2: 50000)

        def __post_init__(self) -> None:
            for name in ("heads", "head_dim", "q_lora", "kv_lora"):
                if getattr(self, name) < 1:
                    raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
            if self.extra_dim < 0:
                raise ValueError(f"extra_dim is {self.extra_dim}; give 0 or more")
            if self.rope_base is None:
                return
            if self.rope_base <= 1:
                raise ValueError(f"rope_base is {self.rope_base:g}; give a base above 1 (K2: 50000), or null for none")
            if self.extra_dim < 2 or self.extra_dim % 2:
                raise ValueError(
                    f"extra_dim is {self.extra_dim}; positions turn pairs of these dims: give an even number"
                )

        @property
        def scale(self) -> float:
            return (self.head_dim + self.extra_dim) ** -0.5

        def build(self, width: int, eps: float) -> "MLA":
            return MLA(self, width, eps)

    def __init__(self, config: Config, width: int, eps: float) -> None:
        super().__init__()
        self.config = config
        channels = config.heads * config.head_dim
        self.q_a_proj = nn.Linear(width, config.q_lora, bias=False)
        self.q_a_norm = RMSNorm(config.q_lora, eps=eps)
        self.q_b_proj = nn.Linear(config.q_lora, config.heads * (config.head_dim + config.extra_dim), bias=False)
        self.kv_a_proj = nn.Linear(width, config.kv_lora + config.extra_dim, bias=False)
        self.kv_a_norm = RMSNorm(config.kv_lora, eps=eps)
        self.kv_b_proj = nn.Linear(config.kv_lora, config.heads * 2 * config.head_dim, bias=False)
        if config.gate == "full_rank":
            self.g_proj = nn.Linear(width, channels, bias=False)
        elif config.gate == "low_rank":
            self.g_a_proj = nn.Linear(width, config.head_dim, bias=False)
            self.g_b_proj = nn.Linear(config.head_dim, channels, bias=False)
        self.o_proj = nn.Linear(channels, width, bias=False)
        # The step's largest scaled logit a head; the joint model adds to it, QK-clip takes it.
        self.register_buffer("logit_max", torch.full((config.heads,), -torch.inf), persistent=False)

    def forward(
        self, x_TD: Tensor, cu_seqlens: Tensor, cache: MLACache | None = None, *, blocks: BlockPlan | None = None
    ) -> Attended:
        """Packed documents; an empty cache takes what they leave behind, a filled one has one more token of each."""
        config = self.config
        q_THQ = self.q_b_proj(self.q_a_norm(self.q_a_proj(x_TD))).unflatten(-1, (config.heads, -1))
        c_TL, extra_TR = self.kv_a_proj(x_TD).split([config.kv_lora, config.extra_dim], dim=-1)
        c_TL = self.kv_a_norm(c_TL)
        if config.rope_base is not None:
            q_THQ, extra_TR = self._rotate(q_THQ, extra_TR, cu_seqlens, cache)
        if cache is not None and cache.columns:
            cache.append(torch.cat([c_TL, extra_TR], dim=-1))
            o_THV, logit_max_H = self._attend_latent(q_THQ, cache), None
            gate_THV = self._gate(x_TD)
            if gate_THV is not None:
                o_THV = o_THV * torch.sigmoid(gate_THV.to(o_THV.dtype))  # o is fp32 (K3 report, section 2.1.2)
        else:
            o_THV, logit_max_H = self._attend(x_TD, q_THQ, c_TL, extra_TR, cu_seqlens, blocks)
            if cache is not None:
                cache.fill(torch.cat([c_TL, extra_TR], dim=-1), offsets(cu_seqlens, x_TD.shape[0]))
        return Attended(self.o_proj(o_THV.to(x_TD.dtype).flatten(-2)), logit_max_H)

    def _gate(self, x_TD: Tensor) -> Tensor | None:
        """The gate's logits [T, H, V]; None without one."""
        config = self.config
        if config.gate != "none":
            gate_TC = self.g_proj(x_TD) if config.gate == "full_rank" else self.g_b_proj(self.g_a_proj(x_TD))
            return gate_TC.unflatten(-1, (config.heads, -1))
        return None

    def _attend(
        self,
        x_TD: Tensor,
        q_THQ: Tensor,
        c_TL: Tensor,
        extra_TR: Tensor,
        cu_seqlens: Tensor,
        blocks: BlockPlan | None,
    ) -> tuple[Tensor, Tensor]:
        """The attention's output, through the gate where there is one."""
        config = self.config
        kv_THE = self.kv_b_proj(c_TL).unflatten(-1, (config.heads, -1))
        k_THN, v_THV = kv_THE.split(config.head_dim, dim=-1)
        k_THQ = torch.cat([k_THN, extra_TR[:, None].expand(-1, config.heads, -1)], dim=-1)
        gate_THV = self._gate(x_TD)
        if gate_THV is None:
            return mla(q_THQ, k_THQ, v_THV, cu_seqlens, scale=config.scale, plan=blocks)
        return mla_gated(q_THQ, k_THQ, v_THV, gate_THV, cu_seqlens, scale=config.scale, plan=blocks)

    def _attend_latent(self, q_BHQ: Tensor, cache: MLACache) -> Tensor:
        """The absorbed form: keys and values stay latent."""
        up_HEL = self.kv_b_proj.weight.unflatten(0, (self.config.heads, -1))
        before_BS = None if cache.before_BS is None else cache.before_BS[:, : cache.columns]
        return mla_step(q_BHQ, up_HEL, cache.seen, before_BS, scale=self.config.scale)

    def _rotate(
        self, q_THQ: Tensor, extra_TR: Tensor, cu_seqlens: Tensor, cache: MLACache | None
    ) -> tuple[Tensor, Tensor]:
        config = self.config
        if cache is not None and cache.columns:
            position_T = cache.columns - cache.start_B
        else:
            starts = cu_seqlens[:-1].repeat_interleave(cu_seqlens.diff(), output_size=q_THQ.shape[0])
            position_T = torch.arange(q_THQ.shape[0], device=q_THQ.device) - starts
        q_THN, q_THR = q_THQ.split([config.head_dim, config.extra_dim], dim=-1)
        turn_TP = rotation(position_T, config.extra_dim, config.rope_base)
        return torch.cat([q_THN, rotate(q_THR, turn_TP[:, None])], dim=-1), rotate(extra_TR, turn_TP)


def rotation(position_T: Tensor, width: int, base: float) -> Tensor:
    """Unit complex numbers [T, width / 2] of phase position · base^(−2i / width); fp64 keeps long rows exact."""
    powers = torch.arange(0, width, 2, dtype=torch.float64, device=position_T.device) / width
    angle_TP = position_T.double()[:, None] * base**-powers
    return torch.polar(torch.ones_like(angle_TP), angle_TP)


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Turns neighbouring pairs of the last dimension by `turn` (broadcast over the dimensions between)."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    pairs = torch.view_as_complex(x.to(dtype).unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * turn.to(pairs.dtype)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)
