"""Generated code on a device: what it computes and holds on to, who may hold a value, how errors look."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, NodeDef, Operation, Tensor, ops
from actorsession.errors import InternalError, InvalidArgumentError
from actorsession.extend import Partition
from actorsession.graph.node import spec
from actorsession.plan.codegen import bind as link
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from actorsession.runtime.resources import ResourceManager
from tests.plan.kit import CPU, Made, NoStep, Step, call, node, scalar
from tests.rows import for_each


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [3], name="x")


def vector(*values: float) -> Any:
    return np.array(values, np.float32)


# -- binding ---------------------------------------------------------------------------------------


def test_kernels_are_made_once_per_plan_and_constants_computed_once(graph: Graph, x: Tensor) -> None:
    calls: list[str] = []

    def once() -> Any:
        calls.append("once")
        return vector(1, 2, 3)

    made = Made(graph, [x + call(graph, once, op="KitOnce").outputs[0]], [x])
    assert calls == ["once"]
    for _ in range(3):
        assert made.run(vector(1, 1, 1))[0].tolist() == [2, 3, 4]
    assert calls == ["once"]


def test_state_of_kernels_is_shared_by_the_plans_of_a_session(graph: Graph) -> None:
    """A generator of random numbers goes on where another plan left it."""
    graph.seed = 1
    draw = ops.random_uniform([2])
    fresh = Made(graph, [draw])
    first, second = fresh.run()[0].tolist(), fresh.run()[0].tolist()
    assert first != second
    states: dict[str, dict[str, Any]] = {}
    one, two = Made(graph, [draw], states=states), Made(graph, [draw + 0.0], states=states)
    assert one.run()[0].tolist() == first
    assert two.run()[0].tolist() == second


def test_variables_live_on_the_device(graph: Graph) -> None:
    v = ops.Variable(vector(1, 2, 3), name="v")
    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    Made(graph, targets=[v.assign_add(vector(1, 1, 1)).op], variables=variables).run()
    assert Made(graph, [v.value()], variables=variables).run()[0].tolist() == [2, 3, 4]


def test_segments_know_what_they_wait_for_and_who_waits_for_them(graph: Graph, x: Tensor) -> None:
    with graph.device("/cpu:1"):
        far = -x
    near = ops.exp(x)
    here = Made(graph, [near + far, near], [x], devices=2).linked[0]
    assert here.waits == [0, 2]
    assert here.followers == [[1], []]
    ((slot, _),) = here.compiled.recvs
    assert here.woken_by == {slot: [1]}


# -- the caller's own ------------------------------------------------------------------------------


def test_fetched_arrays_can_be_written_and_share_memory_with_nothing(graph: Graph, x: Tensor) -> None:
    v = ops.Variable(vector(4, 5, 6), name="v")
    k = ops.constant(vector(7, 8, 9))
    read = v.value()
    y = x * 2.0
    first, second, third = ops.split(y, 3)
    fetches = [
        x, k, read, y, ops.identity(y), ops.reshape(y, [3, 1]), y[1:], first, second, third, -y,
        ops.identity(x), ops.identity(read), ops.transpose(ops.reshape(x, [1, 3])), y,
    ]  # fmt: skip
    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    made = Made(graph, fetches, [x], variables=variables)
    given = vector(1, 2, 3)
    values = made.run(given)
    for i, value in enumerate(values):
        assert value.flags.writeable, fetches[i]
        assert not np.shares_memory(value, given), fetches[i]
        for j in range(i):
            assert not np.shares_memory(value, values[j]), (fetches[i], fetches[j])
    for value in values:
        value[...] = -1
    again = made.run(vector(1, 2, 3))
    assert [again[i].tolist() for i in (1, 2, 3)] == [[7, 8, 9], [4, 5, 6], [2, 4, 6]]
    assert given.tolist() == [1, 2, 3]


def test_what_is_fetched_is_not_what_was_stored(graph: Graph, x: Tensor) -> None:
    v = ops.Variable(vector(0, 0, 0), name="v")
    y = x * 2.0
    assign = ops.assign(v, y).op
    variables: dict[str, Any] = {}
    (fetched,) = Made(graph, [y], [x], [assign], variables=variables).run(vector(1, 2, 3))
    fetched[...] = -1
    (read,) = Made(graph, [v.value()], variables=variables).run()
    assert read.tolist() == [2, 4, 6]
    v = ops.Variable(vector(0, 0, 0), name="v")
    variables = {}
    for value in (x, ops.identity(x), ops.reshape(x, [3])):
        given = vector(1, 2, 3)
        Made(graph, [], [x], [ops.assign(v, value).op], variables=variables).run(given)
        given[...] = -1
        (read,) = Made(graph, [v.value()], variables=variables).run()
        assert read.tolist() == [1, 2, 3]


def test_an_owned_value_is_handed_over_without_a_copy(graph: Graph, x: Tensor) -> None:
    v = ops.Variable(vector(0, 0, 0), name="v")
    made_at: list[int] = []

    def make(value: Any) -> Any:
        result = value + 1
        made_at.append(result.ctypes.data)
        return result

    y = call(graph, make, x).outputs[0]
    variables: dict[str, Any] = {}
    Made(graph, [], [x], [ops.assign(v, y).op], variables=variables).run(vector(1, 2, 3))
    assert variables[CPU[0]].variable("", "v", spec("float32", [3])).read().ctypes.data == made_at[0]


def test_a_value_read_before_an_update_stays_what_it_was(graph: Graph) -> None:
    v = ops.Variable(vector(1, 2, 3), name="v")
    before = v.value()
    with graph.control_dependencies([before]):
        add = v.assign_add(vector(10, 10, 10)).op
    with graph.control_dependencies([add]):
        after = v.read_value()
    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    old, new = Made(graph, [before, after], variables=variables).run()
    assert old.tolist() == [1, 2, 3]
    assert new.tolist() == [11, 12, 13]


def test_scalars_leave_as_scalars_whatever_the_kernel_made(graph: Graph, x: Tensor) -> None:
    for shape in ((), None):
        boxed = call(graph, lambda v: np.array(v.sum()), x, shapes=[shape]).outputs[0]
        (value,) = Made(graph, [boxed], [x]).run(vector(1, 2, 3))
        assert type(value) is np.float32
        assert value == 6
    fed = ops.placeholder("float32", [])
    (value,) = Made(graph, [fed], [fed]).run(np.array(5, np.float32))
    assert type(value) is np.float32


def test_a_server_lends_what_it_encodes_at_once(graph: Graph, x: Tensor) -> None:
    given = vector(1, 2, 3)
    (value,) = Made(graph, [ops.identity(x)], [x], own_fetches=False).run(given)
    assert value is given


def watch(graph: Graph, *nodes: Tensor, alive: dict[str, Any], name: str) -> Operation:
    """A node that notes which of the watched arrays are alive when it runs."""
    refs: dict[str, Any] = alive.setdefault("refs", {})

    def look(*_: Any) -> Any:
        alive[name] = sorted(n for n, ref in refs.items() if ref() is not None)
        return vector(0, 0, 0)

    return call(graph, look, *nodes)


def watched(alive: dict[str, Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose result can be watched from outside."""

    def kernel(*args: Any) -> Any:
        result = function(*args)
        alive.setdefault("refs", {})[name] = weakref.ref(result)
        return result

    return kernel


