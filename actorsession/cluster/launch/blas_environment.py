"""The kernels and the number of threads that OpenBLAS should use in worker processes.

numpy's OpenBLAS may fail to recognise a new processor and use older kernels than it could: with ``Haswell``
kernels a product of two 2048² float32 matrices took 71 ms, with ``SkylakeX`` 38 (2 shared cores). A choice
made by the environment is kept. The variable must be set before numpy is imported, so it is set for processes
that we start, and never in the user's own process.

OpenBLAS takes one thread for each core, and its threads spin while they wait for each other. If several
processes do that on the same cores, each waits for threads that are not running: a training step of a small
convolutional network took 455 ms on two cores that were busy, and 22 ms with one thread. Therefore processes
that are started together share the cores out.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from actorsession.runtime.kernel_pool import processors

__all__ = ["core_type", "thread_count"]

# The features that the SkylakeX kernels need; OpenBLAS checks the same before it selects them itself.
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"})

# Variables with which the user chooses; OpenBLAS reads them in this order.
_CHOICES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def core_type(cpuinfo: str | None = None) -> str | None:
    """Return the value of ``OPENBLAS_CORETYPE`` for processes that we start.

    Args:
        cpuinfo: text of ``/proc/cpuinfo``; read from there if left out.

    Returns:
        The user's own choice if there is one, ``SkylakeX`` if the processor has AVX-512, and otherwise
        ``None``: leave the choice to the library.
    """
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    if chosen:
        return chosen
    if cpuinfo is None:
        if platform.machine() not in ("x86_64", "AMD64"):
            return None
        try:
            cpuinfo = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    return "SkylakeX" if set(flags.split()) >= _AVX512 else None


def thread_count(processes: int, cores: int | None = None) -> int | None:
    """Return the value of ``OPENBLAS_NUM_THREADS`` for processes that we start together.

    Args:
        processes: the number of processes.
        cores: the number of cores for all of them; by default those that this process may run on.

    Returns:
        The cores for each process, at least one; ``None`` if the user has chosen, or if there is one process,
        which may use all.
    """
    if any(os.environ.get(name) for name in _CHOICES):
        return None
    return max(1, (cores or processors()) // processes) if processes > 1 else None
