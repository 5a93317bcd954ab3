"""``input_data`` of the tutorials: the handwritten digits of MNIST from files in a folder.

Nothing is downloaded. Where the files are not there, the error says which they are; digits that are made up
are used only if the environment variable asks for them.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import DataLossError, NotFoundError
from actorsession.graph.dtypes import as_dtype, float32, uint8

__all__ = [
    "SYNTHETIC",
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "load_mnist",
    "read_data_sets",
]

SYNTHETIC = "ACTORSESSION_SYNTHETIC_MNIST"
"""The environment variable that asks for digits that are made up, if it is 1."""

_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_IMAGES, _LABELS = 2051, 2049  # how the files begin
_SIDE, _CLASSES = 28, 10
_MADE_UP = (12000, 2000)  # for training and for testing


class Datasets(NamedTuple):
    """The three sets of a data set."""

    train: Any
    validation: Any
    test: Any


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Return a row for each label, with a 1 in its column and else zeros."""
    return np.eye(num_classes)[np.asarray(labels_dense).ravel()]


def _read(file: Any, first: int, count: int) -> tuple[list[int], Any]:
    """The sizes and bytes of a file of arrays of bytes.

    Raises:
        DataLossError: if it begins otherwise, or is damaged.
    """
    try:
        return _sizes_and_bytes(file, first, count)
    except (EOFError, ValueError, gzip.BadGzipFile, zlib.error) as exc:
        raise DataLossError(f"MNIST file {file.name} is damaged: {exc}") from exc


def _sizes_and_bytes(file: Any, first: int, count: int) -> tuple[list[int], Any]:
    with gzip.GzipFile(fileobj=file) if _is_zipped(file) else file as opened:
        head = np.frombuffer(opened.read(4 * (count + 1)), ">u4")
        if len(head) <= count or head[0] != first:
            magic = head[0] if len(head) else "nothing"
            raise DataLossError(f"Invalid magic number {magic} in MNIST file: {file.name}; {first} begins one")
        return head[1:].tolist(), np.frombuffer(opened.read(), np.uint8)


def _is_zipped(file: Any) -> bool:
    begins = file.read(2)
    file.seek(0)
    return bool(begins == b"\x1f\x8b")


def extract_images(f: Any) -> Any:
    """Return the images of an open file, of shape ``[number, rows, columns, 1]``.

    Raises:
        DataLossError: if it is no file of images.
    """
    (number, rows, columns), pixels = _read(f, _IMAGES, 3)
    if len(pixels) < number * rows * columns:
        raise DataLossError(f"MNIST file {f.name} says {number} images and has fewer bytes")
    return pixels[: number * rows * columns].reshape(number, rows, columns, 1)


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _CLASSES) -> Any:
    """Return the labels of an open file.

    Args:
        f: the file.
        one_hot: whether each is a row with one 1.
        num_classes: the length of such a row.

    Raises:
        DataLossError: if it is no file of labels.
    """
    (number,), labels = _read(f, _LABELS, 1)
    classes = labels[:number]
    return dense_to_one_hot(classes, num_classes) if one_hot else classes


