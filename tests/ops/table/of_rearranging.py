"""Rows of ops that put the elements of a tensor in another order, or on and off diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import ops
from tests.ops.table.row import Fault, Row

RNG = np.random.default_rng(5)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = RNG.normal(size=(2, 3, 4)).astype(np.float32)
IMAGE = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)
DEEP = np.arange(2 * 2 * 3 * 8, dtype=np.int32).reshape(2, 2, 3, 8)
WORDS = np.array([b"a", b"bc", b""], object)
NOT_FINITE = np.array([np.nan, 1, np.inf, -np.inf], np.float32)


# -- order along axes ------------------------------------------------------------------------------


def _reverse_sequences(x: Any, lengths: Any, along: int, batch: int) -> Any:
    out = x.copy()
    for place, length in enumerate(lengths):
        rows, read = [slice(None)] * (x.ndim), [slice(None)] * (x.ndim)
        rows[batch] = read[batch] = slice(place, place + 1)
        rows[along] = slice(0, length)
        for position in range(length):
            rows[along] = slice(position, position + 1)
            read[along] = slice(length - 1 - position, length - position)
            out[tuple(rows)] = x[tuple(read)]
    return out


def _axes(*entries: int) -> Any:
    return np.array(entries, np.int32)


REVERSALS = [
    Row("ReverseV2", ops.reverse, lambda x, axes: np.flip(x, tuple(axes.tolist()))).on(
        [
            (MATRIX, _axes(0)),
            (CUBE, _axes(-1, 0)),
            (MATRIX, np.zeros(0, np.int32)),
            (np.zeros([0, 3], np.float32), _axes(1)),
            (np.float32(2), np.zeros(0, np.int32)),
            (NOT_FINITE, np.array([0], np.int64)),
            (WORDS, _axes(0)),
        ],
        [(CUBE, _axes(1, 2))],
        [
            Fault((MATRIX, _axes(2)), "axis 2 is not in", early=""),
            Fault((MATRIX, _axes(0, -2)), "given once", early=""),
            Fault((MATRIX, np.int32(0)), "axes are a vector", "rank 1"),
        ],
    ),
    Row(
        "ReverseSequence",
        lambda x, n: ops.reverse_sequence(x, n, seq_axis=1),
        lambda x, n: _reverse_sequences(x, n, 1, 0),
    ).on(
        [
            (MATRIX, _axes(2, 3)),
            (MATRIX, np.array([0, 1], np.int64)),
            (CUBE, _axes(3, 2)),
            (np.zeros([0, 3], np.float32), np.zeros(0, np.int32)),
            (np.zeros([2, 0], np.float32), _axes(0, 0)),
            (np.stack([NOT_FINITE, NOT_FINITE]), _axes(4, 2)),
        ],
        [(CUBE, _axes(3, 2))],
        [
            Fault((MATRIX, _axes(1, 4)), r"in \[0, 3\], got \[1, 4\]"),
            Fault((MATRIX, _axes(1, -1)), r"in \[0, 3\]"),
            Fault((MATRIX, _axes(1, 1, 1)), "lengths of shape", "3 lengths"),
        ],
    ),
    Row(
        "ReverseSequence-axes-swapped",
        lambda x, n: ops.reverse_sequence(x, n, seq_axis=0, batch_axis=2),
        lambda x, n: _reverse_sequences(x, n, 0, 2),
    ).on([(CUBE, _axes(2, 1, 0, 2))], [(CUBE, _axes(2, 1, 0, 2))]),
    Row("Roll", ops.roll, lambda x, shift, axis: np.roll(x, shift.tolist(), axis.tolist())).on(
        [
            (MATRIX, np.int32(1), np.int32(1)),
            (MATRIX, _axes(1, -4, 1), _axes(1, 0, 1)),
            (CUBE, np.array([7], np.int64), _axes(-1)),
            (np.zeros([0, 3], np.float32), np.int32(1), np.int32(0)),
            (NOT_FINITE, np.int32(-1), np.int32(0)),
            (WORDS, np.int32(1), np.int32(0)),
        ],
        [(CUBE, _axes(1, -1), _axes(0, 2))],
        [
            Fault((MATRIX, _axes(1), _axes(2)), "axis 2 is not in", early=""),
            Fault((MATRIX, _axes(1, 1), _axes(0)), "one shape", "one length"),
            Fault((np.float32(1), np.int32(1), np.int32(0)), "the tensor an axis", "at least 1"),
        ],
    ),
    Row("ConjugateTranspose", lambda x: ops.transpose(x, [1, 0], conjugate=True), lambda x: x.T.conj()).on(
        [MATRIX.astype(np.complex64) * (1 + 2j), np.zeros([0, 2], np.complex128)], [MATRIX]
    ),
    Row(
        "ConjugateTranspose-by-parts",
        lambda x: acts.math.imag(ops.transpose(acts.math.complex(x, x * x), [-1, 0], conjugate=True)),
        lambda x: -np.square(x.T),
    ).on([MATRIX], [MATRIX]),
]


# -- blocks ----------------------------------------------------------------------------------------


def _space_to_depth(x: Any, block: int) -> Any:
    rows = [x[:, i::block, j::block] for i in range(block) for j in range(block)]
    return np.concatenate(rows, axis=-1)


def _depth_to_space(x: Any, block: int) -> Any:
    batch, height, width, depth = x.shape
    left = depth // block**2
    out = np.zeros([batch, height * block, width * block, left], x.dtype)
    for i in range(block):
        for j in range(block):
            first = (i * block + j) * left
            out[:, i::block, j::block] = x[..., first : first + left]
    return out


def _channels_first(function: Any) -> Any:
    return lambda x: np.moveaxis(function(np.moveaxis(x, 1, -1), 2), -1, 1)


def _space_to_batch(x: Any, block: Any, paddings: Any) -> Any:
    margins = [(0, 0), *paddings.tolist(), *[(0, 0)] * (x.ndim - 1 - len(block))]
    padded = np.pad(x, margins)
    parts = [
        padded[(slice(None), *(slice(i, None, b) for i, b in zip(first, block, strict=True)))]
        for first in np.ndindex(*block)
    ]
    return np.concatenate(parts)


def _batch_to_space(x: Any, block: Any, crops: Any) -> Any:
    sides = block.tolist()
    batch = x.shape[0] // int(np.prod(sides))
    whole = [n * b for n, b in zip(x.shape[1:], sides, strict=False)]
    out = np.zeros([batch, *whole, *x.shape[1 + len(sides) :]], x.dtype)
    for part, first in enumerate(np.ndindex(*sides)):
        index = (slice(None), *(slice(i, None, b) for i, b in zip(first, sides, strict=True)))
        out[index] = x[part * batch : (part + 1) * batch]
    kept = [slice(a, n - b) for n, (a, b) in zip(whole, crops.tolist(), strict=True)]
    return out[(slice(None), *kept)]


def _pairs(*pairs: tuple[int, int]) -> Any:
    return np.array(pairs, np.int32).reshape(-1, 2)


BLOCKS = [
    Row("SpaceToDepth", lambda x: ops.space_to_depth(x, 2), lambda x: _space_to_depth(x, 2)).on(
        [IMAGE, DEEP[:, :, :2], np.zeros([0, 2, 2, 1], np.float32)],
        [IMAGE[:1, :, :2, :1]],
        [Fault(IMAGE[:, :3], "not divisible by 2", "not divisible by 2"), Fault(MATRIX, "rank 4", "rank 4")],
    ),
    Row(
        "SpaceToDepth-channels-first",
        lambda x: ops.space_to_depth(x, 2, data_format="NCHW"),
        _channels_first(_space_to_depth),
    ).on([IMAGE.transpose(0, 3, 1, 2)], [IMAGE[:1, :, :2, :1].transpose(0, 3, 1, 2)]),
    Row("DepthToSpace", lambda x: ops.depth_to_space(x, 2), lambda x: _depth_to_space(x, 2)).on(
        [DEEP, DEEP.astype(np.float16), np.zeros([1, 0, 2, 4], np.float32)],
        [DEEP[:1].astype(np.float32)],
        [Fault(IMAGE, "not divisible by 4", "not divisible by 4"), Fault(MATRIX, "rank 4", "rank 4")],
    ),
    Row(
        "DepthToSpace-channels-first",
        lambda x: ops.depth_to_space(x, 2, data_format="NCHW"),
        _channels_first(_depth_to_space),
    ).on([DEEP.transpose(0, 3, 1, 2)], [DEEP[:1].transpose(0, 3, 1, 2).astype(np.float32)]),
    Row("SpaceToBatchND", ops.space_to_batch_nd, _space_to_batch).on(
        [
            (IMAGE, _axes(2, 3), _pairs((0, 0), (0, 0))),
            (IMAGE, _axes(3), _pairs((1, 1))),
            (IMAGE, np.array([2, 4], np.int64), _pairs((2, 0), (1, 1))),
            (IMAGE, np.zeros(0, np.int32), np.zeros([0, 2], np.int32)),
            (np.zeros([0, 4], np.float32), _axes(2), _pairs((0, 0))),
        ],
        [(IMAGE[:1, :2, :2], _axes(2, 2), _pairs((0, 0), (1, 1)))],
        [
            Fault((IMAGE, _axes(3), _pairs((0, 0))), "not divisible by 3", early=""),
            Fault((IMAGE, _axes(2), _pairs((-1, 1))), "at least 0", early=""),
            Fault((IMAGE, _axes(0), _pairs((0, 0))), "blocks are at least 1", early=""),
            Fault((MATRIX, _axes(1, 1), _pairs((0, 0), (0, 0))), "rank 2", "need more"),
        ],
    ),
    Row("BatchToSpaceND", ops.batch_to_space_nd, _batch_to_space).on(
        [
            (IMAGE.reshape(6, 4, 2, 3), _axes(2, 3), _pairs((0, 0), (0, 0))),
            (IMAGE.reshape(6, 4, 2, 3), _axes(3), _pairs((2, 1))),
            (IMAGE, np.array([2], np.int64), _pairs((8, 0))),
            (np.zeros([4, 0], np.float32), _axes(2), _pairs((0, 0))),
        ],
        [(IMAGE.reshape(24, 2, 3)[:4], _axes(2, 2), _pairs((1, 0), (0, 2)))],
        [
            Fault((IMAGE, _axes(3), _pairs((0, 0))), "not divisible by 3", early=""),
            Fault((IMAGE, _axes(2), _pairs((5, 4))), "cut off", early=""),
            Fault((IMAGE, _axes(2), _pairs((0, 0), (0, 0))), "as many", r"\[1, 2\]"),
        ],
    ),
]


# -- diagonals -------------------------------------------------------------------------------------


def _diag(x: Any) -> Any:
    return np.diag(x.reshape(-1)).reshape(x.shape + x.shape)


def _band(x: Any, lower: Any, upper: Any) -> Any:
    rows, columns = np.indices(x.shape[-2:])
    kept = ((rows - columns <= lower) | (lower < 0)) & ((columns - rows <= upper) | (upper < 0))
    return np.where(kept, x, np.zeros((), x.dtype))


def _diagonal_part(x: Any, low: int, high: int, padding: Any, align: str) -> Any:
    """Entry by entry, from the definition."""
    *batch, rows, columns = x.shape
    above, below = align.split("_")
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
    width = max(lengths.values())
    out = np.full([*batch, high - low + 1, width], padding, x.dtype)
    for row, d in enumerate(range(high, low - 1, -1)):
        left = (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")
        for i in range(lengths[d]):
            place = i + (0 if left else width - lengths[d])
            out[..., row, place] = x[..., i - min(d, 0), i + max(d, 0)]
    return out[..., 0, :] if low == high else out


def _diagonal_set(x: Any, given: Any, low: int, high: int, align: str) -> Any:
    """Each entry of the matrix that the diagonals' own numbering names."""
    numbers = np.arange(x.shape[-2] * x.shape[-1]).reshape(x.shape[-2:])
    where = _diagonal_part(numbers, low, high, -1, align)
    out = x.copy().reshape(*x.shape[:-2], -1)
    for place in np.ndindex(*where.shape):
        if where[place] >= 0:
            out[..., where[place]] = given[(..., *place)]
    return out.reshape(x.shape)


