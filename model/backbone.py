"""The K3 backbone (K3 report, section 2): embedding, hybrid layers under Block AttnRes, head, one MTP layer.

Odd: the first layer's attention query sees one source only (the embedding), so it exists for the count and the
checkpoint but never gets a gradient; `FROZEN` names it and it asks for none.

T tokens, D width, V vocabulary.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trivium.data.config import Strict
from trivium.kernels.attnres import shared as shared_source
from trivium.model.attn_res import AttnRes
from trivium.model.cache import LayerCache
from trivium.model.kda import KDA
from trivium.model.layer import Layer, LayerStats, Pass
from trivium.model.mla import MLA
from trivium.model.mlp import Activation, GatedMLP
from trivium.model.moe import LatentMoE
from trivium.model.mtp import MTP
from trivium.vision.norm import RMSNorm

FROZEN = ("backbone.layers.0.attn_res.query", "backbone.layers.0.attn_res.gamma")


class Hidden(NamedTuple):
    """The rows before the head: `normed_TD` goes to it, `final_TD` to the MTP layer; stats in the layers' order."""

    normed_TD: Tensor
    final_TD: Tensor
    stats: tuple[LayerStats, ...]


class Backbone(nn.Module):
    """Token vectors in, head inputs out; `embed` and `head` are its parameters, called by the joint model."""

    class Config(Strict, frozen=True, kw_only=True):
        vocab: int
        width: int
        layers: int
        # MLA every so many layers and always at the last (K3: 4, that is 3 KDA : 1 MLA); 1: in all; None: in none.
        mla_every: int | None
        kda: KDA.Config
        mla: MLA.Config
        dense_layers: int  # the first so many have no experts; more than `layers`: the MTP layer has none either
        dense_hidden: int
        moe: LatentMoE.Config
        residual: Literal["attn_res", "plain"] = "attn_res"
        attn_res_block: int = 12  # layers, not sublayers
        mtp_layers: int = 1
        activation: Activation = "situ"
        norm_eps: float = 1e-5
        init_std: float = 0.02

        def __post_init__(self) -> None:
            if self.mtp_layers not in (0, 1):
                raise ValueError(f"mtp_layers is {self.mtp_layers}; K3 has one, 0 leaves it out")
            for name in ("vocab", "width", "layers", "attn_res_block", "dense_hidden"):
                if getattr(self, name) < 1:
                    raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
            if self.mla_every is not None and self.mla_every < 1:
                raise ValueError(f"mla_every is {self.mla_every}; 1: MLA in all layers, null: in none of them")

        def is_mla(self, layer: int) -> bool:
            """Whether layer `layer` (from 0) is MLA; the last is, unless none is (the MTP layer is in any case)."""
            if self.mla_every is None:
                return False
            return (layer + 1) % self.mla_every == 0 or layer == self.layers - 1

        def opens_block(self, layer: int) -> bool:
            return layer % self.attn_res_block == 0

        def build(self) -> "Backbone":
            return Backbone(self)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        width, eps = config.width, config.norm_eps
        residuals = config.residual == "attn_res"
        # from_pretrained skips the default draw, which on the meta device imports a compiler for seconds.
        self.embed = nn.Embedding.from_pretrained(torch.empty(config.vocab, width), freeze=False)
        self.layers = nn.ModuleList(
            Layer(
                (config.mla if config.is_mla(i) else config.kda).build(width, eps),
                self._channel_mixer(i),
                width,
                eps,
                residuals=residuals,
                opens_block=config.opens_block(i),
            )
            for i in range(config.layers)
        )
        if residuals:
            self.layers[0].attn_res.requires_grad_(False)
            self.out_res = AttnRes(width, eps)
        self.norm = RMSNorm(width, eps=eps)
        self.head = nn.Linear(width, config.vocab, bias=False)
        if config.mtp_layers:
            mixer = self._channel_mixer(config.layers)  # it stands behind the last
            layer = Layer(config.mla.build(width, eps), mixer, width, eps, residuals=False, opens_block=False)
            self.mtp = MTP(layer, width, eps)
        self.recompute = False  # activation checkpointing, one layer at a time
        self.share_gradients = False  # a bank entry's gradient is summed in one buffer by the mixtures that read it

    def _channel_mixer(self, layer: int) -> GatedMLP | LatentMoE:
        config = self.config
        if layer < config.dense_layers:
            return GatedMLP(config.width, config.dense_hidden, config.activation)
        return config.moe.build(config.width, config.norm_eps, config.activation)

    def new_cache(self) -> list[LayerCache]:
        return [layer.new_cache() for layer in self.layers]

    def forward(self, x_TD: Tensor, shared: Pass, cache: list[LayerCache] | None = None) -> Hidden:
        """Runs all layers over packed documents. An empty cache takes what they leave behind, a filled one has more."""
        bank: list[Tensor] = []
        prefix_TD = x_TD
        stats = []
        for i, layer in enumerate(self.layers):
            if layer.residuals and layer.opens_block:
                bank = [*bank, shared_source(prefix_TD) if self.share_gradients else prefix_TD]
            if self.recompute and torch.is_grad_enabled():
                prefix_TD, layer_stats = checkpoint(layer, bank, prefix_TD, shared, use_reentrant=False)
            else:
                prefix_TD, layer_stats = layer(bank, prefix_TD, shared, None if cache is None else cache[i])
            stats.append(layer_stats)
        final_TD = prefix_TD
        if self.config.residual == "attn_res":
            final_TD = self.out_res([*bank, prefix_TD])
        return Hidden(self.norm(final_TD), final_TD, tuple(stats))
