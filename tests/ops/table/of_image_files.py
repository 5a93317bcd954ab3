"""Rows of the op types that read and write image files; by Pillow."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import image
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


BAD = [Fault(np.array(b"no image", object), "no PNG or JPEG image")]
FILES = [
    *[
        Row(f"DecodePng-{channels}", lambda x, channels=channels: image.decode_png(x, channels), _decoded(channels)).on(
            [_file(pixels, "PNG") for pixels in (BYTES, BYTES[:, :, 0])], faults=BAD, needs="PIL"
        )
        for channels in (0, 1, 3, 4)
    ],
    *[
        Row(
            f"DecodeJpeg-{channels}-{ratio}",
            lambda x, channels=channels, ratio=ratio: image.decode_jpeg(x, channels, ratio),
            _decoded(channels, ratio),
        ).on(
            [_file(pixels, "JPEG") for pixels in (BYTES, BYTES[:, :, 0])],
            faults=[*BAD, Fault(np.array(_file(BYTES, "JPEG").item()[:99], object), "no PNG")],
            needs="PIL",
        )
        for channels, ratio in ((0, 1), (3, 1), (1, 2))
    ],
    Row("EncodePng", image.encode_png, _rewritten("PNG")).on(
        [BYTES, BYTES[:, :, :1]], faults=[Fault(BYTES[0], "channels", "rank 3")], needs="PIL"
    ),
    Row("EncodeJpeg", lambda x: image.encode_jpeg(x, quality=75), _rewritten("JPEG")).on(
        [BYTES, BYTES[:, :, :1]], faults=[Fault(BYTES[:, :, :2], "channels", "channels are 1, 3")], needs="PIL"
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
    Fault(np.array(b"no image", object), "no BMP, GIF, PNG or JPEG image"),
    Fault(np.array(b"", object), "no BMP, GIF, PNG or JPEG image"),
]


def _read(op: str, build: Any, numpy: Any, *files: Any, faults: Any = ()) -> Row:
    return Row(op, build, numpy).on(files, faults=faults, needs="PIL", rtol=1e-5)


def _at_quality(pixels: Any, quality: Any) -> Any:
    from PIL import Image

    file = io.BytesIO()
    flat = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    Image.fromarray(flat).save(file, "JPEG", quality=int(quality))
    return np.array(file.getvalue(), object)


KINDS = [
    _read(
        "DecodeBmp", image.decode_bmp, _decoded(), _file(BYTES, "BMP"), _file(BYTES[..., 0], "BMP"),
        faults=[Fault(np.array(b"BMxx", object), "no BMP image")],
    ),
    _read("DecodeBmp-4", lambda x: image.decode_bmp(x, 4), _decoded(4), _file(BYTES, "BMP")),
    _read(
        "DecodeGif", image.decode_gif, lambda _: np.stack(TURNS), _animation(),
        faults=[Fault(_file(BYTES, "BMP"), "no GIF, PNG or JPEG image")],
    ),
    _read("DecodeGif-one", image.decode_gif, lambda _: BYTES[np.newaxis], GIF, _file(BYTES, "PNG")),
    _read(
        "DecodeImage", image.decode_image, _decoded(), *(_file(BYTES, k) for k in ("BMP", "PNG", "JPEG")),
        faults=ANY_BAD,
    ),
    _read(
        "DecodeImage-1",
        lambda x: image.decode_image(x, 1),
        _decoded(1),
        *(_file(BYTES, k) for k in ("PNG", "JPEG")),
        faults=[Fault(_file(BYTES, "BMP"), "channels are one of"), Fault(GIF, "channels are one of")],
    ),
    _read("DecodeImage-gif", image.decode_image, lambda _: np.stack(TURNS), _animation()),
    _read(
        "DecodeImage-first", lambda x: image.decode_image(x, expand_animations=False), lambda _: BYTES,
        _animation(), GIF,
    ),
    _read(
        "DecodeImage-float32", lambda x: image.decode_image(x, dtype=np.float32),
        lambda _: (BYTES / 255).astype(np.float32), _file(BYTES, "BMP"), _file(BYTES, "PNG"),
    ),
    _read(
        "DecodeImage-uint16", lambda x: image.decode_image(x, dtype=np.uint16),
        lambda _: BYTES.astype(np.uint16) * np.uint16(256), _file(BYTES, "BMP"),
    ),
    _read(
        "DecodeImage-uint16-png", lambda x: image.decode_image(x, dtype=np.uint16),
        lambda _: BYTES.astype(np.uint16) * np.uint16(257), _file(BYTES, "PNG"),
    ),
    _read("DecodeImage-uint16-deep", lambda x: image.decode_image(x, dtype=np.uint16), _deep_pixels, _deep()),
    _read("DecodeImage-uint8-deep", image.decode_image, lambda x: (_deep_pixels(x) >> 8).astype(np.uint8), _deep()),
    _read(
        "ExtractJpegShape", image.extract_jpeg_shape, lambda x: np.array(_decoded()(x).shape, np.int32),
        _file(BYTES, "JPEG"), _file(BYTES[..., 0], "JPEG"),
        faults=[Fault(_file(BYTES, "PNG"), "no JPEG image")],
    ),
    Row("DecodeAndCropJpeg", image.decode_and_crop_jpeg, lambda x, window: _decoded()(x)[1:3, 2:5]).on(
        [(_file(BYTES, "JPEG"), np.array([1, 2, 2, 3], np.int32))], needs="PIL", faults=[
            Fault((_file(BYTES, "JPEG"), np.array(window, np.int32)), "crop_window")
            for window in ([1, 2, 9, 3], [-1, 2, 1, 3], [0, 0, 0, 1])
        ],
    ),
    Row("EncodeJpegVariableQuality", {}, _at_quality).on(
        [(BYTES, np.int32(50)), (BYTES[:, :, :1], np.int32(100))], needs="PIL", faults=[
            Fault((BYTES, np.int32(101)), "quality must be"),
            Fault((BYTES[:, :, :2], np.int32(50)), "channels"),
            Fault((BYTES[0], np.int32(50)), "channels", "rank 3"),
        ],
    ),
]  # fmt: skip
