"""Sessions on ``TORCH_CPU``: training, state, memory that is shared, and what surrounds a step."""

from __future__ import annotations

import asyncio
import platform
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import (
    AsyncSession,
    ConfigProto,
    Graph,
    LocalCluster,
    RunMetadata,
    RunOptions,
    Server,
    ServerSettings,
    Session,
    TensorShape,
    as_dtype,
    ops,
)
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.extend import TensorSpec, register_device_factory, registered_ops, registration_scope
from tests import default_device
from tests.nodes import make
from tests.ops.holders import Context, InPlace, close
from tests.ops.training.test_training_updates import CASES, given, held
from tests.rows import for_each
from tests.session.debugger_kit import BREAK, watch

torch = pytest.importorskip("torch", reason="torch is not installed")
from tests.devices.test_torch_table import OURS, named  # noqa: E402 (needs torch)

keep_freed_memory = pytest.importorskip("actorsession.devices.torch.loading").keep_freed_memory

TORCH = f"/device:{default_device.TORCH}:0"
ONE = {default_device.TORCH: 1}
CONFIG = ConfigProto(device_count=ONE)


def on_both(build: Any, steps: int = 3, torch_device: str = TORCH) -> list[list[Any]]:
    """What a program gives on numpy and on torch: ``build`` returns (initialiser, step, feeds, what is compared)."""
    values = []
    for device in ("/cpu:0", torch_device):
        with tf.Graph().as_default() as graph, graph.device(device):
            initialiser, step, feeds, compared = build()
        with tf.Session(graph=graph, config=CONFIG) as session:
            session.run(initialiser)
            for _ in range(steps):
                session.run(step, feeds)
            values.append(session.run(compared, feeds))
    return values


def dense(optimizer: Any) -> Any:
    """A network with a hidden layer that an optimiser trains."""
    random = np.random.default_rng(1)
    x, y = random.normal(size=(8, 5)).astype("f4"), random.integers(0, 3, 8)
    first, second = (random.normal(size=size).astype("f4") for size in ((5, 7), (7, 3)))
    images, labels = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int64, [None])
    weights = [tf.Variable(first), tf.Variable(np.zeros(7, "f4")), tf.Variable(second), tf.Variable(np.zeros(3, "f4"))]
    hidden = tf.nn.relu(tf.matmul(images, weights[0]) + weights[1])
    logits = tf.matmul(hidden, weights[2]) + weights[3]
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = optimizer.minimize(loss)
    return tf.global_variables_initializer(), step, {images: x, labels: y}, [loss, *weights]


def embedded(optimizer: Any) -> Any:
    """A table of which an optimiser moves the rows that were looked up, one of them twice."""
    table = tf.Variable(np.linspace(-1, 1, 60, dtype="f4").reshape(12, 5))
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
    step = optimizer.minimize(loss)
    return tf.global_variables_initializer(), step, {ids: [3, 1, 3, 11]}, [loss, table]


# Those without a kernel of torch change the same memory with that of the CPU.
OPTIMIZERS: dict[str, Any] = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
    "centered rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "adagrad da": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "proximal": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.01),
}


@for_each("name", list(OPTIMIZERS))
def test_an_optimiser_moves_weights_as_on_the_cpu(name: str) -> None:
    for program in (dense, embedded):
        for ours, torchs in zip(*on_both(lambda program=program: program(OPTIMIZERS[name]())), strict=True):
            np.testing.assert_allclose(torchs, ours, rtol=2e-4, atol=2e-5)


UPDATES = [op for op in registered_ops() if op.startswith("ResourceApply") and op not in OURS.rows]
UPDATES = [op for op in UPDATES if OURS.kernel_of(op) is not None]


@for_each("shares, size, expected", [(True, 1 << 18, 0), (True, 1 << 10, 15), (False, 1 << 18, 15)])
def test_large_memory_that_is_numpy_s_as_well_is_changed_by_the_kernels_of_the_cpu(
    shares: bool, size: int, expected: int
) -> None:
    kernels = replace(OURS, shares_memory=shares)
    specs = TensorSpec(tf.resource, TensorShape([])), TensorSpec(acts.float32, TensorShape([size]))
    taken = 0
    for op in UPDATES:
        context: Any = Context(op)
        context.inputs, context.outputs, context.device = specs, (), TORCH
        kernel = kernels.kernel_of(op)
        assert kernel is not None
        taken += kernel.takes(context)
    assert taken == expected


@for_each("name", list(OPTIMIZERS))
def test_an_optimiser_moves_weights_of_other_memory_by_the_same_sentences(name: str) -> None:
    """As a GPU does, whose memory is not the host's."""
    with registration_scope():
        register_device_factory("APART", named("APART", shares_memory=False))
        both = on_both(lambda: dense(OPTIMIZERS[name]()), torch_device="/device:APART:0")
    for ours, torchs in zip(*both, strict=True):
        np.testing.assert_allclose(torchs, ours, rtol=2e-4, atol=2e-5)


