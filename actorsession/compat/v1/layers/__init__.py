"""``tf.layers``: layers as classes and as functions, with TensorFlow 1's arguments and variable names.

They are the library's ``layers`` behind TensorFlow's signatures. ``base`` has the class that programs derive
from, ``classes`` and ``functions`` the layers, and ``arguments`` the tables of their signatures.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".base": "InputSpec Layer",
    ".classes": (
        "AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Conv1D Conv2D "
        "Conv2DTranspose Conv3D Conv3DTranspose Dense Dropout Flatten MaxPooling1D MaxPooling2D "
        "MaxPooling3D SeparableConv1D SeparableConv2D"
    ),
    ".experimental": "*=experimental",
    ".functions": (
        "average_pooling1d average_pooling2d average_pooling3d batch_normalization conv1d conv2d "
        "conv2d_transpose conv3d conv3d_transpose dense dropout flatten max_pooling1d "
        "max_pooling2d max_pooling3d separable_conv1d separable_conv2d"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
