"""Arrays: what their functions take, give, know early and refuse, beyond the rows of their operation types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Graph, TensorShape, ops
from actorsession.ops.arrays.dimensions import shape_tensor
from tests.ops.cases import f32, i32, i64
from tests.ops.interpreter import evaluate, source
from tests.ops.uses import back, dims, each_use, equals, face, fails, gives, knows, ranked, slopes, static

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = np.arange(6, dtype=np.float32).reshape(2, 3)
V = f32([1, 5, 3])
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)
ROWS, CELLS = np.array([True, False]), np.array([[True, False, True], [False, False, True]])
YES_NO = np.array([True, False])
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
BFLOAT16 = ml_dtypes.bfloat16


# -- placeholders, copies, fills, ranges -----------------------------------------------------------

UNFED = "You must feed a value for placeholder tensor 'pixels' with dtype float32"
FORMS: list[Any] = [(2, 3), [2, 3], np.array([2, 3]), TensorShape([2, 3])]
SOURCES = [
    equals(lambda: face(ops.placeholder("float32", [None, 3], name="x")), ("x", "Placeholder", "float32", [None, 3])),
    equals(lambda: ops.placeholder("float32", [None, 3]).op.attrs["shape"], [None, 3]),
    equals(lambda: dims(ops.placeholder("int32")), None),
    fails(lambda: ops.identity(ops.placeholder("float32", [None, 3], name="pixels")), UNFED),
    gives(lambda: ops.identity(ops.placeholder_with_default(M, [None, None])), M),
    equals(lambda: dims(ops.placeholder_with_default(M, [None, None])), [None, None]),
    knows(lambda: ops.placeholder_with_default(3, []), None),
    (lambda: ops.placeholder_with_default(M, [None, 4]), ValueError, r"\(2, 3\) does not fit \(None, 4\)"),
    *(knows(lambda f=f: f(ops.constant(3)), np.int32(3)) for f in (ops.identity, ops.stop_gradient)),
    slopes(ops.identity, M),
    back(lambda x: ops.stop_gradient(x) * 2.0, None, np.float32(5)),
    back(lambda x: x * ops.stop_gradient(x), 5.0, np.float32(5)),
    *(
        gives(lambda f=f, d=d, t=t: f(d, t), np.full(d, n, t))
        for f, n in ((ops.zeros, 0), (ops.ones, 1))
        for d in ([], [2, 3], [0], [40, 50])
        for t in (np.float32, np.int64, np.bool_, BFLOAT16, np.complex64)
    ),
    *(gives(lambda form=form: ops.zeros(form), np.zeros((2, 3), np.float32)) for form in FORMS),
    gives(lambda: ops.ones(4), np.ones(4, np.float32)),
    gives(lambda x: [ops.zeros(ops.shape(x)), ops.ones([ops.shape(x)[0], 2])], [0 * M, np.ones((2, 2), "f")], M),
    *(gives(f, [n] * 3, i32(3)) for f, n in ((ops.zeros, 0.0), (ops.ones, 1.0))),  # the length of a vector
    equals(lambda: [ops.zeros([10, n]).op.type for n in (100, 101)], ["Const", "Fill"]),
    equals(lambda: ops.ones(ops.shape(source("float32", [2, 3]))).op.type, "Const"),
    gives(lambda: ops.zeros([2], "string"), [b"", b""]),
    (lambda: ops.ones([2], "string"), TypeError, "no string of ones"),
    gives(lambda x: ops.zeros_like(x, "int64"), np.zeros((2, 3), np.int64), M),
    gives(lambda x: ops.zeros_like(x, "int32", None), np.zeros((2, 3), np.int32), M),
    gives(lambda x: ops.ones_like(x, "bool"), np.ones((2, 3), np.bool_), M),
    gives(lambda x: ops.ones_like(x, optimize=False), np.ones((2, 3), np.float32), M),
    static(lambda x: ops.fill([ops.shape(x)[0], 3], 0.0), [None, 3], [None, 2]),
    static(lambda x: ops.fill([ops.shape(x)[1], 3], 0.0), [2, 3], [None, 2]),
    equals(lambda: [ops.range(n).dtype.name for n in (3, i64(3), 3.0)], ["int32", "int64", "float32"]),
    equals(lambda: ops.range(0, np.float64(3)).dtype.name, "float64"),
    equals(lambda: ops.range(ops.constant(3), 7.5).dtype.name, "float32"),
    equals(lambda: ops.range(3, dtype="float64").dtype.name, "float64"),
    knows(lambda: ops.range(1, 4), [1, 2, 3]),
    equals(lambda: dims(ops.range(0, 10, 3), ops.range(source("int32", []))), [[4], [None]]),
]


# -- shapes ----------------------------------------------------------------------------------------

ONE_AXIS = "the axis is a single number"
SHAPES = [
    (lambda: ops.shape(ops.constant(1.0), out_type="float32"), TypeError, "as output; got float32"),
    knows(ops.shape, [3, 4], [3, 4]),
    knows(ops.size, 12, [3, 4]),
    *(knows(ops.rank, 2, shape) for shape in ([3, 4], [None, 4])),
    *(knows(f, None, [None, 4]) for f in (ops.shape, ops.size)),
    static(ops.shape, [2], [None, 4]),
    *(
        equals(lambda n=n: shape_tensor(source("float32", [n, 4])).op.type, t)
        for n, t in ((3, "Const"), (None, "Shape"))
    ),
    gives(lambda x: ops.reshape(x, -1), A.reshape(-1), A),
    static(lambda x: ops.reshape(x, [ops.shape(x)[0], 10, -1]), [None, 10, None], None),
    static(lambda x: ops.reshape(x, [ops.shape(x)[1], 10]), [7, 10], [None, 7]),
    static(lambda x: ops.reshape(x, ops.concat([ops.shape(x)[:-1], [2]], 0)), [None, 3, 2], [None, 3, 8]),
    *(
        row
        for axes in (i32([]), i32([0, 1]))
        for row in (
            (lambda axes=axes: ops.expand_dims(A, axes), ValueError, ONE_AXIS),
            (lambda axes=axes: ops.expand_dims(source("float32"), axes), ValueError, ONE_AXIS),
            fails(ops.expand_dims, f"{ONE_AXIS}, got one of shape", A, axes),
        )
    ),
    static(lambda x: ops.ensure_shape(x, [2, None]), [2, None], None),
    static(lambda x: ops.ensure_shape(x, [2, None]), [2, 3], [None, 3]),
    static(lambda x: ops.ensure_shape(x, None), [2], [2]),
    equals(lambda: ops.broadcast_static_shape([1, 2], [3, 1]), [3, 2]),
    equals(lambda: ops.broadcast_static_shape(TensorShape([None]), TensorShape([4, 5])), [4, 5]),
    equals(lambda: ops.broadcast_static_shape(TensorShape(None), TensorShape([1])).rank, None),
    (lambda: ops.broadcast_static_shape([4, 2], [3, 1]), ValueError, r"\(4, 2\) and \(3, 1\)"),
    knows(lambda: ops.broadcast_dynamic_shape([1, 2], [3, 1]), [3, 2]),
    fails(lambda: ops.broadcast_dynamic_shape([4, 2], [3, 1]), "cannot be broadcast"),
]


# -- joined, split, handed on ----------------------------------------------------------------------

HALVES = [M[:, :1], M[:, 1:]]
JOINED = [
    gives(lambda x: ops.concat([x, [1, 2]], 0), f32([7, 1, 2]), f32([7])),
    knows(lambda x: ops.concat([ops.shape(x), [4]], 0), [2, 3, 4], [2, 3]),
    (lambda: ops.concat([], 0), ValueError, "at least one tensor"),
    (lambda: ops.concat([ops.constant([1]), ops.constant([1.0])], 0), TypeError, "int32"),
    (lambda: ops.concat(1, [[1], [2]]), ValueError, r"axis is a scalar.*values come first"),
    equals(lambda: ops.stack([1, 2]).op.type, "Const"),
    knows(lambda x: ops.stack([ops.shape(x)[1], 7]), [3, 7], [2, 3]),
    equals(lambda: face(ops.stack([]))[2:], ("float32", [0])),
    equals(lambda: len(ops.unstack(source("float32", [None, 3]), axis=1)), 3),
    (lambda: ops.unstack(source("float32", [None, 3])), ValueError, "needs num"),
    back(lambda x, y: (ops.unstack(x), y * 2.0)[1], [None, 2.0], f32([1, 2]), f32(1)),
    equals(lambda: ops.parallel_stack([M, M + 1]).op.type, "ParallelConcat"),
    (lambda: ops.parallel_stack([source("float32", [None])]), ValueError, "fully known"),
    (lambda: ops.parallel_stack([]), ValueError, "at least one"),
    (lambda: ops.split(M, source("int32", [None])), ValueError, "needs num"),
    (lambda: ops.split(M, [-1, -1], 1), ValueError, "one length may be -1"),
    (lambda: ops.split(source("float32", [3, 4]), 0, 1), ValueError, "at least one piece"),
    gives(lambda x: ops.split(ranked(x, 2), 2, 1), [A[0, :, :2], A[0, :, 2:4]], A[0, :, :4]),
    *(gives(lambda x, s=s: ops.split(x, s, axis=-1), HALVES, M) for s in ([1, 2], i32([1, -1]), i64([1, 2]))),
    gives(lambda x, s: ops.split(x, s, 1, num=2), HALVES, M, i32([1, 2])),
    gives(lambda x: ops.identity_n([x, [1, 2]]), [M, i32([1, 2])], M),
    equals(lambda: len({t.op for t in ops.identity_n([M, [1, 2]])}), 1),
    (lambda: ops.identity_n([]), ValueError, "at least one"),
    back(lambda x, y: ops.identity_n([x, y])[0], [np.ones((2, 3)), None], M, M),
    gives(lambda x: ops.shape_n([M, x], out_type="int64"), [i64([2, 3]), i64([3])], M[0]),
    equals(lambda: dims(*ops.shape_n([M, source("float32")])), [[2], [None]]),
    (lambda: ops.shape_n([source("float32"), source("int32")]), TypeError, "float32 is wanted here"),
    (lambda: ops.shape_n([M], out_type="float32"), TypeError, "gives int32, int64"),
]


# -- laid out anew ---------------------------------------------------------------------------------

MARGINS = [[1, 2], [0, 1]]
NO_MARGIN = [[0, 0], [0, 0]]
PADDED = np.pad(M, MARGINS, constant_values=2.5)
BLOCKS = np.stack([IMAGE[0, i::2, j::2] for i in range(2) for j in range(2)])
TRIPLE = np.array([[b"a", b"b", b"c"]], object)
ONE_SIZE = "one of block_size and block_shape"
REPEATS: list[tuple[Any, Any]] = [(2, None), (2, 0), (0, 1), ([1, 3], 0), ([1, 0, 2], -1), ([3], 1), ([0, 0], 0)]
LAID = [
    *(gives(ops.transpose, x.T, x) for x in (A, M, f32([1, 2]), f32(1), WORDS)),
    gives(lambda x: ops.tile(x, []), f32(3), f32(3)),
    gives(lambda x: ops.pad(x, MARGINS, constant_values=2.5), PADDED, M),
    gives(lambda x, c: ops.pad(x, MARGINS, constant_values=c), PADDED, M, f32(2.5)),
    (lambda: ops.pad(M, MARGINS, "WRAP"), ValueError, "CONSTANT, REFLECT or SYMMETRIC"),
    equals(lambda: ops.reverse_v2 is ops.reverse, True),
    (lambda: ops.reverse_sequence(M, [1, 2], seq_axis=0), ValueError, "two axes"),
    (lambda: ops.reverse_sequence(M, [1, 2], seq_axis=2), ValueError, r"axis 2 is not in \[0, 2\)"),
    (lambda: ops.reverse_sequence(source("float32"), [1, 2], seq_axis=-1), ValueError, "axis -1"),
    gives(lambda x: ops.roll(x, [1, 1], [1, 1]), np.roll(M, 2, 1), M),
    gives(lambda x: ops.roll(x, 0, 0), M, M),
    gives(lambda x: ops.space_to_batch(x, NO_MARGIN, block_shape=2), BLOCKS, IMAGE),
    static(lambda x: ops.space_to_batch(x, NO_MARGIN, 2), [None] * 4, None),
    static(lambda x: ops.batch_to_space(x, NO_MARGIN, 2), [2, None, 6, 1], [8, None, 3, 1]),
    (lambda: ops.space_to_batch(IMAGE, NO_MARGIN), TypeError, ONE_SIZE),
    (lambda: ops.batch_to_space(IMAGE, NO_MARGIN, 2, block_shape=2), ValueError, ONE_SIZE),
    gives(lambda x: ops.space_to_batch_nd(x, [2], [[0, 1]]), np.array([[b"a", b"c"], [b"b", b""]], object), TRIPLE),
    *(
        row
        for base, pads, crops in (
            (None, [[0, 1], [0, 2]], [[0, 1], [0, 2]]),
            ([[1, 0], [0, 1]], [[1, 0], [0, 2]], [[0, 0], [0, 1]]),
        )
        for f in [lambda x, base=base: ops.required_space_to_batch_paddings(x, [2, 4], base)]
        for row in (
            gives(f, [pads, crops], i32([5, 6])),
            *(knows(lambda f=f, i=i: f([5, 6])[i], value) for i, value in enumerate((pads, crops))),
        )
    ),
    (lambda: ops.required_space_to_batch_paddings([1, 2], source("int32", [None])), ValueError, "one known length"),
    (lambda: ops.required_space_to_batch_paddings([1, 2], [1, 2], [[1, 2]]), ValueError, r"shape \[2, 2\], got"),
    (lambda: ops.space_to_depth(IMAGE, 1), ValueError, "at least 2, got 1"),
    (lambda: ops.depth_to_space(IMAGE, 2, data_format="ZZ"), ValueError, "NHWC or NCHW, got 'ZZ'"),
    *(
        gives(lambda x, n=n, axis=axis: ops.repeat(ranked(x, 2), n, axis), np.repeat(M, n, axis), M)
        for n, axis in [*REPEATS, (1, -2)]
    ),
    gives(lambda x: ops.repeat(x, [1, 0, 2]), i32([1, 3, 3]), i32([1, 2, 3])),
    gives(lambda x: ops.repeat(x, i64([2])), i32([7, 7]), i32(7)),
    gives(lambda x: ops.repeat(x, 2), [b"a", b"a"], np.array([b"a"], object)),
    static(lambda x: ops.repeat(x, 2, axis=1), [None, 6], [None, 3]),
    static(lambda x: ops.repeat(x, [2, 0, 1], axis=1), [4, None], [4, 3]),
    (lambda: ops.repeat(M, [1, 2, 3], axis=0), ValueError, "3 repeats for axis 0"),
    (lambda: ops.repeat(M, [[1]], axis=0), ValueError, "scalar or a vector"),
    (lambda: ops.repeat(M, 2, axis=2), ValueError, "axis 2 is not in"),
    (lambda: ops.repeat(source("float32"), 2, axis=0), ValueError, "known rank"),
    (lambda: ops.repeat(M, 2.0, axis=0), TypeError, "integers"),
    slopes(lambda x: ops.repeat(ranked(x, 2), [2, 1], axis=0), M),
    slopes(lambda x: ops.repeat(ranked(x, 2), 3, axis=1), M),
]


# -- grids and spaces ------------------------------------------------------------------------------


ENDS = np.array([1.0, 2.0]), np.array([[10.0], [3.0]])
GRIDS = [
    gives(lambda x: ops.meshgrid(x, x)[0], np.array([[True, False]] * 2), YES_NO),
    gives(lambda x: ops.meshgrid(x)[0], f32([5]), f32(5)),
    equals(ops.meshgrid, []),
    static(lambda x: ops.meshgrid(x, f32([1, 2]))[0], [2, 3], [3]),
    (lambda: ops.meshgrid([1], [2], indexing="zz"), ValueError, "'xy' or 'ij', got 'zz'"),
    (lambda: ops.meshgrid(ops.constant([1]), ops.constant([2.0])), TypeError, "int32"),
    (lambda: ops.meshgrid([1], foo=2), TypeError, "foo"),  # type: ignore[call-arg]
    slopes(ops.meshgrid, f32([1, 2]), f32([3, 4, 5])),
    equals(lambda: ops.linspace(1.0, 10.0, 4).op.type, "LinSpace"),
    equals(lambda: ops.lin_space is ops.linspace, True),
    gives(lambda a, b: ops.linspace(a, b, 4), f32([1, 4, 7, 10]), f32(1), f32(10), rtol=1e-6),
    back(lambda a, b: ops.linspace(a, b, 4), [2, 2], f32(1), f32(10)),
    *(
        gives(lambda a, b, k=k: ops.linspace(a, b, 5, axis=k), np.linspace(*ENDS, 5, axis=k), *ENDS, rtol=1e-12)
        for k in range(-3, 3)
    ),
    *(
        static(lambda a, b, k=k: ops.linspace(a, b, 5, axis=k), list(np.linspace(*ENDS, 5, axis=k).shape), [2], [2, 1])
        for k in range(-3, 3)
    ),
    gives(lambda: ops.linspace(1, 10, 4), np.array([1.0, 4.0, 7.0, 10.0])),
    gives(lambda: ops.linspace(ops.constant(0.1), 0.7, 11)[-1], np.float32(0.7)),  # the last one is exact
    (lambda: ops.linspace(1.0, 2.0, -1), ValueError, "num=-1"),
]


# -- chosen by truth, by row and by index ----------------------------------------------------------

INDEX = i32([[0, 2], [1, 1]])
BATCH = i32([[0, 2], [1, 1], [3, 0]])
LENGTHS = np.array([[True, False, False], [True, True, True], [False, False, False]])
BELOW = np.arange(4) < np.array([[1, 2], [0, 4]])[..., None]


def _masked(x: Any, mask: Any, **options: Any) -> Any:
    """The mask's rank must be known; its dimensions may be hidden."""
    return ops.boolean_mask(x, ranked(mask, options.pop("rank")), **options)


