"""``RaggedCross``: the combinations of values of several columns, row by row, as a ragged tensor."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import check_inputs, op
from actorsession.opsets.sparse.crosses import hash_of, joined_by, rows_of_sparse
from actorsession.opsets.text.kernels import string_array

__all__: list[str] = []


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    ragged, dense = (len(ctx.attrs[key]) for key in ("ragged_values_types", "dense_types"))
    ends = [spec.shape.with_rank(1)[0] for spec in ctx.inputs[ragged : 2 * ragged]]
    rows = [spec.shape[0] for spec in ctx.inputs[len(ctx.inputs) - dense :] if spec.shape.rank]
    known = [*ends, *[None if count is None else count + 1 for count in rows]]
    return [TensorShape([None]), TensorShape([next((n for n in known if n is not None), None)])]


def _rows_of_ragged(values: Any, splits: Any) -> list[list[Any]]:
    ends = splits.tolist()
    return [values[a:b].tolist() for a, b in itertools.pairwise(ends)]


def _kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    combine = hash_of(attrs["num_buckets"], attrs["hash_key"]) if attrs["hashed_output"] else joined_by(b"_X_")
    numbers = [len(attrs[key]) for key in ("ragged_values_types", "sparse_values_types", "dense_types")]
    ragged, sparse, dense = numbers

    def crossed(*inputs: Any) -> Any:
        parts = iter(inputs)
        values, splits, indices, entries, shapes, matrices = (
            list(itertools.islice(parts, count)) for count in (ragged, ragged, sparse, sparse, sparse, dense)
        )
        columns = {
            "R": iter(map(_rows_of_ragged, values, splits)),
            "S": (rows_of_sparse(*each, ctx.op) for each in zip(indices, entries, shapes, strict=True)),
            "D": (matrix.tolist() for matrix in matrices),
        }
        ordered = [next(columns[kind]) for kind in attrs["input_order"]]
        if len({len(column) for column in ordered}) > 1:
            raise InvalidArgumentError(
                f"{ctx.op}: inputs must all have the same number of rows, got {[len(c) for c in ordered]}"
            )
        rows = [[combine(each) for each in itertools.product(*row)] for row in zip(*ordered, strict=True)]
        flat: list[Any] = [value for row in rows for value in row]
        crossed = np.array(flat, np.int64) if attrs["hashed_output"] else string_array(flat, (len(flat),))
        ends = np.cumsum([0, *map(len, rows)])
        return crossed, ends.astype(ctx.outputs[1].dtype.np_dtype)

    return crossed


op("RaggedCross", _shapes, kernel=_kernel)
