"""``tf.contrib.rnn``: the cells and loops of ``tf.nn``, and stacks of bidirectional layers."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.compat.v1.nn.rnn_cell": (
        "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell "
        "LSTMStateTuple MultiRNNCell RNNCell ResidualWrapper"
    ),
    "actorsession.train.layers.recurrent.bidirectional": ("stack_bidirectional_dynamic_rnn stack_bidirectional_rnn"),
    "actorsession.train.layers.recurrent.cells.block": ("GRUBlockCell GRUBlockCellV2 LSTMBlockCell LSTMBlockFusedCell"),
    "actorsession.train.layers.recurrent.cells.cell": "LayerRNNCell",
    "actorsession.train.layers.recurrent.cells.convolutional": (
        "Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell"
    ),
    "actorsession.train.layers.recurrent.cells.fused": (
        "CompiledWrapper FusedRNNCell FusedRNNCellAdaptor TimeReversedFusedRNN best_effort_input_batch_size"
    ),
    "actorsession.train.layers.recurrent.cells.gated": "LayerNormBasicLSTMCell UGRNNCell",
    "actorsession.train.layers.recurrent.cells.grid": ("BidirectionalGridLSTMCell GridLSTMCell TimeFreqLSTMCell"),
    "actorsession.train.layers.recurrent.cells.projections": (
        "AttentionCellWrapper EmbeddingWrapper HighwayWrapper InputProjectionWrapper OutputProjectionWrapper"
    ),
    "actorsession.train.layers.recurrent.cells.variants": (
        "CoupledInputForgetGateLSTMCell GLSTMCell IndRNNCell IndyGRUCell IndyLSTMCell "
        "IntersectionRNNCell NASCell PhasedLSTMCell SRUCell WeightNormLSTMCell"
    ),
    "actorsession.train.layers.recurrent.static": ("static_bidirectional_rnn static_rnn static_state_saving_rnn"),
    "actorsession.train.layers.recurrent.steps": "transposed=transpose_batch_time",
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)

add_modules(__name__)
