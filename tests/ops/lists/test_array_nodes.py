"""Arrays and stacks of TensorFlow 1's loops: what they hold, what they refuse, and how long they live."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import ops
from actorsession.errors import InvalidArgumentError
from tests.nodes import make
from tests.ops.uses import each_use, equals
from tests.rows import for_each, refused


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
    """What a step gives, as plain lists and numbers."""
    with acts.Session() as session:
        found = session.run(fetch)
    return [np.asarray(v).tolist() for v in found] if isinstance(found, list) else np.asarray(found).tolist()


def _after(flow: Any, build: Any) -> Any:
    """What is built where the flow of an array has come first."""
    with acts.get_default_graph().control_dependencies([flow]):
        return build()


def _three() -> Array:
    return Array(3).scatter([0, 2], [[1.0, 2.0], [3.0, 4.0]]).write(1, [5.0, 6.0])


def _parts() -> Array:
    return Array(2, clear_after_read=False).split([1.0, 2.0, 3.0], [1, 2])


def _kept(x: Any) -> Array:
    return Array(1, clear_after_read=False).write(0, x)


def _closed(array: Array) -> Any:
    closed = _after(array.flow, lambda: make("TensorArrayCloseV3", [array.handle]))
    return _after(closed, lambda: array.read(0))


def _back(x: Any, build: Any) -> Any:
    """The gradient by a constant of what is made of it."""
    given = ops.constant(x)
    return value(ops.gradients(build(given), given)[0])


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


SQUARE = [[1.0, 2.0], [3.0, 4.0]]
READS: list[Any] = [lambda a: a.read(2), lambda a: a.gather([1, 0]), lambda a: a.size()]
TWO = acts.TensorShape([2])
VALUES = [
    equals(lambda: value([f(a) for a in [_three()] for f in READS]), [[3, 4], [[5, 6], [1, 2]], 3]),
    equals(lambda: value([f for a in [_parts()] for f in (*a.concat(), a.read(1))]), [[1, 2, 3], [1, 2], [2, 3]]),
    equals(lambda: value(Array(0, dynamic_size=True).write(2, 1.0).size()), 3),
    # What was not written is zero where its shape is known.
    equals(lambda: value(Array(2, element_shape=TWO).write(1, [1.0, 2.0]).gather([0, 1])), [[0, 0], [1, 2]]),
    equals(lambda: value(ops.shape(Array(2, element_shape=TWO).gather([]))), [0, 2]),
    equals(lambda: value(ops.shape(Array(2).gather([], element_shape=TWO))), [0, 2]),
    equals(lambda: value(_closed(Array(1).write(0, 1.0))), 1.0),
    # What was written gets the gradients of all that read it: 2 (3 + 2 · 2x).
    equals(
        lambda: _back([1.0, 2.0], lambda x: [a.read(0) * 3.0 + a.read(0) ** 2.0 for a in [_kept(x * 2.0)]]), [14, 22]
    ),
    equals(lambda: _back(SQUARE, lambda x: Array(2).scatter([1, 0], x).gather([0, 1]) * SQUARE), [[3, 4], [1, 2]]),
    equals(lambda: _back([1.0, 2.0, 3.0], lambda x: Array(2).split(x, [1, 2]).concat()[0] ** 2.0), [2, 4, 6]),
    equals(lambda: _back(SQUARE, lambda x: Array(2).scatter([0, 1], x).read(1) ** 2.0), [[0, 0], [6, 8]]),
    equals(lambda: value(_stack(-1, 3, 3)), [2, 1, 0]),  # the last one put on is taken first
]

FAULTS: list[tuple[Any, str]] = [
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
    (lambda: _stack(1, 2, 1), "holds 1"),
    (lambda: _stack(5, 1, 2), "is empty"),
]


test_arrays_and_stacks_do_what_their_rows_say = each_use(VALUES)


@for_each("build, said", FAULTS)
def test_what_an_array_cannot_do_fails_the_step(build: Any, said: str) -> None:
    fetch = build()
    refused(lambda: value(fetch), InvalidArgumentError, said)


def test_each_step_has_an_array_of_its_own() -> None:
    read = Array(1).write(0, 7.0).read(0)
    with acts.Session() as session:
        assert [session.run(read) for _ in range(3)] == [7.0] * 3


def test_gradients_of_one_source_are_added_up_and_have_the_shapes_of_the_elements() -> None:
    array = Array(2).write(0, [1.0, 2.0]).write(1, [3.0])
    first = array.gradient("a").write(0, [1.0, 1.0]).write(0, [5.0, 6.0])
    again, other = _after(first.flow, lambda: [array.gradient(source) for source in ("a", "b")])
    assert (value([again.read(0), again.read(1)]), value([other.read(0), first.flow])[0]) == ([[6, 7], [0]], [0, 0])


def test_gradients_of_two_calls_do_not_mix() -> None:
    x = ops.constant([1.0, 2.0])
    array = Array(1, clear_after_read=False).write(0, x)
    first = ops.gradients(array.read(0) * 3.0, x)[0]
    second = ops.gradients(array.read(0) * 5.0, x)[0]
    assert value([first, second]) == [[3.0, 3.0], [5.0, 5.0]]


def test_nothing_flows_back_through_stacks() -> None:
    x = ops.constant(1.0)
    (handle,) = make("StackV2", [ops.constant(1)], {"elem_type": acts.float32}).outputs
    assert ops.gradients(make("StackPushV2", [handle, x * 2.0]).outputs[0], x) == [None]
