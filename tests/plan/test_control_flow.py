"""Loops and branches in generated code: what is written, who owns values, where a step can end."""

from __future__ import annotations

import re
import weakref
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, NodeDef, Session, Tensor, ops
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from actorsession.extend import Partition
from actorsession.graph.function import FunctionDef
from actorsession.graph.node import spec
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.prune import ARG
from tests.plan.kit import CPU, Made, NoStep, Step, call
from tests.rows import for_each


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [3], name="x")


def vector(*values: float) -> Any:
    return np.array(values, np.float32)


def count_to(n: Any) -> Tensor:
    result: Tensor = ops.while_loop(lambda i: i < n, lambda i: i + 1, [0])
    return result


def lines(made: Made) -> list[str]:
    """The lines without comments, with their indentation, and values numbered as they appear."""
    names: dict[str, str] = {}

    def short(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"{match[1]}{len(names)}")

    code = made.linked[0].compiled.segments[0].lines
    plain = [line.partition("  #")[0].rstrip() for line in code]
    return [re.sub(r"\b([vkco])\d+(_\d+)?\b", short, line) for line in plain]


# -- what is written -------------------------------------------------------------------------------


def test_a_loop_is_a_while_over_locals(graph: Graph) -> None:
    assert lines(Made(graph, [count_to(3)])) == [
        "def segment_0(C):",
        "    v0 = c1",
        "    while True:",
        "        C.check()",
        "        v2 = (v0 < c3)",
        "        if not v2: break",
        "        v4 = (v0 + c5)",
        "        v0 = v4",
        "    v6 = v0",
        "    v7 = v6",
        "    return (own(v7), )",
    ]


def test_a_branch_is_an_if_and_drops_what_it_made(graph: Graph, x: Tensor) -> None:
    p = ops.placeholder("bool", [])
    y = ops.cond(p, lambda: -x * 2.0, lambda: x)
    assert lines(Made(graph, [y], [p, x])) == [
        "def segment_0(C, v0, v1):",
        "    if v0:",
        "        v2 = (-v1)",
        "        o3(v2, c4, v2)",
        "        v5 = v2",
        "        del v2",
        "    else:",
        "        v5 = v1",
        "    del v1",
        "    v6 = v5",
        "    del v5",
        "    return (own(v6), )",
    ]


def test_lines_of_bodies_name_their_nodes_and_sources(graph: Graph) -> None:
    made = Made(graph, [count_to(3)]).linked[0]
    (segment,) = made.compiled.segments
    (line,) = [n for n in segment.lines if "AddV2" in n]
    assert re.search(r"# while/add \(AddV2\) .*test_control_flow.py:\d+$", line)
    number = segment.line_nodes[segment.lines.index(line)]
    assert number is not None
    assert made.compiled.nodes[number].name == "while/add"
    assert made.compiled.nodes[: len(made.compiled.partition.nodes)] == made.compiled.partition.nodes


def test_constants_from_outside_are_constants_inside(graph: Graph, x: Tensor) -> None:
    """Kernels are chosen by them: a square is a product and no power."""
    two = ops.constant(2.0)
    _, y = ops.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, ops.pow(a, two)), [0, x])
    made = Made(graph, [y], [x])
    assert not any("**" in line for line in lines(made))
    assert made.run(vector(1, 2, 3))[0].tolist() == [1, 16, 81]


def test_variables_that_nobody_reads_and_nothing_needs_are_left_out(graph: Graph) -> None:
    calls: list[int] = []

    def note(value: Any) -> Any:
        calls.append(1)
        return value + 1

    def body(i: Any, a: Any, b: Any) -> Any:
        return i + 1, call(graph, note, a).outputs[0], b + a

    first = [0, ops.constant(vector(0, 0, 0)), ops.constant(vector(0, 0, 0))]
    i, a, b = ops.while_loop(lambda i, a, b: i < 4, body, first)
    for fetch, expected in ((i, 0), (a, 4), (b, 4)):
        calls.clear()
        Made(graph, [fetch]).run()
        assert len(calls) == expected, fetch


def evil(text: str) -> Partition:
    p = NodeDef(name="p", op=ARG, attrs={"index": 0}, outputs=(spec("bool", ()),))
    inner = NodeDef(name=text, op="Neg", inputs=(("", 0),), outputs=(spec("float32", ()),), source=text)
    y = NodeDef(name="y", op=ARG, attrs={"index": 1}, outputs=inner.outputs)
    some = FunctionDef((), inner.outputs, (inner,), ((text, 0),))
    branch = NodeDef(
        name=f"{text}!",
        op="If",
        inputs=(("p", 0), ("y", 0)),
        outputs=inner.outputs,
        source=text,
        attrs={"then_branch": some, "else_branch": some},
    )
    return Partition(CPU[0], (p, y, branch), ((0, f"{text}!", 0),))


