"""Python functions as nodes: what they get, what may come back, how they fail and how long they live."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import (
    AsyncSession,
    Graph,
    GraphDef,
    LocalCluster,
    Operation,
    Session,
    Tensor,
    as_dtype,
    async_py_func,
    float32,
    float64,
    int32,
    ops,
    py_func,
    string,
)
from actorsession.config import ConfigProto, RunMetadata, RunOptions, TraceLevel
from actorsession.errors import (
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OperatorNotAllowedInGraphError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from actorsession.graph.codec import pack, unpack
from actorsession.graph.dtypes import resource
from actorsession.ops.flow import script
from tests.cluster.kit import eventually, in_process, soon
from tests.nodes import make_one
from tests.ops.cases import run
from tests.rows import for_each, refused, refused_later


def returned(value: Any, dtype: Any = "float32") -> Any:
    """What a session gives for a function that returns ``value``."""
    return run(py_func(lambda: value, [], dtype))


# -- building --------------------------------------------------------------------------------------


def test_one_dtype_gives_a_tensor_of_unknown_shape() -> None:
    y = py_func(lambda x: x, [1.0], float32)
    assert isinstance(y, Tensor)
    assert (y.dtype, y.shape.rank, y.name, y.op.type) == (float32, None, "PyFunc:0", "PyFunc")


def test_a_list_of_dtypes_gives_a_list_of_tensors() -> None:
    one = py_func(lambda: 1, [], [int32])
    two = py_func(lambda: (1, 2), [], ("int32", np.float64))
    assert isinstance(one, list)
    assert isinstance(two, list)
    assert [t.dtype for t in (*one, *two)] == [int32, int32, float64]


@pytest.mark.parametrize("nothing", [[], ()], ids=str)
def test_no_dtype_gives_the_operation(nothing: Any) -> None:
    op = py_func(lambda: None, [], nothing)
    assert isinstance(op, Operation)
    assert run(op) is None


def test_what_is_not_stateful_has_a_type_of_its_own() -> None:
    y = py_func(lambda: 1.0, [], float32, stateful=False)
    assert isinstance(y, Tensor)
    assert (y.op.type, y.op.op_def.stateful) == ("PyFuncStateless", False)


def test_plain_inputs_become_constants_named_after_the_node() -> None:
    y = py_func(lambda *x: x, [1.0, "a", [1, 2]], float32, name="f")
    assert isinstance(y, Tensor)
    assert (y.name, [t.name for t in y.op.inputs]) == ("f:0", ["f/input_0:0", "f/input_1:0", "f/input_2:0"])
    assert [t.dtype.name for t in y.op.inputs] == ["float32", "string", "int32"]


@for_each(
    "arguments, error, said",
    [
        ((3, [], "float32"), ValueError, "can be called; got 3 of type int"),
        ((abs, None, "float32"), TypeError, "not iterable"),
        ((abs, [], None), TypeError, "cannot convert None to a dtype"),
        ((abs, [], "nope"), TypeError, "cannot convert 'nope' to a dtype"),
    ],
    ids=["function", "inputs", "none", "dtype"],
)
def test_bad_arguments_add_nothing(graph: Graph, arguments: Any, error: type[Exception], said: str) -> None:
    refused(lambda: py_func(*arguments), error, said)
    assert graph.get_operations() == []


def test_a_tensor_is_no_list_of_inputs() -> None:
    refused(lambda: py_func(abs, ops.constant([1.0]), float32), OperatorNotAllowedInGraphError)  # type: ignore[arg-type]


def test_a_resource_is_no_input() -> None:
    handle = ops.placeholder(resource, [])
    refused(lambda: py_func(abs, [handle], float32), TypeError, r"PyFunc takes .* got resource")


def test_no_gradient_flows_through() -> None:
    x = ops.placeholder("float32", [])
    assert ops.gradients(py_func(lambda v: v, [x], float32), x) == [None]


# -- what the function gets ------------------------------------------------------------------------


def test_the_function_gets_arrays_and_for_rank_0_scalars() -> None:
    got: list[Any] = []
    inputs = [
        ops.constant([1.0, 2.0]),
        ops.constant(3.0),
        ops.constant("abc"),
        ops.constant(["a", "bc"]),
        ops.constant(True),
        ops.cast(ops.constant([1.0]), "bfloat16"),
        ops.constant(1 + 2j),
    ]
    run(py_func(lambda *x: got.extend(x), inputs, []))
    kinds = [np.ndarray, np.float32, bytes, np.ndarray, np.bool_, np.ndarray, np.complex128]
    assert ([type(x) for x in got], got[2]) == (kinds, b"abc")
    assert (got[3].dtype, got[3].tolist(), got[5].dtype) == (np.dtype(object), [b"a", b"bc"], ml_dtypes.bfloat16)


def test_the_function_may_change_what_it_gets_and_nobody_notices() -> None:
    fed = np.array([1, 2], np.float32)
    x, k = ops.placeholder("float32", [2]), ops.constant([3.0, 4.0])
    state = ops.Variable([5.0, 6.0])

    def spoil(*arrays: Any) -> Any:
        for array in arrays:
            array[...] = 99
        return arrays

    spoilt = py_func(spoil, [x, k, state], [float32] * 3)
    with Session() as session:
        session.run(state.initializer)
        for _ in range(2):
            values, rest = session.run([spoilt, [x, k, state]], {x: fed})
            np.testing.assert_array_equal(values, np.full((3, 2), 99))
            np.testing.assert_array_equal(rest, [[1, 2], [3, 4], [5, 6]])
        np.testing.assert_array_equal(session.run(state), [5, 6])
    np.testing.assert_array_equal(fed, [1, 2])


def test_an_array_that_is_not_contiguous_arrives_as_it_is() -> None:
    x = ops.transpose(ops.constant(np.arange(6.0).reshape(2, 3)))[::-1]
    np.testing.assert_array_equal(run(py_func(lambda v: v, [x], float64)), np.arange(6.0).reshape(2, 3).T[::-1])


def test_a_stateful_function_runs_once_in_each_step_and_each_node() -> None:
    calls: list[int] = []

    def count(x: Any) -> Any:
        calls.append(1)
        return x

    k = ops.constant(1.0)
    first, second = py_func(count, [k], float32), py_func(count, [k], float32)
    with Session() as session:
        for _ in range(3):
            session.run([first, second])
    assert len(calls) == 6


# -- what comes back -------------------------------------------------------------------------------


@for_each(
    "value, dtype",
    [
        (np.float32(1), "float32"),
        (1.5, "float64"),
        (3, "int64"),
        (True, "bool"),
        (1j, "complex128"),
        (np.arange(6, dtype=np.float32).reshape(2, 3).T, "float32"),
        ([[1.0, 2.0]], "float64"),
        (np.arange(3, dtype=np.float32)[::-1], "float32"),
        (np.arange(3, dtype=">f4"), "float32"),
        (np.zeros((0, 2), np.int32), "int32"),
        ((np.uint64(3),), "uint64"),
        ([np.float16(2)], "float16"),
        (np.ones(2, ml_dtypes.bfloat16), "bfloat16"),
        (np.ma.array([1.0, 2.0]), "float64"),
    ],
    ids=str,
)
def test_a_value_of_the_right_type_comes_back(value: Any, dtype: str) -> None:
    found = returned(value, dtype)
    expected = value[0] if isinstance(value, (list, tuple)) else value
    assert found.dtype == as_dtype(dtype).np_dtype
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)


@for_each(
    "value, expected",
    [
        ("abc", b"abc"),
        (b"a\0b", b"a\0b"),
        ("ünï", "ünï".encode()),
        (np.str_("x"), b"x"),
        ([["a", "bc"]], [b"a", b"bc"]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([b"a", b"bc"]), [b"a", b"bc"]),
        (np.array(["a", b"b"], object), [b"a", b"b"]),
        ([[b"a\0", b"bc"]], [b"a\0", b"bc"]),
        (np.zeros((0, 2), object), np.zeros((0, 2))),
    ],
    ids=repr,
)
def test_strings_come_back_as_bytes(value: Any, expected: Any) -> None:
    found = returned(value, string)
    if isinstance(expected, bytes):
        assert found == expected
    else:
        assert found.dtype == object
        np.testing.assert_array_equal(found, np.array(expected, object))


@for_each(
    "value, dtypes, said",
    [
        (1.0, "float32", "0-th value returned by pyfunc_[0-9]+ is float64, but expects float32"),
        (3, "float32", "0-th value returned by pyfunc_[0-9]+ is int64, but expects float32"),
        ("a", "float32", "0-th value returned by pyfunc_[0-9]+ is string, but expects float32"),
        (3, "string", "0-th value returned by pyfunc_[0-9]+ is int64, but expects string"),
        ((1, 2.5), ["int64", "int64"], "1-th value returned by pyfunc_[0-9]+ is float64, but"),
        (None, "float32", "pyfunc_[0-9]+ returns 0 values, but expects to see 1 values."),
        ([1.0, 2.0], "float64", "pyfunc_[0-9]+ returns 2 values, but expects to see 1 values."),
        (np.ones(2), ["float64"] * 2, "returns 1 values, but expects to see 2 values."),
        ((), ["float64"] * 2, "returns 0 values, but expects to see 2 values."),
        (7, [], "returns 1 values, but expects to see 0 values."),
        ([[[1], [1, 2]]], "float64", "ValueError"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_the_wrong_number_or_type_of_values_is_an_error(value: Any, dtypes: Any, said: str) -> None:
    refused(lambda: returned(value, dtypes), InvalidArgumentError, said)


@for_each(
    "value, dtype, said",
    [
        (object(), "float32", "Unsupported object type object"),
        (object(), "string", "Unsupported object type object"),
        ({"a": 1}, "string", "Unsupported object type dict"),
        (np.array([1, b"a"], object), "string", "Unsupported object type int"),
        (np.zeros(1, [("a", "f4")]), "float32", "Unsupported numpy data type"),
        (np.datetime64("2020"), "float32", "Unsupported numpy data type datetime64"),
    ],
    ids=["object", "no-string", "dict", "mixed", "struct", "time"],
)
def test_what_no_tensor_can_hold_is_refused(value: Any, dtype: str, said: str) -> None:
    """TensorFlow calls this an internal error, and programs catch it as that."""
    refused(lambda: returned(value, dtype), InternalError, said)


def test_a_shape_that_was_promised_is_checked() -> None:
    y = py_func(lambda: np.zeros(3, np.float32), [], float32)
    assert isinstance(y, Tensor)
    y.set_shape([2, None])
    refused(lambda: run(y), InvalidArgumentError, r"has shape \(3,\), but \(2, None\) was promised")


def test_a_function_may_go_on_to_use_what_it_returned() -> None:
    own = np.zeros(2, np.float32)
    y = py_func(lambda: own, [], float32)
    with Session() as session:
        first = session.run(y)
        own[0] = 5
        second = session.run(y)
        second[1] = 7
    np.testing.assert_array_equal([first, second, own], [[0, 0], [5, 7], [5, 0]])


def test_a_value_that_was_returned_stays_the_same_for_the_whole_step(graph: Graph) -> None:
    own = np.zeros(2, np.float32)

    def change() -> None:
        own[0] = 7

    y = py_func(lambda: own, [], float32)
    assert isinstance(y, Tensor)
    with graph.control_dependencies([y]):
        changed = py_func(change, [], [])
    with graph.control_dependencies([changed]):
        later = y + 0.0
    np.testing.assert_array_equal(run(later), [0, 0])


def held_elsewhere() -> dict[str, tuple[Callable[[], Any], Any]]:
    """Functions that return an array that somebody else holds too, and who that is."""
    kept: list[Any] = []
    base = np.zeros((2, 3))
    attribute = np.zeros(3)

    def keep(value: Any) -> Any:
        kept.append(value)
        return value

    return {
        "list": (lambda: keep(np.zeros(3)), lambda: kept[-1]),
        "tuple": (lambda: keep((np.zeros(3),)), lambda: kept[-1][0]),
        "view": (lambda: base[0], lambda: base),
        "closure": (lambda: attribute, lambda: attribute),
        "frozen": (lambda: np.broadcast_to(base[0, 0], 3), lambda: base),
    }


@for_each("case", ["list", "tuple", "view", "closure", "frozen"])
def test_an_array_that_somebody_else_holds_is_copied(case: str) -> None:
    function, other = held_elsewhere()[case]
    found = run(py_func(function, [], float64))
    assert not np.shares_memory(found, other())
    assert found.flags.writeable


def test_an_array_that_nobody_else_holds_is_not_copied() -> None:
    address: list[int] = []

    def make() -> Any:
        made = np.zeros(100_000)
        address.append(made.__array_interface__["data"][0])
        return made

    y = py_func(make, [], float64)
    assert run(y).__array_interface__["data"][0] == address[0]


# -- errors ----------------------------------------------------------------------------------------


class OwnError(Exception):
    pass


@for_each(
    "raised, expected",
    [
        (ValueError("v"), InvalidArgumentError),
        (TypeError("t"), InvalidArgumentError),
        (UnicodeDecodeError("utf8", b"", 0, 1, "x"), InvalidArgumentError),
        (StopIteration("s"), OutOfRangeError),
        (MemoryError("m"), ResourceExhaustedError),
        (NotImplementedError("n"), UnimplementedError),
        (OwnError("o"), UnknownError),
        (KeyError("k"), UnknownError),
        (IndexError("i"), UnknownError),
        (ZeroDivisionError("z"), UnknownError),
        (TimeoutError("t"), UnknownError),
        (NotFoundError("n"), UnknownError),
        (OutOfRangeError("r"), UnknownError),
        (SystemExit(3), UnknownError),
        (GeneratorExit("g"), UnknownError),
    ],
    ids=repr,
)
def test_what_the_function_raises_becomes_the_error_that_stands_for_it(raised: BaseException, expected: Any) -> None:
    def fail() -> None:
        raise raised

    y = py_func(fail, [], float32, name="broken")
    assert isinstance(y, Tensor)
    with pytest.raises(OpError) as caught:
        run(y)
    assert type(caught.value) is expected
    assert caught.value.__cause__ is raised
    assert (caught.value.node, caught.value.source) == ("broken", y.op.source)
    assert f"{type(raised).__name__}: {raised}" in caught.value.message


def test_the_errors_of_a_result_have_no_cause_and_name_the_line() -> None:
    y = py_func(lambda: 1.0, [], float32)
    assert isinstance(y, Tensor)
    with pytest.raises(InvalidArgumentError) as caught:
        run(y)
    assert caught.value.source == y.op.source
    assert caught.value.__cause__ is None


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_in_a_function_ends_the_call() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with Session() as session:
        refused(lambda: session.run(py_func(interrupt, [], [])), KeyboardInterrupt)
        assert session.run(ops.constant(1.0)) == 1


def test_a_session_is_usable_after_a_function_failed() -> None:
    values = iter([np.float32(1)])
    y = py_func(lambda: next(values), [], float32)
    with Session() as session:
        assert session.run(y) == 1
        for _ in range(2):
            refused(lambda: session.run(y), OutOfRangeError)
        assert session.run(ops.constant(2.0)) == 2


# -- several devices, traces -----------------------------------------------------------------------


def test_a_function_on_one_device_feeds_another(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        y = py_func(lambda x: x * 2, [ops.constant([1.0, 2.0])], float32)
    assert isinstance(y, Tensor)
    with graph.device("/cpu:0"):
        z = y + 1.0
    with Session(config=ConfigProto(device_count={"CPU": 2})) as session:
        np.testing.assert_array_equal(session.run(z), [3, 5])


def test_a_traced_step_calls_the_function_as_well() -> None:
    y = py_func(lambda: np.zeros(3, np.float32), [], float32)
    metadata = RunMetadata()
    with Session() as session:
        options = RunOptions(trace_level=TraceLevel.FULL_TRACE)
        found = session.run(y, options=options, run_metadata=metadata)
    np.testing.assert_array_equal(found, np.zeros(3))
    assert metadata.step_stats is not None


# -- life and travel -------------------------------------------------------------------------------


class Function:
    """A function that a test can watch."""

    def __init__(self) -> None:
        self.graph: Graph | None = None

    def __call__(self) -> Any:
        return np.float32(1)


def test_a_function_lives_as_long_as_its_graph_even_if_it_refers_to_it() -> None:
    function = Function()
    alive = weakref.ref(function)
    gc.collect()
    tokens = len(script._TOKENS)
    graph = function.graph = Graph()
    with graph.as_default():
        y = py_func(function, [], float32)
    del function
    gc.collect()
    with Session(graph=graph) as session:
        assert session.run(y) == 1
    assert alive() is not None
    del graph, y, session
    gc.collect()
    assert alive() is None
    assert len(script._TOKENS) == tokens


def test_the_text_of_a_graph_holds_a_token_and_nothing_else_of_the_function(graph: Graph) -> None:
    y = py_func(Function(), [], float32)
    assert isinstance(y, Tensor)
    read = GraphDef.from_bytes(graph.as_graph_def().to_bytes())
    (node,) = read.nodes
    assert type(node.attrs["token"]) is str
    assert node.attrs == {"token": y.op.attrs["token"], "Tin": [], "Tout": [float32]}
    assert unpack(pack(y.op.attrs["token"])) == y.op.attrs["token"]


def node_with(token: Any) -> Any:
    return make_one("PyFunc", [], {"token": token, "Tin": [], "Tout": [float32]})


def test_a_graph_that_came_back_to_its_process_calls_the_function() -> None:
    first = py_func(Function(), [], float32)
    assert isinstance(first, Tensor)
    assert run(node_with(str(first.op.attrs["token"]))) == 1


def test_a_token_whose_graph_is_gone_is_refused() -> None:
    with Graph().as_default():
        token = str(py_func(Function(), [], []).attrs["token"])  # type: ignore[union-attr]
    gc.collect()
    refused(lambda: run(node_with(token)), InvalidArgumentError, r"the graph that pyfunc_[0-9]+ belongs to is gone")


def test_the_token_of_another_process_is_refused_by_the_name_of_both() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        run(node_with(f"pyfunc_3 of process 17 on elsewhere {'0' * 32}"))
    assert "pyfunc_3 is a Python function of process 17 on elsewhere" in caught.value.message
    assert f"cannot be called by process {os.getpid()} on" in caught.value.message


# -- context variables -----------------------------------------------------------------------------

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def in_context(name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call something where ``WHO`` is somebody."""

    def named() -> Any:
        WHO.set(name)
        return call(*args, **kwargs)

    return copy_context().run(named)


