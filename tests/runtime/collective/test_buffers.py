"""Memory of results is used again once nobody can see it."""

from __future__ import annotations

import errno
import mmap
from typing import Any

import numpy as np
import pytest

from actorsession.runtime.collective import buffers
from actorsession.runtime.collective.buffers import BufferPool

FLOAT = np.dtype(np.float32)


def address(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def test_memory_is_used_again_when_the_array_and_all_its_views_are_gone() -> None:
    pool = BufferPool()
    first = pool.array(1000, FLOAT)
    first[:] = 1.0
    where, view, bytes_of = address(first), first[10:20].reshape(2, 5), first.data
    del first
    assert address(pool.array(1000, FLOAT)) != where
    np.testing.assert_array_equal(view, np.ones([2, 5]))
    del view
    assert bytes_of[0] == 1.0
    del bytes_of
    assert {address(pool.array(1000, FLOAT)) for _ in range(2)} >= {where}


def test_arrays_in_use_share_no_memory_and_other_sizes_get_their_own() -> None:
    pool = BufferPool()
    made = [pool.array(1000, FLOAT), pool.array(1000, FLOAT), pool.array(500, FLOAT)]
    for number, array in enumerate(made):
        array[:] = number
    assert [array.sum() for array in made] == [0, 1000, 1000]
    assert [array.shape for array in made] == [(1000,), (1000,), (500,)]


def test_a_pool_keeps_no_more_than_its_limit_and_drops_what_was_unused_longest() -> None:
    pool = BufferPool()
    each = buffers._KEPT // 2 // 4
    first, *others = [pool.array(each, FLOAT) for _ in range(3)]
    where = address(first)
    del first
    others.clear()
    assert pool.kept <= buffers._KEPT
    again = [pool.array(each, FLOAT) for _ in range(2)]
    assert where not in [address(array) for array in again]


def test_an_array_may_be_empty() -> None:
    assert BufferPool().array(0, FLOAT).shape == (0,)


def test_what_is_kept_unused_makes_room_where_there_is_no_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, make = BufferPool(), mmap.mmap
    pool.array(1000, FLOAT)
    assert pool.kept

    def limited(*args: Any, **how: Any) -> mmap.mmap:
        if pool.kept:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return make(*args, **how)

    monkeypatch.setattr(mmap, "mmap", limited)
    assert pool.array(2000, FLOAT).shape == (2000,)
