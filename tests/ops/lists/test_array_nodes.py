"""Arrays and stacks of TensorFlow 1's loops: what they hold, what they refuse, and how long they live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import InvalidArgumentError
from tests.nodes import make
from tests.rows import for_each


class Array:
    """A ``TensorArrayV3`` whose uses come one after the other, by their flow."""

    def __init__(self, size: Any, handle: Any = None, **attrs: Any) -> None:
        if handle is None:
            handle = make("TensorArrayV3", [ops.constant(size)], {"dtype": acts.float32, **attrs}).outputs
        self.handle, self.flow = handle

    def _change(self, op: str, *values: Any) -> Array:
        (self.flow,) = make(op, [self.handle, *map(ops.convert_to_tensor, values), self.flow]).outputs
        return self

    def write(self, index: int, value: Any) -> Array:
        return self._change("TensorArrayWriteV3", index, value)

    def scatter(self, indices: Any, value: Any) -> Array:
        return self._change("TensorArrayScatterV3", indices, value)

    def split(self, value: Any, lengths: Any) -> Array:
        return self._change("TensorArraySplitV3", value, np.array(lengths, np.int64))

    def _asked(self, op: str, *values: Any, **attrs: Any) -> Any:
        inputs = [self.handle, *map(ops.convert_to_tensor, values), self.flow]
        return make(op, inputs, attrs).outputs

    def read(self, index: int) -> Any:
        return self._asked("TensorArrayReadV3", index, dtype=acts.float32)[0]

    def gather(self, indices: Any, **attrs: Any) -> Any:
        return self._asked("TensorArrayGatherV3", np.array(indices, np.int32), dtype=acts.float32, **attrs)[0]

    def concat(self) -> Any:
        return self._asked("TensorArrayConcatV3", dtype=acts.float32)

    def size(self) -> Any:
        return self._asked("TensorArraySizeV3")[0]

    def gradient(self, source: str) -> Array:
        return Array(0, self._asked("TensorArrayGradV3", source=source))


def value(fetch: Any) -> Any:
    with acts.Session() as session:
        return session.run(fetch)


def test_what_was_written_is_read() -> None:
    array = Array(3).scatter([0, 2], [[1.0, 2.0], [3.0, 4.0]]).write(1, [5.0, 6.0])
    found = value([array.read(2), array.gather([1, 0]), array.size()])
    np.testing.assert_array_equal(found[0], [3, 4])
    np.testing.assert_array_equal(found[1], [[5, 6], [1, 2]])
    assert found[2] == 3


def test_parts_of_any_length_are_split_and_joined() -> None:
    array = Array(2, clear_after_read=False).split([1.0, 2.0, 3.0], [1, 2])
    whole, lengths, second = value([*array.concat(), array.read(1)])
    assert (whole.tolist(), lengths.tolist(), second.tolist()) == ([1, 2, 3], [1, 2], [2, 3])


def test_each_step_has_an_array_of_its_own() -> None:
    read = Array(1).write(0, 7.0).read(0)
    with acts.Session() as session:
        assert [session.run(read) for _ in range(3)] == [7.0] * 3


def test_a_dynamic_array_grows_with_what_is_written() -> None:
    assert value(Array(0, dynamic_size=True).write(2, 1.0).size()) == 3


def test_what_was_not_written_is_zero_where_its_shape_is_known() -> None:
    shape = acts.TensorShape([2])
    array = Array(2, element_shape=shape).write(1, [1.0, 2.0])
    assert value(array.gather([0, 1])).tolist() == [[0, 0], [1, 2]]
    assert value(Array(2, element_shape=shape).gather([])).shape == (0, 2)
    assert value(Array(2).gather([], element_shape=shape)).shape == (0, 2)


def test_gradients_of_one_source_are_added_up_and_have_the_shapes_of_the_elements() -> None:
    array = Array(2).write(0, [1.0, 2.0]).write(1, [3.0])
    first = array.gradient("a").write(0, [1.0, 1.0]).write(0, [5.0, 6.0])
    with acts.get_default_graph().control_dependencies([first.flow]):
        again, other = array.gradient("a"), array.gradient("b")
    assert [v.tolist() for v in value([again.read(0), again.read(1)])] == [[6, 7], [0]]
    assert value([other.read(0), first.flow])[0].tolist() == [0, 0]


def test_closing_does_nothing() -> None:
    array = Array(1).write(0, 1.0)
    with acts.get_default_graph().control_dependencies([array.flow]):
        closed = make("TensorArrayCloseV3", [array.handle])
    with acts.get_default_graph().control_dependencies([closed]):
        assert value(array.read(0)) == 1.0


@for_each(
    "build, said",
    [
        (lambda: Array(-1).size(), "0 elements or more"),
        (lambda: Array(1).write(1, 1.0).flow, "cannot write element 1 of an array of 1"),
        (lambda: Array(1).write(-1, 1.0).flow, "cannot write element -1 of an array of 1"),
        (lambda: Array(1).write(0, 1.0).write(0, 1.0).flow, "written before"),
        (lambda: Array(1).read(1), "cannot read element 1 of an array of 1"),
        (lambda: Array(1).read(0), "never written"),
        (lambda: Array(1).write(0, 1.0).gather([0, 0]), "is gone"),
        (lambda: Array(2).write(0, 1.0).write(1, [1.0]).gather([0, 1]), "one shape"),
        (lambda: Array(1).gather([]), "no elements"),
        (lambda: Array(1, element_shape=acts.TensorShape([2])).write(0, 1.0).flow, "elements have shape"),
        (lambda: Array(2, identical_element_shapes=True).write(0, [1.0]).write(1, 1.0).flow, "elements have shape"),
        (lambda: Array(2).scatter([0, 1], [1.0]).flow, "a value for each of 2 indices"),
        (lambda: Array(2).split([1.0, 2.0], [1, 2]).flow, "do not make up"),
        (lambda: Array(1).write(0, 1.0).concat()[0], "differ in their length alone"),
        (lambda: Array(1).write(0, 1.0).gradient("a").write(0, 1.0).write(0, [1.0]).flow, "what is added has"),
    ],
)
def test_what_an_array_cannot_do_fails_the_step(build: Any, said: str) -> None:
    fetch = build()
    with pytest.raises(InvalidArgumentError, match=said):
        value(fetch)


# -- gradients -------------------------------------------------------------------------------------


def test_what_was_written_gets_the_gradients_of_all_that_read_it() -> None:
    x = ops.constant([1.0, 2.0])
    array = Array(1, clear_after_read=False).write(0, x * 2.0)
    found = value(ops.gradients(array.read(0) * 3.0 + array.read(0) ** 2.0, x)[0])
    assert found.tolist() == [14.0, 22.0]  # 2 (3 + 2 · 2x)


def test_what_was_scattered_gets_the_gradient_of_what_was_gathered() -> None:
    x = ops.constant([[1.0, 2.0], [3.0, 4.0]])
    gathered = Array(2).scatter([1, 0], x).gather([0, 1])
    found = value(ops.gradients(gathered * [[1.0, 2.0], [3.0, 4.0]], x)[0])
    assert found.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_what_was_split_gets_the_gradient_of_what_was_joined() -> None:
    x = ops.constant([1.0, 2.0, 3.0])
    joined, _ = Array(2).split(x, [1, 2]).concat()
    assert value(ops.gradients(joined**2.0, x)[0]).tolist() == [2.0, 4.0, 6.0]


def test_what_nobody_read_gets_zeros() -> None:
    x = ops.constant([[1.0, 2.0], [3.0, 4.0]])
    found = value(ops.gradients(Array(2).scatter([0, 1], x).read(1) ** 2.0, x)[0])
    assert found.tolist() == [[0.0, 0.0], [6.0, 8.0]]


def test_gradients_of_two_calls_do_not_mix() -> None:
    x = ops.constant([1.0, 2.0])
    array = Array(1, clear_after_read=False).write(0, x)
    first = ops.gradients(array.read(0) * 3.0, x)[0]
    second = ops.gradients(array.read(0) * 5.0, x)[0]
    assert [v.tolist() for v in value([first, second])] == [[3.0, 3.0], [5.0, 5.0]]


def test_nothing_flows_back_through_stacks() -> None:
    x = ops.constant(1.0)
    (handle,) = make("StackV2", [ops.constant(1)], {"elem_type": acts.float32}).outputs
    assert ops.gradients(make("StackPushV2", [handle, x * 2.0]).outputs[0], x) == [None]


# -- stacks ----------------------------------------------------------------------------------------


def _stack(limit: int, pushes: int, pops: int) -> list[Any]:
    """What is taken from a stack after numbers from 0 were put on it."""
    (handle,) = make("StackV2", [ops.constant(limit)], {"elem_type": acts.float32}).outputs
    graph = acts.get_default_graph()
    done: list[Any] = []
    for k in range(pushes):
        with graph.control_dependencies(done):
            done = [make("StackPushV2", [handle, ops.constant(float(k))]).outputs[0].op]
    taken = []
    for _ in range(pops):
        with graph.control_dependencies(done):
            taken.append(make("StackPopV2", [handle], {"elem_type": acts.float32}).outputs[0])
        done = [taken[-1].op]
    with graph.control_dependencies(done):
        closed = make("StackCloseV2", [handle])
    with graph.control_dependencies([closed]):
        return [ops.identity(t) for t in taken]


def test_the_last_one_put_on_is_taken_first() -> None:
    assert value(_stack(-1, 3, 3)) == [2.0, 1.0, 0.0]


@pytest.mark.parametrize(("limit", "pushes", "pops", "said"), [(1, 2, 1, "holds 1"), (5, 1, 2, "is empty")])
def test_a_stack_is_full_or_empty_at_some_time(limit: int, pushes: int, pops: int, said: str) -> None:
    fetches = _stack(limit, pushes, pops)
    with pytest.raises(InvalidArgumentError, match=said):
        value(fetches)