def test_no_array_outlives_its_last_reader_or_its_step(graph: Graph, x: Tensor) -> None:
    alive: dict[str, Any] = {}
    a = call(graph, watched(alive, "a", lambda v: v + 1), x).outputs[0]
    b = call(graph, watched(alive, "b", lambda v: v + 1), a).outputs[0]
    made = Made(graph, [b], [x])
    given = vector(0, 0, 0)
    before = sys.getrefcount(given)
    (value,) = made.linked[0].segments[0].function(NoStep(), given)
    assert sys.getrefcount(given) == before
    assert [ref() is not None for ref in alive["refs"].values()] == [False, True]
    del value
    assert [ref() for ref in alive["refs"].values()] == [None, None]
    # An array is gone when its last reader has run.
    alive = {}
    a = call(graph, watched(alive, "a", lambda v: v + 1), x).outputs[0]
    b = call(graph, watched(alive, "b", lambda v: v + 1), a).outputs[0]
    one = watch(graph, b, alive=alive, name="after b")
    c = call(graph, watched(alive, "c", np.add), b, one.outputs[0]).outputs[0]
    made = Made(graph, [c], [x], [watch(graph, c, alive=alive, name="after c")])
    (result,) = made.run(vector(0, 0, 0))
    assert alive["after b"] == ["b"]
    assert alive["after c"] == ["c"]
    assert result.tolist() == [2, 2, 2]


