"""The threads of BLAS are put aside and come back; products are cut into parts, with the same results."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from actorsession.ops.blas import loaded_libraries, single_threaded

needs_openblas = pytest.mark.skipif(
    not loaded_libraries(), reason="numpy's BLAS is no OpenBLAS here"
)


@pytest.fixture
def four_threads() -> Iterator[None]:
    (library, *_) = loaded_libraries()
    before = library.get()
    library.set(4)
    yield
    library.set(before)


@needs_openblas
def test_products_keep_to_one_thread_within_a_block_and_to_the_old_number_after_it(
    four_threads: None,
) -> None:
    (library, *_) = loaded_libraries()
    with single_threaded() as usual, single_threaded() as inner:
        assert (usual, inner, library.asked()) == (4, 4, 1)
    assert library.asked() == 4


@needs_openblas
def test_a_number_that_is_set_meanwhile_counts_afterwards(four_threads: None) -> None:
    (library, *_) = loaded_libraries()
    with single_threaded():
        library.set(3)
        assert (library.get(), library.asked()) == (3, 1)
    assert library.asked() == 3


@needs_openblas
def test_the_number_comes_back_when_the_last_of_several_threads_is_through(
    four_threads: None,
) -> None:
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
