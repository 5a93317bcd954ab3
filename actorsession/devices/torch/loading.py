"""The import of torch, which has to find settings of its threads; ``arrays`` does it before any other module."""

from __future__ import annotations

import os
from collections.abc import Callable
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

__all__ = ["USUAL_THREADS", "in_one_thread", "torch"]

USUAL_THREADS = torch.get_num_threads()
"""The threads of kernels that are not too small for more than one."""


def in_one_thread(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Call a function of torch that would start threads for too little work."""
    torch.set_num_threads(1)  # of the calling thread, as below
    try:
        return function(*arguments, **settings)
    finally:
        torch.set_num_threads(USUAL_THREADS)


# Those of the CPU and of Apple's GPUs are of no class of their own.
_WORDS = ("DefaultCPUAllocator: can't allocate memory", "MPS backend out of memory")


def _is_memory_error(exc: BaseException) -> bool:
    return isinstance(exc, torch.OutOfMemoryError) or (
        isinstance(exc, RuntimeError) and any(words in str(exc) for words in _WORDS)
    )


register_memory_error(_is_memory_error)
