"""Memory for the large results of collectives, which is used again when their arrays are gone.

The kernel clears new memory and maps it page by page, which takes as long as several additions of the
values; on virtual machines whose host takes free memory back it takes ten times as long. The gradients of a
program have the same sizes in every step.
"""

from __future__ import annotations

import mmap
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from actorsession.graph.registry import Array

__all__ = ["BufferPool"]

# Bytes that a pool keeps while nobody uses them.
_KEPT = 256 * 2**20


class BufferPool:
    """The memory of the results of one graph's collectives in one process."""

    def __init__(self) -> None:
        # Blocks by an ever higher number, so that the one that was unused for longest goes first.
        self._free: OrderedDict[int, mmap.mmap] = OrderedDict()
        self._given_back = 0

    def array(self, elements: int, dtype: np.dtype[Any]) -> Array:
        """Return an array of one dimension with any contents.

        Its memory is used again when neither the array nor a view of it exists any more.
        """
        nbytes = elements * dtype.itemsize
        block = self._take(nbytes)
        if block is None:
            # Private, because shared memory gets no huge pages.
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            try:
                block = mmap.mmap(-1, max(nbytes, 1), flags=flags)
            except OSError:  # no address space, of which some is kept
                self._free.clear()
                block = mmap.mmap(-1, max(nbytes, 1), flags=flags)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                block.madvise(mmap.MADV_HUGEPAGE)
        array = np.frombuffer(block, dtype, elements)
        weakref.finalize(array, self._give_back, block).atexit = False
        return array

    @property
    def kept(self) -> int:
        """The bytes that are kept and not in use."""
        return sum(len(block) for block in tuple(self._free.values()))

    def _take(self, nbytes: int) -> mmap.mmap | None:
        for number, block in tuple(self._free.items()):
            if len(block) == max(nbytes, 1):
                return self._free.pop(number, None)
        return None

    def _give_back(self, block: mmap.mmap) -> None:
        """Keep a block; called in whichever thread has released the last array."""
        self._given_back += 1
        self._free[self._given_back] = block
        while self.kept > _KEPT:
            self._free.popitem(last=False)