@for_each("op", [op for op in CASES if f"ResourceApply{op.split()[0]}" in UPDATES])
def test_an_update_of_tensors_follows_its_formula(op: str) -> None:
    values, expected = given(op, "float32", (3, 4))
    inputs, cells = held(op, [torch.from_numpy(v) if np.ndim(v) else v for v in values], InPlace)
    kind, *flags = op.split()
    context: Any = Context(f"ResourceApply{kind}", **dict.fromkeys(flags, True))
    kernel: Any = OURS.kernel_of(context.op)
    kernel.kernel(context)(*inputs)
    for cell, value in zip(cells, expected, strict=True):
        close(cell.value.numpy(), value, "float32")


NEW: Any = np.array([[1, 2], [3, 4], [5, 6]], "f4")
CHANGES: dict[str, Any] = {
    **{
        f"scatter_{kind}": lambda v, kind=kind: getattr(v, f"scatter_{kind}")(
            tf.IndexedSlices(tf.constant(NEW), tf.constant([2, 0, 2]))
        )
        for kind in ("add", "sub", "update", "max", "min", "mul", "div")
    },
    "a scalar for all rows": lambda v: tf.scatter_add(v, [1, 3], 5.0),
    "scatter_nd_add": lambda v: v.scatter_nd_add([[0, 1], [3, 0], [0, 1]], [1.0, 2.0, 3.0]),
    "scatter_nd_update": lambda v: v.scatter_nd_update([[2], [0]], NEW[:2]),
    "a slice": lambda v: v[1:3, ::-1].assign(NEW[:2]),
    "random numbers": lambda v: v.assign(tf.random.normal([4, 2], seed=7)),
    "stateless random numbers": lambda v: v.assign(tf.random.stateless_uniform([4, 2], [1, 2])),
    "a shuffle": lambda v: v.assign(tf.random.shuffle(v, seed=3)),
}


@for_each("change", list(CHANGES))
def test_a_variable_changes_as_on_the_cpu(change: str) -> None:
    def build() -> Any:
        tf.set_random_seed(5)
        variable = tf.get_variable("v", initializer=np.arange(8, dtype="f4").reshape(4, 2), use_resource=True)
        return variable.initializer, CHANGES[change](variable), {}, [variable]

    (ours,), (torchs,) = on_both(build, 2)
    np.testing.assert_array_equal(torchs, ours)


@for_each("where, match", [([4], r"indices\[0\] = 4 is not in \[0, 4\)"), ([-1], "-1 is not in"), ([0, 1], "need")])
def test_rows_that_there_are_not_are_refused_in_the_words_of_the_cpu(where: Any, match: str) -> None:
    with Graph().as_default() as graph, graph.device(TORCH):
        v = ops.Variable(np.zeros((4, 2), "f4"))
        places = ops.placeholder("int32", None)
        add = v.scatter_add(acts.IndexedSlices(ops.placeholder_with_default(NEW[:1], None), places))
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        with pytest.raises(InvalidArgumentError, match=match):
            session.run(add, {places: where})
        np.testing.assert_array_equal(session.run(v), np.zeros((4, 2)))


def strided() -> Any:
    """A variable larger than what one thread updates, whose gradient is a part of the rows of another array."""
    weights = tf.Variable(np.linspace(-1, 1, 600 * 500, dtype="f4").reshape(600, 500))
    both = tf.placeholder(tf.float32, [600, 1000])
    step = tf.train.AdamOptimizer(0.01).apply_gradients([(tf.split(both, 2, axis=1)[0], weights)])
    values = np.random.default_rng(5).normal(size=(600, 1000)).astype("f4")
    return tf.global_variables_initializer(), step, {both: values}, tf.global_variables()


def convolutional() -> Any:
    random = np.random.default_rng(2)
    x = random.normal(size=(2, 9, 8, 3)).astype("f4")
    images = tf.placeholder(tf.float32, x.shape)
    layers = images
    for channels, stride, padding in ((4, 1, "SAME"), (6, 2, "VALID"), (5, 2, "SAME")):
        filters = tf.Variable(random.normal(size=(3, 3, int(layers.shape[-1]), channels)).astype("f4") * 0.3)
        layers = tf.nn.relu(tf.nn.conv2d(layers, filters, [1, stride, stride, 1], padding))
    layers = tf.nn.max_pool(layers, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    layers = tf.nn.avg_pool(layers, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    loss = tf.reduce_sum(tf.square(layers))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return tf.global_variables_initializer(), step, {images: x}, [loss, *tf.trainable_variables()]


def recurrent() -> Any:
    random = np.random.default_rng(3)
    x = random.normal(size=(4, 6, 5)).astype("f4")
    inputs = tf.placeholder(tf.float32, x.shape)
    cell = tf.nn.rnn_cell.LSTMCell(7, initializer=tf.constant_initializer(0.05))
    outputs, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - 0.3))
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    return tf.global_variables_initializer(), step, {inputs: x}, [loss, *tf.trainable_variables()]