def _of_batch(params: Any, indices: Any, batch_dims: int) -> Any:
    return ops.gather_nd(source("float32", params), source("int32", indices), batch_dims=batch_dims)


CHOSEN = [
    *(gives(lambda x, m, r=m.ndim: _masked(x, m, rank=r), CUBE[m], CUBE, m) for m in (ROWS, CELLS, CUBE > 9)),
    gives(lambda x, m: _masked(ranked(x, 3), m, rank=1), CUBE[ROWS], CUBE, ROWS),
    gives(lambda x, m: _masked(x, m, rank=1, axis=1), CUBE[:, CELLS[0]], CUBE, CELLS[0]),
    gives(lambda x, m: _masked(ranked(x, 3), m, rank=1, axis=-2), CUBE[:, CELLS[0]], CUBE, CELLS[0]),
    gives(lambda x: ops.boolean_mask(x, [False, False]), CUBE[:0], CUBE),
    static(lambda x: ops.boolean_mask(x, ROWS), [None, 3, 4], [2, 3, 4]),
    static(lambda x: ops.boolean_mask(x, CELLS), [None, None], [2, 3, None]),
    static(lambda x: ops.boolean_mask(x, CELLS[0], axis=1), [2, None, 4], [2, 3, 4]),
    (lambda: ops.boolean_mask(M, ops.constant(True)), ValueError, "known rank"),
    (lambda: ops.boolean_mask(M, source("bool")), ValueError, "known rank"),
    (lambda: ops.boolean_mask(M, [True, False, True]), ValueError, r"\(3,\) from axis 0"),
    (lambda: ops.boolean_mask(M, np.ones([2, 3, 1], bool)), ValueError, "does not fit"),
    (lambda: ops.boolean_mask(source("float32"), ROWS, axis=-1), ValueError, "unknown rank"),
    slopes(lambda x: ops.boolean_mask(x, CELLS), CUBE),
    slopes(lambda x: ops.boolean_mask(x, CELLS[1], axis=1), CUBE),
    gives(lambda: ops.constant(CUBE)[ops.constant(CUBE) > 5], CUBE[CUBE > 5]),
    gives(lambda n: ops.sequence_mask(n, 2), LENGTHS[:, :2], i32([1, 5, 0])),
    gives(lambda n: ops.sequence_mask(n, 3, "float32"), LENGTHS.astype(np.float32), i32([1, 3, 0])),
    *(gives(lambda n, k=k: ops.sequence_mask(n, k), BELOW, i32([[1, 2], [0, 4]])) for k in (4, i64(4))),
    equals(lambda: dims(ops.sequence_mask(source("int32", [None, 2]), 7)), [None, 2, 7]),
    gives(ops.sequence_mask, np.zeros([1, 0], bool), i32([-2])),
    gives(ops.sequence_mask, LENGTHS, i64([1, 3, 0])),
    (lambda: ops.sequence_mask([1], [3]), ValueError, "maxlen is a scalar"),
    gives(lambda x: ops.batch_gather(x, INDEX), np.stack([CUBE[0][INDEX[0]], CUBE[1][INDEX[1]]]), CUBE),
    gives(lambda x: ops.batch_gather(x, i32([1, 0])), CUBE[[1, 0]], CUBE),
    slopes(lambda x: ops.batch_gather(x, INDEX), CUBE),
    (lambda: ops.batch_gather(CUBE, source("int32")), ValueError, "known rank, at least 1"),
    (lambda: ops.batch_gather(CUBE, ops.constant(1)), ValueError, "known rank, at least 1"),
    fails(lambda x: ops.batch_gather(x, i32([[0], [3]])), r"not in \[0, 3\)", CUBE),
    gives(
        lambda x, i: ops.gather(x, i, axis=2, batch_dims=1), np.stack([A[i][:, BATCH[i]] for i in range(3)]), A, BATCH
    ),
    static(lambda x: ops.gather_nd(x, [[0, 1], [2, 3]]), [2, 5], [None, 4, 5]),
    static(lambda x: ops.gather_nd(x, [ops.shape(x)[:2]]), [1, 5], [None, 4, 5]),
    static(lambda x: ops.gather_nd(x, [[0, 1], [2, 3]]), None, None),
    (lambda: _of_batch([3, 4], [3, 1], 2), ValueError, "gather_nd"),
    (lambda: _of_batch([3], [3, 1, 1], 1), ValueError, "gather_nd"),
    (lambda: _of_batch([3, 4], None, 1), ValueError, "gather_nd"),
    (lambda: _of_batch([3, 4], [2, 1], 1), ValueError, "gather_nd"),
    (lambda: _of_batch([3], [3, 1], -1), ValueError, "gather_nd"),
    gives(ops.where, i64([[0, 1], [1, 0]]), f32([[0, 2], [-1, 0]])),
    gives(ops.where, i64([[1]]), np.array([0j, 1j])),
]


