"""Machines and assumptions that `trivium plan` reckons with; each is printed, and each can be set.

Data-sheet figures (NVIDIA): dense bf16 without sparsity. Achieved shares are those measured on one H200 with torch
2.11, or the goals that the project's kernels are held to where nothing is said.
"""

import math

from trivium.data.config import Strict
from trivium.errors import UsageError


class Gpu(Strict, frozen=True, kw_only=True):
    memory: float  # bytes
    peak: float  # bf16 FLOP/s
    bandwidth: float  # bytes/s, read and write together
    link: float  # bytes/s to a neighbour of the same node, one way
    network: float  # bytes/s a GPU to other nodes, one way
    node: int = 8  # GPUs that share links

    def __post_init__(self) -> None:
        for name in ("memory", "peak", "bandwidth", "link", "network"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name} is {value:g}; give a finite number above 0")
        if self.node < 1:
            raise ValueError(f"node is {self.node}; give 1 or more")

    def wire(self, ranks: int) -> float:
        """Bytes/s inside a group of so many neighbouring ranks."""
        return self.link if ranks <= self.node else self.network


GPUS = {
    "a100": Gpu(memory=80e9, peak=312e12, bandwidth=2.0e12, link=300e9, network=25e9),
    "h100": Gpu(memory=80e9, peak=989e12, bandwidth=3.35e12, link=450e9, network=50e9),
    "h200": Gpu(memory=141e9, peak=989e12, bandwidth=4.8e12, link=450e9, network=50e9),
    "b200": Gpu(memory=180e9, peak=2250e12, bandwidth=8.0e12, link=900e9, network=50e9),
    "gb200": Gpu(memory=186e9, peak=2500e12, bandwidth=8.0e12, link=900e9, network=100e9, node=72),
}


def peak_of(device: str) -> float | None:
    """Dense bf16 FLOP/s of the GPU that torch calls `device`, such as "NVIDIA H200"; None for one not known here.

    Only the forms that GPUS has (SXM boards): a PCIe or NVL board of the same name reaches less.
    """
    words = device.lower().replace("-", " ").split()
    if "pcie" in words or "nvl" in words:
        return None
    return next((one.peak for name, one in GPUS.items() if name in words), None)


class Assumptions(Strict, frozen=True, kw_only=True):
    """Shares of what the data sheet promises, and the habits of a run."""

    matmul: float = 0.70  # of peak, large products (684–798 of 989 TFLOP/s measured)
    grouped: float = 0.45  # of peak, experts' products (368–572 TFLOP/s measured)
    attention: float = 0.47  # of peak, MLA forwards and backwards (467 TFLOP/s measured)
    kda: float = 0.04  # of peak, KDA's core: it is bound by memory (6–12 ms at 8192 tokens and 96 heads)
    copy: float = 0.85  # of memory bandwidth, elementwise work (4.27 of 4.8 TB/s measured)
    wire: float = 0.75  # of link and network
    imbalance: float = 1.10  # the busiest rank's expert tokens over the mean
    expert_overlap: float = 0.70  # share of the experts' exchange that hides behind products
    data_overlap: float = 0.90  # of gradients' and weights' traffic
    other_overlap: float = 0.50  # of context's and the pipeline's
    reserve: float = 0.08  # of memory for the driver, communication and fragments
    pictures: float = 0.10  # share of tokens that pictures fill (of 896 pixels a side)
    logit_rows: int = 1024  # rows of logits that exist at a time
    heads_at_once: int = 8  # heads whose gathered keys and values exist at a time under context parallelism
    balanced_attention: bool = False  # True: queries are dealt so that causal work is even over context ranks

    def __post_init__(self) -> None:
        for name in ("matmul", "grouped", "attention", "kda", "copy", "wire"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name):g}; give a share above 0 and at most 1")
        for name in ("expert_overlap", "data_overlap", "other_overlap", "reserve", "pictures"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name):g}; give a share from 0 up to 1")
        for name in ("imbalance", "logit_rows", "heads_at_once"):
            if not 1 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name):g}; give a finite number, 1 or more")


def gpu(name: str) -> Gpu:
    """The machine of that name in any case. Raises UsageError naming those that are known."""
    if name.lower() not in GPUS:
        raise UsageError(f"no GPU {name!r}; known: {', '.join(GPUS)}")
    return GPUS[name.lower()]
