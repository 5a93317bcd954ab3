"""The debugger without a session: debug ops, decorated graphs, states and the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, GraphDef, RunOptions, Tensor, as_dtype, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import InvalidArgumentError
from actorsession.extend import RunSignature
from actorsession.runtime.debug.debug_op import debug_op
from actorsession.runtime.debug.dump import ENTRY_BYTES, DumpStore
from actorsession.runtime.debug.graph import DebugGraphDecorator
from actorsession.runtime.debug.graph import decorated as add_debug_nodes
from actorsession.runtime.debug.sinks import sink_for
from actorsession.runtime.debug.task_debugger import TaskWatches
from actorsession.runtime.debug.watched_step import DebugRunDef
from tests.rows import for_each
from tests.runtime.kit import Loaded
from tests.session.debugger_kit import debug_sink, registered

INF, NAN = np.inf, np.nan


def kept(text: str, value: Any) -> Any:
    array = np.asarray(value)
    return debug_op(text).apply(array, as_dtype(array.dtype))


def as_any(value: Any) -> Any:
    """A value of a wrong type, past the type checker."""
    return value


# -- settings --------------------------------------------------------------------------------------
@for_each(
    "make, said",
    [
        (lambda: DebugTensorWatch(node_name=""), "node_name must be the name of a node, got ''"),
        (lambda: DebugTensorWatch(node_name="x", output_slot=-2), "output_slot must be at least -1"),
        (lambda: DebugTensorWatch(node_name="x", debug_ops="DebugIdentity"), "list of strings"),
        (lambda: DebugTensorWatch(node_name="x", debug_ops=[]), "debug_ops must name at least one"),
        (lambda: DebugTensorWatch(node_name="x", debug_urls=()), "debug_urls must name at least one"),
        (lambda: DebugOptions(break_on="nan"), "break_on must be 'nan_or_inf'"),
        (lambda: DebugOptions(break_exclude="log"), "break_exclude must be a list of strings"),
        (lambda: DebugOptions(run_byte_usage_limit=-1), "run_byte_usage_limit must be at least 0"),
        (lambda: DebugTensorWatch(node_name="x", debug_ops=as_any(3)), "list of strings, got 3"),
    ],
    ids=range(9),
)
def test_settings_that_make_no_sense_are_refused(make: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        make()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("debug_tensor_watch_opts", ["x"], "debug_tensor_watch_opts must contain DebugTensorWatch"),
        ("disk_byte_usage_limit", "1", "disk_byte_usage_limit must be of type int, got '1'"),
        ("raise_sink_errors", "no", "raise_sink_errors must be of type bool, got 'no'"),
    ],
)
def test_settings_of_a_wrong_type_are_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        DebugOptions(**{field: value})


def test_debug_options_travel_and_come_back() -> None:
    watches = [DebugTensorWatch(node_name="x", debug_ops=["DebugNanCount"])]
    asked = DebugOptions(debug_tensor_watch_opts=watches, break_on="nan_or_inf", break_exclude=["log*"], global_step=3)
    options = RunOptions(debug_options=asked)
    assert RunOptions.from_wire(options.to_wire()) == options


def test_options_that_ask_for_nothing_are_not_active() -> None:
    assert not DebugOptions(global_step=3).active
    assert DebugOptions(break_on="nan_or_inf").active


# -- debug ops: the numbers are TensorFlow's for the same values ------------------------------------
def test_a_value_is_kept_as_a_copy_that_nobody_can_change() -> None:
    value = np.array([1, 2], np.float32)
    found = kept("DebugIdentity", value)
    value[0] = 9
    assert found.tolist() == [1, 2]
    assert not found.flags.writeable


@for_each(
    "value, count",
    [
        (np.array([1, NAN, NAN], np.float32), 2),
        (np.array([1, NAN], ml_dtypes.bfloat16), 1),
        (np.array([1, 2], np.int32), 0),
        (np.array([True]), 0),
        (np.array([complex(0, NAN), 1], np.complex64), 1),
    ],
    ids=["float32", "bfloat16", "int32", "bool", "complex64"],
)
def test_nans_are_counted(value: Any, count: int) -> None:
    found = kept("DebugNanCount", value)
    assert found.dtype == np.int64
    assert found.tolist() == [count]


@for_each(
    "value, summary",
    [
        ([2.5, -INF, NAN], [1, 3, 1, 1, 0, 0, 1, 0, 2.5, 2.5, 2.5, 0, 1, 1, 3]),
        ([2, 0, -4], [1, 3, 0, 0, 1, 1, 1, 0, -4, 2, -2 / 3, 6.22222222, 1, 1, 3]),
        (np.array([-1, 2, 0], np.int32), [1, 3, 0, 0, 1, 1, 1, 0, -1, 2, 1 / 3, 1.55555556, 3, 1, 3]),
        (np.array([True, False]), [1, 2, 0, 0, 0, 1, 1, 0, 0, 1, 0.5, 0.25, 10, 1, 2]),
        ([], [1, 0, 0, 0, 0, 0, 0, 0, INF, -INF, NAN, NAN, 1, 1, 0]),
        ([NAN, NAN], [1, 2, 2, 0, 0, 0, 0, 0, INF, -INF, NAN, NAN, 1, 1, 2]),
        ([-INF, -INF], [1, 2, 0, 2, 0, 0, 0, 0, INF, -INF, NAN, NAN, 1, 1, 2]),
        (2.5, [1, 1, 0, 0, 0, 0, 1, 0, 2.5, 2.5, 2.5, 0, 1, 0]),
        (np.ones((2, 1), np.float16), [1, 2, 0, 0, 0, 0, 2, 0, 1, 1, 1, 0, 19, 2, 2, 1]),
        (np.ones(1, ml_dtypes.bfloat16), [1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 14, 1, 1]),
    ],
    ids=["unhealthy", "healthy", "int32", "bool", "empty", "nan", "inf", "scalar", "half", "bfloat16"],
)
def test_a_numeric_summary_has_counts_moments_type_and_shape(value: Any, summary: Any) -> None:
    array = np.asarray(value, np.float32 if isinstance(value, (list, float)) else None)
    np.testing.assert_allclose(kept("DebugNumericSummary", array), summary, rtol=1e-6)


def test_bounds_of_a_summary_are_part_of_what_they_bound() -> None:
    value = np.array([2, 0, -4], np.float32)
    found = kept("DebugNumericSummary(lower_bound=-4.0; upper_bound = 2.0)", value)
    assert found[2:8].tolist() == [0, 1, 0, 1, 0, 1]
    assert found[8:10].tolist() == [-4, 2]


def test_a_muted_summary_speaks_only_of_what_is_unhealthy() -> None:
    mute = "DebugNumericSummary(mute_if_healthy=true)"
    assert kept(mute, np.array([1.0, 2.0])) is None
    assert kept(mute, np.array([1.0, NAN]))[2] == 1
    assert kept("DebugNumericSummary(mute_if_healthy=true;upper_bound=1)", np.ones(2))[7] == 2


@for_each(
    "text, said",
    [
        ("DebugIdentidy", "there is no debug op 'DebugIdentidy'.*did you mean DebugIdentity"),
        ("DebugIdentity(a=1)", "has no setting 'a'; its settings are: none"),
        ("DebugNumericSummary(foo=1)", "settings are: lower_bound, upper_bound, mute_if_healthy"),
        ("DebugNumericSummary(lower_bound=abc)", "lower_bound.* is a number, got 'abc'"),
        ("DebugNumericSummary(mute_if_healthy=2)", "is true or false, got '2'"),
    ],
)
def test_a_debug_op_that_does_not_exist_is_refused_with_what_does(text: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        debug_op(text)


# -- decorated graphs ------------------------------------------------------------------------------
def chain() -> tuple[Graph, Tensor, Tensor]:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [None], name="x")
        with graph.device("/cpu:0"):
            y = ops.add(x, x, name="y")
        with graph.device("/cpu:1"):
            z = ops.log(y, name="z")
    return graph, x, z


def decorated(graph: Graph, x: Tensor, z: Tensor, options: DebugOptions) -> tuple[DebugGraphDecorator, list[list[str]]]:
    loaded = Loaded(graph, [z], [x], devices=2)
    known = {op.name: op.plain for op in graph.get_operations()}
    decorator = DebugGraphDecorator(options, RunSignature((x.name,), (z.name,)), known)
    parts = add_debug_nodes(loaded.parts, decorator)
    return decorator, [[n.name for n in part.nodes] for part in parts]


def test_a_watch_stands_behind_its_node_and_before_the_value_leaves() -> None:
    options = DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="y")])
    _, (first, second) = decorated(*chain(), options)
    at = first.index("y")
    assert first[at + 1] == "__dbg_y:0"
    assert first[at + 2].startswith("_send/")
    assert not any(name.startswith("__dbg") for name in second)


def test_a_tensor_that_travels_or_is_copied_is_watched_once() -> None:
    everything = DebugTensorWatch(node_name="*", output_slot=-1)
    decorator, _ = decorated(*chain(), DebugOptions(debug_tensor_watch_opts=[everything]))
    names = [p.tensor_name for p in decorator.points if not hasattr(p, "outputs")]
    assert names == ["x:0", "y:0", "z:0"]


def test_two_watches_of_a_tensor_are_joined() -> None:
    watches = [
        DebugTensorWatch(node_name="z"),
        DebugTensorWatch(node_name="z", debug_urls=["sink://a", "memory://"]),
        DebugTensorWatch(node_name="*", output_slot=-1, debug_ops=["DebugNanCount"]),
    ]
    decorator, _ = decorated(*chain(), DebugOptions(debug_tensor_watch_opts=watches))
    point = next(p for p in decorator.points if getattr(p, "tensor_name", "") == "z:0")
    wants = [(op.name, urls) for op, urls in point.wants]  # type: ignore[union-attr]
    assert wants == [("DebugIdentity", ("memory://", "sink://a")), ("DebugNanCount", ("memory://",))]


def test_the_parts_that_are_decorated_stay_as_they_were() -> None:
    graph, x, z = chain()
    loaded = Loaded(graph, [z], [x], devices=2)
    before = [part.nodes for part in loaded.parts]
    decorated(graph, x, z, DebugOptions(break_on="nan_or_inf"))
    assert [part.nodes for part in loaded.parts] == before


def test_a_node_of_the_debuggers_kind_in_a_users_graph_does_nothing_but_fail() -> None:
    with Graph().as_default() as graph:
        x = ops.constant(1.0)
        graph.create_op("_DebugWatch", [x], attrs={"number": 0}, name="spy")
        with graph.control_dependencies([graph.get_operation_by_name("spy")]):
            y = ops.identity(x)
    with pytest.raises(InvalidArgumentError, match="'spy' is the debugger's"):
        Loaded(graph, [y]).run_once()


# -- where values go -------------------------------------------------------------------------------
@for_each(
    "url, said",
    [
        ("http://x", "'http://x' has no scheme that is known: use memory://, file:///directory or"),
        ("memory", "has no scheme that is known"),
        ("memory://x", "memory:// names no place"),
        ("file://host/dir", "names no directory of this machine"),
        ("file://", "names no directory of this machine"),
        ("sink://nobody", "no debug sink is registered for 'sink://nobody'; registered: none"),
    ],
)
def test_a_place_that_cannot_be_is_refused_with_what_can(url: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        sink_for(url, DumpStore(), DebugOptions())


def test_a_name_is_registered_once_and_forgotten_once() -> None:
    with debug_sink("a.b-c_1", print), pytest.raises(KeyError, match="registered already"):
        acts.debugging.register_debug_sink("a.b-c_1", repr)
    with pytest.raises(KeyError, match="no debug sink"):
        acts.debugging.unregister_debug_sink("a.b-c_1")
    with pytest.raises(ValueError, match="letters, digits"):
        acts.debugging.register_debug_sink("a/b", print)


def dump(value: Any) -> acts.debugging.DebugDump:
    return acts.debugging.DebugDump(
        node_name="n",
        output_slot=0,
        device_name="d",
        debug_op="DebugIdentity",
        op_type="Add",
        value=np.asarray(value),
        timestamp=0.0,
        global_step=-1,
        session_run_index=0,
        executor_step_index=0,
    )


def test_the_store_takes_what_fits_and_a_scalar_is_not_for_nothing() -> None:
    store = DumpStore()
    limit = ENTRY_BYTES * 2 + 16
    assert [store.keep(dump(1.0), limit) for _ in range(3)] == [True, True, False]
    store.clear()
    assert store.keep(dump(1.0), limit)
    assert len(store.dumps()) == 1


def test_strings_count_with_what_they_hold() -> None:
    assert dump(np.array([b"a" * 1000], object)).nbytes > 1000


# -- states ----------------------------------------------------------------------------------------
@pytest.fixture
def no_factory() -> Iterator[None]:
    with registered(acts.debugging.DebuggerStateRegistry, None):
        yield


@pytest.mark.usefixtures("no_factory")
def test_the_registered_factory_makes_the_states() -> None:
    made: list[DebugOptions] = []

    class Mine(acts.debugging.DebuggerState):
        pass

    def factory(options: DebugOptions) -> acts.debugging.DebuggerState:
        made.append(options)
        return Mine()

    assert acts.debugging.DebuggerStateRegistry.register_factory(factory) is None
    options = DebugOptions(global_step=1)
    assert isinstance(acts.debugging.DebuggerStateRegistry.create_state(options), Mine)
    assert made == [options]
    assert acts.debugging.DebuggerStateRegistry.register_factory(None) is factory


@pytest.mark.usefixtures("no_factory")
def test_without_a_factory_the_default_counts_and_without_both_none() -> None:
    default = acts.debugging.DebuggerState()
    assert acts.debugging.DebuggerStateRegistry.create_state(DebugOptions(), lambda _: default) is default
    with pytest.raises(InvalidArgumentError, match="no debugger state factory is registered"):
        acts.debugging.DebuggerStateRegistry.create_state(DebugOptions())


@pytest.mark.usefixtures("no_factory")
def test_a_factory_that_makes_something_else_is_told_so() -> None:
    wrong: Sequence[Any] = [lambda options: 3]
    acts.debugging.DebuggerStateRegistry.register_factory(wrong[0])
    with pytest.raises(InvalidArgumentError, match="makes a DebuggerState, this one made 3"):
        acts.debugging.DebuggerStateRegistry.create_state(DebugOptions())


# -- decorators ------------------------------------------------------------------------------------
@pytest.fixture
def no_decorator_factory() -> Iterator[None]:
    with registered(acts.debugging.DebugGraphDecoratorRegistry, None):
        yield


def default_decorator() -> DebugGraphDecorator:
    return DebugGraphDecorator(DebugOptions(break_on="nan_or_inf"), RunSignature(), {})


@pytest.mark.usefixtures("no_decorator_factory")
def test_the_registered_factory_makes_the_decorators_and_gets_the_default() -> None:
    class Mine(acts.debugging.DebugGraphDecoratorInterface):
        def decorate_graph(self, graph_def: GraphDef, device: str) -> GraphDef:
            return graph_def

    given: list[Any] = []

    def factory(
        options: DebugOptions, default: acts.debugging.DebugGraphDecoratorInterface
    ) -> acts.debugging.DebugGraphDecoratorInterface:
        given.append((options, default))
        return Mine()

    default = default_decorator()
    create = acts.debugging.DebugGraphDecoratorRegistry.create_decorator
    assert create(default.options, default) is default
    assert acts.debugging.DebugGraphDecoratorRegistry.register_factory(factory) is None
    assert isinstance(create(default.options, default), Mine)
    assert given == [(default.options, default)]
    assert acts.debugging.DebugGraphDecoratorRegistry.register_factory(None) is factory
    assert acts.debugging.DebuggerStateRegistry.register_factory(None) is None  # the registries are two


@pytest.mark.usefixtures("no_decorator_factory")
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (3, "makes a DebugGraphDecoratorInterface, this one made 3"),
        ("no graph", "Odd.decorate_graph returns a GraphDef, got"),
    ],
)
def test_a_decorator_factory_that_makes_something_else_is_told_so(made: Any, said: str) -> None:
    class Odd(acts.debugging.DebugGraphDecoratorInterface):
        def decorate_graph(self, graph_def: GraphDef, device: str) -> Any:
            return made

    wrong: Any = lambda options, default: made if isinstance(made, int) else Odd()  # noqa: E731
    acts.debugging.DebugGraphDecoratorRegistry.register_factory(wrong)
    graph, x, z = chain()
    with pytest.raises(InvalidArgumentError, match=said):
        add_debug_nodes(Loaded(graph, [z], [x], devices=2).parts, default_decorator())


# -- watches of a cluster --------------------------------------------------------------------------
def test_the_watches_of_a_task_travel_and_come_back() -> None:
    watches = TaskWatches(
        options=DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="x")]),
        feeds=("x:0",),
        fed_types={"x:0": "Placeholder", "y:0": "AddV2"},
        elsewhere=("c:0",),
        signature=RunSignature(("x:0", "y:0"), ("z:0",), ("t",)),
    )
    assert TaskWatches.from_wire(watches.to_wire()) == watches


def test_a_debugged_run_travels_without_what_belongs_to_its_plan() -> None:
    options = DebugOptions(
        debug_tensor_watch_opts=[DebugTensorWatch(node_name="x")], global_step=3, raise_sink_errors=True
    )
    run = DebugRunDef(session_run_index=1, executor_step_index=2, options=options, all_values=True)
    there = DebugRunDef.from_wire(run.to_wire())
    assert there.options == DebugOptions(global_step=3, raise_sink_errors=True)
    assert (there.session_run_index, there.executor_step_index, there.all_values) == (1, 2, True)


def test_a_key_names_device_tensor_and_debug_op() -> None:
    key = acts.debugging.DebugNodeKey("/job:a/replica:0/task:0/device:CPU:0", "n", 1, "DebugNanCount")
    assert key.debug_node_name == "n:1:DebugNanCount"
    assert str(key) == "/job:a/replica:0/task:0/device:CPU:0;n:1:DebugNanCount"
    assert dump(1.0).key == acts.debugging.DebugNodeKey("d", "n", 0, "DebugIdentity")
