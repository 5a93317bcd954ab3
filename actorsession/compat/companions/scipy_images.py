"""The functions of ``scipy.misc`` for images, which scipy had until its version 1.2, with Pillow.

``run-tf1`` gives them to ``scipy.misc`` when a program imports it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["bytescale", "fromimage", "imread", "imresize", "imrotate", "imsave", "toimage"]

_RESAMPLING = {
    "nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3,
}  # fmt: skip


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """Return numbers as bytes, so that the least of them is ``low`` and the largest ``high``.

    Args:
        data: the numbers; bytes are returned as they are.
        cmin: the number that becomes ``low``; the least by default.
        cmax: the number that becomes ``high``; the largest by default.
        high: the largest byte.
        low: the least byte.
    """
    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError(f"0 <= low <= high <= 255 must hold, got low={low} and high={high}")
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    if cmax < cmin:
        raise ValueError(f"cmax must not be less than cmin, got cmin={cmin} and cmax={cmax}")
    scaled = (data - cmin) * ((high - low) / ((cmax - cmin) or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Return the image in a file as an array of height, width and channels, of grey values without them.

    Args:
        name: the file, or its name.
        flatten: whether colours become grey values, as float32.
        mode: the mode of Pillow that the image is converted to.
    """
    from PIL import Image

    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Return an image of Pillow as an array; see ``imread``."""
    if mode is not None:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Write an array as an image, its numbers scaled to bytes unless they are bytes."""
    toimage(arr, channel_axis=2).save(name, format)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Any = None,
    cmax: Any = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """Return an array as an image of Pillow, its numbers scaled to bytes unless they are bytes.

    Args:
        arr: grey values of shape (height, width), or colours with an axis of 3 or 4 channels.
        high: see ``bytescale``.
        low: see ``bytescale``.
        cmin: see ``bytescale``.
        cmax: see ``bytescale``.
        pal: the palette of an image of mode "P".
        mode: "L", "P", "1", "I" or "F" for grey values, "RGB", "RGBA", "CMYK" or "YCbCr" for colours.
        channel_axis: the axis of channels; the first of length 3 or 4 by default.

    Raises:
        ValueError: if the array has no such shape or the mode does not fit it.
    """
    from PIL import Image

    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("an image is made of real numbers, got complex ones")
    if data.ndim == 2:
        return _grey(data, high, low, cmin, cmax, pal, mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError(
            f"'arr' does not have a suitable array shape for any mode: {data.shape} is neither (height,"
            " width) nor has 3 or 4 channels"
        )
    if channel_axis is None:
        channel_axis = data.shape.index(3 if 3 in data.shape else 4)
    channels = data.shape[channel_axis]
    modes = {3: ("RGB", "YCbCr"), 4: ("RGBA", "CMYK")}.get(channels)
    if modes is None:
        raise ValueError(f"axis {channel_axis} has {channels} channels; 3 or 4 make an image")
    if mode is not None and mode not in modes:
        raise ValueError(f"mode {mode!r} is none of {channels} channels, which are {modes}")
    scaled = np.moveaxis(bytescale(data, cmin, cmax, high, low), channel_axis, 2)
    size = (scaled.shape[1], scaled.shape[0])
    return Image.frombytes(mode or modes[0], size, np.ascontiguousarray(scaled).tobytes())


def _grey(data: Any, high: int, low: int, cmin: Any, cmax: Any, pal: Any, mode: str | None) -> Any:
    from PIL import Image

    size = (data.shape[1], data.shape[0])
    if mode == "F":
        return Image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode in (None, "L", "P"):
        image = Image.frombytes("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
        if mode == "P" or pal is not None:
            grey = np.repeat(np.arange(256, dtype=np.uint8), 3)
            image.putpalette((grey if pal is None else np.asarray(pal, np.uint8)).tobytes())
        return image
    if mode == "1":
        return Image.fromarray(data > high)
    if mode != "I":
        raise ValueError(
            f"mode {mode!r} is none of grey values, which are 'L', 'P', '1', 'I' and 'F'"
        )
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    scaled = (data * 1.0 - cmin) * (high - low) / ((cmax - cmin) or 1) + low
    return Image.frombytes("I", size, scaled.astype(np.int32).tobytes())


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Return an image in another size, as bytes.

    Args:
        arr: the image, as ``toimage`` takes it.
        size: a percentage as an integer, a fraction as a float, or the new height and width.
        interp: "nearest", "lanczos", "bilinear", "bicubic" or "cubic".
        mode: the mode of Pillow that the image is resized in.
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, float, np.integer, np.floating)):
        part = size / 100.0 if isinstance(size, (int, np.integer)) else size
        new = tuple(int(length * part) for length in image.size)
    else:
        new = (int(size[1]), int(size[0]))
    return fromimage(image.resize(new, resample=_RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """Return an image turned against the clock by an angle in degrees; its size stays, corners are black."""
    return fromimage(toimage(arr).rotate(angle, resample=_RESAMPLING[interp]))