def _diagonal_rows(k: tuple[int, int], align: str) -> list[Row]:
    low, high = k
    label = f"{low}-to-{high}-{align.lower().replace('_', '-')}"
    ends = np.array(k, np.int32)
    wide, square = CUBE, np.arange(16).reshape(4, 4)
    given = _diagonal_part(CUBE, low, high, 7, align)
    return [
        Row(
            f"MatrixDiagPartV3-{label}",
            lambda x: ops.matrix_diag_part(x, k=ends, padding_value=9, align=align),
            lambda x: _diagonal_part(x, low, high, 9, align),
        ).on([wide, CUBE[:0], square.astype(np.int32)], [wide[0]]),
        Row(
            f"MatrixSetDiagV3-{label}",
            lambda x, d: ops.matrix_set_diag(x, d, k=ends, align=align),
            lambda x, d: _diagonal_set(x, d, low, high, align),
        ).on([(wide, given)], [(wide, given)]),
        Row(
            f"MatrixDiagV3-{label}",
            lambda d: ops.matrix_diag(d, k=ends, num_rows=3, num_cols=4, padding_value=5, align=align),
            lambda d: _diagonal_set(np.full([2, 3, 4], 5, d.dtype), d, low, high, align),
        ).on([given, given.astype(np.int64)], [given]),
    ]


