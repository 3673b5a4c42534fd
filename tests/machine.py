"""How many tests this machine can run at once."""

import os
from collections.abc import Mapping
from pathlib import Path

# A worker is a Python and a Java process with a heap of 1 GiB, and at times a second Java process.
WORKER_BYTES = int(2.5 * 2**30)


def worker_count(environment: Mapping[str, str]) -> int:
    """As many workers as `PYTEST_XDIST_AUTO_NUM_WORKERS` says, else as this machine has room for."""
    asked = environment.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return fitting_workers(cores=_cores(), memory_bytes=_memory_bytes())


def fitting_workers(*, cores: int, memory_bytes: int) -> int:
    """As many workers as cores allow and memory holds, at least one."""
    return max(1, min(cores, memory_bytes // WORKER_BYTES))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory_bytes() -> int:
    """Memory that this process may use: the machine's, or less where a container sets a limit."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        path = Path(limit)
        if path.is_file() and path.read_text().strip().isdigit():
            return min(machine, int(path.read_text()))
    return machine
