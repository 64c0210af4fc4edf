"""Kernels of the backward pass, compiled on a thread of their own while the forward pass goes on.

A training step's first call compiles some seventy kernels, one after another as they are asked for; those of the
backward are asked for last. An operator whose backward is slow to compile rehearses it: once a shape, on operands of a
few rows, which gives the same kernels, since nothing is specialised for the number of rows. The compiler leaves the
interpreter's lock for most of its time, so both go on together. What is not ready in time is compiled as ever.
"""

import logging
import threading
from collections.abc import Callable, Hashable

import torch

__all__ = ["rehearse"]

_LOG = logging.getLogger(__name__)
_SEEN: set[Hashable] = set()


def rehearse(key: Hashable, device: torch.device, run: Callable[[], object]) -> None:
    """Starts `run` on a thread of its own, once a key; what it raises is logged and goes no further."""
    if key in _SEEN:
        return
    _SEEN.add(key)

    def work() -> None:
        try:
            if device.type == "cuda":
                torch.cuda.set_device(device)
            # Autograd's own thread for the device is left to the pass that goes on.
            with torch.enable_grad(), torch.autograd.set_multithreading_enabled(False):
                run()
        except Exception as error:  # a rehearsal: the call itself will say what is wrong, where it matters
            _LOG.debug("rehearsal of %s failed: %s", key, error)

    threading.Thread(target=work, name="trivium-rehearsal", daemon=True).start()
