"""Counts a real pass by part with torch's flop counter, to stand beside the formula (`model/flops.py`).

Odd: torch's own tracking of modules loses its way backwards, where several layers are open at a time. Here a module
claims the numbers that autograd gave to its nodes going forwards, and backwards a node is looked up by its number.

T tokens, D width, E experts.
"""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count, shape_wrapper

from trivium.model.batch import Batch
from trivium.model.flops import Flow, Passes
from trivium.model.joint import JointConfig, JointModel


def count_pass(model: JointModel, batch: Batch) -> Flow:
    """Runs one training pass on the CPU and returns what torch counted in it, by the formula's parts.

    Gradients are thrown away. `Backbone.recompute` must be off: a recomputed layer has no place in the first pass.
    """
    was_training = model.training
    model.train()
    counter = _Counter(model, batch.tokens)
    with counter:
        output = model(batch)
        loss = output.loss_T.sum()
        if output.mtp_loss_T is not None:
            loss = loss + output.mtp_loss_T.sum()
        counter.turn(loss)
        loss.backward()
    counter.close()
    model.zero_grad(set_to_none=True)
    for balance in model.balances().values():
        balance.load.zero_()
        balance.histogram.zero_()
    model.take_logit_max()
    model.train(was_training)
    parts = sorted(set(counter.forward) | set(counter.backward))
    return {part: Passes(counter.forward[part], counter.backward[part]) for part in parts}


class _Counter(TorchDispatchMode):
    """Adds each product's operations to the part of the module that runs, or that ran it forwards."""

    def __init__(self, model: JointModel, tokens: int) -> None:
        super().__init__()
        self.config: JointConfig = model.config
        self.tokens = tokens
        self.forward: Counter[str] = Counter()
        self.backward: Counter[str] = Counter()
        self._open = [""]
        self._spans: list[tuple[int, int, int, str]] = []  # first node, node behind the last, depth, module's name
        self._behind_mtp = 2**62  # nodes from here on belong to the second use of the head
        self._node: int | None = None  # the number of the node that runs backwards
        self._hooks: list[Any] = []
        for name, module in model.named_modules():
            if name:
                self._hooks.append(module.register_forward_pre_hook(self._enter(name)))
                self._hooks.append(module.register_forward_hook(self._leave))

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def turn(self, loss: Tensor) -> None:
        """Numbers every node of the graph, so that products of the backward pass find their module."""
        stack, seen = [loss.grad_fn], set()
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            stack += [following for following, _ in node.next_functions]
            self._hooks.append(node.register_prehook(self._run(node._sequence_nr())))
        self._node = -1

    def _run(self, number: int) -> Any:
        def hook(_gradients: Any) -> None:
            self._node = number

        return hook

    def _enter(self, name: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any) -> None:
            self._open.append(name)
            self._spans.append((torch.autograd._get_sequence_nr(), -1, len(self._open), name))

        return hook

    def _leave(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        name = self._open.pop()
        number = torch.autograd._get_sequence_nr()
        place = next(i for i in reversed(range(len(self._spans))) if self._spans[i][1] < 0)
        self._spans[place] = (self._spans[place][0], number, self._spans[place][2], name)
        if name == "backbone.mtp":
            self._behind_mtp = number

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        packet = func._overloadpacket
        if packet not in _FORMULAS:
            return out
        count = _FORMULAS[packet](*args, **(kwargs or {}), out_val=out)
        shapes = [tuple(value.shape) for value in args if isinstance(value, Tensor)]
        if self._node is None:
            name, behind = self._open[-1], torch.autograd._get_sequence_nr() >= self._behind_mtp
        else:
            name, behind = self._owner(self._node), self._node >= self._behind_mtp
        (self.forward if self._node is None else self.backward)[self._part(name, behind, shapes)] += count
        return out

    def _owner(self, number: int) -> str:
        """The innermost module whose forward pass made the node."""
        inside = [(depth, name) for first, stop, depth, name in self._spans if first <= number < stop]
        return max(inside)[1] if inside else ""

    def _part(self, name: str, behind: bool, shapes: list[tuple[int, ...]]) -> str:
        head, _, rest = name.removeprefix("backbone.").partition(".")
        if name in ("", "backbone"):
            return "mtp.head" if behind else "head"
        if head in ("mtp", "projector"):
            return head
        if head == "vision":
            if not rest:
                return "vision.positions"
            return "vision.linear" if rest.count(".") > 1 or rest == "patch_embed" else "vision.attention"
        layer, module, *inner = rest.split(".")
        if module == "attn":
            kind = "mla" if self.config.backbone.is_mla(int(layer)) else "kda"
            return f"{kind}.projections" if inner else f"{kind}.core"
        if int(layer) < self.config.backbone.dense_layers:
            return "dense"
        if inner:
            return "shared" if inner[0] == "shared" else "latent"
        routing = sorted((self.tokens, self.config.backbone.width, self.config.backbone.moe.experts))
        return "router" if sorted({size for shape in shapes for size in shape}) == routing else "routed"


def _added_product(_sum: Any, left: Any, right: Any, *_: Any, **__: Any) -> int:
    return 2 * math.prod(left) * right[-1]


def _attention(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
    return sdpa_flop_count(q, k, v)


def _attention_backward(gradient: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
    return sdpa_backward_flop_count(gradient, q, k, v)


# What torch 2.13's table leaves out: products in place, and attention on the CPU (a `custom_mapping` for its counter).
UNSEEN: dict[Any, Callable[..., int]] = {
    torch.ops.aten.addmm_: _added_product,
    torch.ops.aten.baddbmm_: _added_product,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
_FORMULAS = {**flop_registry, **{packet: shape_wrapper(formula) for packet, formula in UNSEEN.items()}}
