"""Available memory for a run: free memory within the limits of machine, container and process."""

from __future__ import annotations

import functools
import os
import time
from pathlib import Path

SHARE = 0.8
"""Share of the free memory that a run may use; the rest is for result tables and other processes."""
FRESH_S = 0.25
"""Seconds for which a measurement of free memory is cached."""
_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")


def limit_bytes(runs: int = 1) -> int | None:
    """Returns the memory limit of a run without `memory_limit`.

    Parameters
    ----------
    runs : int
        Number of concurrent runs that share the memory, at least 1.

    Returns
    -------
    int or None
        Bytes; ``None`` if the system does not report free memory.
    """
    free = free_in(int(time.monotonic() / FRESH_S))
    return None if free is None else int(free * SHARE / runs)


@functools.lru_cache(maxsize=1)
def free_in(_moment: int) -> int | None:
    """`free_bytes`, cached per interval of `FRESH_S`."""
    return free_bytes()


def free_bytes() -> int | None:
    """Minimum of the free memory of the machine, the container and the process."""
    known = [free for free in (_of_machine(), _of_container(), _of_process()) if free is not None]
    return max(min(known), 0) if known else None


def _of_machine() -> int | None:
    """Available memory on Linux; half of the installed memory on other systems."""
    available = _entry(_PROC / "meminfo", "MemAvailable:")
    if available is not None:
        return available
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _of_container() -> int | None:
    """Bytes left in the control group of the process, including reclaimable file caches."""
    # cgroup version 2, then 1: limit, usage, and entry of file caches in memory.stat.
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _number(_CGROUP / limit), _number(_CGROUP / used)
        if most is not None and now is not None:
            cached = _entry((_CGROUP / limit).with_name("memory.stat"), cache, scale=1) or 0
            return most - max(now - cached, 0)
    return None


def _of_process() -> int | None:
    """Half of the address space left by ``ulimit -v``, because growing a table needs twice its size."""
    try:
        import resource
    except ImportError:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    size = _entry(_PROC / "self" / "status", "VmSize:")
    return None if most == resource.RLIM_INFINITY or size is None else (most - size) // 2


def _entry(file: Path, name: str, scale: int = 1024) -> int | None:
    """Value in a line such as ``MemAvailable:   16142 kB``, in bytes."""
    try:
        lines = file.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    return next((int(line.split()[1]) * scale for line in lines if line.split()[:1] == [name]), None)


def _number(file: Path) -> int | None:
    """Number in a file; ``None`` for ``max``."""
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None
