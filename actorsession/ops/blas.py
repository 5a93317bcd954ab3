"""Products that use threads of our own instead of those of the BLAS library; see ``blas_threads``.

The library is limited to one thread during a product, and large products are cut into parts, which threads of
``ops.shares`` compute: those synchronise once, at the end, and do not wait for threads that get no core.
Kernels that make hundreds of small products, as a convolution does, share out their own blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from actorsession.graph.registry import Array
from actorsession.ops.blas_threads import single_threaded, usual_threads
from actorsession.ops.shares import in_shares, slices

__all__ = ["BLOCK_BYTES", "batch_product", "dot", "in_blocks", "product", "product_of", "share_products"]

_T = TypeVar("_T")
_R = TypeVar("_R")

# Multiplications up to which OpenBLAS itself uses one thread for a product.
_SMALL_PRODUCT = 64**3
# The same of a product of a matrix and a vector.
_SMALLEST_THREADED_SUM = 9000
# Multiplications that justify a thread: they take 0.2 to 0.4 ms, handing them to a helper some 20 us.
_FOR_A_THREAD = 1 << 24
# Multiplications that the caller makes while a helper wakes up, 40 to 60 us on a virtual machine. The
# caller's part is that much larger: then it ends last, and need not be woken itself.
_WHILE_WAKING = 3 << 20
# Elements that loops of numpy over arrays in the cache pass in some 0.2 ms, which justify a thread.
_LOOPS_FOR_A_THREAD = 1 << 21
BLOCK_BYTES = 1 << 20
"""Bytes of a block of elementwise work, and those that justify a thread.

Such a block takes 0.1 to 0.5 ms, unless ``in_blocks`` is told how few loops it has. The gradient of a pool
over 50x28x28x32 takes 3.9 ms in blocks of this size and 5.8 in those of an eighth, whose calls count more;
Adam over 3.2M elements takes 8 and 13 ms.
"""


def in_blocks(work: Callable[[Sequence[slice]], object], rows: int, row_bytes: int, loops: int = 0) -> None:
    """Cut rows into blocks for the cache, and distribute those over as many threads as their size justifies.

    Args:
        work: called with some blocks, in any thread.
        rows: how many rows there are.
        row_bytes: how many bytes ``work`` reads and writes in each row.
        loops: how many loops of numpy it has over the rows, of one element each; 0 if it has other work.
    """
    size = rows * row_bytes
    justified = rows * loops // _LOOPS_FOR_A_THREAD if loops else size // BLOCK_BYTES
    threads = min(usual_threads(), 1 + justified) if size > BLOCK_BYTES else 1
    in_shares(work, slices(rows, max(threads, -(-size // BLOCK_BYTES))), threads)


def share_products(work: Callable[[Sequence[_T]], _R], items: Sequence[_T], multiplications: int) -> list[_R]:
    """Call ``in_shares`` with as many threads as a number of multiplications justifies.

    BLAS uses one thread in each of them.
    """
    with single_threaded() as usual:
        return in_shares(work, items, min(usual, 1 + multiplications // _FOR_A_THREAD))


def product(a: Array, b: Array) -> Any:
    """Return the product of two matrices of one dtype, with as many threads as its size justifies."""
    return product_of(a.shape[0] * a.shape[1] * b.shape[1])(a, b)


def product_of(multiplications: int) -> Callable[..., Any]:
    """Return the function that computes products of two matrices with this number of multiplications.

    It takes the matrices and, if the product is to be written to one, a C-contiguous array.
    """
    if multiplications <= _SMALL_PRODUCT:
        return np.dot
    return _product_alone if multiplications < _FOR_A_THREAD else _product_in_tiles


def _product_alone(a: Array, b: Array, out: Array | None = None) -> Any:
    with single_threaded():
        return np.dot(a, b, out)


def _product_in_tiles(a: Array, b: Array, out: Array | None = None) -> Any:
    if np.may_share_memory(a, b):
        return np.dot(a, b, out)  # a matrix by its own transpose is half the work, but only as a whole
    (rows, inner), columns = a.shape, b.shape[1]
    with single_threaded() as usual:
        threads = min(usual, 1 + rows * inner * columns // _FOR_A_THREAD)
        if threads == 1:
            return np.dot(a, b, out)
        if out is None:
            out = np.empty((rows, columns), a.dtype)
        # As np.dot does; np.matmul would use a loop of its own for some strides.
        left, right = (x if x.flags.forc else np.ascontiguousarray(x) for x in (a, b))

        def multiply(share: Sequence[tuple[slice, slice]]) -> None:
            for some, others in share:
                np.matmul(left[some], right[:, others], out=out[some, others])

        lead = min(0.25, _WHILE_WAKING / (rows * inner * columns))
        in_shares(multiply, _tiles(rows, columns, threads, lead), threads)
    return out


def _tiles(rows: int, columns: int, count: int, lead: float) -> list[tuple[slice, slice]]:
    """Cut a matrix into about ``count`` parts that are as square as possible, so that BLAS reads little.

    If they are cut in one direction, the first part is larger by a part ``lead`` of the matrix.
    """
    across = max(1, min(count, round(math.sqrt(count * columns / rows))))
    down = count // across
    if across > 1 and down > 1:
        lead = 0.0
    return list(itertools.product(slices(rows, down, lead), slices(columns, across, lead)))


def batch_product(x: Array, y: Array) -> Any:
    """Return ``np.matmul(x, y)`` of batches of matrices, with as many threads as their size justifies."""
    multiplications = x.shape[-2] * x.shape[-1] * y.shape[-1]
    if multiplications <= _SMALL_PRODUCT:
        return np.matmul(x, y)
    if x.ndim == y.ndim == 2:
        return product(x, y)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = np.empty((*batch, x.shape[-2], y.shape[-1]), x.dtype)
    left, right = (np.broadcast_to(z, (*batch, *z.shape[-2:])) for z in (x, y))

    def multiply(share: Sequence[slice]) -> None:
        for some in share:
            np.matmul(left[some], right[some], out=out[some])

    share_products(multiply, slices(len(out), len(out)), math.prod(batch) * multiplications)
    return out


def dot(a: Array, b: Array) -> Any:
    """Return ``np.dot`` of a matrix and a vector or the reverse; only a large matrix gets several threads."""
    if not _SMALLEST_THREADED_SUM < max(a.size, b.size) < _FOR_A_THREAD:
        return np.dot(a, b)
    with single_threaded():
        return np.dot(a, b)