def witnesses(seen: list[str], value: Any = ()) -> list[Any]:
    """Nodes of each kind that call a function, which notes what it sees."""

    def note(*_: Any) -> Any:
        seen.append(WHO.get())
        return np.float32(1)

    async def note_later(*_: Any) -> Any:
        await asyncio.sleep(0)
        return note()

    inputs = [value] if isinstance(value, Tensor) else []
    mapped = ops.map_fn(lambda _: py_func(note, inputs, float32), np.zeros(2, np.float32))
    awaited = ops.map_fn(lambda _: async_py_func(note_later, inputs, float32), np.zeros(2, np.float32))
    return [py_func(note, inputs, float32), async_py_func(note_later, inputs, float32), mapped, awaited]


def test_a_function_sees_the_context_variables_of_the_call_that_runs_it() -> None:
    """In the caller's thread, in a thread of the session, and on its loop."""
    seen: list[str] = []
    nodes = witnesses(seen)
    with Session() as session:
        for node in [*nodes, nodes]:
            call = session.make_callable(node)
            for ways in (
                partial(session.run, node),
                partial(session.run, node, timeout=60.0),
                call,
                lambda node=node: session.partial_run(session.partial_run_setup([node]), node),
            ):
                seen.clear()
                in_context("caller", ways)
                assert set(seen) == {"caller"}


