"""The images of ``scipy.misc``, which scipy has removed: by way of Pillow, as they were up to scipy 1.1.

``run-tf1`` puts these functions into ``scipy.misc`` when a program imports it. Without Pillow they say how to
install it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.extras import require

__all__ = ["bytescale", "fromimage", "imfilter", "imread", "imresize", "imrotate", "imsave", "imshow", "toimage"]

# Pillow's numbers of filters, which are the same in all its versions.
_RESAMPLING = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
_OF_CHANNELS = {"RGB": 3, "RGBA": 4, "YCbCr": 3, "CMYK": 4}
_FILTERS = {
    name: name.upper()
    for name in (
        "blur",
        "contour",
        "detail",
        "edge_enhance",
        "edge_enhance_more",
        "emboss",
        "find_edges",
        "sharpen",
        "smooth",
        "smooth_more",
    )
}


def _pillow() -> Any:
    require("PIL", "image", "scipy.misc reads, writes and resizes images with Pillow")
    from PIL import Image

    return Image


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> np.ndarray[Any, Any]:
    """Return numbers as bytes, with a range of them spread over a range of bytes.

    Args:
        data: an array; one of bytes is returned as it is.
        cmin: the number that becomes ``low``; the smallest if left out.
        cmax: the number that becomes ``high``; the largest if left out.
        high: the largest byte.
        low: the smallest byte.

    Raises:
        ValueError: for ranges that are none.
    """
    numbers = np.asarray(data)
    if numbers.dtype == np.uint8:
        return numbers
    if not 0 <= low <= high <= 255:
        raise ValueError(f"low and high are bytes in this order, got {low} and {high}")
    first = numbers.min() if cmin is None else cmin
    span = (numbers.max() if cmax is None else cmax) - first
    if span < 0:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (numbers - first) * ((high - low) / float(span or 1)) + low
    octets: np.ndarray[Any, Any] = (scaled.clip(low, high) + 0.5).astype(np.uint8)
    return octets


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
    """Return an array as an image of Pillow.

    Args:
        arr: a matrix, or an array of three axes with 3 or 4 channels on one of them.
        high: as for ``bytescale``.
        low: as for ``bytescale``.
        cmin: as for ``bytescale``.
        cmax: as for ``bytescale``.
        pal: 256 colours of a matrix.
        mode: ``L``, ``P``, ``1``, ``I`` or ``F`` of a matrix; ``RGB``, ``RGBA``, ``YCbCr`` or ``CMYK`` of
            channels.
        channel_axis: the axis of the channels; the first with 3, else with 4 numbers if left out.

    Raises:
        ValueError: for an array that is no image of that mode.
    """
    image, data = _pillow(), np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    if data.ndim == 2:
        return _of_matrix(image, data, (cmin, cmax, high, low), pal, mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    axis = channel_axis
    if axis is None:
        axis = data.shape.index(3 if 3 in data.shape else 4)
    channels = data.shape[axis]
    if channels not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    if mode is None:
        mode = "RGB" if channels == 3 else "RGBA"
    if _OF_CHANNELS.get(mode) != channels:
        known = ", ".join(name for name, count in _OF_CHANNELS.items() if count == channels)
        raise ValueError(f"{channels} channels are an image of mode {known}, got mode {mode!r}")
    content = np.moveaxis(bytescale(data, cmin, cmax, high, low), axis, 2)
    return image.frombytes(mode, content.shape[1::-1], content.tobytes())


def _of_matrix(image: Any, data: np.ndarray[Any, Any], scale: tuple[Any, ...], pal: Any, mode: str | None) -> Any:
    size = data.shape[::-1]
    cmin, cmax, high, low = scale
    if mode in (None, "L", "P"):
        converted = image.frombytes("L", size, bytescale(data, cmin, cmax, high, low).tobytes())
        if pal is not None:
            converted.putpalette(np.asarray(pal, np.uint8).tobytes())
        elif mode == "P":
            converted.putpalette(np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes())
        return converted
    if mode == "F":
        return image.frombytes("F", size, data.astype(np.float32).tobytes())
    if mode == "1":
        return image.frombytes("1", size, np.packbits(data > 128, axis=1).tobytes())
    if mode == "I":
        first = data.min() if cmin is None else cmin
        span = (data.max() if cmax is None else cmax) - first
        scaled = (data * 1.0 - first) * (high - low) / (span or 1) + low
        return image.frombytes("I", size, scaled.astype(np.int32).tobytes())
    raise ValueError(f"a matrix is an image of mode L, P, 1, I or F, got mode {mode!r}")


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray[Any, Any]:
    """Return an image of Pillow as an array.

    Args:
        im: the image; one with a palette is read as its colours.
        flatten: whether it becomes a matrix of float32.
        mode: the mode to which it is converted first.

    Raises:
        TypeError: for anything but an image.
    """
    if not isinstance(im, _pillow().Image):
        raise TypeError("Input is not a PIL image.")
    if mode is not None:
        im = im if im.mode == mode else im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray[Any, Any]:
    """Return the image in a file, given by its path or open, as an array; see ``fromimage``."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Write an array, whose channels are last, as an image; the name says the format if it is left out."""
    toimage(arr, channel_axis=2).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray[Any, Any]:
    """Return an image of another size.

    Args:
        arr: the image.
        size: percent as an int, a factor as a float, or height and width.
        interp: ``nearest``, ``lanczos``, ``bilinear``, ``bicubic`` or ``cubic``.
        mode: as for ``toimage``.
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        extent = [int(n * size) for n in image.size]
    else:
        extent = [int(size[1]), int(size[0])]
    return fromimage(image.resize(extent, resample=_RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray[Any, Any]:
    """Return an image turned by some degrees against the clock; ``interp`` as for ``imresize``."""
    return fromimage(toimage(arr).rotate(angle, resample=_RESAMPLING[interp]))


def imfilter(arr: Any, ftype: str) -> np.ndarray[Any, Any]:
    """Return an image to which one of Pillow's filters was applied, such as ``sharpen``.

    Raises:
        ValueError: for a filter that there is not.
    """
    image = toimage(arr)
    if ftype not in _FILTERS:
        raise ValueError(f"Unknown filter type {ftype!r}; there are {', '.join(_FILTERS)}")
    from PIL import ImageFilter

    return fromimage(image.filter(getattr(ImageFilter, _FILTERS[ftype])))


def imshow(arr: Any) -> None:
    """Show an image in the program that the system has for it."""
    toimage(arr).show()
