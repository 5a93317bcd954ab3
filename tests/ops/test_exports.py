"""The front of the room: all op files are imported and their public functions re-exported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys

import pytest

from actorsession import ops

# Files that are there for other op files, or whose functions belong under ``nn``.
INNER = {
    "accidental_hits", "accumulator_state", "activations", "backward", "barrier_state", "barriers",
    "bessel", "bitwise", "branch_gradients", "broadcasting", "build", "calls", "candidate_draws",
    "candidate_sampling", "checkpointing", "constructs", "contractions", "control", "convolution",
    "convolution_backprops", "convolution_gradients", "convolution_kernels", "convolution_nodes",
    "cross_entropy", "cumulative", "dataflow", "dense", "depthwise", "depthwise_nodes", "determinants",
    "diagonal_bands", "dilation", "dimensions", "effects", "elimination", "embedding", "error_functions",
    "extensions", "factorisations", "fills", "fingerprints", "functional", "functions",
    "fused_batch_norm", "fused_batch_norm_gradients", "gradient_values", "image", "image_boxes",
    "image_chance", "image_colours", "image_files", "image_geometry", "image_measures", "image_resizing",
    "image_sizes", "indexed_slices", "initializer", "joining", "linalg", "list_operands", "list_sums",
    "list_values", "lookup", "loop_gradients", "losses", "lrn", "math", "matrices", "matrix_functions",
    "nearness", "nn", "normalisation", "operands", "partial", "partitioned", "partitioners", "partitions",
    "patches", "persistent_vector", "pointwise_losses", "pooling", "pooling_argmax", "pooling_kernels",
    "pooling_nodes", "products", "pseudoinverse", "quotients", "random", "random_numbers",
    "random_samples", "rectifiers", "reducers", "regex_patterns", "resampling", "sampled_losses",
    "save_slices", "scatter", "scatter_updates", "scipy_kernels", "segment_kernels", "selection",
    "shape_operands", "shared_state", "softmax", "solving", "sparse_functions", "sparse_makers",
    "sparse_names", "splitting", "spread", "staging_nodes", "staging_state", "state", "stateless_random",
    "strided", "string_characters", "string_joining", "string_kernels", "string_regex",
    "string_splitting", "strings", "structures", "subscripts", "table_initializers", "table_kernels",
    "table_state", "tables", "tensor_list", "tensor_list_blocks", "tensor_list_parts", "topk", "training",
    "training_blocks", "training_rules", "training_updates", "transposed_convolution",
    "variable_creation", "variable_settings", "variable_store", "variable_updates", "variance_scaling",
    "vocabularies", "weighted_loss", "windows",
}  # fmt: skip
MODULES = sorted(module.name for module in pkgutil.iter_modules(ops.__path__))
INTERNAL = {"gradient_of", "takes_slices", "shape_tensor", "reduce_euclidean_norm"}


def test_every_op_file_is_imported_with_the_package() -> None:
    assert [m for m in MODULES if f"actorsession.ops.{m}" not in sys.modules] == []


def test_every_exported_name_exists_once() -> None:
    assert len(set(ops.__all__)) == len(ops.__all__)
    assert [name for name in ops.__all__ if not hasattr(ops, name)] == []


@pytest.mark.parametrize("name", [m for m in MODULES if m not in INNER])
def test_public_functions_are_exported_under_the_names_of_tensorflow(name: str) -> None:
    module = importlib.import_module(f"actorsession.ops.{name}")
    public = {n.removesuffix("_") for n in module.__all__} - INTERNAL
    assert public - set(ops.__all__) == set()


def test_exported_functions_are_documented_and_take_names() -> None:
    nameless = {
        "broadcast_dynamic_shape", "broadcast_static_shape",
        "sparse_reduce_max", "sparse_reduce_sum", "sparse_reset_shape", "sparse_retain",
        "convert_to_tensor", "global_variables", "local_variables", "trainable_variables",
        "global_variables_initializer", "local_variables_initializer", "is_variable_initialized",
        "set_random_seed", "get_seed",
        "all_variables", "assert_variables_initialized", "fixed_size_partitioner", "get_variable_scope",
        "initialize_all_variables", "initialize_local_variables", "min_max_variable_partitioner",
        "model_variables", "moving_average_variables", "variable_axis_size_partitioner",
        "NoGradient", "NotDifferentiable", "custom_gradient", "grad_pass_through",
        "no_regularizer", "variable_creator_scope", "variable_op_scope",
    }  # fmt: skip
    for name in set(ops.__all__) - nameless:
        found = getattr(ops, name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert "name" in inspect.signature(found).parameters, name
