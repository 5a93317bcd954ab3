"""Vectors that never change: every version stays what it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actorsession.ops.lists.persistent_vector import EMPTY, WIDTH, PersistentVector
from tests.rows import for_each, refused

SIZES = [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, WIDTH**2, WIDTH**2 + WIDTH, WIDTH**2 + WIDTH + 1]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3 * WIDTH)),
        st.tuples(st.just("pop"), st.integers(1, 3 * WIDTH)),
        st.tuples(st.just("replace"), st.integers(0, 10**6)),
    ),
    max_size=12,
)


@for_each("size", SIZES)
def test_a_vector_made_at_once_is_one_that_grew(size: int) -> None:
    grown = EMPTY
    for k in range(size):
        grown = grown.append(k)
    for vector in (grown, PersistentVector.of(range(size))):
        assert len(vector) == size
        assert list(vector) == list(range(size))
        assert [vector[k] for k in range(size)] == list(range(size))
        assert list(vector.append("more")) == [*range(size), "more"]


@for_each("size", SIZES[1:])
def test_items_are_taken_away_from_the_end(size: int) -> None:
    vector = PersistentVector.of(range(size))
    while len(vector):
        last = len(vector) - 1
        assert vector[last] == last
        vector = vector.pop()
    assert list(vector) == []


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SIZES), STEPS)
def test_all_versions_stay_what_they_were(size: int, steps: list[tuple[str, int]]) -> None:
    vector, expected = PersistentVector.of(range(size)), list(range(size))
    versions: list[tuple[Any, list[Any]]] = [(vector, list(expected))]
    for step, number in steps:
        if step == "replace" and expected:
            at = number % len(expected)
            expected[at] = -number
            vector = vector.replace(at, -number)
        for k in range(number if step != "replace" else 0):
            if step == "append":
                vector = vector.append(k)
                expected.append(k)
            elif expected:
                vector = vector.pop()
                expected.pop()
        versions.append((vector, list(expected)))
    for version, items in versions:
        assert (list(version), [version[k] for k in range(len(items))]) == (items, items)


def test_two_versions_share_all_but_a_path() -> None:
    items = [object() for _ in range(WIDTH**2 * 2)]
    first = PersistentVector.of(items)
    second = first.replace(0, object())
    shared = [a is b for a, b in zip(first._root[0], second._root[0], strict=True)]
    assert (shared.count(False), first._root[1] is second._root[1]) == (1, True)


def test_what_is_not_there_is_an_index_error() -> None:
    vector = PersistentVector.of(range(3))
    refused(lambda: vector[3], IndexError, r"index 3 is not in \[0, 3\)")
    refused(lambda: vector.replace(-1, 0), IndexError, "index -1")
    refused(lambda: EMPTY.pop(), IndexError, "empty")
