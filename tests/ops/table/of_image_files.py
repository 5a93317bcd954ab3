"""Rows of the op types that read and write image files; by Pillow."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import image
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

BYTES = (np.arange(4 * 5 * 3) * 4).astype(np.uint8).reshape(4, 5, 3)


def _file(pixels: Any, kind: str) -> Any:
    """An image file, as a string of rank 0; empty without Pillow, for the rows are skipped then."""
    try:
        from PIL import Image
    except ImportError:
        return np.array(b"", object)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return np.array(file.getvalue(), object)


def _decoded(channels: int = 0, ratio: int = 1) -> Callable[..., Any]:
    def numpy(contents: Any) -> Any:
        from PIL import Image

        file = Image.open(io.BytesIO(contents.item()))
        read = file.reduce(ratio) if ratio > 1 else file
        modes = {0: read.mode, 1: "L", 3: "RGB", 4: "RGBA"}
        pixels = np.array(read.convert(modes[channels]))
        return pixels.reshape(*pixels.shape[:2], -1)

    return numpy


def _rewritten(kind: str) -> Callable[..., Any]:
    return lambda pixels: _file(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels, kind)


BAD = [Fault((np.array(b"no image", object),), "no PNG or JPEG image")]
FILES = [
    *[
        Row(
            op="DecodePng",
            build=lambda x, channels=channels: image.decode_png(x, channels),
            numpy=_decoded(channels),
            inputs=[(_file(pixels, "PNG"),) for pixels in (BYTES, BYTES[:, :, 0])],
            label=f"{channels}",
            no_gradient="strings; TensorFlow marks it so",
            faults=BAD,
            needs="PIL",
        )
        for channels in (0, 1, 3, 4)
    ],
    *[
        Row(
            op="DecodeJpeg",
            build=lambda x, channels=channels, ratio=ratio: image.decode_jpeg(x, channels, ratio),
            numpy=_decoded(channels, ratio),
            inputs=[(_file(pixels, "JPEG"),) for pixels in (BYTES, BYTES[:, :, 0])],
            label=f"{channels}-{ratio}",
            no_gradient="strings; TensorFlow marks it so",
            faults=[*BAD, Fault((np.array(_file(BYTES, "JPEG").item()[:99], object),), "no PNG")],
            needs="PIL",
        )
        for channels, ratio in ((0, 1), (3, 1), (1, 2))
    ],
    Row(
        op="EncodePng",
        build=image.encode_png,
        numpy=_rewritten("PNG"),
        inputs=[(BYTES,), (BYTES[:, :, :1],)],
        no_gradient="integers; TensorFlow marks it so",
        faults=[Fault((BYTES[0],), "channels", static="rank 3")],
        needs="PIL",
    ),
    Row(
        op="EncodeJpeg",
        build=lambda x: image.encode_jpeg(x, quality=75),
        numpy=_rewritten("JPEG"),
        inputs=[(BYTES,), (BYTES[:, :, :1],)],
        no_gradient="integers; TensorFlow marks it so",
        faults=[Fault((BYTES[:, :, :2],), "channels", static="channels are 1, 3")],
        needs="PIL",
    ),
]

GIF = _file(BYTES, "GIF")
TURNS = [BYTES, 255 - BYTES]


def _animation() -> Any:
    """A GIF file of two pictures."""
    try:
        from PIL import Image
    except ImportError:
        return np.array(b"", object)
    file = io.BytesIO()
    first, second = map(Image.fromarray, TURNS)
    first.save(file, "GIF", save_all=True, append_images=[second])
    return np.array(file.getvalue(), object)


def _deep() -> Any:
    """A PNG file of 16 bits a pixel."""
    return _file((np.arange(20) * 3000).astype(np.uint16).reshape(4, 5), "PNG")


def _deep_pixels(contents: Any) -> Any:
    return (np.arange(20) * 3000).astype(np.uint16).reshape(4, 5, 1)


ANY_BAD = [
    Fault((np.array(b"no image", object),), "no BMP, GIF, PNG or JPEG image"),
    Fault((np.array(b"", object),), "no BMP, GIF, PNG or JPEG image"),
]


def _read(op: str, build: Any, numpy: Any, *files: Any, label: str = "", faults: Any = ()) -> Row:
    return Row(
        op=op,
        build=build,
        numpy=numpy,
        inputs=[(file,) for file in files],
        label=label,
        no_gradient="strings; TensorFlow marks it so",
        faults=faults,
        needs="PIL",
        exact=False,
    )


def _at_quality(pixels: Any, quality: Any) -> Any:
    from PIL import Image

    file = io.BytesIO()
    flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    Image.fromarray(flat).save(file, "JPEG", quality=int(quality))
    return np.array(file.getvalue(), object)


KINDS = [
    _read(
        "DecodeBmp", image.decode_bmp, _decoded(), _file(BYTES, "BMP"), _file(BYTES[..., 0], "BMP"),
        faults=[Fault((np.array(b"BMxx", object),), "no BMP image")],
    ),
    _read("DecodeBmp", lambda x: image.decode_bmp(x, 4), _decoded(4), _file(BYTES, "BMP"), label="4"),
    _read(
        "DecodeGif", image.decode_gif, lambda _: np.stack(TURNS), _animation(),
        faults=[Fault((_file(BYTES, "BMP"),), "no GIF, PNG or JPEG image")],
    ),
    _read(
        "DecodeGif", image.decode_gif, lambda _: BYTES[np.newaxis], GIF, _file(BYTES, "PNG"),
        label="one",
    ),
    _read(
        "DecodeImage", image.decode_image, _decoded(), *(_file(BYTES, k) for k in ("BMP", "PNG", "JPEG")),
        faults=ANY_BAD,
    ),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, 1), _decoded(1),
        *(_file(BYTES, k) for k in ("PNG", "JPEG")), label="1",
        faults=[
            Fault((_file(BYTES, "BMP"),), "channels are one of"),
            Fault((GIF,), "channels are one of"),
        ],
    ),
    _read("DecodeImage", image.decode_image, lambda _: np.stack(TURNS), _animation(), label="gif"),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, expand_animations=False), lambda _: BYTES,
        _animation(), GIF, label="first",
    ),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, dtype=np.float32),
        lambda _: (BYTES / 255).astype(np.float32), _file(BYTES, "BMP"), _file(BYTES, "PNG"),
        label="float32",
    ),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, dtype=np.uint16),
        lambda _: BYTES.astype(np.uint16) * np.uint16(256), _file(BYTES, "BMP"), label="uint16",
    ),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, dtype=np.uint16),
        lambda _: BYTES.astype(np.uint16) * np.uint16(257), _file(BYTES, "PNG"), label="uint16-png",
    ),
    _read(
        "DecodeImage", lambda x: image.decode_image(x, dtype=np.uint16), _deep_pixels, _deep(),
        label="uint16-deep",
    ),
    _read(
        "DecodeImage", image.decode_image, lambda x: (_deep_pixels(x) >> 8).astype(np.uint8), _deep(),
        label="uint8-deep",
    ),
    _read(
        "ExtractJpegShape", image.extract_jpeg_shape, lambda x: np.array(_decoded()(x).shape, np.int32),
        _file(BYTES, "JPEG"), _file(BYTES[..., 0], "JPEG"),
        faults=[Fault((_file(BYTES, "PNG"),), "no JPEG image")],
    ),
    Row(
        op="DecodeAndCropJpeg",
        build=image.decode_and_crop_jpeg,
        numpy=lambda x, window: _decoded()(x)[1:3, 2:5],
        inputs=[(_file(BYTES, "JPEG"), np.array([1, 2, 2, 3], np.int32))],
        no_gradient="strings; TensorFlow marks it so",
        faults=[
            Fault((_file(BYTES, "JPEG"), np.array(window, np.int32)), "crop_window")
            for window in ([1, 2, 9, 3], [-1, 2, 1, 3], [0, 0, 0, 1])
        ],
        needs="PIL",
    ),
    Row(
        op="EncodeJpegVariableQuality",
        build=lambda *x: make_one("EncodeJpegVariableQuality", list(x)),
        numpy=_at_quality,
        inputs=[(BYTES, np.int32(50)), (BYTES[:, :, :1], np.int32(100))],
        no_gradient="strings; TensorFlow marks it so",
        faults=[
            Fault((BYTES, np.int32(101)), "quality must be"),
            Fault((BYTES[:, :, :2], np.int32(50)), "channels"),
            Fault((BYTES[0], np.int32(50)), "channels", static="rank 3"),
        ],
        needs="PIL",
    ),
]  # fmt: skip

ROWS = [*FILES, *KINDS]
