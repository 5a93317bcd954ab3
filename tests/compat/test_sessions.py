"""What sessions, graphs and device specifications of this face have beside those of the library."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession.compat.v1 as tf


def test_a_session_tells_its_target_as_bytes() -> None:
    with tf.Graph().as_default():
        for kind in (tf.Session, tf.InteractiveSession):
            session = kind()
            assert session.sess_str == b""
            session.close()
        remote = tf.Session("tcp://127.0.0.1:1")
        assert remote.sess_str == b"tcp://127.0.0.1:1"
        remote.close()


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


def test_the_graph_of_a_session_tells_shapes_if_they_are_asked_for() -> None:
    asked = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Graph().as_default():
        tf.constant([1, 2])
        plain, telling = tf.Session(), tf.Session(config=asked)
        assert "_output_shapes" not in plain.graph_def.node[0].attr
        assert "_output_shapes" in telling.graph_def.node[0].attr
        plain.close()
        telling.close()


def test_a_graph_tells_the_scope_that_is_entered() -> None:
    with tf.Graph().as_default() as graph:
        assert graph.get_name_scope() == ""
        with tf.name_scope("a"), tf.name_scope("b"):
            assert graph.get_name_scope() == "a/b"


def test_a_graph_tells_the_version_of_its_writer() -> None:
    graph: Any = tf.Graph()
    with graph.as_default():
        assert graph.graph_def_versions == graph.as_graph_def().versions


def test_options_of_a_run_may_watch_nodes() -> None:
    with tf.Graph().as_default():
        total = tf.add(tf.constant(1), tf.constant(2), name="total")
        options = tf.RunOptions()
        options.debug_options.debug_tensor_watch_opts.add(
            node_name=total.op.name, debug_ops=["DebugIdentity"]
        )
        with tf.Session() as sess:
            assert sess.run(total, options=options) == 3
            dumps: Any = sess
            assert [d.watch_key for d in dumps.debug_dumps()] == ["total:0:DebugIdentity"]
