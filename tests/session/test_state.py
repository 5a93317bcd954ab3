"""State of local sessions: variables, containers, and who sees what (session semantics A7.1 to A7.3)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Operation, Session, get_default_graph, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OutOfRangeError
from actorsession.graph.node import spec
from tests.rows import for_each


def handle_op(name: str = "handle", **attrs: Any) -> Operation:
    """A bare handle: the node by which state is found."""
    wanted = {"dtype": "float32", "shape": [], **attrs}
    return get_default_graph().create_op("VarHandleOp", (), wanted, name)


def read_of(handle: Operation, dtype: str = "float32") -> Any:
    attrs = {"dtype": dtype, "shape": []}
    return get_default_graph().create_op("ReadVariableOp", handle.outputs, attrs).outputs[0]


def assign_to(handle: Operation, value: Any, dtype: str = "float32") -> Operation:
    attrs = {"dtype": dtype, "shape": []}
    inputs = [*handle.outputs, ops.constant(value, dtype)]
    return get_default_graph().create_op("AssignVariableOp", inputs, attrs)


# -- A7.1 ----------------------------------------------------------------------------------------
async def test_reading_an_uninitialised_variable_is_a_failed_precondition(session: Any) -> None:
    v = ops.Variable(1.0, name="weights")
    for read in (v, v.value() * 2.0):
        with pytest.raises(FailedPreconditionError, match=r"'weights'.*initializer") as caught:
            await session.run(read)
        assert not isinstance(caught.value, NotFoundError)
        assert caught.value.node is not None


@for_each(
    "change",
    [
        lambda v: v.assign_add([1.0]),
        lambda v: v.assign_sub([1.0]),
        lambda v: ops.scatter_add(v, [0], [1.0]),
        lambda v: ops.scatter_update(v, [0], [1.0]),
    ],
    ids=["assign_add", "assign_sub", "scatter_add", "scatter_update"],
)
async def test_changing_an_uninitialised_variable_is_not_found(session: Any, change: Any) -> None:
    v = ops.Variable([1.0], name="weights")
    with pytest.raises(NotFoundError, match="'weights'"):
        await session.run(change(v))
    with pytest.raises(FailedPreconditionError):  # as TensorFlow's reference variables have it
        await session.run(change(v))
    await session.run(v.initializer)
    assert await session.run(v) == [1]


# -- A7.2 ----------------------------------------------------------------------------------------
async def test_assign_returns_the_new_value(session: Any) -> None:
    v = ops.Variable([1.0, 2.0])
    await session.run(v.initializer)
    np.testing.assert_array_equal(await session.run(ops.assign(v, [3.0, 4.0])), [3, 4])
    np.testing.assert_array_equal(await session.run(v.assign_add([1.0, 1.0])), [4, 5])
    np.testing.assert_array_equal(await session.run(v), [4, 5])


async def test_a_string_is_the_value_of_a_variable_as_anything_else_is(session: Any) -> None:
    one, many = ops.Variable("one", name="one"), ops.Variable(["a", "b"])
    await session.run([one.initializer, many.initializer])
    assert await session.run(one) == b"one"
    np.testing.assert_array_equal(await session.run(many), [b"a", b"b"])
    assert await session.run(ops.assign(one, "another")) == b"another"
    fed = ops.placeholder("string", None)
    change = ops.assign(one, fed, validate_shape=True)
    assert await session.run(change, {fed: "é"}) == "é".encode()
    with pytest.raises(InvalidArgumentError, match=r"shape \[2\] to a variable of shape \(\)"):
        await session.run(change, {fed: ["x", "y"]})
    assert await session.run(one) == "é".encode()


async def test_a_static_shape_mismatch_is_a_value_error(session: Any) -> None:
    v = ops.Variable([1.0, 2.0])
    for change in (v.assign, v.assign_add):
        with pytest.raises(ValueError, match="shape"):
            change([1.0, 2.0, 3.0])


async def test_a_shape_mismatch_at_run_time_is_an_invalid_argument_and_changes_nothing(session: Any) -> None:
    v = ops.Variable([1.0, 2.0])
    await session.run(v.initializer)
    p = ops.placeholder("float32")
    for change in (v.assign(p), v.assign_add(p)):
        with pytest.raises(InvalidArgumentError, match="shape"):
            await session.run(change, {p: [1, 2, 3]})
    np.testing.assert_array_equal(await session.run(v), [1, 2])


async def test_validate_shape_false_lets_the_shape_change(session: Any) -> None:
    v = ops.Variable([1.0, 2.0], validate_shape=False)
    await session.run(v.initializer)
    assigned = await session.run(ops.assign(v, [[3.0], [4.0], [5.0]], validate_shape=False))
    np.testing.assert_array_equal(assigned, [[3], [4], [5]])
    np.testing.assert_array_equal(await session.run(v), [[3], [4], [5]])


async def test_a_variable_of_fixed_shape_says_how_it_would_take_another(session: Any) -> None:
    v, p = ops.Variable([1.0, 2.0]), ops.placeholder("float32")
    await session.run(v.initializer)
    change = ops.assign(v, p, validate_shape=False)
    with pytest.raises(InvalidArgumentError, match="made with validate_shape=False"):
        await session.run(change, {p: [1, 2, 3]})


@for_each("dtype", ["int32", "int64"])
async def test_count_up_to_gives_the_value_before_and_is_out_of_range_at_the_limit(session: Any, dtype: str) -> None:
    v = ops.Variable(ops.constant(0, dtype))
    up = v.count_up_to(3)
    await session.run(v.initializer)
    counted = [await session.run(up) for _ in range(3)]
    assert counted == [0, 1, 2]
    assert {c.dtype.name for c in counted} == {dtype}
    for _ in range(2):
        with pytest.raises(OutOfRangeError, match="limit of 3"):
            await session.run(up)
    assert await session.run(v) == 3
    assert await session.run(ops.count_up_to(v, 5)) == 3


async def test_counting_starts_where_the_variable_is(session: Any) -> None:
    above, unset = ops.Variable(9), ops.Variable(0, name="unset")
    await session.run(above.initializer)
    with pytest.raises(OutOfRangeError, match="limit of 3"):
        await session.run(above.count_up_to(3))
    with pytest.raises(NotFoundError, match="'unset'"):
        await session.run(unset.count_up_to(3))


def test_only_integer_scalars_are_counted(graph: Graph) -> None:
    with pytest.raises(TypeError, match="int32 or int64"):
        ops.Variable(0.0).count_up_to(3)
    with pytest.raises(ValueError, match="scalar"):
        ops.Variable([1, 2]).count_up_to(3)
    for wrong in (ops.constant(3), 3.0, True):
        with pytest.raises(TypeError, match="limit is an int"):
            ops.count_up_to(ops.Variable(0), wrong)  # type: ignore[arg-type]


async def test_counts_made_at_once_are_all_different(make_session: Any) -> None:
    face = make_session()
    v = ops.Variable(0)
    up = v.count_up_to(100)
    await face.run(v.initializer)
    counted = await asyncio.gather(*[face.run(up) for _ in range(100)])
    assert sorted(counted) == list(range(100))


# -- A7.3: where state is ------------------------------------------------------------------------
async def test_state_belongs_to_the_resource_manager_of_its_device(make_session: Any) -> None:
    face, graph = make_session(ConfigProto(device_count={"CPU": 2})), get_default_graph()
    with graph.device("/cpu:1"):
        v = ops.Variable([1.0, 2.0], name="v")
    await face.run(v.initializer)
    first, second, *_ = face.session._session._devices
    assert first.resources.statistics().variables == 0
    assert second.resources.statistics().variables == 1
    found = second.resources.variable("", "v", spec("float32", [2]))
    np.testing.assert_array_equal(found.read(), [1, 2])


async def test_state_is_named_by_shared_name_else_by_its_node(session: Any) -> None:
    named, same = handle_op("a", shared_name="shared"), handle_op("b", shared_name="shared")
    plain, other = handle_op("shared"), handle_op("c")
    await session.run(assign_to(named, 1.0))
    assert await session.run(read_of(same)) == 1
    assert await session.run(read_of(plain)) == 1  # called "shared" itself
    with pytest.raises(FailedPreconditionError, match="'c'"):
        await session.run(read_of(other))


async def test_equal_names_in_different_containers_are_different_state(session: Any) -> None:
    graph = get_default_graph()
    values = {"": 1.0, "left": 2.0, "right": 3.0}
    handles = {c: handle_op(f"h{c}", shared_name="v", container=c) for c in values}
    for container, value in values.items():
        await session.run(assign_to(handles[container], value))
    for container, value in values.items():
        assert await session.run(read_of(handles[container])) == value
    default = handle_op("again", shared_name="v", container="localhost")
    assert await session.run(read_of(default)) == 1  # the default container's name
    with graph.container("left"):
        v = ops.Variable(0.0, name="v")
    assert await session.run(v) == 2


def test_a_container_block_is_the_container_of_what_is_built_in_it(graph: Graph) -> None:
    with graph.container("outer"):
        first = ops.Variable(1.0)
        with graph.container("inner"):
            second = ops.Variable(1.0)
        with graph.container(""):
            third = ops.Variable(1.0)
        fourth = ops.Variable(1.0)
    fifth = ops.Variable(1.0)
    found = [v.op.attrs["container"] for v in (first, second, third, fourth, fifth)]
    assert found == ["outer", "inner", "", "outer", ""]


async def test_a_name_in_use_with_another_type_says_what_is_there(session: Any) -> None:
    first, second = handle_op("a", shared_name="x"), handle_op("b", shared_name="x", dtype="int32")
    assign, read = assign_to(first, 1.5), read_of(first)
    wrong_assign, wrong_read = assign_to(second, 2, "int32"), read_of(second, "int32")
    await session.run(assign)
    for wrong in (wrong_assign, wrong_read):
        with pytest.raises(InvalidArgumentError, match=r"'x' exists with float32.*int32"):
            await session.run(wrong)
    assert await session.run(read) == 1.5


async def test_state_is_shared_by_all_plans_of_a_session(session: Any) -> None:
    v = ops.Variable(0.0)
    plans = [(v.assign_add(1.0), v.value() * 10.0) for _ in range(5)]
    await session.run(v.initializer)
    for i, (update, read) in enumerate(plans, start=1):
        assert await session.run(update) == i
        assert await session.run(read) == 10 * i
    assert session.session.statistics().cache.plans == 11


async def test_a_local_session_has_devices_and_so_state_of_its_own(make_session: Any) -> None:
    first, second = make_session(), make_session()
    with get_default_graph().container("same"):
        v = ops.Variable(1.0, name="v")
    await first.run(v.initializer)
    await second.run(v.assign(5.0))
    await first.run(v.assign_add(1.0))
    assert await first.run(v) == 2
    assert await second.run(v) == 5
    mine, theirs = (f.session._session._devices[-1].resources for f in (first, second))
    assert mine is not theirs


async def test_state_is_gone_when_its_session_closes(make_session: Any) -> None:
    first = make_session()
    v = ops.Variable(np.zeros(1000, np.float32), name="v")
    await first.run(v.initializer)
    await first.close()
    second = make_session()
    with pytest.raises(FailedPreconditionError, match="'v'"):
        await second.run(v)


@for_each("kind", [AsyncSession, Session])
async def test_a_session_that_nobody_holds_lets_go_of_its_state(kind: Any, graph: Graph) -> None:
    v = ops.Variable(np.zeros(1000, np.float32), name="v")
    session = kind(graph=graph)
    if kind is AsyncSession:
        await session.run(v.initializer)
        await session.close()
    else:
        await asyncio.to_thread(session.run, v.initializer)
        session.close()
    resources = session._session._devices[-1].resources
    value = weakref.ref(resources.variable("", "v", spec("float32", [1000])).read())
    assert value() is not None
    del session, resources
    gc.collect()
    while value() is not None:  # the thread that ran it may hold it a moment longer
        await asyncio.sleep(0.001)
        gc.collect()


# -- containers ----------------------------------------------------------------------------------
async def test_clearing_containers_leaves_their_variables_uninitialised_and_plans_valid(make_session: Any) -> None:
    face, graph = make_session(ConfigProto(device_count={"CPU": 2})), get_default_graph()
    variables = {}
    for container in ("", "left", "right"):
        for device in range(2):
            with graph.container(container), graph.device(f"/cpu:{device}"):
                variables[container, device] = ops.Variable(1.0)
    initializer = ops.group(*[v.initializer for v in variables.values()])
    await face.run(initializer)
    direct = face.session._session

    async def initialised() -> set[str]:
        found = await face.run({k: v.is_initialized() for k, v in variables.items()})
        return {container for (container, _), value in found.items() if value}

    direct.reset_containers(["left", "unknown"])
    assert await initialised() == {"", "right"}
    direct.reset_containers([])  # none named: the default one
    assert await initialised() == {"right"}
    await face.run(initializer)
    assert await initialised() == {"", "left", "right"}


async def test_what_handles_refer_to_is_in_no_container(session: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant([1.0]) + 1.0))
    session.session._session.reset_containers(["", "localhost"])
    assert kept.eval() == [2]
