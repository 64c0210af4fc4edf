"""Resource limits of the calling process. Imports next to nothing: a program's launcher waits for each import."""

import resource


def apply(limits: dict[str, int]) -> None:
    """Sets limits by the names of `resource` without RLIMIT_; what somebody set tighter stays."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def grant_cpu(seconds: int) -> None:
    """Moves the soft processor limit to the time used so far plus one request's share (SIGXCPU ends the process)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + seconds, resource.RLIM_INFINITY))
