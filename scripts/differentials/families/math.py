"""Elementwise functions: usual and special values, dtypes, operators, broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Build, Family, Plan

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


def _named(tf: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        tf = getattr(tf, part)
    return tf


def _usual(name: str, low: float, high: float) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        single, double = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float64, None)
        function = _named(tf, name)
        values = (
            reals(np, (2, 3), low, high),
            reals(np, (1,) if "crelu" in name else (), low, high, "float64"),
        )
        return Plan([function(single), function(double)], {single: values[0], double: values[1]})

    return build


def _special(name: str) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], np.float32)
        x = tf.placeholder(tf.float32, [7])
        return Plan(_named(tf, name)(x), {x: values})

    return build


def _of_dtype(name: str, dtype: str) -> Build:
    def build(tf: Any, np: Any) -> Any:
        return _named(tf, name)(tf.constant(wholes(np, (4,), 1, 5), getattr(tf, dtype)))

    return build


for _name, (_low, _high) in _UNARY.items():
    unary.add(f"{_name}-usual", _usual(_name, _low, _high), _name)
    if _name not in _NO_SPECIALS:
        unary.add(f"{_name}-special", _special(_name), _name)
    unary.add(f"{_name}-int32", _of_dtype(_name, "int32"), _name)
for _name in (
    "abs",
    "exp",
    "sqrt",
    "square",
    "tanh",
    "sigmoid",
    "log",
    "nn.relu",
    "rsqrt",
    "floor",
):
    for _dtype in ("float16", "bfloat16", "complex64", "uint8", "int64", "bool", "string"):
        unary.add(f"{_name}-{_dtype}", _of_dtype(_name, _dtype), _name)

_BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "truediv",
    "realdiv",
    "floordiv",
    "floor_div",
    "div",
    "mod",
    "floormod",
    "truncatediv",
    "truncatemod",
    "pow",
    "maximum",
    "minimum",
    "squared_difference",
    "div_no_nan",
    "atan2",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "zeta",
    "polygamma",
    "math.xdivy",
    "math.xlogy",
    "math.xlog1py",
    "math.multiply_no_nan",
    "math.nextafter",
    "bitwise.bitwise_and",
    "bitwise.bitwise_or",
    "bitwise.bitwise_xor",
    "bitwise.left_shift",
    "bitwise.right_shift",
    "complex",
]


def _two_floats(name: str) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [3])
        a = reals(np, (2, 3), 1.1, 5)
        return Plan(_named(tf, name)(x, y), {x: a, y: reals(np, (3,), 1.2, 4)}, names=True)

    return build


def _two_special(name: str) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        edges = np.array([0.0, 1.0, -1.5, np.inf, np.nan])
        x, y = (tf.placeholder(tf.float64, [None]) for _ in range(2))
        left, right = np.repeat(edges, 5), np.tile(edges, 5)
        return Plan(_named(tf, name)(x, y), {x: left, y: right})

    return build


def _two_wholes(name: str) -> Build:
    def build(tf: Any, np: Any) -> Any:
        left, right = wholes(np, (3, 1)), wholes(np, (4,), 1, 4)
        return _named(tf, name)(tf.constant(left), tf.constant(right))

    return build


def _by_zero(name: str) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
        return Plan(_named(tf, name)(x, y), {x: [3, -3, 0], y: [0, 2, 0]})

    return build


_UNBOUNDED = {"igamma", "igammac", "zeta", "polygamma"}
for _name in _BINARY:
    binary.add(f"{_name}-float32", _two_floats(_name), _name)
    binary.add(f"{_name}-int32", _two_wholes(_name), _name)
    if _name not in _UNBOUNDED:
        binary.add(f"{_name}-special", _two_special(_name), _name)
for _name in ("floordiv", "mod", "truncatediv", "truncatemod", "truediv", "div", "div_no_nan"):
    binary.add(f"{_name}-by-zero", _by_zero(_name), _name)
for _name in ("logical_and", "logical_or", "logical_xor"):
    binary.add(
        f"{_name}-bool",
        lambda tf, np, name=_name: _named(tf, name)(choices(np, (2, 3)), choices(np, (3,))),
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


def _operated(apply: Callable[[Any, Any], Any], kind: str, order: str) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        array = choices(np, (2, 2)) if kind == "bool" else wholes(np, (2, 2), 1, 5, kind)
        other: Any = {"bool": True, "int32": 3, "float32": 2.5}[kind]
        tensor = tf.constant(array)
        if order == "tensor-tensor":
            other = tf.constant(array.T.copy())
        pair = (other, tensor) if order == "number-tensor" else (tensor, other)
        out = apply(*pair)
        return Plan(out if hasattr(out, "op") else None, names=True, facts=hasattr(out, "op"))

    return build


for _name, _apply in _OPERATORS.items():
    for _kind in ("float32", "int32", "bool"):
        for _order in ("tensor-tensor", "tensor-number", "number-tensor"):
            operators.add(f"{_name}-{_kind}-{_order}", _operated(_apply, _kind, _order))


@operators("not")
def _not(tf: Any, np: Any) -> Plan:
    return Plan(~tf.constant([True, False]), names=True)


@operators("negative-and-abs")
def _negative(tf: Any, np: Any) -> Plan:
    x = tf.constant([-1.5, 2.0], name="x")
    return Plan([-x, abs(x), -abs(-x)], names=True)


@operators("truth-of-a-tensor")
def _truth(tf: Any, np: Any) -> Any:
    return tf.constant(1) if tf.constant(True) else tf.constant(2)


@operators("iterating-over-a-tensor")
def _iterated(tf: Any, np: Any) -> Any:
    return list(tf.constant([1, 2]))


@operators("length-of-a-tensor")
def _length(tf: Any, np: Any) -> Any:
    return tf.constant(len(tf.constant([1, 2])))


@operators("as-a-float")
def _as_float(tf: Any, np: Any) -> Any:
    return tf.constant(float(tf.constant(1.0)))


_SHAPES = [
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


def _broadcast(shapes: Any, known: bool) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        left, right = (reals(np, shape, dtype="float64") for shape in shapes)
        x, y = (tf.placeholder(tf.float64, shape if known else None) for shape in shapes)
        return Plan([x + y, x * y - y, tf.maximum(x, y), tf.less(x, y)], {x: left, y: right})

    return build


def _static_broadcast(shapes: Any) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        fixed = tf.broadcast_static_shape(*(tf.TensorShape(shape) for shape in shapes))
        moving = tf.broadcast_dynamic_shape(*(tf.constant(shape, tf.int32) for shape in shapes))
        return Plan(moving, facts=fixed.as_list())

    return build


for _pair in _SHAPES:
    _what = "-".join("x".join(map(str, shape)) or "scalar" for shape in _pair)
    broadcasting.add(f"known-{_what}", _broadcast(_pair, known=True))
    broadcasting.add(f"unknown-{_what}", _broadcast(_pair, known=False))
    broadcasting.add(f"shapes-{_what}", _static_broadcast(_pair))
