"""The import of torch, which has to find settings of its threads; ``arrays`` does it before any other module.

The settings of the memory allocator that it works with are made here, too.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

from actorsession.errors import register_memory_error
from actorsession.extras import require
from actorsession.ops.blas_threads import mkl_is_slow

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

__all__ = ["MKL_IS_SLOW", "keep_freed_memory", "torch"]

# Parameters of mallopt, with their values: M_MMAP_THRESHOLD, the largest that glibc chooses by itself, once an array of
# that size was freed, and M_TRIM_THRESHOLD. As long as they are as usual, glibc gives arrays from 128 KB on back to the
# system when they are freed, and the next ones take a page fault for each 4 KB: to make 40 arrays of 1 MB and add to
# each took 22 ms with 9,800 faults, and takes 3 ms without any; 60 arrays of 5 MB 149 and 28 ms.
_ALLOCATOR = {-3: 32 << 20, -1: 512 << 20}


def keep_freed_memory(environment: Mapping[str, str], library: Any) -> bool:
    """Have the process keep memory that was freed for its next arrays, where it is glibc that decides.

    Args:
        environment: its variables; if they have any of glibc's settings of the same, those hold.
        library: the functions that the process has loaded.

    Returns:
        Whether it was done.
    """
    variables = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_"}
    is_chosen = not variables.isdisjoint(environment) or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")
    if is_chosen or not hasattr(library, "gnu_get_libc_version"):
        return False
    return [library.mallopt(parameter, value) for parameter, value in _ALLOCATOR.items()] == [1, 1]


keep_freed_memory(os.environ, ctypes.CDLL(None) if os.name == "posix" else None)

MKL_IS_SLOW = torch.backends.mkl.is_available() and mkl_is_slow()
"""Whether kernels do without MKL where something else is there: oneDNN for products, numpy for functions."""


# Those of the CPU and of Apple's GPUs are of no class of their own.
_WORDS = ("DefaultCPUAllocator: can't allocate memory", "MPS backend out of memory")


def _is_memory_error(exc: BaseException) -> bool:
    return isinstance(exc, torch.OutOfMemoryError) or (
        isinstance(exc, RuntimeError) and any(words in str(exc) for words in _WORDS)
    )


register_memory_error(_is_memory_error)
