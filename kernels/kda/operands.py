"""What `kda` and its pieces refuse before anything runs.

T tokens in the row, H heads, K key width, V value width.
"""

from torch import Tensor

from trivium.kernels.kda.tiles import MAX_FALL, TILE
from trivium.kernels.packed import expect

__all__ = ["expect_bound", "expect_operands"]


def expect_operands(
    q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor, dt_bias_HK: Tensor
) -> tuple[int, int, int]:
    """Return (T, H, K); the bias may be flat. Raises ValueError for shapes, dtypes and devices that don't fit."""
    if q_THK.dim() != 3 or v_THV.dim() != 3:
        raise ValueError(
            "q_THK must be [T, H, K] and v_THV [T, H, V], documents packed into one row without a batch dimension; "
            f"found {list(q_THK.shape)} and {list(v_THV.shape)}"
        )
    (T, H, K), V = q_THK.shape, v_THV.shape[-1]
    flat = dt_bias_HK.dim() == 1
    expect(
        {"T": T, "H": H, "K": K, "V": V, "(H·K)": H * K},
        q_THK,
        [
            ("q_THK", "THK", q_THK), ("k_THK", "THK", k_THK), ("v_THV", "THV", v_THV), ("gate_THK", "THK", gate_THK),
            ("beta_TH", "TH", beta_TH), ("A_log_H", "H", A_log_H),
            ("dt_bias_HK", ["(H·K)"] if flat else "HK", dt_bias_HK),
        ],
    )  # fmt: skip
    if not q_THK.dtype == k_THK.dtype == v_THV.dtype:
        raise ValueError(
            f"q_THK, k_THK and v_THV must share one dtype; found {q_THK.dtype}, {k_THK.dtype}, {v_THV.dtype}"
        )
    return T, H, K


def expect_bound(lower_bound: float | None) -> None:
    """Raises ValueError for a bound that 16 rows can't hold in fp32; None is no bound."""
    if lower_bound is not None and not -MAX_FALL <= lower_bound * (TILE - 1) <= 0:
        raise ValueError(f"lower_bound must lie in [{-MAX_FALL / (TILE - 1):.2f}, 0]; found {lower_bound}")
