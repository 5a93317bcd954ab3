"""Images as PNG and JPEG files: op types implemented with Pillow, which is an extra.

Pillow is imported when a kernel is made, never with the package; a node that needs it raises an error when it
is built without Pillow. JPEG allows decoders to round differently, so pixels may differ from TensorFlow's by
a few levels.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.extras import require
from actorsession.graph.dtypes import string, uint8, uint16
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import ANY_INPUT, NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import check_inputs, op
from actorsession.opsets.images.deep_png import read_deep, with_channels, write_deep
from actorsession.opsets.text.kernels import one_string, require_string

__all__ = ["decode_jpeg", "decode_png", "encode_jpeg", "encode_png", "opened", "pixels_of", "require_pillow"]

# Pillow's modes for numbers of channels.
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_CHANNELS = {"DecodePng": (0, 1, 3, 4), "DecodeJpeg": (0, 1, 3), "EncodePng": (1, 2, 3, 4), "EncodeJpeg": (1, 3)}


def require_pillow(op: str) -> None:
    """Raise ImportError, with installation instructions for an operation type, if Pillow is missing."""
    require("PIL", "image", f"{op} is done by Pillow")


# -- reading ---------------------------------------------------------------------------------------


def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """Return the pixels of a PNG file.

    Args:
        contents: contents of the file, a string scalar.
        channels: number of channels to return: 1, 3 or 4; that of the file for 0.
        dtype: uint8 or uint16.

    Returns:
        The pixels, of shape ``[height, width, channels]``. At run time an InvalidArgumentError is raised for
        invalid images.
    """
    file = convert_to_tensor(contents, string)
    return raw.DecodePng(file, channels=int(channels or 0), dtype=dtype, name=name)


def decode_jpeg(contents: Any, channels: int = 0, ratio: int = 1, name: str | None = None) -> Tensor:
    """Return the pixels of a JPEG file, as ``decode_png`` does.

    Args:
        contents: contents of the file, a string scalar.
        channels: number of channels to return: 1 or 3; that of the file for 0.
        ratio: factor by which the image is reduced: 1, 2, 4 or 8.
    """
    file = convert_to_tensor(contents, string)
    return raw.DecodeJpeg(file, channels=int(channels or 0), ratio=int(ratio), name=name)


def _check_channels(ctx: InferContext, channels: int) -> None:
    if channels not in _CHANNELS[ctx.op]:
        raise ValueError(f"{ctx.op}: channels are {', '.join(map(str, _CHANNELS[ctx.op]))}, got {channels}")


def _decoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    require_pillow(ctx.op)
    require_string(ctx, 0, rank=0)
    channels = ctx.attrs["channels"]
    _check_channels(ctx, channels)
    if ctx.attrs.get("ratio", 1) not in (1, 2, 4, 8):
        raise ValueError(f"{ctx.op}: ratio is 1, 2, 4 or 8, got {ctx.attrs['ratio']}")
    return [TensorShape([None, None, channels or None])]


@contextlib.contextmanager
def opened(op: str, contents: Any, formats: Sequence[str] = ("PNG", "JPEG")) -> Iterator[Any]:
    """Open an image with Pillow for reading.

    Args:
        op: operation type, for the error message.
        contents: contents of the file.
        formats: Pillow's names of the accepted formats.

    Raises:
        InvalidArgumentError: for an invalid image, found now or while it is read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(one_string(contents)), formats=tuple(formats)) as image:
            yield image
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,
        ValueError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        listed = f"{', '.join(formats[:-1])} or {formats[-1]}" if formats[1:] else formats[0]
        raise InvalidArgumentError(f"{op}: no {listed} image: {error}") from None


def pixels_of(image: Any, channels: int = 0) -> Any:
    """Return the pixels of a Pillow image, uint8 of shape ``[height, width, channels]``.

    Args:
        image: an opened image.
        channels: number of channels to return; that of the file for 0.
    """
    if image.mode.startswith("I;16"):
        from PIL import Image

        # Pillow would clip values that exceed 8 bits.
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    mode = _MODES[channels] if channels else _mode_of(image)
    pixels = np.array(image.convert(mode), np.uint8)
    return pixels.reshape(*pixels.shape[:2], -1)


