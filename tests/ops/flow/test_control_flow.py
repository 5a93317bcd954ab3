"""``cond`` and ``while_loop`` as users call them: structures, errors, side effects, what can be reached."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops, opsets
from actorsession.config import ConfigProto
from actorsession.errors import InaccessibleTensorError, InvalidArgumentError
from tests.nodes import make_one
from tests.ops.cases import run_initialised as run
from tests.rows import for_each, refused
from tests.session.inner import direct_session

Point = collections.namedtuple("Point", "x y")


def count_to(n: int, **options: Any) -> Any:
    return ops.while_loop(lambda i: i < n, lambda i: i + 1, [0], **options)


def true() -> Any:
    return ops.constant(1) < 2


# -- results ---------------------------------------------------------------------------------------


def test_a_loop_runs_until_its_condition_is_false() -> None:
    result = count_to(10)
    assert (result.name, run(result)) == ("while/Exit:0", 10)
    assert type(run(result)) is np.int32


def test_results_have_the_structure_of_the_loop_variables() -> None:
    def body(p: Any, q: Any) -> Any:
        return [Point(p.x + 1, {"b": p.y["b"], "a": p.y["a"] * 2}), q]

    first = (Point(0, {"b": 5, "a": 1}), [2.0])
    found = run(ops.while_loop(lambda p, q: p.x < 3, body, first))
    assert found == (Point(3, {"b": 5, "a": 8}), [2.0])
    assert list(found[0].y) == ["b", "a"]
    assert type(run(ops.while_loop(lambda x, y: x < 3, lambda x, y: (x + 1, y), Point(0, 1)))) is Point


def test_a_single_variable_comes_without_its_list_unless_asked_for() -> None:
    assert (run(count_to(3)), run(count_to(3, return_same_structure=True))) == (3, [3])
    assert run(ops.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])) == 3
    assert run(ops.while_loop(lambda d: d["a"] < 3, lambda d: [{"a": d["a"] + 1}], [{"a": 0}])) == {"a": 3}


def test_a_list_of_several_variables_stays_in_its_list() -> None:
    """TensorFlow counts values, and not what they stand in."""
    found = run(ops.while_loop(lambda p: p[0] < 3, lambda p: [[p[0] + 1, p[1]]], [[0, 5]]))
    assert (found, run(ops.while_loop(lambda e, i: i < 3, lambda e, i: (e, i + 1), [{}, 0]))) == ([[3, 5]], [{}, 3])


def test_slices_can_be_carried_by_a_loop() -> None:
    slices = ops.IndexedSlices(ops.constant([[1.0]]), ops.constant([3]))
    _, result = ops.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, ops.IndexedSlices(s.values * 3.0, s.indices)), [0, slices]
    )
    found = run(result)
    assert (found.values.tolist(), found.indices.tolist()) == ([[9.0]], [3])


def test_maximum_iterations_ends_a_loop_whatever_its_condition_says() -> None:
    limit = ops.placeholder("int64", [])
    assert (run(count_to(100, maximum_iterations=7)), run(count_to(100, maximum_iterations=-1))) == (7, 0)
    assert run(count_to(5, maximum_iterations=7)) == 5
    endless = ops.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=limit)
    assert run(endless, {limit: 4}) == 4


def test_a_loop_variable_may_change_its_shape_where_an_invariant_allows_it() -> None:
    result = ops.while_loop(
        lambda a: ops.shape(a)[0] < 5,
        lambda a: ops.concat([a, a], 0),
        [ops.constant([1, 2])],
        shape_invariants=[acts.TensorShape([None])],
    )
    assert (result.shape.as_list(), run(result).tolist()) == ([None], [1, 2] * 4)


def test_cond_gives_the_results_of_one_function_in_their_structure() -> None:
    x = ops.placeholder("float32", [])

    def branch(factor: float) -> Callable[[], Any]:
        return lambda: {"z": x * factor, "a": (x, [x + factor])}

    result = ops.cond(x > 1, branch(2.0), branch(0.5))
    assert result["z"].name == "cond/Merge_2:0", "sorted by key"
    assert (run(result, {x: 3}), run(result, {x: 1})) == ({"z": 6, "a": (3, [5])}, {"z": 0.5, "a": (1, [1.5])})


def test_an_operation_in_a_branch_stands_for_true_once_it_has_run() -> None:
    v = ops.Variable(0)
    done = ops.cond(true(), lambda: ops.group(v.assign_add(5)), ops.no_op)
    with acts.Session() as session:
        session.run(v.initializer)
        assert session.run(done) is np.True_
        assert session.run(v) == 5


def test_shapes_of_branches_are_merged() -> None:
    result = ops.cond(true(), lambda: ops.constant([[1]]), lambda: ops.constant([[1, 2]]))
    assert result.shape.as_list() == [1, None]
    assert ops.cond(true(), lambda: ops.constant(1), lambda: ops.constant([1])).shape.rank is None


def test_a_constant_predicate_builds_a_branch_like_any_other() -> None:
    assert run(ops.cond(ops.constant(False), lambda: 1, lambda: 2)) == 2
    assert run(ops.cond(np.bool_(True), lambda: 1, lambda: 2)) == 1


def test_loops_and_branches_nest_and_read_what_is_outside() -> None:
    x = ops.placeholder("int32", [])

    def turn(i: Any, total: Any) -> Any:
        _, total = ops.while_loop(
            lambda j, t: j < i,
            lambda j, t: (j + 1, ops.cond(ops.equal(j, 1), lambda: t + x, lambda: t + i)),
            [0, total],
        )
        return i + 1, total

    _, result = ops.while_loop(lambda i, t: i < 5, turn, [0, 0])
    expected = sum(100 if j == 1 else i for i in range(5) for j in range(i))
    assert run(result, {x: 100}) == expected


# -- what is refused -------------------------------------------------------------------------------


def keep(*values: Any) -> Any:
    return values


def vector() -> Any:
    return ops.constant([1, 2])


def handle() -> Any:
    return ops.Variable(1).handle


# What is no function at all, for arguments that the type checker knows to be one.
no_function: Any = 1

WRONG_LOOPS: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("'cond' must be callable", TypeError, lambda: ops.while_loop(no_function, keep, [0])),
    ("'body' must be callable", TypeError, lambda: ops.while_loop(keep, no_function, [0])),
    ("must be provided", ValueError, lambda: ops.while_loop(lambda: True, list, [])),
    ("got int", TypeError, lambda: ops.while_loop(keep, keep, 0)),
    ("got dict", TypeError, lambda: ops.while_loop(keep, keep, {"a": 0})),
    ("2 and 1", ValueError, lambda: ops.while_loop(lambda *_: True, lambda a, b: [a], [0, 1])),
    ("structures", ValueError, lambda: ops.while_loop(lambda *_: True, lambda a, b: (a, 1), [0, [1]])),
    ("keys", ValueError, lambda: ops.while_loop(lambda d: True, lambda d: [{"b": 1}], [{"a": 1}])),
    ("None", ValueError, lambda: ops.while_loop(lambda i: True, lambda i: None, [0])),
    ("float32 after", TypeError, lambda: ops.while_loop(lambda i: True, lambda i: 1.5, [0])),
    ("bool scalar, got int32", TypeError, lambda: ops.while_loop(lambda i: i, lambda i: i, [0])),
    ("got None", ValueError, lambda: ops.while_loop(lambda i: None, lambda i: i, [0])),
    ("of shape", ValueError, lambda: ops.while_loop(lambda i: [True], lambda i: i, [0])),
    (
        "shape_invariants",
        ValueError,
        lambda: ops.while_loop(lambda a: True, lambda a: ops.concat([a, a], 0), [vector()]),
    ),
    ("does not allow", ValueError, lambda: ops.while_loop(lambda a: True, keep, [vector()], [acts.TensorShape([3])])),
    ("numbers", ValueError, lambda: ops.while_loop(lambda a: True, keep, [vector()], [acts.TensorShape([2])] * 2)),
    ("types", TypeError, lambda: ops.while_loop(lambda a: True, keep, [vector()], (acts.TensorShape([2]),))),
    ("got 3", TypeError, lambda: ops.while_loop(lambda a: True, keep, [vector()], [3])),
    ("got 'x'", TypeError, lambda: ops.while_loop(lambda a: True, keep, [vector()], ["x"])),
    ("integer scalar", TypeError, lambda: count_to(3, maximum_iterations=ops.constant(1.5))),
    ("maximum_iterations is an integer", TypeError, lambda: count_to(3, maximum_iterations=5.0)),
    ("maximum_iterations is an integer", TypeError, lambda: count_to(3, maximum_iterations="5")),
    ("maximum_iterations is an integer", TypeError, lambda: count_to(3, maximum_iterations=True)),
    ("is a scalar", ValueError, lambda: count_to(3, maximum_iterations=[1])),
    ("resource", TypeError, lambda: ops.while_loop(lambda v: True, keep, [handle()])),
]

WRONG_BRANCHES: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("'true_fn' must be callable", TypeError, lambda: ops.cond(true(), no_function, vector)),
    ("'false_fn' must be callable", TypeError, lambda: ops.cond(true(), vector, no_function)),
    ("Python bool", TypeError, lambda: ops.cond(True, vector, vector)),
    ("bool scalar, got int32", TypeError, lambda: ops.cond(1, vector, vector)),
    ("bool scalar, got None", ValueError, lambda: ops.cond(None, vector, vector)),
    ("of shape", ValueError, lambda: ops.cond(ops.constant([True]), vector, vector)),
    ("at least one value", ValueError, lambda: ops.cond(true(), lambda: None, lambda: None)),
    ("at least one value", ValueError, lambda: ops.cond(true(), list, list)),
    ("None", ValueError, lambda: ops.cond(true(), lambda: [None, 1], lambda: [None, 1])),
    ("structures", ValueError, lambda: ops.cond(true(), lambda: 1, lambda: (1, 2))),
    ("types", TypeError, lambda: ops.cond(true(), lambda: [1, 2], lambda: (1, 2))),
    ("keys", ValueError, lambda: ops.cond(true(), lambda: {"a": 1}, lambda: {"b": 1})),
    ("same type", ValueError, lambda: ops.cond(true(), lambda: 1, lambda: 1.0)),
    ("same type", TypeError, lambda: ops.case([(true(), lambda: 1)], lambda: 1.0)),
    ("resource", TypeError, lambda: ops.cond(true(), handle, handle)),
]


@for_each("message, kind, build", WRONG_LOOPS + WRONG_BRANCHES)
def test_what_makes_no_loop_or_branch_is_refused_and_leaves_no_node(
    message: str, kind: type[Exception], build: Callable[[], Any], graph: acts.Graph
) -> None:
    refused(lambda: build(), kind, message)
    types = {op.type for op in graph.get_operations()}
    assert not types & {"While", "If"}


def test_what_a_body_that_failed_has_built_is_forgotten(graph: acts.Graph) -> None:
    def body(i: Any) -> Any:
        ops.add(i, 1, name="half")
        raise RuntimeError("the user's own")

    refused(lambda: ops.while_loop(lambda i: i < 3, body, [0]), RuntimeError, "own")
    refused(lambda: graph.get_operation_by_name("while/half"), KeyError, "while/half")
    assert run(count_to(2)) == 2, "building goes on outside"


def test_a_predicate_that_is_no_scalar_when_it_runs_is_refused() -> None:
    p = ops.placeholder("bool")
    loop = ops.while_loop(lambda i: p, lambda i: i + 1, [0])
    branch = ops.cond(p, lambda: 1, lambda: 2)
    assert run([loop, branch], {p: False}) == [0, 2]
    for fetch, name in ((loop, "while"), (branch, "cond")):
        with pytest.raises(InvalidArgumentError, match="must be a scalar, but it has shape") as info:
            run(fetch, {p: [False]})
        assert info.value.node == name


@for_each(
    "most, around",
    [
        (16, lambda inner: ops.while_loop(lambda i, t: i < 1, lambda i, t: (i + 1, inner()), [0, 0])[1]),
        (64, lambda inner: ops.cond(true(), inner, lambda: 0)),
    ],
)
def test_more_loops_or_branches_inside_each_other_than_python_compiles_are_refused(most: int, around: Any) -> None:
    def nested(depth: int) -> Any:
        return around(lambda: nested(depth - 1)) if depth else ops.constant(1)

    assert run(nested(most)) == 1
    refused(lambda: nested(most + 1), ValueError, "at most 16 and 64")


# -- what can be reached ---------------------------------------------------------------------------


def leaked() -> tuple[Any, Any]:
    """A loop and a tensor that lives in its body."""
    inside: list[Any] = []

    def body(i: Any) -> Any:
        inside.append(i + 3)
        return i + 1

    return ops.while_loop(lambda i: i < 3, body, [0]), inside[0]


@pytest.mark.parametrize("as_name", [False, True])
def test_what_is_inside_a_body_cannot_be_fetched_or_fed(as_name: bool) -> None:
    loop, inside = leaked()
    name = inside.name if as_name else inside
    refused(lambda: run(name), InaccessibleTensorError, r"inside 'while'.*return its value")
    refused(lambda: run(loop, {name: 1}), InaccessibleTensorError, "inside 'while'")
    refused(lambda: run(inside.op), InaccessibleTensorError, "inside 'while'")


def test_what_is_inside_a_body_cannot_be_read_outside() -> None:
    _, inside = leaked()
    refused(lambda: ops.negative(inside), InaccessibleTensorError, r"'while/add'.* inside 'while'")
    with pytest.raises(InaccessibleTensorError), acts.control_dependencies([inside]):
        ops.constant(1)
    refused(lambda: ops.cond(true(), lambda: inside, lambda: 1), InaccessibleTensorError)


def test_operations_in_bodies_are_none_of_the_graph_but_keep_their_names(graph: acts.Graph) -> None:
    _, inside = leaked()
    assert inside.op not in graph.get_operations()
    assert graph.get_tensor_by_name("while/add:0") is inside
    assert count_to(3).name == "while_1/Exit:0"


def test_a_placeholder_in_a_body_that_is_needed_is_an_error() -> None:
    loop = ops.while_loop(lambda i: i < 3, lambda i: i + ops.placeholder("int32", [], "p"), [0])
    refused(lambda: run(loop), InvalidArgumentError, r"must feed a value for placeholder.*while/p")


# -- state and order -------------------------------------------------------------------------------


def test_side_effects_in_a_body_happen_once_per_iteration_in_their_order() -> None:
    v = ops.Variable([1.0, 1.0])

    def body(i: Any) -> Any:
        with acts.control_dependencies([v.assign_add([1.0, 2.0])]):
            doubled = v.assign(v.read_value() * 2.0)
        with acts.control_dependencies([doubled]):
            return i + 1

    loop = ops.while_loop(lambda i: i < 3, body, [0])
    with acts.Session() as session:
        session.run(v.initializer)
        session.run(loop)
        assert session.run(v).tolist() == [22, 36]


def test_what_no_result_needs_does_not_run() -> None:
    v = ops.Variable(0)

    def body(i: Any, j: Any) -> Any:
        v.assign_add(1000)
        return i + 1, v.assign_add(1)

    one, two = ops.while_loop(lambda i, j: i < 3, body, [0, 0])
    with acts.Session() as session:
        session.run(v.initializer)
        assert (session.run(one), session.run(v), session.run(two), session.run(v)) == (3, 0, 3, 3)
        session.run("while")
        assert session.run(v) == 6, "the loop itself was asked for"


def test_a_loop_that_others_wait_for_runs_whole() -> None:
    v = ops.Variable(0)
    one, _ = ops.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, v.assign_add(1)), [0, 0])
    with acts.control_dependencies([one.op.inputs[0].op]):
        after = ops.identity(one)
    with acts.Session() as session:
        session.run(v.initializer)
        assert (session.run([one, after]), session.run(v)) == ([3, 3], 3)


def test_only_the_branch_taken_runs_and_what_was_built_outside_always() -> None:
    v, w = ops.Variable(0), ops.Variable(0)
    p = ops.placeholder("bool", [])
    outside = w.assign_add(1)
    result = ops.cond(p, lambda: v.assign_add(1), lambda: outside + v.assign_sub(10))
    with acts.Session() as session:
        session.run(ops.global_variables_initializer())
        session.run(result, {p: True})
        assert session.run([v, w]) == [1, 1]
        session.run(result, {p: False})
        assert session.run([v, w]) == [-9, 2]


def test_the_branch_not_taken_cannot_fail() -> None:
    x = ops.placeholder("int32", [])
    result = ops.cond(ops.equal(x, 0), lambda: 0, lambda: 10 // x)
    assert (run(result, {x: 0}), run(result, {x: 3})) == (0, 3)


def test_control_dependencies_around_and_inside_reach_the_construct() -> None:
    v = ops.Variable(0)
    with acts.control_dependencies([v.assign_add(5)]):
        around = ops.while_loop(lambda i: i < 5, lambda i: i + v.read_value(), [0])
    outside = v.assign_add(7)

    def branch() -> Any:
        with acts.control_dependencies([outside]):
            return v.read_value()

    inside = ops.cond(true(), branch, lambda: 0)
    with acts.Session() as session:
        session.run(v.initializer)
        assert (session.run(around), session.run(inside)) == (5, 12)
    assert outside.op in inside.op.inputs[0].op.control_inputs


def test_a_variable_made_in_a_body_is_made_outside() -> None:
    loop = ops.while_loop(lambda i: i < 5, lambda i: i + ops.Variable(2, name="step"), [0])
    assert ([v.name for v in ops.global_variables()], run(loop)) == (["while/step:0"], 6)


def test_gradients_and_optimisers_work_inside_a_body() -> None:
    v = ops.Variable(0.0)
    x = ops.placeholder("float32", [])

    def body(i: Any, w: Any) -> Any:
        step = acts.train.GradientDescentOptimizer(0.25).minimize((v - x) * (v - x))
        with acts.control_dependencies([step]):
            return i + 1, w - 0.25 * ops.gradients((w - x) * (w - x), w)[0]

    loop = ops.while_loop(lambda i, w: i < 40, body, [0, 0.0])
    with acts.Session() as session:
        session.run(v.initializer)
        assert (session.run(loop, {x: 3.0}), session.run(v)) == ([40, 3], 3)


def test_random_numbers_are_drawn_anew_in_each_iteration(graph: acts.Graph) -> None:
    graph.seed = 5

    def drawn() -> Any:
        return ops.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, ops.concat([y, [ops.random_uniform([]), ops.random_uniform([])]], 0)),
            [0, ops.zeros([0])],
            shape_invariants=[acts.TensorShape([]), acts.TensorShape([None])],
        )[1]

    first, second = run([drawn(), drawn()])
    assert len({*first.tolist(), *second.tolist()}) == 12


# -- devices ---------------------------------------------------------------------------------------


def placed(name: str, soft: bool = False) -> str:
    config = ConfigProto(device_count={"CPU": 2}, allow_soft_placement=soft)
    with acts.Session(config=config) as session:
        device: str = direct_session(session).placement()[name].device
        return device[-5:]


def test_a_loop_runs_where_it_or_its_body_asks() -> None:
    def body(i: Any) -> Any:
        with acts.device("/cpu:1"):
            return i + 1

    with acts.device("/cpu:1"):
        asked = count_to(3, name="asked")
    inside = ops.while_loop(lambda i: i < 3, body, [0], name="inside")
    assert [placed("asked"), placed("inside")] == ["CPU:1", "CPU:1"]
    assert run([asked, inside, asked + inside], devices=2) == [3, 3, 6]


def test_a_loop_goes_where_the_variables_are_that_it_reads() -> None:
    with acts.device("/cpu:1"):
        v = ops.Variable(2)
    with acts.device("/cpu:0"):
        loop = ops.while_loop(lambda i: i < 3, lambda i: i + v, [0])
    assert (placed("while"), run([loop, loop + 1], devices=2)) == ("CPU:1", [4, 5])


def test_a_loop_goes_where_its_body_is_tied_to() -> None:
    """To a reading that asks for no device itself, and is where its variable is."""
    with acts.device("/cpu:1"):
        v = ops.Variable(2)
    reading = make_one("ReadVariableOp", [v.handle], {"dtype": v.dtype})

    def body(i: Any) -> Any:
        with acts.colocate_with(reading):
            return i + 2

    loop = ops.while_loop(lambda i: i < 3, body, [0])
    assert (placed("while"), run(loop, devices=2)) == ("CPU:1", 4)


@pytest.mark.parametrize("before", [False, True])
def test_a_loop_may_be_over_variables_of_two_devices(before: bool) -> None:
    with acts.device("/cpu:0"):
        v = ops.Variable(1, name="v")
    with acts.device("/cpu:1"):
        w = ops.Variable(1, name="w")
    config = ConfigProto(device_count={"CPU": 2}, allow_soft_placement=False)
    with acts.Session(config=config) as session:
        if before:
            session.run(ops.global_variables_initializer())
        loop = ops.while_loop(lambda i: i < 3, lambda i: i + v + w, [0])
        if not before:
            session.run(ops.global_variables_initializer())
        assert session.run(loop) == 4


def test_a_node_of_a_body_may_ask_to_be_elsewhere() -> None:
    def body(i: Any) -> Any:
        one = ops.constant(1)
        with acts.device("/cpu:1"):
            return ops.add(i, one, name="far")

    with acts.device("/cpu:0"):
        loop = ops.while_loop(lambda i: i < 3, body, [0])
    assert (placed("while/far"), run(loop, devices=2)) == ("CPU:1", 3)


def test_slices_of_a_tensor_are_a_control_input_by_their_values() -> None:
    table = ops.Variable([[1.0], [2.0]])
    slices = acts.gradients(ops.gather(table, [1]), [table])[0]
    with acts.control_dependencies([slices]):
        after = ops.no_op()
    assert after.control_inputs == (slices.values.op,)


# -- sparse tensors as variables of loops and results of branches ----------------------------------


def diagonal(*values: float) -> Any:
    """A square matrix of which only the diagonal is there."""
    n = len(values)
    return opsets.SparseTensor([[i, i] for i in range(n)], list(values), [n, n])


def entries(value: Any) -> dict[Any, float]:
    """The entries of a fetched sparse tensor by their coordinates."""
    places = [tuple(place) for place in value.indices.tolist()]
    return dict(zip(places, value.values.tolist(), strict=True))


def test_a_loop_carries_a_sparse_tensor() -> None:
    count, found = ops.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, opsets.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
        (0, diagonal(1.0, 2.0)),
    )
    assert isinstance(found, opsets.SparseTensor)
    assert found.shape.rank == 2
    last, value = run([count, found])
    assert (last, entries(value), value.dense_shape.tolist()) == (3, {(0, 0): 8.0, (1, 1): 16.0}, [2, 2])


def test_it_may_gain_entries_in_a_loop_without_an_invariant() -> None:
    def grow(i: Any, s: Any) -> Any:
        place = ops.cast(ops.reshape(ops.stack([i, 0]), [1, 2]), "int64")
        indices = ops.concat([s.indices, place], 0)
        values = ops.concat([s.values, [ops.cast(i, "float32")]], 0)
        return i + 1, opsets.SparseTensor(indices, values, s.dense_shape)

    for said in (None, (acts.TensorShape([]), acts.TensorShape([None, None]))):
        start = opsets.SparseTensor([[0, 1]], [5.0], [9, 2])
        _, found = ops.while_loop(lambda i, s: i < 3, grow, (1, start), shape_invariants=said)
        assert entries(run(found)) == {(0, 1): 5.0, (1, 0): 1.0, (2, 0): 2.0}


def test_a_branch_gives_a_sparse_tensor() -> None:
    which = ops.placeholder("bool", [])
    found = ops.cond(
        which, lambda: {"s": diagonal(1.0, 2.0)}, lambda: {"s": opsets.SparseTensor([[0, 1]], [7.0], [2, 2])}
    )["s"]
    assert entries(run(found, {which: True})) == {(0, 0): 1.0, (1, 1): 2.0}
    assert entries(run(found, {which: False})) == {(0, 1): 7.0}


def test_gradients_go_through_its_entries() -> None:
    x = ops.constant([1.0, 2.0])
    start = opsets.SparseTensor([[0, 0], [1, 1]], x, [2, 2])
    _, found = ops.while_loop(
        lambda i, s: i < 2,
        lambda i, s: (i + 1, opsets.SparseTensor(s.indices, s.values * x, s.dense_shape)),
        (0, start),
    )
    assert run(ops.gradients(found.values, x)[0]).tolist() == [3.0, 12.0]  # of x ** 3


def test_it_is_no_dense_tensor() -> None:
    with pytest.raises(ValueError, match="different structures"):
        ops.cond(ops.constant(True), lambda: diagonal(1.0), lambda: ops.constant([[1.0]]))
    with pytest.raises(TypeError, match=r"map_fn: elems must be tensors, got <SparseTensor"):
        ops.map_fn(lambda row: row, diagonal(1.0, 2.0))
    with pytest.raises(TypeError, match=r"foldl: elems must be tensors"):
        ops.foldl(lambda a, row: a, [{"a": diagonal(1.0, 2.0)}], initializer=0.0)
