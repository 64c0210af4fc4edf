"""A drafting step of Kimi Delta Attention in Triton: one launch replays what was accepted and looks ahead.

A program holds some columns of one head's state in registers, fp32: it reads them once, replays, writes them once, and
goes on over the drafts without writing. Columns are independent, so heads, sequences and columns fill the device.
Bytes a head: the state twice (128 KiB at a width of 128); drafts are 2 KiB each.
B sequences, N drafts now, M drafts of the last step, H heads, K key width, V value width, C columns a program.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from trivium.kernels.kda.draft import KDADrafts

__all__ = ["draft"]

COLUMNS = 32


@triton.jit
def _advance(S_KC, k, v, gate, beta, bias_K, A, token, H, h, c_K, c_C, lower_bound, K: tl.constexpr, V: tl.constexpr):
    """The state behind a token; `token` counts (sequence, draft)."""
    row = token * H + h
    k_K = tl.load(k + row * K + c_K).to(tl.float32)
    k_K *= tl.rsqrt(tl.sum(k_K * k_K, 0) + 1e-6)
    g_K = lower_bound * tl.sigmoid(A * (tl.load(gate + row * K + c_K).to(tl.float32) + bias_K))
    S_KC *= tl.exp(g_K)[:, None]
    v_C = tl.load(v + row * V + c_C).to(tl.float32)
    delta_C = (v_C - tl.sum(S_KC * k_K[:, None], 0)) * tl.sigmoid(tl.load(beta + row).to(tl.float32))
    return S_KC + k_K[:, None] * delta_C[None, :]


@triton.jit(do_not_specialize=["N", "M"])  # one draft takes the same instructions as many
def _draft(
    q, k, v, gate, beta, A_log, bias, state, last_k, last_v, last_gate, last_beta, accepted, o, after, N, M, H,
    lower_bound, scale, K: tl.constexpr, V: tl.constexpr, C: tl.constexpr, REPLAY: tl.constexpr,
):  # fmt: skip
    h, b = tl.program_id(1), tl.program_id(2).to(tl.int64)
    c_K, c_C = tl.arange(0, K), tl.program_id(0) * C + tl.arange(0, C)
    A = tl.exp(tl.minimum(tl.load(A_log + h).to(tl.float32), 60.0))
    bias_K = tl.load(bias + h * K + c_K).to(tl.float32)
    at_KC = (b * H + h) * K * V + c_K[:, None] * V + c_C[None, :]
    S_KC = tl.load(state + at_KC).to(tl.float32)
    if REPLAY:
        for n in range(tl.minimum(tl.load(accepted + b).to(tl.int32), M)):
            S_KC = _advance(
                S_KC, last_k, last_v, last_gate, last_beta, bias_K, A, b * M + n, H, h, c_K, c_C, lower_bound, K, V
            )
    tl.store(after + at_KC, S_KC)
    for n in range(N):
        S_KC = _advance(S_KC, k, v, gate, beta, bias_K, A, b * N + n, H, h, c_K, c_C, lower_bound, K, V)
        row = (b * N + n) * H + h
        q_K = tl.load(q + row * K + c_K).to(tl.float32)
        q_K *= tl.rsqrt(tl.sum(q_K * q_K, 0) + 1e-6) * scale
        tl.store(o + row * V + c_C, tl.sum(S_KC * q_K[:, None], 0))


def draft(
    q_BNHK: Tensor, now: "KDADrafts", A_log_H: Tensor, dt_bias_HK: Tensor, state_BHKV: Tensor,
    last: "KDADrafts | None", accepted_B: Tensor | None, lower_bound: float, scale: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(o_BNHV, the state behind the accepted tokens in fp32)."""
    B, N, H, K = q_BNHK.shape
    V = now.v_BNHV.shape[-1]
    o_BNHV = torch.empty_like(now.v_BNHV, memory_format=torch.contiguous_format)
    after_BHKV = torch.empty(B, H, K, V, dtype=torch.float32, device=q_BNHK.device)
    replayed = (None,) * 4 if last is None else tuple(part.contiguous() for part in last.all())
    if B:
        _draft[(V // COLUMNS, H, B)](
            q_BNHK.contiguous(), *(part.contiguous() for part in now.all()), A_log_H, dt_bias_HK.contiguous(),
            state_BHKV.contiguous(), *replayed, accepted_B, o_BNHV, after_BHKV, N,
            0 if last is None else last.k_BNHK.shape[1], H, lower_bound, scale, K=K, V=V, C=COLUMNS,
            REPLAY=last is not None, num_warps=4,
        )  # fmt: skip
    return o_BNHV, after_BHKV
