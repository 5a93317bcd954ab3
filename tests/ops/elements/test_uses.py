"""Functions of elements: what they take, give, know early and refuse, beyond the rows of their operation types."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Graph, as_dtype, math, ops
from tests.nodes import make_one
from tests.ops.cases import f32, i32, i64
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import back, each_use, equals, face, fails, gives, knows, nodes, slopes
from tests.rows import for_each

Op = Callable[..., Any]
BFLOAT16 = ml_dtypes.bfloat16


def _like(*values: Any) -> list[Any]:
    """Constants of these values."""
    return [ops.constant(value) for value in values]


def _names(*tensors: Any) -> list[str]:
    return [tensor.op.name for tensor in tensors]


# -- arithmetic and division -----------------------------------------------------------------------

TRUTHS = np.array([True, False])
UNLIKE = f32([1, 2]), f32([1, 2, 3])
FLOORS = (ops.floor_div, ops.floordiv, operator.floordiv)
QUOTIENTS: dict[Any, Any] = {
    **dict.fromkeys((np.int8, np.uint8, np.int16, np.uint16), np.float32),
    **dict.fromkeys((np.int32, np.int64, np.uint32), np.float64),
    **{t: t for t in (np.float16, np.float32, np.complex64)},
}
ARITHMETIC = [
    *(
        (lambda f=f: f(*_like(*UNLIKE)), ValueError, r"\(2,\), \(3,\)")
        for f in (ops.add, ops.subtract, ops.multiply, ops.maximum, ops.minimum, ops.squared_difference)
    ),
    slopes(lambda x: x**2, np.array([0.0, -1.0, 2.0])),
    (lambda: ops.add_n([]), ValueError, "one or more"),
    (lambda: ops.add_n(*_like([1.0])), ValueError, "one or more"),
    (lambda: ops.multiply(*_like(True, True)), TypeError, "got bool"),
    *(
        gives(lambda x, y: [x / y, ops.divide(x, y), ops.truediv(x, y)], [np.array([3.5, 2], q)] * 3, *args)
        for t, q in QUOTIENTS.items()
        for args in [(np.array([7, 6], t), np.array([2, 3], t))]
    ),
    (lambda: operator.truediv(*_like(1.0, 1)), TypeError, "float32 and int32"),
    (lambda: operator.truediv(*_like(True, True)), TypeError, "bool"),
    gives(ops.div_no_nan, f32([0, 1.5]), np.array([1, 3], np.int8), np.array([0, 2], np.int8)),
    gives(ops.div_no_nan, np.array([0, 1.5]), i32([1, 3]), i32([0, 2])),
    gives(lambda x: ops.div_no_nan(1, x), np.array([0, 0.25]), np.array([0.0, 4.0])),
    gives(lambda x: ops.div_no_nan(x, 2), np.array([0.0, 2.0]), np.array([0.0, 4.0])),
    gives(math.reciprocal_no_nan, np.array([0, 0.25]), np.array([0.0, 4.0])),
    equals(lambda: math.divide_no_nan is ops.div_no_nan, True),
    *(
        (lambda x=x, y=y: ops.div_no_nan(*_like(x, y)), TypeError, words)
        for x, y, words in (([1], [1.0], "int32"), ([True], [True], "bool"), (["a"], ["b"], "string"))
    ),
    *(fails(lambda f=f: f(ops.constant([1]), 0), "by zero") for f in (ops.truncatediv, ops.truncatemod)),
    *(
        equals(
            lambda f=f: _names(f(1.0, 2.0), f(1.0, 2.0, name="own")),
            [f"{name}/{name.capitalize()}", f"own/{name.capitalize()}"],
        )
        for name, f in (("xdivy", math.xdivy), ("xlog1py", math.xlog1py))
    ),
    # Names that differ in their case alone are told apart.
    equals(lambda: _names(*[f(*_like(1.0, 2.0)) for f in FLOORS]), ["FloorDiv", "floordiv_1", "floordiv_2"]),
]


# -- bits, comparisons, selection ------------------------------------------------------------------

LOGIC = [ops.logical_and, ops.logical_or, ops.logical_xor]
ROW_CHOICE, ROWS, SQUARE = np.array([True, False]), np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(2, 2)
CHOOSERS = [np.random.default_rng(0).random(shape) < 0.5 for shape in ((2, 3), (2,), ())]
UNLIKE_SHAPES: list[Any] = [([2, 3], [2, 3], ()), ([2, 3], (), ()), ([3], [2, 3], [2, 3]), ([2, 1], [2, 3], [2, 3])]


def _chosen(function: Op, c: Any, x: Any, y: Any) -> Any:
    return function(source("bool", c), source("float32", x), source("float32", y))


COMPARED = [
    gives(lambda x: [3 & x, ~x], [i32([1, 2]), i32([-6, 1])], i32([5, -2])),
    *(
        (lambda f=f, v=v: f(*_like(v, v)), TypeError, "integers")
        for f in (operator.and_, operator.or_, operator.xor)
        for v in ([1.0], ["a"], [1j])
    ),
    *((lambda v=v: ~ops.constant(v), TypeError, "integers") for v in ([1.0], ["a"], [1j])),
    (lambda: operator.and_(*_like([1], i64([1]))), TypeError, "one dtype"),
    equals(
        lambda: _names(*[p for x in _like([1, 2]) for p in (x & 1, ~x, x ^ 3)]),
        ["and/BitwiseAnd", "Invert", "xor/BitwiseXor"],
    ),
    equals(
        lambda: nodes(lambda: [p for x in _like([True]) for p in (x & True, ~x)]),
        {"and": "LogicalAnd", "LogicalNot": "LogicalNot"},
    ),
    equals(lambda: (ops.Variable([6, 3]) & 2).op.type, "BitwiseAnd"),
    *((lambda f=f: f(*_like(1, 1)), TypeError, "int32") for f in LOGIC),
    (lambda: ops.logical_not(ops.constant(1)), TypeError, "int32"),
    equals(lambda: operator.eq(*_like(1, 1)), False),  # equality of tensors is identity
    equals(lambda: operator.eq(*[ops.constant(1)] * 2), True),
    equals(lambda: ops.where([True, False], *_like(ROWS, -ROWS)).op.type, "Select"),
    gives(lambda x, y: ops.where([True, False], x, y), np.array([SQUARE[0], -SQUARE[1]]), SQUARE, -SQUARE),
    gives(lambda x, y: ops.where_v2([True, False], x, y), np.where(ROW_CHOICE, SQUARE, -SQUARE), SQUARE, -SQUARE),
    *(
        row
        for shapes in UNLIKE_SHAPES
        for row in (
            (lambda s=shapes: _chosen(ops.where, *s), ValueError, r"x and y of one shape .* where_v2 broadcasts"),
            equals(lambda s=shapes: face(_chosen(ops.where_v2, *s))[1::2], ("SelectV2", [2, 3])),
        )
    ),
    *(
        gives(ops.where, np.where(c[:, None] if c.ndim == 1 else c, ROWS, -ROWS), c, ROWS, -ROWS)
        for c in map(np.asarray, CHOOSERS)
    ),
    gives(lambda x: ops.where_v2([True, False], x, 2), np.array([1.0, 2.0]), np.float64(1)),
    (lambda: ops.where(*_like(1, 1, 2)), TypeError, "bool"),
    (lambda: make_one("SelectV2", _like(1, 1, 2)), TypeError, "condition of SelectV2 is bool; got int32"),
    (lambda: ops.where(True, *_like(1.0, 2)), TypeError, "float32 is wanted"),
    (lambda: ops.where(True, ops.constant(1.0)), ValueError, "both x and y"),
    gives(lambda: [ops.where(c, *_like(b"one", b"two")) for c in _like(True, False)], [b"one", b"two"]),
]


# -- other types -----------------------------------------------------------------------------------

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
LARGEST, LOWEST = np.finfo(np.float32).max, np.finfo(np.float32).min
# What is cut to a narrower float, towards zero.
CUT = [
    ("float32", "bfloat16", 1.99999, 2 - 2**-7),
    ("float32", "bfloat16", -1.99999, -(2 - 2**-7)),
    ("float32", "bfloat16", 3.4e38, 2.0**128 - 2.0**120),
    ("float32", "bfloat16", np.inf, np.inf),
    ("float32", "bfloat16", np.nan, np.nan),
    # A NaN of which the narrow type would take no bit stays one.
    ("float32", "bfloat16", np.uint32(0x7F800001).view(np.float32), np.nan),
    ("float32", "float16", 1e6, 65504),
    ("float64", "float32", -(1 + 2**-24 + 2**-30), -1),
    ("float64", "bfloat16", 1 + 2**-8 + 2**-9, 1),
]
SATURATED: list[tuple[Any, str, list[Any]]] = [
    (f32([300, -5, 7.9]), "uint8", [255, 0, 7]),
    (f32([3e20, -3e20]), "int32", [2147483520, -(2**31)]),
    (f32([3e20, -3e20]), "int64", [9223371487098961920, -(2**63)]),
    (f32([3e20, -3e20]), "float16", [65504.0, -65504.0]),
    (np.array([2**64 - 1, 3], np.uint64), "int64", [2**63 - 1, 3]),
    (i32([-5, 300]), "uint8", [0, 255]),
    (np.array([-5, 2**40]), "uint64", [0, 2**40]),
    (np.array([1e300, -1e300]), "float32", [LARGEST, LOWEST]),
    (np.array([1e300 + 1j]), "float32", [LARGEST]),
    (np.array([1e300 - 2j]), "complex64", [LARGEST - 2j]),
    (np.array([1e39, -5]), "bfloat16", [3.3895313892515355e38, -5]),
]


def _held(shape: Any, dtype: str) -> Any:
    return np.resize(np.array([1, 0, 1]), shape).astype(as_dtype(dtype).np_dtype)


def _cut(x: Any, target: str) -> Any:
    return make_one("Cast", [x], {"DstT": as_dtype(target), "Truncate": True})


RECAST = [
    *(  # a value that both types hold is kept
        gives(lambda x, b=b: ops.cast(x, b), _held(shape, b), _held(shape, a))
        for a in DTYPES
        for b in DTYPES
        for shape in ((), (3,), (0,))
    ),
    *(  # NaN as an integer is anything but an error
        equals(lambda s=s: evaluate([ops.cast(ops.constant(np.nan, shape=s), "int32")])[0].dtype, np.dtype(np.int32))
        for s in ((), (2,))
    ),
    *(
        gives(
            lambda x, b=b: _cut(x, b),
            np.full(shape, wanted, as_dtype(b).np_dtype),
            np.full(shape, value, as_dtype(a).np_dtype),
        )
        for a, b, value, wanted in CUT
        for shape in ((), (2,), (2, 0, 3))
    ),
    equals(lambda: [ops.cast(x, "float32") is x for x in _like(1.0)], [True]),
    slopes(lambda x: ops.cast(ops.cast(x, "complex128"), "float64") * 2.0, np.ones(())),
    slopes(lambda x: ops.cast(ops.cast(x, "complex128"), "float64") * 2.0, np.ones(3)),
    *(back(lambda x: ops.cast(x, "float32"), np.ones(s), np.ones(s, BFLOAT16)) for s in ((), (3,))),
    back(lambda x: ops.cast(ops.cast(x, "int32"), "float32"), None, f32(1)),
    (lambda: ops.cast(ops.constant("a"), "float32"), TypeError, r"Cast takes .* quantised types; got string"),
    (lambda: ops.cast(ops.constant(1), "string"), TypeError, "string is neither"),
    knows(lambda: ops.cast(ops.constant([1, 2]), "int64"), i64([1, 2])),
    *(gives(lambda x, t=t: ops.saturate_cast(x, t), np.array(w, as_dtype(t).np_dtype), v) for v, t, w in SATURATED),
    equals(lambda: [*nodes(lambda: ops.saturate_cast(ops.constant(np.int8(1)), "int32")).values()], ["Cast"]),
    *((lambda v=v: ops.saturate_cast(ops.constant(v), "int32"), TypeError, "range") for v in ([True], ["a"])),
    *(
        (lambda v=v: ops.bitcast(ops.constant(v), "int8"), TypeError, r"Bitcast takes .* quantised types; got")
        for v in ([True], ["a"])
    ),
    equals(lambda: [ops.real(x) is x for x in _like([1.0, -2.0])], [True]),
    gives(lambda x: [ops.imag(x), ops.angle(x)], [[0, 0], f32([0, np.pi])], f32([1, -2]), rtol=1e-6),
    *(
        gives(
            lambda x: [
                ops.real(x),
                ops.imag(x),
                ops.angle(x),
                ops.abs(x),
                abs(x),
                ops.complex(ops.real(x), ops.imag(x)),
            ],
            [*(np.array([v], part) for v in (3, -4, -0.9272952, 5, 5)), np.array([3 - 4j], whole)],
            np.array([3 - 4j], whole),
            rtol=1e-6,
        )
        for whole, part in ((np.complex64, np.float32), (np.complex128, np.float64))
    ),
    equals(lambda: [f(ops.constant(1j)).op.type for f in (ops.angle, ops.abs, abs)], ["Angle", *["ComplexAbs"] * 2]),
    (lambda: ops.complex(*_like(1.0, np.float64(1))), TypeError, "two parts"),
    (lambda: ops.complex(*_like(1, 2)), TypeError, "two parts"),
    (lambda: ops.real(ops.constant(True)), TypeError, "bool"),
    gives(lambda y: ops.complex(1.0, y), np.complex64(complex(1, np.inf)), f32(np.inf)),
    back(lambda x: abs(ops.complex(x, x)), 0, f32(0)),
    equals(lambda: [ops.conj(x) is x for x in _like([1.0])], [True]),
    gives(ops.conj, np.array([1 - 2j]), np.array([1 + 2j])),
    gives(lambda x: [ops.expm1(x), ops.log1p(x)], [[1e-12], [1e-12]], np.array([1e-12]), rtol=1e-11),
]


# -- clipped ---------------------------------------------------------------------------------------

PAIR, NORMS = f32([3, 4]), f32([[3, 4], [0.1, 0.2]])


def _slices(*values: Any) -> Any:
    return ops.IndexedSlices(ops.constant(values), ops.constant([7] * len(values)), ops.constant([9, 2]))


CLIPPED = [
    gives(lambda x: ops.clip_by_value(x, -1, 1.0), f32([-1, 0.5, 1]), f32([-5, 0.5, 7])),
    equals(
        lambda: nodes(lambda: ops.clip_by_value(ops.constant([-5.0]), -1, 1.0)),
        {"clip_by_value/Minimum": "Minimum", "clip_by_value": "Maximum"},
    ),
    (lambda: ops.clip_by_value(*_like([1.0, 2.0], [[1.0], [2.0]], 3.0)), ValueError, "keeps the shape"),
    (lambda: ops.clip_by_value(ops.constant([1, 2]), -3.5, 3.5), TypeError, "int32"),
    gives(lambda: ops.clip_by_value(_slices([3.0, 4.0]), 0.0, 3.5).values, f32([[3, 3.5]])),
    gives(lambda: ops.clip_by_norm(_slices([3.0, 4.0]), 1.0).values, f32([[0.6, 0.8]]), rtol=1e-6),
    equals(lambda: [ops.clip_by_value(s, 0.0, 3.5).indices is s.indices for s in [_slices([3.0, 4.0])]], [True]),
    gives(lambda x: ops.norm(ops.clip_by_norm(x, 1.0)), f32(1), NORMS, rtol=1e-6),
    gives(lambda x: ops.clip_by_norm(x, 1.0), f32([0, 0]), f32([0, 0])),
    gives(lambda x: ops.is_finite(ops.gradients(ops.clip_by_norm(x, 1.0), x)[0]), [True, True], f32([0, 0])),
    gives(lambda x: [ops.clip_by_norm(x, -1.0), ops.clip_by_norm(x, ops.constant(-1.0))], [[0, 0]] * 2, PAIR),
    gives(lambda x: ops.clip_by_global_norm([x], 20.0)[0], [PAIR], PAIR, rtol=1e-6),
    gives(lambda x: ops.clip_by_global_norm([x], 1.0, use_norm=5.0)[0], [f32([0.6, 0.8])], PAIR, rtol=1e-6),
    gives(lambda: ops.global_norm([None]), 0),
    *((lambda v=v: ops.global_norm(v), TypeError, "list") for v in ("gradients", 3.0)),
    *((lambda v=v: ops.clip_by_global_norm(v, 1.0), TypeError, "list") for v in ("gradients", 3.0)),
]


test_functions_of_elements_do_what_their_rows_say = each_use([*ARITHMETIC, *COMPARED, *RECAST, *CLIPPED])


# -- what no row says ------------------------------------------------------------------------------

# Analytic functions whose second derivative is not 0.
CURVED: dict[Op, Op] = {
    ops.rsqrt: lambda x: 1 / np.sqrt(x),
    **{
        getattr(ops, f): getattr(np, f)
        for f in ["square", "sqrt", "reciprocal", "exp", "expm1", "log", "log1p", "sin", "cos", "tan"]
    },
}


@for_each("op", CURVED, ids=lambda op: op.__name__)
def test_a_second_gradient_of_complex_numbers_is_the_conjugate_of_the_second_derivative(op: Op) -> None:
    """The first gradient is a conjugate too, so that it is conjugated again to be differentiated."""
    given, h = np.array([1 + 2j, -0.5 + 0.25j, 2 - 1j]), 1e-3
    oracle, z = CURVED[op], source("complex128", given.shape)
    [first] = ops.gradients(op(z), z, ops.constant(np.ones_like(given)))
    [second] = ops.gradients(ops.conj(first), z, ops.constant(np.ones_like(given)))
    slope = (oracle(given + h) - oracle(given - h)) / (2 * h)
    curve = (oracle(given + h) - 2 * oracle(given) + oracle(given - h)) / h**2
    found = evaluate([first, second], {z: given})
    np.testing.assert_allclose(found[0], slope.conj(), rtol=1e-4)
    np.testing.assert_allclose(found[1], curve.conj(), rtol=1e-4)


def test_a_global_norm_scales_all_tensors_alike_and_keeps_none() -> None:
    clipped, norm = ops.clip_by_global_norm([ops.constant([3.0, 4.0]), None, _slices([12.0])], 1.3)
    assert clipped[1] is None
    assert isinstance(clipped[2], ops.IndexedSlices)
    wanted: list[Any] = [[0.3, 0.4], [[1.2]], 13]
    for found, want in zip(evaluate([clipped[0], clipped[2].values, norm]), wanted, strict=True):
        np.testing.assert_allclose(found, want, 1e-6)
    assert ops.clip_by_global_norm([ops.constant([3.0, 4.0])], 1.0, use_norm=norm)[1] is norm


def test_each_part_of_a_global_norm_is_computed_where_its_tensor_is(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        x = ops.constant([3.0, 4.0])
    clipped, _ = ops.clip_by_global_norm([x], 1.0)
    [loss] = [op for op in graph.get_operations() if op.type == "L2Loss"]
    assert loss.groups() == clipped[0].op.groups() == (f"loc:@{x.op.name}",)


# -- the namespace of which Python has a module of that name ---------------------------------------


@pytest.mark.process
def test_pythons_own_module_of_that_name_is_left_alone() -> None:
    program = "import actorsession.namespaces.math as ours, math; assert math is not ours and math.tau"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=50).returncode == 0
