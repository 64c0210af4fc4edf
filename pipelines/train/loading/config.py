"""The `data:` section of a run: how it is loaded. Nothing here changes what is trained."""

import os

from trivium.data.config import Strict

MOST_WORKERS = 8  # processes a rank that are taken without asking: 800 megapixels a second on usual cores


class Data(Strict):
    """`workers` decode pictures and clips (0: the trainer itself; left out: one on two cores, a quarter of the cores of
    larger machines).

    `ahead` steps are kept ready, and decoded pictures up to `cache_mib` MiB. A read without progress for `read_seconds`
    is begun again, `read_attempts` times in all; then the run stops, since to go on would train other data. One picture
    may take `decode_seconds` of processor time, one clip `clip_seconds`. The run stops as well when more than
    `max_bad_fraction` of the documents read so far (of at least 1000) had to be left out. `allow_damaged` starts with
    cut or missing tars, whose records are then left out as damaged.
    """

    workers: int | None = None
    ahead: int = 4
    cache_mib: int = 256
    read_seconds: float = 60.0
    read_attempts: int = 5
    decode_seconds: int = 30
    clip_seconds: int = 120
    max_bad_fraction: float = 0.01
    allow_damaged: bool = False

    def __post_init__(self) -> None:
        if self.workers is not None and not 0 <= self.workers <= 256:
            raise ValueError(f"workers is {self.workers}; give 0 to 256, or leave the key out")
        if self.ahead < 1 or self.cache_mib < 0:
            raise ValueError(
                f"ahead is {self.ahead} and cache_mib {self.cache_mib}; ahead is 1 or more, cache_mib 0 or more"
            )
        if not self.read_seconds > 0 or self.read_attempts < 1:
            raise ValueError("read_seconds must be above 0, and read_attempts 1 or more")
        if not 1 <= self.decode_seconds <= 3600 or not 1 <= self.clip_seconds <= 3600:
            raise ValueError(
                f"decode_seconds is {self.decode_seconds} and clip_seconds {self.clip_seconds}; give 1 to 3600"
            )
        if not 0 <= self.max_bad_fraction <= 1:
            raise ValueError(f"max_bad_fraction is {self.max_bad_fraction}; give a share from 0 (none is borne) to 1")

    def processes(self, ranks_here: int = 1) -> int:
        """Worker processes of one rank, when `ranks_here` of them share this machine's cores."""
        if self.workers is not None:
            return self.workers
        cores = len(os.sched_getaffinity(0)) // max(1, ranks_here)
        return min(MOST_WORKERS, max(1, cores // 4))
