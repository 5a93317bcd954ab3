"""Arguments that TensorFlow has beside the usual ones: they do here what they do there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def value(fetch: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetch)


# -- operations ----------------------------------------------------------------------------------------


def test_a_constant_may_have_to_have_its_shape_already() -> None:
    assert tf.constant([1, 2], shape=[2], verify_shape=True).shape.as_list() == [2]
    assert tf.constant(1, shape=[2]).shape.as_list() == [2]
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2,\), but got \(\)"):
        tf.constant(1, shape=[2], verify_shape=True)
    # A hint at a type is taken where it fits.
    assert tf.convert_to_tensor(3, dtype_hint=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(3, preferred_dtype=tf.int64).dtype == tf.int64
    assert tf.convert_to_tensor(3.5, preferred_dtype=tf.int32).dtype == tf.float32
    assert tf.convert_to_tensor(3, tf.int32, dtype_hint=tf.float64).dtype == tf.int32
    assert tf.convert_to_tensor(tf.constant(1), dtype_hint=tf.float32).dtype == tf.int32
    # Products are summed in the type that is wanted.
    x = tf.constant([[100, 100]], tf.int8)
    wide = tf.matmul(x, x, transpose_b=True, output_type=tf.int32)
    assert (wide.dtype, value(wide).tolist()) == (tf.int32, [[20000]])
    # The places that are true are found.
    assert value(tf.where_v2([True, False, True])).tolist() == [[0], [2]]
    # Defaults of names and types are tensorflows.
    x = tf.placeholder(tf.float32, [None])
    names = [t.op.name for t in (tf.zeros([2]), tf.ones([2]), tf.logical_xor([True], [False]))]
    assert names == ["zeros", "ones", "LogicalXor"]
    assert (tf.shape(x).dtype, tf.size(x, out_type=tf.int64).dtype) == (tf.int32, tf.int64)


@pytest.mark.parametrize("index_type", [tf.int16, tf.int32, tf.int64])
def test_indices_of_the_largest_have_the_type_that_is_wanted(index_type: Any) -> None:
    found = tf.nn.top_k([1.0, 3.0, 2.0], 2, index_type=index_type)
    assert found.indices.dtype == index_type
    assert value(found.indices).tolist() == [1, 2]


def test_a_loop_without_arguments_is_called_without_any() -> None:
    coord = tf.train.Coordinator()
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        coord.request_stop()

    coord.join([tf.train.LooperThread.loop(coord, None, target=call)])
    assert calls == [1]


# -- graphs and files ----------------------------------------------------------------------------------


def test_a_default_graph_that_others_made_speaks_tensorflows_language() -> None:
    with acts.Graph().as_default() as plain:
        tf.constant(1.0, name="c")
        assert isinstance(acts.Graph.as_graph_def(plain), acts.GraphDef)
        found = tf.get_default_graph()
        assert found is plain
        assert isinstance(found, tf.Graph)
        assert [node.name for node in found.as_graph_def().node] == ["c"]


def test_a_graph_as_a_message_has_shapes_and_a_beginning_as_asked_for(graph: Any) -> None:
    tf.constant([1.0, 2.0], name="a")
    tf.constant(1.0, name="b")
    later = graph.as_graph_def(from_version=1)
    assert [node.name for node in later.node] == ["b"]
    shaped = graph.as_graph_def(add_shapes=True).node[0].attr["_output_shapes"]
    assert [dim.size for dim in shaped.list.shape[0].dim] == [2]
    assert "_output_shapes" not in graph.as_graph_def().node[0].attr
    for kind in (tf.Session, tf.InteractiveSession):
        session = kind()
        assert [node.name for node in session.graph_def.node] == ["a", "b"]
        session.close()


def test_a_saver_says_as_a_message_where_its_nodes_are() -> None:
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    said: Any = saver.as_saver_def()
    assert isinstance(said, tf.train.SaverDef)
    assert saver.to_proto() == saver.saver_def == tf.train.SaverDef.FromString(said.SerializeToString())
    assert tf.train.Saver.from_proto(said).saver_def == said
    assert (tf.train.SaverDef.V1, tf.train.SaverDef.V2) == (1, 2)


def test_a_graph_without_variables_needs_no_saver(tmp_path: Path) -> None:
    tf.constant(1.0, name="c")
    file = str(tmp_path / "graph.meta")
    tf.train.export_meta_graph(file, as_text=True)
    with tf.Graph().as_default() as graph:
        assert tf.train.import_meta_graph(file) is None
        assert value("c:0") == 1.0
        v = tf.Variable(2.0)
        with_variables = tf.train.export_meta_graph(graph=graph)
    with tf.Graph().as_default(), tf.Session() as sess:
        saver: Any = tf.train.import_meta_graph(with_variables)
        sess.run(tf.global_variables_initializer())
        assert saver.save(sess, str(tmp_path / "m")) == str(tmp_path / "m")
        assert sess.run(v.name) == 2.0
    with pytest.raises(OSError, match="no_such"):
        tf.train.import_meta_graph(str(tmp_path / "no_such.meta"))


def test_a_graph_that_has_no_message_is_left_out_beside_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ValueError("no such form")

    v = tf.Variable(1.0)
    saver = tf.train.Saver()
    monkeypatch.setattr("actorsession.interop.export_meta_graph", refuse)
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = str(saver.save(sess, str(tmp_path / "m")))
        saver.restore(sess, path)
    assert not Path(path + ".meta").exists()
    assert "no such form" in caplog.text


def test_arrays_and_messages_of_tensors_are_turned_into_each_other() -> None:
    np.testing.assert_array_equal(tf.make_ndarray(tf.make_tensor_proto([[1, 2]])), [[1, 2]])