class DataSet:
    """Images with their labels, taken in batches.

    Args:
        images: of shape ``[number, rows, columns, depth]``.
        labels: one of each.
        fake_data: whether batches consist of ones, with no images at all.
        one_hot: whether labels of such batches are rows.
        dtype: ``uint8``, or ``float32`` for numbers from 0 to 1.
        reshape: whether each image is one row.
        seed: of the order of the batches.

    Raises:
        TypeError: for another element type.
        ValueError: if there are not as many labels as images.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = as_dtype(dtype)
        if kind not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._fake = one_hot if fake_data else None
        self._order = np.random.RandomState(seed)
        if fake_data:
            images, labels = np.zeros((10000, 0)), np.zeros(10000)
        elif len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        else:
            if reshape:
                images = images.reshape(len(images), -1)
            if kind is float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs = self._next = 0

    @property
    def images(self) -> Any:
        """The images."""
        return self._images

    @property
    def labels(self) -> Any:
        """The labels."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return len(self._images)

    @property
    def epochs_completed(self) -> int:
        """How often all of them have been taken."""
        return self._epochs

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> Any:
        """Return the next images and labels; when all were taken it goes on with the first ones.

        Args:
            batch_size: how many.
            fake_data: whether to return ones.
            shuffle: whether the order is another one each time.
        """
        if fake_data:
            label: Any = [1] + [0] * (_CLASSES - 1) if self._fake else 0
            return [[1] * _SIDE**2 for _ in range(batch_size)], [label for _ in range(batch_size)]
        begins = self._next
        if self._epochs == 0 and begins == 0 and shuffle:
            self._mix()
        ends = begins + batch_size
        if ends <= self.num_examples:
            self._next = ends
            return self._images[begins:ends], self._labels[begins:ends]
        self._epochs += 1
        rest = self._images[begins:], self._labels[begins:]
        if shuffle:
            self._mix()
        self._next = batch_size - len(rest[0])
        return (
            np.concatenate((rest[0], self._images[: self._next])),
            np.concatenate((rest[1], self._labels[: self._next])),
        )

    def _mix(self) -> None:
        order = self._order.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """Read the digits of a folder.

    Args:
        train_dir: the folder with the four files, packed with gzip or not.
        fake_data: whether all batches consist of ones, for a test of the program alone.
        one_hot: whether each label is a row with one 1.
        dtype: ``uint8``, or ``float32`` for numbers from 0 to 1.
        reshape: whether each image is one row.
        validation_size: how many of those for training are put aside.
        seed: of the order of the batches.
        source_url: accepted for compatibility and ignored: nothing is downloaded.

    Raises:
        NotFoundError: if a file is missing and no digits may be made up.
        ValueError: for a number to put aside that there is not.
    """
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        fake = DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
        return Datasets(fake, fake, fake)
    images, labels, test_images, test_labels = _arrays(Path(train_dir))
    if one_hot:
        labels, test_labels = (dense_to_one_hot(x, _CLASSES) for x in (labels, test_labels))
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    cut = validation_size
    return Datasets(
        train=DataSet(images[cut:], labels[cut:], **options),
        validation=DataSet(images[:cut], labels[:cut], **options),
        test=DataSet(test_images, test_labels, **options),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Read the digits of a folder; see ``read_data_sets``."""
    return read_data_sets(train_dir)


def _arrays(folder: Path) -> list[Any]:
    arrays = []
    for name in _FILES:
        path = next((folder / n for n in (name, f"{name}.gz") if (folder / n).is_file()), None)
        if path is None:
            if os.environ.get(SYNTHETIC) == "1":
                return _synthetic()
            raise NotFoundError(
                f"{folder / name}(.gz) is not there, and nothing is downloaded: put the files "
                f"{', '.join(f'{n}.gz' for n in _FILES)} of MNIST into {str(folder)!r}, or set "
                f"{SYNTHETIC}=1 for digits that are made up"
            )
        with open(path, "rb") as file:
            arrays.append(extract_images(file) if "images" in name else extract_labels(file))
    return arrays


def _synthetic() -> list[Any]:
    """Arrays of blurred strokes, ten shapes with noise, which a linear model tells apart."""
    draws = np.random.RandomState(0)
    grid = np.stack(np.meshgrid(np.arange(_SIDE), np.arange(_SIDE), indexing="ij"), -1)
    shapes = []
    for _ in range(_CLASSES):
        points = draws.uniform(5, _SIDE - 5, (4, 1, 1, 2))
        near = np.exp(-((grid - points) ** 2).sum(-1) / 12.0).sum(0)
        shapes.append(near / near.max())
    arrays = []
    for number in _MADE_UP:
        labels = draws.randint(0, _CLASSES, number).astype(np.uint8)
        noise = draws.normal(0.0, 0.15, (number, _SIDE, _SIDE))
        pixels = np.clip(np.stack(shapes)[labels] + noise, 0.0, 1.0) * 255
        arrays += [pixels.astype(np.uint8)[..., None], labels]
    return arrays
