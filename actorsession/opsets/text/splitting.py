"""Splitting of strings: ``string_split`` at any of some characters, ``string_split_v2`` at a separator.

Owns ``StringSplit`` and ``StringSplitV2``. The result is a sparse tensor with a row for each string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.opsets.text.kernels import one_string, require_string, string_array

__all__ = ["string_split", "string_split_v2"]

_SPARSE = "SparseTensor"


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, result_type: str = _SPARSE, name: str | None = None
) -> SparseTensor:
    """Split strings at each of some characters, into a sparse tensor with a row for each string.

    Args:
        source: a vector of strings.
        sep: a string of which each byte is a delimiter; a blank if left out. An empty one splits between
            bytes.
        skip_empty: whether empty parts are left out.
        result_type: ``SparseTensor``; ragged tensors are not supported.
    """
    _check_result(result_type)
    value = convert_to_tensor(source, string)
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "StringSplit"):
        marks = convert_to_tensor(" " if sep is None else sep, string, graph=graph)
        return _as_sparse(raw.StringSplit(value, marks, skip_empty=bool(skip_empty)), value)


def string_split_v2(
    input: Any, sep: Any = None, maxsplit: int = -1, result_type: str = _SPARSE, name: str | None = None
) -> SparseTensor:
    """Split strings at a separator, into a sparse tensor with a row for each string.

    Args:
        input: a string, or a vector of them.
        sep: a string; runs of white space separate if it is left out or empty.
        maxsplit: maximum number of splits per string; unlimited for -1.
        result_type: ``SparseTensor``; ragged tensors are not supported.
    """
    _check_result(result_type)
    value = convert_to_tensor(input, string)
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "StringSplit"):
        marks = convert_to_tensor("" if sep is None else sep, string, graph=graph)
        if value.shape.rank == 0:
            value = expand_dims(value, 0)
        return _as_sparse(raw.StringSplitV2(value, marks, maxsplit=int(maxsplit)), value)


def _check_result(result_type: str) -> None:
    if result_type != _SPARSE:
        raise ValueError(f"result_type is {_SPARSE!r}, got {result_type!r:.100}: nothing is ragged")


def _as_sparse(parts: Sequence[Tensor], value: Tensor) -> SparseTensor:
    sparse = SparseTensor(*parts)
    sparse.set_shape([value.spec.shape[0], None])
    return sparse


def _sparse_parts(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0, rank=1)
    require_string(ctx, 1, rank=0)
    return [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])]


def _kernel(make_split: Callable[[KernelContext], Callable[[bytes, bytes], list[bytes]]]) -> Any:
    def kernel(ctx: KernelContext) -> Kernel:
        split = make_split(ctx)

        def parts(values: Any, separator: Any) -> Any:
            marks = one_string(separator)
            rows = [split(value, marks) for value in values]
            indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
            texts = [text for row in rows for text in row]
            shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
            places = np.array(indices, np.int64).reshape(-1, 2)
            return places, string_array(texts, (len(texts),)), shape

        return parts

    return kernel


def _at_bytes(ctx: KernelContext) -> Callable[[bytes, bytes], list[bytes]]:
    skip = ctx.attrs["skip_empty"]

    def split(value: bytes, marks: bytes) -> list[bytes]:
        if not marks:
            return [value[i : i + 1] for i in range(len(value))]
        # All delimiters are mapped to the first one, so that a plain split suffices.
        parts = value.translate(bytes.maketrans(marks, marks[:1] * len(marks))).split(marks[:1])
        return [part for part in parts if part] if skip else parts if value else []

    return split


def _at_separator(ctx: KernelContext) -> Callable[[bytes, bytes], list[bytes]]:
    most = ctx.attrs["maxsplit"]
    return lambda value, separator: value.split(separator or None, most)


op("StringSplit", _sparse_parts, kernel=_kernel(_at_bytes), grad=NOT_DIFFERENTIABLE)
op("StringSplitV2", _sparse_parts, kernel=_kernel(_at_separator), grad=NOT_DIFFERENTIABLE)