DIAGONALS = [
    Row("Diag", ops.diag, _diag).on(
        [NOT_FINITE, MATRIX, np.zeros(0, np.float32), np.array([1 + 2j])],
        [CUBE[0]],
        [Fault(np.float32(1), "rank at least 1", "rank at least 1")],
    ),
    Row(
        "DiagPart",
        ops.diag_part,
        lambda x: x.reshape([-1, x.size])[0][:: int(x.size**0.5) + 1].reshape(x.shape[: x.ndim // 2]),
    ).on(
        [np.arange(9, dtype=np.int32).reshape(3, 3), RNG.normal(size=(2, 3, 2, 3)).astype(np.float32)],
        [RNG.normal(size=(2, 2))],
        [Fault(MATRIX, "halves are equal", "halves are equal"), Fault(CUBE, "halves are equal", "halves are equal")],
    ),
    Row("MatrixBandPart", ops.matrix_band_part, _band).on(
        [
            (CUBE, np.int32(1), np.int32(0)),
            (CUBE, np.int64(-1), np.int64(1)),
            (MATRIX, np.int32(0), np.int32(-1)),
            (np.zeros([0, 3], np.float32), np.int32(0), np.int32(0)),
            (np.stack([NOT_FINITE, NOT_FINITE]), np.int32(0), np.int32(0)),
            (MATRIX > 2, np.int32(0), np.int32(1)),
        ],
        [(CUBE, np.int32(1), np.int32(1))],
        [
            Fault((MATRIX, np.int32(3), np.int32(0)), "3 diagonals are kept", early=""),
            Fault((NOT_FINITE, np.int32(0), np.int32(0)), "matrices", "matrices"),
        ],
    ),
    Row("MatrixDiagV3-main", ops.matrix_diag, lambda d: d[..., None] * np.eye(d.shape[-1], dtype=d.dtype)).on(
        [MATRIX, np.zeros([2, 0], np.float32), np.arange(3, dtype=np.int32)],
        [MATRIX],
        [Fault(np.float32(1), "more axes", "at least 1")],
    ),
    Row("MatrixDiagPartV3-main", ops.matrix_diag_part, lambda x: np.diagonal(x, axis1=-2, axis2=-1)).on(
        [CUBE, np.zeros([2, 0, 3], np.float32), MATRIX > 2], [CUBE], [Fault(NOT_FINITE, "matrices", "matrices")]
    ),
    Row("MatrixDiagPartV3-far", lambda x: ops.matrix_diag_part(x, k=3), lambda x: np.diagonal(x, 3, -2, -1)).on(
        [CUBE], [CUBE], [Fault(MATRIX, "no diagonal 3", "no diagonal 3")]
    ),
    Row("MatrixSetDiagV3-main", ops.matrix_set_diag, lambda x, d: _diagonal_set(x, d, 0, 0, "RIGHT_LEFT")).on(
        [(CUBE, CUBE[:, :, 0].copy()), (np.zeros([0, 2], np.float32), np.zeros(0, np.float32))],
        [(CUBE, CUBE[:, :, 0].copy())],
        [Fault((MATRIX, NOT_FINITE), r"shape \[2\], got", "got")],
    ),
]

ALIGNED = [
    row
    for k, align in [
        ((-1, 2), "RIGHT_LEFT"),
        ((-1, 2), "LEFT_RIGHT"),
        ((0, 1), "LEFT_LEFT"),
        ((-2, 3), "RIGHT_RIGHT"),
        ((-1, -1), "RIGHT_LEFT"),
    ]
    for row in _diagonal_rows(k, align)
]