# -- put to places ---------------------------------------------------------------------------------


def _dealt_and_stitched(x: Any) -> Any:
    parts = i32([1, 0, 1, 2])
    return ops.dynamic_stitch(ops.dynamic_partition(ops.range(4), parts, 3), ops.dynamic_partition(x, parts, 3))


PUT = [
    gives(lambda i: ops.one_hot(i, 2, 5, -1), i32([[5, -1], [-1, 5]]), i32([0, 1])),
    gives(lambda i: ops.one_hot(i, 2, 0.5), f32([[0.5, 0], [0, 0.5]]), i32([0, 1])),
    gives(lambda i: ops.one_hot(i, 2, dtype="bool"), np.eye(2, dtype=bool), i32([0, 1])),
    gives(lambda i, on: ops.one_hot(i, 2, on), 7 * np.eye(2), i32([0, 1]), np.float64(7)),
    back(lambda on: ops.one_hot([0], 2, on), None, f32(1)),
    (lambda: ops.one_hot([0], 2, ops.constant(1), ops.constant(1.0)), TypeError, "int32"),
    equals(lambda: ops.tensor_scatter_update is ops.tensor_scatter_nd_update, True),
    equals(lambda: ops.tensor_scatter_add is ops.tensor_scatter_nd_add, True),
    equals(lambda: ops.tensor_scatter_sub is ops.tensor_scatter_nd_sub, True),
    gives(lambda x: ops.tensor_scatter_nd_update(x, [[1], [1]], f32([7, 8])), f32([1, 8, 3]), V),  # the last one stays
    *(
        row
        for f, wanted in (
            (ops.tensor_scatter_nd_add, [3, 5, 3]),
            (ops.tensor_scatter_nd_sub, [-1, 5, 3]),
            (ops.tensor_scatter_nd_min, [1, 5, 3]),
            (ops.tensor_scatter_nd_max, [2, 5, 3]),
        )
        for row in (
            gives(lambda x, f=f: f(x, [[0], [9], [-1]], f32([2, 2, 2]), "IGNORE"), f32(wanted), V),
            (lambda f=f: f(V, [[0]], [1.0], "PERHAPS"), ValueError, "bad_indices_policy"),
        )
    ),
    back(  # those that share the least value share its gradient
        lambda x, u: ops.tensor_scatter_nd_min(x, [[0], [0], [1]], u),
        [[1 / 3, 1], [1 / 3, 1 / 3, 0]],
        f32([2, 7]),
        f32([2, 2, 9]),
    ),
    (lambda: ops.tensor_scatter_nd_add(YES_NO[:1], i32([[0]]), YES_NO[:1]), TypeError, "TensorScatterAdd"),
    (lambda: ops.tensor_scatter_nd_add(V, i32([[0]]), source("int32", [1])), TypeError, "int32"),
    (lambda: ops.tensor_scatter_nd_add(f32(1), i32([[0]]), f32([1])), ValueError, "rank at least 1"),
    gives(_dealt_and_stitched, A[0], A[0]),
    slopes(_dealt_and_stitched, A[0, :, :2]),
    static(lambda x: ops.dynamic_stitch([[0, 5]], [x]), [6, 3], [2, 3]),
    static(lambda x: ops.dynamic_stitch([source("int32", [2])], [x]), [None, 3], [2, 3]),
    static(lambda x: ops.dynamic_partition(x, source("int32", [None]), 2)[0], [None, 3], [None, 3]),
    static(lambda x: ops.dynamic_partition(x, source("int32", [None]), 2)[0], None, None),
    (lambda: ops.dynamic_stitch([[0], [1]], [M[:1]]), ValueError, "got 2 and 1"),
    (lambda: ops.dynamic_stitch([], []), ValueError, "at least one"),
    (lambda: ops.dynamic_partition(M, [0, 0], 0), ValueError, "at least 1, got 0"),
    (lambda: ops.dynamic_partition(M, source("int64", [2]), 2), TypeError, "int64"),
]


