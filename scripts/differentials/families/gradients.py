"""Gradients: of functions and compositions, second derivatives, and the arguments of ``tf.gradients``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

gradients = Family("gradients")
FAMILIES = [gradients]

_Function = Callable[[Any, Any], Any]
_FUNCTIONS: dict[str, _Function] = {
    "square": lambda tf, x: x * x,
    "exp": lambda tf, x: tf.exp(x),
    "log": lambda tf, x: tf.log(tf.abs(x) + 1),
    "tanh": lambda tf, x: tf.tanh(x),
    "sigmoid": lambda tf, x: tf.sigmoid(x),
    "relu": lambda tf, x: tf.nn.relu(x),
    "softplus": lambda tf, x: tf.nn.softplus(x),
    "sin": lambda tf, x: tf.sin(x),
    "sqrt": lambda tf, x: tf.sqrt(x * x + 1),
    "rsqrt": lambda tf, x: tf.rsqrt(x * x + 0.5),
    "pow": lambda tf, x: tf.pow(x, 3.0),
    "reciprocal": lambda tf, x: 1 / (x + 5),
    "sum-rows": lambda tf, x: tf.reduce_sum(x, 1, keepdims=True),
    "mean": lambda tf, x: tf.reduce_mean(x) + x,
    "max": lambda tf, x: tf.reduce_max(x, 0),
    "prod": lambda tf, x: tf.reduce_prod(x, 1),
    "logsumexp": lambda tf, x: tf.reduce_logsumexp(x, 1),
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "transpose": lambda tf, x: tf.transpose(x),
    "reshape": lambda tf, x: tf.reshape(x, [-1]),
    "concat": lambda tf, x: tf.concat([x, 2 * x], 0),
    "slice": lambda tf, x: x[:, 1:],
    "strided": lambda tf, x: x[::-1, ::2],
    "gather": lambda tf, x: tf.gather(x, [1, 1, 0]),
    "gather-columns": lambda tf, x: tf.gather(x, [2, 0], axis=1),
    "tile": lambda tf, x: tf.tile(x, [2, 1]),
    "pad": lambda tf, x: tf.pad(x, [[1, 0], [0, 2]], "REFLECT"),
    "cumsum": lambda tf, x: tf.cumsum(x, 1, reverse=True),
    "cumprod": lambda tf, x: tf.cumprod(x, 1),
    "matmul": lambda tf, x: tf.matmul(x, x, transpose_b=True),
    "clip": lambda tf, x: tf.clip_by_value(x, -0.5, 0.8),
    "maximum": lambda tf, x: tf.maximum(x, tf.reverse(x, [0])),
    "where": lambda tf, x: tf.where(x > 0, x * 2, x * x),
    "stack": lambda tf, x: tf.stack([x, -x], 1),
    "unstack": lambda tf, x: tf.add_n(tf.unstack(x)[:2]),
    "split": lambda tf, x: tf.split(x, 3, 1)[1],
    "norm": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "clip-norm": lambda tf, x: tf.clip_by_norm(x, 1.5),
    "division": lambda tf, x: x / (2.0 + x[:, :1]),
    "difference": lambda tf, x: tf.squared_difference(x, x[0]),
    "top": lambda tf, x: tf.nn.top_k(x, 2).values,
    "sort": lambda tf, x: tf.sort(x, 1),
    "stop": lambda tf, x: x * tf.stop_gradient(x),
    "erf": lambda tf, x: tf.erf(x),
    "atan2": lambda tf, x: tf.atan2(x, x + 3),
    "abs": lambda tf, x: tf.abs(x),
    "elu": lambda tf, x: tf.nn.elu(x),
    "selu": lambda tf, x: tf.nn.selu(x),
    "floor": lambda tf, x: tf.floor(x) * x,
    "mod": lambda tf, x: tf.floormod(x, 0.7),
    "segment": lambda tf, x: tf.segment_sum(x, [0, 0]),
    "unsorted": lambda tf, x: tf.unsorted_segment_max(x, [1, 1], 3),
    "diag": lambda tf, x: tf.matrix_diag(x),
    "band": lambda tf, x: tf.matrix_band_part(x, 0, 1),
    "gather-nd": lambda tf, x: tf.gather_nd(x, [[0, 1], [1, 2], [0, 1]]),
    "one-minus": lambda tf, x: 1 - x,
    "identity": lambda tf, x: tf.identity(x),
    "cast": lambda tf, x: tf.cast(x, tf.float32) ** 2,
    "lgamma": lambda tf, x: tf.lgamma(x + 4),
    "sinh": lambda tf, x: tf.sinh(x),
    "asinh": lambda tf, x: tf.asinh(x),
    "expm1": lambda tf, x: tf.expm1(x),
    "log1p": lambda tf, x: tf.log1p(x * x),
    "variance": lambda tf, x: tf.nn.moments(x, [0])[1],
    "leaky": lambda tf, x: tf.nn.leaky_relu(x),
    "roll": lambda tf, x: tf.roll(x, 1, 1),
    "squeeze": lambda tf, x: tf.squeeze(x[:, 1:2]),
    "broadcast": lambda tf, x: tf.broadcast_to(x[0], [4, 3]),
    "scatter": lambda tf, x: tf.scatter_nd([[2], [0]], x, [4, 3]),
}


@gradients("of-{function}", function=_FUNCTIONS)
def _first(tf: Any, np: Any, function: _Function) -> Plan:
    x = tf.placeholder(tf.float64, [2, 3])
    y = function(tf, x)
    fed = {x: reals(np, (2, 3), dtype="float64")}
    return Plan([y, *tf.gradients(y, x)], fed, tolerance=1e-6)


def _second(tf: Any, np: Any, outer: _Function, inner: _Function) -> Plan:
    x = tf.placeholder(tf.float64, [2, 3])
    y = outer(tf, inner(tf, x))
    slope = tf.convert_to_tensor(tf.gradients(y, x)[0])
    fed = {x: reals(np, (2, 3), dtype="float64")}
    return Plan([slope, *tf.gradients(slope * slope, x)], fed, tolerance=1e-6)


def _those(names: str) -> dict[str, _Function]:
    return {name: _FUNCTIONS[name] for name in names.split()}


_INNER = "sigmoid softmax mean slice gather norm where sin pad division"
for _outers, _inners in (
    ("square tanh softplus logsumexp matmul cumsum", _INNER),
    ("square tanh softplus", "variance"),
):
    gradients.over("second-{outer}-of-{inner}", _second, outer=_those(_outers), inner=_those(_inners))


@gradients("several-targets-and-sources")
def _several(tf: Any, np: Any) -> Any:
    a, b, c = tf.constant(2.0), tf.constant(3.0), tf.constant(4.0)
    found = tf.gradients([a * b, b * b], [a, b, c])
    return Plan(found[:2], facts=[each is None for each in found])


@gradients("unconnected-zero")
def _unconnected(tf: Any, np: Any) -> Any:
    a, b = tf.constant([2.0, 1.0]), tf.constant(3.0)
    return tf.gradients(b, [a, b], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@gradients("given-slopes")
def _given(tf: Any, np: Any) -> Any:
    x = tf.constant([1.0, 2.0])
    return tf.gradients([x * x, x + 1], x, grad_ys=[tf.constant([10.0, 20.0]), None])


@gradients("stopped-at")
def _stopped(tf: Any, np: Any) -> Any:
    a = tf.constant(2.0)
    b = a * 3
    return tf.gradients(a * b, [a, b], stop_gradients=[a, b])


@gradients("names")
def _names(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("layer"):
        y = tf.tanh(x * 3.0 + 1.0)
    return Plan(tf.gradients(y, x), {x: [0.1, 0.2]}, names=True)


@gradients("names-own")
def _own_names(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2], name="x")
    found = [tf.gradients(tf.exp(x) * x, x, name="slope")[0], tf.gradients(tf.square(x), x)[0]]
    return Plan(found, {x: [0.1, 0.2]}, names=True)


@gradients("of-a-whole-number")
def _whole(tf: Any, np: Any) -> Plan:
    x = tf.constant(3)
    return Plan(facts=[each is None for each in tf.gradients(x * x, x)])


@gradients("through-a-cast-to-int")
def _cast(tf: Any, np: Any) -> Plan:
    x = tf.constant(3.0)
    y = tf.cast(tf.cast(x * 2, tf.int32), tf.float32)
    return Plan(facts=[each is None for each in tf.gradients(y, x)])


@gradients("through-argmax")
def _argmax(tf: Any, np: Any) -> Plan:
    x = tf.constant([3.0, 1.0])
    y = tf.cast(tf.argmax(x), tf.float32)
    return Plan(facts=[each is None for each in tf.gradients(y, x)])


@gradients("of-a-variable-and-its-reading")
def _variable(tf: Any, np: Any) -> Plan:
    v = tf.Variable([1.0, 2.0])
    w = tf.get_variable("w", initializer=[3.0, 1.0])
    return Plan(tf.gradients(v * v * w + v, [v, w]))


@gradients("of-an-embedding")
def _embedding(tf: Any, np: Any) -> Plan:
    table = tf.get_variable("table", initializer=reals(np, (5, 2)))
    rows = tf.nn.embedding_lookup(table, [1, 1, 4])
    slope = tf.gradients(tf.reduce_sum(rows**2), table)[0]
    return Plan(slope, facts=[isinstance(slope, tf.IndexedSlices)])


@gradients("of-two-embeddings")
def _embeddings(tf: Any, np: Any) -> Plan:
    table = tf.get_variable("table", initializer=reals(np, (5, 2)))
    rows = tf.nn.embedding_lookup(table, [1, 1, 4]) + tf.nn.embedding_lookup(table, [0, 2, 4])
    slope = tf.gradients(tf.reduce_sum(rows**2), table)[0]
    return Plan(tf.convert_to_tensor(slope), facts=[isinstance(slope, tf.IndexedSlices)])


@gradients("of-a-py-func")
def _py_func(tf: Any, np: Any) -> Plan:
    x = tf.constant(3.0)
    y = tf.py_func(lambda value: value * 2, [x], tf.float32)
    return Plan(facts=[each is None for each in tf.gradients(y, x)])


@gradients("of-a-text")
def _text(tf: Any, np: Any) -> Any:
    return tf.gradients(tf.constant("a"), tf.constant("b"))


@gradients("wrong-length-of-slopes")
def _lengths(tf: Any, np: Any) -> Any:
    x = tf.constant(1.0)
    return tf.gradients([x, x * 2], x, grad_ys=[1.0])


@gradients("where-nan")
def _nan(tf: Any, np: Any) -> Any:
    x = tf.constant([0.0, 1.0])
    return tf.gradients(tf.where(x > 0, tf.log(x), x), x)


@gradients("clip-by-global-norm")
def _global(tf: Any, np: Any) -> Any:
    found, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None, tf.constant([12.0])], 2.0)
    return [found[0], found[2], norm, tf.global_norm([tf.constant([3.0]), tf.constant([4.0])])]


@gradients("clip-by-global-norm-infinite")
def _infinite(tf: Any, np: Any) -> Any:
    found, norm = tf.clip_by_global_norm([tf.constant([np.inf, 4.0])], 2.0)
    return [*found, norm]


for _norm in (0.5, 5.0):
    gradients.add(
        f"clip-by-average-norm-{_norm}",
        lambda tf, np, norm=_norm: tf.clip_by_average_norm(tf.constant([3.0, -4.0]), norm),
    )
    gradients.add(
        f"clip-by-norm-axis-{_norm}",
        lambda tf, np, norm=_norm: tf.clip_by_norm(tf.constant([[3.0, -4.0], [0.0, 0.1]]), norm, axes=[1]),
    )
