"""Losses of images by JPEG compression, with Pillow: ``adjust_jpeg_quality``, ``random_jpeg_quality``.

Owns ``EncodeJpegVariableQuality``, whose quality is an operand; it has no gradient.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32, uint8
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.randomness.numbers import random_uniform
from actorsession.ops.rows import check_inputs, op
from actorsession.opsets.images.colours import convert_image_dtype
from actorsession.opsets.images.files import decode_jpeg, require_pillow

__all__ = ["adjust_jpeg_quality", "random_jpeg_quality"]


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """Return an image after JPEG compression with the given quality.

    Args:
        image: an image of any dtype, with 1 or 3 channels; floats lie between 0 and 1.
        jpeg_quality: 0 to 100, an int32 scalar.
    """
    value = convert_to_tensor(image, name="image")
    with value.graph.as_default(), value.graph.name_scope(name or "adjust_jpeg_quality"):
        channels = value.shape.with_rank(3)[2]
        quality = convert_to_tensor(jpeg_quality, int32, "jpeg_quality")
        bytes_ = convert_image_dtype(value, uint8, saturate=True)
        file = raw.EncodeJpegVariableQuality(bytes_, quality)
        read = decode_jpeg(file, channels or 0)
        return convert_image_dtype(read, value.dtype, saturate=True)


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """Apply ``adjust_jpeg_quality`` with a quality drawn anew in each step.

    Args:
        image: as for ``adjust_jpeg_quality``.
        min_jpeg_quality: lower bound of the quality, at least 0.
        max_jpeg_quality: exclusive upper bound of the quality, at most 100.
        seed: seed of the random numbers.
    """
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    value = convert_to_tensor(image, name="image")
    with value.graph.as_default():
        bounds = (min_jpeg_quality, max_jpeg_quality)
        return adjust_jpeg_quality(value, random_uniform([], *bounds, dtype=int32, seed=seed))


def _encoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    require_pillow(ctx.op)
    check_inputs(ctx)
    image, quality = (spec.shape for spec in ctx.inputs)
    if image.rank not in (None, 3) or quality.rank not in (None, 0):
        raise ValueError(f"{ctx.op}: an image has rank 3 and a quality rank 0, got {image} and {quality}")
    return [scalar_shape]


def _encode_kernel(ctx: KernelContext) -> Kernel:
    require_pillow(ctx.op)
    from PIL import Image

    def encoded(pixels: Any, quality: Any) -> bytes:
        if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or not pixels.size:
            raise InvalidArgumentError(
                f"{ctx.op}: an image has pixels and 1 or 3 channels, got shape {list(pixels.shape)}"
            )
        if not 0 <= quality <= 100:
            raise InvalidArgumentError(f"{ctx.op}: quality must be in [0,100], got {quality}")
        flat = np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
        file = io.BytesIO()
        Image.fromarray(flat).save(file, "JPEG", quality=int(quality))
        return file.getvalue()

    return encoded


op("EncodeJpegVariableQuality", _encoded_shape, kernel=_encode_kernel, grad=NOT_DIFFERENTIABLE)
