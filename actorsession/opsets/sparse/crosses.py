"""Crosses of features: every combination of one value of each of several sparse or dense matrices.

Owns ``SparseCross`` and ``SparseCrossV2``. A row of the result has the combinations of that row, as strings
or as hash buckets, which equal TensorFlow's, because otherwise trained tables would not fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64, string
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.rows import op
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue, parts_of
from actorsession.opsets.sparse.kernels import sparse_shapes
from actorsession.opsets.text.fingerprints import farmhash64

__all__ = ["hash_of", "joined_by", "rows_of_sparse", "sparse_cross", "sparse_cross_hashed"]

_MASK, _PRIME = 2**64 - 1, 0xC6A4A7935BD1E995
_KEY = 0xDECAFCAFFE


def sparse_cross(inputs: Sequence[Any], name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Return the combinations of values as strings.

    Args:
        inputs: matrices of integers or strings, sparse or dense, with the same number of rows. Sparse ones
            stand first in a combination.
        separator: what stands between the values; ``_X_`` if left out.

    Returns:
        A sparse matrix of strings.
    """
    sparse, dense = _split(inputs)
    joint = convert_to_tensor("_X_" if separator is None else separator, string)
    indices, values, shapes = _columns(sparse)
    crossed = raw.SparseCrossV2(
        indices, values, shapes, dense, joint, N=len(sparse), sparse_types=[one.dtype for one in sparse], name=name
    )
    return SparseTensor(*crossed)


def sparse_cross_hashed(
    inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return a hash bucket for each combination of values.

    Args:
        inputs: as for ``sparse_cross``.
        num_buckets: the number of buckets; 0 for the hashes themselves.
        hash_key: what the hashes start from.

    Returns:
        A sparse matrix of int64.
    """
    sparse, dense = _split(inputs)
    dtypes = [value.dtype for value in (*(one.values for one in sparse), *dense)]
    indices, values, shapes = _columns(sparse)
    crossed = raw.SparseCross(
        indices,
        values,
        shapes,
        dense,
        N=len(sparse),
        sparse_types=[one.dtype for one in sparse],
        hashed_output=True,
        num_buckets=int(num_buckets),
        hash_key=_KEY if hash_key is None else int(hash_key),
        out_type=int64,
        internal_type=int64 if int64 in dtypes else string,
        name=name,
    )
    return SparseTensor(*crossed)


def _split(inputs: Sequence[Any]) -> tuple[list[SparseTensor], list[Any]]:
    """Return the sparse and the dense ones of inputs, as int64 or strings."""
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise TypeError(f"a cross is of a list of matrices, got {inputs!r:.100}")
    matrices = [SparseTensor(*one) if isinstance(one, SparseTensorValue) else one for one in inputs]
    sparse = [one for one in matrices if isinstance(one, SparseTensor)]
    dense = [convert_to_tensor(one) for one in matrices if not isinstance(one, SparseTensor)]
    wide = [
        one if one.dtype is string else SparseTensor(one.indices, cast(one.values, int64), one.dense_shape)
        for one in sparse
    ]
    return wide, [one if one.dtype is string else cast(one, int64) for one in dense]


def _columns(sparse: Sequence[SparseTensor]) -> list[list[Any]]:
    parts = [parts_of(one) for one in sparse]
    return [[part[place] for part in parts] for place in range(3)]


# -- nodes -----------------------------------------------------------------------------------------


def _shapes(_: InferContext) -> list[TensorShape]:
    return sparse_shapes(2)


def rows_of_sparse(indices: Array, values: Array, shape: Array, what: str) -> list[list[Any]]:
    """Return the values of each row of a sparse matrix.

    Raises:
        InvalidArgumentError: if it is no matrix, or a value is in none of its rows.
    """
    if indices.ndim != 2 or indices.shape[1] != 2 or len(shape) != 2:
        raise InvalidArgumentError(f"{what}: sparse inputs are matrices, got shape {list(shape)}")
    rows: list[list[Any]] = [[] for _ in range(int(shape[0]))]
    for place, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        if not 0 <= place < len(rows):
            raise InvalidArgumentError(f"{what}: row {place} of a matrix of {len(rows)} rows")
        rows[place].append(value)
    return rows


def _kernel(ctx: KernelContext) -> Kernel:
    hashed = bool(ctx.attrs.get("hashed_output", False))
    buckets, key = int(ctx.attrs.get("num_buckets", 0)), int(ctx.attrs.get("hash_key", _KEY))
    count, joins = int(ctx.attrs["N"]), ctx.op == "SparseCrossV2"

    def crossed(*parts: Any) -> Any:
        operands = list(parts[:-1] if joins else parts)
        joint = bytes(np.asarray(parts[-1], object).item()) if joins else b"_X_"
        columns = [
            rows_of_sparse(operands[i], operands[count + i], operands[2 * count + i], ctx.op) for i in range(count)
        ]
        for dense in operands[3 * count :]:
            if np.ndim(dense) != 2:
                raise InvalidArgumentError(f"{ctx.op}: dense inputs are matrices, got {dense!r:.80}")
            columns.append(dense.tolist())
        if len({len(column) for column in columns}) != 1:
            raise InvalidArgumentError(f"{ctx.op}: all inputs have as many rows, got {[len(c) for c in columns]}")
        combine = hash_of(buckets, key) if hashed else joined_by(joint)
        rows = [[combine(each) for each in itertools.product(*row)] for row in zip(*columns, strict=True)]
        places = [(row, place) for row, combined in enumerate(rows) for place in range(len(combined))]
        values = [value for combined in rows for value in combined]
        entries: Any = np.empty(len(values), np.int64 if hashed else object)
        entries[:] = values
        extent = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
        return np.array(places, np.int64).reshape(-1, 2), entries, extent

    return crossed


def joined_by(joint: bytes) -> Callable[[Sequence[Any]], bytes]:
    """Return the function that joins values as text."""
    return lambda values: joint.join(value if isinstance(value, bytes) else str(value).encode() for value in values)


def hash_of(buckets: int, key: int) -> Callable[[Sequence[Any]], int]:
    """Return the function from values to the bucket of their hash, or to the hash for 0 buckets."""
    # A hash is never negative as an int64.
    limit = buckets if buckets > 0 else 2**63 - 1

    def hashed(values: Sequence[Any]) -> int:
        fingerprint = key & _MASK
        for value in values:
            fingerprint = _mixed(fingerprint, farmhash64(value) if isinstance(value, bytes) else value)
        return fingerprint % limit

    return hashed


def _shifted(value: int) -> int:
    return value ^ value >> 47


def _mixed(first: int, second: int) -> int:
    """Return a fingerprint of two fingerprints in their order."""
    fingerprint = first ^ _PRIME
    fingerprint ^= _shifted(second * _PRIME & _MASK) * _PRIME & _MASK
    fingerprint = fingerprint * _PRIME & _MASK
    return _shifted(_shifted(fingerprint) * _PRIME & _MASK)


op("SparseCross", _shapes, kernel=_kernel, grad=NOT_DIFFERENTIABLE)
op("SparseCrossV2", _shapes, kernel=_kernel, grad=NOT_DIFFERENTIABLE)
