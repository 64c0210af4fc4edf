"""Weights in files of other programs: safetensors with the published K3 and K2 names, there and back."""

from trivium.model.interop.convert import Converted, export_model, import_model
from trivium.model.interop.names import Placed, layout_of, placed
from trivium.model.interop.settings import published_settings
from trivium.model.interop.sources import CheckpointSource, Source, WeightsSource, load_weights

__all__ = [
    "CheckpointSource",
    "Converted",
    "Placed",
    "Source",
    "WeightsSource",
    "export_model",
    "import_model",
    "layout_of",
    "load_weights",
    "placed",
    "published_settings",
]
