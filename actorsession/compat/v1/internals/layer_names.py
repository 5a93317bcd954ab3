"""Further names of the classes of ``tf.layers`` for convolutions."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.layers": (
        "Conv1D=Convolution1D Conv2D=Convolution2D Conv2DTranspose=Convolution2DTranspose "
        "Conv2DTranspose=Deconvolution2D Conv3D=Convolution3D Conv3DTranspose=Convolution3DTranspose "
        "Conv3DTranspose=Deconvolution3D SeparableConv1D=SeparableConvolution1D "
        "SeparableConv2D=SeparableConvolution2D conv1d=convolution1d conv2d=convolution2d "
        "conv2d_transpose=convolution2d_transpose conv2d_transpose=deconvolution2d "
        "conv3d=convolution3d conv3d_transpose=convolution3d_transpose "
        "conv3d_transpose=deconvolution3d separable_conv2d=separable_convolution2d"
    )
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
