"""``tf.contrib.graph_editor``, and meta graphs of one name scope."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.contrib import graph_editor as ge
from actorsession.compat.v1.python.framework import meta_graph

pytestmark = pytest.mark.usefixtures("graph")


def chain() -> dict[str, Any]:
    """``a -> b -> c -> d`` with constants between, and what is made of them."""
    made = {"a": tf.constant([1.0, 2.0], name="a")}
    for name, before in (("b", "a"), ("c", "b"), ("d", "c")):
        made[name] = tf.add(made[before], 1.0, name=name)
    return made


def run(*tensors: Any, feeds: Any = None) -> list[Any]:
    with tf.Session() as session:
        return [each.tolist() for each in session.run(list(tensors), feeds)]


def named(elements: Any) -> list[str]:
    return [each.name for each in elements]


# -- views and selection -----------------------------------------------------------------------


def test_a_view_has_what_enters_and_what_leaves() -> None:
    made = chain()
    view = ge.sgv(made["b"].op, made["c"].op)
    assert named(view.ops) == ["b", "c"]
    assert named(view.inputs) == ["a:0", "b/y:0", "c/y:0"]
    assert named(view.outputs) == ["c:0"]
    assert view.input_index(made["a"]) == 0
    assert named(view.consumers()) == ["d"]
    assert view.find_op_by_name("c") is made["c"].op
    with pytest.raises(ValueError, match="not found"):
        view.find_op_by_name("d")


def test_a_view_is_put_in_another_order() -> None:
    view = ge.sgv(chain()["b"].op)
    assert named(view.remap_inputs([1, 0]).inputs) == ["b/y:0", "a:0"]
    assert named(view.remap(new_input_indices=[0]).remap_default().inputs) == ["a:0", "b/y:0"]
    assert named(view.remap_outputs([0, 0]).outputs) == ["b:0", "b:0"]
    assert named(view.remap_outputs([0, 0]).remap_outputs_make_unique().outputs) == ["b:0"]
    with pytest.raises(ValueError, match="at most once"):
        view.remap_inputs([0, 0])
    with pytest.raises(ValueError, match="from 0 to 1"):
        view.remap_inputs([2])
    # A tensor alone passes through its view.
    a = chain()["a"]
    view = ge.SubGraphView(passthrough_ts=[a])
    assert view.is_passthrough(a)
    assert view.inputs == view.outputs == view.passthroughs == [a]
    assert not ge.sgv()


def test_elements_are_found_by_name(graph: Any) -> None:
    with tf.name_scope("s"):
        chain()
    assert named(ge.get_name_scope_ops(graph, "s/"))[0] == "s/a"
    assert named(ge.filter_ops_from_regex(graph, r"/[bc]$")) == ["s/b", "s/c"]
    assert named(ge.filter_ts_from_regex(graph.get_operations(), r"/d:0$")) == ["s/d:0"]
    assert named(ge.select_ops("^s/b$", graph=graph)) == ["s/b"]
    ops, tensors = ge.select_ops_and_ts("(?#ts)s/c:0", "s/d$", graph=graph)
    assert (named(ops), named(tensors)) == (["s/d"], ["s/c:0"])
    assert named(ge.make_view_from_scope("s", graph).outputs) == ["s/d:0"]
    with pytest.raises(ValueError, match="graph="):
        ge.select_ops("b")
    with pytest.raises(TypeError, match="operations and tensors"):
        ge.make_list_of_op([3])


def test_walks_go_both_ways() -> None:
    made = chain()
    a, b, c, d = (made[name].op for name in "abcd")
    assert ge.get_forward_walk_ops(a) == [a, b, c, d]
    assert ge.get_forward_walk_ops([made["b"]]) == [c, d]
    assert ge.get_backward_walk_ops(c, inclusive=False, within_ops=[a, b, c]) == [b, a]
    assert ge.get_backward_walk_ops(d, stop_at_ts=[made["b"]]) == [d, c, d.inputs[1].op, c.inputs[1].op]
    assert ge.get_walks_intersection_ops([b], [c]) == [b, c]
    assert set(ge.get_within_boundary_ops([a, b, c, d], b, [d], inclusive=False)) == {a, b, c}
    # Those that wait are found.
    made = chain()
    with tf.control_dependencies([made["b"]]):
        late = tf.constant(3.0, name="late")
    waits = ge.ControlOutputs(late.graph)
    assert waits.get(made["b"].op) == [late.op]
    assert late.op in ge.get_forward_walk_ops(made["b"].op, control_outputs=waits)
    assert late.op in ge.get_ops_ios([made["b"].op], control_ios=waits)


# -- other inputs ------------------------------------------------------------------------------


def test_readers_read_another_tensor() -> None:
    made = chain()
    other = tf.constant([10.0, 20.0])
    assert ge.reroute_ts([other], [made["b"]]) == 1
    assert run(made["d"]) == [[12.0, 22.0]]
    assert made["b"].consumers() == []
    # Readers that may not be changed stay.
    made = chain()
    other = tf.constant([10.0, 20.0])
    assert ge.reroute_ts([other], [made["b"]], cannot_modify=[made["c"].op]) == 0
    assert ge.reroute_ts(other, made["b"], can_modify=[made["c"].op]) == 1
    # Two tensors exchange their readers.
    x, y = tf.constant(1.0), tf.constant(2.0)
    twice, thrice = x * 2.0, y * 3.0
    assert ge.swap_ts([x], [y]) == 2
    assert run(twice, thrice) == [4.0, 3.0]


def test_tensors_that_do_not_fit_are_refused() -> None:
    a = chain()["a"]
    with pytest.raises(ValueError, match="dtypes"):
        ge.reroute_ts(tf.constant([1, 2]), a)
    with pytest.raises(ValueError, match="shapes"):
        ge.reroute_ts(tf.constant([1.0, 2.0, 3.0]), a)
    with pytest.raises(ValueError, match="1 tensors for 2"):
        ge.reroute_ts([a], [a, a])
    # A cycle is refused.
    made = chain()
    with pytest.raises(ValueError, match="depends on it"):
        ge.reroute_ts(made["d"], made["a"])


def test_a_view_reads_what_another_makes() -> None:
    made = chain()
    double = tf.multiply(tf.constant([5.0, 5.0], name="x"), 2.0, name="double")
    ge.connect(double.op, ge.sgv(made["c"].op).remap_inputs([0]))
    assert run(made["d"]) == [[12.0, 12.0]]


def test_a_view_is_detached_and_bypassed() -> None:
    made = chain()
    _, entering, leaving = ge.detach(ge.sgv(made["c"].op).remap_inputs([0]))
    assert named(entering) == ["geph__b_0:0"]
    assert run(made["c"], feeds={entering[0]: [7.0, 7.0]}) == [[8.0, 8.0]]
    assert run(made["d"], feeds={leaving[0]: [0.0, 0.0]}) == [[1.0, 1.0]]
    again = chain()
    ge.bypass(ge.sgv(again["c"].op).remap_inputs([0]))
    assert run(again["d"]) == [[3.0, 4.0]]


def test_an_operation_waits_for_others_and_no_longer() -> None:
    made = chain()
    late = tf.constant(3.0, name="late")
    ge.add_control_inputs(made["b"].op, [late.op])
    assert made["b"].op.control_inputs == [late.op]
    assert run(made["d"]) == [[4.0, 5.0]]
    with pytest.raises(ValueError, match="already"):
        ge.add_control_inputs(made["b"].op, late.op)
    with pytest.raises(ValueError, match="depends on it"):
        ge.add_control_inputs(made["b"].op, made["d"].op)
    ge.remove_control_inputs(made["b"].op, late.op)
    assert made["b"].op.control_inputs == []


# -- copies ------------------------------------------------------------------------------------


def test_a_copy_has_placeholders_for_what_enters() -> None:
    made = chain()
    tf.add_to_collection("mine", made["c"])
    view, info = ge.copy(ge.sgv(made["b"].op, made["c"].op), dst_scope="again")
    assert named(view.ops) == ["again/b", "again/c"]
    assert view.inputs[0].op.type == "Placeholder"
    assert info.transformed(made["c"]).name == "again/c:0"
    assert info.transformed("c").name == "again/c"
    assert info.original(view.ops[0]) is made["b"].op
    assert info.transformed(made["d"]) is None
    assert named(tf.get_collection("again/mine")) == ["again/c:0"]


def test_a_copy_reads_other_tensors() -> None:
    made = chain()
    ten = tf.constant([10.0, 10.0])
    view, info = ge.copy_with_input_replacements([made["b"].op, made["c"].op], {made["a"]: ten})
    assert run(view.outputs[0], made["c"]) == [[12.0, 12.0], [3.0, 4.0]]
    assert info._transformed_ops[made["b"].op].name == "b_1"


def test_a_copy_is_made_in_another_graph() -> None:
    made, other = chain(), tf.Graph()
    view, _ = ge.copy(made["b"].graph, other, dst_scope="there", src_scope="")
    assert named(view.outputs) == ["there/d:0"]
    with tf.Session(graph=other) as session:
        assert session.run("there/d:0").tolist() == [4.0, 5.0]


def test_a_result_is_computed_anew_from_other_tensors() -> None:
    x = tf.constant(3.0, name="x")
    y = tf.square(x, name="y")
    grad = tf.gradients(y, x)[0]
    (new_y, new_grad) = ge.graph_replace((y, grad), {x: tf.constant(5.0)}, dst_scope="res")
    assert run(new_y, new_grad, y, grad) == [25.0, 10.0, 9.0, 6.0]
    assert new_y.op.name == "res/y"
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(x, {y: x})


def test_the_marks_of_copies_may_be_others(graph: Any) -> None:
    chain()

    def marked(message: Any) -> Any:
        message.attr["_mark"].s = b"here"
        return message

    def handler(info: Any, op: Any, inputs: Any) -> Any:
        return ge.copy_op_handler(info, op, inputs, nodedef_fn=marked)

    transformer = ge.Transformer()
    transformer.transform_op_handler = handler
    other = tf.Graph()
    transformer(graph, other, "")
    assert {op.get_attr("_mark") for op in other.get_operations()} == {b"here"}


def test_operations_of_gradients_stand_for_those_that_they_differentiate() -> None:
    x = tf.constant(3.0)
    y = tf.tanh(x, name="y")
    assert tf.gradients(y, x)[0].op._original_op is y.op
    assert y.op._original_op is None


def test_values_are_computed_twice_to_save_memory() -> None:
    """What gradient checkpointing does: gradients read copies that depend on checkpoints alone."""
    x = tf.constant(np.linspace(-1, 1, 4, dtype=np.float32), name="x")
    h1 = tf.tanh(x * 2.0, name="h1")
    y = tf.reduce_sum(tf.tanh(h1 * 3.0, name="h2"), name="y")
    plain = tf.gradients(y, x)[0]
    kept = tf.stop_gradient(h1)
    again = ge.get_backward_walk_ops([y.op], stop_at_ts=[h1], within_ops=y.graph.get_operations())
    _, info = ge.copy_with_input_replacements(ge.sgv(again), {h1: kept})
    late = tf.gradients(info.transformed(y), kept)[0]
    for op in info._transformed_ops.values():
        if not op.inputs:
            ge.add_control_inputs(op, [y.op])
    one, other = run(plain, tf.gradients(h1, x, grad_ys=late)[0])
    np.testing.assert_allclose(one, other, rtol=1e-6)


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
