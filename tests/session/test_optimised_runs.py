"""Optimised or not, a run gives the same values, the same errors and the same effects."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ops
from actorsession.config import OptLevel
from actorsession.errors import InvalidArgumentError, OpError
from tests.rows import for_each

LEVELS = {
    "nothing": acts.OptimizerOptions(opt_level=OptLevel.L0),
    "everything": acts.OptimizerOptions(opt_level=OptLevel.L1),
    "folding": acts.OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True),
    "merging": acts.OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True),
}


def config_of(level: str, devices: int = 1) -> acts.ConfigProto:
    options = acts.GraphOptions(optimizer_options=LEVELS[level])
    return acts.ConfigProto(device_count={"CPU": devices}, graph_options=options)


# -- cases -----------------------------------------------------------------------------------------
def unknown_zero() -> acts.Tensor:
    """A zero whose value only folding tells: shapes do not follow exclusive ors."""
    return acts.bitwise.bitwise_xor(ops.constant(1), ops.constant(1))


FAILING: dict[str, Callable[[acts.Tensor], acts.Tensor]] = {
    "axis": lambda x: ops.reduce_prod(x[0], unknown_zero()),
    "gather": lambda x: ops.gather(x, unknown_zero() + 7),
    "reshape": lambda x: ops.reshape(x, ops.stack([unknown_zero() + 5, unknown_zero() + 3])),
    "division": lambda x: ops.constant(3) // unknown_zero(),
    "slice": lambda x: ops.slice(x, ops.stack([unknown_zero() + 9]), [1]),
    "concat": lambda x: ops.concat([x, x], unknown_zero() + 4),
    "transpose": lambda x: ops.transpose(x, ops.stack([unknown_zero() + 1])),
}


@for_each("level", list(LEVELS))
@for_each("failing", list(FAILING))
def test_an_error_that_folding_could_foresee_comes_when_its_node_runs(
    failing: str, level: str, graph: acts.Graph
) -> None:
    """Not before: what runs earlier has had its effects, and the error names node and line."""
    x = ops.placeholder("float32", [2], name="x")
    v = ops.Variable(0.0, name="v")
    count = v.assign_add(1.0)
    with graph.control_dependencies([count]):
        x = ops.identity(x)
    bad = FAILING[failing](x)
    with acts.Session(graph=graph, config=config_of(level)) as session:
        session.run(v.initializer)
        for run in (1, 2):
            with pytest.raises(InvalidArgumentError) as raised:
                session.run([count, bad], {"x:0": [1.0, 2.0]})
            assert raised.value.node is not None
            assert __file__ in str(raised.value)
            assert session.run(v) == run


def hidden(value: Any) -> acts.Tensor:
    """A constant whose value and rank only folding tells: shapes do not follow numbers in texts."""
    dims = np.array([*np.shape(value), 7], np.int32)
    marks = acts.strings.to_number(ops.constant([b"1"] * np.ndim(value) + [b"0"]), "int32")
    kept = ops.boolean_mask(ops.constant(dims), ops.cast(marks, "bool"))
    return ops.reshape(ops.constant(value), kept)


ODD: dict[str, Callable[[], acts.Tensor]] = {
    "sum of two shapes": lambda: ops.add_n([hidden([[0, 1]]), ops.constant(1)]),
    "axis of two": lambda: ops.argmax(hidden([[0, 1], [1, 0]]), hidden([0, 0])),
    "filled with nothing": lambda: ops.fill(hidden(2), hidden(np.zeros((2, 0), np.float32))),
    "no axis": lambda: ops.expand_dims(hidden([5.0]), hidden(np.zeros(0, np.int32))),
    "endless range": lambda: ops.range(hidden(np.float32("inf"))),
    "stack of two shapes": lambda: ops.stack([hidden([1, 2]), ops.constant(3)]),
    "depth of one": lambda: ops.one_hot([0, 1], hidden([3])),
}


@for_each("level", list(LEVELS))
@for_each("odd", list(ODD))
def test_what_folding_finds_out_is_checked_like_what_building_knew(odd: str, level: str, graph: acts.Graph) -> None:
    """Kernels that are made for known operands trust that somebody looked at them."""
    bad = ODD[odd]()
    said = []
    for each in (level, "nothing"):
        with acts.Session(graph=graph, config=config_of(each)) as session:
            with pytest.raises(InvalidArgumentError) as raised:
                session.run(bad)
            assert raised.value.node == bad.op.name
            said.append(str(raised.value))
    assert said[0] == said[1]


@for_each("level", list(LEVELS))
def test_a_fed_constant_is_no_constant(level: str, graph: acts.Graph) -> None:
    two = ops.constant(2.0, name="two")
    three = ops.add(two, 1.0, name="three")
    six = ops.multiply(two, three, name="six")
    same = ops.add(two, 1.0, name="same")  # as "three", which a feed tells apart
    with acts.Session(graph=graph, config=config_of(level)) as session:
        assert session.run([six, same]) == [6, 3]
        assert session.run([six, same], {two: 5.0}) == [30, 6]
        assert session.run([six, same], {three: 10.0}) == [20, 3]
        assert session.run([six, same], {same: 4.0}) == [6, 4]
        assert session.run([six, three, two], {"two:0": 1.0, "three:0": 7.0}) == [7, 7, 1]
        assert session.run([six, same]) == [6, 3]


@for_each("level", list(LEVELS))
def test_fetched_constants_are_the_callers_own_and_writable(level: str, graph: acts.Graph) -> None:
    values = np.arange(4, dtype=np.float32)
    constant = ops.constant(values)
    folded = constant * 2.0
    fetches = [constant, folded, ops.identity(constant), constant * 2.0, ops.reshape(folded, [2, 2])]
    with acts.Session(graph=graph, config=config_of(level)) as session:
        for _ in range(2):
            found = session.run(fetches)
            for i, array in enumerate(found):
                assert array.flags.writeable
                assert not np.shares_memory(array, values)
                assert not any(np.shares_memory(array, other) for other in found[:i])
            np.testing.assert_array_equal(found[0], [0, 1, 2, 3])
            np.testing.assert_array_equal(found[1], [0, 2, 4, 6])
            for array in found:
                array[...] = -1


# -- any graph -------------------------------------------------------------------------------------
SCALARS = [0.0, -0.0, 1.0, -2.5, float("nan"), float("inf"), 1e38, 1e-45]
ONE_FLOAT: list[Callable[[Any], Any]] = [
    ops.negative, ops.sqrt, ops.exp, ops.tanh, ops.square, ops.identity, ops.reciprocal, ops.sign,
    ops.reduce_sum, ops.zeros_like, ops.log, lambda t: ops.reshape(t, [-1]), ops.round,
    lambda t: ops.cast(ops.cast(t, "int32"), "float32"), lambda t: ops.reshape(t, [2, 1]),
]  # fmt: skip
TWO_FLOATS: list[Callable[[Any, Any], Any]] = [
    ops.add,
    ops.subtract,
    ops.multiply,
    ops.divide,
    ops.maximum,
    ops.minimum,
    ops.pow,
    lambda a, b: ops.concat([ops.reshape(a, [-1]), ops.reshape(b, [-1])], 0),
    lambda a, b: ops.gather(ops.reshape(a, [-1]), ops.cast(ops.reduce_sum(b), "int32")),
    lambda a, b: ops.cast(ops.cast(ops.reduce_sum(a), "int32") // ops.cast(ops.reduce_sum(b), "int32"), "float32"),
    lambda a, b: ops.reduce_sum(ops.reshape(a, [-1]), ops.cast(ops.reduce_sum(b), "int32")),
    lambda a, b: ops.cond(ops.reduce_sum(a) < 1.0, lambda: b + 1.0, lambda: a),
]


@dataclass
class Program:
    """A graph with what may be fetched, fed and run of it."""

    graph: acts.Graph = field(default_factory=acts.Graph)
    tensors: list[acts.Tensor] = field(default_factory=list)
    targets: list[acts.Operation] = field(default_factory=list)
    variables: list[Any] = field(default_factory=list)


@st.composite
def programs(draw: Any) -> Program:
    made = Program()
    graph, tensors = made.graph, made.tensors
    with graph.as_default():
        made.variables = [ops.Variable(1.5), ops.Variable([1.0, 2.0])]
        tensors += [ops.placeholder("float32", []), ops.placeholder("float32", None)]
        tensors += [ops.constant(s) for s in draw(st.lists(st.sampled_from(SCALARS), min_size=1))]
        tensors += [ops.constant([1.0, -2.0]), ops.constant(np.zeros((0, 3), np.float32))]
        for _ in range(draw(st.integers(1, 15))):
            after = draw(st.sampled_from([None, None, None, *made.targets, *tensors]))
            device = draw(st.sampled_from([None, None, None, "/cpu:0", "/cpu:1"]))
            one, two = draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors))
            kind = draw(st.sampled_from(["one", "two", "two", "twice", "assign", "read"]))
            with (
                graph.control_dependencies([] if after is None else [after]),
                graph.device(device) if device else contextlib.nullcontext(),
                contextlib.suppress(ValueError),  # shapes that are known not to fit
            ):
                if kind == "one":
                    tensors.append(draw(st.sampled_from(ONE_FLOAT))(one))
                elif kind == "assign":
                    changed = draw(st.sampled_from(made.variables)).assign_add(one)
                    made.targets.append(changed.op)
                elif kind == "read":
                    tensors.append(draw(st.sampled_from(made.variables)).read_value())
                else:
                    function = draw(st.sampled_from(TWO_FLOATS))
                    tensors += [function(one, two) for _ in range(2 if kind == "twice" else 1)]
    return made


def outcome(work: Callable[[], Any]) -> Any:
    """The values of a run bit for bit, or its error."""
    try:
        return [(v.dtype, v.shape, v.tobytes()) for v in work()]
    except OpError as error:
        return type(error), error.message.partition(" [node")[0]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.data())
def test_any_graph_has_the_same_values_errors_and_effects_at_every_level(program: Program, data: Any) -> None:
    some = st.lists(st.sampled_from(program.tensors), min_size=1, max_size=6, unique=True)
    fetches = data.draw(some)
    targets = data.draw(st.lists(st.sampled_from(program.targets), max_size=2)) if program.targets else []
    feeds: dict[Any, Any] = {program.tensors[0]: 0.5, program.tensors[1]: np.array([3, 4], np.float32)}
    for tensor in data.draw(st.lists(st.sampled_from(program.tensors), max_size=2)):
        if tensor.shape.rank == 0:
            feeds[tensor] = 2.0
    seen = {}
    for level in LEVELS:
        with acts.Session(graph=program.graph, config=config_of(level, devices=2)) as session:
            session.run([v.initializer for v in program.variables])
            seen[level] = [
                outcome(lambda s=session: s.run([fetches, targets], feeds)[0]),  # type: ignore[misc]
                outcome(lambda s=session: s.run(program.variables)),  # type: ignore[misc]
            ] * 2
    for level, results in seen.items():
        assert results == seen["nothing"], level