def normalised() -> Any:
    random = np.random.default_rng(4)
    x = random.normal(2.0, 3.0, size=(6, 4, 4, 3)).astype("f4")
    images = tf.placeholder(tf.float32, [None, 4, 4, 3])
    layers = tf.layers.batch_normalization(images, training=True)
    layers = tf.layers.dense(tf.layers.flatten(layers), 4, kernel_initializer=tf.constant_initializer(0.1))
    loss = tf.reduce_mean(tf.square(layers - 1.0))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    return tf.global_variables_initializer(), step, {images: x}, [loss, *tf.global_variables()]


@for_each("build", [strided, convolutional, recurrent, normalised], ids=lambda build: build.__name__)
def test_a_network_learns_as_on_the_cpu(build: Any) -> None:
    for ours, torchs in zip(*on_both(build), strict=True):
        np.testing.assert_allclose(torchs, ours, rtol=1e-3, atol=1e-4)


def test_references_to_variables_of_a_step_or_of_a_feed_take_tensors() -> None:
    with tf.Graph().as_default() as graph, graph.device(TORCH):
        x = tf.constant([1.0, 2.0])
        temporary = make("TemporaryVariable", [], {"shape": [2], "dtype": tf.float32, "var_name": "t"}).outputs[0]
        added = tf.assign_add(tf.assign_add(temporary, x), x * 10.0)
        total = make("DestroyTemporaryVariable", [added], {"var_name": "t"}).outputs[0]
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.gather(v, [1, 0])), [0, x])[1]
        change = tf.cond(tf.constant(True), lambda: v.assign_add(x), lambda: v + 0.0)
    with tf.Session(graph=graph, config=CONFIG) as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(total), [11, 22])
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(loop, {v: [5.0, 6.0]}), [19, 17])
        with pytest.raises(InvalidArgumentError, match="is fed cannot be changed"):
            session.run(change, {v: [5.0, 6.0]})


# -- state -----------------------------------------------------------------------------------------
@pytest.fixture
def variable() -> Any:
    from actorsession.devices.torch.factories import TorchCpu

    device = TorchCpu().device(f"/job:localhost/replica:0/task:0{TORCH}", "TORCH_CPU")
    variable = device.resources.variable("", "v", TensorSpec(as_dtype("float32"), TensorShape([3])))
    variable.assign(np.array([1, 2, 3], "f4"))
    return variable


def test_a_variable_is_a_tensor_for_its_kernels_and_an_array_for_the_others(variable: Any) -> None:
    assert type(variable.read()) is torch.Tensor
    assert type(variable.value) is type(variable.on_host.read()) is np.ndarray
    variable.on_host.update(lambda old, delta, out=None: np.add(old, delta, out=out), np.float32(1))
    np.testing.assert_array_equal(variable.value, [2, 3, 4])
    variable.on_host.access(lambda array: np.multiply(array, 2, out=array))
    np.testing.assert_array_equal(variable.read().numpy(), [4, 6, 8])
    assert (variable.shape, variable.nbytes, variable.changes) == ((3,), 12, 3)


@pytest.mark.parametrize("view", ["tensor", "part", "array", "array of the host"])
def test_what_was_read_never_changes(view: str, variable: Any) -> None:
    read = {
        "tensor": lambda: variable.read(),
        "part": lambda: variable.read()[1:],
        "array": lambda: variable.read().numpy(),
        "array of the host": lambda: variable.value,
    }[view]()
    before = read.tolist()
    variable.change(lambda tensor: tensor.add_(5))
    assert read.tolist() == before
    np.testing.assert_array_equal(variable.value, [6, 7, 8])


def test_a_variable_that_nobody_else_holds_changes_in_place(variable: Any) -> None:
    where = variable.read().data_ptr()
    for _ in range(3):
        variable.change(lambda tensor: tensor.mul_(2))
        variable.on_host.update(np.multiply, np.float32(2))
        variable.on_host.access(lambda array: np.negative(array, out=array))
    assert variable.read().data_ptr() == where
    np.testing.assert_array_equal(variable.value, [-64, -128, -192])


def test_a_variable_refuses_another_type_and_says_that_it_has_no_value(variable: Any) -> None:
    for value in (torch.zeros(4), torch.zeros(3, dtype=torch.float64), np.zeros(4, "f4")):
        with pytest.raises(InvalidArgumentError, match="'v' holds float32 of shape"):
            variable.assign(value)
    variable.clear()
    assert variable.value is None
    with pytest.raises(FailedPreconditionError):
        variable.change(lambda tensor: tensor)
    with pytest.raises(FailedPreconditionError):
        variable.on_host.read()


def test_variables_are_saved_and_restored_and_go_from_one_device_type_to_the_other(tmp_path: Path) -> None:
    def program(device: str) -> tuple[Graph, Any, Any]:
        with tf.Graph().as_default() as graph, graph.device(device):
            v = tf.Variable(np.array([1, 2], "f4"), name="v")
            saver = tf.train.Saver()
        return graph, v, saver

    path = ""
    for device, expected in ((TORCH, [2.0, 4.0]), ("/cpu:0", [4.0, 8.0]), (TORCH, [8.0, 16.0])):
        graph, v, saver = program(device)
        with graph.as_default(), graph.device(device):
            double = v.assign(v * 2.0)
        with tf.Session(graph=graph, config=CONFIG) as session:
            if path:
                saver.restore(session, path)
            else:
                session.run(v.initializer)
            session.run(double)
            np.testing.assert_array_equal(session.run(v), expected)
            path = saver.save(session, str(tmp_path / device.strip("/").replace(":", "-")))