def test_an_unread_output_does_not_keep_a_variable_from_changing_in_place(graph: Graph) -> None:
    """The read hands out the variable's own array; somebody who held it would force a copy."""
    v = ops.Variable(vector(1, 2, 3), name="v")
    read = v.value()
    with graph.control_dependencies([read]):
        add = v.assign_add(vector(1, 1, 1)).op
    variables: dict[str, Any] = {}
    Made(graph, targets=[v.initializer], variables=variables).run()
    holder = variables[CPU[0]].variable("", "v", spec("float32", [3]))
    address = holder.read().ctypes.data
    Made(graph, targets=[add, read.op], variables=variables).run()
    assert holder.read().tolist() == [2, 3, 4]
    assert holder.read().ctypes.data == address


# -- errors and their place ------------------------------------------------------------------------


def failing(graph: Graph, x: Tensor) -> tuple[Made, Operation]:
    def fail(value: Any) -> Any:
        raise InvalidArgumentError("no such luck")

    bad = call(graph, fail, -x, name="bad")
    return Made(graph, [bad.outputs[0]], [x]), bad


@pytest.mark.parametrize("traced", [False, True])
def test_a_traceback_shows_the_node_and_the_users_line(graph: Graph, x: Tensor, traced: bool) -> None:
    made, bad = failing(graph, x)
    with pytest.raises(InvalidArgumentError) as caught:
        Step(made, [vector(1, 2, 3)], traced=traced).run()
    shown = "".join(traceback.format_exception(caught.value))
    assert f"# bad (KitCall) {bad.source}" in shown
    assert bad.source.startswith(str(Path(__file__).parent))


@pytest.mark.parametrize("traced", [False, True])
def test_the_line_of_an_error_leads_to_its_node(graph: Graph, x: Tensor, traced: bool) -> None:
    made, _ = failing(graph, x)
    with pytest.raises(InvalidArgumentError) as caught:
        Step(made, [vector(1, 2, 3)], traced=traced).run()
    (linked,) = made.linked[0].segments
    (frame,) = [f for f in traceback.extract_tb(caught.tb) if f.name == "segment_0"]
    assert frame.filename == (linked.traced_filename if traced else linked.filename)
    node = linked.node_at(frame.filename, frame.lineno or 0)
    assert node is not None
    assert made.parts[0].nodes[node].name == "bad"


def test_lines_that_belong_to_no_node_lead_nowhere(graph: Graph, x: Tensor) -> None:
    (linked,) = Made(graph, [-x], [x]).linked[0].segments
    assert linked.node_at(linked.filename, 1) is None, "the head"
    assert linked.node_at(linked.filename, 2) is not None
    for line in (0, -1, 99):
        assert linked.node_at(linked.filename, line) is None
    # Two plans of one graph have files of their own.
    y = -x
    one, two = (Made(graph, [y], [x]).linked[0].segments[0] for _ in range(2))
    assert one.filename != two.filename


def test_plans_with_the_same_code_share_what_is_compiled_and_have_a_file_each(graph: Graph, x: Tensor) -> None:
    y = -x
    link._compiled.cache_clear()
    made = [Made(graph, [y], [x]) for _ in range(3)]
    assert link._compiled.cache_info()[:2] == (2, 1)
    for each in made:
        (linked,) = each.linked[0].segments
        function: Any = linked.function
        assert function.__code__.co_filename == linked.filename


