"""Sparse tensors: entries by coordinate, and the ops that make them dense, order or multiply them.

Owns ``SparseTensor``, three dense tensors that represent one large one, and ``sparse_placeholder``. Sessions
fetch and feed them through the conversions of the session package. The arithmetic on numpy arrays, and the op
types, are in ``kernels`` and ``sums``.

Invariant: the entries of a ``SparseTensor`` may be in any order. Ops that need row-major order, as
TensorFlow's do, report an error for any other order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.default_session import run_in_session
from actorsession.graph.dtypes import as_dtype, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape, shown
from actorsession.ops import raw
from actorsession.ops.arrays.placeholder import placeholder, placeholder_with_default
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.composite_tensor import CompositeTensor
from actorsession.ops.shape_operands import shape_from
from actorsession.ops.structures import Composite
from actorsession.opsets.sparse.with_dense import DenseOperators
from actorsession.process_bound import GraphBound

__all__ = [
    "SparseTensor",
    "SparseTensorValue",
    "checked_sparse",
    "parts_of",
    "sparse_add",
    "sparse_placeholder",
    "sparse_reorder",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
]


class SparseTensorValue(NamedTuple):
    """The fetched value of a ``SparseTensor``, which may also be fed for one.

    Attributes:
        indices: coordinates of the entries, int64, shape ``[n, rank]``.
        values: the entries, shape ``[n]``.
        dense_shape: shape of the whole tensor, int64, shape ``[rank]``.
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(DenseOperators, CompositeTensor, Composite, GraphBound):
    """Some entries of a larger tensor; the others are zero (or empty strings).

    Args:
        indices: coordinates of the entries, int64, shape ``[n, rank]``.
        values: the entries, shape ``[n]``, of any dtype.
        dense_shape: shape of the whole tensor, int64, shape ``[rank]``. If its value is known, it determines
            the static shape and can no longer be fed.

    Raises:
        TypeError: if indices or shape are not int64.
        ValueError: if the shapes of the parts do not fit each other.
    """

    __slots__ = ("_dense_shape", "_indices", "_shape")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        graph = graph_of(indices, values, dense_shape)
        with graph.as_default(), graph.name_scope("SparseTensor"):
            self._indices = convert_to_tensor(indices, int64, "indices", graph=graph)
            self._values = convert_to_tensor(values, None, "values", graph=graph)
            self._dense_shape = convert_to_tensor(dense_shape, int64, "dense_shape", graph=graph)
        self._check_parts()
        self._shape = _used_as_shape(self._dense_shape)

    def _check_parts(self) -> None:
        parts = {"indices": (self._indices, 2), "values": (self._values, 1), "dense_shape": (self._dense_shape, 1)}
        for name, (part, rank) in parts.items():
            if part.shape.rank not in (None, rank):
                raise ValueError(f"{name} of a SparseTensor have rank {rank}, got shape {part.shape}")
        rows, columns = self._indices.spec.shape.with_rank(2)
        (count,), (rank_known,) = (t.spec.shape.with_rank(1) for t in (self._values, self._dense_shape))
        for what, a, b in (("rows", rows, count), ("columns", columns, rank_known)):
            if a is not None and b is not None and a != b:
                raise ValueError(
                    f"indices of shape {self._indices.shape} do not fit values of shape "
                    f"{self._values.shape} and a dense_shape of shape {self._dense_shape.shape}: "
                    f"{a} {what} against {b}"
                )

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensorValue | SparseTensor) -> SparseTensor:
        """Return a fetched value as a sparse tensor of constants.

        Raises:
            TypeError: if the argument is no ``SparseTensorValue`` or ``SparseTensor``.
        """
        if not isinstance(sparse_tensor_value, (SparseTensorValue, SparseTensor)):
            raise TypeError(
                "from_value takes a SparseTensorValue or SparseTensor, got "
                f"{type(sparse_tensor_value).__name__}: {sparse_tensor_value!r:.100}"
            )
        parts = sparse_tensor_value
        return cls(parts.indices, parts.values, parts.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The coordinates of the entries, shape ``[n, rank]``."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The entries, shape ``[n]``."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole tensor as an int64 vector."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor, as far as it is known."""
        return shown(self._shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape of the whole tensor (TensorFlow's older spelling)."""
        return shown(self._shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """Refine the static shape of the whole tensor.

        Raises:
            ValueError: if it contradicts the known shape.
        """
        self._shape = self._shape.merge_with(as_shape(shape))

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Evaluate the tensor in a session; see ``Tensor.eval``.

        Returns:
            A ``SparseTensorValue``; for an ``AsyncSession`` an awaitable of it.
        """
        return run_in_session(self, feed_dict, session, "eval()")

    def with_values(self, new_values: Any) -> SparseTensor:
        """Return a sparse tensor with other values, possibly of another dtype, at the same coordinates."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def _parts(self) -> list[Tensor]:
        return [self._indices, self._values, self._dense_shape]

    def _like(self, parts: list[Any]) -> Any:
        whole = all(isinstance(part, Tensor) for part in parts)
        return SparseTensor(*parts) if whole else SparseTensorValue(*parts)

    def _varying_shapes(self) -> list[TensorShape]:
        rank = self._indices.spec.shape.with_rank(2)[1]
        return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]

    def __str__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"

    def __repr__(self) -> str:
        if self.graph.shown_prefix:
            return str(self)
        return (
            f"<SparseTensor values={self._values.name!r} indices={self._indices.name!r} "
            f"shape={self._shape} dtype={self.dtype.name}>"
        )


def checked_sparse(value: Any) -> SparseTensor:
    """Return a sparse tensor, or a fetched value as one.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"a SparseTensor is wanted, got {type(value).__name__}: {value!r:.100}")
    return value


def parts_of(sparse: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the indices, values and dense shape of a sparse tensor."""
    return sparse.indices, sparse.values, sparse.dense_shape


def _used_as_shape(vector: Tensor) -> TensorShape:
    """Return the static shape that a vector describes; its source can no longer be fed."""
    waiting = [vector]
    while waiting:
        part = waiting.pop()
        kind = part.op.type
        if kind in ("Cast", "ConcatV2"):
            waiting.extend(part.op.inputs[: 1 if kind == "Cast" else -1])
        elif kind == "Pack":
            for scalar in part.op.inputs:
                get_static_value(scalar)
        elif kind != "Shape":  # a Shape does not depend on feeds
            get_static_value(part)
    return shape_from(vector)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor that is fed in every step.

    Args:
        dtype: element type of the entries.
        shape: shape of the whole tensor, ``None`` or -1 where unknown, or an int64 vector. It is the value of
            ``dense_shape`` unless that is fed.
        name: name scope of the three placeholders.

    Returns:
        A sparse tensor for which a ``SparseTensorValue`` or a tuple (indices, values, shape) is fed.
    """
    prefix = "" if name is None else f"{name}/"
    names = {part: f"{prefix}{part}" if prefix else None for part in ("shape", "shape_default", "values", "indices")}
    rank, known = None, TensorShape(None)
    if shape is None:
        dense_shape = placeholder(int64, [None], names["shape"])
    else:
        default, known = _default_shape(shape, names["shape_default"])
        rank = default.spec.shape.with_rank(1)[0]
        # Through a node, so that the shape stays feedable although its default is known.
        dense_shape = placeholder_with_default(default, default.shape, names["shape"])
    values = placeholder(dtype, [None], names["values"])
    result = SparseTensor(placeholder(int64, [None, rank], names["indices"]), values, dense_shape)
    result.set_shape(known)
    return result


def _default_shape(shape: Any, name: str | None) -> tuple[Tensor, TensorShape]:
    if hasattr(shape, "_as_graph_element"):
        extents = convert_to_tensor(shape, int64)
        return extents, _used_as_shape(extents)
    listed = shape.as_list() if isinstance(shape, TensorShape) else list(shape)
    dims = [None if d is None or d == -1 else d for d in listed]
    filled = np.array([-1 if d is None else d for d in dims], np.int64)
    return constant(filled, int64, name=name or "Const"), TensorShape(dims)


# -- ops -----------------------------------------------------------------------------------------


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a dense tensor with some entries set and a default elsewhere.

    Args:
        sparse_indices: coordinates, int32 or int64: ``[n, rank]``, ``[n]`` for a vector, or a scalar.
        output_shape: shape of the result, of the same dtype.
        sparse_values: the entries, one for each coordinate or a scalar for all.
        default_value: scalar for all other positions.
        validate_indices: whether coordinates must be in row-major order without repetition.
    """
    graph = graph_of(sparse_indices, output_shape, sparse_values, default_value)
    with graph.as_default():
        indices = convert_to_tensor(sparse_indices)
        dims = convert_to_tensor(output_shape, indices.dtype)
        values = convert_to_tensor(sparse_values)
        default = convert_to_tensor(default_value, values.dtype)
        return raw.SparseToDense(indices, dims, values, default, validate_indices=bool(validate_indices), name=name)


def sparse_tensor_to_dense(
    sp_input: SparseTensor, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Return a sparse tensor as a dense one.

    Args:
        sp_input: the sparse tensor.
        default_value: scalar for all other positions; zero, or an empty string, if left out.
        validate_indices: whether coordinates must be in row-major order without repetition.

    Raises:
        TypeError: if ``sp_input`` is not sparse.
    """
    sparse = checked_sparse(sp_input)
    if default_value is None:
        default_value = b"" if sparse.dtype.kind == "s" else np.zeros((), sparse.dtype.np_dtype)
    dense = sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name)
    dense.set_shape(sparse.shape)
    return dense


def sparse_reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with its entries in row-major order.

    Args:
        sp_input: the sparse tensor.
    """
    sparse = checked_sparse(sp_input)
    indices, values = raw.SparseReorder(*parts_of(sparse), name=name)
    ordered = SparseTensor(indices, values, sparse.dense_shape)
    ordered.set_shape(sparse.shape)
    return ordered


def sparse_tensor_dense_matmul(
    sp_a: SparseTensor, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """Return the product of a sparse and a dense matrix.

    Args:
        sp_a: the sparse matrix; its entries may come in any order.
        b: the dense matrix, of the same dtype.
        adjoint_a: whether ``sp_a`` is transposed and conjugated first.
        adjoint_b: likewise for ``b``.
    """
    sparse = checked_sparse(sp_a)
    dense = convert_to_tensor(b, sparse.dtype, graph=sparse.graph)
    with sparse.graph.name_scope(name or "SparseTensorDenseMatMul"):
        product = raw.SparseTensorDenseMatMul(
            *parts_of(sparse), dense, adjoint_a=bool(adjoint_a), adjoint_b=bool(adjoint_b)
        )
    rows = as_shape(sparse.shape)[1 if adjoint_a else 0]
    product.set_shape([rows, dense.spec.shape[0 if adjoint_b else 1]])
    return product


def sparse_add(a: Any, b: Any, threshold: Any = None, name: str | None = None) -> Any:
    """Return the sum of two tensors of which at least one is sparse.

    Args:
        a: a sparse or dense tensor.
        b: a sparse or dense tensor of the same dtype and shape; nothing is broadcast.
        threshold: sums of two sparse tensors drop entries whose absolute value is below it; 0 if left out,
            which keeps entries that became zero.

    Returns:
        A sparse tensor for two sparse ones, else a dense one.

    Raises:
        TypeError: if neither is sparse.
    """
    limit = 0 if threshold is None else threshold
    if not isinstance(a, SparseTensor):
        a, b = b, a
    sparse = checked_sparse(a)
    if not isinstance(b, SparseTensor):
        other = convert_to_tensor(b, sparse.dtype, graph=sparse.graph)
        return raw.SparseTensorDenseAdd(*parts_of(sparse), other, name=name)
    real = as_dtype({"complex64": "float32", "complex128": "float64"}.get(sparse.dtype.name, sparse.dtype.name))
    least = convert_to_tensor(limit, real, "thresh", graph=sparse.graph)
    added = SparseTensor(*raw.SparseAdd(*parts_of(sparse), *parts_of(b), least, name=name))
    added.set_shape(sparse.shape.merge_with(b.shape))
    return added
