"""What sessions, their callables, graphs and device specifications of this face have beside the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import config
from actorsession.compat.v1.core.protobuf import config_pb2
from actorsession.compat.v1.python.ops import array_ops
from actorsession.compat.v1.sessions.settings import as_settings


def test_a_session_tells_its_target_as_bytes() -> None:
    with tf.Graph().as_default():
        for kind in (tf.Session, tf.InteractiveSession):
            session = kind(b"")
            assert session.sess_str == b""
            session.close()
        remote = tf.Session("tcp://127.0.0.1:1")
        assert remote.sess_str == b"tcp://127.0.0.1:1"
        remote.close()
    # The graph of a session tells shapes if they are asked for.
    asked = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Graph().as_default():
        tf.constant([1, 2])
        plain, telling = tf.Session(), tf.Session(config=asked)
        assert "_output_shapes" not in plain.graph_def.node[0].attr
        assert "_output_shapes" in telling.graph_def.node[0].attr
        plain.close()
        telling.close()
    # A graph tells the scope that is entered.
    with tf.Graph().as_default() as graph:
        assert graph.get_name_scope() == ""
        with tf.name_scope("a"), tf.name_scope("b"):
            assert graph.get_name_scope() == "a/b"
    # A graph tells the version of its writer.
    graph = tf.Graph()
    with graph.as_default():
        assert graph.graph_def_versions == graph.as_graph_def().versions


def test_a_device_specification_is_changed_in_place() -> None:
    spec: Any = tf.DeviceSpec(job="worker")
    spec.task = 1
    spec.merge_from(tf.DeviceSpec(device_type="CPU", task=2))
    assert spec.to_string() == "/job:worker/task:2/device:CPU:*"
    assert spec.parse_from_string("/job:ps/task:0") is spec
    assert str(spec) == "/job:ps/task:0"
    merged = spec.make_merged_spec(tf.DeviceSpec(task=3))
    assert (str(merged), str(spec)) == ("/job:ps/task:3", "/job:ps/task:0")
    assert str(spec.replace(job="other")) == "/job:other/task:0"
    with tf.Graph().as_default(), tf.device(merged):
        assert tf.constant(1).device == "/job:ps/task:3"
    assert isinstance(tf.DeviceSpec.from_string("/cpu:0"), tf.DeviceSpec)


def test_an_interactive_session_places_what_runs() -> None:
    with tf.Graph().as_default():
        with tf.device("/device:GPU:0"):
            elsewhere = tf.constant(1.0)
        session = tf.InteractiveSession()
        assert tf.constant(2.0).eval() == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="GPU"):
            elsewhere.eval()
        session.close()


def test_the_default_graph_is_reset_while_an_interactive_session_is_open() -> None:
    tf.reset_default_graph()
    session = tf.InteractiveSession()
    tf.constant(1.0, name="before")
    tf.reset_default_graph()
    assert tf.constant(1.0).name == "Const:0"
    session.close()


def test_options_of_a_run_may_watch_nodes() -> None:
    with tf.Graph().as_default():
        total = tf.add(tf.constant(1), tf.constant(2), name="total")
        options = tf.RunOptions()
        options.debug_options.debug_tensor_watch_opts.add(node_name=total.op.name, debug_ops=["DebugIdentity"])
        with tf.Session() as sess:
            assert sess.run(total, options=options) == 3
            dumps: Any = sess
            assert [d.watch_key for d in dumps.debug_dumps()] == ["total:0:DebugIdentity"]


@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_an_executor_that_tensorflow_does_not_have_is_refused_when_something_runs(kind: Any) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        for name in ("", "DEFAULT", "SINGLE_THREADED_EXECUTOR"):
            config = tf.ConfigProto()
            config.experimental.executor_type = name
            with tf.Session(config=config) as sess:
                assert sess.run(x + 1.0, {x: 1.0}) == 2.0
        config.experimental.executor_type = "other"
        session: Any = kind(config=config)
        run = session.make_callable(x, [x])
        assert run(1.0) == 1.0  # nothing is executed
        calls: list[Callable[[], Any]] = [
            lambda: session.run(x + 1.0, {x: 1.0}),
            lambda: session.run(tf.constant(1.0)),
            lambda: session.make_callable(x + 1.0, [x])(1.0),
            lambda: session.partial_run_setup([x + 1.0], [x]),
        ]
        for call in calls:
            with pytest.raises(tf.errors.NotFoundError, match="executor type: other"):
                call()
        session.close()


def test_the_dimensions_that_are_known_become_constants() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        known, unknown = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [None, 3])
        sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 4])
        for function, values in (
            (array_ops.shape_internal, ([2, 3], [5, 3], [2, 4])),
            (array_ops.size_internal, (6, 15, 8)),
            (array_ops.rank_internal, (2, 2, 2)),
        ):
            made = [function(tensor) for tensor in (known, unknown, sparse)]
            for each, value in zip(sess.run(made, {unknown: [[0.0] * 3] * 5}), values, strict=True):
                assert (each.dtype, each.tolist()) == ("int32", value)
            assert made[0].op.type == "Const"
            assert function(known, optimize=False).op.type != "Const"
        assert array_ops.shape_internal(unknown, out_type=tf.int64).dtype == tf.int64


def test_a_branch_with_state_runs_in_several_runs_of_an_interactive_session() -> None:
    """Such a session places what each run needs, and what has state stays where it was."""
    with tf.Graph().as_default(), tf.InteractiveSession() as sess:
        doubled = tf.Variable(2.0 * tf.Variable(tf.ones([2])).initialized_value())
        doubled.initializer.run()
        sess.run(tf.global_variables_initializer())
        assert doubled.eval().tolist() == [2.0, 2.0]


def options_of_a_program() -> Any:
    """Filled in field by field, as programs do."""
    options = config_pb2.CallableOptions()
    options.feed.append("x:0")
    options.fetch.extend(["z:0", "a:0"])
    options.target.append("y")
    options.run_options.trace_level = tf.RunOptions.FULL_TRACE
    connection = options.tensor_connection.add()
    connection.from_tensor, connection.to_tensor = "a:0", "b:0"
    return options


@pytest.fixture(params=[tf.Session, tf.InteractiveSession])
def session(request: Any) -> Any:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        b = tf.placeholder(tf.float32, [2], name="b")
        tf.constant([1.0, 2.0], name="a")
        tf.add(tf.multiply(x, 10.0, name="y"), b, name="z")
        made = request.param()
        yield made
        made.close()


def test_a_callable_is_made_of_a_message(session: Any) -> None:
    run = session._make_callable_from_options(options_of_a_program())
    metadata = tf.RunMetadata()
    z, a = run([1.0, 2.0], run_metadata=metadata)
    np.testing.assert_array_equal(z, [11, 22])
    np.testing.assert_array_equal(a, [1, 2])
    assert metadata.HasField("step_stats")
    # Devices are set by tensor.
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=["y:0"], fetch_skip_sync=True)
    (device,) = [found.name for found in session.list_devices()]
    options.feed_devices["x:0"] = device
    options.fetch_devices["y:0"] = device
    np.testing.assert_array_equal(session._make_callable_from_options(options)([1, 2]), [[10, 20]])
    options.fetch_devices["y:0"] = device.replace("CPU:0", "GPU:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"GPU:0.* does not exist"):
        session._make_callable_from_options(options)
    # The librarys own options are taken as well.
    run = session._make_callable_from_options(config.CallableOptions(feed=["x"], fetch=["y"]))
    np.testing.assert_array_equal(run([1, 2]), [[10, 20]])
    with pytest.raises(TypeError, match="options is a CallableOptions"):
        session._make_callable_from_options(tf.ConfigProto())


def test_a_callable_keeps_the_options_that_it_was_made_of(session: Any) -> None:
    options = options_of_a_program()
    run = session._make_callable_from_options(options)
    options.fetch.append("y:0")
    options.run_options.trace_level = tf.RunOptions.NO_TRACE
    metadata = tf.RunMetadata()
    assert len(run([1.0, 2.0], run_metadata=metadata)) == 2
    assert metadata.HasField("step_stats")


def test_the_messages_are_compared_copied_and_know_their_fields() -> None:
    options, copied = options_of_a_program(), config_pb2.CallableOptions()
    copied.CopyFrom(options)
    assert copied == options
    copied.feed.append("y:0")
    assert options.feed == ["x:0"]
    assert as_settings(copied).feed == ("x:0", "y:0")
    with pytest.raises(AttributeError, match='no "feeds" field; it has feed, fetch, target'):
        copied.feeds = 3
    assert config_pb2.ConfigProto is tf.ConfigProto
