"""Graph-building functions under TensorFlow's names: one folder per domain.

This package owns all operation types. Importing it registers them and defines Python's operators on tensors.
The signature, shape function, gradient and numpy kernel of an op stand together in its file. The package
imports only the ``graph`` package. What all folders share (operands, conversion, static shapes) stands beside
this file, and so do the namespaces (``math``, ``nn``, ``linalg``, ...), which own nothing but names.
"""

from __future__ import annotations

from actorsession.graph import extension, registry
from actorsession.lazy_names import lazy_names
from actorsession.ops.op_modules import EXTENSION_MODULES, OP_MODULES

# Names by the module that defines them; see ``lazy_names``. The stub beside this file is generated from it.
_NAMES = {
    ".arrays.array": (
        "concat fill identity ones ones_like pad placeholder placeholder_with_default "
        "range_=range split stack stop_gradient tile transpose unstack zeros zeros_like"
    ),
    ".arrays.batch_blocks": (
        "batch_to_space batch_to_space_nd required_space_to_batch_paddings space_to_batch space_to_batch_nd"
    ),
    ".arrays.depth_blocks": "depth_to_space space_to_depth",
    ".arrays.gather": "gather gather_nd one_hot scatter_nd unsorted_segment_sum",
    ".arrays.grids": ("broadcast_dynamic_shape broadcast_static_shape meshgrid parallel_stack repeat"),
    ".arrays.layout": "invert_permutation",
    ".arrays.linspace": "lin_space linspace",
    ".arrays.masks": "batch_gather boolean_mask sequence_mask sparse_mask",
    ".arrays.partitions": "dynamic_partition dynamic_stitch",
    ".arrays.pass_through": "ensure_shape guarantee_const identity_n shape_n",
    ".arrays.reversal": "reverse reverse_sequence reverse_v2 roll",
    ".arrays.shape": "broadcast_to expand_dims rank reshape shape size squeeze",
    ".arrays.slicing": "slice_=slice strided_slice",
    ".arrays.tensor_scatter": (
        "tensor_scatter_add tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min "
        "tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_sub tensor_scatter_update"
    ),
    ".arrays.unravelling": "unravel_index",
    ".build": "constant convert_to_tensor",
    ".derivatives.custom_gradients": "custom_gradient grad_pass_through hessians",
    ".derivatives.gradients": "AggregationMethod UnconnectedGradients gradients",
    ".derivatives.registry": "NoGradient NotDifferentiable RegisterGradient",
    ".elements.arithmetic": (
        "add add_n div divide floordiv floormod maximum minimum mod multiply pow realdiv "
        "squared_difference subtract truediv"
    ),
    ".elements.cast": ("cast"),
    ".elements.clip": ("clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"),
    ".elements.comparison": (
        "equal greater greater_equal is_finite is_inf is_nan less less_equal logical_and "
        "logical_not logical_or logical_xor not_equal where where_v2"
    ),
    ".elements.complex_numbers": "angle complex imag real",
    ".elements.division": "floor_div truncatediv truncatemod",
    ".elements.elementwise": (
        "abs ceil conj cos exp expm1 floor log log1p negative reciprocal round rsqrt sign sin sqrt square tan"
    ),
    ".elements.error_functions": "erf erfc",
    ".elements.nearness": "rint",
    ".elements.quotients": "div_no_nan",
    ".elements.recast": "bitcast saturate_cast",
    ".elements.trigonometry": "acos acosh asin asinh atan atan2 atanh cosh sinh",
    ".flow.assertions": ("Assert Print add_check_numerics_ops check_numerics verify_tensor_all_finite"),
    ".flow.cases": "case switch_case",
    ".flow.checks": (
        "assert_equal assert_greater assert_greater_equal assert_integer assert_less "
        "assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_rank assert_rank_at_least assert_rank_in "
        "assert_scalar assert_type"
    ),
    ".flow.control": "group no_op tuple_=tuple",
    ".flow.control_flow": "cond while_loop",
    ".flow.functions": "Defun",
    ".flow.mapping": "foldl foldr map_fn scan",
    ".flow.script": "async_py_func numpy_function py_func",
    ".graph_keys": "GraphKeys",
    ".indexed_slices": "IndexedSlices IndexedSlicesValue",
    ".linear.contractions": "eye norm tensordot trace",
    ".linear.determinants": "matrix_determinant",
    ".linear.diagonals": "diag diag_part matrix_band_part",
    ".linear.einsum": "einsum",
    ".linear.factorisations": "cholesky qr",
    ".linear.least_squares": "matrix_solve_ls",
    ".linear.matmul": "matmul",
    ".linear.matrix_diagonals": "matrix_diag matrix_diag_part matrix_set_diag",
    ".linear.matrix_functions": "matrix_square_root",
    ".linear.products": "accumulate_n cross scalar_mul",
    ".linear.solving": "cholesky_solve matrix_inverse matrix_solve matrix_triangular_solve",
    ".linear.spectra": "self_adjoint_eig self_adjoint_eigvals svd",
    ".linear.transposition": "matrix_transpose",
    ".lists.tensor_array": "TensorArray",
    ".neural.activations": "sigmoid tanh",
    ".neural.rectifiers": "log_sigmoid",
    ".queues.base": "QueueBase",
    ".queues.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
    ".randomness.numbers": "get_seed random_normal random_uniform set_random_seed truncated_normal",
    ".randomness.samples": "multinomial random_gamma random_poisson random_shuffle",
    ".reductions.argmax": "argmax argmin",
    ".reductions.cumulative": "cumprod cumsum",
    ".reductions.histograms": ("bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins"),
    ".reductions.reduction": (
        "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
    ),
    ".reductions.searching": "argsort searchsorted sort",
    ".reductions.segments": (
        "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
        "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n"
    ),
    ".reductions.spread": "count_nonzero is_non_decreasing is_strictly_increasing",
    ".reductions.unique": "setdiff1d unique unique_with_counts",
    ".variables.assignment": (
        "assign assign_add assign_sub batch_scatter_update count_up_to scatter_add scatter_div "
        "scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update "
        "scatter_sub scatter_update"
    ),
    ".variables.creation": "VariableAggregation VariableSynchronization variable_creator_scope",
    ".variables.get_variable": ("create_partitioned_variables get_local_variable get_variable"),
    ".variables.initializers": (
        "Initializer constant_initializer glorot_normal_initializer glorot_uniform_initializer "
        "he_normal_initializer he_uniform_initializer identity_initializer "
        "lecun_normal_initializer lecun_uniform_initializer ones_initializer "
        "orthogonal_initializer random_normal_initializer random_uniform_initializer "
        "truncated_normal_initializer uniform_unit_scaling_initializer "
        "variance_scaling_initializer zeros_initializer"
    ),
    ".variables.lists": (
        "assert_variables_initialized global_variables global_variables_initializer "
        ""
        "is_variable_initialized local_variables local_variables_initializer model_variables "
        "moving_average_variables report_uninitialized_variables trainable_variables "
        "variables_initializer"
    ),
    ".variables.partitioned": "PartitionedVariable",
    ".variables.partitioners": ("fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner"),
    ".variables.scope": ("AUTO_REUSE VariableScope get_variable_scope no_regularizer variable_op_scope variable_scope"),
    ".variables.session_ops": "delete_session_tensor get_session_handle get_session_tensor",
    ".variables.variable": "Variable",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

registry.defer(OP_MODULES)
for _point, _modules in EXTENSION_MODULES.items():
    extension.defer(_point, _modules)
