"""Sparse tensors and their functions."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.arrays.masks": "sparse_mask=mask",
    "actorsession.ops.indexed_slices": "IndexedSlices IndexedSlicesValue",
    "actorsession.opsets.accumulators.accumulators": "SparseConditionalAccumulator",
    "actorsession.opsets.sparse.basics": (
        "SparseTensor SparseTensorValue sparse_add=add sparse_placeholder=placeholder "
        "sparse_reorder=reorder sparse_tensor_dense_matmul=matmul "
        "sparse_tensor_dense_matmul=sparse_dense_matmul sparse_tensor_to_dense=to_dense"
    ),
    "actorsession.opsets.sparse.crosses": "sparse_cross=cross sparse_cross_hashed=cross_hashed",
    "actorsession.opsets.sparse.edit_distance": "edit_distance",
    "actorsession.opsets.sparse.functions": (
        "sparse_concat=concat sparse_fill_empty_rows=fill_empty_rows sparse_reduce_max=reduce_max "
        "sparse_reduce_sum=reduce_sum sparse_reset_shape=reset_shape sparse_reshape=reshape "
        "sparse_retain=retain sparse_slice=slice sparse_softmax=softmax "
        "sparse_transpose=transpose"
    ),
    "actorsession.opsets.sparse.makers": (
        "sparse_eye=eye sparse_from_dense=from_dense sparse_merge=merge sparse_to_indicator=to_indicator"
    ),
    "actorsession.opsets.sparse.pieces": (
        "sparse_maximum=maximum sparse_minimum=minimum sparse_reduce_max_sparse=reduce_max_sparse "
        "sparse_reduce_sum_sparse=reduce_sum_sparse sparse_split=split"
    ),
    "actorsession.opsets.sparse.segments": (
        "sparse_segment_mean=segment_mean sparse_segment_sqrt_n=segment_sqrt_n sparse_segment_sum=segment_sum"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