# -- slices ----------------------------------------------------------------------------------------


NO_POSITIONS: list[Any] = [1.5, "a", (True, 0), np.bool_(True), [0, 1], (0, slice(1.0))]
THREE_TRUTHS = np.array([True, False, True]), np.array([[True, False]] * 3)
TALL = np.array([[b"a", b"bc"], [b"", b"d"], [b"e", b"f"]], object)
ONLY = "Only integers, slices"
KNOWN_MASK = "a mask of known rank, at least 1"


def _x(*shape: int) -> Any:
    return source("float32", shape)


SLICES = [
    gives(
        lambda x, i, j: [x[i], x[i:], x[:i, ::j], x[i, ..., j], x[..., i:None], x[-i, None, j]],
        [A[1], A[1:], A[:1, ::2], A[1, ..., 2], A[..., 1:None], A[-1, None, 2]],
        *(A, i32(1), i32(2)),
    ),
    gives(lambda x, i, j: x[i:, j], A[1:, 2], A, i64(1), i32(2)),
    gives(lambda x: x[i64(1), 1 : i32(3)], A[1, 1:3], A),
    gives(lambda x: [x[:, 1], x[0, 1]], [WORDS[:, 1], np.array(b"bc", object)], WORDS),
    slopes(lambda x, i: x[i:, i], A[:, :, :3], i32(1)),
    *((lambda index=index: _x(3, 4)[index], TypeError, ONLY) for index in NO_POSITIONS),
    *(gives(lambda t, m=m: t[m], x[m], x) for m in THREE_TRUTHS for x in (TALL, A[:3, :2])),
    *(gives(lambda t, m=m: t[ops.constant(m)], A[:3, :2][m], A[:3, :2]) for m in THREE_TRUTHS),
    *(
        equals(lambda m=m: face(_x(3, 2)[source("bool", m.shape)])[1::2], ("GatherV2", [None, 2][: 3 - m.ndim]))
        for m in THREE_TRUTHS
    ),
    (lambda: _x(3, 4)[True], ValueError, KNOWN_MASK),
    (lambda: _x(3, 4)[source("bool")], ValueError, KNOWN_MASK),
    (lambda: _x(3, 4)[source("bool", [])], ValueError, KNOWN_MASK),
    (lambda: _x(3, 4)[source("bool", [3]), 0], TypeError, ONLY),
    (lambda: _x(3, 4)[ops.constant([0, 1])], TypeError, ONLY),
    (lambda: _x(3, 4)[ops.constant(1.0)], TypeError, ONLY),
    (lambda: _x(3, 4, 5)[3], ValueError, r"position 3 on axis 0 is not in \[-3, 3\)"),
    (lambda: _x(3, 4, 5)[:, -5], ValueError, r"position -5 on axis 1 is not in \[-4, 4\)"),
    (lambda: _x(3, 4, 5)[0, 0, 0, 0], ValueError, "too many"),
    (lambda: _x(3, 4, 5)[..., ...], ValueError, "only one ellipsis"),
    (lambda: _x(3, 4, 5)[::0], ValueError, "strides must not be 0"),
    static(lambda x: x[source("int32", []), 0:2], [2, 5], [3, 4, 5]),
    static(lambda x: x[source("int32", []) :, 0:2], [None, 2, 5], [3, 4, 5]),
    knows(lambda x: ops.shape(x)[1], 4, [3, 4]),
    knows(lambda x: ops.shape(x)[::-1], [4, 3], [3, 4]),
    gives(lambda x: ops.strided_slice(x, [1, 0], [3, 2]), A[1:3, 0:2], A),
    (lambda: ops.strided_slice(_x(3), [1.0], [2.0], [1.0]), TypeError, "int32 or int64, got float32"),
    equals(lambda: ops.strided_slice(M, [0], [1], [1], 0, 0, 0, 0, 0, "part").op.name, "part"),
    slopes(lambda x: ops.gradients(x[1:, 0] ** 3.0, [x]), f32([[2, 3], [4, 5], [6, 7]])),
    gives(lambda x, b: ops.slice(x, b, [1, 1, 2]), A[1:2, 1:2, 1:3], A, i64([1, 1, 1])),
]


