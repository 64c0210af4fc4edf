"""One backbone layer: a mixer over tokens (KDA or MLA) and a mixer over channels (dense MLP or LatentMoE).

T tokens, D width, H heads, E experts, X = 1 + bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from trivium.kernels.kda import ChunkPlan
from trivium.kernels.mla import BlockPlan
from trivium.kernels.short_conv import TapPlan
from trivium.model.attn_res import AttnRes
from trivium.model.cache import KDACache, LayerCache, MLACache
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.mlp import GatedMLP
from trivium.model.moe import LatentMoE
from trivium.vision.norm import RMSNorm


class LayerStats(NamedTuple):
    """What the step's end needs of one forward pass: balance counts and the largest logit of each head."""

    counts_EX: Tensor | None
    logit_max_H: Tensor | None


@dataclass(frozen=True, slots=True)
class Pass:
    """What every layer of one forward pass shares."""

    cu_seqlens: Tensor
    count: bool = False
    real_T: Tensor | None = None
    decoding: bool = False  # one token of each document, the rest is in the caches
    # What the operators read of `cu_seqlens`, built once for all layers; each builds its own where None.
    chunks: ChunkPlan | None = None
    taps: TapPlan | None = None
    blocks: BlockPlan | None = None

    @staticmethod
    def over(cu_seqlens: Tensor, tokens: int, *, count: bool = False) -> "Pass":
        """A pass over whole packed documents. Raises ValueError when `cu_seqlens` doesn't run from 0 to `tokens`."""
        place = (cu_seqlens, tokens, cu_seqlens.device)
        chunks, taps, blocks = ChunkPlan.build(*place), TapPlan.build(*place), BlockPlan.build(*place)
        return Pass(cu_seqlens, count, chunks=chunks, taps=taps, blocks=blocks)


class Layer(nn.Module):
    """Both sublayers of one depth.

    With attention residuals the layer reads the finished blocks (`bank`) and the running block's sum (`prefix`); there
    is no other residual. Without them `prefix` is the ordinary residual stream and the bank is not read.
    """

    def __init__(
        self, attn: KDA | MLA, mlp: GatedMLP | LatentMoE, width: int, eps: float, *, residuals: bool, opens_block: bool
    ) -> None:
        super().__init__()
        self.opens_block = opens_block
        if residuals:
            self.attn_res = AttnRes(width, eps)
            self.mlp_res = AttnRes(width, eps)
        self.residuals = residuals
        self.input_norm = RMSNorm(width, eps=eps)
        self.attn = attn
        self.post_norm = RMSNorm(width, eps=eps)
        self.mlp = mlp

    def new_cache(self) -> LayerCache:
        return KDACache() if isinstance(self.attn, KDA) else MLACache()

    def forward(
        self, bank_TD: Sequence[Tensor], prefix_TD: Tensor, shared: Pass, cache: LayerCache | None = None
    ) -> tuple[Tensor, LayerStats]:
        """The running sum after this layer; a layer that opens a block finds `prefix` in the bank and starts anew."""
        opens = self.residuals and self.opens_block
        h_TD = prefix_TD
        if self.residuals:
            h_TD = self.attn_res(bank_TD if opens else [*bank_TD, prefix_TD], shared.decoding)
        a_TD, logit_max_H = self._mix_tokens(self.input_norm(h_TD), shared, cache)
        prefix_TD = a_TD if opens else prefix_TD + a_TD
        h_TD = self.mlp_res([*bank_TD, prefix_TD], shared.decoding) if self.residuals else prefix_TD
        m_TD, counts_EX = self._mix_channels(self.post_norm(h_TD), shared)
        return prefix_TD + m_TD, LayerStats(counts_EX, logit_max_H)

    def _mix_tokens(self, x_TD: Tensor, shared: Pass, cache: LayerCache | None) -> tuple[Tensor, Tensor | None]:
        if isinstance(self.attn, KDA):
            return self.attn(x_TD, shared.cu_seqlens, cache, chunks=shared.chunks, taps=shared.taps), None
        return self.attn(x_TD, shared.cu_seqlens, cache, blocks=shared.blocks)

    def _mix_channels(self, x_TD: Tensor, shared: Pass) -> tuple[Tensor, Tensor | None]:
        if isinstance(self.mlp, GatedMLP):
            return self.mlp(x_TD), None
        return self.mlp(x_TD, count=shared.count, real_T=shared.real_T, decoding=shared.decoding)
