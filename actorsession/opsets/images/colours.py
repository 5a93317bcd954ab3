"""The colours of images: colour spaces, brightness, contrast, hue, saturation, gamma, dtypes of pixels.

Colours are the last axis. Floating-point pixels are meant to lie between 0 and 1, integer pixels use the
range of their type. ``RGBToHSV``, ``HSVToRGB`` and the ``Adjust...`` ops are defined here completely; they
have no gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import as_dtype, float16, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.fills import ones
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.layout import tile
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.convolutions.nodes import halves_widened
from actorsession.ops.elements.arithmetic import maximum, multiply
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import rsqrt, sqrt, square
from actorsession.ops.elements.recast import saturate_cast
from actorsession.ops.linear.contractions import tensordot
from actorsession.ops.reductions.reduction import reduce_mean, reduce_prod, reduce_sum
from actorsession.ops.rows import check_inputs, op

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "convert_image_dtype", "grayscale_to_rgb", "hsv_to_rgb", "per_image_standardization",
    "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "yiq_to_rgb", "yuv_to_rgb",
]  # fmt: skip

# The weights of the three colours in perceived brightness.
_LUMA = (0.2989, 0.5870, 0.1140)


# Matrices from rows of source colours to columns of target colours, rounded as in TensorFlow.
_TO_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ: Sequence[Sequence[float]] = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_TO_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV: Sequence[Sequence[float]] = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


# -- dtypes ----------------------------------------------------------------------------------------


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Convert an image to another dtype, scaled to the pixel range of that dtype.

    Args:
        image: pixels.
        dtype: wanted dtype.
        saturate: whether values beyond the range of an integer type become its ends.
    """
    value, new_dtype = convert_to_tensor(image), as_dtype(dtype)
    recast = saturate_cast if saturate else cast
    if value.dtype is new_dtype:
        return identity(value, name)
    with value.graph.name_scope(name or "convert_image") as scope:
        if value.dtype.is_floating and new_dtype.is_floating:
            return cast(value, new_dtype, scope)
        if value.dtype.is_floating:
            most = np.iinfo(new_dtype.np_dtype).max + 0.5
            return recast(value * most, new_dtype, scope)
        if new_dtype.is_floating:
            return multiply(cast(value, new_dtype), 1.0 / np.iinfo(value.dtype.np_dtype).max, scope)
        source, target = (int(np.iinfo(t.np_dtype).max) for t in (value.dtype, new_dtype))
        if source > target:
            return recast(value // ((source + 1) // (target + 1)), new_dtype, scope)
        return multiply(recast(value, new_dtype), (target + 1) // (source + 1), scope)


def _as_floats(image: Tensor) -> Tensor:
    return image if image.dtype in (float16, float32) else convert_image_dtype(image, float32)


# -- brightness and contrast -----------------------------------------------------------------------


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Add ``delta`` to each pixel of an image, on the scale of floating-point pixels.

    Args:
        image: pixels of any dtype; the result has the same.
        delta: a scalar, usually in (-1, 1).
    """
    value = convert_to_tensor(image)
    with value.graph.name_scope("adjust_brightness"):
        floats = value if value.dtype.is_floating else convert_image_dtype(value, float32)
        change = cast(convert_to_tensor(delta, graph=value.graph), floats.dtype)
        return convert_image_dtype(floats + change, value.dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Scale the distance of pixels from the mean of their channel by ``contrast_factor``.

    Args:
        images: shape ``[..., height, width, channels]``.
        contrast_factor: a scalar.
    """
    value = convert_to_tensor(images)
    with value.graph.name_scope("adjust_contrast"):
        factor = convert_to_tensor(contrast_factor, float32, "contrast_factor", graph=value.graph)
        adjusted = raw.AdjustContrastv2(_as_floats(value), factor)
        return convert_image_dtype(adjusted, value.dtype, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return ``gain * image ** gamma``, on the scale of floating-point pixels.

    Args:
        image: pixels of any dtype; the result has the same.
        gamma: a number, at least 0.
        gain: a number.
    """
    value = convert_to_tensor(image)
    with value.graph.name_scope("adjust_gamma"):
        known = get_static_value(gamma) if isinstance(gamma, Tensor) else gamma
        if known is not None and known < 0:
            raise ValueError(f"Gamma should be a non-negative real number, got {known}")
        floats = _as_floats(value)
        return convert_image_dtype(gain * floats**gamma, value.dtype, saturate=True)


def per_image_standardization(image: Any) -> Tensor:
    """Normalise each image to mean 0 and variance 1, as float32 (float16 if given as such).

    The deviation is at least ``1 / sqrt(pixels)``, so that an image of one colour becomes 0.

    Args:
        image: shape ``[..., height, width, channels]``.
    """
    value = convert_to_tensor(image)
    with value.graph.name_scope("per_image_standardization") as scope:
        _check_rank(value, 3)
        floats = value if value.dtype in (float16, float32) else cast(value, float32)
        count = reduce_prod(shape(value)[-3:])
        middle = reduce_mean(floats, [-1, -2, -3], keepdims=True)
        centred = floats - middle
        deviation = sqrt(reduce_mean(square(centred), [-1, -2, -3], keepdims=True))
        least = rsqrt(cast(count, floats.dtype))
        return raw.RealDiv(centred, maximum(deviation, least), name=scope)


def _check_rank(value: Tensor, least: int) -> None:
    if value.shape.rank is not None and value.shape.rank < least:
        raise ValueError(f"'image' (shape {value.shape}) must be at least {least}-dimensional.")


# -- colours ---------------------------------------------------------------------------------------


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Convert images to shades of grey, with one channel.

    Args:
        images: the last axis is red, green and blue.
    """
    value = convert_to_tensor(images)
    with value.graph.name_scope(name or "rgb_to_grayscale") as scope:
        floats = convert_image_dtype(value, float32)
        grey = reduce_sum(floats * np.array(_LUMA, np.float32), -1, keepdims=True)
        return convert_image_dtype(grey, value.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Convert images of one channel to three equal channels.

    Args:
        images: the last axis has extent 1.
    """
    value = convert_to_tensor(images)
    with value.graph.name_scope(name or "grayscale_to_rgb") as scope:
        _check_rank(value, 1)
        known = value.shape.rank
        if known is not None and value.spec.shape[-1] not in (None, 1):
            raise ValueError(f"a grey image has one channel, got shape {value.shape}")
        if known is not None:
            return tile(value, [1] * (known - 1) + [3], scope)
        return tile(value, concat([ones([rank(value) - 1], "int32"), [3]], 0), scope)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Convert RGB to hue, saturation and value, between 0 and 1.

    Args:
        images: floating; the last axis is red, green and blue.
    """
    return raw.RGBToHSV(images, name=name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value to RGB; the inverse of ``rgb_to_hsv``."""
    return raw.HSVToRGB(images, name=name)


def rgb_to_yiq(images: Any) -> Tensor:
    """Convert RGB to brightness (Y) and two colour differences (I, Q).

    Args:
        images: floating numbers with three colours as the last axis, usually between 0 and 1.
    """
    return _product(images, _TO_YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """Convert YIQ to RGB; arguments as for ``rgb_to_yiq``."""
    return _product(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Convert RGB to brightness (Y) and the differences of blue and red (U, V); see ``rgb_to_yiq``."""
    return _product(images, _TO_YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """Convert YUV to RGB; arguments as for ``rgb_to_yiq``."""
    return _product(images, _FROM_YUV)


def _product(images: Any, matrix: Sequence[Sequence[float]]) -> Tensor:
    value = convert_to_tensor(images, name="images")
    if value.shape.rank is None:
        raise ValueError("colours are the last axis of a tensor of known rank, got an unknown one")
    kernel = convert_to_tensor(matrix, value.dtype, "kernel", graph=value.graph)
    return tensordot(value, kernel, [[value.shape.rank - 1], [0]])


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Add ``delta`` to the hue of colours, which wraps around at 1.

    Args:
        image: RGB pixels of any dtype.
        delta: a scalar.
    """
    return _adjusted(raw.AdjustHue, image, delta, "delta", name or "adjust_hue")


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiply the saturation of colours by ``saturation_factor``.

    Args:
        image: RGB pixels of any dtype.
        saturation_factor: a scalar.
    """
    scope = name or "adjust_saturation"
    return _adjusted(raw.AdjustSaturation, image, saturation_factor, "scale", scope)


def _adjusted(adjust: Callable[..., Tensor], image: Any, by: Any, by_name: str, scope: str) -> Tensor:
    value = convert_to_tensor(image)
    with value.graph.name_scope(scope):
        change = convert_to_tensor(by, float32, by_name, graph=value.graph)
        return convert_image_dtype(adjust(_as_floats(value), change), value.dtype)


# -- op types --------------------------------------------------------------------------------------


def _of_images(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    shape, *by = (spec.shape for spec in ctx.inputs)
    dims = shape.sizes
    least = 1 if ctx.op in ("RGBToHSV", "HSVToRGB") else 3
    coloured = ctx.op != "AdjustContrastv2"
    if dims is not None and (len(dims) < least or (coloured and dims[-1] not in (None, 3))):
        raise ValueError(f"{ctx.op}: images have rank {least} at least{' and 3 colours' * coloured}, got shape {shape}")
    if by and by[0].rank not in (None, 0):
        raise ValueError(f"{ctx.op}: input 1 is a scalar, got shape {by[0]}")
    return [shape]


def _check_colours(images: Any, by: Sequence[Any], op: str, least: int, coloured: bool) -> None:
    if images.ndim < least or (coloured and images.shape[-1] != 3):
        raise InvalidArgumentError(
            f"{op}: images have rank {least} at least{' and 3 colours' * coloured}, got shape {list(images.shape)}"
        )
    if any(np.ndim(b) for b in by):
        raise InvalidArgumentError(f"{op}: input 1 is a scalar, got shape {list(by[0].shape)}")


def _to_hsv(xp: Any, images: Any) -> Any:
    red, green, blue = images[..., 0], images[..., 1], images[..., 2]
    most, least = (pick(pick(red, green), blue) for pick in (xp.maximum, xp.minimum))
    span = most - least
    sixth = 1 / (6 * span)
    of_others = xp.where(green == most, (blue - red) * sixth + 2 / 6, (red - green) * sixth + 4 / 6)
    hue = xp.where(red == most, (green - blue) * sixth, of_others)
    hue = xp.where(span > 0, hue, 0.0)
    hue = xp.where(hue < 0, hue + 1, hue)
    return xp.stack([hue, xp.where(most > 0, span / most, 0.0), most], -1)


def _to_rgb(xp: Any, images: Any) -> Any:
    hue, saturation, value = images[..., 0], images[..., 1], images[..., 2]
    six = hue * 6
    pure = xp.stack([abs(six - 3) - 1, 2 - abs(six - 2), 2 - abs(six - 4)], -1)
    out = (1 - saturation)[..., None] + saturation[..., None] * xp.clip(pure, 0, 1)
    return out * value[..., None]


def _with_hue(xp: Any, images: Any, delta: Any) -> Any:
    # Between its least and its greatest colour, which stay, so that pixels may be negative.
    most, least = (pick(images, -1)[..., None] for pick in (xp.amax, xp.amin))
    hue = (_to_hsv(xp, images)[..., 0] + delta) % 1
    ones = xp.ones_like(hue)
    return least + (most - least) * _to_rgb(xp, xp.stack([hue, ones, ones], -1))


def _with_saturation(xp: Any, images: Any, factor: Any) -> Any:
    hsv = _to_hsv(xp, images)
    hsv[..., 1] = xp.clip(hsv[..., 1] * factor, 0, 1)
    return _to_rgb(xp, hsv)


def _with_contrast(xp: Any, images: Any, factor: Any) -> Any:
    if 0 in images.shape:
        return images * factor
    middle = images.mean((-3, -2))[..., None, None, :]
    return (images - middle) * factor + middle


def _sentence(xp: Any, ctx: KernelContext) -> Kernel:
    function, least, coloured = _COLOURS[ctx.op]

    def computed(images: Any, *by: Any) -> Any:
        _check_colours(images, by, ctx.op, least, coloured)
        with np.errstate(all="ignore"):
            return function(xp, images, *by)

    return halves_widened(computed, ctx.outputs[0].dtype, xp)


# By operation type: the function from the module of functions of the arrays, images and what changes them to images;
# the least rank of images, and whether they have three colours.
_COLOURS: dict[str, tuple[Callable[..., Any], int, bool]] = {
    "RGBToHSV": (_to_hsv, 1, True),
    "HSVToRGB": (_to_rgb, 1, True),
    "AdjustHue": (_with_hue, 3, True),
    "AdjustSaturation": (_with_saturation, 3, True),
    "AdjustContrastv2": (_with_contrast, 3, False),
}

for _type in _COLOURS:
    op(_type, _of_images, sentence=_sentence, grad=NOT_DIFFERENTIABLE if _type == "HSVToRGB" else None)
