"""Devices with arrays and kernels of their own: what each part of the runtime passes to them, and takes from them."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunMetadata, RunOptions, Server, ServerSettings, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceKernel, register_device_factory, registration_scope
from tests.cluster.kit import InProcess
from tests.nodes import make
from tests.rows import for_each
from tests.runtime import own_arrays
from tests.runtime.own_arrays import Box, BoxArrays, Boxes, Marks
from tests.runtime.toy import write_distribution
from tests.session.debugger_kit import watch

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


class CountedArrays(BoxArrays):
    """Count the arrays that come from the host and go there."""

    def __init__(self) -> None:
        self.came = self.went = 0

    def to_device(self, value: Any) -> Any:
        self.came += not isinstance(value, Box)
        return super().to_device(value)

    def to_host(self, value: Any) -> Any:
        self.went += isinstance(value, Box)
        return super().to_host(value)


CRATES = {"CRATE": 2, "CASK": 1}


def counting(family: str | None) -> CountedArrays:
    """Register two device types of a family, whose arrays count."""
    arrays = CountedArrays()

    class Crates(Boxes):
        kernels = replace(Boxes.kernels, arrays=lambda device: arrays, family=family)

    for name in CRATES:
        register_device_factory(name, Crates())
    return arrays


def taken(value: Any) -> Any:
    """A value behind control flow of single nodes."""
    return make("Switch", [value, ops.constant(True)]).outputs[1] * 1.0


# What two devices do one after the other with a vector, the first adding both results; and that result for 1, 2.
JOURNEYS: dict[str, tuple[Any, Any, Any]] = {
    "segments": (lambda x: x * 2.0, lambda y: y + y, [6.0, 12.0]),
    "a kernel of the CPU": (lambda x: x * 2.0, lambda y: ops.gather(y, [1, 0]) * y, [10.0, 12.0]),
    "a loop and a branch": (
        lambda x: ops.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + y), [0, x])[1],
        lambda y: ops.cond(ops.size(y) > 1, lambda: y + y, lambda: y),
        [12.0, 24.0],
    ),
    "from control flow of single nodes": (taken, lambda y: y + y, [3.0, 6.0]),
    "to control flow of single nodes": (lambda x: x * 2.0, taken, [4.0, 8.0]),
}


@for_each("name", list(JOURNEYS))
@for_each("other", ["CRATE:1", "CASK:0"])
def test_values_go_to_another_device_of_the_family_without_the_host(name: str, other: str) -> None:
    first, second, expected = JOURNEYS[name]
    counts = {}
    for family in ("crates", None):
        with registration_scope():
            arrays = counting(family)
            with Graph().as_default() as graph, graph.device("/device:CRATE:0"):
                x = ops.placeholder("float32", [2])
                y = first(x)
                with graph.device(f"/device:{other}"):
                    z = second(y)
                total = y + z
            with Session(graph=graph, config=ConfigProto(device_count=CRATES)) as session:
                session.run(total, {x: [0.0, 0.0]})  # makes constants of the plan
                arrays.came = arrays.went = 0
                np.testing.assert_array_equal(session.run(total, {x: [1.0, 2.0]}), expected)
            counts[family] = np.array([arrays.came, arrays.went])
    # Two values travel; what comes and goes beside them is the same.
    np.testing.assert_array_equal(counts[None] - counts["crates"], [2, 2])


def on_cpu(x: Any) -> Any:
    with acts.device("/cpu:0"):
        return ops.exp(x)


# What is fetched of three values, the second a scalar and the third of whole numbers; how many go at once each time.
FETCHED: dict[str, tuple[Any, list[int]]] = {
    "two arrays": (lambda x, total, count: [x * 2.0, x + 1.0], [2]),
    "an array and a scalar": (lambda x, total, count: [x * 2.0, total * 1.0, count], [2]),
    "one twice": (lambda x, total, count: [y := x * 2.0, y, total * 1.0, y], [2]),
    "one alone": (lambda x, total, count: [x * 2.0, count], []),
    "one alone, twice": (lambda x, total, count: [y := x * 2.0, y], []),
    "what another segment reads": (lambda x, total, count: [x * 2.0, y := x + 1.0, y + on_cpu(x)], [2]),
}


@for_each("name", list(FETCHED))
def test_fetches_go_to_the_host_at_once_where_the_device_can_do_that(name: str) -> None:
    build, expected = FETCHED[name]
    sizes: list[int] = []

    def at_once(*boxes: Box) -> list[Any]:
        sizes.append(len(boxes))
        return [box.array.copy() if box.array.ndim else box.array[()] for box in boxes]

    class Gathering(Boxes):
        kernels = replace(Boxes.kernels, all_to_host=lambda device: at_once)

    got: list[Any] = []
    for device in ("GATHER", "CPU"):
        with registration_scope(), Graph().as_default() as graph, graph.device(f"/device:{device}:0"):
            register_device_factory("GATHER", Gathering())
            x = ops.placeholder("float32", [2])
            fetches = build(x, ops.reduce_sum(x), ops.size(x) + 1)
            with Session(graph=graph) as session:
                got += [session.run(fetches, {x: [-1.0, 2.0]}) for _ in range(2)]
    assert sizes == expected * 2
    for values in got:
        assert [type(value) for value in values] == [type(value) for value in got[-1]]
        for value, reference in zip(values, got[-1], strict=True):
            np.testing.assert_array_equal(value, reference)
    arrays = {id(value): value for value in got[0][:9] if isinstance(value, np.ndarray)}
    assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(arrays.values(), 2))


def over_two_devices() -> tuple[Any, Any, Any]:
    """A placeholder on one device, what another one makes of its double, and the sum of both on the CPU."""
    with acts.device("/device:CRATE:0"):
        x = ops.placeholder("float32", [2], name="x")
        y = ops.multiply(x, 2.0, name="y")
    with acts.device("/device:CRATE:1"):
        z = ops.multiply(y, y, name="z")
    return x, y, z


def test_all_that_looks_at_values_on_their_way_sees_arrays_of_numpy_or_their_sizes(graph: Graph) -> None:
    arrays = counting("crates")
    x, y, z = over_two_devices()
    traced, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    with Session(graph=graph, config=ConfigProto(device_count=CRATES)) as session:
        with session.partial([y, z], [x]) as run:
            np.testing.assert_array_equal(run.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])
            np.testing.assert_array_equal(run.run(z), [4.0, 16.0])
        session.run(z, {x: [1.0, 2.0]}, watch("y", "z"))
        assert {d.node_name: d.value.tolist() for d in session.debug_dumps()} == {"y": [2.0, 4.0], "z": [4.0, 16.0]}
        counts = []
        for observed in ((), (traced, metadata)):
            arrays.came = arrays.went = 0
            session.run(z, {x: [1.0, 2.0]}, *observed)
            counts.append((arrays.came, arrays.went))
        assert counts == [(1, 1), (1, 1)]  # a trace needs no values
    assert metadata.step_stats is not None
    assert [(t.kind, t.nbytes) for t in metadata.step_stats.transfers] == [("send", 8), ("recv", 8)]


async def test_values_go_directly_within_a_server_and_by_way_of_the_host_to_another() -> None:
    arrays = counting("crates")
    with Graph().as_default() as graph, graph.device("/job:worker/task:0"):
        x, _, z = over_two_devices()
        with graph.device("/job:worker/task:1/device:CRATE:0"):
            far = z + z
    async with (
        InProcess({"worker": 2}, config=ConfigProto(device_count=CRATES)) as cluster,
        AsyncSession(cluster.target(), graph=graph) as session,
    ):
        for _ in range(2):
            arrays.came = arrays.went = 0
            np.testing.assert_array_equal(await session.run(far, {x: [1.0, 2.0]}), [8.0, 32.0])
        assert (arrays.came, arrays.went) == (2, 2)  # a feed, what goes to the other task and comes there, a fetch


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


class Stream:
    """Runs kernels long after they were launched: a product takes 10 s of its own time, a sum 20 s.

    Args:
        fails: whether it can no longer say when it was at a mark.
    """

    def __init__(self, fails: bool = False) -> None:
        self.time, self.marks, self._fails = 0.0, 0, fails

    def kernel(self, function: Any, seconds: float) -> Any:
        def launched(*boxes: Box) -> Box:
            self.time += seconds
            return Box(function(*[box.array for box in boxes]))

        return DeviceKernel(kernel=lambda context: launched, takes=lambda context: context.inputs[0].dtype == "float32")

    def mark(self) -> float:
        self.marks += 1
        return self.time

    def seconds(self, since: float, until: float) -> float:
        if self._fails:
            raise RuntimeError("an illegal memory access was encountered")
        return until - since


def summed(x: Any, y: Any) -> Any:
    return ops.add(ops.multiply(x, y, name="mul"), y, name="add")


def looped(x: Any) -> Any:
    return ops.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, ops.multiply(y, y, name="mul")), [0, x])[1]


# What is built, and how long the device runs its nodes called "mul" and "add"; "exp" is one of the host.
TIMED: dict[str, Any] = {
    "a segment": (lambda x: ops.exp(summed(x, x), name="exp"), [10, 20, 0]),
    "a loop": (looped, [10, 10]),
    "control flow of single nodes": (lambda x: summed(taken(x), x), [10, 20]),
}


@for_each("name", list(TIMED))
@for_each("fails", [False, True])
def test_a_trace_says_when_the_device_has_run_a_kernel(name: str, fails: bool) -> None:
    build, seconds = TIMED[name]
    stream = Stream(fails)

    class Streamed(Boxes):
        rows = {"AddV2": stream.kernel(np.add, 20.0), "Mul": stream.kernel(np.multiply, 10.0)}
        kernels = replace(Boxes.kernels, rows=rows, clock=lambda device: stream)

    with registration_scope(), Graph().as_default() as graph, graph.device("/device:STREAM:0"):
        register_device_factory("STREAM", Streamed())
        x = ops.placeholder("float32", [2])
        y = build(x)
        metadata = RunMetadata()
        with Session(graph=graph) as session:
            session.run(y, {x: [1.0, 2.0]})
            assert stream.marks == 0
            session.run(y, {x: [1.0, 2.0]}, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
    assert metadata.step_stats is not None
    nodes = [node for node in metadata.step_stats.nodes if node.node in ("mul", "add", "exp", "while/mul")]
    assert len(nodes) == len(seconds)
    if fails:
        assert all(0 < node.end - node.start < 10 for node in nodes)  # those of launching
        return
    assert [round(node.end - node.start, 6) for node in nodes] == seconds
    assert all(before.end <= after.start + 1e-6 for before, after in itertools.pairwise(nodes))
    # The end of the last is what the host's clock said when the device had come so far.
    [phase] = [phase for phase in metadata.step_stats.phases if phase.kind == "step"]
    assert phase.began <= nodes[-1].end <= phase.ended


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


# What is made of 1 and 2, and how many results are written over what was read last.
OVER: dict[str, tuple[Callable[[acts.Tensor], Any], int]] = {
    "a chain": (lambda x: (x * 2.0 + x) - 1.0, 2),
    "the right operand": (lambda x: x + x * 2.0, 1),
    "but not of a difference": (lambda x: x - x * 2.0, 0),
    "what is fed": (lambda x: x + 1.0, 0),
    "a constant": (lambda x: ops.constant([1.0, 2.0]) * x, 0),
    "a variable": (lambda x: acts.Variable([3.0, 4.0], name="v") + x, 0),
    "a view": (lambda x: ops.reshape(x, [2]) + 1.0, 0),
    "a view of what was made": (lambda x: ops.reshape(x * 2.0, [2]) + 1.0, 0),
    "what is read twice": (lambda x: ops.square(x * 2.0 + 1.0) + (x * 2.0 + 1.0), 2),
    "what is fetched": (lambda x: [y := x * 2.0, y + 1.0], 0),
    "a smaller array": (lambda x: x * 2.0 + ops.constant([[1.0], [2.0]]), 0),
    "a larger one": (lambda x: x * ops.constant([[1.0], [2.0]]) + x, 1),
    "what was cast": (lambda x: ops.cast(x * 2.0 > 1.0, "float32") + 1.0, 1),
    "in a loop": (lambda x: ops.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, y * 2.0 + x), [0, x])[1], 1),
}


@for_each("name", list(OVER))
def test_results_are_written_over_what_was_read_last(name: str) -> None:
    build, count = OVER[name]
    values = []
    for device in ("/cpu:0", "/device:MARK:0"):
        with registration_scope(), Graph().as_default() as graph, graph.device(device):
            register_device_factory("MARK", Marks())
            x = ops.placeholder("float32", [2])
            y = build(x)
            initialise = acts.global_variables_initializer()
            with Session(graph=graph) as session:
                session.run(initialise)
                given = np.array([1.0, 2.0], "f4")
                values.append([session.run(y, {x: given}) for _ in range(2)])
                np.testing.assert_array_equal(given, [1.0, 2.0])
                source = "".join(s.source for part in session.explain(y, [x]).partitions for s in part.segments)
    np.testing.assert_equal(values[1], values[0])
    assert len(re.findall(r" [-+*]= ", source)) == count


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
