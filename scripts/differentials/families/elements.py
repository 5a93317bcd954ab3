"""Elementwise functions, reductions and conversions: values, special values, dtypes, axes, broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Family, Plan, named, on, words

__all__ = ["FAMILIES"]

unary, binary, operators = Family("unary"), Family("binary"), Family("operators")
broadcasting = Family("broadcasting")

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


reductions = Family("reductions")

_REDUCERS = {name: f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")}
_AXES: list[Any] = [None, 0, -1, [0, 2], [], [1], 3, [0, 0], [-3, 1]]
_NAN = [[1.0, float("nan")], [float("inf"), 2.0], [-float("inf"), float("inf")]]
_OLD = {"keep_dims": True, "reduction_indices": [0, 1]}


def _axis(tf: Any, x: Any, name: str, axis: Any) -> Any:
    return getattr(tf, name)(x, axis)


def _reduced(tf: Any, np: Any, name: str, dtype: str) -> Any:
    return getattr(tf, name)(tf.cast(tf.constant(wholes(np, (3, 4), 0, 9)), dtype), 0)


reductions.over("{name}-{axis}", on(_axis), name=_REDUCERS, axis=_AXES)
reductions.over("{name}-of-{dtype}", _reduced, name=_REDUCERS, dtype=("int32", "float64", "bool", "uint8", "complex64"))
for _what, _build in {
    "keeps": on(lambda tf, x, name: getattr(tf, name)(x, [1], keepdims=True)),
    "old-arguments": on(lambda tf, x, name: getattr(tf, name)(x, **_OLD)),
    "empty": on(lambda tf, x, name: getattr(tf, name)(x, 1), (2, 0)),
    "unknown": on(lambda tf, x, name: getattr(tf, name)(x, [-1, 0]), known=False),
    "nan": lambda tf, np, name: getattr(tf, name)(_NAN, 1),
}.items():
    reductions.over(f"{{name}}-{_what}", _build, name=_REDUCERS)
reductions.over(
    "{name}-{axis}",
    lambda tf, np, name, axis: getattr(tf, f"reduce_{name}")(choices(np, (3, 2)), axis),
    name=("all", "any"),
    axis=(None, 0, [1], []),
)
_EXTREMES = ("argmax", "argmin")
reductions.over("{name}-{axis}", on(_axis), name=_EXTREMES, axis=(None, 0, 2, -1, 5))
reductions.over("{name}-int32", on(lambda tf, x, name: getattr(tf, name)(x, 1, output_type=tf.int32)), name=_EXTREMES)
reductions.over("{name}-of-equals", lambda tf, np, name: getattr(tf, name)([[1, 2, 2], [0, 0, 1]], 1), name=_EXTREMES)
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

_DTYPES = words("float16 float32 float64 int8 int32 int64 uint8 bool complex64 bfloat16")


def _cast(tf: Any, np: Any, source: str, target: str) -> Any:
    numbers = choices(np, (4,), "int32") if source == "bool" else wholes(np, (4,), 0, 100)
    return tf.cast(tf.cast(tf.constant(numbers), source), target)


for _source in _DTYPES:
    _others = [dtype for dtype in _DTYPES if dtype != _source]
    mixed.over("cast-{source}-{target}", _cast, source=[_source], target=_others)
for _left, _right in (
    ("float32", "float64"),
    ("int32", "int64"),
    ("float32", "int32"),
    ("uint8", "int32"),
    ("complex64", "float32"),
    ("float16", "float32"),
):
    mixed.over(
        "sum-{left}-{right}",
        lambda tf, np, left, right: tf.constant([1, 2], left) + tf.constant([1, 0], right),
        left=[_left],
        right=[_right],
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
for _source, _target in (
    ("float32", "int32"),
    ("int64", "float64"),
    ("int32", "uint8"),
    ("uint8", "int16"),
    ("float32", "float64"),
    ("complex64", "float32"),
):
    mixed.over(
        "bitcast-{source}-{target}",
        lambda tf, np, source, target: tf.bitcast(tf.cast(tf.constant([[1, 2], [3, 4]]), source), getattr(tf, target)),
        source=[_source],
        target=[_target],
    )

FAMILIES = [unary, binary, operators, broadcasting, reductions, mixed]
