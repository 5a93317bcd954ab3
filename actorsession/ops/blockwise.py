"""Runs of elementwise ops over large arrays, computed block by block instead of array by array.

An op that runs alone reads whole arrays from memory and writes one back. Here one block passes through all
ops of the run while it is in the cache, in a few buffers of the block's size. The blocks are distributed over
threads, since numpy releases the interpreter lock while it computes. Generated code makes one ``Blockwise``
per run of nodes; ``plan.codegen.fusion`` decides which nodes those are and in which buffers they work.

Invariant: the values are bit for bit those of the ops one by one. Numpy's loops process the remainder at the
end of an array differently from the rest, which may show in the sign of a zero. So the length of all blocks
but the last is a multiple of what any of numpy's loops processes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.shared_arrays import empty
from actorsession.ops.blas_threads import usual_threads
from actorsession.ops.shares import in_shares
from actorsession.plan.codegen.bind import GENERATED_CODE_NAMES
from actorsession.plan.codegen.fusion import LEAST, SHARED

__all__ = ["Blockwise"]

# Bytes of all buffers together, half of the cache: 30 ops on 4M float32 took 12.1 ms of processor time with
# 128 KiB, 11.1 with 256, 10.8 with 512 and 11.2 with 1024.
_BUFFERS = 1 << 19
_WIDEST = 4  # bytes of an element if there is no buffer
# Blocks are multiples of this many elements: no loop of numpy processes more at a time.
_GRAIN = 1 << 10


class Blockwise:
    """One run of ops.

    Args:
        part: processes one block. Its arguments are the operands, then the results, then the buffers, all of
            the same length except operands that are scalars.
        arrays: how many of the operands are not scalars; those come first.
        results: for each result the name of its dtype, or the index of the operand whose array it overwrites;
            nothing else refers to that array.
        buffers: names of the dtypes of the buffers.
        nodes: how many ops there are.
        sent: positions of the results that are sent to another task.
    """

    __slots__ = ("_arrays", "_buffers", "_length", "_nodes", "_part", "_results", "_sent")

    def __init__(
        self,
        part: Callable[..., None],
        arrays: int,
        results: Sequence[str | int],
        buffers: Sequence[str],
        nodes: int,
        sent: Sequence[int] = (),
    ) -> None:
        self._sent = frozenset(sent)
        self._part = part
        self._arrays = arrays
        self._results = tuple([r if isinstance(r, int) else np.dtype(r) for r in results])
        self._buffers = tuple([np.dtype(name) for name in buffers])
        self._nodes = nodes
        room = _BUFFERS // max(_WIDEST, sum([dtype.itemsize for dtype in self._buffers]))
        self._length = max(1, room // _GRAIN) * _GRAIN

    def takes(self, *arrays: Any) -> bool:
        """Return whether operands can be processed in blocks: large, of one shape, contiguous.

        If not, the ops are run one by one, which may fail.
        """
        first = arrays[0]
        if first.size <= LEAST:
            return False
        shape = first.shape
        return all(value.shape == shape and value.flags.c_contiguous for value in arrays)

    def __call__(self, check: Callable[[], None], *operands: Any) -> Any:
        """Compute the results.

        Args:
            check: called before each block, in any thread; an exception that it raises ends the run.
            operands: arrays that ``takes`` accepts, then scalars.

        Returns:
            An array, or a tuple of them if there are several results.
        """
        arrays, scalars = operands[: self._arrays], operands[self._arrays :]
        shape, size = arrays[0].shape, arrays[0].size
        results = [
            arrays[r] if isinstance(r, int) else (empty if k in self._sent else np.empty)(shape, r)
            for k, r in enumerate(self._results)
        ]
        flat = [array.reshape(-1) for array in arrays]
        outputs = [result.reshape(-1) for result in results]
        threads = usual_threads() if size * self._nodes >= SHARED else 1
        share = -(-size // (threads * _GRAIN)) * _GRAIN
        length = min(self._length, share)
        starts = iter(range(0, size, length))  # each thread takes the next block when it is idle

        def work(_: Sequence[int]) -> None:
            with np.errstate(all="ignore"):  # of this thread
                buffers = [np.empty(length, dtype) for dtype in self._buffers]
                for start in starts:
                    check()
                    end = min(start + length, size)
                    self._part(
                        *[array[start:end] for array in flat],
                        *scalars,
                        *[result[start:end] for result in outputs],
                        *[buffer[: end - start] for buffer in buffers],
                    )

        in_shares(work, range(threads), threads)
        return results[0] if len(results) == 1 else tuple(results)


GENERATED_CODE_NAMES.fill("Blockwise", Blockwise)
