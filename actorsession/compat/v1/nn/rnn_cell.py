"""``tf.nn.rnn_cell``: the cells."""

from __future__ import annotations

from actorsession.train.layers.recurrent.cells.basic import BasicRNNCell, GRUCell
from actorsession.train.layers.recurrent.cells.cell import RNNCell
from actorsession.train.layers.recurrent.cells.dropout import DropoutWrapper
from actorsession.train.layers.recurrent.cells.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from actorsession.train.layers.recurrent.cells.stacked import MultiRNNCell
from actorsession.train.layers.recurrent.cells.wrappers import DeviceWrapper, ResidualWrapper

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
