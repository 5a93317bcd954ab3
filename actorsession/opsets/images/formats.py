"""Further image files: BMP, GIF, any supported format, and crops of a JPEG; implemented with Pillow.

Owns ``DecodeImage``, ``DecodeBmp``, ``DecodeGif``, ``DecodeAndCropJpeg`` and ``ExtractJpegShape``. Files are
opened by ``files``. None of the ops has a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, UnimplementedError
from actorsession.graph.dtypes import as_dtype, float32, int32, string, uint8, uint16
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import ANY_INPUT, NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.comparison import equal
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, ints
from actorsession.opsets.images.colours import convert_image_dtype
from actorsession.opsets.images.files import opened, pixels_of, require_pillow
from actorsession.opsets.text.characters import substr
from actorsession.opsets.text.kernels import require_string

__all__ = ["decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "extract_jpeg_shape", "is_jpeg"]

# Pillow's names of the formats that an op reads, and the numbers of channels that may be requested.
_READS = {
    "DecodeBmp": ("BMP",),
    "DecodeGif": ("GIF", "PNG", "JPEG"),
    "DecodeImage": ("BMP", "GIF", "PNG", "JPEG"),
    "DecodeAndCropJpeg": ("JPEG",),
}
_CHANNELS = {"DecodeBmp": (0, 3, 4), "DecodeImage": (0, 1, 3, 4), "DecodeAndCropJpeg": (0, 1, 3)}
_OF_FORMAT = {"BMP": (0, 3, 4), "GIF": (0, 3), "JPEG": (0, 1, 3), "PNG": (0, 1, 3, 4)}


# -- reading ---------------------------------------------------------------------------------------


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Return the pixels of a BMP file, as ``decode_png`` does.

    Args:
        contents: contents of the file, a string scalar.
        channels: number of channels to return: 3 or 4; that of the file for 0.
    """
    data = convert_to_tensor(contents, string, "contents")
    return raw.DecodeBmp(data, channels=int(channels or 0), name=name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Return the frames of a GIF file, each as displayed.

    Args:
        contents: contents of the file, a string scalar; a PNG or JPEG file has one frame.

    Returns:
        uint8 of shape ``[frames, height, width, 3]``. At run time an InvalidArgumentError is raised for
        invalid images.
    """
    return raw.DecodeGif(convert_to_tensor(contents, string, "contents"), name=name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Return the pixels of a BMP, GIF, JPEG or PNG file, whose format is detected.

    Args:
        contents: contents of the file, a string scalar.
        channels: number of channels to return; that of the file if left out.
        dtype: dtype of the pixels, which are scaled to its range; floats lie between 0 and 1.
        expand_animations: whether to return all frames of GIF files, with an additional axis, instead of only
            the first.

    Returns:
        Pixels of shape ``[height, width, channels]``, or ``[frames, height, width, 3]`` for GIF files. At run
        time an InvalidArgumentError is raised for invalid images.
    """
    value, new_dtype = convert_to_tensor(contents, string, "contents"), as_dtype(dtype)
    read = new_dtype if new_dtype in (float32, uint8, uint16) else uint16
    with value.graph.as_default(), value.graph.name_scope(name or "decode_image"):
        image = raw.DecodeImage(
            value, channels=int(channels or 0), dtype=read, expand_animations=bool(expand_animations)
        )
        if read is not new_dtype:
            image = convert_image_dtype(image, new_dtype)
        if not expand_animations:
            image.set_shape([None, None, channels or None])
        return image


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return a part of the pixels of a JPEG file; arguments that are not listed as for ``decode_jpeg``.

    Args:
        contents: contents of the file, a string scalar.
        crop_window: int32: the first row and column, and the number of rows and columns, after the image
            was reduced by ``ratio``.
    """
    del fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    value = convert_to_tensor(contents, string, "contents")
    window = convert_to_tensor(crop_window, int32, "crop_window", graph=value.graph)
    return raw.DecodeAndCropJpeg(value, window, channels=int(channels or 0), ratio=int(ratio), name=name)


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """Return height, width and channels of a JPEG file, without decoding its pixels.

    Args:
        contents: contents of the file, a string scalar.
        output_type: int32 or int64.
    """
    data = convert_to_tensor(contents, string, "contents")
    return raw.ExtractJpegShape(data, output_type=as_dtype(output_type), name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return whether a string begins like a JPEG file."""
    value = convert_to_tensor(contents, string, "contents")
    with value.graph.as_default(), value.graph.name_scope(name or "is_jpeg"):
        return equal(substr(value, 0, 3), b"\xff\xd8\xff", name=name)


# -- shape rules -----------------------------------------------------------------------------------


def _decoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    require_pillow(ctx.op)
    require_string(ctx, 0, rank=0)
    channels = ctx.attrs.get("channels", 3)
    if ctx.op in _CHANNELS and channels not in _CHANNELS[ctx.op]:
        raise ValueError(f"{ctx.op}: channels are {', '.join(map(str, _CHANNELS[ctx.op]))}, got {channels}")
    if ctx.op == "DecodeImage":
        return [unknown_shape]
    if ctx.op == "DecodeGif":
        return [TensorShape([None, None, None, 3])]
    return [TensorShape([*_window_size(ctx), channels or None])]


def _window_size(ctx: InferContext) -> tuple[int | None, int | None]:
    """Return height and width, if they are known from a window."""
    if ctx.op != "DecodeAndCropJpeg":
        return None, None
    if ctx.inputs[1].dtype is not int32 or not ctx.inputs[1].shape.is_compatible_with([4]):
        raise ValueError(
            f"{ctx.op}: crop_window is four numbers of int32, got {ctx.inputs[1].dtype.name} of shape "
            f"{ctx.inputs[1].shape}"
        )
    if ctx.attrs["ratio"] not in (1, 2, 4, 8):
        raise ValueError(f"{ctx.op}: ratio is 1, 2, 4 or 8, got {ctx.attrs['ratio']}")
    known = constant_ints(ctx, 1)
    return (None, None) if known is None else (known[2], known[3])


def _three_sizes(ctx: InferContext) -> Sequence[TensorShape]:
    require_pillow(ctx.op)
    require_string(ctx, 0, rank=0)
    return [TensorShape([3])]


# -- kernels ---------------------------------------------------------------------------------------


def _decode_kernel(ctx: KernelContext) -> Kernel:
    require_pillow(ctx.op)
    formats, attrs = _READS[ctx.op], ctx.attrs
    channels, ratio = attrs.get("channels", 0), attrs.get("ratio", 1)
    all_frames = attrs.get("expand_animations", True)
    dtype = as_dtype(attrs.get("dtype", uint8))

    def decoded(contents: Any, window: Any = None) -> Any:
        with opened(ctx.op, contents, formats) as file:
            kind = file.format
            if channels not in _OF_FORMAT[kind]:
                raise InvalidArgumentError(
                    f"{ctx.op}: channels are one of {_OF_FORMAT[kind]} for {kind}, got {channels}"
                )
            if dtype is not uint8 and kind == "PNG":
                return _deep_pixels(file, channels, dtype)
            if kind == "GIF":
                pixels = _frames(file, all_frames)
            elif ctx.op == "DecodeGif":
                pixels = pixels_of(file, 3)[np.newaxis]
            else:
                pixels = pixels_of(file.reduce(ratio) if ratio > 1 else file, channels)
        return _scaled(pixels if window is None else _part(ctx.op, pixels, ints(window)), dtype)

    return decoded


def _frames(file: Any, all_frames: bool) -> Any:
    """Return all frames of a GIF file, or only the first."""
    if not all_frames:
        return pixels_of(file, 3)
    frames = []
    for number in range(file.n_frames):
        file.seek(number)
        frames.append(pixels_of(file, 3))
    return np.stack(frames)


def _deep_pixels(file: Any, channels: int, dtype: Any) -> Any:
    """Return the pixels of a PNG file, possibly of 16 bits, scaled to a dtype other than uint8."""
    if file.mode.startswith("I;16"):
        if channels not in (0, 1):
            raise UnimplementedError(f"16 bits of grey are not read as {channels} channels")
        deep = np.asarray(file).astype(np.uint16)[..., np.newaxis]
    else:
        # The depth of a sample, from the header of the file. For colours, Pillow reads only the upper bits.
        file.fp.seek(24)
        if file.fp.read(1) == b"\x10":
            raise UnimplementedError("16 bits for each of several channels are read as uint8 only")
        deep = pixels_of(file, channels).astype(np.uint16) * np.uint16(257)
    return deep if dtype is uint16 else deep.astype(np.float32) * np.float32(1 / 65535)


def _scaled(pixels: Any, dtype: Any) -> Any:
    """Return bytes scaled to the range of another dtype."""
    if dtype is uint16:
        return pixels.astype(np.uint16) * np.uint16(256)
    return pixels if dtype is uint8 else pixels.astype(np.float32) * np.float32(1 / 255)


def _part(op: str, pixels: Any, window: Any) -> Any:
    """Return the part of an image inside a window."""
    top, left, rows, columns = window if len(window) == 4 else (-1,) * 4
    if (
        min(top, left) < 0
        or min(rows, columns) < 1
        or (top + rows > pixels.shape[0] or left + columns > pixels.shape[1])
    ):
        raise InvalidArgumentError(
            f"{op}: a crop_window lies inside the image of shape {list(pixels.shape)}, got {list(window)}"
        )
    return pixels[top : top + rows, left : left + columns].copy()


def _shape_kernel(ctx: KernelContext) -> Kernel:
    require_pillow(ctx.op)
    dtype = ctx.outputs[0].dtype.np_dtype

    def measured(contents: Any) -> Any:
        with opened(ctx.op, contents, ("JPEG",)) as file:
            return np.array([file.height, file.width, len(file.getbands())], dtype)

    return measured


for _name in ("DecodeBmp", "DecodeGif", "DecodeImage", "DecodeAndCropJpeg"):
    op(_name, _decoded_shape, None, NOT_DIFFERENTIABLE, kernel=_decode_kernel, sized_by=ANY_INPUT)
op("ExtractJpegShape", _three_sizes, None, NOT_DIFFERENTIABLE, kernel=_shape_kernel, sized_by=ANY_INPUT)
