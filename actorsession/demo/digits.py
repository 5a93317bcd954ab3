"""The handwritten digits that the demo learns: the bundled file and its split.

Defines the form of such a file (an ``.npz`` of ``images`` and ``labels``), and which images are trained on
and which are held out. Called by the demo; imports ``errors``, ``records`` and numpy only.

The split is the same on every machine and with every version of numpy: it comes from a seeded shuffle whose
stream numpy has frozen. Nothing in a file is unpickled.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.records import dataclass

__all__ = ["Digits", "load_digits"]

PIXELS = 64  # 8 x 8, row by row
BRIGHTEST = 16  # a pixel counts the inked points of a 4 x 4 block
CLASSES = 10

# One image in five is held out, rounded up: 360 of the bundled 1,797.
HELD_OUT_ONE_IN = 5
SPLIT_SEED = 1797

_EXPECTED = (
    f"an .npz file with 'images' (uint8, shape (N, {PIXELS}), values 0 to {BRIGHTEST}) and "
    f"'labels' (uint8, shape (N,), values 0 to {CLASSES - 1}), N at least {HELD_OUT_ONE_IN}"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Digits:
    """Images of handwritten digits, shuffled and split; all four arrays belong to the caller.

    Args:
        train_images: float32 of shape (N, 64), pixels from 0 (paper) to 1 (ink).
        train_labels: int64 of shape (N,), the digit that each image shows.
        test_images: float32 of shape (M, 64), held out from training.
        test_labels: int64 of shape (M,).
    """

    train_images: npt.NDArray[np.float32]
    train_labels: npt.NDArray[np.int64]
    test_images: npt.NDArray[np.float32]
    test_labels: npt.NDArray[np.int64]


def load_digits(path: str | Path | None = None) -> Digits:
    """Read a file of digits and split it.

    Args:
        path: an ``.npz`` file of the same form; ``None`` for the bundled file.

    Returns:
        The same split at every call: the last fifth of a seeded shuffle is held out.

    Raises:
        NotFoundError: if the file cannot be read.
        InvalidArgumentError: if the file is not of that form; the message describes the difference.
    """
    if path is None:
        bundled = resources.files(__package__) / "data" / "digits.npz"
        with bundled.open("rb") as file:
            images, labels = _read(file, "the bundled digits.npz")
    else:
        try:
            with Path(path).open("rb") as file:
                images, labels = _read(file, str(path))
        except OSError as error:
            raise NotFoundError(
                f"cannot read the digits file {str(path)!r}: {error.strerror}; expected {_EXPECTED}"
            ) from error
    return _split(images, labels)


def _read(file: IO[bytes], name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            images, labels = stored["images"], stored["labels"]
    except OSError:
        raise
    except Exception as error:  # numpy, zipfile and zlib have a dozen classes for a damaged file
        raise InvalidArgumentError(f"{name} is not a digits file: {error}; expected {_EXPECTED}") from error
    if fault := _fault(images, labels):
        raise InvalidArgumentError(f"{name} is not a digits file: {fault}; expected {_EXPECTED}")
    return images, labels


def _fault(images: npt.NDArray[Any], labels: npt.NDArray[Any]) -> str | None:
    """Return a description of the first way in which the arrays are not a digits file."""
    for name, array in (("images", images), ("labels", labels)):
        if array.dtype != np.uint8:
            return f"'{name}' has dtype {array.dtype}"
    if images.ndim != 2 or images.shape[1] != PIXELS:
        return f"'images' has shape {images.shape}"
    if labels.shape != images.shape[:1]:
        return f"'labels' has shape {labels.shape} beside {len(images)} images"
    if len(images) < HELD_OUT_ONE_IN:
        return f"it contains {len(images)} images"
    if images.max() > BRIGHTEST:
        return f"'images' has the value {images.max()}"
    if labels.max() >= CLASSES:
        return f"'labels' has the value {labels.max()}"
    return None


def _split(images: npt.NDArray[np.uint8], labels: npt.NDArray[np.uint8]) -> Digits:
    # RandomState, because its stream is frozen: default_rng may change with numpy's version.
    order = np.random.RandomState(SPLIT_SEED).permutation(len(images))
    held_out = -(-len(images) // HELD_OUT_ONE_IN)
    pixels = images[order].astype(np.float32) / np.float32(BRIGHTEST)
    digits = labels[order].astype(np.int64)
    return Digits(
        train_images=pixels[:-held_out],
        train_labels=digits[:-held_out],
        test_images=pixels[-held_out:],
        test_labels=digits[-held_out:],
    )
