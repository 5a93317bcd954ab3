"""TensorFlow's ``tf.sparse`` namespace: the shorter names of the sparse functions.

Other op files define the functions; the folder ``sparse_tensors`` has the class and its functions.
"""

from __future__ import annotations

from actorsession.ops.arrays.masks import sparse_mask as mask
from actorsession.ops.queues.accumulators import SparseConditionalAccumulator
from actorsession.ops.sparse_tensors.basics import SparseTensor
from actorsession.ops.sparse_tensors.basics import sparse_add as add
from actorsession.ops.sparse_tensors.basics import sparse_placeholder as placeholder
from actorsession.ops.sparse_tensors.basics import sparse_reorder as reorder
from actorsession.ops.sparse_tensors.basics import sparse_tensor_dense_matmul as sparse_dense_matmul
from actorsession.ops.sparse_tensors.basics import sparse_tensor_to_dense as to_dense
from actorsession.ops.sparse_tensors.functions import sparse_concat as concat
from actorsession.ops.sparse_tensors.functions import sparse_fill_empty_rows as fill_empty_rows
from actorsession.ops.sparse_tensors.functions import sparse_reduce_max as reduce_max
from actorsession.ops.sparse_tensors.functions import sparse_reduce_sum as reduce_sum
from actorsession.ops.sparse_tensors.functions import sparse_reset_shape as reset_shape
from actorsession.ops.sparse_tensors.functions import sparse_reshape as reshape
from actorsession.ops.sparse_tensors.functions import sparse_retain as retain
from actorsession.ops.sparse_tensors.functions import sparse_slice as slice
from actorsession.ops.sparse_tensors.functions import sparse_softmax as softmax
from actorsession.ops.sparse_tensors.functions import sparse_transpose as transpose
from actorsession.ops.sparse_tensors.makers import sparse_eye as eye
from actorsession.ops.sparse_tensors.makers import sparse_from_dense as from_dense
from actorsession.ops.sparse_tensors.makers import sparse_merge as merge
from actorsession.ops.sparse_tensors.makers import sparse_to_indicator as to_indicator
from actorsession.ops.sparse_tensors.pieces import sparse_maximum as maximum
from actorsession.ops.sparse_tensors.pieces import sparse_minimum as minimum
from actorsession.ops.sparse_tensors.pieces import sparse_reduce_max_sparse as reduce_max_sparse
from actorsession.ops.sparse_tensors.pieces import sparse_reduce_sum_sparse as reduce_sum_sparse
from actorsession.ops.sparse_tensors.pieces import sparse_split as split
from actorsession.ops.sparse_tensors.segments import sparse_segment_mean as segment_mean
from actorsession.ops.sparse_tensors.segments import sparse_segment_sqrt_n as segment_sqrt_n
from actorsession.ops.sparse_tensors.segments import sparse_segment_sum as segment_sum

__all__ = [
    "SparseConditionalAccumulator", "SparseTensor", "add", "concat", "eye", "fill_empty_rows",
    "from_dense", "mask", "matmul", "maximum", "merge", "minimum", "placeholder", "reduce_max",
    "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape", "reshape",
    "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax",
    "sparse_dense_matmul", "split", "to_dense", "to_indicator", "transpose",
]  # fmt: skip

# TensorFlow has two names for it.
matmul = sparse_dense_matmul
