# Written by scripts/generated.py.
"""Layers of neural networks, and the cells of recurrent ones."""

from actorsession.train.layers.convolutions import Conv1D as Conv1D
from actorsession.train.layers.convolutions import Conv1DTranspose as Conv1DTranspose
from actorsession.train.layers.convolutions import Conv2D as Conv2D
from actorsession.train.layers.convolutions import Conv2DTranspose as Conv2DTranspose
from actorsession.train.layers.convolutions import Conv3D as Conv3D
from actorsession.train.layers.convolutions import Conv3DTranspose as Conv3DTranspose
from actorsession.train.layers.convolutions import SeparableConv1D as SeparableConv1D
from actorsession.train.layers.convolutions import SeparableConv2D as SeparableConv2D
from actorsession.train.layers.dense import Dense as Dense
from actorsession.train.layers.dropout import Dropout as Dropout
from actorsession.train.layers.embedding import Embedding as Embedding
from actorsession.train.layers.functions import average_pooling1d as average_pooling1d
from actorsession.train.layers.functions import average_pooling2d as average_pooling2d
from actorsession.train.layers.functions import average_pooling3d as average_pooling3d
from actorsession.train.layers.functions import batch_normalization as batch_normalization
from actorsession.train.layers.functions import conv1d as conv1d
from actorsession.train.layers.functions import conv1d_transpose as conv1d_transpose
from actorsession.train.layers.functions import conv2d as conv2d
from actorsession.train.layers.functions import conv2d_transpose as conv2d_transpose
from actorsession.train.layers.functions import conv3d as conv3d
from actorsession.train.layers.functions import conv3d_transpose as conv3d_transpose
from actorsession.train.layers.functions import dense as dense
from actorsession.train.layers.functions import dropout as dropout
from actorsession.train.layers.functions import embedding as embedding
from actorsession.train.layers.functions import flatten as flatten
from actorsession.train.layers.functions import global_average_pooling1d as global_average_pooling1d
from actorsession.train.layers.functions import global_average_pooling2d as global_average_pooling2d
from actorsession.train.layers.functions import global_average_pooling3d as global_average_pooling3d
from actorsession.train.layers.functions import global_max_pooling1d as global_max_pooling1d
from actorsession.train.layers.functions import global_max_pooling2d as global_max_pooling2d
from actorsession.train.layers.functions import global_max_pooling3d as global_max_pooling3d
from actorsession.train.layers.functions import layer_normalization as layer_normalization
from actorsession.train.layers.functions import max_pooling1d as max_pooling1d
from actorsession.train.layers.functions import max_pooling2d as max_pooling2d
from actorsession.train.layers.functions import max_pooling3d as max_pooling3d
from actorsession.train.layers.functions import rnn as rnn
from actorsession.train.layers.functions import separable_conv1d as separable_conv1d
from actorsession.train.layers.functions import separable_conv2d as separable_conv2d
from actorsession.train.layers.kernels import KernelLayer as KernelLayer
from actorsession.train.layers.layer import Layer as Layer
from actorsession.train.layers.normalisation import BatchNormalization as BatchNormalization
from actorsession.train.layers.normalisation import LayerNormalization as LayerNormalization
from actorsession.train.layers.pooling import AveragePooling1D as AveragePooling1D
from actorsession.train.layers.pooling import AveragePooling2D as AveragePooling2D
from actorsession.train.layers.pooling import AveragePooling3D as AveragePooling3D
from actorsession.train.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from actorsession.train.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from actorsession.train.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from actorsession.train.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from actorsession.train.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from actorsession.train.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from actorsession.train.layers.pooling import MaxPooling1D as MaxPooling1D
from actorsession.train.layers.pooling import MaxPooling2D as MaxPooling2D
from actorsession.train.layers.pooling import MaxPooling3D as MaxPooling3D
from actorsession.train.layers.recurrent.cells.basic import BasicRNNCell as BasicRNNCell
from actorsession.train.layers.recurrent.cells.basic import GRUCell as GRUCell
from actorsession.train.layers.recurrent.cells.cell import RNNCell as RNNCell
from actorsession.train.layers.recurrent.cells.lstm import BasicLSTMCell as BasicLSTMCell
from actorsession.train.layers.recurrent.cells.lstm import LSTMCell as LSTMCell
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple as LSTMStateTuple
from actorsession.train.layers.recurrent.over_time import BidirectionalRNN as BidirectionalRNN
from actorsession.train.layers.recurrent.over_time import RNN as RNN
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
