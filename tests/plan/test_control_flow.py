"""Loops and branches as generated code, and control edges between devices."""

from __future__ import annotations

import re
import weakref
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import AsyncSession, Graph, GraphOptions, NodeDef, Operation, OptimizerOptions, Session, Tensor, ops
from actorsession.config import OptLevel
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from actorsession.extend import Partition, RunSignature, StepGraph
from actorsession.graph.function import FunctionDef
from actorsession.graph.node import spec
from actorsession.ops import raw
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.partition import SEND, partition
from actorsession.plan.passes.control_edges import group_control_edges
from actorsession.plan.prune import ARG, GraphView, prune
from tests.cluster.kit import in_process, soon
from tests.plan.kit import CPU, Made, NoStep, Step, call, device_set, node
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


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


class Grouped(Made):
    """A graph of several devices, planned with the pass."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step_graph, placed = group_control_edges(self.step_graph, self.device_of)
        self.device_of = dict(placed)
        self.parts = partition(self.step_graph, self.device_of, self.device_set)
        self.linked = [self._link(part, True) for part in self.parts]


def sent(made: Made) -> int:
    return sum(n.op == SEND for part in made.parts for n in part.nodes)


def step(nodes: Sequence[NodeDef], where: str) -> tuple[StepGraph, dict[str, str]]:
    """All nodes as targets; ``where`` has the number of the device of each."""
    graph = prune(GraphView(nodes), RunSignature((), (), tuple(n.name for n in nodes)))
    return graph, {n.name: CPU[int(number)] for n, number in zip(nodes, where, strict=True)}


def after(nodes: Sequence[NodeDef], where: str) -> dict[str, tuple[str, ...]]:
    graph, devices = group_control_edges(*step(nodes, where))
    assert devices.keys() == graph.nodes.keys()
    partition(graph, devices, device_set(4))  # checks what it makes
    return {n.name: n.control_inputs for n in graph.nodes.values()}


def test_what_runs_after_several_nodes_of_another_device_waits_for_one() -> None:
    nodes = [node("a"), node("b"), node("c"), node("last", after="abc")]
    found = after(nodes, "1110")
    assert found["_joined/0"] == ("a", "b", "c")
    assert found["last"] == ("_joined/0",)
    assert group_control_edges(*step(nodes, "1110"))[1]["_joined/0"] == CPU[1]
    # Each device has its own.
    nodes = [*map(node, "abcde"), node("last", after="abcde")]
    found = after(nodes, "112200")
    assert (found["_joined/0"], found["_joined/1"]) == (("a", "b"), ("c", "d"))
    assert found["last"] == ("e", "_joined/0", "_joined/1")
    # Equal sets share one.
    nodes = [node("a"), node("b"), node("x", after="ab"), node("y", after="ba")]
    found = after(nodes, "1100")
    assert (found["x"], found["y"]) == (("_joined/0",), ("_joined/0",))
    # A constant that is copied is not waited for.
    nodes = [node("c", op="Const", value=np.float32(1)), node("a"), node("x", after="ca")]
    assert after(nodes, "110")["x"] == ("c", "a")
    # Nothing changes where that saves no message.
    for nodes, where in (
        ([node("a"), node("b"), node("x", after="ab")], "000"),
        ([node("a"), node("x", after="a")], "10"),
        # Two messages as they are, and two if each set had its own.
        ([node("a"), node("b"), node("x", after="ab"), node("y", after="a")], "1100"),
    ):
        graph, devices = step(nodes, where)
        same, placed = group_control_edges(graph, devices)
        assert same is graph
        assert placed is devices


@st.composite
def orders(draw: st.DrawFn) -> list[tuple[int, list[int]]]:
    """For each node its device and the earlier nodes after which it runs."""
    return [
        (draw(st.integers(0, 2)), draw(st.lists(st.integers(0, i - 1), max_size=6)) if i else [])
        for i in range(draw(st.integers(2, 14)))
    ]


@given(orders())
def test_every_node_runs_after_all_it_ran_after_and_no_more_is_sent(drawn: list[tuple[int, list[int]]]) -> None:
    graph, ran = Graph(), list[int]()

    def note(i: int) -> Any:
        return lambda: ran.append(i) or np.zeros(3, np.float32)  # type: ignore[func-returns-value]

    made: list[Operation] = []
    for i, (device, earlier) in enumerate(drawn):
        with graph.device(f"/cpu:{device}"), graph.control_dependencies([made[j] for j in earlier]):
            made.append(call(graph, note(i), name=f"n{i}"))
    plain = Made(graph, targets=made, devices=3)
    grouped = Grouped(graph, targets=made, devices=3)
    assert grouped.run() == []
    assert sorted(ran) == list(range(len(drawn)))
    place = {i: position for position, i in enumerate(ran)}
    assert all(place[j] < place[i] for i, (_, earlier) in enumerate(drawn) for j in earlier)
    assert sent(grouped) == min(sent(plain), fewest(drawn))


def fewest(drawn: list[tuple[int, list[int]]]) -> int:
    """Messages if each pair of devices sends by set or by node, whichever are fewer."""
    sets: defaultdict[tuple[int, int], set[frozenset[int]]] = defaultdict(set)
    for device, earlier in drawn:
        for source in {drawn[j][0] for j in earlier} - {device}:
            sets[source, device].add(frozenset(j for j in earlier if drawn[j][0] == source))
    return sum(min(len(found), len(frozenset().union(*found))) for found in sets.values())


async def test_fifty_updates_on_another_task_are_awaited_with_one_message(graph: acts.Graph) -> None:
    with acts.device("/task:1"):
        variables = [acts.Variable(0.0, name=f"v{i}") for i in range(50)]
        updates = [v.assign_add(1.0).op for v in variables]
    with acts.device("/task:0"), acts.control_dependencies(updates):
        done = acts.constant(7.0)
        step_count = acts.Variable(0.0).assign_add(1.0)
    initializer = acts.global_variables_initializer()
    metadata = acts.RunMetadata()
    async with in_process() as cluster, acts.AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(initializer))
        options = acts.RunOptions(output_partition_graphs=True)
        assert await soon(session.run([done, step_count], options=options, run_metadata=metadata)) == [7.0, 1.0]
        assert await soon(session.run(variables)) == [1.0] * 50
    assert Counter(n.op for made in metadata.partition_graphs for n in made.nodes)[SEND] == 1


def test_level_l0_leaves_edges_as_they_are() -> None:
    with acts.device("/cpu:1"):
        first = [acts.random.uniform([]).op for _ in range(3)]
    with acts.device("/cpu:0"), acts.control_dependencies(first):
        last = acts.random.uniform([])
    for level, changes in ((OptLevel.L1, 1), (OptLevel.L0, 0)):
        options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=level))
        with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2}, graph_options=options)) as session:
            session.run(last)
            counted = {p.name: p.changes for p in session.statistics().graph_passes}
        assert counted["group_control_edges"] == changes


SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id"}


def collectives_of(metadata: acts.RunMetadata) -> list[Any]:
    graphs = metadata.partition_graphs
    assert graphs is not None
    nodes = [node for graph in graphs for node in graph.nodes]
    return [node for node in nodes if node.op == "CollectiveReduceV2"]


@pytest.mark.parametrize("ordered", [True, False])
def test_collectives_of_a_device_run_in_the_order_of_building_if_asked_to(graph: acts.Graph, *, ordered: bool) -> None:
    experimental = acts.config.Experimental(collective_deterministic_sequential_execution=ordered)
    group = acts.collective.Group(1)
    x = acts.placeholder("float32", [])
    sums = [acts.collective.all_reduce(x * float(i), group) for i in range(3)]
    config = acts.ConfigProto(experimental=experimental)
    options, metadata = acts.RunOptions(output_partition_graphs=True), acts.RunMetadata()
    with acts.Session(graph=graph, config=config) as session:
        found = session.run(sums[::-1], {x: 2.0}, options=options, run_metadata=metadata)
    assert found == [4.0, 2.0, 0.0]
    nodes = collectives_of(metadata)
    assert len(nodes) == 3
    names = [node.name for node in nodes]
    after = [[name for name in node.control_inputs if name in names] for node in nodes]
    assert after == ([[], names[:1], names[1:2]] if ordered else [[], [], []])


def test_a_value_is_copied_for_a_collective_only_if_the_caller_may_write_to_it(graph: acts.Graph) -> None:
    """The values of a collective go round after its node has run."""
    x = acts.placeholder("float32", [3])
    made, fetched = x * 2.0, x * 3.0
    sums = [raw.CollectiveReduceV2(v, 1, 1, i, [], **SUM) for i, v in enumerate([x, made, fetched])]
    code = Made(graph, [*sums, fetched, made + 1.0], [x]).linked[0].compiled.segments[0].lines
    assert ["own(" in line for line in code if "C.begin" in line] == [True, False, True]