def test_the_source_is_shown_as_long_as_the_plan_lives(graph: Graph, x: Tensor) -> None:
    made = Made(graph, [-x], [x])
    made.linked[0].traced(0)
    (linked,) = made.linked[0].segments
    files = [linked.filename, linked.traced_filename]
    assert all(CPU[0] in file for file in files)
    linecache.checkcache()
    assert linecache.getline(files[0], 2) == f"{linked.segment.lines[1]}\n"
    assert linecache.getline(files[1], 2).strip() == "t = clock()"
    del made, linked
    gc.collect()
    assert [linecache.getline(file, 1) for file in files] == ["", ""]
    assert not any(file in linecache.cache for file in files)


def test_traced_code_notes_every_node_with_its_value(graph: Graph, x: Tensor) -> None:
    y = call(graph, lambda v: v * 2, x, name="y").outputs[0]
    made = Made(graph, [y], [x], [call(graph, lambda v: None, y, name="done", shapes=())])
    step = Step(made, [vector(1, 2, 3)], traced=True)
    (value,) = step.run()
    assert value.tolist() == [2, 4, 6]
    assert [name for name, _ in step.parts[0].notes] == ["y", "done"]
    assert step.parts[0].notes[0][1].tolist() == [2, 4, 6]
    assert step.parts[0].notes[1][1] is None


def test_plain_code_notes_nothing_and_traced_code_is_made_once(graph: Graph, x: Tensor) -> None:
    made = Made(graph, [-x], [x])
    step = Step(made, [vector(1, 2, 3)])
    step.run()
    assert step.parts[0].notes == []
    assert made.linked[0].segments[0].traced_function is None
    assert made.linked[0].traced(0) is made.linked[0].traced(0)
    z = call(graph, np.negative, call(graph, np.negative, x, op="KitDear").outputs[0], op="KitDear").outputs[0]
    for traced in (False, True):
        step = Step(Made(graph, [z], [x]), [vector(1, 2, 3)], traced=traced)
        step.run()
        assert step.parts[0].checks == 2


# -- the room --------------------------------------------------------------------------------------


def test_no_module_of_the_room_imports_asyncio() -> None:
    """Passes are plain functions; whoever waits for them decides how."""
    for file in Path(link.__file__).parent.glob("*.py"):
        for item in ast.walk(ast.parse(file.read_text())):
            if isinstance(item, ast.Import):
                assert "asyncio" not in [alias.name for alias in item.names], file
            elif isinstance(item, ast.ImportFrom):
                assert item.module != "asyncio", file
            assert not isinstance(item, (ast.AsyncFunctionDef, ast.Await)), file


NODE = node("n", "a", "b", op="AddV2", axis=3)


CONSTANT = np.float32(2)


BARE = NodeContext(NODE, (scalar, scalar), (None, np.asarray(CONSTANT)), CPU[0])


def test_a_context_shows_the_node() -> None:
    assert (BARE.name, BARE.op, BARE.device) == ("n", "AddV2", CPU[0])
    assert BARE.attrs == {"axis": 3}
    assert BARE.inputs == (scalar, scalar)
    assert BARE.outputs == (scalar,)
    assert BARE.constant(0) is None
    assert BARE.constant(1) == 2
    # Code is generated without resources and state.
    with pytest.raises(InternalError, match="'n' requests resources while code is generated"):
        BARE.resources  # noqa: B018
    with pytest.raises(InternalError, match="'n' requests its state while code is generated"):
        BARE.state(list)
    # Bound to a device it has both.
    host, states = ResourceManager(), {"other": 1}
    bound = BARE.bound(host, states)
    assert bound.resources is host
    assert (bound.node, bound.inputs, bound.device) == (NODE, BARE.inputs, CPU[0])
    assert bound.constant(1) == 2
    # State is made once for all plans of a session.
    states = {}
    one, two = (BARE.bound(ResourceManager(), states) for _ in range(2))
    made = one.state(list)
    assert two.state(dict) is made
    assert states == {"n": made}


