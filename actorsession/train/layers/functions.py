"""The layers in one line: ``dense(x, 10)`` makes a ``Dense(10)`` and calls it with ``x``.

A function takes the inputs, and then the arguments of its class. A ``name`` is that of the variable scope as
it stands: a second function with the same name is an error, unless ``reuse`` or the scope around it allows
sharing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from actorsession.train.layers.convolutions import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    SeparableConv1D,
    SeparableConv2D,
)
from actorsession.train.layers.dense import Dense
from actorsession.train.layers.dropout import Dropout
from actorsession.train.layers.embedding import Embedding
from actorsession.train.layers.layer import Layer
from actorsession.train.layers.normalisation import BatchNormalization, LayerNormalization
from actorsession.train.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from actorsession.train.layers.recurrent.over_time import RNN
from actorsession.train.layers.shapes import Flatten

__all__ = [
    "average_pooling1d", "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d",
    "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "dense",
    "dropout", "embedding", "flatten", "global_average_pooling1d", "global_average_pooling2d",
    "global_average_pooling3d", "global_max_pooling1d", "global_max_pooling2d",
    "global_max_pooling3d", "layer_normalization", "max_pooling1d", "max_pooling2d",
    "max_pooling3d", "rnn", "separable_conv1d", "separable_conv2d",
]  # fmt: skip

_Settings = ParamSpec("_Settings")


def _function(name: str, kind: Callable[_Settings, Layer]) -> Callable[Concatenate[Any, _Settings], Any]:
    """Return the function that makes a layer of a class and calls it.

    Args:
        name: the name of the function.
        kind: the class.
    """

    def call(inputs: Any, /, *args: _Settings.args, **settings: _Settings.kwargs) -> Any:
        return kind(*args, **settings)(inputs, scope=settings.get("name"))

    call.__name__ = call.__qualname__ = name
    described = inspect.cleandoc(kind.__doc__ or "")
    call.__doc__ = f"Make a layer and call it with ``inputs``.\n\n{described}"
    return call


average_pooling1d = _function("average_pooling1d", AveragePooling1D)
average_pooling2d = _function("average_pooling2d", AveragePooling2D)
average_pooling3d = _function("average_pooling3d", AveragePooling3D)
conv1d = _function("conv1d", Conv1D)
conv1d_transpose = _function("conv1d_transpose", Conv1DTranspose)
conv2d = _function("conv2d", Conv2D)
conv2d_transpose = _function("conv2d_transpose", Conv2DTranspose)
conv3d = _function("conv3d", Conv3D)
conv3d_transpose = _function("conv3d_transpose", Conv3DTranspose)
dense = _function("dense", Dense)
embedding = _function("embedding", Embedding)
flatten = _function("flatten", Flatten)
global_average_pooling1d = _function("global_average_pooling1d", GlobalAveragePooling1D)
global_average_pooling2d = _function("global_average_pooling2d", GlobalAveragePooling2D)
global_average_pooling3d = _function("global_average_pooling3d", GlobalAveragePooling3D)
global_max_pooling1d = _function("global_max_pooling1d", GlobalMaxPooling1D)
global_max_pooling2d = _function("global_max_pooling2d", GlobalMaxPooling2D)
global_max_pooling3d = _function("global_max_pooling3d", GlobalMaxPooling3D)
layer_normalization = _function("layer_normalization", LayerNormalization)
max_pooling1d = _function("max_pooling1d", MaxPooling1D)
max_pooling2d = _function("max_pooling2d", MaxPooling2D)
max_pooling3d = _function("max_pooling3d", MaxPooling3D)
separable_conv1d = _function("separable_conv1d", SeparableConv1D)
separable_conv2d = _function("separable_conv2d", SeparableConv2D)


def batch_normalization(inputs: Any, *, training: Any = False, **settings: Any) -> Any:
    """Normalise each channel over a batch.

    Args:
        inputs: the inputs, of a floating dtype.
        training: whether the statistics are those of the batch: a bool or a scalar bool tensor.
        settings: the arguments of ``BatchNormalization``.
    """
    layer = BatchNormalization(**settings)
    return layer(inputs, training=training, scope=settings.get("name"))


def dropout(inputs: Any, rate: Any = 0.5, *, training: Any = False, **settings: Any) -> Any:
    """Set random entries to 0 and scale the others up, while training only.

    Args:
        inputs: the inputs, of a floating dtype.
        rate: the probability of each entry to be dropped, in [0, 1): a number or a scalar tensor.
        training: whether entries are dropped: a bool or a scalar bool tensor.
        settings: the other arguments of ``Dropout``.
    """
    return Dropout(rate, **settings)(inputs, training=training, scope=settings.get("name"))


def rnn(
    inputs: Any, cell: Any, sequence_length: Any = None, initial_state: Any = None, **settings: Any
) -> tuple[Any, Any]:
    """Run a cell over time.

    Args:
        inputs: numbers ``[batch, time, columns]``.
        cell: the cell, such as ``LSTMCell(32)``.
        sequence_length: the length of each member's sequence, an integer vector ``[batch]``.
        initial_state: the initial state; zeros if left out.
        settings: the other arguments of ``RNN``.

    Returns:
        The outputs ``[batch, time, cell.output_size]`` and the last state.
    """
    results: tuple[Any, Any] = RNN(cell, **settings)(inputs, sequence_length, initial_state, scope=settings.get("name"))
    return results