async def test_functions_of_steps_side_by_side_each_see_their_own_caller() -> None:
    """Also after a wait that another step has ended: it resumes in its own context."""
    seen: list[str] = []
    queue = ops.FIFOQueue(1, ["float32"], [[]])
    nodes = witnesses(seen, queue.dequeue())
    filled = queue.enqueue(1.0)
    async with AsyncSession() as session:

        async def run_as(name: str, fetches: Any) -> None:
            WHO.set(name)
            await session.run(fetches)

        for node in nodes:
            seen.clear()
            async with asyncio.TaskGroup() as group:
                group.create_task(run_as("taker", node))
                await asyncio.sleep(0)
                group.create_task(run_as("giver", filled))
            assert set(seen) == {"taker"}


async def test_a_server_in_the_process_that_built_the_graph_calls_the_function(graph: Graph) -> None:
    y = py_func(Function(), [], float32)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        assert await session.run(y) == 1


@pytest.mark.process
async def test_a_worker_in_another_process_refuses_and_says_who_could(graph: Graph) -> None:
    y = py_func(Function(), [], float32)
    assert isinstance(y, Tensor)
    async with LocalCluster({"worker": 1}) as cluster:
        async with AsyncSession(cluster.target("worker", 0), graph=graph) as session:
            with pytest.raises(InvalidArgumentError) as caught:
                await session.run(y)
    error = caught.value
    assert f"is a Python function of process {os.getpid()} on" in error.message
    assert (error.task, error.node, error.source) == ("/job:worker/replica:0/task:0", "PyFunc", y.op.source)