def _decode_kernel(ctx: KernelContext) -> Kernel:
    require_pillow(ctx.op)
    channels, ratio = ctx.attrs["channels"], ctx.attrs.get("ratio", 1)
    deep = ctx.attrs.get("dtype", uint8) is uint16

    def decoded(contents: Any) -> Any:
        if deep:
            pixels = read_deep(one_string(contents))
            if pixels is not None:
                return with_channels(pixels, channels)
            with opened(ctx.op, contents) as file:
                return pixels_of(file, channels).astype(np.uint16) * np.uint16(257)
        # Both ops read both formats, as in TensorFlow.
        with opened(ctx.op, contents) as file:
            return pixels_of(file.reduce(ratio) if ratio > 1 else file, channels)

    return decoded


def _mode_of(image: Any) -> str:
    """Return the mode of 8-bit pixels with the channels of a file."""
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return str(image.mode)
    if image.mode == "P":
        return "RGBA" if "transparency" in image.info else "RGB"
    return "L" if image.mode in ("1", "I") else "RGB"


# -- writing ---------------------------------------------------------------------------------------


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Return an image as a PNG file.

    Args:
        image: uint8 or uint16 of shape ``[height, width, channels]``, with 1 to 4 channels.
        compression: 0 to 9; the usual one for -1.
    """
    return raw.EncodePng(convert_to_tensor(image), compression=int(compression), name=name)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return an image as a JPEG file.

    Args:
        image: uint8 of shape ``[height, width, channels]``, with 1 or 3 channels.
        format: ``grayscale``, ``rgb``, or empty to follow the number of channels.
        quality: 0 to 100.
        progressive: whether it can be displayed before it is loaded completely.
        optimize_size: whether to spend time on a smaller file.
    """
    return raw.EncodeJpeg(
        image,
        format=format,
        quality=int(quality),
        progressive=bool(progressive),
        optimize_size=bool(optimize_size),
        name=name,
    )


def _encoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    require_pillow(ctx.op)
    check_inputs(ctx)
    shape = ctx.inputs[0].shape
    if shape.rank not in (None, 3):
        raise ValueError(f"{ctx.op}: an image has rank 3, got shape {shape}")
    channels = shape.with_rank(3)[2]
    if channels is not None:
        _check_channels(ctx, channels)
    if not 0 <= ctx.attrs.get("quality", 95) <= 100:
        raise ValueError(f"{ctx.op}: quality is 0 to 100, got {ctx.attrs['quality']}")
    if ctx.attrs.get("format", "") not in ("", "grayscale", "rgb"):
        raise ValueError(f"{ctx.op}: format is grayscale, rgb or empty, got {ctx.attrs['format']!r}")
    return [scalar_shape]


def _options(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return Pillow's options for a file to write."""
    if "compression" in attrs:
        known = attrs["compression"]
        return {"format": "PNG", **({} if known < 0 else {"compress_level": known})}
    return {
        "format": "JPEG",
        "quality": attrs["quality"],
        "progressive": attrs["progressive"],
        "optimize": attrs["optimize_size"],
    }


def _encode_kernel(ctx: KernelContext) -> Kernel:
    require_pillow(ctx.op)
    from PIL import Image

    options = _options(ctx.attrs)
    count = {"": None, "grayscale": 1, "rgb": 3}[ctx.attrs.get("format", "")]

    def encoded(pixels: Any) -> bytes:
        channels = pixels.shape[2] if pixels.ndim == 3 else 0
        if channels not in _CHANNELS[ctx.op] or count not in (None, channels) or not pixels.size:
            raise InvalidArgumentError(
                f"{ctx.op}: an image has height, width and {count or _CHANNELS[ctx.op]} channels, got "
                f"shape {list(pixels.shape)}"
            )
        if pixels.dtype == np.uint16:
            return write_deep(pixels, ctx.attrs["compression"])
        flat = np.ascontiguousarray(pixels[:, :, 0] if channels == 1 else pixels)
        file = io.BytesIO()
        Image.fromarray(flat).save(file, **options)
        return file.getvalue()

    return encoded


for _name in ("DecodePng", "DecodeJpeg"):
    op(_name, _decoded_shape, None, NOT_DIFFERENTIABLE, kernel=_decode_kernel, sized_by=ANY_INPUT)
for _name in ("EncodePng", "EncodeJpeg"):
    op(_name, _encoded_shape, None, NOT_DIFFERENTIABLE, kernel=_encode_kernel)
