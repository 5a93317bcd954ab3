"""Elementwise functions: usual and special values, dtypes, operators, broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Family, Plan, named, words

__all__ = ["FAMILIES"]

unary, binary, operators = Family("unary"), Family("binary"), Family("operators")
broadcasting = Family("broadcasting")
FAMILIES = [unary, binary, operators, broadcasting]

# The name, and the range of its usual arguments.
_UNARY: dict[str, tuple[float, float]] = {
    "abs": (-3, 3),
    "acos": (-1, 1),
    "acosh": (1, 5),
    "asin": (-1, 1),
    "asinh": (-3, 3),
    "atan": (-4, 4),
    "atanh": (-0.9, 0.9),
    "ceil": (-3, 3),
    "cos": (-4, 4),
    "cosh": (-3, 3),
    "digamma": (0.2, 5),
    "erf": (-2, 2),
    "erfc": (-2, 2),
    "exp": (-3, 3),
    "expm1": (-1, 1),
    "floor": (-3, 3),
    "lgamma": (0.2, 6),
    "log": (0.1, 6),
    "log1p": (-0.5, 4),
    "log_sigmoid": (-6, 6),
    "negative": (-3, 3),
    "reciprocal": (0.3, 4),
    "rint": (-4, 4),
    "round": (-4, 4),
    "rsqrt": (0.2, 5),
    "sigmoid": (-6, 6),
    "sign": (-2, 2),
    "sin": (-4, 4),
    "sinh": (-3, 3),
    "sqrt": (0, 9),
    "square": (-4, 4),
    "tan": (-1.3, 1.3),
    "tanh": (-3, 3),
    "math.bessel_i0": (-3, 3),
    "math.bessel_i0e": (-3, 3),
    "math.bessel_i1": (-3, 3),
    "math.bessel_i1e": (-3, 3),
    "math.erfinv": (-0.9, 0.9),
    "math.ndtri": (0.05, 0.95),
    "math.erfcinv": (0.1, 1.9),
    "math.reciprocal_no_nan": (-2, 2),
    "nn.relu": (-2, 2),
    "nn.relu6": (-3, 9),
    "nn.elu": (-3, 3),
    "nn.selu": (-3, 3),
    "nn.softplus": (-30, 30),
    "nn.softsign": (-3, 3),
    "nn.leaky_relu": (-3, -1),
    "nn.crelu": (-3, 3),
    "is_finite": (-1, 1),
    "is_nan": (-1, 1),
    "is_inf": (-1, 1),
    "to_int32": (-9, 9),
    "to_int64": (-9, 9),
    "to_double": (-9, 9),
    "to_float": (-9, 9),
    "stop_gradient": (-1, 1),
    "zeros_like": (-1, 1),
    "ones_like": (-1, 1),
}
# Functions for which special values are outside the domain, or so large that not every digit is significant.
_NO_SPECIALS = {"digamma", "lgamma", "math.bessel_i0", "math.bessel_i1", "to_int32", "to_int64"}


_SPECIALS = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan")]


def _usual(tf: Any, np: Any, name: tuple[str, tuple[float, float]]) -> Plan:
    called, ends = name
    single, double = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float64, None)
    function, shape = named(tf, called), (1,) if "crelu" in called else ()
    fed = {single: reals(np, (2, 3), *ends), double: reals(np, shape, *ends, "float64")}
    return Plan([function(single), function(double)], fed)


def _special(tf: Any, np: Any, name: str) -> Plan:
    x = tf.placeholder(tf.float32, [7])
    return Plan(named(tf, name)(x), {x: np.array(_SPECIALS, np.float32)})


def _of_dtype(tf: Any, np: Any, name: str, dtype: str) -> Any:
    return named(tf, name)(tf.constant(wholes(np, (4,), 1, 5), getattr(tf, dtype)))


unary.over("{name}-usual", _usual, name={name: (name, ends) for name, ends in _UNARY.items()})
unary.over("{name}-special", _special, name=[name for name in _UNARY if name not in _NO_SPECIALS])
unary.over("{name}-{dtype}", _of_dtype, name=[*_UNARY], dtype=["int32"])
unary.over(
    "{name}-{dtype}",
    _of_dtype,
    name=["abs", "exp", "sqrt", "square", "tanh", "sigmoid", "log", "nn.relu", "rsqrt", "floor"],
    dtype=["float16", "bfloat16", "complex64", "uint8", "int64", "bool", "string"],
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
_UNBOUNDED = {"igamma", "igammac", "zeta", "polygamma"}


def _two_floats(tf: Any, np: Any, name: str) -> Plan:
    x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [3])
    fed = {x: reals(np, (2, 3), 1.1, 5), y: reals(np, (3,), 1.2, 4)}
    return Plan(named(tf, name)(x, y), fed, names=True)


def _two_special(tf: Any, np: Any, name: str) -> Plan:
    edges = np.array([0.0, 1.0, -1.5, np.inf, np.nan])
    x, y = (tf.placeholder(tf.float64, [None]) for _ in range(2))
    return Plan(named(tf, name)(x, y), {x: np.repeat(edges, 5), y: np.tile(edges, 5)})


def _two_wholes(tf: Any, np: Any, name: str) -> Any:
    left, right = wholes(np, (3, 1)), wholes(np, (4,), 1, 4)
    return named(tf, name)(tf.constant(left), tf.constant(right))


def _by_zero(tf: Any, np: Any, name: str) -> Plan:
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    return Plan(named(tf, name)(x, y), {x: [3, -3, 0], y: [0, 2, 0]})


binary.over("{name}-float32", _two_floats, name=_BINARY)
binary.over("{name}-int32", _two_wholes, name=_BINARY)
binary.over("{name}-special", _two_special, name=[name for name in _BINARY if name not in _UNBOUNDED])
binary.over(
    "{name}-by-zero", _by_zero, name=["floordiv", "mod", "truncatediv", "truncatemod", "truediv", "div", "div_no_nan"]
)
binary.over(
    "{name}-bool",
    lambda tf, np, name: named(tf, name)(choices(np, (2, 3)), choices(np, (3,))),
    name=("logical_and", "logical_or", "logical_xor"),
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


_SHAPES: list[Any] = [
    ((), ()),
    ((), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((2, 3), ()),
    ((4, 1, 2), (3, 1)),
    ((1,), (5,)),
    ((0, 3), (3,)),
    ((0,), (1,)),
    ((2, 3), (2,)),
    ((3,), (4,)),
    ((2, 0), (2, 1)),
    ((1, 1, 1), (2, 3)),
    ((5, 4), (5, 1)),
]
_PAIRS = {"-".join("x".join(map(str, shape)) or "scalar" for shape in pair): pair for pair in _SHAPES}


def _broadcast(tf: Any, np: Any, known: bool, shapes: Any) -> Plan:
    left, right = (reals(np, shape, dtype="float64") for shape in shapes)
    x, y = (tf.placeholder(tf.float64, shape if known else None) for shape in shapes)
    return Plan([x + y, x * y - y, tf.maximum(x, y), tf.less(x, y)], {x: left, y: right})


def _static_broadcast(tf: Any, np: Any, shapes: Any) -> Plan:
    fixed = tf.broadcast_static_shape(*(tf.TensorShape(shape) for shape in shapes))
    moving = tf.broadcast_dynamic_shape(*(tf.constant(shape, tf.int32) for shape in shapes))
    return Plan(moving, facts=fixed.as_list())


broadcasting.over("{known}-{shapes}", _broadcast, known={"known": True, "unknown": False}, shapes=_PAIRS)
broadcasting.over("shapes-{shapes}", _static_broadcast, shapes=_PAIRS)
