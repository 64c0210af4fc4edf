"""The definition of Newton–Schulz orthogonalisation as Muon takes it (spec, section 5.1; K. Jordan, "Muon", 2024).

B blocks, M rows and N columns of a block.
"""

import torch
from torch import Tensor

__all__ = ["EPSILON", "STEPS", "A", "B", "C", "newton_schulz_reference"]

A, B, C = 3.4445, -4.7750, 2.0315  # K. Jordan, "Muon", 2024; singular values end in 0.68 to 1.13, of steep spectra 1.21
STEPS = 5
EPSILON = 1e-7


def newton_schulz_reference(x_BMN: Tensor, steps: int = STEPS) -> Tensor:
    """X ← X / (‖X‖ + ε), then `steps` times Y = XXᵀ, X ← aX + (bY + cY²)X; tall blocks are turned before and after."""
    if x_BMN.shape[-2] > x_BMN.shape[-1]:
        return newton_schulz_reference(x_BMN.mT, steps).mT
    x_BMN = x_BMN / (torch.linalg.vector_norm(x_BMN, dim=(-2, -1), keepdim=True) + EPSILON)
    for _ in range(steps):
        y_BMM = x_BMN @ x_BMN.mT
        x_BMN = A * x_BMN + (B * y_BMM + C * (y_BMM @ y_BMM)) @ x_BMN
    return x_BMN
