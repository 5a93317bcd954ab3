"""Maps, folds, cases, groups, calls of functions, raw loops: what they give, and what they refuse, as rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError, UnimplementedError
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.registry import lookup
from actorsession.ops.flow import dataflow
from actorsession.ops.flow.control import with_dependencies
from actorsession.ops.flow.functional import For, Gradient, If, While, remote_call, symbolic_gradient
from actorsession.plan.codegen.node_context import NodeContext
from tests.cluster.kit import in_process, soon
from tests.ops.uses import Use, dims, each_use, equals
from tests.rows import for_each, refused


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session(graph=acts.get_default_graph(), config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        return session.run(fetches, feeds)


def plain(value: Any) -> Any:
    """Arrays as lists, in the structure in which they are."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


def ran(build: Callable[[], Any], expected: Any) -> Use:
    """What a session gives for what is built, which may come with feeds."""

    def ask() -> Any:
        built = build()
        return plain(run(*built) if isinstance(built, tuple) and isinstance(built[-1], dict) else run(built))

    return equals(ask, expected)


def fed(build: Callable[[Any], Any], *values: Any, dtype: Any = "int32", expected: Any) -> Use:
    """What is built of a placeholder gives, for these values."""

    def ask() -> Any:
        x = acts.placeholder(dtype, [])
        found = build(x)
        with acts.Session(graph=x.graph) as session:
            return [plain(session.run(found, {x: value})) for value in values]

    return equals(ask, expected)


def fails(build: Callable[[Any], Any], value: Any, words: str) -> Use:
    """What is built of a placeholder of a whole number runs into an error."""

    def check() -> None:
        x = acts.placeholder("int32", [])
        found = build(x)
        refused(lambda: run(found, {x: value}), InvalidArgumentError, words)

    return Use("failures of the step", f"fails: {words}", check)


# -- maps, folds and scans -------------------------------------------------------------------------

ITEMS = [1, 2, 3]
BOTH = (acts.int32, acts.float32)
ROWS = [[1.0, 2.0], [3.0, 4.0]]


def items() -> Any:
    return acts.constant(ITEMS)


def _halves(x: Any) -> Any:
    return -x, acts.cast(x, acts.float32) / 2.0


def _nested(x: Any) -> Any:
    return {"a": x["a"] + 1, "b": x["b"]}


def _elems() -> Any:
    return {"a": items(), "b": [acts.constant([[1], [2], [3]])]}


def _some(count: int) -> Any:
    """A map over as many items as are fed."""
    x = acts.placeholder(acts.float32, [None, 2])
    found = acts.map_fn(lambda row: row * 2.0, x)
    assert found.shape.as_list() == [None, 2]
    return found, {x: np.ones((count, 2))}


def _in_a_branch() -> Any:
    x = acts.constant(ROWS)
    inner = acts.map_fn(lambda row: acts.map_fn(lambda v: v + 1.0, row), x)
    return [inner, acts.cond(acts.placeholder_with_default(True, []), lambda: acts.map_fn(lambda r: -r, x), lambda: x)]


def _backwards(name: str, function: Any) -> Any:
    x, w = acts.constant([1.0, 2.0, 3.0]), acts.constant(2.0)
    return list(acts.gradients(getattr(acts.flow, name)(lambda *v: function(*v) * w, x), [x, w]))


def _twice() -> Any:
    x = acts.constant([1.0, 2.0])
    return acts.gradients(acts.gradients(acts.map_fn(lambda v: v**3.0, x), x), x)[0]


def _stopped(name: str) -> Any:
    x = acts.constant([1.0, 2.0])
    function = (lambda v: v * v) if name == "map_fn" else (lambda a, v: a * v)
    return acts.gradients(getattr(acts.flow, name)(function, x, back_prop=False), x)


def _known(name: str, function: Any) -> Any:
    of, x = getattr(acts.flow, name), acts.ones([3, 2])
    return dims(of(function, x), of(function, x, infer_shape=False))


