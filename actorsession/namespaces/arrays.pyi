# Written by scripts/generated.py.
"""Rearranging, indexing, sorting and counting the elements of tensors."""

from actorsession.ops.arrays.array import (
concat as concat, fill as fill, pad as pad, range_ as range, split as split, stack as stack, tile as
tile, transpose as transpose, unstack as unstack
)
from actorsession.ops.arrays.batch_blocks import (
batch_to_space_nd as batch_to_space_nd, required_space_to_batch_paddings as
required_space_to_batch_paddings, space_to_batch_nd as space_to_batch_nd
)
from actorsession.ops.arrays.depth_blocks import (
depth_to_space as depth_to_space, space_to_depth as space_to_depth
)
from actorsession.ops.arrays.gather import (
gather as gather, gather_nd as gather_nd, one_hot as one_hot, scatter_nd as scatter_nd
)
from actorsession.ops.arrays.grids import (
broadcast_dynamic_shape as broadcast_dynamic_shape, broadcast_static_shape as
broadcast_static_shape, meshgrid as meshgrid, parallel_stack as parallel_stack, repeat as repeat
)
from actorsession.ops.arrays.layout import invert_permutation as invert_permutation
from actorsession.ops.arrays.linspace import linspace as linspace
from actorsession.ops.arrays.masks import (
batch_gather as batch_gather, boolean_mask as boolean_mask, sequence_mask as sequence_mask
)
from actorsession.ops.arrays.partitions import (
dynamic_partition as dynamic_partition, dynamic_stitch as dynamic_stitch
)
from actorsession.ops.arrays.pass_through import (
ensure_shape as ensure_shape, guarantee_const as guarantee_const, identity_n as identity_n, shape_n
as shape_n
)
from actorsession.ops.arrays.reversal import (
reverse as reverse, reverse_sequence as reverse_sequence, roll as roll
)
from actorsession.ops.arrays.shape import (
broadcast_to as broadcast_to, expand_dims as expand_dims, rank as rank, reshape as reshape, shape as
shape, size as size, squeeze as squeeze
)
from actorsession.ops.arrays.slicing import slice_ as slice, strided_slice as strided_slice
from actorsession.ops.arrays.tensor_scatter import (
tensor_scatter_nd_add as tensor_scatter_nd_add, tensor_scatter_nd_max as tensor_scatter_nd_max,
tensor_scatter_nd_min as tensor_scatter_nd_min, tensor_scatter_nd_sub as tensor_scatter_nd_sub,
tensor_scatter_nd_update as tensor_scatter_nd_update
)
from actorsession.ops.arrays.unravelling import unravel_index as unravel_index
from actorsession.ops.elements.comparison import where as where
from actorsession.ops.elements.recast import bitcast as bitcast, saturate_cast as saturate_cast
from actorsession.ops.linear.contractions import eye as eye
from actorsession.ops.reductions.searching import (
argsort as argsort, searchsorted as searchsorted, sort as sort
)
from actorsession.ops.reductions.unique import (
setdiff1d as setdiff1d, unique as unique, unique_with_counts as unique_with_counts
)


__all__ = [
"argsort", "batch_gather", "batch_to_space_nd", "bitcast", "boolean_mask",
"broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "concat", "depth_to_space",
"dynamic_partition", "dynamic_stitch", "ensure_shape", "expand_dims", "eye", "fill", "gather",
"gather_nd", "guarantee_const", "identity_n", "invert_permutation", "linspace", "meshgrid",
"one_hot", "pad", "parallel_stack", "range", "rank", "repeat", "required_space_to_batch_paddings",
"reshape", "reverse", "reverse_sequence", "roll", "saturate_cast", "scatter_nd", "searchsorted",
"sequence_mask", "setdiff1d", "shape", "shape_n", "size", "slice", "sort", "space_to_batch_nd",
"space_to_depth", "split", "squeeze", "stack", "strided_slice", "tensor_scatter_nd_add",
"tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub",
"tensor_scatter_nd_update", "tile", "transpose", "unique", "unique_with_counts", "unravel_index",
"unstack", "where"
]
