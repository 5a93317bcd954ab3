"""Rows of sums of products by labels, of least squares, and of functions of matrices."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import actorsession as acts
from actorsession import einsum, matmul, ones_like
from tests.ops.table.row import Fault, Row

RNG = np.random.default_rng(7)


def _array(*shape: int, dtype: Any = np.float64) -> Any:
    made = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RNG.normal(size=shape)
    return (made * 3).astype(dtype) if np.dtype(dtype).kind == "i" else made.astype(dtype)


# -- Einsum ----------------------------------------------------------------------------------------

# An equation, shapes to compute for, and those to differentiate at.
EQUATIONS: list[tuple[str, list[Any], list[Any]]] = [
    ("ij->ji", [[(2, 3)], [(0, 3)]], [[(2, 3)]]),
    ("ij->i", [[(2, 3)], [(2, 0)]], [[(2, 3)]]),
    ("ijk->k", [[(2, 3, 4)]], [[(2, 3, 2)]]),
    ("ij->", [[(2, 3)]], [[(2, 3)]]),
    ("ii->", [[(3, 3)]], [[(3, 3)]]),
    ("ii->i", [[(3, 3)]], [[(3, 3)]]),
    ("iij->j", [[(2, 2, 3)]], [[(2, 2, 3)]]),
    ("ijij->ji", [[(2, 3, 2, 3)]], [[(2, 3, 2, 3)]]),
    ("iji->j", [[(2, 3, 2)]], [[(2, 3, 2)]]),
    ("->", [[()]], [[()]]),
    ("i->i", [[(3,)]], [[(3,)]]),
    ("...ij->...ji", [[(4, 2, 3)], [(2, 3)]], [[(2, 2, 3)]]),
    ("...ij->...i", [[(4, 2, 3)]], [[(2, 2, 3)]]),
    ("i...->i...", [[(3,)], [(3, 2)]], [[(2, 3)]]),
    ("i...i->...", [[(3, 2, 3)]], [[(2, 3, 2)]]),
    ("i...j->ij...", [[(3, 2, 4)]], [[(2, 3, 2)]]),
    ("ij,jk->ik", [[(2, 3), (3, 4)], [(0, 3), (3, 4)], [(2, 0), (0, 4)]], [[(2, 3), (3, 2)]]),
    ("ij,jk->ki", [[(2, 3), (3, 4)]], [[(2, 3), (3, 2)]]),
    ("ij,jk->", [[(2, 3), (3, 4)]], [[(2, 3), (3, 2)]]),
    ("ij,ij->", [[(2, 3), (2, 3)]], [[(2, 3), (2, 3)]]),
    ("ij,ij->ij", [[(2, 3), (2, 3)]], [[(2, 3), (2, 3)]]),
    ("i,j->ij", [[(2,), (3,)]], [[(2,), (3,)]]),
    (",->", [[(), ()]], [[(), ()]]),
    (",ij->ij", [[(), (2, 3)]], [[(), (2, 3)]]),
    ("bij,bjk->bik", [[(5, 2, 3), (5, 3, 4)]], [[(2, 2, 3), (2, 3, 2)]]),
    ("bijc,bjk->ibk", [[(5, 2, 3, 2), (5, 3, 4)]], [[(2, 2, 3, 2), (2, 3, 2)]]),
    ("ii,ij->j", [[(2, 2), (2, 3)]], [[(2, 2), (2, 3)]]),
    ("ijj,jkk->ik", [[(2, 3, 3), (3, 2, 2)]], [[(2, 3, 3), (3, 2, 2)]]),
    ("ij,kl->il", [[(2, 3), (4, 5)]], [[(2, 3), (2, 2)]]),
    (
        "...ij,...jk->...ik",
        [[(5, 2, 3), (5, 3, 4)], [(2, 3), (5, 3, 4)], [(1, 2, 3), (5, 3, 4)], [(6, 1, 2, 3), (5, 3, 4)]],
        [[(2, 2, 3), (2, 3, 2)], [(1, 2, 3), (2, 3, 2)], [(2, 3), (2, 3, 2)]],
    ),
    ("...i,i->...", [[(2, 3, 4), (4,)]], [[(2, 2, 3), (3,)]]),
    ("i...,...i->...", [[(2, 3, 1), (1, 4, 2)]], [[(2, 3, 1), (1, 2, 2)]]),
    ("...,...->...", [[(2, 3), (3,)], [(), (3,)]], [[(2, 3), (3,)], [(), (3,)]]),
]
EINSUM = [
    Row(
        f"Einsum-{equation}",
        {"equation": equation},
        lambda *xs, equation=equation: np.asarray(np.einsum(equation, *xs)),
    ).on(
        [tuple(_array(*shape) for shape in shapes) for shapes in cases],
        [tuple(_array(*shape) for shape in shapes) for shapes in smooth],
        rtol=1e-5,
    )
    for equation, cases, smooth in EQUATIONS
]
DTYPES = [np.float32, np.complex64, np.int32, np.int64, np.complex128]
EINSUM_DTYPES = Row("Einsum-dtypes", lambda x, y: einsum("ij,jk->ik", x, y), np.matmul).on(
    [(_array(2, 3, dtype=dtype), _array(3, 4, dtype=dtype)) for dtype in DTYPES],
    faults=[
        Fault((np.ones((2, 3)), np.ones((4, 2))), "'j' counts 3 and 4", "'j'"),
        Fault((np.ones((2, 3)), np.ones(3)), "do not fit", "do not fit shape"),
    ],
    rtol=1e-5,
)
NARROW = [np.float16, ml_dtypes.bfloat16]
EINSUM_NARROW = Row(
    "Einsum-narrow",
    lambda x, y: einsum("ij,jk->ik", x, y),
    lambda x, y: (x.astype(np.float32) @ y.astype(np.float32)).astype(x.dtype),
).on([(_array(2, 3, dtype=dtype), _array(3, 4, dtype=dtype)) for dtype in NARROW])
DOUBLED: list[tuple[str, Any, Any]] = [
    ("i->ii", (3,), np.diag),
    ("ji->iji", (2, 3), lambda x: np.stack([np.diag(row) for row in x], 1)),
]
EINSUM_DOUBLED = [
    Row(f"Einsum-doubled_{equation}", {"equation": equation}, wanted).on([_array(*shape)], [_array(*shape)])
    for equation, shape, wanted in DOUBLED
]
UNFIT: list[tuple[str, Any]] = [
    ("ii->i", [([(2, 3)], "'i' counts 2 and 3", "'i' counts 2 and 3")]),
    ("...i->i", [([(2, 3)], "the result needs it", "the result needs it")]),
    ("ij->ij", [([(2, 3, 4)], "2 labels do not fit", "2 labels do not fit shape")]),
    ("...i,...i->...", [([(2, 3), (4, 3)], "counts 2 and 4", "broadcast")]),
]
EINSUM_FAULTS = [
    Row(f"Einsum-faults_{equation}", {"equation": equation}).on(
        [], faults=[Fault(tuple(np.ones(s) for s in shapes), match, static) for shapes, match, static in faults]
    )
    for equation, faults in UNFIT
]

# -- MatrixSolveLs ---------------------------------------------------------------------------------


def _regularised(a: Any, b: Any, weight: float) -> Any:
    """The solution of a longer system, whose new rows ask for short vectors."""
    root = np.sqrt(weight)
    unit = np.broadcast_to(root * np.eye(a.shape[-1]), (*a.shape[:-2], a.shape[-1], a.shape[-1]))
    zeros = np.zeros((*b.shape[:-2], a.shape[-1], b.shape[-1]))
    longer, right = np.concatenate([a, unit], -2), np.concatenate([b, zeros], -2)
    return (np.linalg.pinv(longer) @ right).astype(a.dtype)


SYSTEMS = [
    (_array(4, 2), _array(4, 3)),
    (_array(2, 4), _array(2, 3)),
    (_array(2, 3, 3), _array(2, 3, 1)),
    (_array(2, 4, 2, dtype=np.float32), _array(2, 4, 1, dtype=np.float32)),
    (_array(4, 2, dtype=np.complex128), _array(4, 1, dtype=np.complex128)),
    (np.zeros((0, 4, 2)), np.zeros((0, 4, 1))),
]
DEFICIENT = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
FIT = "of as many rows"
LEAST_SQUARES = [
    Row(
        f"MatrixSolveLs-quick_{'with' if weight else 'without'}_weight",
        lambda a, b, weight=weight: acts.linalg.lstsq(a, b, weight),
        lambda a, b, weight=weight: _regularised(a, b, weight),
    ).on(
        SYSTEMS,
        faults=[
            Fault((np.eye(2), np.ones((3, 1))), FIT, FIT),
            Fault((np.ones((2, 2, 2)), np.ones((3, 2, 1))), FIT, "one batch"),
        ],
        rtol=1e-3,
    )
    for weight in (0.0, 0.5)
]
SLOW = Row(
    "MatrixSolveLs-slow",
    lambda a, b: acts.linalg.lstsq(a, b, fast=False),
    lambda a, b: (np.linalg.pinv(a) @ b).astype(a.dtype),
).on([*SYSTEMS, (DEFICIENT, np.ones((3, 1)))], rtol=1e-3)


def _of_shapes(weight: float, *shapes: Any) -> Any:
    """Built with static shapes set: without them the gradient branches, which only sessions run."""

    def build(a: Any, b: Any) -> Any:
        a.set_shape(shapes[0])
        b.set_shape(shapes[1])
        return acts.linalg.lstsq(a, b, weight)

    return build


SHAPES: list[Any] = [[(4, 2), (4, 3)], [(2, 3), (2, 2)], [(2, 3, 2), (2, 3, 1)]]
LEAST_SQUARES_SMOOTH = [
    Row(f"MatrixSolveLs-{label}_gradient_{number}", _of_shapes(weight, *shapes), lambda a, b: None).on(
        [], [tuple(_array(*shape) for shape in shapes)]
    )
    for number, shapes in enumerate(SHAPES)
    for label, weight in [("plain", 0.0), ("weighted", 0.5)]
]

# -- functions of matrices -------------------------------------------------------------------------


def _about_definite(x: Any) -> Any:
    return matmul(x, x, adjoint_b=True) + acts.linalg.diag(ones_like(acts.linalg.diag_part(x)))


def _positive(x: Any) -> Any:
    """A matrix whose eigenvalues have positive real parts, which is not symmetric."""
    return (x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1]) + 0.1 * np.triu(x)).astype(x.dtype)


ROOTED = [_array(3, 3), _array(2, 2, 2, dtype=np.float32), _array(3, 3, dtype=np.complex128)]
SQUARE_ROOT = Row("MatrixSquareRoot", lambda x: matmul(acts.linalg.sqrtm(x), acts.linalg.sqrtm(x)), lambda x: x).on(
    [
        *[(_positive(x),) for x in ROOTED[:2]],
        ROOTED[2],
        np.array([[1.0, 2.0], [2.0, 4.0]]),
        np.array([[0.0, -1.0], [1.0, 0.0]]),
        np.zeros((0, 2, 2)),
        np.zeros((0, 0)),
        np.full((2, 2), np.nan),
    ],
    faults=[Fault(np.ones((2, 3)), "square matrices", "3 columns")],
    needs="scipy",
    rtol=1e-4,
)
COMPLEX_ROOT = Row("MatrixSquareRoot-complex_of_real", acts.linalg.sqrtm, lambda x: np.full_like(x, np.nan)).on(
    [np.diag([-1.0, 1.0])], needs="scipy"
)
SQUARE_ROOT_SMOOTH = Row("MatrixSquareRoot-gradient", lambda x: acts.linalg.sqrtm(_about_definite(x))).on(
    [], [_array(3, 3), _array(2, 2, 2)], needs="scipy"
)
LOGARITHM = Row("MatrixLogarithm", acts.linalg.logm, lambda x: _logarithm(x)).on(
    [
        _array(3, 3, dtype=np.complex128),
        _array(2, 4, 4, dtype=np.complex64),
        np.eye(3, dtype=np.complex128),
        np.array([[1.0, 1e3], [0.0, 1.0]], np.complex128),
        np.zeros((0, 2, 2), np.complex64),
        np.zeros((0, 0), np.complex64),
    ],
    faults=[Fault(np.ones((2, 3), np.complex64), "square matrices", "3 columns")],
    needs="scipy",
    rtol=2e-4,
)


def _logarithm(x: Any) -> Any:
    """By eigenvectors, but of a matrix that lacks some: there by the series of a nilpotent rest."""
    if x.shape[-1] == 2 and x.size and x[..., 0, 1].flat[0] == 1e3:
        return np.array([[0.0, 1e3], [0.0, 0.0]], x.dtype)
    values, vectors = np.linalg.eig(x.astype(np.complex128))
    return ((vectors * np.log(values)[..., None, :]) @ np.linalg.inv(vectors)).astype(x.dtype)
