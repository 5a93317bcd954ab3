"""``tf.contrib.rnn``: the cells and loops of ``tf.nn``, and stacks of bidirectional layers."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.nn.rnn_cell import (
    BasicLSTMCell,
    BasicRNNCell,
    DeviceWrapper,
    DropoutWrapper,
    GRUCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
    RNNCell,
)
from actorsession.train.layers.recurrent.bidirectional import (
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from actorsession.train.layers.recurrent.cells.block import (
    GRUBlockCell,
    GRUBlockCellV2,
    LSTMBlockCell,
    LSTMBlockFusedCell,
)
from actorsession.train.layers.recurrent.cells.cell import LayerRNNCell
from actorsession.train.layers.recurrent.cells.contrib import (
    AttentionCellWrapper,
    CompiledWrapper,
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
    EmbeddingWrapper,
    HighwayWrapper,
    InputProjectionWrapper,
    LayerNormBasicLSTMCell,
    OutputProjectionWrapper,
    TimeReversedFusedRNN,
    UGRNNCell,
)
from actorsession.train.layers.recurrent.cells.fused import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    best_effort_input_batch_size,
)
from actorsession.train.layers.recurrent.cells.grid import (
    BidirectionalGridLSTMCell,
    GridLSTMCell,
    TimeFreqLSTMCell,
)
from actorsession.train.layers.recurrent.cells.rarer import (
    CoupledInputForgetGateLSTMCell,
    GLSTMCell,
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
    SRUCell,
    WeightNormLSTMCell,
)
from actorsession.train.layers.recurrent.static import (
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)
from actorsession.train.layers.recurrent.steps import transposed as transpose_batch_time

__all__ = [
    "AttentionCellWrapper", "BasicLSTMCell", "BasicRNNCell", "BidirectionalGridLSTMCell",
    "CompiledWrapper", "Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell", "DeviceWrapper", "DropoutWrapper", "EmbeddingWrapper",
    "FusedRNNCell", "FusedRNNCellAdaptor", "GLSTMCell", "GRUBlockCell", "GRUBlockCellV2", "GRUCell",
    "GridLSTMCell", "HighwayWrapper", "IndRNNCell", "IndyGRUCell", "IndyLSTMCell",
    "InputProjectionWrapper", "IntersectionRNNCell", "LSTMBlockCell", "LSTMBlockFusedCell", "LSTMCell",
    "LSTMStateTuple", "LayerNormBasicLSTMCell", "LayerRNNCell", "MultiRNNCell", "NASCell",
    "OutputProjectionWrapper", "PhasedLSTMCell", "RNNCell", "ResidualWrapper", "SRUCell",
    "TimeFreqLSTMCell", "TimeReversedFusedRNN", "UGRNNCell", "WeightNormLSTMCell",
    "best_effort_input_batch_size", "stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn",
    "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn", "transpose_batch_time",
]  # fmt: skip

add_modules(__name__)
