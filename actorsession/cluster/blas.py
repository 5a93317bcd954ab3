"""Which kernels OpenBLAS should use in worker processes.

numpy's OpenBLAS may know a new processor late and take older kernels than it could: with ``Haswell``
kernels a product of two 2048² float32 matrices took 71 ms, with ``SkylakeX`` 38 (2 shared cores). A choice
that the environment makes is kept. The variable must be set before numpy is imported, so it is set for
processes that we start, and never behind the user's back in the user's own.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["core_type"]

# What the SkylakeX kernels are built for; OpenBLAS checks the same before it takes them by itself.
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"})


def core_type(cpuinfo: str | None = None) -> str | None:
    """The value of ``OPENBLAS_CORETYPE`` for processes that we start.

    Args:
        cpuinfo: text of ``/proc/cpuinfo``; read from there if left out.

    Returns:
        The user's own choice if there is one, ``SkylakeX`` where the processor has AVX-512, and
        otherwise ``None``: leave the choice to the library.
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
