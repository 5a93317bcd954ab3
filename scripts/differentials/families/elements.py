"""Functions of elements, reductions and conversions: what their arguments may be, and what converts to what.

What their operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Family, Plan, named, on, words

__all__ = ["FAMILIES"]

unary, binary, operators = Family("unary"), Family("binary"), Family("operators")
broadcasting = Family("broadcasting")


def _usual(tf: Any, np: Any, name: str) -> Plan:
    x = tf.placeholder(tf.float64, None)
    return Plan(named(tf, name)(x), {x: reals(np, (3,), 0.1, 1.9, "float64")})


def _of_dtype(tf: Any, np: Any, name: str, dtype: str) -> Any:
    return named(tf, name)(tf.constant(wholes(np, (4,), 1, 5), getattr(tf, dtype)))


# Those that consist of several operations.
unary.over("{name}", _usual, name=words("log_sigmoid math.erfcinv math.reciprocal_no_nan nn.crelu nn.leaky_relu"))
unary.over(
    "{name}-{dtype}",
    _of_dtype,
    name=["abs", "exp", "sqrt", "square", "tanh", "sigmoid", "log", "nn.relu", "rsqrt", "floor"],
    dtype=words("int32 float16 bfloat16 complex64 uint8 int64 bool string"),
)

_BINARY = words(
    """
    add subtract multiply divide truediv realdiv floordiv floor_div div mod floormod truncatediv
    truncatemod pow maximum minimum squared_difference div_no_nan atan2 equal not_equal less
    less_equal greater greater_equal igamma igammac zeta polygamma math.xdivy math.xlogy
    math.xlog1py math.multiply_no_nan math.nextafter bitwise.bitwise_and bitwise.bitwise_or
    bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift complex
    """
)


def _two_floats(tf: Any, np: Any, name: str) -> Plan:
    x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [3])
    fed = {x: reals(np, (2, 3), 1.1, 5), y: reals(np, (3,), 1.2, 4)}
    return Plan(named(tf, name)(x, y), fed, names=True)


def _two_wholes(tf: Any, np: Any, name: str) -> Any:
    left, right = wholes(np, (3, 1)), wholes(np, (4,), 1, 4)
    return named(tf, name)(tf.constant(left), tf.constant(right))


def _by_zero(tf: Any, np: Any, name: str) -> Plan:
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    return Plan(named(tf, name)(x, y), {x: [3, -3, 0], y: [0, 2, 0]})


binary.over("{name}-float32", _two_floats, name=_BINARY)
binary.over("{name}-int32", _two_wholes, name=_BINARY)
binary.over(
    "{name}-by-zero", _by_zero, name=["floordiv", "mod", "truncatediv", "truncatemod", "truediv", "div", "div_no_nan"]
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "truediv": lambda x, y: x / y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "pow": lambda x, y: x**y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "matmul": lambda x, y: x @ y,
}


def _operated(tf: Any, np: Any, apply: Any, kind: str, order: str) -> Plan:
    array = choices(np, (2, 2)) if kind == "bool" else wholes(np, (2, 2), 1, 5, kind)
    other: Any = {"bool": True, "int32": 3, "float32": 2.5}[kind]
    tensor = tf.constant(array)
    if order == "tensor-tensor":
        other = tf.constant(array.T.copy())
    out = apply(*((other, tensor) if order == "number-tensor" else (tensor, other)))
    return Plan(out if hasattr(out, "op") else None, names=True, facts=hasattr(out, "op"))


operators.over(
    "{apply}-{kind}-{order}",
    _operated,
    apply=_OPERATORS,
    kind=("float32", "int32", "bool"),
    order=("tensor-tensor", "tensor-number", "number-tensor"),
)
_ALONE: dict[str, Callable[[Any], Any]] = {
    "not": lambda tf: Plan(~tf.constant([True, False]), names=True),
    "truth-of-a-tensor": lambda tf: tf.constant(1 if tf.constant(True) else 2),
    "iterating-over-a-tensor": lambda tf: list(tf.constant([1, 2])),
    "length-of-a-tensor": lambda tf: tf.constant(len(tf.constant([1, 2]))),
    "as-a-float": lambda tf: tf.constant(float(tf.constant(1.0))),
}
operators.each(_ALONE, lambda build: lambda tf, np: build(tf))


@operators("negative-and-abs")
def _negative(tf: Any, np: Any) -> Plan:
    x = tf.constant([-1.5, 2.0], name="x")
    return Plan([-x, abs(x), -abs(-x)], names=True)


_PAIRS = words(
    """
    scalar-scalar scalar-3 2x3-3 2x1-1x3 2x3-scalar 4x1x2-3x1 1-5 0x3-3 0-1 2x3-2 3-4 2x0-2x1
    1x1x1-2x3 5x4-5x1
    """
)


def _static_broadcast(tf: Any, np: Any, pair: str) -> Plan:
    shapes = [[int(size) for size in each.split("x") if size != "scalar"] for each in pair.split("-")]
    fixed = tf.broadcast_static_shape(*map(tf.TensorShape, shapes))
    moving = tf.broadcast_dynamic_shape(*(tf.constant(shape, tf.int32) for shape in shapes))
    return Plan(moving, facts=fixed.as_list())


broadcasting.over("shapes-{pair}", _static_broadcast, pair=_PAIRS)


reductions = Family("reductions")

_REDUCERS = {name: f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")}
_OLD = {"keep_dims": True, "reduction_indices": [0, 1]}


def _axis(tf: Any, x: Any, name: str, axis: Any) -> Any:
    return getattr(tf, name)(x, axis)


def _reduced(tf: Any, np: Any, name: str, dtype: str) -> Any:
    return getattr(tf, name)(tf.cast(tf.constant(wholes(np, (3, 4), 0, 9)), dtype), 0)


reductions.over("{name}-{axis}", on(_axis), name=_REDUCERS, axis=(3, [0, 0]))
reductions.over("{name}-{axis}", on(_axis), name=("argmax", "argmin"), axis=(5,))
reductions.over("{name}-old-arguments", on(lambda tf, x, name: getattr(tf, name)(x, **_OLD)), name=_REDUCERS)
reductions.over("{name}-of-{dtype}", _reduced, name=_REDUCERS, dtype=("int32", "float64", "bool", "uint8", "complex64"))
reductions.over(
    "{name}-{axis}",
    on(lambda tf, x, name, axis: getattr(tf.math, name)(x, axis)),
    name=("reduce_variance", "reduce_std", "reduce_euclidean_norm"),
    axis=(None, 1, [0, 2]),
)
reductions.add("count-nonzero", lambda tf, np: tf.count_nonzero(wholes(np, (4, 3), 0, 2), 0))
reductions.add("add-n", on(lambda tf, x: tf.add_n([x, x, -2 * x + 1])))
reductions.add("add-n-other-shapes", on(lambda tf, x: tf.add_n([x, x[0]])))
reductions.add("accumulate-n", on(lambda tf, x: tf.accumulate_n([x, x, x])))


mixed = Family("promotion")


def _sum(tf: Any, np: Any, pair: str) -> Any:
    left, right = pair.split("-")
    return tf.constant([1, 2], left) + tf.constant([1, 0], right)


mixed.over(
    "sum-{pair}",
    _sum,
    pair=words("float32-float64 int32-int64 float32-int32 uint8-int32 complex64-float32 float16-float32"),
)
_PYTHON: dict[str, Any] = {
    "int": 3,
    "float": 2.5,
    "bool": True,
    "complex": 1 + 2j,
    "large": 2**40,
    "negative": -1,
    "text": "a",
    "list": [1, 2],
    "mixed-list": [1, 2.5],
    "none": None,
    "nested": [[1, 2], [3, 4]],
    "ragged": [[1], [2, 3]],
    "empty": [],
    "bytes": b"ab",
    "list-of-bool": [True, False],
    "bool-and-int": [True, 2],
    "text-and-int": ["a", 1],
    "tuple": (1.0, 2),
    "too-large": 2**70,
    "dict": {"a": 1},
}
mixed.over("constant-of-{value}", lambda tf, np, value: tf.constant(value), value=_PYTHON)
mixed.over(
    "convert-{value}-to-{dtype}",
    lambda tf, np, value, dtype: tf.convert_to_tensor(value, dtype),
    value=_PYTHON,
    dtype=("float32", "int32"),
)
mixed.over("float32-plus-{value}", lambda tf, np, value: tf.constant([1.0, 2.0]) + value, value=_PYTHON)
mixed.over("int32-times-{value}", lambda tf, np, value: tf.constant([1, 2]) * value, value=_PYTHON)
_NUMPY = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool")
mixed.over("numpy-{dtype}", lambda tf, np, dtype: tf.constant(np.ones((2, 1), dtype)) + 0, dtype=_NUMPY)
mixed.over(
    "saturate-to-{dtype}",
    lambda tf, np, dtype: tf.saturate_cast(tf.constant([-300.0, 0.5, 70000.0]), dtype),
    dtype=_NUMPY,
)
FAMILIES = [unary, binary, operators, broadcasting, reductions, mixed]
