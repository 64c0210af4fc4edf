"""The joint model: tower and projector turn pictures into vectors that stand at the media tokens' places.

Odd: a batch without pictures never touches the tower, so its parameters then have no gradient at all.

T tokens, D width, V vocabulary, P patches, M media tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trivium.data.config import Strict
from trivium.errors import InputError
from trivium.kernels.cross_entropy import cross_entropy, linear_cross_entropy
from trivium.model.backbone import Backbone
from trivium.model.balance import Balance
from trivium.model.batch import Batch
from trivium.model.init import init_weights
from trivium.model.layer import LayerStats, Pass
from trivium.model.mla import MLA
from trivium.model.mtp import shifted_targets
from trivium.vision.moonvit import MoonViT
from trivium.vision.projector import Projector


@dataclass(frozen=True, slots=True)
class Output:
    """Losses in nats a target, fp32 (fp64 for an fp64 model), 0 where there is no target; sums are the caller's."""

    loss_T: Tensor
    mtp_loss_T: Tensor | None  # of the token after the next; its targets are `mtp_targets_T`
    mtp_targets_T: Tensor | None
    objective: Tensor | None = None  # of the `Aims`; with one the losses above have no gradient of their own


@dataclass(frozen=True, slots=True)
class Aims:
    """What a pass minimises, known before it: Σ weight · loss of the next token + `ahead` · Σ loss of the MTP layer."""

    weights_T: Tensor
    ahead: float
    count: int  # targets of both kinds in the batch


class JointConfig(Strict, frozen=True, kw_only=True):
    """Backbone, tower (None: text only) and projector; `media_pad` is the id that pictures' vectors replace."""

    backbone: Backbone.Config
    vision: MoonViT.Config | None
    projector: Projector.Config = Projector.Config()
    media_pad: int

    def build(self, *, seed: int = 0, device: str = "cpu", dtype: torch.dtype = torch.float32) -> "JointModel":
        """A model with its initial weights; on the meta device, shapes alone."""
        with torch.device("meta"):
            model = JointModel(self)
        if device == "meta":
            return model
        model = model.to(dtype).to_empty(device=device)
        for name, buffer in model.named_buffers():
            buffer.fill_(-torch.inf if name.endswith("logit_max") else 0)
        init_weights(model, std=self.backbone.init_std, seed=seed)
        return model


