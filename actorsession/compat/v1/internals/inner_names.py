"""Names that modules of TensorFlow keep for themselves and public programs import all the same.

Each is a name of this library; what more they do stands in the other modules of this package.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1": "gradients=gradients_v2 py_function=eager_py_func",
    "actorsession.train.layers.recurrent.cells.linear": "_linear _Linear",
    "actorsession.train.layers.recurrent.cells.fused": ("best_effort_input_batch_size=_best_effort_input_batch_size"),
    "actorsession.compat.v1.contrib.seq2seq": ("AttentionMechanism=_BaseAttentionMechanism tile_batch=_tile_batch"),
    "actorsession.compat.v1.internals.python_tools": "fn_args=_model_fn_args",
    "actorsession.compat.v1.layers": (
        "BatchNormalization=BatchNorm Dense=FullyConnected dense=fully_connected batch_normalization=batch_norm"
    ),
    "actorsession.compat.v1.saved_model.builder": "SavedModelBuilder=_SavedModelBuilder",
    "actorsession.compat.v1.summary": "FileWriter=SummaryWriter FileWriter FileWriterCache",
    "actorsession.compat.v1.train.checkpoints.objects": "AutoTrackable AutoTrackable=Trackable",
    "actorsession.interop.saved_models": ("read_saved_model=parse_saved_model read_saved_model=_parse_saved_model"),
    "actorsession.opsets.staging.mutexes": "CRITICAL_SECTIONS CRITICAL_SECTION_EXECUTIONS",
    "actorsession.ops.indexed_slices": ("to_dense=_IndexedSlicesToTensor to_dense=IndexedSlicesToTensor"),
    "actorsession.ops.neural.dropout": "_noise_shape=_get_noise_shape",
    "actorsession.ops.variables.creation": "VariableAggregation=VariableAggregationV2",
    "actorsession.ops.variables.partitioned": "PartitionInfo=_PartitionInfo",
    "actorsession.ops.variables.store": "VariableStore=_VariableStore",
    "actorsession.ops.variables.variance_scaling": "_fans=_compute_fans",
    "actorsession.train.layers.convolutions": "Convolution=_Conv",
    "actorsession.train.layers.pooling": "Pooling=_Pooling2D",
    "actorsession.train.layers.recurrent.cells.cell": "LayerRNNCell RNNCell=_RNNCell",
    "actorsession.train.layers.recurrent.steps": "transposed=_transpose_batch_time",
    "actorsession.train.saveable": "SaveableObject SaveSpec",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
