"""Rearranging, indexing, sorting and counting the elements of tensors."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.arrays.array": ("concat fill pad range_=range split stack tile transpose unstack"),
    "actorsession.ops.arrays.batch_blocks": ("batch_to_space_nd required_space_to_batch_paddings space_to_batch_nd"),
    "actorsession.ops.arrays.depth_blocks": "depth_to_space space_to_depth",
    "actorsession.ops.arrays.gather": "gather gather_nd one_hot scatter_nd",
    "actorsession.ops.arrays.grids": ("broadcast_dynamic_shape broadcast_static_shape meshgrid parallel_stack repeat"),
    "actorsession.ops.arrays.layout": "invert_permutation",
    "actorsession.ops.arrays.linspace": "linspace",
    "actorsession.ops.arrays.masks": "batch_gather boolean_mask sequence_mask",
    "actorsession.ops.arrays.partitions": "dynamic_partition dynamic_stitch",
    "actorsession.ops.arrays.pass_through": "ensure_shape guarantee_const identity_n shape_n",
    "actorsession.ops.arrays.reversal": "reverse reverse_sequence roll",
    "actorsession.ops.arrays.shape": "broadcast_to expand_dims rank reshape shape size squeeze",
    "actorsession.ops.arrays.slicing": "slice_=slice strided_slice",
    "actorsession.ops.arrays.tensor_scatter": (
        "tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
        "tensor_scatter_nd_update"
    ),
    "actorsession.ops.arrays.unravelling": "unravel_index",
    "actorsession.ops.elements.comparison": "where",
    "actorsession.ops.elements.recast": "bitcast saturate_cast",
    "actorsession.ops.linear.contractions": "eye",
    "actorsession.ops.reductions.searching": "argsort searchsorted sort",
    "actorsession.ops.reductions.unique": "setdiff1d unique unique_with_counts",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