def _each(name: str, *given: Any) -> Any:
    return lambda: getattr(acts.flow, name)(*given[:1], *[make() for make in given[1:]])


def _folded(name: str, first: int | None) -> Any:
    return getattr(acts.flow, name)(_tens, items(), first)


def _scanned(first: int | None, reverse: bool) -> Any:
    return acts.flow.scan(operator.add, items(), initializer=first, reverse=reverse)


def _tens(total: Any, digit: Any) -> Any:
    return total * 10 + digit


MAPPED: list[Any] = [
    ran(lambda: acts.map_fn(_halves, items(), fn_output_signature=BOTH), ([-1, -2, -3], [0.5, 1.0, 1.5])),
    ran(lambda: acts.map_fn(lambda x: x["b"][0] * x["a"], _elems(), fn_output_signature=acts.int32), [[1], [4], [9]]),
    ran(lambda: acts.map_fn(_nested, _elems())["a"], [2, 3, 4]),
    ran(lambda: _some(1), [[2.0, 2.0]]),
    ran(lambda: _some(0), []),
    ran(_in_a_branch, [[[2.0, 3.0], [4.0, 5.0]], [[-1.0, -2.0], [-3.0, -4.0]]]),
    *(
        ran(partial(_folded, f, i), expected)
        for f, i, expected in (("foldl", None, 123), ("foldl", 7, 7123), ("foldr", None, 321), ("foldr", 7, 7321))
    ),
    # A fold may make another structure than it takes.
    ran(
        lambda: acts.flow.foldl(
            lambda a, x: (a[0] + x[0] * x[1], a[1] + 1), (items(), acts.constant([2, 2, 2])), initializer=(0, 0)
        ),
        (12, 3),
    ),
    *(
        ran(partial(_scanned, i, r), expected)
        for i, r, expected in (
            (None, False, [1, 3, 6]),
            (10, False, [11, 13, 16]),
            (None, True, [6, 5, 3]),
            (10, True, [16, 15, 13]),
        )
    ),
    ran(
        lambda: acts.flow.scan(lambda a, x: (a[0] + x, a[1] - x), items(), initializer=(0, 0)),
        ([1, 3, 6], [-1, -3, -6]),
    ),
    ran(lambda: _backwards("map_fn", lambda v: v * v), [[4.0, 8.0, 12.0], 14.0]),
    ran(lambda: _backwards("foldl", lambda a, v: a * v), [[24.0, 12.0, 8.0], 24.0]),
    ran(lambda: _backwards("foldr", lambda a, v: a * v), [[24.0, 12.0, 8.0], 24.0]),
    ran(lambda: _backwards("scan", lambda a, v: a * v), [[29.0, 14.0, 8.0], 26.0]),
    ran(_twice, [6.0, 12.0]),
    *(equals(lambda name=name: _stopped(name), [None]) for name in ("map_fn", "scan", "foldl")),
    equals(lambda: _known("map_fn", lambda v: v * 2.0), [[3, 2], None]),
    equals(lambda: _known("scan", lambda a, v: a + v), [[3, 2], None]),
    (lambda: acts.map_fn(lambda x: (x, x), items()), ValueError, "different structures"),
    (lambda: acts.map_fn(lambda x: acts.cast(x, acts.float32), items()), TypeError, "int32 is wanted"),
    (lambda: acts.flow.scan(lambda a, x: (a, a), items()), ValueError, "different structures"),
    *(
        (_each(name, function, elems), error, words.format(name))
        for name in ("map_fn", "scan", "foldl", "foldr")
        for function, elems, error, words in (
            (3, items, TypeError, "{}: fn must be callable"),
            (lambda *v: v[0], lambda: acts.constant(3), ValueError, "{}: elems must be tensors of rank 1"),
            (lambda *v: v[0], list, ValueError, "{}: elems must hold a tensor"),
            (lambda *v: v[0], lambda: (items(), acts.constant([1])), ValueError, "different numbers of items"),
        )
    ),
]


# -- cases -----------------------------------------------------------------------------------------