@for_each("text", ["a\nraise SystemExit", "a\rx", "a\x0cb", "a\u2028b", "a\\\nb", "'''"])
def test_a_name_in_a_body_cannot_leave_its_comment(text: str) -> None:
    (segment,) = compile_partition(evil(text)).segments
    joined = "\n".join(segment.lines) + "\n"
    assert len(joined.splitlines()) == len(segment.lines)
    namespace: dict[str, Any] = {"own": lambda v: v}
    exec(compile(joined, "<test>", "exec"), namespace)  # noqa: S102 - what link does
    assert namespace["segment_0"](None, True, 2.0) == (-2.0,)


# -- who owns values -------------------------------------------------------------------------------


def test_a_loop_never_changes_what_somebody_holds(graph: Graph, x: Tensor) -> None:
    """A variable takes a loop's value, is changed in place, and the loop's value stays."""
    v = ops.Variable(vector(0, 0, 0))

    def body(i: Any, a: Any, kept: Any) -> Any:
        with graph.control_dependencies([v.assign(a).op]):
            change = v.assign_add(vector(10, 10, 10)).op
        with graph.control_dependencies([change]):
            return i + 1, a + v.read_value(), a

    i, a, kept = ops.while_loop(lambda i, a, kept: i < 3, body, [0, x, x])
    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    given = vector(1, 2, 3)
    values = Made(graph, [i, a, kept, x], [x], variables=variables).run(given)
    want, last = given.copy(), given.copy()
    for _ in range(3):
        want, last = want + (want + 10), want
    assert (values[1].tolist(), values[2].tolist()) == (want.tolist(), last.tolist())
    assert given.tolist() == [1, 2, 3]
    (stored,) = Made(graph, [v.value()], variables=variables).run()
    assert stored.tolist() == (last + 10).tolist()
    for value in values[1:]:
        value[...] = -1
    (again,) = Made(graph, [v.value()], variables=variables).run()
    assert again.tolist() == stored.tolist()


def test_what_a_body_stores_of_captures_and_loop_variables_is_copied(graph: Graph, x: Tensor) -> None:
    v, w = ops.Variable(vector(0, 0, 0)), ops.Variable(vector(0, 0, 0))
    p = ops.placeholder("bool", [])

    def branch() -> Any:
        return ops.group(v.assign(x), w.assign(ops.reshape(x, [3])))

    done = ops.cond(p, branch, ops.no_op)
    variables: dict[str, Any] = {}
    given = vector(1, 2, 3)
    Made(graph, [done], [x, p], variables=variables).run(given, np.True_)
    given[...] = -1
    for variable in (v, w):
        (stored,) = Made(graph, [variable.value()], variables=variables).run()
        assert stored.tolist() == [1, 2, 3]


def test_what_a_body_made_for_a_variable_alone_is_handed_over(graph: Graph) -> None:
    v = ops.Variable(vector(0, 0, 0))
    made_at: list[int] = []

    def make() -> Any:
        made_at.append((result := vector(1, 2, 3)).ctypes.data)
        return result

    def body(i: Any) -> Any:
        with graph.control_dependencies([v.assign(call(graph, make).outputs[0]).op]):
            return i + 1

    variables: dict[str, Any] = {}
    Made(graph, [ops.while_loop(lambda i: i < 1, body, [0])], variables=variables).run()
    assert variables[CPU[0]].variable("", "Variable", spec("float32", [3])).read().ctypes.data == made_at[0]


def test_a_variable_is_changed_in_place_in_every_iteration(graph: Graph) -> None:
    v = ops.Variable(vector(0, 0, 0))

    def body(i: Any, total: Any) -> Any:
        before = ops.reduce_sum(v.read_value())
        with graph.control_dependencies([before]):
            add = v.assign_add(vector(1, 1, 1)).op
        with graph.control_dependencies([add]):
            return i + 1, total + before

    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    holder = variables[CPU[0]].variable("", "Variable", spec("float32", [3]))
    made = Made(graph, [ops.while_loop(lambda i, t: i < 5, body, [0, 0.0])[1]], variables=variables)
    made.run()
    place = holder.read().ctypes.data
    assert made.run() == [15 + 18 + 21 + 24 + 27]
    assert holder.read().ctypes.data == place


def test_one_iteration_holds_no_array_of_the_one_before(graph: Graph, x: Tensor) -> None:
    refs: list[Any] = []
    alive: list[int] = []

    def next_value(value: Any) -> Any:
        alive.append(sum(ref() is not None for ref in refs))
        result = value + 1
        refs.append(weakref.ref(result))
        return result

    def body(i: Any, a: Any) -> Any:
        return i + 1, call(graph, next_value, call(graph, next_value, a).outputs[0]).outputs[0]

    (value,) = Made(graph, [ops.while_loop(lambda i, a: i < 3, body, [0, x])[1]], [x]).run(vector(0, 0, 0))
    assert value.tolist() == [6, 6, 6]
    assert max(alive) == 1
    del value
    assert [ref() for ref in refs] == [None] * 6


def test_what_is_fetched_of_a_loop_is_the_callers_own(graph: Graph, x: Tensor) -> None:
    k = ops.constant(vector(7, 8, 9))
    _, a, b = ops.while_loop(lambda i, a, b: i < 0, lambda i, a, b: (i + 1, a, b), [0, x, k])
    made = Made(graph, [a, b, a], [x])
    given = vector(1, 2, 3)
    for value in made.run(given):
        value[...] = -1
    assert given.tolist() == [1, 2, 3]
    assert [v.tolist() for v in made.run(given)] == [[1, 2, 3], [7, 8, 9], [1, 2, 3]]


