"""``tf.profiler`` and ``tf.metrics``: what a step and a model take, and how good it is."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    assert tf.profiler.profile(options=hidden.account_displayed_op_only(False).build()).total_parameters == 1552
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
    assert "Conv2D" in rows(profiler.profile_operations(silent(BUILDER.time_and_memory(min_bytes=0))))
    assert rows(profiler.profile_python(silent(BUILDER.time_and_memory(min_bytes=0)))) != {}
    assert rows(profiler.profile_graph(options)) != {}
    traced = BUILDER(BUILDER.time_and_memory()).with_step(1).with_timeline_output(str(tmp_path / "t"))
    profiler.profile_name_scope(traced.build())
    assert json.loads((tmp_path / "t_1").read_text())["traceEvents"]


def test_advice_names_what_takes_longest(capsys: Any) -> None:
    reports = tf.profiler.advise(run_meta=step(network())).checkers["ExpensiveOperationChecker"].reports
    assert reports[0].startswith("top 1 operation type: ")
    assert "test_profiler.py" in reports[2]
    assert "ExpensiveOperationChecker:" in capsys.readouterr().out
    without = tf.profiler.advise(options={"ExpensiveOperationChecker": {}})
    assert list(without.checkers["ExpensiveOperationChecker"].reports) == []


def test_a_shape_that_is_not_known_counts_nothing_and_says_so(capsys: Any) -> None:
    tf.square(tf.placeholder(tf.float32, [None, 2]))
    assert tf.profiler.profile(options=silent(BUILDER.float_operation())).total_float_ops == 0
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


RANDOM = np.random.default_rng(5)


LABELS = RANDOM.integers(0, 2, (3, 7))


SCORES = RANDOM.random((3, 7)).astype(np.float32)


WEIGHTS = RANDOM.random((3, 7)).astype(np.float32)


SURE = (SCORES > 0.5).astype(np.int64)


def after_all(
    build: Callable[..., Any], first: Any = LABELS, second: Any = SCORES, weights: Any = WEIGHTS
) -> tuple[Any, Any, Any]:
    """The metric before any batch, after the last by its update, and by its value then."""
    x, y = tf.placeholder(tf.as_dtype(first.dtype), [7]), tf.placeholder(tf.as_dtype(second.dtype), [7])
    w = tf.placeholder(tf.float32, [7])
    value, update = build(x, y, w)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        before = sess.run(value)
        for a, b, c in zip(first, second, weights, strict=True):
            last = sess.run(update, {x: a, y: b, w: c})
        return before, last, sess.run(value)


def check(build: Callable[..., Any], wanted: Any, **given: Any) -> None:
    before, last, now = after_all(build, **given)
    np.testing.assert_array_equal(before, np.zeros_like(before))
    np.testing.assert_allclose(last, wanted, rtol=1e-5)
    np.testing.assert_allclose(now, wanted, rtol=1e-5)


def average(values: Any, weights: Any = WEIGHTS) -> Any:
    return np.average(values.astype(np.float64), weights=weights)


ERRORS = LABELS - SCORES.astype(np.float64)


@for_each(
    "build, wanted",
    [
        (lambda y, p, w: tf.metrics.mean(p), SCORES.mean()),
        (lambda y, p, w: tf.metrics.mean(p, w), average(SCORES)),
        (lambda y, p, w: tf.metrics.mean(p, 2.0), SCORES.mean()),
        (lambda y, p, w: tf.metrics.accuracy(y, tf.cast(p > 0.5, tf.int32), w), average(SURE == LABELS)),
        (lambda y, p, w: tf.metrics.mean_absolute_error(tf.cast(y, tf.float32), p, w), average(abs(ERRORS))),
        (lambda y, p, w: tf.metrics.mean_squared_error(tf.cast(y, tf.float32), p, w), average(ERRORS**2)),
        (lambda y, p, w: tf.metrics.root_mean_squared_error(tf.cast(y, tf.float32), p), np.sqrt((ERRORS**2).mean())),
        (lambda y, p, w: tf.metrics.mean_relative_error(p, w, p), (abs(SCORES - WEIGHTS) / SCORES).mean()),
        (lambda y, p, w: tf.metrics.percentage_below(p, 0.4, w), average(SCORES < 0.4)),
        (lambda y, p, w: tf.metrics.mean_tensor(p, w), (SCORES * WEIGHTS).sum(0) / WEIGHTS.sum(0)),
    ],
    ids=["mean", "weighted", "scalar-weight", "accuracy", "absolute", "squared", "root", "relative", "below", "tensor"],
)
def test_a_mean_is_that_of_all_batches(build: Callable[..., Any], wanted: Any) -> None:
    check(build, wanted)


def hits(says: int, predicts: int, scores: Any = SURE) -> Any:
    return (WEIGHTS * ((says == LABELS) & (scores == predicts))).sum()


TP, FP, TN, FN = hits(1, 1), hits(0, 1), hits(0, 0), hits(1, 0)


@for_each(
    "name, wanted",
    [
        ("true_positives", TP),
        ("false_positives", FP),
        ("true_negatives", TN),
        ("false_negatives", FN),
        ("precision", TP / (TP + FP)),
        ("recall", TP / (TP + FN)),
    ],
)
def test_counts_are_those_of_all_batches(name: str, wanted: float) -> None:
    metric = getattr(tf.metrics, name)
    check(lambda y, p, w: metric(y, p > 0.5, w), wanted)
    # A threshold splits predictions as the comparison does.
    at = getattr(tf.metrics, f"{name}_at_thresholds")
    with tf.Graph().as_default():
        check(lambda y, p, w: at(y, p, [0.5, 2.0], w)[:2], [wanted, _beyond(name)])


def _beyond(name: str) -> float:
    """What is counted where nothing is predicted true."""
    return {"true_negatives": hits(0, 0) + hits(0, 1), "false_negatives": TP + FN}.get(name, 0.0)


def ranked(labels: Any, scores: Any) -> float:
    """The probability that something true has the higher score."""
    true, false = scores[labels == 1], scores[labels == 0]
    return float((true[:, None] > false).mean())


def test_the_area_under_the_curve_is_a_probability() -> None:
    before, last, now = after_all(lambda y, p, w: tf.metrics.auc(y, p, num_thresholds=2000))
    assert before == 0.0
    assert last == now == pytest.approx(ranked(LABELS, SCORES), abs=2e-3)
    # Careful interpolation of a constant precision is that precision.
    labels, scores = np.array([[1, 0, 1, 0]]), np.array([[0.9, 0.9, 0.3, 0.3]], np.float32)
    x, y = tf.constant(labels[0]), tf.constant(scores[0])
    value, update = tf.metrics.auc(x, y, curve="PR", summation_method="careful_interpolation", thresholds=[0.5])
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == pytest.approx(0.5)
        assert sess.run(value) == pytest.approx(0.5)
    # Scores lie between 0 and 1.
    fed = tf.placeholder(tf.float32, [2])
    _, update = tf.metrics.auc([0, 1], fed)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            sess.run(update, {fed: [0.5, 1.5]})


@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_the_rules_of_an_area_bound_each_other(curve: str) -> None:
    areas = {}
    for method in ("minoring", "trapezoidal", "majoring"):
        with tf.Graph().as_default():
            areas[method] = after_all(
                lambda y, p, w, m=method: tf.metrics.auc(y, p, w, curve=curve, num_thresholds=9, summation_method=m)
            )[2]
    assert 0 < areas["minoring"] < areas["trapezoidal"] < areas["majoring"] < 1
    assert areas["trapezoidal"] * 2 == pytest.approx(areas["minoring"] + areas["majoring"])


def test_intersection_over_union_is_the_mean_of_the_classes_that_occur() -> None:
    wanted = []
    for kind in (0, 1):
        labelled, predicted = np.equal(LABELS, kind), np.equal(SURE, kind)
        wanted.append((labelled & predicted).sum() / (labelled | predicted).sum())
    before, last, now = after_all(lambda y, p, w: tf.metrics.mean_iou(y, p > 0.5, 3))
    assert before == 0.0
    assert last.sum() == LABELS.size
    assert now == pytest.approx(np.mean(wanted))
    # Cosine distances are those of unit vectors.
    units = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    value, update = tf.metrics.mean_cosine_distance(units, units[::-1], dim=1)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == pytest.approx(0.4)
        assert sess.run(value) == pytest.approx(0.4)
    # A last dimension of one is no difference.
    value, update = tf.metrics.accuracy(tf.constant([[1], [0]]), tf.constant([1, 1]))
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == 0.5
        assert sess.run(value) == 0.5
    with pytest.raises(ValueError, match="are incompatible"):
        tf.metrics.accuracy(tf.zeros([2]), tf.zeros([3]))


def test_variables_are_local_and_names_are_tensorflows(graph: Any) -> None:
    value, update = tf.metrics.accuracy([1, 0], [1, 1], metrics_collections=["values"], updates_collections=["updates"])
    assert [v.name for v in tf.local_variables()] == ["accuracy/total:0", "accuracy/count:0"]
    assert [v.name for v in graph.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == [
        "accuracy/total:0",
        "accuracy/count:0",
    ]
    assert not tf.global_variables()
    assert (value.name, update.name) == ("accuracy/value:0", "accuracy/update_op:0")
    assert graph.get_collection("values") == [value]
    assert graph.get_collection("updates") == [update]
    tf.metrics.precision([1], [1], name="mine")
    assert tf.local_variables()[2].name == "mine/true_positives/count:0"


@pytest.mark.parametrize("given", [{"curve": "no"}, {"summation_method": "no"}])
def test_an_area_is_of_a_known_kind(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got 'no'"):
        tf.metrics.auc([1], [0.5], **given)
