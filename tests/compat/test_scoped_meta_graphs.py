"""Meta graphs of one name scope, and imports that read other tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.framework import meta_graph


def layer() -> Any:
    """A layer in scope ``hidden`` that reads a placeholder outside."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.variable_scope("hidden"):
        y = tf.matmul(x, tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(3.0)), name="y")
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
        tf.train.import_meta_graph(path, import_scope="again", input_map={"x:0": tf.constant([[1.0, 2.0]])})
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


# What is exported of a collection with a scope: an element without a name, or with one below the scope.
KEPT = {
    "below": ("hidden/text", "in/hidden/text"),
    "outside": ("other", None),
    "bytes": (b"data", "in/data"),
    "number": (3, 3),
    "real": (1.5, 1.5),
}


def test_a_scope_takes_the_collections_along_that_tensorflow_takes() -> None:
    with tf.Graph().as_default() as graph:
        layer()
        for key, (value, _) in KEPT.items():
            tf.add_to_collection(key, value)
        written, variables = meta_graph.export_scoped_meta_graph(
            graph=graph, export_scope="hidden", unbound_inputs_col_name="missing"
        )
    assert list(variables) == ["w:0"]
    assert list(written.collection_def["missing"].bytes_list.value) == [b"$unbound_inputs_x"]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="other")
        for name in ("x", "x:0", "$unbound_inputs_x"):
            with tf.Graph().as_default() as again:
                x = tf.placeholder(tf.float32, [None, 2])
                found = meta_graph.import_scoped_meta_graph(
                    written, import_scope="in", input_map={name: x}, unbound_inputs_col_name="missing"
                )
            assert {key: value.name for key, value in found.items()} == {"w:0": "in/w:0"}
            for key, (_, value) in KEPT.items():
                assert again.get_collection(key) == ([] if value is None else [value])


@pytest.mark.parametrize("given", [None, {}, {"other": 1}])
def test_inputs_that_are_not_given_are_named(given: Any) -> None:
    with tf.Graph().as_default() as graph:
        layer()
        written, _ = meta_graph.export_scoped_meta_graph(graph=graph, export_scope="hidden")
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"unbound inputs: x\. Must"):
        meta_graph.import_scoped_meta_graph(written, import_scope="in", input_map=given)


def test_what_runs_after_an_input_runs_after_its_tensor() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        with tf.name_scope("part"), tf.control_dependencies([x.op]):
            tf.constant(2.0, name="two")
        written, _ = meta_graph.export_scoped_meta_graph(graph=graph, export_scope="part")
    with tf.Graph().as_default() as again:
        y = tf.constant(1.0, name="y")
        meta_graph.import_scoped_meta_graph(written, import_scope="in", input_map={"x": y})
        assert again.get_operation_by_name("in/two").control_inputs == [y.op]


def test_a_scope_around_and_a_scope_that_is_there_count() -> None:
    with tf.Graph().as_default() as graph:
        layer()
        written, variables = meta_graph.export_scoped_meta_graph(graph=graph)
        assert list(variables) == ["hidden/w:0"]
    with tf.Graph().as_default():
        names = ["x:0", "hidden/w"]
        found, elements = meta_graph.import_scoped_meta_graph_with_return_elements(
            written,
            import_scope="in",
            return_elements=names,
            restore_collections_predicate=lambda key: key == "variables",
        )
        assert [element.name for element in elements] == ["in/x:0", "in/hidden/w"]
        assert tf.trainable_variables() == []
        assert list(found) == ["hidden/w:0"]
        with tf.name_scope("around"):
            for scope, wanted in (("in", "around/in"), ("in", "around/in_1"), (None, "around")):
                made = meta_graph.import_scoped_meta_graph(written, import_scope=scope)
                assert made["hidden/w:0"].name == f"{wanted}/hidden/w:0"


def test_a_scope_is_copied() -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("one"):
            tf.get_variable("v", initializer=2.0)
        found = meta_graph.copy_scoped_meta_graph("one", "two")
        assert {key: value.name for key, value in found.items()} == {"v:0": "two/v:0"}
        with pytest.raises(ValueError, match="'from_scope' and 'to_scope' need to be different"):
            meta_graph.copy_scoped_meta_graph("one", "one")


def test_a_whole_meta_graph_reads_another_tensor() -> None:
    with tf.Graph().as_default():
        layer()
        written = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(written, input_map={"x:0": tf.constant([[1.0, 1.0]])})
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
