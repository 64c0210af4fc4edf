"""What a pass costs the host: the kernels it launches, by name, and whether it waits for the device. CUDA only.

Odd: copies and fills that the driver makes by itself are no kernels. A name loses its template and its operands.
"""

from collections.abc import Callable, Iterable

import torch
from torch.autograd import DeviceType

from trivium.kernels.bench.report import Launches

__all__ = ["gathered", "launches", "waits"]

NO_KERNEL = ("Memcpy", "Memset")
NAMELESS = "(anonymous namespace)::"


def launches(run: Callable[[], object]) -> Launches | None:
    """The kernels of one call; None where the profiler saw nothing."""
    from torch.profiler import ProfilerActivity, profile

    run()  # compiled and tuned, so that only the pass itself is seen
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        run()
        torch.cuda.synchronize()
    events = [event for event in seen.events() if event.device_type == DeviceType.CUDA]
    events = [event for event in events if not getattr(event, "is_user_annotation", False)]
    found = gathered((event.name, event.time_range.elapsed_us()) for event in events)
    return found if found.kernels else None


def gathered(events: Iterable[tuple[str, float]]) -> Launches:
    """Names and µs of what ran on the device, one entry a kernel."""
    kernels: dict[str, int] = {}
    us: dict[str, float] = {}
    for name, microseconds in events:
        if not name.startswith(NO_KERNEL):
            short = name.removeprefix("void ").replace(NAMELESS, "").partition("<")[0].partition("(")[0]
            kernels[short] = kernels.get(short, 0) + 1
            us[short] = round(us.get(short, 0.0) + microseconds, 2)
    return Launches(kernels=kernels, us=us)


def waits(run: Callable[[], object]) -> bool:
    """Whether a call makes the host wait for the device: CUDA's own watch raises at the first that does."""
    run()  # what is tuned or compiled waits, once
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        run()
    except RuntimeError as error:
        if "synchroniz" not in str(error):
            raise
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False
