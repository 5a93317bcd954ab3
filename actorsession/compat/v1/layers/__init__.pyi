# Written by scripts/generated.py.
"""``tf.layers``: layers as classes and as functions, with TensorFlow 1's arguments and variable names.

They are the library's ``layers`` behind TensorFlow's signatures. ``base`` has the class that programs derive
from, ``classes`` and ``functions`` the layers, and ``arguments`` the tables of their signatures.
"""

from actorsession.compat.v1.layers.base import InputSpec as InputSpec
from actorsession.compat.v1.layers.base import Layer as Layer
from actorsession.compat.v1.layers.classes import AveragePooling1D as AveragePooling1D
from actorsession.compat.v1.layers.classes import AveragePooling2D as AveragePooling2D
from actorsession.compat.v1.layers.classes import AveragePooling3D as AveragePooling3D
from actorsession.compat.v1.layers.classes import BatchNormalization as BatchNormalization
from actorsession.compat.v1.layers.classes import Conv1D as Conv1D
from actorsession.compat.v1.layers.classes import Conv2D as Conv2D
from actorsession.compat.v1.layers.classes import Conv2DTranspose as Conv2DTranspose
from actorsession.compat.v1.layers.classes import Conv3D as Conv3D
from actorsession.compat.v1.layers.classes import Conv3DTranspose as Conv3DTranspose
from actorsession.compat.v1.layers.classes import Dense as Dense
from actorsession.compat.v1.layers.classes import Dropout as Dropout
from actorsession.compat.v1.layers.classes import Flatten as Flatten
from actorsession.compat.v1.layers.classes import MaxPooling1D as MaxPooling1D
from actorsession.compat.v1.layers.classes import MaxPooling2D as MaxPooling2D
from actorsession.compat.v1.layers.classes import MaxPooling3D as MaxPooling3D
from actorsession.compat.v1.layers.classes import SeparableConv1D as SeparableConv1D
from actorsession.compat.v1.layers.classes import SeparableConv2D as SeparableConv2D
from actorsession.compat.v1.layers import experimental as experimental
from actorsession.compat.v1.layers.functions import average_pooling1d as average_pooling1d
from actorsession.compat.v1.layers.functions import average_pooling2d as average_pooling2d
from actorsession.compat.v1.layers.functions import average_pooling3d as average_pooling3d
from actorsession.compat.v1.layers.functions import batch_normalization as batch_normalization
from actorsession.compat.v1.layers.functions import conv1d as conv1d
from actorsession.compat.v1.layers.functions import conv2d as conv2d
from actorsession.compat.v1.layers.functions import conv2d_transpose as conv2d_transpose
from actorsession.compat.v1.layers.functions import conv3d as conv3d
from actorsession.compat.v1.layers.functions import conv3d_transpose as conv3d_transpose
from actorsession.compat.v1.layers.functions import dense as dense
from actorsession.compat.v1.layers.functions import dropout as dropout
from actorsession.compat.v1.layers.functions import flatten as flatten
from actorsession.compat.v1.layers.functions import max_pooling1d as max_pooling1d
from actorsession.compat.v1.layers.functions import max_pooling2d as max_pooling2d
from actorsession.compat.v1.layers.functions import max_pooling3d as max_pooling3d
from actorsession.compat.v1.layers.functions import separable_conv1d as separable_conv1d
from actorsession.compat.v1.layers.functions import separable_conv2d as separable_conv2d

__all__ = [
"AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D",
"Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten",
"InputSpec", "Layer", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "SeparableConv1D",
"SeparableConv2D", "average_pooling1d", "average_pooling2d", "average_pooling3d",
"batch_normalization", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
"dense", "dropout", "experimental", "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d",
"separable_conv1d", "separable_conv2d"
]