def number(value: float) -> Any:
    return lambda: acts.constant(value)


def _case(pairs: Any, **options: Any) -> Any:
    """A case over pairs, or over those that are made of a number."""
    x = acts.placeholder(acts.int32, [])
    return acts.flow.case(pairs(x) if callable(pairs) else pairs, **{"default": number(2.0), **options})


def _of(x: Any, **options: Any) -> Any:
    return acts.flow.case([(x < 1, number(1.0)), (x < 5, number(2.0))], default=number(3.0), **options)


def _one_of(count: int) -> Any:
    return lambda x: acts.flow.case([(x < k + 1, number(4.0)) for k in range(count)])


def _strictly(strict: bool) -> Any:
    return type(_case(lambda x: [(x < 1, lambda: [number(1.0)()])], default=lambda: [number(2.0)()], strict=strict))


def _switch(functions: Any, **more: Any) -> Any:
    return acts.flow.switch_case(more.pop("index", acts.placeholder(acts.int32, [])), functions, **more)


CASES: list[Any] = [
    fed(_of, 0, 3, 9, expected=[1.0, 2.0, 3.0]),
    equals(lambda: _case(lambda x: [(x < 1, number(1.0)), (x < 5, number(2.0))]).name, "case/cond/Merge:0"),
    fed(
        lambda x: acts.flow.case({x < 5: number(1.0), x < 9: number(2.0)}, default=number(3.0)),
        *(0, 7, 9),
        expected=[1.0, 2.0, 3.0],
    ),
    *(fed(_one_of(count), 0, expected=[4.0]) for count in (1, 2)),
    *(fails(_one_of(count), 5, "None of the conditions") for count in (1, 2)),
    fed(lambda x: _of(x, exclusive=True), 3, 9, expected=[2.0, 3.0]),
    fails(lambda x: _of(x, exclusive=True), 0, "more than 1 condition"),
    equals(lambda: [_strictly(False), _strictly(True)], [acts.Tensor, list]),
    fed(
        lambda x: acts.flow.switch_case(x, [number(float(k)) for k in range(100)]),
        *(-1, 0, 1, 50, 99, 100),
        expected=[99.0, 0.0, 1.0, 50.0, 99.0, 99.0],
    ),
    fed(
        lambda x: acts.flow.switch_case(x, {1: number(1.0), 0: number(0.0)}, default=number(7.0)),
        *(-1, 0, 1, 2),
        dtype="int64",
        expected=[7.0, 0.0, 1.0, 7.0],
    ),
    (lambda: _case(3), TypeError, "case: "),
    (lambda: _case([]), ValueError, "case: "),
    (lambda: _case([(True, number(1.0))]), TypeError, "case: "),
    (lambda: _case([("spam",)]), TypeError, "case: "),
    (lambda: _case(lambda x: [(x, number(1.0))]), TypeError, "case: "),
    (lambda: _case(lambda x: [(x < 1, 3)]), TypeError, "case: "),
    (lambda: _switch([]), ValueError, "at least one"),
    (lambda: _switch([3]), TypeError, "must be a pair"),
    (lambda: _switch({"a": number(1.0)}), TypeError, "key must be an int"),
    (lambda: _switch({2: number(1.0), 5: number(1.0)}), ValueError, "all numbers from 0"),
    (lambda: _switch([(0, number(1.0)), (0, number(2.0))]), ValueError, "all numbers from 0"),
    (lambda: _switch(number(1.0)), TypeError, "must be a list"),
    (lambda: _switch([number(1.0)], index=1), TypeError, "branch_index must be"),
    (lambda: _switch([number(1.0)], default=3), TypeError, "default must be callable, got 3"),
]


# -- functions of graphs ---------------------------------------------------------------------------

REAL = acts.float32


def product() -> Any:
    return acts.flow.Defun(REAL, REAL)(lambda x, y: (x * y + 1.0, x - y))


def _remote(target: Any = "/cpu:1", args: Any = (2.0, 3.0), f: Any = None, out: int = 2) -> Any:
    return remote_call(target, list(args), [REAL] * out, f or product())


