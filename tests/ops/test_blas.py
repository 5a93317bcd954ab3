"""The threads of BLAS are put aside and come back; products are cut into parts, with the same results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from actorsession.ops import blas
from actorsession.ops.blas import BLOCK_BYTES, batch_product, dot, in_blocks, product, share_products
from actorsession.ops.blas_threads import loaded_libraries, single_threaded
from actorsession.ops.shares import in_shares
from tests.rows import for_each

needs_openblas = pytest.mark.skipif(not loaded_libraries(), reason="numpy's BLAS is no OpenBLAS here")


@pytest.fixture
def four_threads(product_threads: Callable[[int], None]) -> None:
    """Of all libraries: scipy, which other tests import, brings another one than numpy."""
    product_threads(4)


@needs_openblas
@for_each(
    "before, within, changed, after",
    [
        (4, 1, None, 4),  # one thread within a block, and the old number after it
        (1, 1, 3, 3),  # where products have one thread anyway nothing is changed
        (4, 1, 3, 3),  # a number that is set meanwhile counts afterwards
    ],
)
def test_products_keep_to_one_thread_within_a_block(
    four_threads: None, before: int, within: int, changed: int | None, after: int
) -> None:
    (library, *others) = loaded_libraries()
    for each in (library, *others):
        each.set(before)
    with single_threaded() as usual, single_threaded() as inner:
        assert (usual, inner, library.asked()) == (before, before, within)
        if changed is not None:
            library.set(changed)
            assert (library.get(), library.asked()) == (changed, changed if before == 1 else within)
    assert library.asked() == after


@needs_openblas
def test_the_number_comes_back_when_the_last_of_several_threads_is_through(four_threads: None) -> None:
    (library, *_) = loaded_libraries()
    inside, leave = threading.Event(), threading.Event()

    def keep() -> None:
        with single_threaded():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=keep)
    other.start()
    assert inside.wait(10)
    with single_threaded():
        pass
    assert library.asked() == 1
    leave.set()
    other.join()
    assert library.asked() == 4


# --- products


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads were allowed, for each call of ``in_shares``."""
    threads: list[int] = []

    def record(work: Any, items: Sequence[Any], number: int) -> Any:
        threads.append(number)
        return in_shares(work, items, number)

    monkeypatch.setattr(blas, "in_shares", record)
    return threads


def matrices(*sizes: tuple[int, ...], dtype: str = "f4") -> list[Any]:
    random = np.random.default_rng(1)
    return [random.integers(-4, 5, size).astype(dtype) for size in sizes]


@needs_openblas
@for_each(
    "rows, inner, columns, threads",
    [
        (64, 64, 64, []),  # the library itself takes one thread
        (64, 64, 65, []),  # limited to one thread
        (255, 256, 256, []),
        (256, 256, 256, [2]),
        (7, 2048, 3000, [3]),
        (1000, 1000, 1000, [4]),  # no more than the library has
    ],
)
def test_a_product_has_as_many_threads_as_its_size_justifies(
    four_threads: None, shared: list[int], rows: int, inner: int, columns: int, threads: list[int]
) -> None:
    shared.clear()
    a, b = matrices((rows, inner), (inner, columns))
    np.testing.assert_array_equal(product(a, b), np.dot(a, b))
    assert shared == threads


@needs_openblas
@for_each("columns, during", [(64, 4), (65, 1)])
def test_a_product_limits_the_library_unless_that_takes_one_thread_anyway(
    monkeypatch: pytest.MonkeyPatch, four_threads: None, columns: int, during: int
) -> None:
    (library, *_) = loaded_libraries()
    a, b = matrices((64, 64), (64, columns))
    monkeypatch.setattr(np, "dot", lambda a, b, out=None: library.asked())
    assert product(a, b) == during