@for_each("token", ["os.system", "", "pyfunc_0", 3, b"x", None, "x" * 10_000], ids=repr)
def test_nothing_that_is_received_as_a_name_is_looked_up_anywhere(token: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="stands for no function of any process") as caught:
        run(node_with(token))
    assert len(caught.value.message) < 200


def test_a_token_cannot_be_guessed() -> None:
    y = py_func(Function(), [], float32)
    assert isinstance(y, Tensor)
    token = y.op.attrs["token"]
    guess = token[:-1] + ("0" if token[-1] != "0" else "1")
    refused(lambda: run(node_with(guess)), InvalidArgumentError, "cannot be called")


# -- ``async_py_func`` -----------------------------------------------------------------------------


async def double(x: Any) -> Any:
    await asyncio.sleep(0)
    return x * 2


async def test_a_step_awaits_it_on_the_sessions_loop() -> None:
    seen: list[Any] = []

    async def look(x: Any) -> Any:
        seen.extend([asyncio.get_running_loop(), threading.current_thread()])
        return await double(x)

    x = ops.placeholder("float32", [2])
    y = ops.async_py_func(look, [x], "float32") + 1.0
    async with AsyncSession() as session:
        np.testing.assert_array_equal(await session.run(y, {x: [1.0, 2.0]}), [3.0, 5.0])
    assert seen == [asyncio.get_running_loop(), threading.current_thread()]


