"""Rows of arrays joined, cut, laid out anew and given a margin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession import ops
from tests.nodes import make
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import BRAIN, COMPLEX, EMPTY, ONE, TRUTH, WORD, WORDS, M, X, ints, longs

WHOLE = np.array([[1, -2], [3, 4]], np.int64)
SMOOTH = np.array([[[0.5, 1.5], [2.0, -1.0], [0.25, 3.0]]])
KINDS = [M, WHOLE, TRUTH, COMPLEX, BRAIN, WORDS]


# -- joined and cut --------------------------------------------------------------------------------


def _along(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    return lambda *parts: function(parts, *args)


def _joined(*operands: Any) -> Any:
    return np.concatenate(operands[:-1], int(operands[-1]))


RAGGED = "differ on that axis only"
JOINED = [
    Row("ConcatV2", lambda *operands: ops.concat(operands[:-1], operands[-1]), _joined).on(
        [
            (X, X[:, :1], np.int32(1)),
            (X, X[..., :1], X, np.int32(-1)),
            (X, X[:, :0], np.int64(1)),
            (EMPTY, EMPTY, np.int32(0)),
            (M[0], M[1], np.int32(0)),
            *((x, x, np.int32(0)) for x in KINDS),
        ],
        [(SMOOTH, SMOOTH[:, :2], np.int32(1)), (SMOOTH, -SMOOTH, np.int32(-3))],
        [
            Fault((X, X[:, :, :1], np.int32(1)), RAGGED, early="shapes may differ on axis 1 only"),
            Fault((X, X, np.int32(3)), "along axis 3", early="axis 3 is not in"),
            Fault((X, X[0], np.int32(0)), RAGGED, "of one rank"),
            Fault((ONE, ONE, np.int32(0)), "cannot join", "at least 1"),
        ],
    ),
    *(
        Row(f"Pack-axis_{axis}", lambda *parts, axis=axis: ops.stack(parts, axis), _along(np.stack, axis)).on(
            [(X, -X), (X, X, X), (EMPTY, EMPTY), M, *((x, x) for x in KINDS)],
            [(SMOOTH, -SMOOTH)],
            [
                Fault((X, X[0]), "of one shape are stacked", "one shape"),
                Fault((ONE, ONE), "axis", "axis")
                if axis not in (0, -1)
                else Fault((X, X[:1]), "of one shape", "one shape"),
            ],
        )
        for axis in (0, 1, -1)
    ),
    Row("Pack-scalars", lambda *parts: ops.stack(parts), _along(np.stack)).on(
        [(ONE, -ONE), (np.int64(1), np.int64(2)), (WORD, WORD), np.bool_(True)], [(np.float64(1.0), np.float64(2.0))]
    ),
]
CUT = [
    *(
        Row(
            f"Unpack-axis_{axis}_of_{num}",
            lambda x, axis=axis, num=num: ops.unstack(x, num, axis),
            lambda x, axis=axis: list(np.moveaxis(x, axis, 0)),
        ).on(
            inputs,
            [(np.ones([2, 2]) * 0.5,)] if num == 2 else [],
            [Fault(np.ones([5, 5], np.float32), "positions", "positions")],
        )
        for axis, num, inputs in (
            (0, 2, [X, np.zeros([2, 0], np.float32), *KINDS]),
            (-1, 2, [M, WORDS]),
            (1, 3, [X, EMPTY]),
            (0, 1, [X[:1], M[:1]]),
        )
    ),
    Row("Split", lambda axis, x: ops.split(x, 2, axis), lambda axis, x: np.split(x, 2, int(axis))).on(
        [(np.int32(0), X), (np.int32(-1), X), (np.int32(0), EMPTY), *((np.int32(1), x) for x in KINDS)],
        [(np.int32(2), SMOOTH), (np.int32(-1), SMOOTH)],
        [
            Fault((np.int32(1), X), "does not make 2 equal pieces", early="3 positions on axis 1 do not make 2 pieces"),
            Fault((np.int32(3), X), r"axis 3 is not in \[-3, 3\)", early=""),
            Fault((np.int32(0), ONE), "axis 0 is not in", early=""),
        ],
    ),
    Row(
        "SplitV",
        lambda x, sizes, axis: ops.split(x, sizes, axis, num=3),
        lambda x, sizes, axis: np.split(x, _ends(x, sizes, int(axis)), int(axis)),
    ).on(
        [
            (X, ints(1, 2, 1), np.int32(2)),
            (X, longs(0, -1, 1), np.int32(-1)),
            (X, ints(2, 0, 0), np.int32(0)),
            *((x, ints(1, 1, 0), np.int32(1)) for x in KINDS),
        ],
        [(SMOOTH, ints(1, 0, 2), np.int32(1)), (SMOOTH, ints(1, -1, 0), np.int32(1))],
        [
            Fault((X, ints(1, 3, 1), np.int32(2)), "do not make up axis 2", early="Split"),
            Fault((X, ints(1, -1, -1), np.int32(2)), "do not make up axis 2", early="one length may be -1"),
            Fault((X, ints(1, -2, 5), np.int32(2)), "do not make up axis 2", early="Dimension -2 must be >= 0"),
            Fault((X, ints(1, 2, 1), np.int32(3)), "axis 3 is not in", early=""),
        ],
    ),
]


def _ends(x: Any, sizes: Any, axis: int) -> Sequence[int]:
    rest = x.shape[axis] - sizes[sizes != -1].sum()
    ends: list[int] = np.cumsum([rest if s == -1 else s for s in sizes])[:-1].tolist()
    return ends


# -- laid out anew ---------------------------------------------------------------------------------

LAID = [
    Row("Transpose", ops.transpose, lambda x, perm: np.transpose(x, perm)).on(
        [
            (X, ints(2, 0, 1)),
            (X, longs(0, 1, 2)),
            (X, ints(-1, 0, -2)),
            (EMPTY, ints(1, 0)),
            (ONE, ints()),
            (WORD, ints()),
            *((x, ints(1, 0)) for x in KINDS),
        ],
        [(SMOOTH, ints(1, 2, 0)), (SMOOTH, longs(-1, 0, 1)), (np.float64(2.0), ints())],
        [
            Fault((X, ints(0, 0, 1)), "no order of 3 axes", early=""),
            Fault((X, ints(0, 1)), "no order of 3 axes", "perm of 2 entries"),
            Fault((X, ints(0, 1, 3)), "no order of 3 axes", early=""),
            Fault((X, ints([0, 1, 2])), "a vector of integers", "rank 1"),
        ],
    ),
    Row("InvertPermutation", ops.invert_permutation, lambda x: np.argsort(x).astype(x.dtype)).on(
        [ints(2, 0, 1), longs(1, 0), ints(), ints(0)],
        faults=[Fault(ints(2, 0, 2), "once each"), Fault(ints(-1, 0), "once each"), Fault(ints(3, 0, 1), "once each")],
    ),
    Row("Tile", ops.tile, np.tile).on(
        [
            (X, ints(1, 2, 3)),
            (X, longs(2, 0, 1)),
            (M[0], ints(3)),
            (M[0], ints(0)),
            (EMPTY, ints(2, 2)),
            (ONE, ints()),
            *((x, ints(2, 1)) for x in KINDS),
        ],
        [(SMOOTH, ints(2, 1, 3)), (SMOOTH[0, 0], ints(2))],
        [
            Fault((X, ints(1, 2)), "needs 3 multiples", "2 multiples"),
            Fault((X, ints(1, 2, -1)), "at least 0", early=""),
        ],
    ),
]


# -- margins ---------------------------------------------------------------------------------------


def _padded(x: Any, margins: Any, value: Any = 0) -> Any:
    filler: Any = (b"" if value == 0 else value) if x.dtype == object else value
    out = np.full([d + b + a for d, (b, a) in zip(x.shape, margins, strict=True)], filler, x.dtype)
    out[tuple(slice(b, b + d) for d, (b, _) in zip(x.shape, margins, strict=True))] = x
    return out


NONE_AXES = np.zeros([0, 2], np.int32)
WIDE = ints([1, 0], [0, 0], [0, 2])
MARGINS = ints([1, 0], [2, 1])
PADDED = [
    (X, WIDE),
    (X, WIDE.astype(np.int64)),
    (EMPTY, MARGINS),
    (EMPTY, np.zeros([2, 2], np.int32)),
    (ONE, NONE_AXES),
    *((x, MARGINS) for x in KINDS),
]
MISFITS = [
    Fault((X, MARGINS), "needs 3 pairs of paddings", r"\[rank, 2\]"),
    Fault((M, MARGINS - 1), "at least 0", early=""),
    Fault((M, np.zeros([2, 3], np.int32)), r"\[rank, 2\]", r"\[rank, 2\]"),
]

SQUARE = np.array([[0.5, 1.5, -1.0], [2.0, 3.0, 0.25]])


def _folded(x: Any, margins: Any, mode: Any) -> Any:
    """What a mirrored margin adds back, entry by entry."""
    dims = [d - b - a for d, (b, a) in zip(x.shape, margins, strict=True)]
    places = np.pad(np.arange(int(np.prod(dims))).reshape(dims), margins, mode=mode)
    out = np.zeros(int(np.prod(dims)), x.dtype)
    np.add.at(out, places.reshape(-1), x.reshape(-1))
    return out.reshape(dims)


def _filler(x: Any) -> Any:
    return WORD if x.dtype == object else x.dtype.type(1)


PADS = [
    Row("Pad", ops.pad, _padded).on(PADDED, [(SQUARE, MARGINS)], MISFITS),
    Row("PadV2", {}, lambda x, margins, value: _padded(x, margins, np.asarray(value)[()])).on(
        [(x, m, _filler(x)) for x, m in PADDED],
        [(SQUARE, MARGINS, np.float64(0.0))],
        [replace(fault, inputs=(*fault.inputs, ONE)) for fault in MISFITS],
        wrt=[0],  # what fills the margin has no gradient, in TensorFlow either
    ),
]
MIRRORS = [
    row
    for mode, edge in (("REFLECT", 1), ("SYMMETRIC", 0))
    for row in (
        Row(
            f"MirrorPad-{mode.lower()}",
            lambda x, margins, mode=mode: ops.pad(x, margins, mode),
            lambda x, margins, mode=mode: np.pad(x, margins, mode=mode.lower()) if x.ndim else x,
        ).on(
            [
                (X, ints([1, 1 - edge], [2, 0], [0, 3])),
                (X, np.zeros([3, 2], np.int64)),
                (EMPTY, ints([0, 0], [1, 2])),
                (ONE, NONE_AXES),
                *((x, ints([1, 0], [0, 1])) for x in KINDS),
            ],
            [(SQUARE, ints([1, 0], [2, 2])), (SQUARE, np.zeros([2, 2], np.int32))],
            [*MISFITS, Fault((M, ints([0, 0], [3 - edge, 0])), "reach over shape")],
        ),
        Row(
            f"MirrorPadGrad-{mode.lower()}",
            {"mode": mode},
            lambda x, margins, mode=mode: _folded(x, margins, mode.lower()),
        ).on(
            [
                (np.ones([4, 5], np.float32), ints([1, 1], [0, 2])),
                (X[0], ints([0, 0], [1, 1])),
                (X[0].astype(np.int32), ints([1, 0], [0, 1])),
                (X[0], np.zeros([2, 2], np.int64)),
                (np.zeros([0, 4], np.float32), ints([0, 0], [1, 1])),
                (X[0].astype(np.complex64) * 1j, ints([1, 0], [1, 0])),
            ],
            [(SQUARE, ints([0, 0], [1, 0]))],
            [MISFITS[0], Fault((M, ints([0, 0], [2, 0])), "reach over shape")],
        ),
    )
]


# -- ``ConcatOffset`` ------------------------------------------------------------------------------


def _build(axis: Any, *shapes: Any) -> Any:
    return list(make("ConcatOffset", [axis, *shapes]).outputs)


def _begins(axis: Any, *shapes: Any) -> list[Any]:
    """Where each part begins in what ``np.concatenate`` makes of parts of these shapes."""
    made = []
    for number in range(len(shapes)):
        parts = [np.full(s, float(k == number)) for k, s in enumerate(shapes)]
        places = np.argwhere(np.concatenate(parts, axis))
        made.append(places.min(0).astype(shapes[number].dtype))
    return made


def _shape(*sizes: int, dtype: Any = np.int32) -> Any:
    return np.array(sizes, dtype)


ROWS = [
    Row("ConcatOffset", _build, _begins).on(
        [
            (np.int32(0), _shape(2, 3), _shape(1, 3), _shape(4, 3)),
            (np.int32(1), _shape(2, 3), _shape(2, 5)),
            (np.int32(-1), _shape(2, 3), _shape(2, 5)),
            (np.int32(0), _shape(7), _shape(1)),
            (np.int32(0), _shape(2, 3)),
            (np.int32(0), _shape(2, 3, dtype=np.int64), _shape(1, 3, dtype=np.int64)),
        ],
        faults=[
            Fault((np.int32(2), _shape(2, 3), _shape(1, 3)), "axis 2"),
            Fault((np.int32(0), _shape(2, 3), _shape(3)), "one rank", "vectors of one length"),
            Fault((np.int32(0), _shape(2, 3), _shape(2, 4)), "cannot be joined"),
        ],
    )
]
