"""Convolutions that TensorFlow's passes and its tools for frozen graphs have fused with others.

Owns ``FusedPadConv2D`` and ``FusedResizeAndPadConv2D``, which pad the images, and ``_FusedConv2D`` and
``_FusedDepthwiseConv2dNative``, which add a bias or normalise, and apply an activation, as ``fused_ops``
says.
``epilogue`` is that part, which products of matrices have too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.ops.compounds import Body, Value, compound

__all__ = ["epilogue"]

_ACTIVATIONS = ("Elu", "LeakyRelu", "Relu", "Relu6", "Sigmoid", "Tanh")


def _padded(body: Body, images: Value, paddings: Value, filters: Value) -> Value:
    margins = body.MirrorPad(images, paddings, mode=body.attrs["mode"])
    strides, padding = body.attrs["strides"], body.attrs["padding"]
    convolved: Value = body.Conv2D(margins, filters, strides=strides, padding=padding)
    return convolved


def _resized(body: Body, images: Value, size: Value, paddings: Value, filters: Value) -> Value:
    resized = body.ResizeBilinear(
        images, size, align_corners=body.attrs["resize_align_corners"], half_pixel_centers=False
    )
    dtype = images.spec.dtype
    if dtype is not resized.spec.dtype:
        resized = body.Cast(resized, DstT=dtype, SrcT=resized.spec.dtype)
    return _padded(body, resized, paddings, filters)


def epilogue(body: Body, value: Value, args: Sequence[Value], fused: Sequence[str]) -> Value:
    """Return a product or convolution after the operations that are fused with it.

    Args:
        body: the body of the node.
        value: the product.
        args: the further inputs: a bias, or the vectors of a batch normalisation.
        fused: names of operations, in order.

    Raises:
        ValueError: for an operation that is not fused with products.
    """
    data_format = body.attrs.get("data_format", "NHWC")
    left = list(args)
    for name in fused:
        if name == "BiasAdd":
            value = body.BiasAdd(value, left.pop(0), data_format=data_format)
        elif name == "FusedBatchNorm":
            value = body.FusedBatchNormV3(
                value, *left[:4], epsilon=body.attrs["epsilon"], data_format=data_format, is_training=False
            )[0]
            del left[:4]
        elif name in _ACTIVATIONS:
            value = getattr(body, name)(value, alpha=body.attrs["leakyrelu_alpha"])
        else:
            raise ValueError(
                f"fused_ops of {list(fused)}: BiasAdd, FusedBatchNorm and "
                f"{', '.join(_ACTIVATIONS)} are fused with products, got {name!r}"
            )
    return value


def _fused(kind: str) -> Any:
    def composition(body: Body, images: Value, filters: Value, *args: Value) -> Value:
        attrs = {key: value for key, value in body.attrs.items() if key != "T"}
        if attrs.pop("filter_format", "HWIO") != "HWIO":
            raise ValueError(f"filter_format is HWIO, got {body.attrs['filter_format']!r}")
        result = getattr(body, kind)(images, filters, **attrs)
        return epilogue(body, result, args, body.attrs["fused_ops"])

    return composition


compound("FusedPadConv2D", _padded, sized_by=(1,), divides=True)
compound("FusedResizeAndPadConv2D", _resized, sized_by=(1, 2), divides=True)
compound("_FusedConv2D", _fused("Conv2D"), divides=True)
compound("_FusedDepthwiseConv2dNative", _fused("DepthwiseConv2dNative"), divides=True)
