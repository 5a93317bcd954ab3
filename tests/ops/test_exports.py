"""The front of the room: all op files are imported and their public functions re-exported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from actorsession import ops
from tests.cluster.kit import PATIENCE
from tests.cluster.script import ROOT

# Files that are there for other op files, or whose functions belong under ``nn``.
INNER = {
    "apply", "raw", "rows",
    "arrays.dimensions", "arrays.fills", "arrays.joining", "arrays.partitions", "arrays.scatter",
    "arrays.splitting", "arrays.strided", "blas", "blockwise", "broadcasting", "build", "op_modules",
    "convolutions.backprops", "convolutions.depthwise", "convolutions.depthwise_nodes",
    "convolutions.dilation", "convolutions.fractional_pooling",
    "convolutions.kernels", "convolutions.nodes", "convolutions.operations", "convolutions.pooling",
    "convolutions.pooling_argmax", "convolutions.pooling_kernels", "convolutions.pooling_nodes",
    "convolutions.transposed", "convolutions.windows", "derivatives.backward", "derivatives.values",
    "elements.bessel", "elements.bitwise", "elements.error_functions", "elements.nearness",
    "elements.quotients", "elements.selection", "flow.branch_gradients", "flow.calls",
    "flow.constructs", "flow.control", "flow.dataflow", "flow.extensions",
    "flow.functional", "flow.functions", "flow.loop_gradients", "flow.stand_ins",
    "flow.streams", "flow.switch_gradients", "image", "images.augmentation", "images.boxes",
    "images.colours", "images.crops", "images.drawing",
    "images.edges", "images.files", "images.formats", "images.geometry", "images.glimpses",
    "images.jpeg_quality", "images.patches", "images.resampling",
    "images.resizing", "images.similarity", "images.sizes", "images.suppression", "indexed_slices",
    "linalg", "linear.contractions", "linear.determinants",
    "linear.factorisations", "linear.matrices", "linear.matrix_functions",
    "linear.products", "linear.pseudoinverse", "linear.solving",
    "linear.tridiagonal", "lists.array_values", "lists.blocks",
    "lists.nodes", "lists.operands", "lists.parts", "lists.persistent_vector", "lists.sums",
    "lists.values", "lookup", "math", "neural.accidental_hits", "neural.activations", "neural.biases",
    "neural.candidate_draws", "neural.candidate_sampling", "neural.cross_entropy",
    "neural.ctc_decoders", "neural.ctc_loss", "neural.dropout", "neural.embedding",
    "neural.fused_batch_norm", "neural.fused_batch_norm_gradients", "neural.l2_loss",
    "neural.losses", "neural.lrn", "neural.normalisation",
    "neural.pointwise_losses", "neural.rectifiers", "neural.safe_embedding", "neural.sampled_losses",
    "memory", "neural.softmax", "neural.weighted_loss", "nn", "operands",
    "parsing.example_batches", "parsing.example_heads", "parsing.example_nodes",
    "parsing.example_reader", "parsing.examples", "parsing.feature_values", "parsing.features",
    "parsing.packed_columns", "parsing.record_frames", "parsing.records", "partial",
    "queues.accumulator_state", "queues.barrier_state",
    "queues.barriers", "queues.base", "queues.batches", "queues.components", "queues.kernels",
    "queues.staging_nodes", "queues.staging_state", "queues.state", "random", "randomness.numbers",
    "randomness.samples", "randomness.stateless", "reductions.cumulative", "reductions.reducers",
    "reductions.segment_kernels", "reductions.spread", "reductions.topk", "scipy_kernels", "sets",
    "shape_operands", "shared_state", "signal", "signals.cosine", "signals.fourier", "signals.frames",
    "signals.mel", "signals.short_time", "signals.transforms", "signals.windows",
    "sparse_names", "sparse_tensors.functions", "sparse_tensors.makers", "sparse_tensors.sets",
    "sparse_tensors.with_dense", "spectral", "strings", "structures", "tables.initializers",
    "tables.kernels", "tables.state", "tables.tables", "tables.vocabularies", "text.characters",
    "text.fingerprints", "text.hash_buckets", "text.joining", "text.kernels", "text.regex",
    "text.regex_patterns", "text.regex_programs", "text.splitting", "training.blocks",
    "training.nodes", "training.rules",
    "training.updates", "variables.checkpointing", "variables.creation", "variables.initializer",
    "variables.partitioned", "variables.partitioners", "variables.save_slices",
    "variables.scatter_updates", "variables.settings", "variables.state", "variables.store",
    "variables.updates", "variables.variance_scaling",
}  # fmt: skip
MODULES = sorted(
    module.name.removeprefix("actorsession.ops.")
    for module in pkgutil.walk_packages(ops.__path__, "actorsession.ops.")
    if not module.ispkg
)
INTERNAL = {
    "checked_sparse", "gradient_of", "parts_of", "reduce_euclidean_norm", "shape_tensor", "takes_slices",
}  # fmt: skip


@pytest.mark.process
def test_the_stubs_and_the_table_of_op_files_are_current() -> None:
    command = [sys.executable, "-m", "scripts.generated", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
        "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse",
        "sparse_reset_shape", "sparse_retain",
        "convert_to_tensor", "global_variables", "local_variables", "trainable_variables",
        "global_variables_initializer", "local_variables_initializer", "is_variable_initialized",
        "set_random_seed", "get_seed",
        "all_variables", "assert_variables_initialized", "fixed_size_partitioner", "get_variable_scope",
        "initialize_all_variables", "initialize_local_variables", "min_max_variable_partitioner",
        "model_variables", "moving_average_variables", "variable_axis_size_partitioner",
        "NoGradient", "NotDifferentiable", "custom_gradient", "grad_pass_through",
        "add_check_numerics_ops", "no_regularizer", "variable_creator_scope", "variable_op_scope",
    }  # fmt: skip
    for name in set(ops.__all__) - nameless:
        found = getattr(ops, name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert "name" in inspect.signature(found).parameters, name
