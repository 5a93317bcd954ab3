"""``tf.contrib.rnn``: the cells and loops of ``tf.nn``, and stacks of bidirectional layers."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.layers import (
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from actorsession.compat.v1.recurrent.rnn_cell import (
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
from actorsession.compat.v1.recurrent.static import (
    static_bidirectional_rnn,
    static_rnn,
    static_state_saving_rnn,
)
from actorsession.train.layers.recurrent.cell import LayerRNNCell
from actorsession.train.layers.recurrent.steps import transposed as transpose_batch_time

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell",
    "LSTMStateTuple", "LayerRNNCell", "MultiRNNCell", "RNNCell", "ResidualWrapper",
    "stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn", "static_bidirectional_rnn",
    "static_rnn", "static_state_saving_rnn", "transpose_batch_time",
]  # fmt: skip
