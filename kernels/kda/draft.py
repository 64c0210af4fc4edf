"""Speculative decoding: outputs of a few drafted tokens, and a state that later takes in those that were accepted.

A state is K·V numbers a head: to keep one for each draft would cost a write of it a token. Kept are the drafts'
projected inputs instead (K3 report, section 5.4); the next step replays as many as were accepted, then drafts anew.
B sequences, N drafted tokens of each, H heads, K key width, V value width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.kda.step import kda_step
from trivium.kernels.packed import expect
from trivium.kernels.precision import without_autocast

__all__ = ["MAX_DRAFTS", "KDADrafts", "kda_draft"]

MAX_DRAFTS = 8


@dataclass(frozen=True, slots=True)
class KDADrafts:
    """Inputs of the last drafts as the projections and convolutions made them."""

    k_BNHK: Tensor
    v_BNHV: Tensor
    gate_BNHK: Tensor
    beta_BNH: Tensor

    def all(self) -> tuple[Tensor, ...]:
        return self.k_BNHK, self.v_BNHV, self.gate_BNHK, self.beta_BNH


@without_autocast
@torch.no_grad()
def kda_draft(
    q_BNHK: Tensor,
    k_BNHK: Tensor,
    v_BNHV: Tensor,
    gate_BNHK: Tensor,
    beta_BNH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    state_BHKV: Tensor,
    last: KDADrafts | None = None,
    accepted_B: Tensor | None = None,
    *,
    lower_bound: float = -5.0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, KDADrafts]:
    """Return (o_BNHV in v's dtype, the state behind the accepted tokens in fp32, `last` of the next step).

    `accepted_B` (integers, never read by the host) of the tokens of `last` are replayed first; rejected ones leave no
    trace, not even a NaN. Then draft n sees that state and drafts up to n. Nothing changes in place. One draft a step,
    always accepted, is plain decoding: more of them give the same bits.
    Raises ValueError for more than 8 drafts, shapes and devices that don't fit, and when one of `last` and `accepted_B`
    is missing.
    """
    B, N, H, K = q_BNHK.shape
    if N > MAX_DRAFTS:
        raise ValueError(f"a step takes at most {MAX_DRAFTS} drafts; found {N}; draft in several steps")
    if (last is None) != (accepted_B is None):
        raise ValueError("`last` and `accepted_B` belong together: give both, or none at the first step")
    scale = K**-0.5 if scale is None else scale
    now = KDADrafts(k_BNHK, v_BNHV, gate_BNHK, beta_BNH)
    sizes = {"B": B, "N": N, "M": 0 if last is None else last.k_BNHK.shape[1], "H": H, "K": K, "V": v_BNHV.shape[-1]}
    rows = (("k_BNHK", "BNHK"), ("v_BNHV", "BNHV"), ("gate_BNHK", "BNHK"), ("beta_BNH", "BNH"))
    expect(sizes, q_BNHK, [(*row, x) for row, x in zip(rows, now.all(), strict=True)])
    expect(sizes, q_BNHK, [("A_log_H", "H", A_log_H), ("state_BHKV", "BHKV", state_BHKV)])
    if last is not None:
        replayed = [(f"last.{name}", axes.replace("N", "M")) for name, axes in rows]
        expect(sizes, q_BNHK, [(*row, x) for row, x in zip(replayed, last.all(), strict=True)])
    if use_triton("kda_draft", q_BNHK, fits={K, v_BNHV.shape[-1]} <= {64, 128}):
        from trivium.kernels.kda.triton_draft import draft

        o_BNHV, state_BHKV = draft(q_BNHK, now, A_log_H, dt_bias_HK, state_BHKV, last, accepted_B, lower_bound, scale)
        return o_BNHV, state_BHKV, now
    if last is not None and accepted_B is not None:
        for n in range(last.k_BNHK.shape[1]):
            k, v, gate, beta = (part[:, n] for part in last.all())
            _, after = kda_step(k, k, v, gate, beta, A_log_H, dt_bias_HK, state_BHKV, lower_bound=lower_bound)
            state_BHKV = torch.where((accepted_B > n).view(B, 1, 1, 1), after, state_BHKV.to(after.dtype))
    outputs, ahead = [], state_BHKV
    for n in range(N):
        q, k, v, gate, beta = (part[:, n] for part in (q_BNHK, *now.all()))
        o, ahead = kda_step(q, k, v, gate, beta, A_log_H, dt_bias_HK, ahead, lower_bound=lower_bound, scale=scale)
        outputs.append(o)
    return torch.stack(outputs, 1) if outputs else torch.empty_like(v_BNHV), state_BHKV, now
