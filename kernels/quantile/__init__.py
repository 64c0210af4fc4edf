"""Quantile Balancing: the router bias that gives each expert its share, from one integer histogram a step."""

from trivium.kernels.quantile.reference import quantile_reference
from trivium.kernels.quantile.torch_quantile import BINS, bounds, histogram, quantile, quantile_bias

__all__ = ["BINS", "bounds", "histogram", "quantile", "quantile_bias", "quantile_reference"]
