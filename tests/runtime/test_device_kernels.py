"""Devices with arrays and kernels of their own: what each part of the runtime passes to them, and takes from them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunMetadata, RunOptions, Server, ServerSettings, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceKernel, register_device_factory, registration_scope
from tests.nodes import make
from tests.rows import for_each
from tests.runtime import own_arrays
from tests.runtime.own_arrays import Boxes, Marks
from tests.runtime.toy import write_distribution

BOX = "/device:BOX:0"
ONE = {"BOX": 1}


@pytest.fixture(autouse=True)
def boxes(registrations: None) -> None:
    register_device_factory("BOX", Boxes())


def session_of(graph: Graph, **settings: Any) -> Session:
    return Session(graph=graph, config=ConfigProto(device_count=ONE, **settings))


# What is built from a placeholder of three floats, and what that gives for 1, 2, 3.
PROGRAMS: dict[str, tuple[Any, Any]] = {
    "its own kernels": (lambda x: x * x + 1.0, [2.0, 5.0, 10.0]),
    "a kernel of the CPU": (lambda x: ops.exp(x * 0.0), [1.0, 1.0, 1.0]),
    "whole numbers beside": (lambda x: ops.gather(x + 1.0, ops.constant([2, 0]) * 1), [4.0, 2.0]),
    "several outputs": (lambda x: ops.add_n(ops.split(ops.concat([x, x * 2.0], 0), 2)), [3.0, 6.0, 9.0]),
    "a scalar": (lambda x: ops.reduce_sum(x) * 2.0, 12.0),
    "a feed alone": (lambda x: ops.identity(x), [1.0, 2.0, 3.0]),
    "a branch": (lambda x: ops.cond(ops.reduce_sum(x) > 1.0, lambda: x * 2.0, lambda: x), [2.0, 4.0, 6.0]),
    "a loop": (
        lambda x: ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1],
        [8.0, 16.0, 24.0],
    ),
    "a loop over floats": (
        lambda x: ops.while_loop(lambda y: ops.reduce_sum(y) < 20.0, lambda y: y * 2.0, [x]),
        [4.0, 8.0, 12.0],
    ),
    "functions of a map": (lambda x: ops.map_fn(lambda e: e * e, x), [1.0, 4.0, 9.0]),
    "gradients": (lambda x: acts.gradients(ops.reduce_sum(x * x * x), x)[0], [3.0, 12.0, 27.0]),
}  # fmt: skip


@for_each("name", list(PROGRAMS))
def test_a_program_gives_on_it_what_it_gives_on_the_cpu(name: str) -> None:
    build, expected = PROGRAMS[name]
    for shape in ([3], None):
        with Graph().as_default() as graph, graph.device(BOX):
            x = ops.placeholder("float32", shape)
            y = build(x)
        with session_of(graph) as session:
            for _ in range(2):
                got = session.run(y, {x: [1.0, 2.0, 3.0]})
                assert type(got) in (np.ndarray, np.float32)
                np.testing.assert_array_equal(got, np.float32(expected))


def test_variables_queues_and_slots_of_its_values_outlive_steps() -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        v = ops.Variable([1.0, 2.0])
        x = ops.placeholder("float32", [2])
        queue = ops.FIFOQueue(3, "float32", [[2]])
        put, take = queue.enqueue(v + x), queue.dequeue() * 2.0
        add = v.assign_add(x)
    with session_of(graph) as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(add, {x: [1.0, 1.0]}), [2.0, 3.0])
        session.run(put, {x: [1.0, 0.0]})
        np.testing.assert_array_equal(session.run(take), [6.0, 6.0])
        np.testing.assert_array_equal(session.run(v), [2.0, 3.0])


def test_a_fetched_array_is_the_caller_s_own() -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        v = ops.Variable([1.0, 2.0])
    with session_of(graph) as session:
        session.run(v.initializer)
        session.run(v)[:] = 7.0
        np.testing.assert_array_equal(session.run(v), [1.0, 2.0])


def test_values_go_to_other_devices_and_come_from_them() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2])
        with graph.device(BOX):
            y = x * 2.0
        with graph.device("/cpu:0"):
            z = ops.exp(y * 0.0) + y
        with graph.device(BOX):
            w = z + z
    with session_of(graph) as session:
        np.testing.assert_array_equal(session.run([w, z], {x: [1.0, 2.0]}), [[6.0, 10.0], [3.0, 5.0]])
        with session.partial([y, w], [x]) as run:
            np.testing.assert_array_equal(run.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])
            np.testing.assert_array_equal(run.run(w), [6.0, 10.0])


def test_control_flow_of_single_nodes_takes_its_values() -> None:
    import actorsession.compat.v1 as tf

    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, graph.device(BOX):
        x = tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda y: y < 20.0, lambda y: y * 2.0 + 1.0, [x])
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count=ONE)) as session:
        assert session.run(y, {x: 1.0}) == 31.0


def test_functions_beside_control_flow_of_single_nodes_give_its_values() -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        x = ops.placeholder("float32", [2])
        one = ops.cond(ops.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x)
        _, *two = ops.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y * 2.0, z + y), [0, x, x])
        taken = make("Switch", [one, ops.constant(True)]).outputs[1]
        sums = [y + taken * 1.0 for y in (one, *two)]
    with session_of(graph) as session:
        got = session.run(sums, {x: [1.0, 2.0]})
    np.testing.assert_array_equal(got, [[4.0, 8.0], [10.0, 20.0], [10.0, 20.0]])


async def test_a_server_has_it_and_passes_its_values_on() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2])
        with graph.device("/job:worker/task:0" + BOX):
            y = x * 2.0
    settings = ServerSettings(config=ConfigProto(device_count=ONE))
    async with (
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=settings) as server,
        AsyncSession(server.target, graph=graph) as session,
    ):
        np.testing.assert_array_equal(await session.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])


def test_a_trace_measures_its_values() -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        x = ops.placeholder("float32", [2], name="x")
        y = ops.multiply(x, 2.0, name="y")
    metadata = RunMetadata()
    with session_of(graph) as session:
        session.run(y, {x: [1.0, 2.0]}, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
    assert metadata.step_stats is not None
    [stats] = [node for device in metadata.step_stats.dev_stats for node in device.node_stats if node.node_name == "y"]
    assert stats.output[0].tensor_description.allocated_bytes == 8


def test_what_a_kernel_cannot_do_the_cpu_s_says() -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        x, y = (ops.placeholder("float32", None) for _ in range(2))
        product = ops.matmul(x, y)
    with session_of(graph) as session, pytest.raises(InvalidArgumentError, match=r"cannot multiply shapes \(1, 2\)"):
        session.run(product, {x: np.ones((1, 2)), y: np.ones((1, 2))})


def test_a_type_without_a_kernel_is_told_once_by_name(caplog: pytest.LogCaptureFixture) -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        x = ops.placeholder("float32", [2])
        y = ops.asinh(x) + ops.asinh(x * 2.0)
        left = ops.atanh(x)  # is left to the CPU on purpose
        count = ops.constant([1]) + 1  # is the host's anyway
    for _ in range(2):
        with session_of(graph) as session:
            session.run([y, left, count], {x: [0.5, 0.25]})
    assert [r.message for r in caplog.records] == ["BOX has no kernel for Asinh: it runs with that of the CPU"]


# -- sentences of array functions ------------------------------------------------------------------


def marked(build: Any, dtype: str = "float32", shape: Any = None, **kernels: Any) -> tuple[Any, list[Any]]:
    """What is built of 0.5 and -2.0 on a device with functions of the standard, and the functions that were called."""
    factory = Marks()
    factory.kernels = replace(Marks.kernels, **kernels)
    own_arrays.calls.clear()
    with registration_scope(), Graph().as_default() as graph, graph.device("/device:MARK:0"):
        register_device_factory("MARK", factory)
        x = ops.placeholder(dtype, shape)
        y = build(x)
        with Session(graph=graph) as session:
            return session.run(y, {x: [0.5, -2.0]}), list(own_arrays.calls)


# What is built, the functions that it calls, and what it gives for 0.5 and -2.
SENTENCES: dict[str, tuple[Any, list[str], Any]] = {
    "a name": (ops.floor, ["floor"], [0.0, -2.0]),
    "an operator": (lambda x: x - x, [], [0.0, 0.0]),
    "a comparison": (lambda x: x < 0.0, [], [False, True]),
    "a sentence": (acts.nn.softsign, ["abs"], [1 / 3, -2 / 3]),
    "an attribute": (lambda x: acts.nn.leaky_relu(x, 0.25), ["where"], [0.5, -0.5]),
    "a choice": (lambda x: ops.where(x > 0.0, x * 3.0, x), ["where"], [1.5, -2.0]),
    "a name with another form of numpy's": (lambda x: ops.maximum(x, 0.0), ["maximum"], [0.5, 0.0]),
    "an older form": (lambda x: make("Mod", [x, x + x]).outputs[0], ["fmod"], [0.5, -2.0]),
}


@for_each("name", list(SENTENCES))
def test_a_sentence_serves_a_device_that_has_but_the_functions_of_its_arrays(name: str) -> None:
    build, functions, expected = SENTENCES[name]
    for shape in ([2], None):
        got, called = marked(build, shape=shape)
        assert called == functions
        np.testing.assert_array_equal(got, np.array(expected, np.asarray(got).dtype), strict=True)


def test_without_functions_of_its_arrays_a_device_leaves_sentences_to_the_cpu() -> None:
    got, called = marked(acts.nn.softsign, namespace=None)
    assert (got.tolist(), called) == ([np.float32(1 / 3), np.float32(-2 / 3)], [])


def test_numbers_that_a_device_does_not_hold_are_left_to_the_cpu() -> None:
    for dtype in ("float64", "bfloat16", "complex64"):
        got, called = marked(lambda x: ops.cast(ops.sqrt(x * x), "float32"), dtype)
        assert called == []
        np.testing.assert_array_equal(np.abs(got), [0.5, 2.0])


def test_a_row_of_the_device_comes_before_the_sentence() -> None:
    def double(x: Any) -> Any:
        own_arrays.calls.append("its own")
        return x + x

    got, called = marked(acts.nn.softsign, rows={"Softsign": DeviceKernel(kernel=lambda context: double)})
    assert (got.tolist(), called) == ([1.0, -4.0], ["its own"])


@pytest.mark.parametrize("size", [[1024, 1024], None])
def test_runs_on_large_arrays_are_numpy_s_where_it_shares_their_memory(size: Any) -> None:
    class Lent(Boxes):
        kernels = replace(Boxes.kernels, shares_memory=True)

    register_device_factory("LENT", Lent())
    values = np.random.default_rng(1).random((1024, 1024)).astype("f4")
    for device, called in {"BOX": [np.multiply, np.add], "LENT": []}.items():
        with Graph().as_default() as graph, graph.device(f"/device:{device}:0"):
            x = ops.placeholder("float32", size)
            y = ops.exp(x * 2.0 + 1.0)  # the last is hosted
        with Session(graph=graph, config=ConfigProto(device_count={device: 1})) as session:
            if size is None:
                np.testing.assert_array_equal(session.run(y, {x: [0.0]}), np.exp(np.ones(1, "f4")))
            own_arrays.calls.clear()
            given = values.copy()
            np.testing.assert_array_equal(session.run(y, {x: given}), np.exp(values * np.float32(2) + np.float32(1)))
            np.testing.assert_array_equal(given, values)
            assert own_arrays.calls == called


def test_an_entry_point_of_another_distribution_brings_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_distribution(tmp_path, "toy_boxes", Path(own_arrays.__file__).read_text(), ["CRATE = toy_boxes:Boxes"])
    monkeypatch.syspath_prepend(str(tmp_path))
    with Graph().as_default() as graph, graph.device("/device:CRATE:0"):
        x = ops.placeholder("float32", [2])
        y = x * x + 1.0
    with Session(graph=graph, config=ConfigProto(device_count={"CRATE": 1})) as session:
        np.testing.assert_array_equal(session.run(y, {x: [2.0, 3.0]}), [5.0, 10.0])
    assert sys.modules.pop("toy_boxes").Boxes is not Boxes
