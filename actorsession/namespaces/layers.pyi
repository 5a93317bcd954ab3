# Written by scripts/generated.py.
"""Layers of neural networks, and the cells of recurrent ones."""

from actorsession.train.layers.convolutions import (
Conv1D as Conv1D, Conv1DTranspose as Conv1DTranspose, Conv2D as Conv2D, Conv2DTranspose as
Conv2DTranspose, Conv3D as Conv3D, Conv3DTranspose as Conv3DTranspose, SeparableConv1D as
SeparableConv1D, SeparableConv2D as SeparableConv2D
)
from actorsession.train.layers.dense import Dense as Dense
from actorsession.train.layers.dropout import Dropout as Dropout
from actorsession.train.layers.embedding import Embedding as Embedding
from actorsession.train.layers.functions import (
average_pooling1d as average_pooling1d, average_pooling2d as average_pooling2d, average_pooling3d as
average_pooling3d, batch_normalization as batch_normalization, conv1d as conv1d, conv1d_transpose as
conv1d_transpose, conv2d as conv2d, conv2d_transpose as conv2d_transpose, conv3d as conv3d,
conv3d_transpose as conv3d_transpose, dense as dense, dropout as dropout, embedding as embedding,
flatten as flatten, global_average_pooling1d as global_average_pooling1d, global_average_pooling2d
as global_average_pooling2d, global_average_pooling3d as global_average_pooling3d,
global_max_pooling1d as global_max_pooling1d, global_max_pooling2d as global_max_pooling2d,
global_max_pooling3d as global_max_pooling3d, layer_normalization as layer_normalization,
max_pooling1d as max_pooling1d, max_pooling2d as max_pooling2d, max_pooling3d as max_pooling3d, rnn
as rnn, separable_conv1d as separable_conv1d, separable_conv2d as separable_conv2d
)
from actorsession.train.layers.kernels import KernelLayer as KernelLayer
from actorsession.train.layers.layer import Layer as Layer
from actorsession.train.layers.normalisation import (
BatchNormalization as BatchNormalization, LayerNormalization as LayerNormalization
)
from actorsession.train.layers.pooling import (
AveragePooling1D as AveragePooling1D, AveragePooling2D as AveragePooling2D, AveragePooling3D as
AveragePooling3D, GlobalAveragePooling1D as GlobalAveragePooling1D, GlobalAveragePooling2D as
GlobalAveragePooling2D, GlobalAveragePooling3D as GlobalAveragePooling3D, GlobalMaxPooling1D as
GlobalMaxPooling1D, GlobalMaxPooling2D as GlobalMaxPooling2D, GlobalMaxPooling3D as
GlobalMaxPooling3D, MaxPooling1D as MaxPooling1D, MaxPooling2D as MaxPooling2D, MaxPooling3D as
MaxPooling3D
)
from actorsession.train.layers.recurrent.cells.basic import (
BasicRNNCell as BasicRNNCell, GRUCell as GRUCell
)
from actorsession.train.layers.recurrent.cells.cell import RNNCell as RNNCell
from actorsession.train.layers.recurrent.cells.lstm import (
BasicLSTMCell as BasicLSTMCell, LSTMCell as LSTMCell, LSTMStateTuple as LSTMStateTuple
)
from actorsession.train.layers.recurrent.over_time import (
BidirectionalRNN as BidirectionalRNN, RNN as RNN
)
from actorsession.train.layers.shapes import Flatten as Flatten


__all__ = [
"AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BasicLSTMCell", "BasicRNNCell",
"BatchNormalization", "BidirectionalRNN", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose",
"Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Embedding", "Flatten", "GRUCell",
"GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalMaxPooling1D",
"GlobalMaxPooling2D", "GlobalMaxPooling3D", "KernelLayer", "LSTMCell", "LSTMStateTuple", "Layer",
"LayerNormalization", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "RNN", "RNNCell",
"SeparableConv1D", "SeparableConv2D", "average_pooling1d", "average_pooling2d", "average_pooling3d",
"batch_normalization", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
"conv3d_transpose", "dense", "dropout", "embedding", "flatten", "global_average_pooling1d",
"global_average_pooling2d", "global_average_pooling3d", "global_max_pooling1d",
"global_max_pooling2d", "global_max_pooling3d", "layer_normalization", "max_pooling1d",
"max_pooling2d", "max_pooling3d", "rnn", "separable_conv1d", "separable_conv2d"
]