async def test_a_server_keeps_its_tensors_in_snapshots(tmp_path: Path) -> None:
    settings = ServerSettings(config=CONFIG, snapshot_dir=tmp_path, snapshot_every=3600.0)
    with Graph().as_default() as graph, graph.device("/job:worker/task:0" + TORCH):
        v = ops.Variable([1.0, 2.0], name="v")
        add = v.assign_add([1.0, 1.0])
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=settings) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await session.run(v.initializer)
            await asyncio.gather(*[session.run(add) for _ in range(5)])
            np.testing.assert_array_equal(await session.run(v), [6.0, 7.0])
    async with (
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=settings) as server,
        AsyncSession(server.target, graph=graph) as session,
    ):
        np.testing.assert_array_equal(await session.run(v), [6.0, 7.0])


def test_variables_without_a_value_are_reported() -> None:
    with tf.Graph().as_default() as graph, graph.device(TORCH):
        _, b = (tf.Variable(np.zeros(2, "f4"), name=name) for name in "ab")
        missing = tf.report_uninitialized_variables()
    with tf.Session(graph=graph, config=CONFIG) as session:
        session.run(b.initializer)
        assert session.run(missing).tolist() == [b"a"]


async def test_a_session_with_a_state_of_its_own_keeps_tensors_too() -> None:
    config = ConfigProto(device_count=ONE, isolate_session_state=True)
    with Graph().as_default() as graph, graph.device("/job:worker/task:0" + TORCH):
        v = ops.Variable([1.0, 2.0])
        add = v.assign_add([1.0, 1.0])
    async with (
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(config=CONFIG)) as server,
        AsyncSession(server.target, graph=graph, config=config) as session,
    ):
        await session.run(v.initializer)
        np.testing.assert_array_equal(await session.run(add), [2.0, 3.0])


# -- values ----------------------------------------------------------------------------------------
@for_each("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool", "int32", "string"])
def test_a_value_of_each_type_comes_back_as_it_was_fed(dtype: str) -> None:
    numpys = ml_dtypes.bfloat16 if dtype == "bfloat16" else object if dtype == "string" else dtype
    for array in (np.array([1, 0, 1]).astype(numpys), np.array(1).astype(numpys), np.zeros((0, 2), numpys)):
        given = (
            np.array([b"a", b"", b"b"], object).reshape(-1)[: array.size].reshape(array.shape)
            if dtype == "string"
            else array
        )
        with Graph().as_default() as graph, graph.device(TORCH):
            x = ops.placeholder(dtype, given.shape)
            y = ops.reshape(ops.identity(x), given.shape)
        with Session(graph=graph, config=CONFIG) as session:
            got = np.asarray(session.run(y, {x: given}))
        assert got.shape == given.shape
        assert got.tolist() == given.tolist()


@for_each("dtype", ["float32", "bfloat16", "bool", "int32", "string"])
@for_each("devices", [(TORCH, "/cpu:0"), ("/cpu:0", TORCH), (TORCH, TORCH)])
def test_lists_go_from_device_to_device(devices: Any, dtype: str) -> None:
    values: Any = np.array([[1, 0], [1, 1], [0, 1]]).astype("S1" if dtype == "string" else "f4")
    first, second = devices
    with tf.Graph().as_default() as graph:
        with graph.device(first):
            x = tf.constant(values.astype(object)) if dtype == "string" else tf.cast(tf.constant(values), dtype)
            attrs = {"element_dtype": x.dtype}
            items = make("TensorListFromTensor", [x, tf.constant([2])], attrs).outputs[0]
            longer = make("TensorListPushBack", [items, x[0]], attrs).outputs[0]
        with graph.device(second):
            whole = make("TensorListStack", [longer, tf.constant([2])], attrs).outputs[0]
            some = make("TensorListGather", [longer, tf.constant([3, 1]), tf.constant([2])], attrs).outputs[0]
            rest, last = make("TensorListPopBack", [longer, tf.constant([2])], attrs).outputs
            one = make("TensorListGetItem", [rest, tf.constant(1), tf.constant([2])], attrs).outputs[0]
            resized = make("TensorListResize", [longer, tf.constant(5)]).outputs[0]
            unset = make("TensorListStack", [resized, tf.constant([2])], attrs).outputs[0]
    with tf.Session(graph=graph, config=CONFIG) as session:
        x, *got = session.run([x, whole, some, last, one, unset])
    rows = np.stack([*x, x[0]])
    nothing = np.full((1, 2), b"") if dtype == "string" else np.zeros((1, 2))
    for value, expected in zip(got, [rows, rows[[3, 1]], x[0], x[1], [*rows, *nothing]], strict=True):
        assert value.dtype == x.dtype
        assert value.tolist() == np.asarray(expected, x.dtype).tolist()