@needs_openblas
@for_each("dtype", ["f4", "f8", "c8", "i4"])
def test_parts_of_a_product_make_the_whole(four_threads: None, shared: list[int], dtype: str) -> None:
    shared.clear()
    a, b, wide = matrices((160, 224), (224, 704), (448, 1408), dtype=dtype)
    for left, right in [
        (a, b),
        (np.asfortranarray(a), np.asfortranarray(b)),
        (a[::-1], b[:, ::-1]),
        (a, wide[::2, ::2]),
        (a[:107], b),
        (np.broadcast_to(a[:1], a.shape), b),
    ]:
        np.testing.assert_array_equal(product(left, right), np.dot(left, right))
    assert len(shared) == 6
    np.testing.assert_array_equal(product(b, b.T), np.dot(b, b.T))
    assert len(shared) == 6  # a product with its own transpose is left whole
    assert product(a[:0], b).shape == (0, 704)


@needs_openblas
@for_each(
    "x, y, threads",
    [
        ((5, 3, 4), (5, 4, 6), [4]),
        ((5, 1, 3, 4), (2, 4, 6), [4]),  # leading axes broadcast
        ((1, 3, 4), (1, 4, 6), [2]),
        ((0, 3, 4), (0, 4, 6), [1]),
        ((3, 4), (2, 4, 6), [3]),
        ((3, 4), (4, 6), [2]),
        ((3, 4), (4, 1), []),  # a small product
    ],
)
def test_batches_of_products_are_shared_along_their_first_axis(
    four_threads: None, shared: list[int], x: tuple[int, ...], y: tuple[int, ...], threads: list[int]
) -> None:
    """The rows give sizes in units of 62: then a product of 72 units justifies one thread more."""
    shared.clear()
    a, b = matrices(*[(*s[:-2], *(n if n == 1 else 62 * n for n in s[-2:])) for s in (x, y)])
    np.testing.assert_array_equal(batch_product(a, b), np.matmul(a, b))
    assert shared == threads


@needs_openblas
def test_shares_of_products_have_one_thread_of_the_library_each(four_threads: None) -> None:
    (library, *_) = loaded_libraries()
    assert share_products(lambda share: library.asked(), [1, 2], 0) == [1]
    assert share_products(lambda share: library.asked(), [1, 2], 1 << 25) == [1, 1]


@for_each("rows", [10, 9_001, 1 << 24])
def test_products_with_a_vector_are_numpy_s(rows: int) -> None:
    ones = np.ones(rows, np.float32)
    assert dot(ones, ones[:, None]) == dot(ones[None], ones) == rows


# --- blocks


@needs_openblas
@for_each(
    "rows, row_bytes, blocks, threads",
    [
        (10, 8, [10], 1),
        (8, BLOCK_BYTES // 8, [8], 1),
        (9, BLOCK_BYTES // 8, [4, 5], 2),
        (7, BLOCK_BYTES, [1] * 7, 4),
        (2, 5 * BLOCK_BYTES, [1, 1], 4),
        (0, 8, [0], 1),
    ],
)
def test_blocks_fit_the_cache_and_large_work_has_several_threads(
    four_threads: None, shared: list[int], rows: int, row_bytes: int, blocks: list[int], threads: int
) -> None:
    shared.clear()
    seen: list[slice] = []
    in_blocks(seen.extend, rows, row_bytes)
    assert [block.stop - block.start for block in sorted(seen, key=lambda b: b.start)] == blocks
    assert shared == [threads]


@needs_openblas
@for_each(
    "elements, loops, threads",
    [
        (200_000, 2, 1),  # an update by gradient descent: a helper would wake up too late
        (200_000, 12, 2),  # by Adam
        (2**21, 1, 2),
        (2**21, 12, 4),
        (1000, 5000, 1),  # one block
    ],
)
def test_blocks_with_few_loops_have_fewer_threads(
    four_threads: None, shared: list[int], elements: int, loops: int, threads: int
) -> None:
    shared.clear()
    seen: list[slice] = []
    in_blocks(seen.extend, elements, 12, loops)
    assert (sum(block.stop - block.start for block in seen), shared) == (elements, [threads])
