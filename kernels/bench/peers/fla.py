"""fla-core's `chunk_kda` behind our operands (0.6.0; its own traps are listed with the arguments that avoid them).

Odd: a batch of equal documents runs as its fixed batch [B, T, H, K], which is its faster path; other rows as one packed
row with `cu_seqlens`. Both borders' tensors are made once, since its chunk indices are kept by the tensor's identity.
"""

import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Layout

__all__ = ["DISTRIBUTION", "binding", "contestants"]

DISTRIBUTION = "fla-core"


def contestants(device: torch.device) -> list[Contestant]:
    """Both settings of its memory for speed; none where it is not installed or the device is no GPU."""
    if device.type != "cuda" or importlib.util.find_spec("fla") is None:
        return []
    return [
        Contestant(name="fla-core", bind=binding(disable_recompute=False), peer=True, package=DISTRIBUTION),
        Contestant(
            name="fla-core, no recompute", bind=binding(disable_recompute=True), peer=True, package=DISTRIBUTION
        ),
    ]


def binding(*, disable_recompute: bool) -> Callable[[Layout, torch.device], Call]:
    """How a layout meets `chunk_kda`; the import comes with the first layout."""

    def bind(layout: Layout, device: torch.device) -> Call:
        from fla.ops.kda import chunk_kda

        even = len(set(layout.lengths)) == 1 and layout.lengths[0] > 0
        batch = len(layout.lengths) if even else 1
        borders = {} if even else {"cu_seqlens": layout.cu_seqlens(device), "cu_seqlens_cpu": layout.cu_seqlens()}

        def call(
            q: Tensor, k: Tensor, v: Tensor, gate: Tensor, beta: Tensor, A_log: Tensor, bias: Tensor,
            initial: Tensor | None = None,
        ) -> tuple[Tensor, ...]:  # fmt: skip
            rows = (x.unflatten(0, (batch, -1)) for x in (q, k, v, gate, beta))
            o, state = chunk_kda(
                *rows,
                initial_state=initial,  # [documents, H, K, V] in fp32, as ours
                output_final_state=initial is not None,
                use_qk_l2norm_in_kernel=True,
                use_gate_in_kernel=True,  # g is then the raw gate, A_log [H] and dt_bias [H·K] come by name
                use_beta_sigmoid_in_kernel=True,
                safe_gate=True,  # without it the gate has no bound and the diagonal takes the slow path
                lower_bound=-5.0,
                disable_recompute=disable_recompute,
                A_log=A_log,
                dt_bias=bias.reshape(-1),
                **borders,
            )
            o = o.flatten(0, 1)
            return (o,) if initial is None else (o, state)

        return call

    return bind