def test_scalars_stay_scalars(graph: Graph) -> None:
    seen: list[type] = []

    def look(value: Any) -> Any:
        seen.append(type(value))
        return value

    def body(i: Any, a: Any) -> Any:
        looked = call(graph, look, a, shapes=[[]]).outputs[0]
        return i + 1, looked * 2.0

    Made(graph, [ops.while_loop(lambda i, a: i < 3, body, [0, 1.0])[1]]).run()
    assert seen == [np.float32] * 3


# -- giving up, errors, traces ---------------------------------------------------------------------


class Ended(Exception):
    """What a test's ``check`` raises."""


def test_each_iteration_looks_for_a_cancellation(graph: Graph) -> None:
    made = Made(graph, [count_to(100)])
    step = Step(made, [])
    (part,) = step.parts
    step.run()
    assert part.checks == 101

    class Impatient(NoStep):
        left = 3

        def check(self) -> None:
            self.left -= 1
            if not self.left:
                raise Ended

    with pytest.raises(Ended):
        made.linked[0].segments[0].function(Impatient())


def test_many_cheap_nodes_look_for_a_cancellation_now_and_then(graph: Graph, x: Tensor) -> None:
    """Each is far below what a look is worth; half a microsecond each, 1,000 between two looks."""
    y = x
    for _ in range(9000):
        y = -y
    source = Made(graph, [y], [x]).source()
    looks = [i for i, line in enumerate(source) if line == "C.check()"]
    assert 3 <= len(looks) <= 5
    assert np.diff([0, *looks]).max() < 2 * 2100


def test_a_loop_counts_as_unknown_cost_and_never_as_light(graph: Graph) -> None:
    (segment,) = Made(graph, [count_to(3)]).linked[0].compiled.segments
    assert not segment.cost_known
    assert not segment.is_light
    p = ops.placeholder("bool", [])
    (segment,) = Made(graph, [ops.cond(p, lambda: 1.0, lambda: 2.0)], [p]).linked[0].compiled.segments
    assert segment.cost_known
    assert segment.is_light


async def test_a_loop_that_was_never_measured_goes_to_the_kernel_pool(graph: Graph) -> None:
    async with AsyncSession(graph=graph) as session:
        assert await session.run(count_to(3)) == 3
        assert session.statistics().offloaded == 1


async def test_an_endless_loop_ends_at_its_deadline_and_the_session_goes_on(graph: Graph) -> None:
    endless = ops.while_loop(lambda i: True, lambda i: i + 1, [0])
    session = AsyncSession(graph=graph)
    with pytest.raises(DeadlineExceededError):
        await session.run(endless, options=acts.RunOptions(timeout_in_ms=50))
    assert await session.run(count_to(3)) == 3
    await session.close()


def test_an_error_in_a_body_names_node_device_and_line(graph: Graph) -> None:
    n = ops.placeholder("int32", [])
    loop = ops.while_loop(lambda i: i < 5, lambda i: i + 10 // (n - i), [0])
    with Session() as session, pytest.raises(InvalidArgumentError) as info:
        session.run(loop, {n: 0})
    assert info.value.node == "while/floordiv"
    assert info.value.device == CPU[0]
    assert "test_control_flow.py:" in str(info.value.source)


def test_a_body_node_is_traced_once_per_iteration(graph: Graph) -> None:
    step = Step(Made(graph, [count_to(3)]), [], traced=True)
    step.run()
    assert [name for name, _ in step.parts[0].notes] == ["while/Less", "while/add"] * 3 + ["while/Less", "while/Exit"]
    metadata = acts.RunMetadata()
    full = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE)
    branch = ops.cond(ops.placeholder_with_default(True, []), lambda: count_to(2), lambda: -1)
    with Session() as session:
        assert session.run(branch, options=full, run_metadata=metadata) == 2
    assert "cond/while/add" in repr(metadata)


def test_a_step_cancelled_inside_a_loop_in_the_pool_ends(graph: Graph) -> None:
    """The error that ends it is a consequence, and marked so."""

    class Cancelled(NoStep):
        def check(self) -> None:
            raise CancelledError("the step is over", derived=True)

    made = Made(graph, [ops.while_loop(lambda i: True, lambda i: i + 1, [0])])
    with pytest.raises(CancelledError):
        made.linked[0].segments[0].function(Cancelled())


def test_a_loop_waits_for_what_comes_from_elsewhere_and_sends_its_results(graph: Graph) -> None:
    n = ops.placeholder("int32", [])
    with acts.device("/cpu:1"):
        far = n * 2
    with acts.device("/cpu:0"):
        loop = count_to(far)
    with acts.device("/cpu:1"):
        result = ops.cond(loop > 5, lambda: loop * far, lambda: loop)
    made = Made(graph, [result, loop], [n], devices=2)
    assert made.run(np.int32(4)) == [64, 8]
    assert made.run(np.int32(1)) == [2, 2]
