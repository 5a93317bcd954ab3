"""Layers of neural networks, and the cells of recurrent ones."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.train.layers.convolutions": (
        "Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D"
    ),
    "actorsession.train.layers.dense": "Dense",
    "actorsession.train.layers.dropout": "Dropout",
    "actorsession.train.layers.embedding": "Embedding",
    "actorsession.train.layers.functions": (
        "average_pooling1d average_pooling2d average_pooling3d batch_normalization conv1d "
        "conv1d_transpose conv2d conv2d_transpose conv3d conv3d_transpose dense dropout embedding "
        "flatten global_average_pooling1d global_average_pooling2d global_average_pooling3d "
        "global_max_pooling1d global_max_pooling2d global_max_pooling3d layer_normalization "
        "max_pooling1d max_pooling2d max_pooling3d rnn separable_conv1d separable_conv2d"
    ),
    "actorsession.train.layers.kernels": "KernelLayer",
    "actorsession.train.layers.layer": "Layer",
    "actorsession.train.layers.normalisation": "BatchNormalization LayerNormalization",
    "actorsession.train.layers.pooling": (
        "AveragePooling1D AveragePooling2D AveragePooling3D GlobalAveragePooling1D "
        "GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D "
        "GlobalMaxPooling3D MaxPooling1D MaxPooling2D MaxPooling3D"
    ),
    "actorsession.train.layers.recurrent.cells.basic": "BasicRNNCell GRUCell",
    "actorsession.train.layers.recurrent.cells.cell": "RNNCell",
    "actorsession.train.layers.recurrent.cells.lstm": "BasicLSTMCell LSTMCell LSTMStateTuple",
    "actorsession.train.layers.recurrent.over_time": "BidirectionalRNN RNN",
    "actorsession.train.layers.shapes": "Flatten",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
