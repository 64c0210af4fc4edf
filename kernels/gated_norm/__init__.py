"""RMSNorm, plain and with a sigmoid output gate a head (K3 report, equation 6)."""

from trivium.kernels.gated_norm.reference import gated_norm_reference, rms_norm_reference

__all__ = ["gated_norm", "gated_norm_reference", "rms_norm", "rms_norm_reference"]

gated_norm = gated_norm_reference
rms_norm = rms_norm_reference
