# Written by scripts/generated.py.
"""Sparse tensors and their functions."""

from actorsession.ops.arrays.masks import sparse_mask as mask
from actorsession.ops.indexed_slices import (
IndexedSlices as IndexedSlices, IndexedSlicesValue as IndexedSlicesValue
)
from actorsession.opsets.accumulators.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorsession.opsets.sparse.basics import (
SparseTensor as SparseTensor, SparseTensorValue as SparseTensorValue, sparse_add as add,
sparse_placeholder as placeholder, sparse_reorder as reorder, sparse_tensor_dense_matmul as matmul,
sparse_tensor_dense_matmul as sparse_dense_matmul, sparse_tensor_to_dense as to_dense
)
from actorsession.opsets.sparse.crosses import (
sparse_cross as cross, sparse_cross_hashed as cross_hashed
)
from actorsession.opsets.sparse.edit_distance import edit_distance as edit_distance
from actorsession.opsets.sparse.functions import (
sparse_concat as concat, sparse_fill_empty_rows as fill_empty_rows, sparse_reduce_max as reduce_max,
sparse_reduce_sum as reduce_sum, sparse_reset_shape as reset_shape, sparse_reshape as reshape,
sparse_retain as retain, sparse_slice as slice, sparse_softmax as softmax, sparse_transpose as
transpose
)
from actorsession.opsets.sparse.makers import (
sparse_eye as eye, sparse_from_dense as from_dense, sparse_merge as merge, sparse_to_indicator as
to_indicator
)
from actorsession.opsets.sparse.pieces import (
sparse_maximum as maximum, sparse_minimum as minimum, sparse_reduce_max_sparse as reduce_max_sparse,
sparse_reduce_sum_sparse as reduce_sum_sparse, sparse_split as split
)
from actorsession.opsets.sparse.segments import (
sparse_segment_mean as segment_mean, sparse_segment_sqrt_n as segment_sqrt_n, sparse_segment_sum as
segment_sum
)


__all__ = [
"IndexedSlices", "IndexedSlicesValue", "SparseConditionalAccumulator", "SparseTensor",
"SparseTensorValue", "add", "concat", "cross", "cross_hashed", "edit_distance", "eye",
"fill_empty_rows", "from_dense", "mask", "matmul", "maximum", "merge", "minimum", "placeholder",
"reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape",
"reshape", "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax",
"sparse_dense_matmul", "split", "to_dense", "to_indicator", "transpose"
]
