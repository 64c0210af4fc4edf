"""Per-Head Muon and AdamW in one optimizer (K3 report, section 2.5; Moonlight, 2502.16982; spec, section 5).

Odd: blocks of equal shape from all parameters are orthogonalised in one batch, tall blocks transposed among the wide
ones. A parameter without a gradient (the tower in a step without pictures) is left as it is: no decay, no momentum.

B blocks in a batch, M ≤ N their shape.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from trivium.errors import CheckpointError
from trivium.model.optim.clip import clip_grad_norm
from trivium.model.optim.config import OptimizerConfig
from trivium.model.optim.groups import Blocks, Group, describe_groups
from trivium.model.optim.newton_schulz import orthogonalize

if TYPE_CHECKING:
    from trivium.model.joint import JointConfig

BATCH_NUMBERS = 1 << 27  # entries orthogonalised at once, or one block: bounds the memory of the copies


@dataclass(frozen=True, slots=True)
class _Member:
    """A run of one parameter's blocks in a batch."""

    name: str
    parameter: Tensor
    blocks: Blocks
    first: int
    count: int

    @property
    def tall(self) -> bool:
        return self.blocks.rows > self.blocks.columns

    def view(self, tensor: Tensor) -> Tensor:
        """The run's blocks of `tensor`, wide: [count, M, N]."""
        blocks = self.blocks.view(tensor)[self.first : self.first + self.count]
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
        mine = self._own_groups = self._mine()
        kinds: dict[tuple[str, bool], list[Tensor]] = {("muon", True): [], ("adamw", True): [], ("adamw", False): []}
        for group, tensor in mine:
            kinds[group.optimizer, group.decay].append(tensor)
        decays = {True: self.config.weight_decay, False: 0.0}
        super().__init__(
            [
                {"params": tensors, "kind": kind, "weight_decay": decays[decay]}
                for (kind, decay), tensors in kinds.items()
            ],
            {"lr": lr},
        )
        self._batches = _batches(mine)
        self._norms: list[tuple[list[_Member], Tensor]] = []

    def _mine(self) -> list[tuple[Group, Tensor]]:
        """What this process updates: here every parameter."""
        return [(group, self._parameters[group.name]) for group in self.groups]

    def set_lr(self, lr: float) -> None:
        """The learning rate of the next steps, for every group."""
        for group in self.param_groups:
            group["lr"] = lr

    def clip_grad_norm(self, most: float) -> dict[str, float]:
        """`clip.clip_grad_norm` of all parameters: call it before `step`."""
        return clip_grad_norm(self._parameters.items(), most)

    @property
    def names(self) -> list[str]:
        """The parameters' names, in the model's order."""
        return list(self._parameters)

    def finite_gradients(self) -> dict[str, bool]:
        """By parameter with a gradient: whether all of it is finite, as far as this process has it."""
        given = [(group.name, tensor.grad) for group, tensor in self._own_groups if tensor.grad is not None]
        finite: dict[str, bool] = {}
        for name, gradient in given:
            finite[name] = finite.get(name, True) and bool(gradient.isfinite().all())
        return finite

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
        updates = o_BMN.split([member.count for member in members])
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
        """Root mean square of the last step's Muon updates before the rate, by parameter; 0.2 is what they aim at.

        The published coefficients leave singular values between 0.68 and 1.13, about 0.88 in the mean square, so a
        block of full rank comes to about 0.18; one whose gradients span few directions (an expert with few tokens)
        to less, since what is zero stays zero.
        """
        return {name: (square / numbers) ** 0.5 for name, (square, numbers) in self._update_squares().items()}

    def _update_squares(self) -> dict[str, tuple[float, float]]:
        """Sum of squares and count of the last updates' entries before the rate, by parameter."""
        found: dict[str, tuple[float, float]] = {}
        for members, norm_B in self._norms:
            for member, norm in zip(members, norm_B.split([m.count for m in members]), strict=True):
                square, numbers = found.get(member.name, (0.0, 0.0))
                square += float(norm.double().square().sum()) * member.blocks.scale**2
                found[member.name] = square, numbers + norm.numel() * member.blocks.rows * member.blocks.columns
        return found

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
        states = self._checked(tensors)
        self.state = defaultdict(dict)
        for name, state in states.items():
            parameter = self._parameters[name]
            self.state[parameter] = {kind: copy_state(tensor, kind, parameter) for kind, tensor in state.items()}

    def _checked(self, tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """The whole state by parameter and kind, nothing foreign and nothing missing. Raises CheckpointError."""
        kinds = {group.name: STATE[group.optimizer] for group in self.groups}
        states: dict[str, dict[str, Tensor]] = defaultdict(dict)
        for key, tensor in tensors.items():
            name, _, kind = key.rpartition(":")
            parameter = self._parameters.get(name)
            shape = None if parameter is None else torch.Size() if kind == "step" else parameter.shape
            if parameter is None or kind not in kinds[name] or tensor.shape != shape:
                raise CheckpointError(
                    f"the optimizer's state holds {key!r} of shape {tuple(tensor.shape)}, which this model and "
                    "optimizer do not have; resume with the configuration that wrote it"
                )
            states[name][kind] = tensor
        for name, state in states.items():
            if set(state) != set(kinds[name]):
                raise CheckpointError(
                    f"the optimizer's state of {name!r} has {sorted(state)} and needs {sorted(kinds[name])}; the "
                    "checkpoint is damaged: resume from the one before"
                )
        return states


STATE = {"muon": ("momentum",), "adamw": ("step", "mean", "square")}


def copy_state(tensor: Tensor, kind: str, parameter: Tensor) -> Tensor:
    like = _new_step(parameter) if kind == "step" else parameter
    return tensor.to(device=like.device, dtype=like.dtype, copy=True).contiguous()


def _new_step(parameter: Tensor) -> Tensor:
    """AdamW's step count; its fused form wants it beside the parameter, in fp32."""
    return torch.zeros((), dtype=torch.float32, device=parameter.device)


def _batches(mine: Iterable[tuple[Group, Tensor]]) -> list[list[_Member]]:
    """Members by block shape, tall ones turned; a batch holds at most BATCH_NUMBERS entries, or one block.

    A parameter's blocks may lie in several batches; what becomes of a block depends on its batch by rounding at most.
    """
    shapes: dict[tuple[int, int], list[tuple[Group, Tensor, Blocks]]] = defaultdict(list)
    for group, tensor in mine:
        for blocks in group.blocks:
            shape = (min(blocks.rows, blocks.columns), max(blocks.rows, blocks.columns))
            shapes[shape].append((group, tensor, blocks))
    batches: list[list[_Member]] = []
    for (rows, columns), members in shapes.items():
        most, room = max(1, BATCH_NUMBERS // (rows * columns)), 0
        for group, tensor, blocks in members:
            first = 0
            while first < blocks.count:
                if not room:
                    batches.append([])
                    room = most
                count = min(room, blocks.count - first)
                batches[-1].append(_Member(group.name, tensor, blocks, first, count))
                first, room = first + count, room - count
    return batches