class JointModel(nn.Module):
    """Losses of a batch of packed documents with pictures."""

    def __init__(self, config: JointConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = config.backbone.build()
        if config.vision is not None:
            self.vision = config.vision.build()
            self.projector = config.projector.build(config.vision.width, config.backbone.width)

    def forward(self, batch: Batch, *, mtp: bool | None = None, aims: Aims | None = None) -> Output:
        """Losses at every target. `mtp` defaults to training mode. Counts for the balance are added in training only.

        With `aims` the head's gradients are taken on the way, for both kinds of targets in one pass; without, each loss
        has a gradient. Raises InputError when the batch's pictures don't fill its media tokens.
        """
        count = self.training and torch.is_grad_enabled()
        shared = Pass.over(batch.cu_seqlens, batch.tokens, count=count)
        x_TD = self.embed(batch)
        hidden = self.backbone(x_TD, shared)
        head_VD = self.backbone.head.weight
        loss_T = None if aims is not None else cross_entropy(hidden.normed_TD, head_VD, batch.targets_T)
        stats = list(hidden.stats)
        ahead_TD = mtp_loss_T = mtp_targets_T = None
        if self.config.backbone.mtp_layers and (self.training if mtp is None else mtp):
            ahead_TD, mtp_stats = self.backbone.mtp(hidden.final_TD, x_TD, shared)
            ahead_TD = self.backbone.norm(ahead_TD)
            mtp_targets_T = shifted_targets(batch.targets_T, batch.cu_seqlens)
            if aims is None:
                mtp_loss_T = cross_entropy(ahead_TD, head_VD, mtp_targets_T)
            stats.append(mtp_stats)
        if count:
            self._add(stats)
        if aims is None:
            return Output(loss_T, mtp_loss_T, mtp_targets_T)
        return self._aimed(aims, hidden.normed_TD, batch.targets_T, ahead_TD, mtp_targets_T)

    def _aimed(
        self, aims: Aims, x_TD: Tensor, targets_T: Tensor, ahead_TD: Tensor | None, mtp_targets_T: Tensor | None
    ) -> Output:
        weights_T, all_T = aims.weights_T, targets_T
        if ahead_TD is not None:
            weights_T = torch.cat([weights_T, weights_T.new_full((len(ahead_TD),), aims.ahead)])
            x_TD, all_T = torch.cat([x_TD, ahead_TD]), torch.cat([targets_T, mtp_targets_T])
        objective, loss, _ = linear_cross_entropy(x_TD, self.backbone.head.weight, all_T, weights_T, count=aims.count)
        loss_T, *rest = loss.split(len(targets_T))
        return Output(loss_T, rest[0] if rest else None, mtp_targets_T, objective)

    def embed(self, batch: Batch) -> Tensor:
        """Token vectors with the pictures' vectors at the media tokens, in order: [T, D]."""
        x_TD = self.backbone.embed(batch.tokens_T)
        if batch.grids_I3.shape[0] == 0:
            return x_TD
        if self.config.vision is None:
            raise InputError(
                f"the batch holds {batch.grids_I3.shape[0]} pictures and this model has no vision tower; give the "
                "preset a vision section or leave picture corpora out"
            )
        seen_MD = self.projector(self.vision(batch.patches_P, batch.grids_I3))
        place_M = (batch.tokens_T == self.config.media_pad).nonzero().squeeze(1)
        if place_M.shape[0] != seen_MD.shape[0]:
            raise InputError(
                f"{place_M.shape[0]} media tokens (id {self.config.media_pad}) for pictures of {seen_MD.shape[0]} "
                "tokens; the shards were tokenised with another tokenizer or other picture rules"
            )
        return x_TD.index_copy(0, place_M, seen_MD.to(x_TD.dtype))

    def logits(self, batch: Batch) -> Tensor:
        """Next-token logits of every row, [T, V], without losses or counts."""
        return self.backbone.head(self.backbone(self.embed(batch), Pass.over(batch.cu_seqlens, batch.tokens)).normed_TD)

    def balances(self) -> dict[str, Balance]:
        """The routers' balances by module name, in the order of the layers, MTP last."""
        return {name: module for name, module in self.named_modules() if isinstance(module, Balance)}

    @torch.no_grad()
    def quantile_update(self, group: torch.distributed.ProcessGroup | None = None) -> None:
        """Sets every router's bias from the step's counts: once a step, after the optimizer.

        Counts are summed over `group` (the default group when torch.distributed is initialised) in one all-reduce.
        """
        balances = list(self.balances().values())
        if not balances:
            return
        counts = torch.stack([balance.counts() for balance in balances])
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(counts, group=group)
        for balance, counts_EX in zip(balances, counts, strict=True):
            balance.update(counts_EX)

    def expert_load(self) -> dict[str, Tensor]:
        """Tokens routed to each expert in the last finished step, by the MoE layer's name."""
        return {name.removesuffix(".mlp.balance"): balance.last_load for name, balance in self.balances().items()}

    @torch.no_grad()
    def take_logit_max(self) -> dict[str, Tensor]:
        """The largest scaled attention logit of each head since the last call, by MLA module name; for QK-clip."""
        taken = {}
        for name, module in self.named_modules():
            if isinstance(module, MLA):
                taken[name] = module.logit_max.clone()
                module.logit_max.fill_(-torch.inf)
        return taken

    @torch.no_grad()
    def _add(self, stats: list[LayerStats]) -> None:
        layers = [*self.backbone.layers]
        if self.config.backbone.mtp_layers:
            layers.append(self.backbone.mtp.layer)
        for layer, (counts_EX, logit_max_H) in zip(layers, stats, strict=True):
            if counts_EX is not None:
                layer.mlp.balance.add(counts_EX)
            if logit_max_H is not None:
                torch.maximum(layer.attn.logit_max, logit_max_H, out=layer.attn.logit_max)
