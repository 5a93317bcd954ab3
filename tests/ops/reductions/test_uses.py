"""Reductions, searches, segments, counts: what rows of their operation types do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, bfloat16, float16, float32, math, nn, ops, opsets
from actorsession.ops import raw
from actorsession.ops.reductions.reducers import _ones, extremum, mean, product, total
from tests.ops.cases import f32, i32, i64
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import back, dims, each_use, equals, fails, gives, ranked, slopes, static
from tests.rows import for_each

# -- reductions over axes --------------------------------------------------------------------------

# Shapes with axes: all, none, leading, trailing, middle, several, negative, of length 1.
AXES: list[tuple[tuple[int, ...], Any]] = [
    ((), None),
    ((), []),
    ((4,), None),
    ((4,), 0),
    *(((2, 3), axis) for axis in (None, [], 0, 1, -1, [0, 1], [-1, 0])),
    *(((2, 3, 4), axis) for axis in (1, [0, 1], [2, 1], [0, 2], [-2])),
    ((1, 3), 0),
]
REDUCTIONS = [ops.reduce_sum, ops.reduce_mean, ops.reduce_prod, ops.reduce_max, ops.reduce_min, ops.reduce_logsumexp]
X = np.array([[1.0, 2.0, 4.0], [3.0, -5.0, 0.5]])
ZEROS = f32([0, 0])


def _apart(shape: Any) -> Any:
    """All different, so that extrema are unique."""
    return (np.random.default_rng(0).permutation(int(np.prod(shape))) * 0.1 + 0.5).reshape(shape)


def _log_sum(x: Any, axis: Any, keep: bool) -> Any:
    highest = x.max()
    axes: Any = tuple(axis) if isinstance(axis, list) else axis
    return highest + np.log(np.exp(x - highest).sum(axes, keepdims=keep))


def _some_known(x: Any, shape: Any, axis: Any) -> Any:
    """The gradient of a mean of what is known in part."""
    part = ops.placeholder_with_default(x, shape)
    return ops.gradients(ops.reduce_mean(part, axis), part)[0]


REDUCED = [
    *(
        slopes(lambda x, f=f, axis=axis, keep=keep: f(x, axis, keep), _apart(shape))
        for f in REDUCTIONS
        for keep in (True, False)
        for shape, axis in AXES
    ),
    *(  # large numbers do not overflow
        gives(
            lambda x, *given, a=axis, k=keep: ops.reduce_logsumexp(x, given[0] if given else a, k),
            _log_sum(x, axis, keep),
            *(x, *fed),
            rtol=1e-12,
        )
        for keep in (True, False)
        for shape, axis in [*AXES, ((3, 40), 1)]
        for x in (_apart(shape), _apart(shape) + 1000.0, _apart(shape) - 1000.0)
        for fed in ([], [] if axis is None else [i32(axis)])
    ),
    gives(
        lambda x: ops.reduce_logsumexp(x, 1),
        np.array([-np.inf, np.inf, 3]),
        np.array([[-np.inf] * 2, [np.inf, 0], [-np.inf, 3]]),
    ),
    equals(lambda: ops.reduce_logsumexp([1.0], name="total").op.name, "total"),
    equals(lambda: ops.reduce_logsumexp([1.0]).op.name, "ReduceLogSumExp"),
    # An integer mean is cut towards zero and does not overflow.
    gives(lambda x: ops.reduce_mean(x, 0), i32([-1, -2, 2**30, 3]), i32([[-3, -4, 2**30, 7], [0, 0, 2**30, 0]])),
    gives(lambda x: ops.reduce_mean(x, 0), i32([0] * 4), np.zeros([0, 4], np.int32)),
    *(
        gives(lambda x, s=shape, a=axis: _some_known(x, s, a), np.full((2, 4), 1 / count), X[:, :1] + np.zeros((2, 4)))
        for shape in ([None, 4], [2, None], [None, None])
        for axis, count in ((None, 8), (0, 2), (1, 4))
    ),
    back(ops.reduce_max, [0.5, 0, 0.5, 0], f32([3, 1, 3, 2])),
    static(lambda x: ops.reduce_sum(x, keepdims=True), [1, 1], [2, 3]),
    gives(lambda x: math.reduce_std(x, 0, True), X.std(0, keepdims=True), X, rtol=1e-7),
    gives(lambda x: math.reduce_variance(x, -1, True), X.var(-1, keepdims=True), X, rtol=1e-7),
    slopes(lambda x: [math.reduce_std(x, 1), math.reduce_variance(x)], X),
    gives(math.reduce_variance, np.array([1 + 2j, 3, -1j]).var(), np.array([1 + 2j, 3, -1j]), rtol=1e-7),
    (lambda: math.reduce_variance(ops.constant([1, 2])), TypeError, "int32"),
    gives(lambda x: nn.l2_normalize(x, 1), X / np.linalg.norm(X, axis=1, keepdims=True), X, rtol=1e-7),
    gives(nn.l2_normalize, np.array([0.6, 0.8j]), np.array([3, 4j]), rtol=1e-7),
    gives(nn.l2_normalize, ZEROS, ZEROS),
    slopes(lambda x: nn.l2_normalize(x, 1), X),
]


# -- counts ----------------------------------------------------------------------------------------

COUNTED = i32([[1, 1], [2, 5]])
BINNED = f32([[-1, 0, 1.5], [2, 5, 15]])
ORDERS = [ops.is_non_decreasing, ops.is_strictly_increasing]
COUNTS = [
    gives(ops.bincount, i32([0, 2, 1, 0, 0, 1]), COUNTED),
    gives(lambda x: ops.bincount(x, dtype="int64"), i64([0, 2, 0, 1]), i32([1, 1, 3])),
    gives(lambda x: ops.bincount(x, weights=ops.constant([0.5, 1.0, 2.0])), f32([0, 1.5, 0, 2]), i32([1, 1, 3])),
    gives(ops.bincount, i32([]), i32([])),
    fails(ops.bincount, "counts from 0; got -3", i32([1, -3])),
    (lambda: ops.bincount(np.array([1], np.int8)), TypeError, "int8"),
    # Values outside the range fall into the outer bins.
    gives(lambda x: ops.histogram_fixed_width_bins(x, [0.0, 5.0], 5), i32([[0, 0, 1], [2, 4, 4]]), BINNED),
    gives(lambda x: ops.histogram_fixed_width(x, [0.0, 5.0], 5, dtype="int64"), i64([2, 1, 1, 0, 2]), BINNED),
    *(
        (lambda f=f: f([1.0], [0.0, 5.0], 0), ValueError, "at least 1 bin")
        for f in (ops.histogram_fixed_width, ops.histogram_fixed_width_bins)
    ),
    gives(
        lambda: ops.confusion_matrix([0, 1], [[1], [1]], 3, "float32", weights=[0.5, 2.0]),
        f32([[0, 0.5, 0], [0, 2, 0], [0] * 3]),
    ),
    equals(lambda: dims(ops.confusion_matrix([0, 1], [[1], [1]], 3)), [3, 3]),
    *(
        fails(lambda x: ops.confusion_matrix(x, [0, 1], num_classes=3), "does not index into", i32(x))
        for x in ([1, -2], [1, 3])
    ),
    gives(lambda x: ops.count_nonzero(x, axis=1), i64([1, 1]), i32([[0, 1], [2, 0]])),
    gives(lambda x: ops.count_nonzero(x, dtype="int32"), np.int32(2), np.array([True, False, True])),
    gives(lambda x: ops.count_nonzero(x, keepdims=True), i64([1]), np.array([b"", b"a"], object)),
    gives(lambda x: ops.count_nonzero(input=x, axis=[0]), np.int64(1), f32([0, np.nan])),
    *(gives(f, np.bool_(True), x) for f in ORDERS for x in (f32([7]), f32([]), f32([[1, 2], [3, 4]]))),
    *(gives(f, np.bool_(False), x) for f in ORDERS for x in (f32([1, np.nan]), f32([[1, 3], [2, 4]]))),
    (lambda: ops.is_non_decreasing(["a"]), TypeError, "string"),
    gives(nn.zero_fraction, f32(0.75), i32([0, 1, 0, 0])),
    gives(nn.zero_fraction, f32(np.nan), f32([])),
]


# -- searches and orders ---------------------------------------------------------------------------

CUBE = np.random.default_rng(3).permutation(24).reshape(2, 3, 4).astype(np.float32)
SORTED = i32([1, 3, 3, 5])


def _ends(name: str) -> tuple[Any, Any]:
    """Four numbers of a type with the least and the greatest, and the same in order."""
    dtype = as_dtype(name).np_dtype
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)
    return np.array([3, high, low, 1], dtype), np.array([low, 1, 3, high], dtype)


SEARCHES = [
    *((lambda f=f: f(ops.constant(1j)), TypeError, "complex") for f in (ops.argmax, ops.argmin)),
    *(
        (lambda f=f: f([1.0], 0, output_type="float32"), TypeError, "as output; got float32")
        for f in (ops.argmax, ops.argmin)
    ),
    *(gives(lambda x, a=a: ops.sort(x, a, "DESCENDING"), -np.sort(-CUBE, a), CUBE) for a in (-1, 0, 1, 2, -3)),
    *(gives(lambda x, a: ops.sort(ranked(x, 3), a), np.sort(CUBE, a), CUBE, i32(a)) for a in (0, 1, -1, 2)),
    *(gives(lambda x, a=a: ops.argsort(x, a), np.argsort(CUBE, a).astype(np.int32), CUBE) for a in (-1, 0, 1)),
    *(
        row
        for x, wanted in map(_ends, ["int8", "uint8", "int64", "uint32", "float16", "bfloat16"])
        for row in (gives(ops.sort, wanted, x), gives(lambda x: ops.sort(x, direction="DESCENDING"), wanted[::-1], x))
    ),
    # Equal elements keep their order, and NaN comes last.
    gives(ops.argsort, i32([1, 3, 2, 0]), f32([3, 1, 2, 1])),
    gives(lambda x: ops.argsort(x, direction="DESCENDING"), i32([0, 2, 1, 3]), f32([3, 1, 2, 1])),
    gives(ops.argsort, i32([3, 2, 0, 1]), f32([3, np.nan, 2, 1])),
    gives(ops.sort, f32([1, 2, 3, np.nan]), f32([3, np.nan, 2, 1])),
    static(lambda x: ops.sort(x, 0), [None, 3], [None, 3]),
    static(ops.argsort, [2, None], [2, None]),
    (lambda: ops.sort([1], direction="up"), ValueError, "ASCENDING or DESCENDING, got 'up'"),
    (lambda: ops.sort([[1]], axis=2), ValueError, "axis 2 is not in"),
    (lambda: ops.sort(1), ValueError, "axis -1 is not in"),
    slopes(ops.sort, CUBE),
    slopes(lambda x: ops.sort(x, 0, "DESCENDING"), CUBE),
    gives(lambda v: ops.searchsorted(SORTED, v, "right", "int64"), i64([0, 3, 4]), i32([0, 3, 9])),
    (lambda: ops.searchsorted([1], [1], side="up"), ValueError, "'left' or 'right', got 'up'"),
    fails(lambda: raw.Bucketize([1.0], boundaries=[2.0, 1.0]), "boundaries in order"),
    equals(lambda: [dims(t.values) for t in [nn.top_k([1.0, 2.0])]], [[1]]),
    equals(lambda: nn.top_k([1.0, 2.0]).indices.dtype.name, "int32"),
    (lambda: nn.in_top_k(source("float64", [2, 2]), [0, 1], 1), TypeError, "float32, got float64"),
    (lambda: nn.in_top_k(source("float32", [2, 2]), [0, 1, 1], 1), ValueError, "not compatible"),
    fails(lambda p, t: nn.in_top_k(p, t, 1), r"got \[2, 2\] and \[3\]", f32([[0, 0], [0, 0]]), i32([0, 1, 1])),
    equals(lambda: ops.unique([1]).idx.dtype.name, "int32"),
    equals(lambda: ops.unique_with_counts([1], out_idx="int64").count.dtype.name, "int64"),
    equals(lambda: ops.setdiff1d([1], [2], index_dtype="int64").idx.dtype.name, "int64"),
    (lambda: ops.unique([1], out_idx="float32"), TypeError, "int32, int64 as idx; got float32"),
    equals(lambda: dims(*ops.unique(source("float32", [4]))), [[None], [4]]),
    equals(lambda: dims(ops.setdiff1d(np.zeros(3), np.zeros(2)).out), [None]),
    (lambda: ops.setdiff1d(source("float32", [2]), source("int32", [2])), TypeError, "float32"),
]


# -- segments --------------------------------------------------------------------------------------

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
HALVES = [(t, n, np.array([n, 1, 1, 1, 1], as_dtype(t).np_dtype)) for t, n in (("float16", 2048), ("bfloat16", 256))]
MANY = np.zeros(4096, np.int32)
MEANS = [ops.unsorted_segment_mean, ops.unsorted_segment_sqrt_n]


def _sums(data: Any) -> list[Any]:
    ids = i32([0] * 5)
    return [
        ops.segment_sum(data, ids),
        ops.unsorted_segment_sum(data, ids, 1),
        opsets.sparse_segment_sum(data, i32(range(5)), ids),
        ops.scatter_nd(ids[:, None], data, [1]),
    ]


SEGMENTS = [
    *(slopes(lambda x, i, f=f: f(x, i, 3), ROWS, i32([2, 0, 2])) for f in MEANS),
    *(static(lambda x, f=f: f(x, [0, 1, 2, 0], 3), [3, 2], [4, 2]) for f in MEANS),
    # The mean of many narrow integers does not divide by a count that wrapped.
    gives(lambda: ops.segment_mean(np.zeros(300, np.int8), np.zeros(300, np.int32)), np.zeros(1, np.int8)),
    # Half precision is summed in single: one more is rounded to the number itself, four more are not.
    *(gives(_sums, [np.array([n + 4], x.dtype)] * 4, x) for _, n, x in HALVES),
    *(
        row
        for name, _, x in HALVES
        for row in (
            back(lambda x: ops.gather(x, MANY, axis=1), [[4096.0, 0.0]], x[None, :2]),
            back(lambda x: opsets.sparse_segment_sum(x, MANY, ops.range(4096)), [[4096.0, 4096.0]], x[None, :2]),
        )
    ),
    gives(
        lambda x: ops.unsorted_segment_mean(x, np.zeros(1024, np.int32), 1),
        [0.5],
        np.repeat([1, 0], 512).astype(as_dtype("bfloat16").np_dtype),
    ),
    back(lambda x: ops.segment_max(x, [0, 0, 0]), [0.5, 0.5, 0], f32([2, 2, 1])),
    back(lambda x: ops.unsorted_segment_max(x, [0, -1, 0], 2), [1, 0, 0], f32([2, 2, 1])),
    *(
        (lambda f=f: f([1, 2], [0, 0], [0, 0]), TypeError, "int32")
        for f in (opsets.sparse_segment_mean, opsets.sparse_segment_sqrt_n)
    ),
]


test_reductions_searches_and_segments_do_what_their_rows_say = each_use([*REDUCED, *COUNTS, *SEARCHES, *SEGMENTS])


# -- what no row says ------------------------------------------------------------------------------


def test_a_sparse_gradient_is_slices_of_the_rows_that_were_looked_up() -> None:
    data = ops.ones([9, 2])
    made = opsets.sparse_segment_mean(data, ops.constant([4, 5, 4]), ops.constant([0, 0, 1]), sparse_gradient=True)
    [slope] = ops.gradients(made, [data])
    assert isinstance(slope, ops.IndexedSlices)
    indices, values = evaluate([slope.indices, slope.values])
    assert (indices.tolist(), values.tolist()) == ([4, 5, 4], [[0.5, 0.5], [0.5, 0.5], [1.0, 1.0]])


BASE = np.arange(60, dtype=np.float32).reshape(6, 10)
LAYOUTS = [BASE, np.asfortranarray(BASE), BASE[::2, ::3], np.broadcast_to(BASE[0], (6, 10))]


@for_each("given", LAYOUTS, ids=["C", "F", "strided", "broadcast"])
@for_each("axis", [0, 1])
def test_the_layout_of_memory_does_not_change_a_sum(given: Any, axis: int) -> None:
    np.testing.assert_array_equal(total(float32)(given, (axis,), False), given.sum(axis), strict=True)


@for_each("shape", [(2_000_000, 2), (3, 5000)], ids=str)
@for_each("axis", [0, 1])
def test_long_sums_are_as_exact_as_numpys(shape: Any, axis: int) -> None:
    given = np.random.default_rng(0).random(shape, np.float32)
    np.testing.assert_allclose(total(float32)(given, (axis,), False), given.sum(axis, np.float64), rtol=1e-4)


@for_each("dtype", [float16, bfloat16], ids=lambda d: d.name)
@for_each("make", [total, mean, product], ids=lambda f: f.__name__)
def test_narrow_floats_are_rounded_once(make: Any, dtype: Any) -> None:
    """4096 times 1.0 would stop growing at 2048 or 256 if it were added in the narrow type."""
    found = make(dtype)(np.ones((4096, 2), dtype.np_dtype), (0,), False)
    assert (found.dtype, found.astype(float).tolist()) == (dtype.np_dtype, [4096 if make is total else 1] * 2)


@for_each("ufunc", [np.maximum, np.minimum], ids=lambda f: f.__name__)
@for_each("length", [1, 32, 33])
@for_each("keep", [True, False])
def test_extrema_of_short_and_long_rows_are_numpys(ufunc: Any, length: int, keep: bool) -> None:
    given = np.random.default_rng(0).normal(size=(2, 3, length)).astype(np.float32)
    found = extremum(float32, ufunc)(given, (2,), keep)
    np.testing.assert_array_equal(found, ufunc.reduce(given, 2, keepdims=keep), strict=True)


def test_long_sums_share_one_vector_of_ones_that_nobody_can_write_to() -> None:
    ones = _ones(5000, np.dtype(np.float32))
    assert ones.base is _ones(7, np.dtype(np.float32)).base
    with pytest.raises(ValueError, match="read-only"):
        ones[0] = 2
