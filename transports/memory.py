"""The memory for bytes that a peer sends: all of it is allocated here, so that all of it may fail in one way.

``decoder`` and ``shm.lane`` use the module, which imports nothing of this project. The system provides pages
when bytes are first written to them, so an allocation takes address space, which is what a process may be
short of (``ulimit -v``).

Invariant: what is allocated here leaves ``RESERVE`` bytes for everything else, such as the messages that say
that there was no memory.
"""

from __future__ import annotations

import numpy as np

# Bytes that large allocations leave. They are asked for and let go: above 32 MiB the C library maps memory
# for each request, and unmaps it at once.
RESERVE = 33 * 2**20
_LARGE = 2**20

# From this size on the memory is numpy's, which asks for huge pages: filling 64 MiB then costs 9 ms of page
# faults instead of 33. A small bytearray is made in half the time.
_NUMPY_FROM = 2**16


def allocate(nbytes: int) -> memoryview:
    """Return writable memory of this many bytes, which is not initialised.

    Raises:
        MemoryError: There is none, or too little would be left.
    """
    if nbytes < _NUMPY_FROM:
        return memoryview(bytearray(nbytes))
    array = np.empty(nbytes, np.uint8)
    if nbytes >= _LARGE:
        np.empty(RESERVE, np.uint8)
    return array.data


def extend(buffer: bytearray, data: memoryview) -> None:
    """Append bytes to a buffer, which stays as it is if that fails.

    Raises:
        MemoryError: There is no memory for them.
    """
    buffer += data


def copied(data: memoryview) -> bytes:
    """Return a copy of bytes.

    Raises:
        MemoryError: There is no memory for it.
    """
    return data.tobytes()
