"""Rows of products of matrices, and of batches of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from actorsession import int32
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

A = np.array([[1.0, -2.0, 0.5], [4.0, 5.0, -6.0]], np.float32)
B = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]], np.float32)
ODD = np.array([[np.nan, 1.0, 2.0], [np.inf, 0.0, 1.0]], np.float32)
COMPLEX = (A + 1j * A[::-1]).astype(np.complex64)
X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(2, 2, 3)
Y = np.linspace(2, -1, 12, dtype=np.float32).reshape(2, 3, 2)


def _turned(x: Any, turn: bool) -> Any:
    return np.swapaxes(x, -1, -2) if turn else x


def _adjoint(x: Any, turn: bool) -> Any:
    return np.conjugate(np.swapaxes(x, -1, -2)) if turn else x


def _product(x: Any, y: Any) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind != "i":
        return (x.astype(np.float32) @ y.astype(np.float32)).astype(x.dtype)
    return x @ y


def _laid(x: Any, turn: bool) -> Any:
    """The array that has ``x`` as its transpose where one is asked for."""
    return np.ascontiguousarray(_turned(x, turn))


MATRICES = [
    (A, B),
    (A.astype(np.float64), B.astype(np.float64)),
    (ODD, B),
    (COMPLEX, B.astype(np.complex64)),
    (A.astype(np.int32), B.astype(np.int32)),
    (A.astype(np.int16), B.astype(np.int16)),
    (A.astype(np.float16), B.astype(np.float16)),
    (A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)),
    (A[:0], B),
    (A[:, :0], B[:0]),
    (A, B[:, :0]),
]
UNFIT = "cannot multiply shapes"
INNER = "inner dimensions"

PRODUCTS = [
    Row(
        f"MatMul-{'transposed' if ta else 'plain'}_{'transposed' if tb else 'plain'}",
        # Not ``ops.matmul``, which makes another op where ranks are unknown.
        lambda a, b, ta=ta, tb=tb: make_one("MatMul", [a, b], {"transpose_a": ta, "transpose_b": tb}),
        lambda a, b, ta=ta, tb=tb: _product(_turned(a, ta), _turned(b, tb)),
    ).on(
        [(_laid(a, ta), _laid(b, tb)) for a, b in MATRICES],
        [(_laid(A, ta), _laid(B, tb))],
        [
            Fault((A, np.ones([7, 9], np.float32)), UNFIT, INNER),
            Fault((A, np.ones([3], np.float32)), UNFIT, "two matrices"),
        ],
        rtol=1e-5,
    )
    for ta in (False, True)
    for tb in (False, True)
]


def _wide(op: str, dtype: Any) -> dict[str, Any]:
    return {"Tout": dtype} if op == "BatchMatMulV3" else {}


def _batches(op: str, label: str, adj_x: bool, adj_y: bool, inputs: list[Any]) -> Row:
    attrs = {"adj_x": adj_x, "adj_y": adj_y}
    return Row(
        f"{op}-{label}",
        lambda x, y: make_one(op, [x, y], {**attrs, **_wide(op, x.dtype)}),
        lambda x, y: _product(_adjoint(x, adj_x), _adjoint(y, adj_y)),
    ).on(
        [(_adjoint(x, adj_x), _adjoint(y, adj_y)) for x, y in inputs],
        [(_adjoint(X, adj_x), _adjoint(Y, adj_y))],
        [
            Fault((X, np.ones([2, 7, 9], np.float32)), UNFIT, INNER),
            Fault((X, np.ones([3], np.float32)), UNFIT, "matrices or batches"),
        ],
        rtol=2e-3,
    )


SAME = [
    (X, Y),
    (A, B),
    (COMPLEX[None], B.astype(np.complex64)[None] * 1j),
    (X.astype(np.int32), Y.astype(np.int32)),
    (X.astype(np.float16), Y.astype(np.float16)),
    (X[:0], Y[:0]),
    (X[:, :, :0], Y[:, :0]),
    (X.astype(np.float64), Y.astype(np.float64)),
]
WIDE = [(X, Y[:1]), (X[0], Y), (X, Y[0]), (np.stack([X, X, X]), Y), (X[:0], Y[:1])]
TURNS = [(False, False), (True, False), (False, True), (True, True)]
BATCHES = [
    row
    for adj_x, adj_y in TURNS
    for name in [f"{'adjoint' if adj_x else 'plain'}_{'adjoint' if adj_y else 'plain'}"]
    for row in (
        _batches("BatchMatMul", name, adj_x, adj_y, SAME),
        _batches("BatchMatMulV2", name, adj_x, adj_y, [*SAME, *WIDE]),
        _batches("BatchMatMulV3", name, adj_x, adj_y, [*SAME, *WIDE]),
    )
]
OLDER = Row("BatchMatMul-does_not_broadcast", {}, np.matmul).on(
    [],
    faults=[Fault((X, Y[:1]), "batches of one shape", "batches"), Fault((X, Y[0]), "batches of one shape", "batches")],
)
NEWER = Row("BatchMatMulV2-broadcast", {}, np.matmul).on(
    WIDE, [(X[:1], Y), (X, Y[0]), (np.stack([X, X, X]), Y)], rtol=1e-5
)

WIDER = Row(
    "BatchMatMulV3-of_a_wider_type", {"Tout": int32}, lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32))
).on([(np.full([2, 1, 3], 100, np.int8), np.full([3, 2], -100, np.int8))])
