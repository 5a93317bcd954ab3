"""``tf.profiler``: the numbers and messages that TensorFlow 2.21 was seen to give for the same graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.profiler.flops import flops_of
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

BUILDER = tf.profiler.ProfileOptionBuilder


def network() -> Any:
    """A convolution and a dense layer; returns the loss."""
    x = tf.placeholder(tf.float32, [8, 6, 6, 3], name="x")
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [3, 3, 3, 4], initializer=tf.zeros_initializer())
        h = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
        h = tf.reshape(tf.nn.relu(tf.nn.bias_add(h, b)), [8, 144])
        y = tf.matmul(h, tf.get_variable("w2", [144, 10], initializer=tf.zeros_initializer()))
    tf.Variable(1.0, trainable=False, name="other")
    return tf.reduce_mean(tf.square(y))


def silent(options: dict[str, Any]) -> dict[str, Any]:
    return BUILDER(options).with_empty_output().build()


def rows(message: Any) -> dict[str, Any]:
    """All messages below one, by name."""
    found = {}
    for child in message.children:
        found[child.name] = child
        found |= rows(child)
    return found


def test_the_parameters_of_trainable_variables_are_counted_by_scope(capsys: Any) -> None:
    network()
    root = tf.profiler.profile(tf.get_default_graph(), cmd="scope")
    assert isinstance(root, tf.profiler.GraphNodeProto)
    assert (root.name, root.total_parameters, root.total_definition_count) == ("_TFProfRoot", 1552, 5)
    found = rows(root)
    assert list(found) == ["net", "net/b", "net/w", "net/w2"]
    assert [found[name].parameters for name in ("net/b", "net/w", "net/w2")] == [4, 108, 1440]
    assert (found["net"].parameters, found["net"].total_parameters) == (0, 1552)
    printed = capsys.readouterr().out
    assert (
        "node name | # parameters\n"
        "_TFProfRoot (--/1.55k params)\n"
        "  net (--/1.55k params)\n"
        "    net/b (4, 4/4 params)\n"
        "    net/w (3x3x3x4, 108/108 params)\n"
        "    net/w2 (144x10, 1.44k/1.44k params)\n"
    ) in printed
    assert "-account_type_regexes       _trainable_variables\n" in printed


def test_float_operations_are_counted_by_scope_and_by_type() -> None:
    tf.gradients(network(), tf.trainable_variables())
    by_scope = tf.profiler.profile(options=silent(BUILDER.float_operation()))
    found = rows(by_scope)
    assert {name: found[name].float_ops for name in ("net/Conv2D", "net/MatMul", "net/BiasAdd")} == {
        "net/Conv2D": 62208,
        "net/MatMul": 23040,
        "net/BiasAdd": 1152,
    }
    assert found["gradients/net/BiasAdd_grad/BiasAddGrad"].float_ops == 1148
    assert found["gradients/net/Conv2D_grad/Conv2DBackpropFilter"].float_ops == 62208
    by_type = tf.profiler.profile(cmd="op", options=silent(BUILDER.float_operation()))
    assert isinstance(by_type, tf.profiler.MultiGraphNodeProto)
    assert by_type.total_float_ops == by_scope.total_float_ops
    first = by_type.children[0]
    assert (first.name, first.float_ops, len(first.graph_nodes)) == ("MatMul", 69120, 3)
    # Each type is below the one before it.
    assert first.children[0].name == "Conv2D"


def value(*shape: int) -> Any:
    return tf.placeholder(tf.float32, shape)


COUNTS: dict[str, tuple[Any, int | None]] = {
    "Log": (lambda: tf.log(value(2, 3)), 6),
    "Rsqrt": (lambda: tf.rsqrt(value(2, 3)), 12),
    "Softmax": (lambda: tf.nn.softmax(value(2, 3)), 30),
    "L2Loss": (lambda: tf.nn.l2_loss(value(2, 3)), 17),
    "Sub": (lambda: value(2, 3) - value(3), 6),
    "SquaredDifference": (lambda: tf.squared_difference(value(2, 3), value(2, 3)), 12),
    "Sum": (lambda: tf.reduce_sum(value(2, 3), 1), 4),
    "Mean": (lambda: tf.reduce_mean(value(2, 3), 1), 6),
    "ArgMax": (lambda: tf.argmax(value(2, 3), 1), 4),
    "AddN": (lambda: tf.add_n([value(2, 3)] * 3), 12),
    "MatMul": (lambda: tf.matmul(value(3, 2), value(3, 4), transpose_a=True), 48),
    "DepthwiseConv2dNative": (
        lambda: tf.nn.depthwise_conv2d(value(1, 4, 4, 2), value(3, 3, 2, 1), [1, 1, 1, 1], "SAME"),
        576,
    ),
    "MaxPool": (lambda: tf.nn.max_pool(value(1, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 32),
    "Relu": (lambda: tf.nn.relu(value(2, 3)), None),
}


@for_each("op_type, build, count", [(key, *row) for key, row in COUNTS.items()])
def test_the_float_operations_of_a_node(op_type: str, build: Any, count: Any) -> None:
    build()
    (op,) = [op for op in tf.get_default_graph().get_operations() if op.type == op_type]
    assert flops_of(op) == count


def test_programs_say_how_other_types_are_counted() -> None:
    from actorsession.compat.v1.python.framework import ops

    @ops.RegisterStatistics("Erfc", "flops")
    def counted(graph: Any, node: Any) -> Any:
        return ops.OpStats("flops", 7)

    op = tf.erfc(tf.constant(1.0)).op
    assert ops.get_stats_for_node_def(op.graph, op.node_def, "flops").value == 7
    assert tf.profiler.profile(options=silent(BUILDER.float_operation())).total_float_ops == 7
    with pytest.raises(KeyError, match="registered already"):
        ops.RegisterStatistics("Erfc", "flops")(counted)
    with pytest.raises(KeyError, match="registered already"):
        ops.RegisterStatistics("MatMul", "flops")(counted)


def test_rows_are_chosen_by_name_and_type() -> None:
    network()
    hidden = BUILDER(BUILDER.trainable_variables_parameter()).with_node_names(hide_name_regexes=["net/w.*"])
    root = tf.profiler.profile(options=hidden.with_empty_output().build())
    assert (list(rows(root)), root.total_parameters) == (["net", "net/b"], 4)
    all_of_it = hidden.account_displayed_op_only(False).build()
    assert tf.profiler.profile(options=all_of_it).total_parameters == 1552
    started = BUILDER(BUILDER.trainable_variables_parameter()).with_node_names(start_name_regexes=["net/w"])
    assert list(rows(tf.profiler.profile(options=started.with_empty_output().build()))) == ["net/w"]
    log = tf.profiler.OpLogProto()
    entry = log.log_entries.add()
    entry.name = "other"
    entry.types.append("mine")
    mine = silent({**BUILDER.float_operation(), "account_type_regexes": ["mine"], "min_float_ops": 0})
    assert list(rows(tf.profiler.profile(op_log=log, options=mine))) == ["other"]


def step(loss: Any) -> Any:
    """What a traced run of a step measured."""
    measured = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(loss, {"x:0": np.zeros([8, 6, 6, 3])}, tf.RunOptions(trace_level=3), measured)
    return measured


def test_time_and_memory_are_those_of_a_step(tmp_path: Path) -> None:
    measured = step(network())
    options = silent(BUILDER.time_and_memory())
    root = tf.profiler.profile(run_meta=measured, options=options)
    assert root.total_exec_micros > 0
    assert rows(root)["net/Conv2D"].run_count == 1
    profiler = tf.profiler.Profiler(tf.get_default_graph())
    profiler.add_step(1, measured)
    profiler.add_step(2, measured)
    by_type = profiler.profile_operations(silent(BUILDER.time_and_memory(min_bytes=0)))
    assert "Conv2D" in rows(by_type)
    assert rows(profiler.profile_python(silent(BUILDER.time_and_memory(min_bytes=0)))) != {}
    assert rows(profiler.profile_graph(options)) != {}
    traced = BUILDER(BUILDER.time_and_memory()).with_step(1).with_timeline_output(str(tmp_path / "t"))
    profiler.profile_name_scope(traced.build())
    assert json.loads((tmp_path / "t_1").read_text())["traceEvents"]


def test_advice_names_what_takes_longest(capsys: Any) -> None:
    measured = step(network())
    found = tf.profiler.advise(run_meta=measured)
    reports = found.checkers["ExpensiveOperationChecker"].reports
    assert reports[0].startswith("top 1 operation type: ")
    assert "test_profiler.py" in reports[2]
    assert "ExpensiveOperationChecker:" in capsys.readouterr().out
    without = tf.profiler.advise(options={"ExpensiveOperationChecker": {}})
    assert list(without.checkers["ExpensiveOperationChecker"].reports) == []
    # A shape that is not known counts nothing and says so.
    tf.square(tf.placeholder(tf.float32, [None, 2]))
    root = tf.profiler.profile(options=silent(BUILDER.float_operation()))
    assert root.total_float_ops == 0
    assert "1 ops no flops stats due to incomplete shapes." in capsys.readouterr().err


def test_a_profile_is_written_to_a_file(tmp_path: Path) -> None:
    network()
    options = BUILDER(BUILDER.trainable_variables_parameter()).with_file_output(str(tmp_path / "p"))
    tf.profiler.profile(options=options.build())
    assert (tmp_path / "p").read_text().startswith("node name | # parameters\n_TFProfRoot")
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path))
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    told = {entry.name: entry for entry in log.log_entries}
    assert list(told["net/w"].types) == ["_trainable_variables"]
    assert told["net/MatMul"].float_ops == 23040


def test_what_is_no_profile_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd: tree"):
        tf.profiler.profile(cmd="tree")
    pprof = BUILDER().with_pprof_output("p").build()
    with pytest.raises(tf.errors.UnimplementedError, match="pprof"):
        tf.profiler.profile(options=pprof)
    with pytest.raises(TypeError, match="options is a dict"):
        tf.profiler.profile(options="all")
