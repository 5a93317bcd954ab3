"""Variables in parts: how they are made, shared, read, changed and trained."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    Session,
    TensorShape,
    Variable,
    constant,
    convert_to_tensor,
    float32,
    get_variable,
    int32,
    ops,
    string,
)
from actorsession import variable_scope as scoped
from actorsession.errors import InvalidArgumentError
from actorsession.ops.variables.partitioned import PartitionInfo
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refused, refusing

WHOLE = np.arange(14, dtype=np.float32).reshape(7, 2)


def cut(name: str = "w", parts: int = 3, **arguments: Any) -> acts.variables.PartitionedVariable:
    given = {"initializer": constant(WHOLE), **arguments}
    made = get_variable(name, [7, 2], partitioner=acts.variables.fixed_size_partitioner(parts), **given)
    assert isinstance(made, acts.variables.PartitionedVariable)
    return made


def started(variable: acts.variables.PartitionedVariable) -> Variables:
    state = Variables()
    evaluate([ops.variables_initializer(list(variable))], None, state)
    return state


# -- how they are made -----------------------------------------------------------------------------


def test_parts_are_variables_named_after_the_whole() -> None:
    with scoped("p", partitioner=acts.variables.fixed_size_partitioner(3)):
        w = get_variable("w", [7, 2])
    assert (w.name, w.dtype, w.shape, w.get_shape(), len(w)) == ("p/w", float32, [7, 2], [7, 2], 3)
    assert [part.name for part in w] == ["p/w/part_0:0", "p/w/part_1:0", "p/w/part_2:0"]
    assert ops.trainable_variables() == list(w)
    assert repr(w) == "<PartitionedVariable 'p/w' shape=(7, 2) dtype=float32 in 3x1>"
    assert isinstance(get_variable("s", [], partitioner=acts.variables.fixed_size_partitioner(2)), Variable)


def test_the_first_parts_are_longer_where_the_extent_cannot_be_divided() -> None:
    assert [part.shape.as_list() for part in cut()] == [[3, 2], [2, 2], [2, 2]]
    wide = get_variable("v", [4, 5], partitioner=acts.variables.fixed_size_partitioner(2, axis=1))
    assert [part.shape.as_list() for part in wide] == [[4, 3], [4, 2]]


def test_each_part_says_where_it_lies_for_those_who_save_it() -> None:
    found = [part._get_save_slice_info() for part in cut()]
    assert [info.spec for info in found if info] == ["7 2 0,3:0,2", "7 2 3,2:0,2", "7 2 5,2:0,2"]
    assert {info.full_name for info in found if info} == {"w"}


def test_an_initial_value_is_cut_as_the_variable_is() -> None:
    w = cut()
    state = started(w)
    assert [v.tolist() for v in evaluate(list(w), None, state)] == [
        WHOLE[:3].tolist(),
        WHOLE[3:5].tolist(),
        WHOLE[5:].tolist(),
    ]
    assert [part.initial_value.op.name for part in w] == [f"w/part_{i}/PartitionedInitializer/Slice" for i in range(3)]


def test_plain_values_are_cut_too_and_bring_shape_and_dtype() -> None:
    w = get_variable("w", initializer=[1, 2, 3], partitioner=acts.variables.fixed_size_partitioner(2))
    assert (w.dtype, w.shape) == (int32, [3])
    assert [v.tolist() for v in evaluate(list(w), None, started(w))] == [[1, 2], [3]]


def test_initialisers_learn_which_part_they_are_asked_for() -> None:
    asked: list[tuple[list[int], PartitionInfo]] = []

    def initializer(shape: Any, dtype: Any, partition_info: PartitionInfo) -> Any:
        asked.append((shape, partition_info))
        return ops.zeros(shape, dtype)

    cut(initializer=initializer)
    assert [shape for shape, _ in asked] == [[3, 2], [2, 2], [2, 2]]
    assert [info.var_offset for _, info in asked] == [(0, 0), (3, 0), (5, 0)]
    assert {info.full_shape for _, info in asked} == {(7, 2)}
    assert [info.single_offset(shape) for shape, info in asked] == [0, 3, 5]
    assert {info.single_slice_dim(shape) for shape, info in asked} == {0}


def test_an_identity_matrix_stays_one_when_it_is_cut() -> None:
    half = acts.variables.fixed_size_partitioner(2)
    w = get_variable("w", [4, 3], initializer=ops.identity_initializer(), partitioner=half)
    assert evaluate([w.as_tensor()], None, started(w))[0].tolist() == np.eye(4, 3).tolist()


def test_random_parts_have_the_spread_of_the_whole() -> None:
    whole = ops.uniform_unit_scaling_initializer(seed=1)
    v = get_variable("v", [2, 300], initializer=whole, partitioner=acts.variables.fixed_size_partitioner(2))
    scaled = ops.variance_scaling_initializer(distribution="uniform", seed=1)
    w = get_variable("w", [200, 30], initializer=scaled, partitioner=acts.variables.fixed_size_partitioner(2))
    state = Variables()
    evaluate([ops.global_variables_initializer()], None, state)
    found = [np.abs(value).max() for value in evaluate([*v, *w], None, state)]
    limits = [np.sqrt(3 / 2)] * 2 + [np.sqrt(3 / 200)] * 2
    for largest, limit in zip(found, limits, strict=True):
        assert 0.95 * limit < largest <= limit


@for_each(
    "partitioner, match",
    [
        (5, "a partitioner is a function, got 5"),
        (lambda shape, dtype: 3, "list with a number per axis, got 3"),
        (lambda shape, dtype: [1], "one number per axis"),
        (lambda shape, dtype: [2, 2], "along one axis only"),
        (lambda shape, dtype: [0, 1], "zero parts for some axes"),
        (lambda shape, dtype: [10, 1], "more parts than positions"),
    ],
)
def test_an_answer_that_is_no_cut_is_refused_and_nothing_made(partitioner: Any, match: str) -> None:
    refused(lambda: get_variable("w", [4, 4], partitioner=partitioner), ValueError, match)
    assert ops.global_variables() == []


def part(value: float, whole: list[int], offset: int) -> Any:
    made = ops.Variable([value])
    made._set_save_slice_info(ops.Variable.SaveSliceInfo("w", whole, [offset], [1]))
    return made


def test_parts_are_ordered_by_where_they_begin() -> None:
    parts = [part(1.0, [2], 1), part(0.0, [2], 0)]
    assert list(acts.variables.PartitionedVariable("w", [2], float32, parts, [2])) == parts[::-1]


@for_each(
    "parts, shape, cuts, match",
    [
        ([], [2], [2], "may not be empty"),
        ([(0.0, [2], 0)], [2], [0], "must be positive"),
        ([(0.0, [2], 0), (1.0, [2], 1)], [3], [2], "full shapes must match"),
        ([None], [1], [1], "must have a save_slice_info"),
    ],
)
def test_parts_of_another_whole_are_refused(parts: Any, shape: list[int], cuts: list[int], match: str) -> None:
    made = [ops.Variable([0.0]) if each is None else part(*each) for each in parts]
    refused(lambda: acts.variables.PartitionedVariable("w", shape, float32, made, cuts), ValueError, match)


def test_a_list_of_tensors_is_assigned_part_by_part() -> None:
    w = acts.variables.PartitionedVariable("w", [2], float32, [part(0.0, [2], 0), part(1.0, [2], 1)], [2])
    with Session() as session:
        session.run(ops.global_variables_initializer())
        session.run(w.assign([ops.constant([5.0]), ops.constant([6.0])]))
        assert session.run(w.as_tensor()).tolist() == [5, 6]


# -- sharing ---------------------------------------------------------------------------------------


def test_parts_are_shared_together_or_one_by_one() -> None:
    w = cut()
    with scoped("", reuse=True):
        assert get_variable("w", [7, 2]) is w
        assert get_variable("w") is w
        assert get_variable("w", [7, 2], partitioner=acts.variables.fixed_size_partitioner(3)) is w
        assert get_variable("w/part_0") is next(iter(w))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"shape": [7, 3]}, r"found shape \(7, 2\)"),
        ({"shape": [7, 2], "dtype": int32}, "found dtype float32"),
        ({"shape": [7, 2], "partitioner": acts.variables.fixed_size_partitioner(2)}, r"cut as \[3, 1\]"),
    ],
)
def test_who_shares_asks_for_the_same_cut(arguments: dict[str, Any], match: str) -> None:
    cut()
    with scoped("", reuse=True), pytest.raises(ValueError, match=match):
        get_variable("w", **arguments)


def test_a_name_is_in_parts_or_in_one_piece() -> None:
    cut("parts")
    get_variable("piece", [7, 2])
    refused(lambda: get_variable("parts", [7, 2]), ValueError, "made in parts")
    refused(lambda: cut("piece"), ValueError, "made in one piece")
    refused(lambda: cut("parts"), ValueError, "already exists")
    with scoped("", reuse=True), pytest.raises(ValueError, match="new does not exist"):
        cut("new")


# -- reading and changing --------------------------------------------------------------------------


@for_each("parts, axis", [(3, 0), (1, 0), (2, 1)])
def test_the_whole_is_its_parts_joined(parts: int, axis: int) -> None:
    w = get_variable(
        "w", initializer=constant(WHOLE), partitioner=acts.variables.fixed_size_partitioner(parts, axis=axis)
    )
    state = started(w)
    whole, doubled = w.as_tensor(), constant(2.0) * convert_to_tensor(w)
    assert (whole.op.type, whole.name) == ("Identity", "w:0")
    np.testing.assert_array_equal(evaluate([whole], None, state)[0], WHOLE)
    np.testing.assert_array_equal(evaluate([doubled], None, state)[0], WHOLE * 2)


@pytest.mark.parametrize(
    ("method", "wanted"), [("assign", WHOLE + 1), ("assign_add", WHOLE * 2 + 1), ("assign_sub", WHOLE * 0 - 1)]
)
def test_updates_of_the_whole_are_updates_of_the_parts(method: str, wanted: Any) -> None:
    w = cut()
    state = started(w)
    updates = getattr(w, method)(WHOLE + 1)
    assert len(updates) == 3
    found = evaluate(updates, None, state)
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    operations = getattr(w, method)(WHOLE, read_value=False)
    assert {op.name.split("/")[-1][:6] for op in operations} == {"Assign"}


def test_one_whole_is_assigned_to_another_part_by_part() -> None:
    v, w = cut("v"), cut("w", initializer=ops.zeros_initializer())
    state = started(v)
    evaluate(w.assign(v), None, state)
    np.testing.assert_array_equal(evaluate([w.as_tensor()], None, state)[0], WHOLE)
    refused(lambda: w.assign(cut("x", parts=2)), ValueError, "is not cut as")


def test_a_value_that_turns_out_to_have_another_shape_is_not_assigned() -> None:
    w, given = cut(), source(float32)
    state = started(w)
    with pytest.raises(InvalidArgumentError, match="do not make up axis 0"):
        evaluate(w.assign(given), {given: np.zeros((8, 2), np.float32)}, state)


def test_gradients_reach_the_parts() -> None:
    w = cut()
    loss = ops.reduce_sum(ops.square(w))
    found = evaluate(list(ops.gradients(loss, list(w))), None, started(w))
    np.testing.assert_array_equal(np.concatenate(found), WHOLE * 2)


def test_each_part_has_a_loss_of_its_own() -> None:
    cut(regularizer=ops.reduce_sum)
    losses = ops.get_variable_scope().get_collection(ops.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.op.name for loss in losses] == [f"w/part_{i}/Regularizer/Sum" for i in range(3)]


def test_a_part_may_be_a_stretch_of_any_axis() -> None:
    assert PartitionInfo((4, 4), (0, 2)).single_slice_dim([4, 2]) == 1
    assert PartitionInfo((4,), (0,)).single_slice_dim([4]) is None


def _fetched() -> None:
    with Session() as session:
        session.run(cut())


HALF: Any = acts.variables.fixed_size_partitioner(2)
NO_PARTS: Any = "parts"
test_what_is_no_whole_or_no_part_is_refused = refusing(
    (lambda: get_variable("w", [None, 4], partitioner=HALF), ValueError, r"fully defined, got \(None, 4\)"),
    (
        lambda: acts.variables.PartitionedVariable("w", [2], float32, NO_PARTS, [1]),
        TypeError,
        "variable_list is a list or tuple",
    ),
    (
        lambda: acts.variables.PartitionedVariable("w", [2], float32, [], cast("Any", 1)),
        TypeError,
        "partitions is a list or tuple",
    ),
    (lambda: acts.variables.PartitionedVariable("w", [2], float32, [], [2]), ValueError, "may not be empty"),
    (
        lambda: acts.variables.PartitionedVariable("w", [2, 2], float32, [part(0.0, [2], 0)], [1]),
        ValueError,
        r"cannot be cut as \[1\]",
    ),
    (lambda: cut().assign(ops.zeros([8, 2])), ValueError, "8 positions on axis 0"),
    (lambda: cut().assign(ops.zeros([7, 3])), ValueError, r"has shape \(3, 2\)"),
    (_fetched, TypeError, "PartitionedVariable"),
    *[
        (lambda shape=shape: PartitionInfo((4, 4), (0, 2)).single_slice_dim(shape), ValueError, "a part of shape")
        for shape in ([2, 2], [4, 3], [4])
    ],
)


# -- into how many parts variables are cut ---------------------------------------------------------


@for_each(
    "partitioner, shape, dtype, wanted",
    [
        (acts.variables.fixed_size_partitioner(3), [7, 2], float32, [3, 1]),
        (acts.variables.fixed_size_partitioner(9), [4, 5], float32, [4, 1]),
        (acts.variables.fixed_size_partitioner(2, axis=1), [4, 5], float32, [1, 2]),
        (acts.variables.variable_axis_size_partitioner(16), [4, 5], float32, [4, 1]),
        (acts.variables.variable_axis_size_partitioner(16, axis=1), [4, 5], float32, [1, 5]),
        (acts.variables.variable_axis_size_partitioner(1000, max_shards=3), [400, 5], float32, [3, 1]),
        (acts.variables.variable_axis_size_partitioner(64), [4, 5], string, [4, 1]),
        (acts.variables.variable_axis_size_partitioner(1 << 20), [4, 5], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(4, min_slice_size=16), [4, 5], float32, [4, 1]),
        (acts.variables.min_max_variable_partitioner(4), [4, 5], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(100, min_slice_size=16), [8, 5], float32, [8, 1]),
        (acts.variables.min_max_variable_partitioner(8, axis=1, min_slice_size=16), [8, 5], float32, [1, 5]),
        (acts.variables.fixed_size_partitioner(2), [0, 4], float32, [1, 1]),
        (acts.variables.variable_axis_size_partitioner(16), [0, 4], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(2), [0, 4], float32, [1, 1]),
    ],
)
def test_the_number_of_parts(partitioner: Any, shape: Any, dtype: Any, wanted: list[int]) -> None:
    assert partitioner(shape=TensorShape(shape), dtype=dtype) == wanted


ALL: list[Any] = [
    acts.variables.fixed_size_partitioner,
    acts.variables.variable_axis_size_partitioner,
    acts.variables.min_max_variable_partitioner,
]
NO_AXIS, OPEN, FEW = r"shape \[4, 5\] has no axis", "not fully defined", "is at least 1, got 0"
test_axes_shapes_and_sizes_that_cannot_be_are_refused = refusing(
    *[(lambda make=make: make(16, axis=7)(TensorShape([4, 5]), float32), ValueError, NO_AXIS) for make in ALL],
    *[(lambda make=make: make(16)(TensorShape([4, None]), float32), ValueError, OPEN) for make in ALL],
    (lambda: acts.variables.variable_axis_size_partitioner(0), ValueError, FEW),
    (lambda: acts.variables.variable_axis_size_partitioner(3, bytes_per_string_element=0), ValueError, FEW),
    (lambda: acts.variables.variable_axis_size_partitioner(3, max_shards=0), ValueError, FEW),
    (lambda: acts.variables.min_max_variable_partitioner(0), ValueError, FEW),
    (lambda: acts.variables.min_max_variable_partitioner(3, min_slice_size=0), ValueError, FEW),
)