async def test_hundreds_are_awaited_at_once() -> None:
    gate, entered = asyncio.Event(), [0]

    async def stay(x: Any) -> Any:
        entered[0] += 1
        await gate.wait()
        return x

    x = ops.placeholder("float32", [])
    y = ops.async_py_func(stay, [x], "float32")
    async with AsyncSession(config=ConfigProto(inter_op_parallelism_threads=1)) as session:
        runs = [asyncio.ensure_future(session.run(y, {x: i})) for i in range(200)]
        await eventually(lambda: entered[0] == 200)
        gate.set()
        assert await soon(asyncio.gather(*runs)) == [float(i) for i in range(200)]


@for_each("how", ["cancel", "limit"])
async def test_a_step_that_ends_early_cancels_it(how: str) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def stay() -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    y = ops.async_py_func(stay, [], "float32")
    async with AsyncSession() as session:
        options = RunOptions(timeout_in_ms=100) if how == "limit" else None
        run = asyncio.ensure_future(session.run(y, options=options))
        await soon(entered.wait())
        if how == "cancel":
            run.cancel()
        await refused_later(soon(run), asyncio.CancelledError if how == "cancel" else DeadlineExceededError)
        await soon(ended.wait())


@for_each("error, kind", [(ValueError("bad"), InvalidArgumentError), (KeyError("k"), UnknownError)])
async def test_what_it_raises_is_an_error_of_its_node(error: Exception, kind: Any) -> None:
    async def fail() -> Any:
        raise error

    y = ops.async_py_func(fail, [], "float32", name="failing")
    async with AsyncSession() as session:
        with pytest.raises(kind) as info:
            await session.run(y)
        assert info.value.node == "failing"
        assert "test_script.py:" in (info.value.source or "")


