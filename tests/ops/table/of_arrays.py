"""Rows of arrays as they are, under another shape, and made out of numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import get_default_graph, ops
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import BRAIN, COMPLEX, EMPTY, ONE, TRUTH, WORD, WORDS, M, X, ints, longs

WHOLE = np.array([[1, -2], [3, 4]], np.int64)
SMOOTH = np.array([[[0.5, 1.5], [2.0, -1.0], [0.25, 3.0]]])
KINDS = [M, WHOLE, TRUTH, COMPLEX, BRAIN, WORDS]


# -- as they are -----------------------------------------------------------------------------------


def _same(op: str, build: Callable[..., Any], **more: Any) -> Row:
    return Row(op, build, lambda x: x).on([*KINDS, X, EMPTY, ONE, WORD], **more)


def _default(*xs: Any) -> Any:
    """A placeholder that nobody feeds."""
    [x] = xs
    return ops.placeholder_with_default(x, x.shape)


SAME = [
    _same("Identity", ops.identity, smooth=[(SMOOTH,)]),
    _same("StopGradient", ops.stop_gradient),
    _same("PlaceholderWithDefault", _default, smooth=[(SMOOTH,)]),
]

CONSTANTS = [
    Row(
        f"Const-{label}",
        lambda x, value=value: [ops.identity(x), ops.constant(value, graph=get_default_graph())],
        lambda x, value=value: [x, value],
    ).on([np.bool_(True)])
    for label, value in {
        "array": M,
        "empty": EMPTY,
        "scalar": ONE,
        "complex": COMPLEX,
        "bfloat16": BRAIN,
        "strings": WORDS,
        "large": np.array(2**40),
        "larger": np.array(2**63),
    }.items()
]

QUESTIONS = [
    Row(
        f"{op}-{dtype}",
        {"out_type": dtype} if dtype else {},
        lambda x, ask=ask, dtype=dtype: np.array(ask(x), dtype or np.int32),
    ).on([X, EMPTY, ONE, WORDS, WORD, TRUTH])
    for op, ask, dtypes in (
        ("Shape", np.shape, ("", "int32", "int64")),
        ("Size", np.size, ("", "int64")),
        ("Rank", np.ndim, ("",)),
    )
    for dtype in dtypes
]


# -- another shape ---------------------------------------------------------------------------------

RESHAPE = Row("Reshape", ops.reshape, lambda x, dims: np.reshape(x, [_worked_out(x, dims, d) for d in dims])).on(
    [
        (X, ints(4, 6)),
        (X, ints(-1, 4)),
        (X, longs(24)),
        (ONE, ints()),
        (ONE, ints(1, 1)),
        (M[:1, :1], ints()),
        (EMPTY, ints(-1, 3)),
        (EMPTY, ints(3, 0)),
        (EMPTY, ints(0, -1)),
        *((x, ints(4)) for x in KINDS),
        (WORD, ints(1)),
    ],
    [(SMOOTH, ints(3, 2)), (SMOOTH, ints(-1)), (np.float64(2.0), ints(1))],
    [
        Fault(
            (X, ints(5, 5)),
            r"cannot reshape a tensor of shape \[2, 3, 4\]",
            early="Cannot reshape a tensor with 24 elements to shape",
        ),
        Fault((X, ints(5, -1)), "cannot reshape", early="Dimension size must be evenly divisible by 5 but is 24"),
        Fault((X, ints(-1, -1)), "cannot reshape", early="one dimension may be -1"),
        Fault((X, ints(-2, 12)), "cannot reshape", early="one dimension may be -1"),
        Fault((X, ints([24])), "a vector of integers", "rank 1"),
    ],
)


def _worked_out(x: Any, dims: Any, dim: int) -> int:
    """TensorFlow's rule: where nothing says what -1 is, dimensions of 0 do not count."""
    if dim != -1:
        return int(dim)
    known = [int(d) for d in dims if d != -1]
    if 0 in known:
        return int(np.prod([d for d in x.shape if d]) // np.prod([d for d in known if d]))
    return int(x.size // np.prod(known, dtype=int))


G = X.reshape(2, 1, 3, 1, 4)
SHAPED = [
    Row("ExpandDims", ops.expand_dims, lambda x, axis: np.expand_dims(x, int(np.reshape(axis, ())))).on(
        [
            (X, np.int32(0)),
            (X, np.int32(3)),
            (X, np.int64(-2)),
            (X, ints(1)),
            (ONE, np.int32(0)),
            (EMPTY, np.int32(-1)),
            *((x, np.int32(1)) for x in KINDS),
            (WORD, np.int32(0)),
        ],
        [(SMOOTH, np.int32(1)), (np.float64(2.0), np.int32(0))],
        [
            Fault((X, ints(0, 1)), "the axis is a single number", early="a single number"),
            Fault((X, np.int32(4)), r"axis 4 is not in \[-4, 4\)", early=""),
        ],
    ),
    *(
        Row(
            f"Squeeze-{label}",
            lambda x, axes=axes: ops.squeeze(x, axes),
            lambda x, axes=axes: np.squeeze(x, axes and tuple({a % x.ndim for a in axes})),
        ).on(
            [G, G[..., :0], G.astype(np.int8), np.full([2, 1, 1, 1, 1], b"a", object)],
            [SMOOTH.reshape(1, 1, 3, 1, 2)],
            faults,
        )
        for label, axes, faults in (
            ("all", None, ()),
            ("one", [1], [Fault(X, "cannot squeeze", "extent 1")]),
            ("two", [-2, 1], ()),
            ("twice", [1, 1], ()),
        )
    ),
    Row("Squeeze-to_scalar", ops.squeeze, np.squeeze).on([ONE, WORD, M[:1, :1]], [np.ones([1, 1])]),
    Row("BroadcastTo", ops.broadcast_to, np.broadcast_to).on(
        [
            (X[:, :1], ints(2, 3, 4)),
            (X, longs(2, 2, 3, 4)),
            (ONE, ints(2, 2)),
            (ONE, ints()),
            (M[:1], ints(0, 2)),
            (EMPTY, ints(2, 0, 3)),
            (X[0, 0], ints(40_000, 4)),
            *((x, ints(3, 2, 2)) for x in KINDS),
            (WORD, ints(2)),
        ],
        [(SMOOTH, ints(2, 3, 2)), (SMOOTH, ints(2, 1, 3, 2)), (np.float64(0.5), ints(3)), (SMOOTH, ints(1, 3, 2))],
        [
            Fault((X, ints(2, 3, 5)), "does not broadcast", early=""),
            Fault((X, ints(400, 400, 7)), "does not broadcast", early=""),
            Fault((X, ints(3, 4)), "does not broadcast", "does not broadcast"),
            Fault((ONE, ints([2])), "a vector of integers", "rank 1"),
        ],
    ),
]


# -- numbers alone ---------------------------------------------------------------------------------


def _range(start: Any, limit: Any, delta: Any) -> Any:
    count = int(np.ceil(abs((limit - start) / delta)))
    return np.array([start + i * delta for i in range(count)], start.dtype)


NUMBERS = [
    Row("Fill", ops.fill, lambda dims, value: np.full(dims, value, np.asarray(value).dtype)).on(
        [
            (ints(2, 3), ONE),
            (longs(2, 0), np.int8(3)),
            (ints(), np.float64(np.nan)),
            (ints(2), np.complex64(1 + 2j)),
            (ints(2), np.bool_(True)),
            (ints(2), BRAIN[0, 0]),
            (ints(2), WORD),
            (ints(3, 1), np.float32(0.0)),
        ],
        [(ints(2, 3), np.float64(0.5)), (ints(), np.float64(0.5))],
        [
            Fault((ints(2, -1), ONE), "dimensions are at least 0", early=""),
            Fault((ints(2), M[0]), "a scalar", "rank 0"),
        ],
    ),
    Row("Range", ops.range, _range).on(
        [
            (np.int32(0), np.int32(5), np.int32(2)),
            (np.int64(5), np.int64(0), np.int64(-2)),
            (np.int32(3), np.int32(3), np.int32(1)),
            (np.float32(0.0), np.float32(1.0), np.float32(0.1)),
            (np.float32(0.0), np.float32(0.3), np.float32(0.1)),  # three of them, and not four as in float64
            (np.float64(0.1), np.float64(2.0), np.float64(0.3)),
            (np.float32(1.0), np.float32(-1.0), np.float32(-0.5)),
        ],
        faults=[
            Fault((np.int32(0), np.int32(5), np.int32(0)), "delta must not be 0", early=""),
            Fault((np.int32(5), np.int32(0), np.int32(1)), "limit must lie ahead", early=""),
            Fault((ONE, np.float32(np.nan), ONE), "limit must lie ahead"),
            Fault((ints(1, 2), np.int32(5), np.int32(1)), "start must be a scalar", "rank 0"),
        ],
        rtol=1e-5,
    ),
]
