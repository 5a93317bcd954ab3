"""Diagonals of batches of matrices: made into matrices, extracted, or replaced.

Owns ``MatrixDiagV3``, ``MatrixDiagPartV3`` and ``MatrixSetDiagV3``. One diagonal is a vector in the last
axis. Several, from ``k[1]`` above down to ``k[0]`` below, are a band: rows of equal width in this order.
``align`` specifies the ends at which shorter ones are aligned. A diagonal is a slice of the flattened matrix,
so each is copied by one assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import full, op
from actorsession.ops.shape_operands import Ints, constant_ints, ints
from actorsession.records import dataclass

__all__ = ["matrix_diag", "matrix_diag_part", "matrix_set_diag"]

_ErrorClass: TypeAlias = Callable[[str], Exception]
_ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


# -- public functions ------------------------------------------------------------------------------


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with the given diagonals.

    Args:
        diagonal: ``[..., length]`` for one diagonal, ``[..., number, length]`` for several.
        k: index of the diagonal, 0 for the main one, positive above it; or the lowest and the highest of
            several.
        num_rows: number of rows; as few as the diagonals need if -1.
        num_cols: number of columns; likewise. With neither given the matrices are square.
        padding_value: value of the entries outside the diagonals.
        align: the ends at which diagonals above and below the main one are aligned in ``diagonal``, such as
            ``RIGHT_LEFT``.

    Raises:
        ValueError: for shapes that can never fit, or an unknown ``align``.
    """
    value = convert_to_tensor(diagonal)
    with value.graph.name_scope(name) as scope:
        which, rows, columns = (
            convert_to_tensor(size, int32, what, graph=value.graph)
            for size, what in ((k, "k"), (num_rows, "num_rows"), (num_cols, "num_cols"))
        )
        filler = _padding(padding_value, value)
        return raw.MatrixDiagV3(value, which, rows, columns, filler, align=align, name=scope)


def matrix_diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Return the diagonals of matrices, the inverse of ``matrix_diag``; arguments as there.

    Returns:
        ``[..., length]`` for one diagonal, ``[..., number, length of the longest]`` for several, the shorter
        ones padded with ``padding_value``.

    Raises:
        ValueError: for a diagonal that the matrices do not have, or an unknown ``align``.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name) as scope:
        which = convert_to_tensor(k, int32, "k", graph=value.graph)
        filler = _padding(padding_value, value)
        return raw.MatrixDiagPartV3(value, which, filler, align=align, name=scope)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return matrices with some diagonals replaced; arguments as for ``matrix_diag``.

    Raises:
        ValueError: for a diagonal that the matrices do not have, shapes that can never fit, or an unknown
            ``align``.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name) as scope:
        entries = convert_to_tensor(diagonal, value.dtype, "diagonal", graph=value.graph)
        which = convert_to_tensor(k, int32, "k", graph=value.graph)
        return raw.MatrixSetDiagV3(value, entries, which, align=align, name=scope)


def _padding(value: Any, beside: Tensor) -> Tensor:
    """Return the padding in the dtype of ``beside``; for bool, TensorFlow's 0 means ``False``."""
    if not hasattr(value, "_as_graph_element"):
        if beside.dtype.is_bool:
            value = bool(value)
        elif beside.dtype.kind == "s" and value == 0:
            value = b""
    return convert_to_tensor(value, beside.dtype, "padding_value", graph=beside.graph)


# -- the positions of diagonals in a matrix and in a band --------------------------------------------