def _far(made: Any) -> Any:
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        return made[0].op.type, made[0].op.device, session.placement()["RemoteCall"].device[-5:], session.run(made)


def _far_slopes() -> Any:
    a, b = acts.constant(2.0), acts.constant(3.0)
    slopes = acts.gradients(_remote(args=[a, b])[0], [a, b])
    return [slope.op.device for slope in slopes], run(slopes)


def _ifs(dtype: Any, shape: Any, *predicates: Any) -> Any:
    p = acts.placeholder(dtype, shape)
    found = If(p, [2.0, 3.0], product(), acts.flow.Defun(REAL, REAL)(lambda x, y: (x, y)))
    return found[0].op.name, [plain(run(found, {p: value})) for value in predicates]


GOES_ON = acts.flow.Defun(acts.int32, REAL)(lambda i, x: i < 5)


def _grown() -> Any:
    grows = acts.flow.Defun(acts.int32, REAL)(lambda i, x: (i + 1, acts.concat([x, x], 0)))
    found = While([acts.constant(0), [1.0]], GOES_ON, grows)
    return [t.shape.rank for t in found], run(found)[1].shape


def _counted(start: int, limit: int, delta: int) -> Any:
    return For(start, limit, delta, [0.0], acts.flow.Defun(acts.int32, REAL)(lambda i, x: x + acts.cast(i, REAL)))


def _capturing() -> Any:
    c = acts.constant(2.0)
    return acts.flow.Defun(REAL)(lambda x: x * c)


CALLED: list[Any] = [
    equals(lambda: _far(_remote()), ("RemoteCall", "/device:CPU:1", "CPU:1", [7.0, -1.0])),
    ran(lambda: _remote(acts.constant("/device:CPU:0"), [2.0], acts.flow.Defun(REAL)(lambda x: x + 1.0), 1), [3.0]),
    equals(_far_slopes, (["/device:CPU:1"] * 2, [3.0, 2.0])),
    # Numbers, strings and tensors that may be empty are predicates.
    equals(lambda: _ifs(acts.int32, [], 3, 0), ("If/Merge", [[7.0, -1.0], [2.0, 3.0]])),
    equals(lambda: _ifs(acts.string, [], b"a", b"")[1], [[7.0, -1.0], [2.0, 3.0]]),
    equals(lambda: _ifs(REAL, [None], [1.0], [])[1], [[7.0, -1.0], [2.0, 3.0]]),
    equals(_grown, ([0, None], (32,))),
    *(
        ran(partial(_counted, *bounds), [expected])
        for bounds, expected in (((0, 5, 1), 10.0), ((5, 0, -2), 9.0), ((0, 0, 1), 0.0), ((0, 5, 0), 0.0))
    ),
    ran(lambda: symbolic_gradient([2.0, 3.0, 1.0, 10.0], [REAL, REAL], product()), [13.0, -8.0]),
    ran(lambda: Gradient([2.0, 3.0, 1.0, 0.0], product()), [3.0, 2.0]),
    ran(
        lambda: symbolic_gradient([2.0, 3.0, 1.0], [REAL, REAL], acts.flow.Defun(REAL, REAL)(lambda x, y: x * 2.0)),
        [2.0, 0.0],
    ),
    (lambda: _remote(acts.placeholder(acts.string, []), [2.0], out=1), ValueError, "target must be known"),
    (lambda: _remote(out=1), ValueError, "Tout says"),
    (lambda: _remote(args=[2.0], f=lambda x: x, out=1), TypeError, "one that Defun made"),
    (
        lambda: While([0, [1.0]], GOES_ON, acts.flow.Defun(acts.int32, REAL)(lambda i, x: i + 1)),
        ValueError,
        "gives 1 values for 2",
    ),
    (lambda: symbolic_gradient([2.0, 3.0, 1.0], [REAL, REAL], product()), ValueError, "2 results, got 1 grad"),
    (lambda: Gradient([2.0, 1.0], acts.flow.Defun()(lambda x: x * 2.0)), TypeError, "arguments must be declared"),
    (lambda: symbolic_gradient([2.0, 1.0], [REAL], _capturing()), ValueError, "pass it as an argument"),
]


