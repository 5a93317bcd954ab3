"""``tf.nn.rnn_cell``: the cells."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.dropout import DropoutWrapper
from actorsession.compat.v1.recurrent.stacked import MultiRNNCell
from actorsession.compat.v1.recurrent.wrappers import DeviceWrapper, ResidualWrapper
from actorsession.train.layers.recurrent.basic import BasicRNNCell, GRUCell
from actorsession.train.layers.recurrent.cell import RNNCell
from actorsession.train.layers.recurrent.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell",
    "LSTMStateTuple", "MultiRNNCell", "RNNCell", "ResidualWrapper",
]  # fmt: skip
