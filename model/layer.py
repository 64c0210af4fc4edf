"""One backbone layer: a mixer over tokens (KDA or MLA) and a mixer over channels (dense MLP or LatentMoE).

T tokens, D width, H heads, E experts, X = 1 + bins.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from trivium.kernels.kda import ChunkPlan
from trivium.kernels.mla import BlockPlan
from trivium.kernels.packed import offsets
from trivium.kernels.short_conv import TapPlan
from trivium.model.attn_res import AttnRes
from trivium.model.cache import KDACache, LayerCache, MLACache
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.mlp import GatedMLP
from trivium.model.moe import LatentMoE
from trivium.vision.norm import RMSNorm

# Without gradients nothing is kept, so what a sublayer makes on its way is most of a long row's memory: 16 KB a token.
STRETCH = 1 << 16  # tokens


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
    decoding: bool = False  # one token of each of a few documents: their experts are fetched one by one
    # What the operators read of `cu_seqlens`, built once for all layers; each builds its own where None.
    chunks: ChunkPlan | None = None
    taps: TapPlan | None = None
    blocks: BlockPlan | None = None
    # Runs of whole documents that a sublayer takes one after another: (first token, token behind the last, their pass).
    stretches: tuple[tuple[int, int, "Pass"], ...] = ()

    @staticmethod
    def over(cu_seqlens: Tensor, tokens: int, *, count: bool = False) -> "Pass":
        """A pass over whole packed documents. Raises ValueError when `cu_seqlens` doesn't run from 0 to `tokens`."""
        if tokens > STRETCH and not torch.is_grad_enabled():
            return Pass(cu_seqlens, count, stretches=tuple(_stretches(offsets(cu_seqlens, tokens), cu_seqlens.device)))
        place = (cu_seqlens, tokens, cu_seqlens.device)
        chunks, taps, blocks = ChunkPlan.build(*place), TapPlan.build(*place), BlockPlan.build(*place)
        return Pass(cu_seqlens, count, chunks=chunks, taps=taps, blocks=blocks)


def _stretches(borders: list[int], device: torch.device) -> Iterator[tuple[int, int, Pass]]:
    """Documents in order, as many as fit into STRETCH tokens at a time; a longer document stands alone."""
    first = 0
    for last in range(1, len(borders)):
        if last + 1 < len(borders) and borders[last + 1] - borders[first] <= STRETCH:
            continue
        start, stop = borders[first], borders[last]
        if stop > start:
            own = torch.tensor(borders[first : last + 1], device=device) - start
            place = (own, stop - start, device)
            plans = ChunkPlan.build(*place), TapPlan.build(*place), BlockPlan.build(*place)
            yield start, stop, Pass(own, chunks=plans[0], taps=plans[1], blocks=plans[2])
        first = last


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
        if self.residuals:
            x_TD = self.attn_res(bank_TD if opens else [*bank_TD, prefix_TD], self.input_norm)
        else:
            x_TD = self.input_norm(prefix_TD)
        a_TD, logit_max_H = self.mix_tokens(x_TD, shared, cache)
        prefix_TD = a_TD if opens else prefix_TD + a_TD
        x_TD = self.mlp_res([*bank_TD, prefix_TD], self.post_norm) if self.residuals else self.post_norm(prefix_TD)
        m_TD, counts_EX = self.mix_channels(x_TD, shared)
        return prefix_TD + m_TD, LayerStats(counts_EX, logit_max_H)

    def mix_tokens(self, x_TD: Tensor, shared: Pass, cache: LayerCache | None) -> tuple[Tensor, Tensor | None]:
        """Attention over normalised rows, and each head's largest logit where there is one."""
        if shared.stretches and cache is None:
            parts = [self.mix_tokens(x_TD[start:stop], part, None) for start, stop, part in shared.stretches]
            tops = [logit_max_H for _, logit_max_H in parts if logit_max_H is not None]
            return torch.cat([y_TD for y_TD, _ in parts]), torch.stack(tops).amax(0) if tops else None
        if isinstance(self.attn, KDA):
            return self.attn(x_TD, shared.cu_seqlens, cache, chunks=shared.chunks, taps=shared.taps), None
        return self.attn(x_TD, shared.cu_seqlens, cache, blocks=shared.blocks)

    def mix_channels(self, x_TD: Tensor, shared: Pass) -> tuple[Tensor, Tensor | None]:
        """MLP or experts over normalised rows, and the balance counts where they were asked for."""
        if shared.stretches and not shared.count:
            return torch.cat([self.mix_channels(x_TD[a:b], part)[0] for a, b, part in shared.stretches]), None
        if isinstance(self.mlp, GatedMLP):
            return self.mlp(x_TD), None
        return self.mlp(x_TD, count=shared.count, real_T=shared.real_T, decoding=shared.decoding)