def test_memory_that_is_only_read_or_turned_round_is_fed_as_it_is() -> None:
    frozen = np.arange(4, dtype="f4")
    frozen.flags.writeable = False
    with Graph().as_default() as graph, graph.device(TORCH):
        x = ops.placeholder("float32", [4])
        y = x + x
    with Session(graph=graph, config=CONFIG) as session:
        for array in (frozen, np.arange(4, dtype="f4")[::-1], np.arange(8, dtype="f4")[::2], np.arange(4, dtype=">f4")):
            np.testing.assert_array_equal(session.run(y, {x: array}), array + array)
    np.testing.assert_array_equal(frozen, [0, 1, 2, 3])


def test_a_fetched_array_is_the_caller_s_own() -> None:
    with Graph().as_default() as graph, graph.device(TORCH):
        v = ops.Variable([1.0, 2.0])
        doubled = v + v
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        for fetch in (v, doubled, v):
            session.run(fetch)[:] = 9.0
        np.testing.assert_array_equal(session.run(v), [1.0, 2.0])


@pytest.mark.parametrize(("dtype", "is_numpy_s"), [("float32", True), ("float64", True), ("bfloat16", False)])
def test_runs_on_large_arrays_are_computed_block_by_block_but_in_half_precision(dtype: str, is_numpy_s: bool) -> None:
    values = np.random.default_rng(1).random((1024, 1024)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    with Graph().as_default() as graph, graph.device(TORCH):
        x, v = ops.placeholder(dtype, [1024, 1024]), ops.Variable(ops.zeros([1024, 1024], dtype))
        y = ops.tanh(x * 2.0 + 1.0)
        stored, is_large = v.assign(y * x), ops.reduce_sum(ops.cast(y > 0.99, dtype) * 0.0 + y) > 0.0
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        step = session.explain([y, stored, is_large], [x])
        assert any("Blockwise" in segment.source for part in step.partitions for segment in part.segments) == is_numpy_s
        got, kept, is_large_here = session.run([y, stored, is_large], {x: values})
        expected = np.tanh(values * values.dtype.type(2) + values.dtype.type(1))
        np.testing.assert_allclose(got.astype("f8"), expected.astype("f8"), rtol=1e-2 if dtype == "bfloat16" else 1e-6)
        np.testing.assert_array_equal(session.run(v), kept)
        assert is_large_here


def test_each_term_of_a_sum_is_added_when_it_is_made_and_to_none_that_others_read() -> None:
    with Graph().as_default() as graph, graph.device(TORCH):
        x, v = ops.placeholder("float32", [3]), ops.Variable([1.0, 2.0, 3.0])
        terms = [ops.tanh(x * float(k)) for k in range(4)]
        total, others = ops.add_n(terms), ops.add_n([v, x, terms[1], v])
    given = np.array([0.5, 1, 2], "f4")
    parts = [np.tanh(given * k) for k in range(4)]
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        [part] = session.explain(total, [x]).partitions
        sums = re.findall(r"\bj\d+\((\w+), \w+, \1\)", "".join(segment.source for segment in part.segments))
        assert len(sums) == len(terms) - 1
        np.testing.assert_allclose(session.run(total, {x: given}), sum(parts), rtol=1e-6)
        for _ in range(2):
            got = session.run([others, *terms, total], {x: given})
            for value, expected in zip(got, [2 * session.run(v) + given + parts[1], *parts, sum(parts)], strict=True):
                np.testing.assert_allclose(value, expected, rtol=1e-6)
        np.testing.assert_array_equal(session.run(v), [1, 2, 3])


# Sizes of the factors of some products, whether they are turned round, and how many products one call adds.
SUMS: dict[str, tuple[Any, Any, dict[str, Any], int]] = {
    "as they are": ([3, 40], [40, 5], {}, 4),
    "of gradients by weights": ([40, 3], [40, 5], {"transpose_a": True}, 4),
    "of gradients by inputs": ([3, 40], [5, 40], {"transpose_b": True}, 4),
    "both turned round": ([40, 3], [5, 40], {"transpose_a": True, "transpose_b": True}, 4),
    "of batches of any size": ([None, 3], [None, 5], {"transpose_a": True}, 1),
    "larger ones": ([300, 200], [200, 150], {}, 2),
}


@pytest.mark.parametrize("case", SUMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
def test_products_are_added_up_without_results_of_their_own(case: str, dtype: str) -> None:
    left, right, turned, at_once = SUMS[case]
    random, kind = np.random.default_rng(3), ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    with Graph().as_default() as graph, graph.device(TORCH):
        feeds = {
            ops.placeholder(dtype, sizes): random.normal(size=[40 if n is None else n for n in sizes]).astype(kind)
            for sizes in (left, right) * 5
        }
        pairs = list(zip(*[iter(feeds)] * 2, strict=True))
        products = [ops.matmul(*pair, **turned) for pair in pairs]
        total, also = ops.add_n(products), products[-1] * 1.0  # so that the last one has a result
    with Session(graph=graph, config=CONFIG) as session:
        [part] = session.explain([total, also], list(feeds)).partitions
        calls = re.findall(r"s\d+\((.*)\)  #", "".join(segment.source for segment in part.segments))
        assert [call.count(",") for call in calls] == [2 * at_once] * (4 // at_once)
        traced = session.run(total, feeds, options=RunOptions(trace_level=RunOptions.FULL_TRACE))
        np.testing.assert_array_equal(session.run(total, feeds), traced)
    factors = [[feeds[t].astype("c16" if dtype == "complex64" else "f8") for t in pair] for pair in pairs]
    expected = sum(
        (a.T if "transpose_a" in turned else a) @ (b.T if "transpose_b" in turned else b) for a, b in factors
    )
    np.testing.assert_allclose(traced, expected, atol=1.0 if dtype == "bfloat16" else 1e-3)


needs_threads = pytest.mark.skipif(torch.get_num_threads() < 2, reason="torch has one thread here")


@needs_threads
def test_products_that_run_side_by_side_have_a_thread_each_and_give_what_they_give_by_themselves() -> None:
    random, before = np.random.default_rng(4), torch.get_num_threads()
    values = [random.normal(size=(200, 100)).astype("f4") for _ in range(9)]
    with Graph().as_default() as graph, graph.device(TORCH):
        v = ops.Variable(random.normal(size=(150, 200)).astype("f4"))
        xs = [ops.placeholder("float32", [200, 100]) for _ in values]
        late = ops.matmul(v, v, transpose_b=True)
        other = ops.matmul(ops.matmul(v, v * 2.0, transpose_b=True), v)
        total = ops.add_n([ops.matmul(v, x) for x in xs])
        new = v.assign_sub((other + ops.matmul(late, v)) * 1e-6)
    fetches, feeds = [total, new], dict(zip(xs, values, strict=True))
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        first = session.run(v)
        [part] = session.explain(fetches, xs).partitions
        assert "".join(segment.source for segment in part.segments).count("beside(") == 4
        got = session.run(fetches, feeds)
        assert torch.get_num_threads() == before
        session.run(v.initializer)
        traced = session.run(fetches, feeds, options=RunOptions(trace_level=RunOptions.FULL_TRACE))
    for value, same in zip(got, traced, strict=True):
        np.testing.assert_array_equal(value, same)
    np.testing.assert_allclose(got[0], sum(first @ x for x in values), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(got[1], first - 3e-6 * (first @ first.T @ first), rtol=1e-3, atol=1e-4)


@needs_threads
def test_segments_have_all_threads_in_a_thread_that_was_started_while_another_had_one() -> None:
    seen: list[int] = []

    def look(value: Any) -> Any:
        seen.append(torch.get_num_threads())
        return value

    with Graph().as_default() as graph, graph.device(TORCH):
        x = ops.placeholder("float32", [4, 4])
        y = ops.py_func(look, [ops.matmul(x, x)], "float32")
    before = torch.get_num_threads()
    with Session(graph=graph, config=CONFIG) as session:
        torch.set_num_threads(1)
        try:
            other = threading.Thread(target=session.run, args=[y, {x: np.ones((4, 4))}])
            other.start()
            other.join()
            assert torch.get_num_threads() == 1
        finally:
            torch.set_num_threads(before)
    assert seen == [before]


ENDS = """
import torch
from actorsession.devices.torch.threads import SideBySide

matrix, begun = torch.ones(1200, 1200), SideBySide()
calls = [begun.begin(torch.mm, matrix, matrix) for _ in range(50)]
"""


@pytest.mark.process
def test_a_program_that_ends_while_kernels_are_begun_ends_as_it_should() -> None:
    """A thread in a function of C++ that the interpreter stops ends the process with an error."""
    assert subprocess.run([sys.executable, "-c", ENDS], check=False, timeout=60).returncode == 0


def test_a_sum_is_made_in_the_memory_of_no_value_that_others_have() -> None:
    one = np.ones(3, "f4")
    with Graph().as_default() as graph, graph.device(TORCH):
        v, x = ops.Variable([1.0, 2.0, 3.0]), ops.placeholder("float32", [3])
        y, alone = x * 2.0, x * 3.0
        sums = [ops.add_n(terms) for terms in ([v.value(), y, x], [x, v.value(), y], [y, x, x], [alone, x, x])]
    with Session(graph=graph, config=CONFIG) as session:
        session.run(v.initializer)
        for _ in range(2):
            *got, twice = session.run([*sums, y], {x: one})
            np.testing.assert_array_equal(got, [[4, 5, 6], [4, 5, 6], [4, 4, 4], [5, 5, 5]])
            np.testing.assert_array_equal(twice, 2 * one)
        np.testing.assert_array_equal(session.run(v), [1, 2, 3])
    np.testing.assert_array_equal(one, np.ones(3))


def test_products_that_do_not_fit_into_a_sum_are_refused_in_the_words_of_the_cpu() -> None:
    with Graph().as_default() as graph, graph.device(TORCH):
        xs = [ops.placeholder("float32", [None, 3]) for _ in range(4)]
        total = ops.add_n(
            [ops.matmul(x, y, transpose_a=True, name=name) for x, y, name in zip(xs, xs[1:], "abc", strict=False)]
        )
    with Session(graph=graph, config=CONFIG) as session:
        good, bad = np.ones((2, 3), "f4"), np.ones((4, 3), "f4")
        np.testing.assert_array_equal(session.run(total, dict.fromkeys(xs, good)), np.full((3, 3), 6.0))
        with pytest.raises(
            InvalidArgumentError, match=r"MatMul cannot multiply shapes \(2, 3\) and \(4, 3\)"
        ) as refused:
            session.run(total, dict(zip(xs, (good, good, bad, bad), strict=True)))
        assert refused.value.node == "b"


class Allocator:
    """A C library, glibc or another, that notes what it is told."""

    def __init__(self, *, is_glibc: bool) -> None:
        self.told: dict[int, int] = {}
        if is_glibc:
            self.gnu_get_libc_version = lambda: b"2.36"

    def mallopt(self, parameter: int, value: int) -> int:
        self.told[parameter] = value
        return 1


@pytest.mark.parametrize(
    ("is_glibc", "environment", "told"),
    [
        (True, {"GLIBC_TUNABLES": "glibc.cpu.x86_ibt=on"}, {-3: 2**25, -1: 2**29}),
        (True, {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1"}, {}),
        (True, {"MALLOC_TRIM_THRESHOLD_": "1"}, {}),
        (False, {}, {}),
    ],
)
def test_memory_is_kept_for_the_next_arrays_unless_the_user_has_said_what_to_keep(
    is_glibc: bool, environment: dict[str, str], told: dict[int, int]
) -> None:
    library = Allocator(is_glibc=is_glibc)
    assert keep_freed_memory(environment, library) == bool(told)
    assert library.told == told


FAULTS = """
from resource import RUSAGE_THREAD, getrusage
import actorsession as acts

acts.Session(config=acts.ConfigProto(device_count={"TORCH_CPU": 1})).close()
import torch

def step():
    before = getrusage(RUSAGE_THREAD).ru_minflt
    arrays = [torch.zeros(2**20) for _ in range(40)]  # of 1,024 pages; together more than glibc keeps by itself
    while arrays:
        last = arrays.pop() + 1.0
    assert last[0] == 1.0
    return getrusage(RUSAGE_THREAD).ru_minflt - before

print(min([step() for _ in range(5)]))
"""


@pytest.mark.process
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that gives memory back")
def test_arrays_of_a_step_take_the_memory_of_those_of_the_last_one() -> None:
    """Made first and read last first, as for gradients; in a process whose memory nothing else has divided."""
    done = subprocess.run([sys.executable, "-c", FAULTS], check=True, timeout=60, stdout=subprocess.PIPE)
    assert int(done.stdout) < 1024


def test_small_products_leave_the_number_of_torch_s_threads_as_it_was() -> None:
    before, seen = torch.get_num_threads(), []

    def look(value: Any) -> Any:
        seen.append(torch.get_num_threads())
        return value

    with Graph().as_default() as graph, graph.device(TORCH):
        x = ops.placeholder("float32", None)
        product = ops.matmul(x, x)
        seen_between = ops.py_func(look, [product], "float32")
    with Session(graph=graph, config=CONFIG) as session:
        session.run(seen_between, {x: np.ones((4, 4))})
        with pytest.raises(InvalidArgumentError):
            session.run(product, {x: np.ones((4, 5))})
        assert [*seen, torch.get_num_threads()] == [before, before]


@pytest.mark.process
async def test_tasks_of_a_cluster_have_devices_of_the_types_that_are_asked_for() -> None:
    with Graph().as_default() as graph, graph.device("/job:worker/task:0" + TORCH):
        v = ops.Variable([1.0, 2.0])
        add = v.assign_add([1.0, 1.0])
    async with (
        LocalCluster({"worker": 1}, devices={"CPU": 2, **ONE}) as cluster,
        AsyncSession(cluster.target("worker"), graph=graph) as session,
    ):
        assert [d.name.rpartition("/device:")[2] for d in await session.list_devices()] == [
            "CPU:0",
            "CPU:1",
            f"{default_device.TORCH}:0",
        ]
        await session.run(v.initializer)
        np.testing.assert_array_equal(await session.run(add), [2.0, 3.0])


@pytest.mark.process
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU with CUDA")
async def test_a_tensor_goes_from_one_process_to_the_gpu_of_another() -> None:
    large = np.arange(1 << 16, dtype="f4")
    with Graph().as_default() as graph, graph.device("/job:worker/task:0/gpu:0"):
        x = ops.placeholder("float32", None)
        y = x * 2.0
        with graph.device("/job:worker/task:1/gpu:0"):
            z = y + 1.0
    async with (
        LocalCluster({"worker": 2}, devices={"GPU": 1}) as cluster,
        AsyncSession(cluster.target("worker"), graph=graph) as session,
    ):
        for number in range(20):
            np.testing.assert_array_equal(await session.run(z, {x: large + number}), (large + number) * 2.0 + 1.0)


def test_a_type_that_is_not_asked_for_is_not_there() -> None:
    torch_type = default_device.TORCH
    with Session() as session:
        preferred = [torch_type for _ in default_device.BESIDE]
        assert [device.device_type for device in session.list_devices()] == ["CPU", *preferred]
    with Session(config=CONFIG) as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU", torch_type]


# -- what looks at a step --------------------------------------------------------------------------
@pytest.fixture
def observed() -> Any:
    """A step with values of several types: what is fed, the fetches, and the session."""
    with Graph().as_default() as graph, graph.device(TORCH):
        x = ops.placeholder("float32", [4], name="x")
        half = ops.cast(x, "bfloat16", name="half")
        y = ops.log(x * 2.0, name="y")
        z = ops.reduce_sum(ops.asinh(y, name="w"), name="z")
    with Session(graph=graph, config=CONFIG) as session:
        yield x, [half, z], session


@for_each("target", [f"/device:{default_device.TORCH}:1", "/cpu:0"])
def test_a_variable_that_changes_in_place_changes_for_no_other_device(target: str) -> None:
    config = ConfigProto(device_count={default_device.TORCH: 2})
    with Graph().as_default() as graph, graph.device(TORCH):
        v = ops.Variable([1.0, 2.0])
        old = v.read_value()
        with graph.device(target):
            w = ops.Variable([0.0, 0.0])
            kept, tenfold = w.assign(old), old * 10.0
        with graph.control_dependencies([old]):
            add = v.assign_add([1.0, 1.0])  # before the other device looks at what it got
        adds = v.assign_add([5.0, 5.0]), w.assign_add([7.0, 7.0])
    with Session(graph=graph, config=config) as session:
        session.run([v.initializer, w.initializer])
        assert ("on_peer[0](" in str(session.explain([tenfold, add]))) is (target != "/cpu:0")
        for _ in range(2):
            session.run(v.initializer)
            got = session.run([kept, tenfold, add])
            np.testing.assert_array_equal(got, [[1.0, 2.0], [10.0, 20.0], [2.0, 3.0]])
            session.run(adds[0])
            np.testing.assert_array_equal(session.run(w), [1.0, 2.0])
            session.run(adds[1])
            np.testing.assert_array_equal(session.run([v, w]), [[7.0, 8.0], [8.0, 9.0]])


def test_the_debugger_sees_values_of_the_device_as_arrays(observed: Any) -> None:
    x, fetches, session = observed
    session.run(fetches, {x: [1, 2, 3, 4]}, watch("half", "y", "w", "z"))
    dumps = {dump.node_name: dump for dump in session.debug_dumps()}
    assert {type(dump.value) for dump in dumps.values()} == {np.ndarray}
    assert {dump.device_name.removeprefix("/job:localhost/replica:0/task:0") for dump in dumps.values()} == {TORCH}
    assert dumps["half"].value.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(dumps["y"].value, np.log([2, 4, 6, 8]), rtol=1e-6)
    assert dumps["z"].value == pytest.approx(dumps["w"].value.sum())


def test_the_debugger_breaks_at_the_first_nan_of_the_device(observed: Any) -> None:
    x, fetches, session = observed
    said = r"'y' \(Log\) made a NaN or Inf: y:0 .* has 1 NaN and 0 Inf"
    with pytest.raises(InvalidArgumentError, match=said) as raised:
        session.run(fetches, {x: [1, -2, 3, 4]}, BREAK)
    assert raised.value.node == "y"


def test_a_trace_has_the_time_and_the_bytes_of_each_node_of_the_device(observed: Any) -> None:
    x, fetches, session = observed
    metadata = RunMetadata()
    session.run(fetches, {x: [1, 2, 3, 4]}, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
    assert metadata.step_stats is not None
    [stats] = metadata.step_stats.dev_stats
    assert stats.device.endswith(TORCH)
    nodes = {node.node_name: node for node in stats.node_stats}
    sizes = {"half": 8, "y": 16, "w": 16, "z": 4}
    assert {name: nodes[name].output[0].tensor_description.allocated_bytes for name in sizes} == sizes
    ends = [node.all_start_nanos + node.all_end_rel_nanos for node in stats.node_stats]
    starts = [node.all_start_nanos for node in stats.node_stats]
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_a_step_of_the_device_is_explained_before_it_runs(observed: Any) -> None:
    x, fetches, session = observed
    plan = session.explain(fetches, [x])
    assert {plan.node(name).device.rpartition("/device:")[2] for name in ("half", "y", "w", "z")} == {TORCH[8:]}
    page = str(plan)
    # What is fed comes to the device at the beginning, and nothing goes to the host before the end.
    assert re.search(r"def segment_0\(.*\):\n +(v\d+) = on_device\(\1\)\n", page)
    assert [line.count("on_host(") for line in page.splitlines() if "on_host(" in line] == [2]
    assert "return (on_host(" in page
    assert session.statistics().runs == 0
