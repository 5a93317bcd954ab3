"""Threads of kernels: the library's are put aside and come back, and a kernel's own share its work out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from actorsession.ops.blas import in_shares, loaded_libraries, single_threaded
from tests.rows import for_each

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


@for_each("threads, shares", [(1, 1), (2, 2), (3, 3), (9, 5)])
def test_shares_are_neighbours_and_their_results_come_in_order(threads: int, shares: int) -> None:
    seen = in_shares(lambda share: (list(share), threading.get_ident()), [1, 2, 3, 4, 5], threads)
    assert len(seen) == shares
    assert [item for share, _ in seen for item in share] == [1, 2, 3, 4, 5]
    assert seen[0][1] == threading.get_ident()


def test_nothing_to_share_is_one_share_of_nothing() -> None:
    assert in_shares(len, [], 4) == [0]


@pytest.mark.parametrize("bad", [0, 3])
def test_what_a_share_raises_is_raised_when_all_have_ended(bad: int) -> None:
    ended = []

    def work(share: Sequence[int]) -> None:
        ended.append(share[0])
        if share[0] == bad:
            raise ZeroDivisionError(f"share {bad}")

    with pytest.raises(ZeroDivisionError, match=f"share {bad}"):
        in_shares(work, range(4), 4)
    assert sorted(ended) == [0, 1, 2, 3]
