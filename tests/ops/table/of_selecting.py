"""Rows of ops that choose, deal out, look up or change parts of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import SparseTensor, nn, ops, opsets
from actorsession.ops import raw
from actorsession.ops.arrays import partitions
from actorsession.opsets.images import patches
from actorsession.opsets.text.fingerprints import farmhash64
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

RNG = np.random.default_rng(7)
MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)
CUBE = RNG.normal(size=(3, 2, 4)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)
WORDS = np.array([b"a", b"bc", b"a", b""], object)
NOT_FINITE = np.array([np.nan, 1, np.inf, -np.inf, np.nan, 1], np.float32)


def _ints(*entries: int) -> Any:
    return np.array(entries, np.int32)


# -- sets ------------------------------------------------------------------------------------------


def _unique(x: Any) -> list[Any]:
    """Element by element; each NaN differs from all others."""
    found: list[Any] = []
    index, counts = [], []
    for element in x:
        same = [i for i, other in enumerate(found) if other == element]
        if not same:
            found.append(element)
            counts.append(0)
        index.append(same[0] if same else len(found) - 1)
        counts[index[-1]] += 1
    values = np.empty(len(found), x.dtype)
    values[:] = found
    return [values, np.array(index, np.int32), np.array(counts, np.int32)]


def _left(x: Any, y: Any) -> list[Any]:
    kept = np.array([i for i, e in enumerate(x) if not any(e == o for o in y)], np.int32)
    return [x[kept], kept]


VECTORS = [
    _ints(3, 1, 3, 2, 1),
    NOT_FINITE,
    np.array([0.0, -0.0], np.float32),
    np.zeros(0, np.int64),
    WORDS,
    np.array([True, False, True]),
    np.array([1 + 2j, 1 + 2j, 1]),
]
NO_VECTOR = [Fault(MATRIX, "takes vectors", "rank 1")]

SETS = [
    Row("Unique", ops.unique, lambda x: _unique(x)[:2]).on(VECTORS, faults=NO_VECTOR),
    Row("Unique-int64", lambda x: ops.unique(x, out_idx="int64")[1], lambda x: _unique(x)[1].astype(np.int64)).on(
        VECTORS[:2]
    ),
    Row("UniqueWithCounts", ops.unique_with_counts, _unique).on(VECTORS, faults=NO_VECTOR),
    Row("ListDiff", ops.setdiff1d, _left).on(
        [
            (_ints(1, 2, 3, 2, 4, 1), _ints(2, 9)),
            (NOT_FINITE, np.array([np.nan, 1], np.float32)),
            (WORDS, np.array([b"a"], object)),
            (_ints(1, 2), np.zeros(0, np.int32)),
            (np.zeros(0, np.float32), np.zeros(3, np.float32)),
        ],
        faults=[Fault((MATRIX, NOT_FINITE), "takes vectors", "rank 1")],
    ),
]


# -- looking up ------------------------------------------------------------------------------------


def _bounds(side: Any) -> Callable[[Any, Any], Any]:
    def found(sequences: Any, values: Any) -> Any:
        out = np.zeros(values.shape, np.int32)
        for place in np.ndindex(*values.shape[:-1]):
            out[place] = np.searchsorted(sequences[place], values[place], side)
        return out

    return found


def _bound_rows(op: str, side: Any) -> Row:
    return Row(op, lambda s, v: ops.searchsorted(s, v, side=side), _bounds(side)).on(
        [
            (_ints(1, 3, 3, 5), _ints(0, 3, 9)),
            (np.sort(CUBE), CUBE[:, :, :2].copy()),
            (np.array([[1, 2], [3, np.inf]]), np.array([[2, 0, -np.inf], [np.inf, 3, 4]])),
            (np.zeros([2, 0], np.float32), np.zeros([2, 1], np.float32)),
        ],
        faults=[Fault((np.sort(CUBE[0]), CUBE[:, 0].copy()), "as many rows", "as many rows")],
    )


def _distances(normalize: bool) -> Callable[..., Any]:
    def build(*parts: Any) -> Any:
        return opsets.edit_distance(SparseTensor(*parts[:3]), SparseTensor(*parts[3:]), normalize)

    return build


def _levenshtein(a: list[Any], b: list[Any]) -> int:
    """By the definition."""
    if not a or not b:
        return len(a) + len(b)
    rest = _levenshtein(a[1:], b[1:]) + (a[0] != b[0])
    return min(rest, _levenshtein(a[1:], b) + 1, _levenshtein(a, b[1:]) + 1)


def _all_distances(normalize: bool) -> Callable[..., Any]:
    def measured(*parts: Any) -> Any:
        shape = np.maximum(parts[2][:-1], parts[5][:-1])
        out = np.zeros(shape, np.float32)
        for place in np.ndindex(*shape):
            a, b = (
                [v for i, v in zip(p[0], p[1], strict=True) if tuple(i[:-1]) == place] for p in (parts[:3], parts[3:])
            )
            distance: float = _levenshtein(a, b)
            if normalize and distance:
                distance = distance / len(b) if b else np.inf
            out[place] = distance
        return out

    return measured


def _sparse(entries: dict[tuple[int, ...], Any], shape: tuple[int, ...], dtype: Any) -> Any:
    indices = np.array(list(entries), np.int64).reshape(-1, len(shape))
    return indices, np.array(list(entries.values()), dtype), np.array(shape, np.int64)


SENTENCES = (
    *_sparse({(0, 0): b"a", (1, 0): b"b", (1, 1): b"c", (3, 0): b"x"}, (4, 2), object),
    *_sparse({(0, 0): b"a", (0, 1): b"b", (1, 0): b"b", (1, 1): b"d", (1, 2): b"c", (2, 0): b"y"}, (4, 3), object),
)
NUMBERS = (
    *_sparse({(0, 1, 0): 4, (0, 1, 1): 5, (0, 1, 2): 6}, (1, 2, 3), np.int32),
    *_sparse({(0, 1, 0): 5, (0, 1, 1): 6, (1, 0, 0): 7}, (2, 2, 2), np.int32),
)
NO_TRUTH = (*_sparse({(0, 0): 1.0}, (1, 2), np.float64), *_sparse({}, (1, 2), np.float64))
OUTSIDE = (*_sparse({(5, 0): 1}, (1, 2), np.int32), *_sparse({}, (1, 2), np.int32))


def _patches(x: Any, size: int, stride: int, rate: int, padding: str) -> Any:
    """Patch by patch."""
    batch, height, width, depth = x.shape
    covered = (size - 1) * rate + 1

    def places(extent: int) -> list[int]:
        if padding == "VALID":
            return list(range(0, extent - covered + 1, stride))
        count = -(-extent // stride)
        margin = max(0, (count - 1) * stride + covered - extent) // 2
        return [stride * i - margin for i in range(count)]

    rows, columns = places(height), places(width)
    out = np.zeros([batch, len(rows), len(columns), size, size, depth], x.dtype)
    for (a, top), (b, left) in ((r, c) for r in enumerate(rows) for c in enumerate(columns)):
        for i, j in np.ndindex(size, size):
            y, z = top + i * rate, left + j * rate
            if 0 <= y < height and 0 <= z < width:
                out[:, a, b, i, j] = x[:, y, z]
    return out.reshape(*out.shape[:3], size * size * depth)


def _patch_row(label: str, size: int, stride: int, rate: int, padding: str) -> Row:
    def four(n: int) -> list[int]:
        return [1, n, n, 1]

    return Row(
        f"ExtractImagePatches-{label}",
        lambda x: patches.extract_patches(x, four(size), four(stride), four(rate), padding),
        lambda x: _patches(x, size, stride, rate, padding),
    ).on(
        [IMAGE, IMAGE[:0], np.arange(50).reshape(1, 5, 5, 2).astype(np.int32)],
        [IMAGE[:, :4, :4, :2]],
        [Fault(MATRIX, "rank 4", "rank 4")],
    )


LOOKING_UP = [
    _bound_rows("LowerBound", "left"),
    _bound_rows("UpperBound", "right"),
    Row(
        "Bucketize",
        lambda x: raw.Bucketize(x, boundaries=[0.0, 10.0, 100.0]),
        lambda x: np.digitize(x, [0, 10, 100]).astype(np.int32),
    ).on([_ints(-5, 10000, 150, 10, 5, 100, 0), NOT_FINITE, np.zeros([0, 2]), np.int64(99)]),
    Row("EditDistance", _distances(True), _all_distances(True)).on(
        [SENTENCES, NUMBERS, NO_TRUTH], faults=[Fault(OUTSIDE, r"\[5, 0\] does not index into shape \[1, 2\]")]
    ),
    Row("EditDistance-counted", _distances(False), _all_distances(False)).on([SENTENCES, NUMBERS, NO_TRUTH]),
    _patch_row("inside", 2, 1, 1, "VALID"),
    _patch_row("strides", 3, 2, 1, "SAME"),
    _patch_row("holes", 2, 1, 2, "SAME"),
    _patch_row("too-large", 7, 3, 1, "VALID"),
]


# -- changing --------------------------------------------------------------------------------------


def _scattered(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def changed(x: Any, indices: Any, updates: Any) -> Any:
        out = x.copy()
        for place in np.ndindex(*indices.shape[:-1]):
            index = tuple(indices[place])
            out[index] = function(out[index], updates[place])
        return out

    return changed


SCATTERED: dict[str, tuple[Any, Any]] = {
    "Update": (ops.tensor_scatter_nd_update, lambda old, new: new),
    "Add": (ops.tensor_scatter_nd_add, lambda old, new: old + new),
    "Sub": (ops.tensor_scatter_nd_sub, lambda old, new: old - new),
    "Min": (ops.tensor_scatter_nd_min, np.minimum),
    "Max": (ops.tensor_scatter_nd_max, np.maximum),
}
TWO_ROWS = (MATRIX, _ints(0, 2).reshape(2, 1), np.array([[9, -9], [3, 30]], np.float32))


def _scatter_row(what: str) -> Row:
    build, function = SCATTERED[what]
    return Row(f"TensorScatter{what}", build, _scattered(function)).on(
        [
            TWO_ROWS,
            (MATRIX.astype(np.int32), _ints(1, 1, 1).reshape(3, 1), np.full([3, 2], 4, np.int32)),
            (CUBE, np.array([[[0, 1], [2, 0]]], np.int64), CUBE[:2, :1].transpose(1, 0, 2).copy()),
            (np.zeros(4, np.float32), _ints(3, 0).reshape(2, 1), np.array([np.inf, 1], np.float32)),
            (MATRIX, np.zeros([0, 1], np.int32), np.zeros([0, 2], np.float32)),
        ],
        [TWO_ROWS],
        [
            Fault(
                (MATRIX, _ints(3).reshape(1, 1), np.ones([1, 2], np.float32)),
                r"\[3\] does not index into shape \[3, 2\]",
            ),
            Fault(
                (MATRIX, _ints(1).reshape(1, 1), np.ones([1, 3], np.float32)),
                "need updates of shape",
                "need updates of shape",
            ),
        ],
    )


# -- dealing out -----------------------------------------------------------------------------------


def _dealt(data: Any, parts: Any) -> list[Any]:
    return [data[parts == part] for part in range(3)]


def _stitched(*operands: Any) -> Any:
    half = len(operands) // 2
    indices, data = operands[:half], operands[half:]
    rows = max((int(i.max()) + 1 for i in indices if i.size), default=0)
    out = np.zeros((rows, *data[0].shape[indices[0].ndim :]), data[0].dtype)
    for numbers, values in zip(indices, data, strict=True):
        for place in np.ndindex(*numbers.shape):
            out[numbers[place]] = values[place]
    return out


def _stitch_row(op: str, build: Callable[..., Any]) -> Row:
    return Row(
        op, lambda *operands: build(operands[: len(operands) // 2], operands[len(operands) // 2 :]), _stitched
    ).on(
        [
            (_ints(0, 2), _ints(1), MATRIX[:2], MATRIX[2:]),
            (np.int32(1), _ints(4, 0).reshape(1, 2), np.float32(5), MATRIX[:1]),
            (np.zeros(0, np.int32), np.zeros([0, 2], np.float32)),
        ],
        [(_ints(0, 2), _ints(1), MATRIX[:2], MATRIX[2:])],
        [
            Fault((_ints(0, -2), MATRIX[:2]), "at least 0, got -2"),
            Fault(
                (_ints(0, 1), _ints(0), MATRIX[:2], np.ones([1, 3], np.float32)),
                "need data of shape",
                "rows have one shape",
            ),
        ],
    )


DEALING = [
    Row("DynamicPartition", lambda data, parts: ops.dynamic_partition(data, parts, 3), _dealt).on(
        [
            (MATRIX, _ints(2, 0, 2)),
            (MATRIX, _ints(2, 0, 2, 1, 1, 0).reshape(3, 2)),
            (NOT_FINITE, _ints(0, 0, 0, 2, 2, 0)),
            (np.zeros([0, 2], np.float32), np.zeros(0, np.int32)),
            (WORDS, _ints(1, 1, 0, 2)),
            (np.float32(3), np.int32(1)),
        ],
        [(MATRIX, _ints(2, 0, 2)), (MATRIX, _ints(2, 0, 2, 1, 1, 0).reshape(3, 2))],
        [
            Fault((MATRIX, _ints(0, 3, 1)), r"\[1\] = 3 is not in \[0, 3\)"),
            Fault((MATRIX, _ints(0, 1)), "begins that of data", "begins that"),
        ],
    ),
    _stitch_row("DynamicStitch", ops.dynamic_stitch),
    _stitch_row("ParallelDynamicStitch", partitions.parallel_dynamic_stitch),
]


# -- handing on ------------------------------------------------------------------------------------


def _parallel(*rows: Any) -> Any:
    """The op itself, whose shape an attribute gives: ``parallel_stack`` needs known shapes."""
    return make_one("ParallelConcat", rows, {"shape": [len(rows), 2]})


def _fingerprint(row: Any) -> list[int]:
    """Byte by byte; the hash itself is held against known numbers in its own tests."""
    data = row if isinstance(row, bytes) else row.tobytes()
    return list(farmhash64(data).to_bytes(8, "little"))


HANDING_ON = [
    Row("EnsureShape", lambda x: ops.ensure_shape(x, [None, 2]), lambda x: x).on(
        [MATRIX, MATRIX[:0], np.array([[b"a", b"b"]], object)], [MATRIX], [Fault(CUBE, "is wanted, got", "is wanted")]
    ),
    Row("IdentityN", lambda *xs: ops.identity_n(xs), lambda *xs: list(xs)).on(
        [(MATRIX, _ints(1)), MATRIX, (WORDS, np.float32(2))], [(MATRIX, CUBE)]
    ),
    Row("GuaranteeConst", ops.guarantee_const, lambda x: x).on([MATRIX, np.float32(np.nan)]),
    Row("ShapeN", lambda *xs: ops.shape_n(xs), lambda *xs: [np.array(np.shape(x), np.int32) for x in xs]).on(
        [(MATRIX, CUBE, np.float32(1)), MATRIX[:0]]
    ),
    Row(
        "BroadcastArgs",
        ops.broadcast_dynamic_shape,
        lambda x, y: np.array(np.broadcast_shapes(tuple(x), tuple(y)), x.dtype),
    ).on(
        [
            (_ints(1, 2), _ints(3, 1)),
            (_ints(2), _ints(4, 5, 1)),
            (np.array([0, 1]), np.array([1, 7])),
            (np.zeros(0, np.int32), _ints(3)),
        ],
        faults=[Fault((_ints(4, 2), _ints(3, 1)), r"\[4, 2\] and \[3, 1\] cannot be broadcast")],
    ),
    Row(
        "Fingerprint", opsets.fingerprint, lambda x: np.array([_fingerprint(row) for row in x], np.uint8).reshape(-1, 8)
    ).on(
        [WORDS, MATRIX, NOT_FINITE, MATRIX[:0], MATRIX[:, :0]],
        faults=[Fault(np.float32(1), "rank at least 1", "rank at least 1")],
    ),
    Row("ParallelConcat", _parallel, lambda *rows: np.concatenate(rows)).on(
        [(MATRIX[:1], MATRIX[1:2]), np.array([[b"a", b"b"]], object)],
        faults=[Fault((MATRIX, MATRIX), "rows have shape", "rows have shape")],
    ),
]

ROWS = [*map(_scatter_row, SCATTERED)]


# -- what surrounds candidate samplers -------------------------------------------------------------

TRUE = np.array([[0, 3], [5, 1], [3, 3]])


def _hits(true: Any, sampled: Any) -> list[Any]:
    """Example, position and weight of each true class in the sample; the last position of each class."""
    last = {int(c): i for i, c in enumerate(sampled)}
    found = [(row, last[int(c)]) for row, classes in enumerate(true) for c in classes if int(c) in last]
    rows, places = np.array(found, np.int64).reshape(-1, 2).T
    weights = np.full(len(found), np.finfo(np.float32).min, np.float32)
    return [rows.astype(np.int32), places, weights]


HITS = [
    Row("ComputeAccidentalHits", lambda true, sampled: list(nn.compute_accidental_hits(true, sampled, 2)), _hits).on(
        [
            (TRUE, np.array([5, 0, 9, 0])),
            (TRUE, np.array([3])),
            (TRUE, np.array([7, 8])),
            (TRUE, np.zeros(0, np.int64)),
            (np.zeros([0, 2], np.int64), np.array([1, 2])),
        ],
        faults=[
            Fault(
                (TRUE[:, :1], np.array([1])), r"shape \[batch, 2\], got \[3, 1\]", r"shape \[batch, 2\], got \(3, 1\)"
            ),
            Fault((TRUE, np.array([[1]])), r"a vector, got shape \[1, 1\]", r"a vector, got shape \(1, 1\)"),
        ],
    )
]