def flow(*nodes: NodeDef, fetches: tuple[str, ...] = ()) -> UseDef:
    refs = tuple((i, name, 0) for i, name in enumerate(fetches))
    return UseDef(Partition(CPU[0], nodes, refs))


def ref(of: UseDef, name: str) -> Ref:
    return next(i for i, n in enumerate(of.nodes) if n.name == name), 0


FEED = node("x", op=ARG, index=0, outputs=(spec("float32", [3]),))


ARRIVAL = node("r", op=RECV, key="k", outputs=(spec("float32", [3]),))


K = node("k", op="Const", value=1.0)


SUM = node("y", "x", "x", op="AddV2", outputs=(spec("float32", [3]),))


def test_nodes_are_numbers_and_values_are_pairs() -> None:
    made = flow(FEED, K, SUM, node("z", "y", after=["k"]), fetches=("z",))
    assert made.inputs == [(), (), ((0, 0), (0, 0)), ((2, 0),)]
    assert made.before == [(), (), (0, 0), (2, 1)]
    assert made.uses == {(0, 0): 2, (2, 0): 1}
    assert made.fetches == ((0, (3, 0)),)
    assert made.outside == [True, False, False, False]
    assert made.once == [False, True, False, False]
    made = flow(FEED, K, node("y", "x", "k", op="AddV2"))
    context = made.context(2)
    assert context.inputs == (spec("float32", [3]), spec("float32", ()))
    assert context.constant(0) is None
    assert context.constant(1) == 1.0
    assert context.device == CPU[0]


def test_what_an_op_makes_in_this_step_is_owned() -> None:
    made = flow(FEED, SUM)
    assert made.owned(ref(made, "y"))
    # What is made once for a plan is not owned even if it aliases nothing.
    made = flow(call(Graph(), lambda: None, op="KitOnce", name="o").plain)
    assert made.once == [True]
    assert not made.owned((0, 0))


@for_each(
    "maker, why",
    [
        (FEED, "the caller has it"),
        (ARRIVAL, "its sender may have it"),
        (node("i", "x"), "an identity is its input"),
        (K, "the plan has it"),
    ],
)
def test_what_somebody_else_may_have_is_not(maker: NodeDef, why: str) -> None:
    nodes = (maker,) if maker is FEED else (FEED, maker)
    made = flow(*nodes)
    assert not made.owned(ref(made, maker.name)), why


def test_what_is_sent_may_be_held_after_the_step() -> None:
    one = node("one", "y")
    assert flow(FEED, SUM, one).has_one_use((1, 0))
    assert not flow(FEED, SUM, node("two", "y", "y", op="AddV2")).has_one_use((1, 0))
    assert not flow(FEED, SUM, one, node("two", "y")).has_one_use((1, 0))
    assert not flow(FEED, SUM, one, fetches=("y",)).has_one_use((1, 0))
    # What is sent may be held after the step.
    send = node("s", "y", op=SEND, key="k", outputs=())
    assert flow(FEED, SUM, send, fetches=("y",)).is_held((1, 0))
    # So may a view of it where anything is sent.
    view, send = node("v", "y"), node("s", "v", op=SEND, key="k", outputs=())
    assert flow(FEED, SUM, view, send, fetches=("y",)).is_held((1, 0))
    assert not flow(FEED, SUM, view, fetches=("y",)).is_held((1, 0))
    # What is only read is held by nobody.
    send = node("s", "z", op=SEND, key="k", outputs=())
    made = flow(FEED, SUM, node("z", "y", "y", op="AddV2"), send, fetches=("y", "z"))
    assert not made.is_held((1, 0))
    assert made.is_held((2, 0))


def test_rank_0_is_known_or_not() -> None:
    shapes = {"s": (), "v": (3,), "u": None}
    made = flow(*[node(n, op=ARG, index=0, outputs=(spec("int8", s),)) for n, s in shapes.items()])
    assert [made.is_scalar((i, 0)) for i in range(3)] == [True, False, False]
