"""The import of torch, which has to find settings of its threads; ``arrays`` does it before any other module."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actorsession.errors import register_memory_error
from actorsession.extras import require

require("torch", "torch", "devices of torch need PyTorch")

# Read when torch is loaded, and not inherited by other programs. By default threads of OpenMP wait for each other in a
# busy loop of milliseconds: on a machine that has other work to do, a hundred times what the kernel takes. Without any
# loop a product of small matrices takes ten times as long, because each wake costs some 50 us.
_SPINS, _POLICY = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
_CHOSEN = _SPINS in os.environ or _POLICY in os.environ
if not _CHOSEN:
    os.environ[_SPINS] = "10000"
try:
    import torch
finally:
    if not _CHOSEN:
        del os.environ[_SPINS]

__all__ = ["MKL_IS_SLOW", "USUAL_THREADS", "in_one_thread", "leaves_registers_unused", "torch"]


def leaves_registers_unused(cpuinfo: str) -> bool:
    """Return whether MKL, by which torch computes products and functions such as ``tanh``, is slow on a processor.

    On those that are not Intel's it uses half of their registers, or none.

    Args:
        cpuinfo: text of ``/proc/cpuinfo``.
    """
    return "avx512f" in cpuinfo and "GenuineIntel" not in cpuinfo


def _is_slow_here() -> bool:
    if not torch.backends.mkl.is_available() or platform.system() != "Linux":
        return False
    return leaves_registers_unused(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))


MKL_IS_SLOW = _is_slow_here()
"""Whether kernels do without MKL where something else is there. On a core of an AMD EPYC with AVX-512, MKL takes 612 us
for a product of 512x128 by 128x512, and oneDNN 276; it takes 563 us for ``tanh`` of 262,144 numbers, and numpy 44.
"""
USUAL_THREADS = torch.get_num_threads()
"""The threads of kernels that are not too small for more than one."""


def in_one_thread(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Call a function of torch that would start threads for too little work."""
    torch.set_num_threads(1)  # of the calling thread, as below
    try:
        return function(*arguments, **settings)
    finally:
        torch.set_num_threads(USUAL_THREADS)


def _is_memory_error(exc: BaseException) -> bool:
    # That of the CPU is of no class of its own.
    return isinstance(exc, torch.OutOfMemoryError) or (
        isinstance(exc, RuntimeError) and "DefaultCPUAllocator: can't allocate memory" in str(exc)
    )


register_memory_error(_is_memory_error)
