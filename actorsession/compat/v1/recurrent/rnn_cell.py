"""``tf.nn.rnn_cell``: the cells."""

from __future__ import annotations

from actorsession.compat.v1.recurrent.basic import BasicRNNCell, GRUCell
from actorsession.compat.v1.recurrent.cell import RNNCell
from actorsession.compat.v1.recurrent.dropout import DropoutWrapper
from actorsession.compat.v1.recurrent.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from actorsession.compat.v1.recurrent.stacked import MultiRNNCell
from actorsession.compat.v1.recurrent.wrappers import DeviceWrapper, ResidualWrapper

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell",
    "LSTMStateTuple", "MultiRNNCell", "RNNCell", "ResidualWrapper",
]  # fmt: skip
