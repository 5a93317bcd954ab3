"""Graphs, shapes, dtypes and tensors as objects, and the nodes that make up an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

graphs = Family("graphs")
FAMILIES = [graphs]


@graphs("shapes")
def _shapes(tf: Any, np: Any) -> Plan:
    a, b, unknown = tf.TensorShape([2, None]), tf.TensorShape([None, 3]), tf.TensorShape(None)
    return Plan(
        facts=[
            a.merge_with(b).as_list(),
            a.is_compatible_with(b),
            a.concatenate(b).as_list(),
            unknown.rank,
            unknown.is_compatible_with([1]),
            len(a),
            a.with_rank(2).as_list(),
            a.as_list() == [2, None],
            tf.TensorShape([]).as_list(),
            tf.TensorShape(5).as_list(),
            a[:1].as_list(),
            a.dims is not None,
            tf.TensorShape([2]) == tf.TensorShape([2]),
        ]
    )


@graphs("shape-fully-defined")
def _defined(tf: Any, np: Any) -> Plan:
    return Plan(facts=[tf.TensorShape(dims).is_fully_defined() for dims in ([2, 3], [2, None], None)])


@graphs("shape-number-of-elements")
def _elements(tf: Any, np: Any) -> Plan:
    return Plan(facts=[tf.TensorShape(dims).num_elements() for dims in ([2, 3], [2, None], None)])


_SHAPE_FAULTS: dict[str, Callable[[Any], Any]] = {
    "merge": lambda tf: tf.TensorShape([2]).merge_with([3]),
    "rank": lambda tf: tf.TensorShape([2]).with_rank(2),
    "length": lambda tf: len(tf.TensorShape(None)),
    "negative": lambda tf: tf.TensorShape([-2]),
    "text": lambda tf: tf.TensorShape(["a"]),
    "as-list": lambda tf: tf.TensorShape(None).as_list(),
    "compatible": lambda tf: tf.TensorShape([2]).assert_is_compatible_with([3]),
    "defined": lambda tf: tf.TensorShape([None]).assert_is_fully_defined(),
    "fraction": lambda tf: tf.TensorShape([1.5]),
    "at-least": lambda tf: tf.TensorShape([1]).with_rank_at_least(2),
    "index": lambda tf: tf.TensorShape([1])[4],
}
graphs.over("shape-{fault}", lambda tf, np, fault: Plan(facts=str(fault(tf))), fault=_SHAPE_FAULTS)


@graphs("dtypes")
def _dtypes(tf: Any, np: Any) -> Plan:
    kinds = [tf.float32, tf.int64, tf.bool, tf.string, tf.complex64, tf.uint8, tf.float16, tf.bfloat16]
    return Plan(
        facts=[
            [
                kind.name,
                kind.is_floating,
                kind.is_integer,
                kind.is_bool,
                kind.is_complex,
                kind.size,
                kind == tf.as_dtype(kind.name),
                kind.is_unsigned,
            ]
            for kind in kinds
        ]
    )


@graphs("dtype-limits")
def _limits(tf: Any, np: Any) -> Plan:
    kinds = [tf.int8, tf.int32, tf.uint16, tf.int64]
    return Plan(facts=[[int(kind.min), int(kind.max), list(kind.limits)] for kind in kinds])


@graphs("texts")
def _texts(tf: Any, np: Any) -> Plan:
    return Plan(facts=[str(tf.TensorShape([2, None])), str(tf.TensorShape(None)), str(tf.float32), repr(tf.int64)])


_FORMS: dict[str, Callable[[Any], Any]] = {
    "float": lambda np: "float",
    "double": lambda np: "double",
    "half": lambda np: "half",
    "numpy": lambda np: np.float32,
    "numpy-dtype": lambda np: np.dtype("int8"),
    "python-float": lambda np: float,
    "python-int": lambda np: int,
    "python-bool": lambda np: bool,
    "python-str": lambda np: str,
    "python-complex": lambda np: complex,
    "number": lambda np: 1,
    "unknown": lambda np: "float33",
    "none": lambda np: None,
    "object": lambda np: object,
    "big-endian": lambda np: np.dtype(">i4"),
    "text": lambda np: np.dtype("U3"),
    "bytes": lambda np: bytes,
}
graphs.over("dtype-of-{form}", lambda tf, np, form: Plan(facts=tf.as_dtype(form(np)).name), form=_FORMS)


@graphs("dtype-numbers")
def _numbers(tf: Any, np: Any) -> Plan:
    return Plan(facts=[kind.as_datatype_enum for kind in (tf.float32, tf.int64, tf.string)])


@graphs("dtype-base")
def _dtype_base(tf: Any, np: Any) -> Plan:
    return Plan(
        facts=[
            tf.float32.base_dtype.name,
            tf.float32.real_dtype.name,
            tf.complex64.real_dtype.name,
            tf.float32.is_compatible_with(tf.float32),
            np.dtype(tf.float64.as_numpy_dtype).name,
        ]
    )


@graphs("tensors")
def _tensors(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, tf.ones([3, 2]), name="y")
    y.set_shape([4, None])
    return Plan(
        facts=[
            y.shape.as_list(),
            y.get_shape().as_list(),
            y.name,
            y.op.name,
            y.dtype.name,
            y.graph is x.graph,
            [each.name for each in y.op.inputs],
            [op.name for op in x.consumers()],
            y.op.type,
            len(y.op.outputs),
            y.op.node_def.op,
            y.op.get_attr("transpose_a"),
            y.value_index,
        ]
    )


@graphs("static-values")
def _static(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2, None])
    asked = [
        tf.constant([1, 2]),
        tf.shape(tf.zeros([2, 3])),
        tf.shape(x),
        tf.shape(x)[0],
        tf.range(3),
        tf.stack([1, 2]),
        tf.size(tf.zeros([2, 3])),
        tf.rank(x),
        tf.fill([2], 5),
        tf.cast(tf.constant(3), tf.float32),
        x,
        tf.concat([[1], [2]], 0),
        tf.constant(1) + 2,
        tf.zeros([2]),
    ]
    found = [tf.get_static_value(each) for each in asked]
    return Plan(facts=[None if each is None else np.asarray(each).tolist() for each in found])


@graphs("operations-in-order")
def _order(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.reduce_mean(tf.square(x - 1.0))
    return Plan(facts=[[op.name, op.type] for op in tf.get_default_graph().get_operations()])


@graphs("operations-of-a-layer")
def _layer(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.name_scope("layer"):
        tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.ones([2, 3])), tf.zeros([3])))
    return Plan(facts=[[op.name, op.type] for op in tf.get_default_graph().get_operations()])


for _asked, _make in {
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "mean": lambda tf, x: tf.reduce_mean(x, 1),
    "clip": lambda tf, x: tf.clip_by_value(x, 0, 1),
    "split": lambda tf, x: tf.split(x, 2, 1),
    "index": lambda tf, x: x[0, 1:],
    "std": lambda tf, x: tf.nn.moments(x, [0]),
    "norm": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "dropout": lambda tf, x: tf.nn.dropout(x, rate=0.5),
    "entropy": lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
    "loss": lambda tf, x: tf.losses.mean_squared_error(x, x),
    "one-hot": lambda tf, x: tf.one_hot(tf.argmax(x, 1), 3),
    "where": lambda tf, x: tf.where(x > 0, x, -x),
    "stack": lambda tf, x: tf.stack([x, x], 1),
    "linspace": lambda tf, x: tf.range(tf.shape(x)[0]),
    "mask": lambda tf, x: tf.boolean_mask(x, x > 0),
    "batch-norm": lambda tf, x: tf.nn.batch_normalization(x, x, x, None, None, 1e-3),
    "gradient": lambda tf, x: tf.gradients(tf.reduce_sum(tf.tanh(x) * x), x),
    "random": lambda tf, x: tf.random_normal([2], 1.0, 2.0),
    "uniform": lambda tf, x: tf.random_uniform([2], 1.0, 2.0),
    "logsumexp": lambda tf, x: tf.reduce_logsumexp(x),
    "ones-like": lambda tf, x: tf.ones_like(x),
    "variable": lambda tf, x: tf.Variable([1.0, 2.0], name="v"),
    "get-variable": lambda tf, x: tf.get_variable("v", [2, 3]),
    "assign": lambda tf, x: tf.assign_add(tf.Variable(1.0), 2.0),
    "sgd": lambda tf, x: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.Variable([1.0, 2.0]) ** 2)),
}.items():

    def _nodes(tf: Any, np: Any, make: Any = _make) -> Plan:
        make(tf, tf.placeholder(tf.float32, [2, 4], name="x"))
        return Plan(facts=[[op.name, op.type] for op in tf.get_default_graph().get_operations()], initialize=False)

    graphs.add(f"nodes-of-{_asked}", _nodes)
