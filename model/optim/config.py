"""The optimizer's dials; defaults are K3's where published (weight decay) and Moonlight's and K2's elsewhere."""

from typing import TYPE_CHECKING

from trivium.data.config import Strict

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    from trivium.model.joint import JointModel
    from trivium.model.optim.muon import PerHeadMuon


class OptimizerConfig(Strict, frozen=True, kw_only=True):
    """Muon and AdamW share the learning rate, which the schedule sets, and the weight decay.

    `per_head: false` orthogonalises whole matrices (K2). `qk_clip` is τ, the largest attention logit that is left
    alone; null turns the clip off. `adamw_also` holds patterns of full parameter names that AdamW updates besides
    embeddings, head and vectors: `projector\\.fc0\\.weight` spares a CPU most of the orthogonalisation's work.
    """

    momentum: float = 0.95
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    per_head: bool = True
    qk_clip: float | None = 100.0
    adamw_also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum is {self.momentum:g}; give a value from 0 up to 1, such as 0.95")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are {self.betas}; give two values from 0 up to 1, such as [0.9, 0.95]")
        if self.weight_decay < 0 or self.eps <= 0:
            raise ValueError("weight_decay must be 0 or more and eps above 0")
        if self.qk_clip is not None and self.qk_clip <= 0:
            raise ValueError(f"qk_clip is {self.qk_clip:g}; give a logit above 0, such as 100, or null")

    def build(self, model: "JointModel", group: "ProcessGroup | None" = None) -> "PerHeadMuon":
        """The optimizer of a model's parameters, learning rate 0 until `set_lr`; shared by the ranks of `group`."""
        from trivium.model.optim.muon import PerHeadMuon
        from trivium.model.optim.sharded import ShardedMuon

        if group is not None:
            return ShardedMuon(model.named_parameters(), model.config, self, group=group)
        return PerHeadMuon(model.named_parameters(), model.config, self)
