"""Rows of the op types that read and write image files; by Pillow."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.ops import image
from tests.ops.table.row import Fault, Row

__all__ = ["ROWS"]

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


BAD = [Fault(inputs=(np.array(b"no image", object),), match="no PNG or JPEG image")]
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
            faults=[
                *BAD,
                Fault(inputs=(np.array(_file(BYTES, "JPEG").item()[:99], object),), match="no PNG"),
            ],
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
        faults=[Fault(inputs=(BYTES[0],), match="channels", static="rank 3")],
        needs="PIL",
    ),
    Row(
        op="EncodeJpeg",
        build=lambda x: image.encode_jpeg(x, quality=75),
        numpy=_rewritten("JPEG"),
        inputs=[(BYTES,), (BYTES[:, :, :1],)],
        no_gradient="integers; TensorFlow marks it so",
        faults=[Fault(inputs=(BYTES[:, :, :2],), match="channels", static="channels are 1, 3")],
        needs="PIL",
    ),
]

ROWS = FILES
