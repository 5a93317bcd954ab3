"""Meta graphs of one name scope, and imports that read other tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf


def layer() -> Any:
    """A layer in scope ``hidden`` that reads a placeholder outside."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.variable_scope("hidden"):
        w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(3.0))
        y = tf.matmul(x, w, name="y")
    tf.add_to_collection("results", y)
    tf.add_to_collection("others", x)
    return x, y


def test_a_scope_is_exported_and_built_elsewhere(tmp_path: Path) -> None:
    path = str(tmp_path / "hidden.meta")
    with tf.Graph().as_default(), tf.Session() as session:
        layer()
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "m"))
        written = tf.train.export_meta_graph(path, export_scope="hidden")
    assert {node.name for node in written.graph_def.node} >= {"w", "y"}
    assert not any(node.name.startswith(("hidden", "x")) for node in written.graph_def.node)
    assert "others" not in written.collection_def
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant([[1.0, 2.0]])
        tf.train.import_meta_graph(path, import_scope="again", input_map={"x:0": given})
        (variable,) = tf.global_variables()
        (result,) = tf.get_collection("results")
        assert (variable.name, result.name) == ("again/w:0", "again/y:0")
        tf.train.Saver({"hidden/w": variable}).restore(session, str(tmp_path / "m"))
        np.testing.assert_array_equal(session.run(result), [[9.0]])
        assert tf.get_default_graph().get_all_collection_keys().count("unbound_inputs") == 0


def test_an_import_says_which_inputs_a_scope_lacks(tmp_path: Path) -> None:
    path = str(tmp_path / "hidden.meta")
    with tf.Graph().as_default():
        layer()
        tf.train.export_meta_graph(path, export_scope="hidden")
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"unbound inputs: x\. Must"):
        tf.train.import_meta_graph(path)


def test_a_whole_meta_graph_reads_another_tensor() -> None:
    with tf.Graph().as_default():
        layer()
        written = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant([[1.0, 1.0]])
        tf.train.import_meta_graph(written, input_map={"x:0": given})
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run("hidden/y:0"), [[6.0]])


def test_a_node_whose_name_is_taken_gets_one_that_no_other_has() -> None:
    with tf.Graph().as_default():
        tf.add(tf.constant(1.0), tf.constant(2.0), name="sum")
        written = tf.get_default_graph().as_graph_def()
    names = ["Const", "Const_1", "sum"]
    with tf.Graph().as_default():
        tf.constant(5.0)
        first: Any = tf.import_graph_def(written, name="", return_elements=names)
        again: Any = tf.import_graph_def(written, name="", return_elements=names)
    assert [op.name for op in first] == ["Const_2", "Const_1", "sum"]
    assert [op.name for op in again] == ["Const_3", "Const_1_1", "sum_1"]
    assert [t.op.name for t in again[2].inputs] == ["Const_3", "Const_1_1"]
