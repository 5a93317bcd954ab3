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
    "calls", "functional", "functions",
    "regex_patterns", "string_characters", "string_joining", "string_kernels", "string_regex",
    "string_splitting", "strings",
    "accumulator_state", "shared_state",
    "convolution", "convolution_backprops", "convolution_gradients", "convolution_kernels",
    "convolution_nodes", "depthwise", "depthwise_nodes", "dilation", "fused_batch_norm", "lrn",
    "normalisation", "pooling", "pooling_argmax", "pooling_kernels", "pooling_nodes",
    "transposed_convolution", "windows",
    "diagonal_bands", "fingerprints", "partitions", "patches",
    "initializer", "save_slices", "scatter_updates", "variable_settings", "variable_store", "variable_updates",
    "partitioned", "partitioners", "variable_creation", "variance_scaling",
    "bessel", "bitwise", "cumulative", "error_functions", "math", "nearness", "products", "quotients",
    "rectifiers", "scipy_kernels", "segment_kernels", "spread",
    "activations", "broadcasting", "build", "constructs", "control", "cross_entropy", "dimensions", "fills",
    "indexed_slices", "joining", "nn", "operands", "partial", "reducers", "scatter", "selection",
    "shape_operands", "softmax", "splitting", "state", "strided", "structures", "topk", "training",
    "checkpointing", "losses", "training_blocks", "training_rules", "training_updates", "weighted_loss",
    "accidental_hits", "candidate_draws", "candidate_sampling", "dense", "embedding", "pointwise_losses",
    "sampled_losses",
}  # fmt: skip
MODULES = sorted(module.name for module in pkgutil.iter_modules(ops.__path__))
INTERNAL = {"shape_tensor", "reduce_euclidean_norm"}


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
        "convert_to_tensor", "global_variables", "local_variables", "trainable_variables",
        "global_variables_initializer", "local_variables_initializer", "is_variable_initialized",
        "set_random_seed", "get_seed",
        "all_variables", "assert_variables_initialized", "fixed_size_partitioner", "get_variable_scope",
        "initialize_all_variables", "initialize_local_variables", "min_max_variable_partitioner",
        "model_variables", "moving_average_variables", "variable_axis_size_partitioner",
        "no_regularizer", "variable_creator_scope", "variable_op_scope",
    }  # fmt: skip
    for name in set(ops.__all__) - nameless:
        found = getattr(ops, name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert "name" in inspect.signature(found).parameters, name
