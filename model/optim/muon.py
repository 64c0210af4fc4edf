"""Per-Head Muon and AdamW in one optimizer (K3 report, section 2.5; Moonlight, 2502.16982; spec, section 5).

Odd: blocks of equal shape from all parameters are orthogonalised in one batch, tall blocks transposed among the wide
ones. A parameter without a gradient (the tower in a step without pictures) is left as it is: no decay, no momentum.

B blocks in a batch, M ≤ N their shape.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from trivium.errors import CheckpointError
from trivium.model.optim.config import OptimizerConfig
from trivium.model.optim.groups import Blocks, Group, describe_groups
from trivium.model.optim.newton_schulz import orthogonalize

if TYPE_CHECKING:
    from trivium.model.joint import JointConfig

BATCH_NUMBERS = 1 << 27  # entries orthogonalised at once: bounds the memory of the copies


@dataclass(frozen=True, slots=True)
class _Member:
    """Some blocks of one parameter in a batch."""

    name: str
    parameter: Tensor
    blocks: Blocks

    @property
    def tall(self) -> bool:
        return self.blocks.rows > self.blocks.columns

    def view(self, tensor: Tensor) -> Tensor:
        """The blocks of `tensor`, wide: [count, M, N]."""
        blocks = self.blocks.view(tensor)
        return blocks.mT if self.tall else blocks


class PerHeadMuon(torch.optim.Optimizer):
    """`groups` says how each parameter is updated. `set_lr` before each `step`; both halves share the rate."""

    def __init__(
        self,
        named_parameters: Iterable[tuple[str, Tensor]],
        model: "JointConfig",
        config: OptimizerConfig | None = None,
        *,
        lr: float = 0.0,
    ) -> None:
        self.config = OptimizerConfig() if config is None else config
        named = [(name, parameter) for name, parameter in named_parameters if parameter.requires_grad]
        self.groups: list[Group] = describe_groups(
            named, model, per_head=self.config.per_head, adamw_also=self.config.adamw_also
        )
        self._parameters = dict(named)
        kinds: dict[tuple[str, bool], list[tuple[str, Tensor]]] = {
            ("muon", True): [],
            ("adamw", True): [],
            ("adamw", False): [],
        }
        for group, (name, parameter) in zip(self.groups, named, strict=True):
            kinds[group.optimizer, group.decay].append((name, parameter))
        decays = {True: self.config.weight_decay, False: 0.0}
        super().__init__(
            [
                {"params": members, "kind": kind, "weight_decay": decays[decay]}
                for (kind, decay), members in kinds.items()
                if members
            ],
            {"lr": lr},
        )
        self._batches = _batches(self.groups, self._parameters)
        self._norms: list[tuple[list[_Member], Tensor]] = []

    def set_lr(self, lr: float) -> None:
        """The learning rate of the next steps, for every group."""
        for group in self.param_groups:
            group["lr"] = lr

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Updates every parameter that has a gradient, and uses up the gradients: call `zero_grad` after it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._norms = []
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if parameters:
                update = self._muon if group["kind"] == "muon" else self._adamw
                update(parameters, group["lr"], group["weight_decay"])
        return loss

    def _muon(self, parameters: list[Tensor], lr: float, decay: float) -> None:
        """M ← μM + G; U = G + μM; W ← W − η(0.2·√max(A, B)·NS(U) + λW), a block at a time (spec, section 5.1)."""
        momenta = [self._buffer(parameter, "momentum") for parameter in parameters]
        gradients = [parameter.grad for parameter in parameters]
        torch._foreach_mul_(momenta, self.config.momentum)
        torch._foreach_add_(momenta, gradients)
        if decay:
            torch._foreach_mul_(parameters, 1.0 - lr * decay)
        torch._foreach_add_(gradients, momenta, alpha=self.config.momentum)  # U takes G's place: no second copy of all
        for members in self._batches:
            present = [member for member in members if member.parameter.grad is not None]
            if present:
                self._update_batch(present, lr)

    def _update_batch(self, members: list[_Member], lr: float) -> None:
        o_BMN = orthogonalize(torch.cat([member.view(member.parameter.grad) for member in members]))
        self._norms.append((members, torch.linalg.vector_norm(o_BMN, dim=(-2, -1))))
        updates = o_BMN.split([member.blocks.count for member in members])
        scale = members[0].blocks.scale  # equal for all blocks of one shape
        torch._foreach_add_([member.view(member.parameter) for member in members], updates, alpha=-lr * scale)

    def _adamw(self, parameters: list[Tensor], lr: float, decay: float) -> None:
        """The fused form: one pass over the memory instead of eight, on a CPU too."""
        states = [self.state[parameter] for parameter in parameters]
        for parameter, state in zip(parameters, states, strict=True):
            if "step" not in state:
                state["step"] = _new_step(parameter)
        adamw(
            parameters,
            [parameter.grad for parameter in parameters],
            [self._buffer(parameter, "mean") for parameter in parameters],
            [self._buffer(parameter, "square") for parameter in parameters],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=self.config.betas[0],
            beta2=self.config.betas[1],
            lr=lr,
            weight_decay=decay,
            eps=self.config.eps,
            maximize=False,
        )

    def _buffer(self, parameter: Tensor, name: str) -> Tensor:
        state = self.state[parameter]
        if name not in state:
            state[name] = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
        buffer: Tensor = state[name]
        return buffer

    def update_rms(self) -> dict[str, float]:
        """Root mean square of the last step's Muon updates before the rate, by parameter; 0.2 is what they aim at."""
        squares: dict[str, float] = defaultdict(float)
        numbers: dict[str, int] = defaultdict(int)
        for members, norm_B in self._norms:
            for member, norm in zip(members, norm_B.split([m.blocks.count for m in members]), strict=True):
                squares[member.name] += float(norm.double().square().sum()) * member.blocks.scale**2
                numbers[member.name] += norm.numel() * member.blocks.rows * member.blocks.columns
        return {name: (total / numbers[name]) ** 0.5 for name, total in squares.items()}

    def named_state(self) -> dict[str, Tensor]:
        """All state as a flat mapping `PARAMETER:KIND` → tensor, for checkpoints; not copied."""
        return {
            f"{name}:{kind}": tensor
            for name, parameter in self._parameters.items()
            for kind, tensor in self.state.get(parameter, {}).items()
        }

    @torch.no_grad()
    def load_named_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes `named_state` back, copied. Raises CheckpointError when it is another model's or optimizer's."""
        kinds = {group.name: _STATE[group.optimizer] for group in self.groups}
        fresh: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        for key, tensor in tensors.items():
            name, _, kind = key.rpartition(":")
            parameter = self._parameters.get(name)
            shape = None if parameter is None else torch.Size() if kind == "step" else parameter.shape
            if parameter is None or kind not in kinds[name] or tensor.shape != shape:
                raise CheckpointError(
                    f"the optimizer's state holds {key!r} of shape {tuple(tensor.shape)}, which this model and "
                    "optimizer do not have; resume with the configuration that wrote it"
                )
            like = _new_step(parameter) if kind == "step" else parameter
            fresh[parameter][kind] = tensor.to(device=like.device, dtype=like.dtype, copy=True).contiguous()
        for parameter, state in fresh.items():
            name = next(name for name, mine in self._parameters.items() if mine is parameter)
            if set(state) != kinds[name]:
                raise CheckpointError(
                    f"the optimizer's state of {name!r} has {sorted(state)} and needs {sorted(kinds[name])}; the "
                    "checkpoint is damaged: resume from the one before"
                )
        self.state = defaultdict(dict, fresh)


def _new_step(parameter: Tensor) -> Tensor:
    """AdamW's step count; its fused form wants it beside the parameter, in fp32."""
    return torch.zeros((), dtype=torch.float32, device=parameter.device)


_STATE = {"muon": {"momentum"}, "adamw": {"step", "mean", "square"}}


def _batches(groups: list[Group], parameters: Mapping[str, Tensor]) -> list[list[_Member]]:
    """Members by block shape, tall ones turned; a batch holds at most BATCH_NUMBERS entries, or one member."""
    shapes: dict[tuple[int, int], list[_Member]] = defaultdict(list)
    for group in groups:
        for blocks in group.blocks:
            shape = (min(blocks.rows, blocks.columns), max(blocks.rows, blocks.columns))
            shapes[shape].append(_Member(group.name, parameters[group.name], blocks))
    batches: list[list[_Member]] = []
    for (rows, columns), members in shapes.items():
        room = 0
        for member in members:
            numbers = member.blocks.count * rows * columns
            if numbers > room:
                batches.append([])
                room = max(BATCH_NUMBERS, numbers)
            batches[-1].append(member)
            room -= numbers
    return batches
