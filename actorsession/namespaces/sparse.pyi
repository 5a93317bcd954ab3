# Written by scripts/generated.py.
"""Sparse tensors and their functions."""

from actorsession.ops.arrays.masks import sparse_mask as mask
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
from actorsession.opsets.accumulators.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorsession.opsets.sparse.basics import SparseTensor as SparseTensor
from actorsession.opsets.sparse.basics import SparseTensorValue as SparseTensorValue
from actorsession.opsets.sparse.basics import sparse_add as add
from actorsession.opsets.sparse.basics import sparse_placeholder as placeholder
from actorsession.opsets.sparse.basics import sparse_reorder as reorder
from actorsession.opsets.sparse.basics import sparse_tensor_dense_matmul as matmul
from actorsession.opsets.sparse.basics import sparse_tensor_dense_matmul as sparse_dense_matmul
from actorsession.opsets.sparse.basics import sparse_tensor_to_dense as to_dense
from actorsession.opsets.sparse.crosses import sparse_cross as cross
from actorsession.opsets.sparse.crosses import sparse_cross_hashed as cross_hashed
from actorsession.opsets.sparse.edit_distance import edit_distance as edit_distance
from actorsession.opsets.sparse.functions import sparse_concat as concat
from actorsession.opsets.sparse.functions import sparse_fill_empty_rows as fill_empty_rows
from actorsession.opsets.sparse.functions import sparse_reduce_max as reduce_max
from actorsession.opsets.sparse.functions import sparse_reduce_sum as reduce_sum
from actorsession.opsets.sparse.functions import sparse_reset_shape as reset_shape
from actorsession.opsets.sparse.functions import sparse_reshape as reshape
from actorsession.opsets.sparse.functions import sparse_retain as retain
from actorsession.opsets.sparse.functions import sparse_slice as slice
from actorsession.opsets.sparse.functions import sparse_softmax as softmax
from actorsession.opsets.sparse.functions import sparse_transpose as transpose
from actorsession.opsets.sparse.makers import sparse_eye as eye
from actorsession.opsets.sparse.makers import sparse_from_dense as from_dense
from actorsession.opsets.sparse.makers import sparse_merge as merge
from actorsession.opsets.sparse.makers import sparse_to_indicator as to_indicator
from actorsession.opsets.sparse.pieces import sparse_maximum as maximum
from actorsession.opsets.sparse.pieces import sparse_minimum as minimum
from actorsession.opsets.sparse.pieces import sparse_reduce_max_sparse as reduce_max_sparse
from actorsession.opsets.sparse.pieces import sparse_reduce_sum_sparse as reduce_sum_sparse
from actorsession.opsets.sparse.pieces import sparse_split as split
from actorsession.opsets.sparse.segments import sparse_segment_mean as segment_mean
from actorsession.opsets.sparse.segments import sparse_segment_sqrt_n as segment_sqrt_n
from actorsession.opsets.sparse.segments import sparse_segment_sum as segment_sum

__all__ = [
"IndexedSlices", "IndexedSlicesValue", "SparseConditionalAccumulator", "SparseTensor",
"SparseTensorValue", "add", "concat", "cross", "cross_hashed", "edit_distance", "eye",
"fill_empty_rows", "from_dense", "mask", "matmul", "maximum", "merge", "minimum", "placeholder",
"reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape",
"reshape", "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax",
"sparse_dense_matmul", "split", "to_dense", "to_indicator", "transpose"
]
