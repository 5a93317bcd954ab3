"""The BLAS library that numpy has loaded, and products that use threads of our own instead of the library's.

OpenBLAS has one number of threads for the whole process. Its threads spin while they wait for each other, at
every product. On idle cores a small product gains little from that, and on busy cores it stalls. (Two cores
at load 6, a 128x784 by a 784x256 matrix: 0.7 ms with one thread of the library, 42 with two.) Therefore the
library is limited to one thread during a product, and large products are cut into parts, which threads of
``ops.shares`` compute: those synchronise once, at the end, and do not wait for threads that get no core.
Kernels that make hundreds of small products, as a convolution does, share out their own blocks.

numpy has no function for this, so the library is called through ctypes, under any of the names that its
builds give to its functions. ``runtime.blas_threads`` sets the number that sessions request.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from actorsession.graph.registry import Array
from actorsession.ops.shares import in_shares, slices
from actorsession.records import dataclass

__all__ = [
    "BLOCK_BYTES", "BlasLibrary", "batch_product", "dot", "in_blocks",
    "loaded_libraries", "lock", "product", "product_of", "share_products", "single_threaded", "usual_threads",
]  # fmt: skip

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

_MAPS = Path("/proc/self/maps")
# Builds add the prefix "scipy_" and the suffix "64_", so that several libraries fit into one process.
_PREFIXES, _SUFFIXES = ("scipy_", ""), ("64_", "", "_64", "_")


@dataclass(frozen=True, slots=True)
class BlasLibrary:
    """An OpenBLAS library that this process has loaded.

    Attributes:
        path: path of the library's file.
        kernels: name of the kernels that it has chosen for this processor, such as ``SkylakeX``.
        asked: the library's function that returns its number of threads.
        changed: the library's function that sets its number of threads.
    """

    path: str
    kernels: str
    asked: Callable[[], int]
    changed: Callable[[int], None]

    def get(self) -> int:
        """Return the number of threads that products use outside ``single_threaded``."""
        with _aside.lock:
            return _aside.numbers.get(self.path) or self.asked()

    def set(self, number: int) -> None:
        """Set the number of threads of products; if ``single_threaded`` limits them now, for later."""
        with _aside.lock:
            if self.path in _aside.numbers:
                _aside.numbers[self.path] = number
            else:
                self.changed(number)


class _Aside:
    """The numbers of threads that ``single_threaded`` has saved.

    Attributes:
        lock: reentrant, because a garbage collection may set a number in the thread that holds it.
        users: how many kernels limit the libraries to one thread now.
        numbers: the saved number for each library path, while ``users`` is not 0.
        usual: the largest number that the first of the users found.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.numbers: dict[str, int] = {}
        self.usual = 1


_aside = _Aside()


def lock() -> threading.RLock:
    """Return the lock held by every change of a number of threads; one for all, so that locks never nest."""
    return _aside.lock


def loaded_libraries(paths: Sequence[str] | None = None) -> list[BlasLibrary]:
    """Return the OpenBLAS libraries of this process.

    Args:
        paths: files to look at; by default those that the process has loaded.
    """
    found = (_open(path) for path in (_loaded_files() if paths is None else paths))
    return [library for library in found if library is not None]


def _loaded_files() -> list[str]:
    """Return files with OpenBLAS in their name that the process has loaded or that come with numpy."""
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # no Linux: a wheel of numpy has its libraries in one of these folders
        package = Path(np.__file__).parent
        folders = (package.parent / "numpy.libs", package / ".dylibs")
        return sorted(str(p) for f in folders if f.is_dir() for p in f.glob("*openblas*"))
    paths = (line.split(maxsplit=5)[5] for line in lines if line.count(" ") >= 5 and "/" in line)
    return sorted({path for path in paths if "openblas" in path.rpartition("/")[2].lower()})


def _open(path: str) -> BlasLibrary | None:
    try:
        # Its functions only read or set a number, which takes less time than releasing the interpreter lock.
        library = ctypes.PyDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            change = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if get is not None and change is not None:
                get.restype, get.argtypes = ctypes.c_int, []
                change.restype, change.argtypes = None, [ctypes.c_int]
                name = getattr(library, f"{prefix}openblas_get_corename{suffix}", None)
                return BlasLibrary(path, _kernels(name), get, change)
    return None


def _kernels(name: Callable[[], bytes | None] | None) -> str:
    """Return the result of a library's function that names its kernels."""
    if name is None:
        return "unknown"
    name.restype, name.argtypes = ctypes.c_char_p, []  # type: ignore[attr-defined]
    return (name() or b"unknown").decode()


@cache
def _of_numpy() -> tuple[BlasLibrary, ...]:
    """Return the libraries that compute numpy's products; cached, since the search takes a millisecond."""
    return tuple(loaded_libraries())


def usual_threads() -> int:
    """Return how many threads a product uses outside ``single_threaded``; 1 if the library is not found."""
    return max((library.get() for library in _of_numpy()), default=1)


class single_threaded:
    """Limit products to one thread within the block, in all threads of the process.

    The block's value is how many threads a product uses otherwise; 1 if the library is not found. A class,
    because a generator takes a microsecond more, and there is one of these for each product.
    """

    __slots__ = ("_limits",)

    def __enter__(self) -> int:
        libraries, state = _of_numpy(), _aside
        self._limits = state.users > 0 or any(library.asked() > 1 for library in libraries)
        if not self._limits:
            return 1
        with state.lock:
            state.users += 1
            if state.users == 1:
                for library in libraries:
                    state.numbers[library.path] = library.asked()
                    library.changed(1)
                state.usual = max(state.numbers.values())
            return state.usual

    def __exit__(self, *_: object) -> None:
        if not self._limits:
            return
        state = _aside
        with state.lock:
            state.users -= 1
            if state.users == 0:
                for library in _of_numpy():
                    library.changed(state.numbers.pop(library.path))


def _start_anew() -> None:
    """Reset the state in a forked child, in which the kernels that limited the library do not exist."""
    global _aside
    numbers, _aside = _aside.numbers, _Aside()
    for library in _of_numpy() if numbers else ():
        library.changed(numbers[library.path])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


# -- work in several threads --------------------------------------------------------------------


def in_blocks(
    work: Callable[[Sequence[slice]], object], rows: int, row_bytes: int, loops: int = 0
) -> None:
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


def share_products(
    work: Callable[[Sequence[_T]], _R], items: Sequence[_T], multiplications: int
) -> list[_R]:
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
        return np.dot(
            a, b, out
        )  # a matrix by its own transpose is half the work, but only as a whole
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