# -- groups, tuples and raw nodes ------------------------------------------------------------------


def _grouped() -> Any:
    first, second, third = acts.constant(1), acts.constant(2), acts.no_op()
    together = acts.group(first, [second.op, (third,)], None, name="all")
    return together.name, together.type, together.control_inputs == (first.op, second.op, third), run(together)


def _parts() -> Any:
    """What is named twice is waited for once; slices, sparse tensors and structures are waited for in parts."""
    first, slices = acts.constant(1), acts.IndexedSlices(acts.constant([1.0]), acts.constant([0]))
    sparse = acts.SparseTensor([[0]], [1.0], [2])
    parts = (sparse.indices.op, sparse.values.op, sparse.dense_shape.op)
    yield acts.group().control_inputs == ()
    yield acts.group(first, first.op).control_inputs == (first.op,)
    yield acts.group(slices).control_inputs == (slices.values.op, slices.indices.op)
    yield acts.group({"a": [sparse]}).control_inputs == parts


def _spread() -> Any:
    """A group over several devices gathers on each of them first, and one on one device stands there."""
    with acts.device("/device:CPU:0"):
        near = [acts.no_op(), acts.no_op()]
    with acts.device("/device:CPU:1"):
        far = [acts.no_op()]
    parts = {part.device: part.control_inputs for part in acts.group(*near, *far).control_inputs}
    return parts == {"/device:CPU:0": tuple(near), "/device:CPU:1": tuple(far)}, acts.group(*far).device


def _waiting() -> Any:
    gate = acts.no_op()
    passed = with_dependencies([gate], acts.constant(3.0), name="passed")
    return passed.op.name, passed.op.control_inputs == (gate,), run(passed)


def _tupled() -> Any:
    x, y, extra = acts.constant(1.0) * 2.0, acts.constant([2.0]) * 3.0, acts.no_op()
    parts = acts.constant([1.0]), acts.constant([0]), acts.constant([5])
    slices = acts.IndexedSlices(*parts)
    first, nothing, second, kept = cast("Any", acts.tuple)([x, None, y, slices], control_inputs=[extra])
    (gate,) = first.op.control_inputs
    assert second.op.control_inputs == (gate,)
    assert set(gate.control_inputs) == {x.op, y.op, extra, *(part.op for part in parts)}
    assert (kept.indices, kept.dense_shape) == (slices.indices, slices.dense_shape)
    return nothing, kept.values.op.type, plain(run([first, second]))


def _switched() -> Any:
    data = acts.placeholder("float32", [2, None])
    ways = dataflow.switch(data, acts.placeholder("bool", []))
    return [t.spec == data.spec for t in ways], [t.name for t in ways], ways.output_true.op.type


def _merged(*shapes: Any) -> Any:
    found = dataflow.merge([acts.placeholder("float32", s) for s in shapes])
    return found.output.shape.sizes, found.value_index.dtype.name, found.value_index.shape.rank


def _entered(**options: Any) -> Any:
    return dataflow.enter(acts.placeholder("float32", [2]), "frame", **options).shape.sizes