test_functions_of_arrays_do_what_their_rows_say = each_use(
    [*SOURCES, *SHAPES, *JOINED, *LAID, *GRIDS, *CHOSEN, *PUT, *SLICES]
)


# -- what no row says ------------------------------------------------------------------------------


def test_a_default_stands_in_for_a_feed() -> None:
    x = ops.placeholder_with_default(M, [None, None])
    np.testing.assert_array_equal(evaluate([ops.identity(x)], {x: M[:, :1]})[0], M[:, :1])


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT"])
def test_values_that_are_used_early_can_no_longer_be_fed(mode: str) -> None:
    with Graph().as_default() as graph:
        axis, fed_axis, known, fed = (
            ops.constant(1),
            source("int32", []),
            ops.constant(MARGINS),
            source("int32", [2, 2]),
        )
        part = ops.constant(1)
        rows = ops.stack([[part, source("int32", [])], [1, 1]])
        for each in (axis, fed_axis):
            ops.gather(ops.constant(A), [0], axis=each)
        for margins in (known, fed, rows):
            ops.pad(ops.constant(M), margins, mode)
        assert [graph.is_feedable(t) for t in (axis, known, rows, part)] == [False] * 4
        assert graph.is_feedable(fed_axis)
        assert graph.is_feedable(fed)


def test_the_gradient_of_a_gather_of_rows_is_the_rows_alone() -> None:
    x, i = source("float32", [3, 2]), source("int32", [None])
    (grad,) = ops.gradients(ops.gather(x, i) * 2.0, [x])
    assert isinstance(grad, ops.IndexedSlices)
    assert grad.shape == [3, 2]
    rows, places = evaluate([grad.values, grad.indices], {x: A[:, 0, :2], i: [2, 0, 2]})
    np.testing.assert_array_equal(rows, np.full((3, 2), 2, np.float32))
    np.testing.assert_array_equal(places, [2, 0, 2])


def test_sparse_mask_leaves_out_slices_by_index() -> None:
    rows = ops.IndexedSlices(ops.constant(f32([[1], [2], [3]])), ops.constant(i32([4, 0, 7])))
    left = ops.sparse_mask(rows, [0, 5])
    assert [v.tolist() for v in evaluate([left.values, left.indices])] == [[[1], [3]], [4, 7]]
