"""State of a device: containers, and variables that are copy-on-write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from actorsession import errors
from actorsession.graph import shared_arrays
from actorsession.graph.node import spec
from actorsession.runtime import resources
from actorsession.runtime.resources import ResourceManager, UninitializedVariableError, Variable

VECTOR = spec("float32", [3])


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def made(value: np.ndarray | None = None) -> Variable:
    variable = Variable("v", VECTOR)
    variable.assign(vector(1, 2, 3) if value is None else value)
    return variable


def test_the_error_of_an_uninitialised_variable_travels_as_not_found() -> None:
    error = UninitializedVariableError("v")
    assert type(errors.error_from_wire(errors.error_to_wire(error))) is errors.NotFoundError


def test_a_string_scalar_is_plain_bytes() -> None:
    variable = Variable("v", spec("string", []))
    variable.assign(b"text")
    assert variable.read() == b"text"
    variable.assign(np.array(b"array", object))
    assert variable.read() == b"array"
    with pytest.raises(errors.InvalidArgumentError, match=r"holds string .* float32 of shape \(3,\)"):
        variable.assign(vector(1, 2, 3))
    with pytest.raises(errors.InvalidArgumentError, match=r"holds float32 .* string of shape \(\)"):
        made().assign(b"text")
    assert variable.read() == b"array"


def test_an_update_nobody_watches_happens_in_place() -> None:
    variable = made()
    address = variable.read().__array_interface__["data"][0]
    variable.update(np.add, vector(1, 1, 1))
    assert variable.read().__array_interface__["data"][0] == address
    np.testing.assert_array_equal(variable.read(), [2, 3, 4])


def test_a_value_read_earlier_never_changes() -> None:
    variable = made()
    before = variable.read()
    variable.update(np.add, vector(1, 1, 1))
    np.testing.assert_array_equal(before, [1, 2, 3])
    np.testing.assert_array_equal(variable.read(), [2, 3, 4])


def test_a_view_of_a_value_read_earlier_never_changes() -> None:
    variable = made()
    view = variable.read()[1:]
    variable.update(np.multiply, vector(10, 10, 10))
    np.testing.assert_array_equal(view, [2, 3])


def test_access_gives_a_copy_while_somebody_holds_the_value() -> None:
    variable = made()
    held = variable.read()

    def double(value: np.ndarray) -> np.ndarray:
        value *= 2
        return value

    variable.access(double)
    np.testing.assert_array_equal(held, [1, 2, 3])
    np.testing.assert_array_equal(variable.read(), [2, 4, 6])


def test_access_gives_the_array_itself_when_nobody_holds_it() -> None:
    variable = made()
    address = variable.read().__array_interface__["data"][0]
    seen: list[int] = []

    def look(value: np.ndarray) -> np.ndarray:
        seen.append(value.__array_interface__["data"][0])
        return value

    variable.access(look)
    assert seen == [address]


def test_a_scalar_variable_is_updated_by_value() -> None:
    variable = Variable("step", spec("int64", []))
    variable.assign(np.int64(4))
    before = variable.read()
    variable.update(np.add, np.int64(1))
    assert (before, variable.read()) == (4, 5)
    assert variable.read().dtype == np.int64


@pytest.mark.parametrize("value", [np.zeros(4, np.float32), np.zeros(3, np.float64), np.zeros((3, 1), np.float32)])
def test_a_value_of_another_type_is_refused_and_the_old_one_stays(value: np.ndarray) -> None:
    variable = made()
    with pytest.raises(errors.InvalidArgumentError, match=r"holds float32 of shape \(3,\)"):
        variable.assign(value)
    np.testing.assert_array_equal(variable.read(), [1, 2, 3])


def test_a_read_only_value_is_copied_so_that_updates_can_write() -> None:
    value = vector(1, 2, 3)
    value.flags.writeable = False
    variable = made(value)
    variable.update(np.add, vector(1, 1, 1))
    np.testing.assert_array_equal(value, [1, 2, 3])
    np.testing.assert_array_equal(variable.read(), [2, 3, 4])


def test_an_update_that_fails_leaves_the_value() -> None:
    variable = made()
    with pytest.raises(ValueError, match="broadcast"):
        variable.update(np.add, np.zeros(5, np.float32))
    np.testing.assert_array_equal(variable.read(), [1, 2, 3])


# -- resources of any kind -----------------------------------------------------------------------
class Box:
    """A resource that holds a list."""

    def __init__(self) -> None:
        self.items: list[int] = [1]

    def clear(self) -> None:
        self.items = []


def test_a_resource_is_made_once_per_container_kind_and_name() -> None:
    manager = ResourceManager()
    made: list[Box] = []

    def make() -> Box:
        made.append(Box())
        return made[-1]

    first = manager.lookup_or_create("", "x", "box", make)
    assert manager.lookup_or_create("localhost", "x", "box", make) is first
    assert manager.lookup("", "x", "box") is first
    others = [("other", "x", "box"), ("", "y", "box"), ("", "x", "crate")]
    assert len({id(first), *[id(manager.lookup_or_create(*key, make)) for key in others]}) == 4
    assert len(made) == 4


def test_things_of_different_kinds_may_share_a_name() -> None:
    """As in TensorFlow, where the type of a resource is part of its key."""
    manager = ResourceManager()
    variable = manager.variable("", "x", VECTOR)
    box = manager.lookup_or_create("", "x", "box", Box)
    assert manager.variable("", "x", VECTOR) is variable
    assert manager.lookup("", "x", "box") is box


def test_asking_for_another_spec_says_what_is_there_and_changes_nothing() -> None:
    manager = ResourceManager()
    box = manager.lookup_or_create("c", "x", "box", Box, spec=("FIFO", 3))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"box 'x' exists in container 'c' as \('FIFO', 3\).*'FIFO', 4"
    ):
        manager.lookup_or_create("c", "x", "box", Box, spec=("FIFO", 4))
    assert manager.lookup_or_create("c", "x", "box", Box, spec=("FIFO", 3)) is box
    assert box.items == [1]


def test_a_lookup_of_what_is_not_there_says_what_has_that_name() -> None:
    manager = ResourceManager()
    manager.lookup_or_create("c", "x", "box", Box)
    with pytest.raises(errors.NotFoundError, match=r"no queue 'x' in container 'c'; that name has a box"):
        manager.lookup("c", "x", "queue")
    with pytest.raises(errors.NotFoundError, match=r"no box 'x' in container 'localhost'$"):
        manager.lookup("", "x", "box")


def test_a_maker_that_fails_leaves_nothing_behind() -> None:
    manager = ResourceManager()

    def fail() -> Box:
        raise errors.InvalidArgumentError("no")

    with pytest.raises(errors.InvalidArgumentError, match="no"):
        manager.lookup_or_create("", "x", "box", fail)
    assert manager.lookup_or_create("", "x", "box", Box).items == [1]


def test_clearing_a_container_empties_resources_of_every_kind_where_they_stand() -> None:
    manager = ResourceManager()
    kept = manager.lookup_or_create("a", "x", "box", Box)
    cleared = manager.lookup_or_create("b", "x", "box", Box)
    variable = manager.variable("b", "v", VECTOR)
    variable.assign(vector(1, 2, 3))
    manager.clear(["b", "unknown"])
    assert (kept.items, cleared.items, variable.initialized) == ([1], [], False)
    assert manager.lookup("b", "x", "box") is cleared


def test_a_cleared_resource_may_be_asked_for_with_another_spec() -> None:
    manager = ResourceManager()
    first = manager.lookup_or_create("", "x", "box", Box, "of floats")
    manager.clear()
    second = manager.lookup_or_create("", "x", "box", Box, "of doubles")
    assert second is not first
    with pytest.raises(errors.InvalidArgumentError, match="exists in container"):
        manager.lookup_or_create("", "x", "box", Box, "of floats")


def test_the_empty_name_means_the_default_container_when_clearing_too() -> None:
    manager = ResourceManager()
    default = manager.lookup_or_create("", "x", "box", Box)
    manager.clear([""])
    assert default.items == []


def test_many_threads_that_ask_for_one_resource_get_one() -> None:
    manager, gate = ResourceManager(), threading.Barrier(8)
    found: list[Box] = []

    def ask() -> None:
        gate.wait()
        found.append(manager.lookup_or_create("", "x", "box", Box))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(box) for box in found}) == 1


def test_statistics_count_values_and_bytes() -> None:
    manager = ResourceManager()
    manager.variable("", "v", VECTOR).assign(vector(1, 2, 3))
    manager.variable("", "w", VECTOR)
    assert (manager.statistics().variables, manager.statistics().nbytes) == (1, 12)


def test_updates_of_many_threads_are_all_counted() -> None:
    variable = Variable("total", spec("int64", [1000]))
    variable.assign(np.zeros(1000, np.int64))
    one = np.ones(1000, np.int64)
    torn: list[np.ndarray] = []

    def add() -> None:
        for _ in range(200):
            variable.update(np.add, one)
            value = variable.read()
            if value.min() != value.max():
                torn.append(value)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    np.testing.assert_array_equal(variable.read(), np.full(1000, 1600))


# -- lending ---------------------------------------------------------------------------------------
class Memory(np.ndarray[Any, Any]):
    """Memory that stands for that which other processes can read."""


@contextmanager
def provided(allocate: Callable[[int], Any], kind: type[Any] | None) -> Iterator[None]:
    """Where shared memory comes from within the block."""
    before = shared_arrays.source()
    shared_arrays.provide(allocate, kind)
    try:
        yield
    finally:
        shared_arrays.provide(*before)


@pytest.fixture
def memory() -> Iterator[list[int]]:
    """The sizes of what was allocated in shared memory."""
    taken: list[int] = []

    def allocate(nbytes: int) -> Memory:
        taken.append(nbytes)
        return Memory(nbytes, np.uint8, bytearray(nbytes))

    with provided(allocate, Memory):
        yield taken


SIZE = shared_arrays.LEAST // 4


def large(size: int = SIZE) -> Variable:
    variable = Variable("v", spec("float32", [size]))
    variable.assign(np.arange(size, dtype=np.float32))
    return variable


def test_a_value_moves_to_shared_memory_when_it_is_first_lent(memory: list[int]) -> None:
    variable = large()
    assert not shared_arrays.is_shared(variable.read())
    lent = variable.lend()
    assert shared_arrays.is_shared(lent)
    np.testing.assert_array_equal(lent, np.arange(SIZE))
    assert variable.lend() is variable.read() is lent
    assert len(memory) == 1


def test_an_update_of_a_lent_value_makes_another_in_shared_memory(memory: list[int]) -> None:
    variable = large()
    lent = variable.lend()
    view = lent[10:20]
    del lent
    variable.update(np.add, np.float32(1))
    variable.access(lambda value: np.multiply(value, 2, out=value))
    np.testing.assert_array_equal(view, np.arange(10, 20))
    assert len(memory) == 2
    assert shared_arrays.is_shared(variable.read())
    np.testing.assert_array_equal(variable.read(), 2 * (np.arange(SIZE) + 1.0))


def test_an_update_of_a_value_that_was_returned_is_in_place(memory: list[int]) -> None:
    variable = large()
    lent = variable.lend()
    del lent
    for _ in range(5):
        variable.update(np.add, np.float32(1))
    assert len(memory) == 1


def test_small_values_and_those_without_elements_of_a_fixed_size_stay_where_they_are(memory: list[int]) -> None:
    small = large(SIZE - 1)
    assert small.lend() is small.read()
    strings = Variable("s", spec("string", [SIZE]))
    strings.assign(np.full(SIZE, b"x", object))
    assert strings.lend() is strings.read()
    assert not memory


def test_a_large_value_is_moved_by_its_update_and_no_read(memory: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_MOVED", shared_arrays.LEAST)
    variable = large(SIZE + 1)
    lent = variable.lend()
    assert not memory
    variable.update(np.add, np.float32(1))
    assert len(memory) == 1
    np.testing.assert_array_equal(lent, np.arange(SIZE + 1))


def test_without_room_values_stay_where_they_are() -> None:
    variable = large()
    with provided(lambda nbytes: None, Memory):
        lent = variable.lend()
        variable.update(np.add, np.float32(1))
    np.testing.assert_array_equal(lent, np.arange(SIZE))
    np.testing.assert_array_equal(variable.read(), np.arange(SIZE) + 1.0)


def test_lending_an_uninitialised_variable_is_reading_it() -> None:
    with pytest.raises(errors.FailedPreconditionError, match=r"'weights'.*read.*initializer"):
        Variable("weights", VECTOR).lend()