async def test_results_are_checked_as_those_of_a_py_func() -> None:
    async def wrong() -> Any:
        return np.float64(1.0)

    async with AsyncSession() as session:
        with pytest.raises(InvalidArgumentError, match="is float64, but expects float32"):
            await session.run(ops.async_py_func(wrong, [], "float32"))
        await refused_later(session.run(ops.async_py_func(lambda: 1.0, [], "float32")), InvalidArgumentError, "await")  # type: ignore[arg-type,return-value]
    refused(lambda: ops.async_py_func(5, [], "float32"), ValueError, "something that can be called")  # type: ignore[arg-type]


@pytest.mark.parametrize("inline", [False, True], ids=["pool", "caller"])
def test_a_synchronous_session_has_a_loop_for_it(inline: bool) -> None:
    """Inside a loop of the graph too, where a thread waits."""
    x = ops.placeholder("float32", [])
    y = ops.async_py_func(double, [x], "float32")

    def body(v: Any) -> Any:
        made = ops.async_py_func(double, [v], "float32")
        made.set_shape([])
        return made

    z = ops.while_loop(lambda v: v < 100.0, body, [x])
    config = ConfigProto(inter_op_parallelism_threads=-1 if inline else 1)
    with Session(config=config) as session:
        assert (session.run(y, {x: 3.0}), session.run(z, {x: 3.0})) == (6.0, 192.0)
        assert session.run([y, z], {x: 3.0}) == [6.0, 192.0]


async def test_it_runs_in_the_process_that_built_the_graph(graph: Graph) -> None:
    y = ops.async_py_func(double, [4.0], "float32")
    async with in_process({"worker": 1}) as cluster, AsyncSession(cluster.target(), graph) as session:
        assert await session.run(y) == 8.0