@dataclass(frozen=True, slots=True)
class _Band:
    """The diagonals ``low`` to ``high`` of a matrix.

    Attributes:
        rows: number of rows of the matrix.
        columns: number of columns of the matrix.
        low: the lowest diagonal.
        high: the highest diagonal.
        align: the end at which shorter diagonals are placed, above and below the main one.
    """

    rows: int
    columns: int
    low: int
    high: int
    align: str

    @property
    def width(self) -> int:
        """The length of the longest diagonal."""
        return min(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    @property
    def shape(self) -> Ints:
        """The shape of one matrix's diagonals in the band: one axis for one diagonal, else two."""
        if self.low == self.high:
            return (self.width,)
        return (self.high - self.low + 1, self.width)

    def diagonals(self) -> Iterator[tuple[int, slice, slice]]:
        """Yield each diagonal's row in the band, its slice of that row, and that of the flat matrix."""
        above, below = (side == "LEFT" for side in self.align.split("_"))
        for row, d in enumerate(range(self.high, self.low - 1, -1)):
            length = min(self.rows + min(d, 0), self.columns - max(d, 0))
            left = (d >= 0 and above) or (d <= 0 and below)
            first = 0 if left else self.width - length
            start = max(d, 0) - min(d, 0) * self.columns
            step = self.columns + 1
            stop = start + (length - 1) * step + 1 if length > 0 else start
            yield row, slice(first, first + max(length, 0)), slice(start, stop, step)


def _ends_of(op: str, k: Ints, error: _ErrorClass) -> tuple[int, int]:
    """Return the lowest and the highest diagonal that ``k`` specifies."""
    if not 1 <= len(k) <= 2 or k[0] > k[-1]:
        raise error(f"{op}: k is one diagonal, or the lowest and the highest; got {list(k)}")
    return k[0], k[-1]


def _check_ends(op: str, ends: tuple[int, int], rows: Dim, columns: Dim, error: _ErrorClass) -> None:
    """Raise ``error`` if matrices with the given numbers of rows and columns lack one of the diagonals."""
    for d in ends:
        # The main diagonal of an empty matrix exists and is empty.
        if d and ((rows is not None and d <= -rows) or (columns is not None and d >= columns)):
            raise error(f"{op}: matrices of {rows} rows and {columns} columns have no diagonal {d}")


# -- functions shared by shape rules -----------------------------------------------------------------


def _check_align(ctx: InferContext) -> None:
    if ctx.attrs["align"] not in _ALIGNS:
        raise ValueError(f"{ctx.op}: align is one of {', '.join(_ALIGNS)}; got {ctx.attrs['align']!r}")


def _known_ends(ctx: InferContext, index: int) -> tuple[int, int] | None:
    spec, k = ctx.inputs[index], constant_ints(ctx, index)
    if spec.dtype is not int32:
        raise TypeError(f"{ctx.op}: k is int32, got {spec.dtype.name}")
    if spec.shape.rank not in (None, 0, 1):
        raise ValueError(f"{ctx.op}: k is a scalar or a vector of two, got shape {spec.shape}")
    return None if k is None else _ends_of(ctx.op, k, ValueError)


def _split_matrix(ctx: InferContext) -> tuple[TensorShape, Dim, Dim] | None:
    """Return the batch, rows and columns of the first input, if its rank is known."""
    shape = ctx.inputs[0].shape
    if shape.rank is None:
        return None
    if shape.rank < 2:
        raise ValueError(f"{ctx.op} takes matrices, got shape {shape}")
    return TensorShape(shape[:-2]), shape[-2], shape[-1]


# -- MatrixDiagV3 ----------------------------------------------------------------------------------


def _extents(
    op: str, ends: tuple[int, int], width: int, rows: int, columns: int, error: _ErrorClass
) -> tuple[int, int]:
    """Return the rows and columns of matrices with diagonals of the given width; -1 leaves them open."""
    least_rows, least_columns = width - min(ends[1], 0), width + max(ends[0], 0)
    if rows == columns == -1:
        side = max(least_rows, least_columns)
        return side, side
    extents = least_rows if rows == -1 else rows, least_columns if columns == -1 else columns
    fits = extents[0] >= least_rows and extents[1] >= least_columns
    if not fits or (extents[0] != least_rows and extents[1] != least_columns):
        raise error(
            f"{op}: diagonals {ends[0]} to {ends[1]} of length {width} are those of matrices of "
            f"{least_rows} rows or {least_columns} columns, got {rows} and {columns}"
        )
    return extents


def _check_count(op: str, ends: tuple[int, int], count: Dim, error: _ErrorClass) -> None:
    expected = ends[1] - ends[0] + 1
    if count not in (None, expected):
        raise error(f"{op}: {expected} diagonals were announced, got {count}")


def _matrix_diag_shape(ctx: InferContext) -> list[TensorShape]:
    _check_align(ctx)
    shape, ends = ctx.inputs[0].shape, _known_ends(ctx, 1)
    rows, columns = constant_ints(ctx, 2), constant_ints(ctx, 3)
    rank = shape.rank
    if rank == 0:
        raise ValueError("MatrixDiagV3: diagonals have rank at least 1, got a scalar")
    if rank is None or ends is None:
        return [unknown_shape]
    several = ends[0] != ends[1]
    if several:
        if rank < 2:
            raise ValueError(f"MatrixDiagV3: several diagonals take two axes, got {shape}")
        _check_count(ctx.op, ends, shape[-2], ValueError)
    batch, width = TensorShape(shape[: rank - 1 - several]), shape[-1]
    if rows is None or columns is None or width is None:
        return [batch.concatenate([None, None])]
    extents = _extents(ctx.op, ends, width, rows[0], columns[0], ValueError)
    return [batch.concatenate(list(extents))]


def _matrix_diag_sentence(xp: Any, ctx: KernelContext) -> Kernel:
    align, op = ctx.attrs["align"], ctx.op

    def filled(x: Any, k: Any, num_rows: Any, num_cols: Any, filler: Any) -> Any:
        ends = _ends_of(op, ints(k), InvalidArgumentError)
        several = ends[0] != ends[1]
        if x.ndim < 1 + several:
            raise InvalidArgumentError(f"{op}: diagonals have more axes than {list(x.shape)}")
        if several:
            _check_count(op, ends, x.shape[-2], InvalidArgumentError)
        given_extents = int(num_rows), int(num_cols)
        rows, columns = _extents(op, ends, x.shape[-1], *given_extents, InvalidArgumentError)
        batch = x.shape[: x.ndim - 1 - several]
        out = full(xp, [*batch, rows * columns], filler, x)
        lines = x if several else x[..., None, :]
        for row, place, cells in _Band(rows, columns, *ends, align).diagonals():
            out[..., cells] = lines[..., row, place]
        return out.reshape(*batch, rows, columns)

    return filled


def _matrix_diag_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    part = matrix_diag_part(grad, k=op.inputs[1], align=op.attrs["align"])
    return [part, None, None, None, None]


# -- MatrixDiagPartV3 ------------------------------------------------------------------------------


def _matrix_diag_part_shape(ctx: InferContext) -> list[TensorShape]:
    _check_align(ctx)
    ends, parts = _known_ends(ctx, 1), _split_matrix(ctx)
    return [unknown_shape if ends is None or parts is None else _band_shape(ctx, ends, *parts)]


def _band_shape(ctx: InferContext, ends: tuple[int, int], batch: TensorShape, rows: Dim, columns: Dim) -> TensorShape:
    """Return the static shape of the diagonals of matrices."""
    _check_ends(ctx.op, ends, rows, columns, ValueError)
    if rows is not None and columns is not None:
        return batch.concatenate(_Band(rows, columns, *ends, ctx.attrs["align"]).shape)
    several = [] if ends[0] == ends[1] else [ends[1] - ends[0] + 1]
    return batch.concatenate([*several, None])


def _band_of(op: str, x: Any, k: Any, align: str) -> _Band:
    if x.ndim < 2:
        raise InvalidArgumentError(f"{op} takes matrices, got shape {list(x.shape)}")
    low, high = _ends_of(op, ints(k), InvalidArgumentError)
    rows, columns = x.shape[-2:]
    _check_ends(op, (low, high), rows, columns, InvalidArgumentError)
    return _Band(rows, columns, low, high, align)


def _matrix_diag_part_sentence(xp: Any, ctx: KernelContext) -> Kernel:
    align, op = ctx.attrs["align"], ctx.op

    def taken(x: Any, k: Any, filler: Any) -> Any:
        band = _band_of(op, x, k, align)
        cells = x.reshape(*x.shape[:-2], band.rows * band.columns)
        out = full(xp, [*x.shape[:-2], band.high - band.low + 1, band.width], filler, x)
        for row, place, where in band.diagonals():
            out[..., row, place] = cells[..., where]
        return out.reshape(*x.shape[:-2], *band.shape)

    return taken


def _matrix_diag_part_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    zeros = zeros_like(op.inputs[0])
    return [matrix_set_diag(zeros, grad, k=op.inputs[1], align=op.attrs["align"]), None, None]


# -- MatrixSetDiagV3 -------------------------------------------------------------------------------


def _matrix_set_diag_shape(ctx: InferContext) -> list[TensorShape]:
    _check_align(ctx)
    ends, parts, actual = _known_ends(ctx, 2), _split_matrix(ctx), ctx.inputs[1].shape
    shape = ctx.inputs[0].shape
    if ends is not None and parts is not None:
        expected = _band_shape(ctx, ends, *parts)
        if not expected.is_compatible_with(actual):
            raise ValueError(
                f"{ctx.op}: diagonals {ends[0]} to {ends[1]} of {shape} have shape {expected}, got {actual}"
            )
        if actual.rank is not None:
            batch = parts[0].merge_with(actual[: len(parts[0])])
            return [batch.concatenate(shape[-2:])]
    return [shape]


def _matrix_set_diag_sentence(xp: Any, ctx: KernelContext) -> Kernel:
    align, op = ctx.attrs["align"], ctx.op

    def replaced(x: Any, diagonal: Any, k: Any) -> Any:
        band = _band_of(op, x, k, align)
        if diagonal.shape != (*x.shape[:-2], *band.shape):
            raise InvalidArgumentError(
                f"{op}: diagonals {band.low} to {band.high} of a tensor of shape {list(x.shape)} have "
                f"shape {[*x.shape[:-2], *band.shape]}, got {list(diagonal.shape)}"
            )
        out = full(xp, x.shape, x, x).reshape(*x.shape[:-2], band.rows * band.columns)
        lines = diagonal if len(band.shape) == 2 else diagonal[..., None, :]
        for row, place, cells in band.diagonals():
            out[..., cells] = lines[..., row, place]
        return out.reshape(x.shape)

    return replaced


def _matrix_set_diag_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, diagonal, k = op.inputs
    align = op.attrs["align"]
    rest = matrix_set_diag(grad, zeros_like(diagonal), k=k, align=align)
    return [rest, matrix_diag_part(grad, k=k, align=align), None]


op("MatrixDiagV3", _matrix_diag_shape, sentence=_matrix_diag_sentence, grad=_matrix_diag_gradient, sized_by=(1, 2, 3))
op(
    "MatrixDiagPartV3",
    _matrix_diag_part_shape,
    sentence=_matrix_diag_part_sentence,
    grad=_matrix_diag_part_gradient,
    sized_by=(1,),
)
op("MatrixSetDiagV3", _matrix_set_diag_shape, sentence=_matrix_set_diag_sentence, grad=_matrix_set_diag_gradient)
