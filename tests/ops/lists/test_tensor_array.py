"""``TensorArray``: written, read, and carried through loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from tests.rows import for_each


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session(graph=acts.get_default_graph()) as session:
        return session.run(fetches, feeds)


# -- one element ---------------------------------------------------------------------------------


def test_what_is_written_is_read_and_stacked() -> None:
    array = acts.TensorArray(acts.float32, size=3).write(0, 1.0).write(1, 2.0).write(2, 3.0)
    stacked = array.stack()
    assert stacked.shape.as_list() == [3]
    np.testing.assert_array_equal(run([stacked, array.read(1)])[0], [1.0, 2.0, 3.0])
    assert run(array.read(1)) == 2.0


def test_writing_gives_another_array() -> None:
    first = acts.TensorArray(acts.float32, size=1).write(0, 1.0)
    second = first.write(0, 2.0)
    assert run([first.read(0), second.read(0), first.read(0)]) == [1.0, 2.0, 1.0]


def test_what_was_never_written_is_zeros() -> None:
    array = acts.TensorArray(acts.float32, size=3, element_shape=[2]).write(1, [1.0, 2.0])
    np.testing.assert_array_equal(run(array.stack()), [[0, 0], [1, 2], [0, 0]])


def test_places_beyond_the_end_are_refused_unless_the_size_is_dynamic() -> None:
    with pytest.raises(acts.errors.InvalidArgumentError, match="element 5"):
        run(acts.TensorArray(acts.float32, size=3).write(5, 1.0).stack())
    grown = acts.TensorArray(acts.float32, size=0, dynamic_size=True).write(3, 1.0)
    assert grown.dynamic_size
    found = run([grown.size(), grown.stack()])
    assert found[0] == 4
    np.testing.assert_array_equal(found[1], [0.0, 0.0, 0.0, 1.0])


def test_elements_share_dtype_and_shape() -> None:
    array = acts.TensorArray(acts.float32, size=3)
    with pytest.raises(TypeError, match="float32"):
        array.write(0, acts.constant(1))
    array.write(0, 1.0)
    assert array.element_shape.as_list() == []
    with pytest.raises(ValueError, match="inconsistent shapes"):
        array.write(1, [1.0, 2.0])
    loose = acts.TensorArray(acts.float32, size=2, infer_shape=False)
    array = loose.write(0, [1.0]).write(1, [2.0, 3.0])
    np.testing.assert_array_equal(run(array.concat()), [1.0, 2.0, 3.0])


# -- many ----------------------------------------------------------------------------------------


def test_unstack_and_gather_are_the_way_there_and_back() -> None:
    array = acts.TensorArray(acts.float32, size=3).unstack([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(run(array.gather([2, 0])), [3.0, 1.0])
    np.testing.assert_array_equal(run(array.stack()), [1, 2, 3])
    with pytest.raises(ValueError, match="rank 1 at least"):
        acts.TensorArray(acts.float32, size=3).unstack(1.0)


def test_unstack_takes_shapes_that_are_only_known_when_the_step_runs() -> None:
    x = acts.placeholder(acts.float32, [None, None])
    array = acts.TensorArray(acts.float32, size=acts.shape(x)[0]).unstack(x)
    found = run([array.read(1), array.size()], {x: [[1.0, 2.0], [3.0, 4.0]]})
    np.testing.assert_array_equal(found[0], [3.0, 4.0])
    assert found[1] == 2


def test_scatter_writes_at_places_and_split_cuts_lengths() -> None:
    array = acts.TensorArray(acts.float32, size=3).scatter([2, 0, 1], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(run(array.stack()), [2.0, 3.0, 1.0])
    parts = acts.TensorArray(acts.float32, size=3, infer_shape=False).split([1.0, 2.0, 3.0], [1, 0, 2])
    found = run([parts.read(0), parts.read(1), parts.read(2), parts.concat()])
    assert [list(part) for part in found] == [[1.0], [], [2.0, 3.0], [1.0, 2.0, 3.0]]


def test_an_array_of_constants_is_made_in_the_step_and_is_no_constant() -> None:
    array = acts.TensorArray(acts.float32, size=2).unstack([1.0, 2.0])
    metadata = acts.RunMetadata()
    with acts.Session() as session:
        options = acts.RunOptions(output_partition_graphs=True)
        session.run(array.stack(), options=options, run_metadata=metadata)
    ops = {node.op for graph in metadata.partition_graphs for node in graph.nodes}
    assert "TensorListFromTensor" in ops


# -- loops and branches --------------------------------------------------------------------------


def test_a_loop_carries_an_array() -> None:
    def turn(i: Any, array: acts.TensorArray) -> Any:
        return i + 1, array.write(i, acts.cast(i * i, acts.float32))

    first = acts.TensorArray(acts.float32, size=4)
    _, array = acts.while_loop(lambda i, _: i < 4, turn, [0, first])
    assert isinstance(array, acts.TensorArray)
    assert array.stack().shape.as_list() == [4]  # what the loop wrote, the array knows
    np.testing.assert_array_equal(run(array.stack()), [0.0, 1.0, 4.0, 9.0])


def test_a_branch_gives_an_array() -> None:
    p = acts.placeholder(acts.bool_, [])
    array = acts.TensorArray(acts.float32, size=2)
    chosen = acts.cond(p, lambda: array.write(0, 5.0), lambda: array.write(1, 6.0))
    assert list(run(chosen.stack(), {p: True})) == [5.0, 0.0]
    assert list(run(chosen.stack(), {p: False})) == [0.0, 6.0]


def test_shape_invariants_of_an_array_say_nothing() -> None:
    array = acts.TensorArray(acts.float32, size=3)
    _, found = acts.while_loop(
        lambda i, _: i < 3,
        lambda i, a: (i + 1, a.write(i, 1.0)),
        [acts.constant(0), array],
        shape_invariants=[acts.TensorShape([]), acts.TensorShape(None)],
    )
    assert list(run(found.stack())) == [1.0, 1.0, 1.0]


# -- gradients -----------------------------------------------------------------------------------


def test_gradients_go_through_arrays() -> None:
    x = acts.constant([1.0, 2.0, 3.0])
    array = acts.TensorArray(acts.float32, size=2).write(0, x[0]).write(1, x[1] * x[2])
    np.testing.assert_array_equal(run(acts.gradients(array.stack(), x))[0], [1.0, 3.0, 2.0])
    read = acts.TensorArray(acts.float32, size=3).unstack(x).read(1)
    np.testing.assert_array_equal(run(acts.gradients(read * read, x))[0], [0.0, 4.0, 0.0])


def test_gradients_go_through_arrays_in_loops() -> None:
    x = acts.constant([1.0, 2.0, 3.0])
    source = acts.TensorArray(acts.float32, size=3).unstack(x)
    _, made = acts.while_loop(
        lambda i, _: i < 3,
        lambda i, a: (i + 1, a.write(i, source.read(i) ** 2.0)),
        [0, acts.TensorArray(acts.float32, size=3)],
    )
    np.testing.assert_allclose(run(acts.gradients(made.stack(), x))[0], [2.0, 4.0, 6.0])


# -- the rest ------------------------------------------------------------------------------------


def test_what_it_is_made_of_can_be_asked() -> None:
    array = acts.TensorArray(acts.int32, size=2, name="mine")
    assert (array.dtype, array.flow.dtype.name, array.handle) == (acts.int32, "variant", None)
    assert array.flow.op.name == "mine"
    assert array.identity().flow is not array.flow
    assert run(array.size()) == 2
    assert run(array.close()) is None
    with pytest.raises(NotImplementedError, match="by themselves"):
        array.grad("mine")


@for_each(
    "arguments, error",
    [
        ({}, ValueError),
        ({"size": 1, "handle": 3}, TypeError),
        ({"flow": 3}, TypeError),
        ({"size": 1, "flow": 3}, ValueError),
    ],
    ids=["none", "handle", "flow", "both"],
)
def test_arrays_of_nothing_are_refused(arguments: Any, error: Any) -> None:
    with pytest.raises(error, match="TensorArray"):
        acts.TensorArray(acts.float32, **arguments)
