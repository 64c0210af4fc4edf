"""Trivium: from raw files to a trained multimodal base model of the Kimi K3 family.

In a checkout the packages `trivium.data`, `trivium.model`, … are the folders beside this one; appending the checkout's
root to `__path__` lets `PYTHONPATH=. python -m trivium` work with nothing installed.
"""

from pathlib import Path

__version__ = "0.1.0"

_root = Path(__file__).resolve().parent.parent
if (_root / "pyproject.toml").is_file():
    __path__.append(str(_root))