RAW: list[Any] = [
    equals(_grouped, ("all", "NoOp", True, None)),
    equals(lambda: [*_parts()], [True] * 4),
    equals(_spread, (True, "/device:CPU:1")),
    equals(_waiting, ("passed", True, 3.0)),
    equals(_tupled, (None, "Identity", [2.0, [6.0]])),
    (lambda: acts.tuple([None]), ValueError, "at least one tensor"),
    (lambda: acts.group(cast("Any", "a")), TypeError, "group takes operations"),
    equals(_switched, ([True, True], ["Switch:0", "Switch:1"], "Switch")),
    equals(
        lambda: dims(*dataflow.switch_n(acts.placeholder("float32", [3]), acts.placeholder("int32", []), 4)), [[3]] * 4
    ),
    *(
        equals(lambda shapes=shapes: _merged(*shapes), (merged, "int32", 0))
        for shapes, merged in (
            ([[2], [2]], (2,)),
            ([[2, 3], [2, 4]], (2, None)),
            ([[2], [2, 3]], None),
            ([[2], None], None),
            ([[]], ()),
        )
    ),
    equals(lambda: [_entered(), _entered(is_constant=True)], [None, (2,)]),
    equals(lambda: dataflow.loop_cond(acts.placeholder("bool")).shape.rank, 0),
    (lambda: dataflow.loop_cond(1), TypeError, "bool"),
    (lambda: dataflow.loop_cond(acts.placeholder("bool", [1])), ValueError, "scalar"),
    (lambda: dataflow.switch(1, acts.placeholder("int32", [])), TypeError, "bool"),
    (lambda: dataflow.switch(1, acts.placeholder("bool", [2])), ValueError, "scalar"),
    (lambda: dataflow.switch_n(1, 0, 0), ValueError, "positive"),
    (lambda: dataflow.merge([acts.constant(1.0), acts.constant(1)]), TypeError, "float32 is wanted here"),
    (lambda: dataflow.merge([]), ValueError, "at least one"),
    (lambda: dataflow.merge([1, None]), ValueError, "None"),
    (lambda: dataflow.enter(1, ""), ValueError, "frame_name"),
    (lambda: dataflow.enter(1, "frame", parallel_iterations=0), ValueError, "parallel_iterations"),
]


test_functions_of_flow_do_what_their_rows_say = each_use([*MAPPED, *CASES, *CALLED, *RAW])


# -- what no row says ------------------------------------------------------------------------------


async def test_the_items_of_a_constant_travel_to_another_task() -> None:
    """A list of tensors is made where the constant is, and read where the loop's variable lives."""
    with acts.device("/job:worker/task:1"):
        v = acts.Variable(2.0)
    found = acts.map_fn(lambda x: x * v, acts.constant([1.0, 2.0]))
    async with in_process() as cluster, acts.AsyncSession(cluster.target(), graph=acts.get_default_graph()) as session:
        await soon(session.run(v.initializer))
        np.testing.assert_array_equal(await soon(session.run(found)), [2.0, 4.0])


def test_a_loop_is_closed_by_a_next_iteration_of_the_same_type() -> None:
    entered = dataflow.enter(acts.constant(1), "frame")
    merged = dataflow.merge([entered, entered]).output
    refused(lambda: dataflow.close_loop(merged, merged + 1), ValueError, "next_iteration")
    with pytest.raises(TypeError, match="int32"):
        dataflow.close_loop(merged, dataflow.next_iteration(acts.cast(merged, "float32")))
    following = dataflow.next_iteration(merged + 1)
    dataflow.close_loop(merged, following)
    assert (merged.op.inputs, merged.op.plain.inputs[1]) == ((entered, following), (following.op.name, 0))
    assert following.consumers() == [merged.op]
    assert merged.op not in entered.consumers()[1:]


def test_an_input_is_not_replaced_by_what_is_made_of_it(graph: acts.Graph) -> None:
    one = acts.constant(1)
    two = one + 1
    three = two + 1
    refused(lambda: graph.changes.update_input(two.op, 0, three), ValueError, "which depends on it")
    refused(lambda: graph.changes.update_input(two.op, 2, one), IndexError)
    graph.finalize()
    refused(lambda: graph.changes.update_input(two.op, 0, one), RuntimeError, "finalized")


@for_each("op", sorted(PRIMITIVES))
def test_within_a_function_it_says_that_it_runs_in_the_graph_alone(graph: acts.Graph, op: str) -> None:
    node = acts.no_op(name="node").plain
    with pytest.raises(UnimplementedError, match="while_loop or cond"):
        lookup(op).kernel(NodeContext(node, (), (), "/device:CPU:0"))
