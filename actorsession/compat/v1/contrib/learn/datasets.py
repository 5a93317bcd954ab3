"""``tf.contrib.learn.datasets``: small data sets of files, and some that are made up.

Iris and the prices of Boston's houses came with TensorFlow. Here they are read from a file that is named;
iris is taken from scikit-learn otherwise, if that is installed.
"""

from __future__ import annotations

import csv
import importlib
import os
import shutil
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actorsession.checkpoints import write_whole
from actorsession.compat.v1.internals import mnist_data as mnist
from actorsession.compat.v1.internals.mnist_data import Datasets, load_mnist
from actorsession.errors import NotFoundError
from actorsession.graph.dtypes import as_dtype

__all__ = [
    "DATASETS", "SYNTHETIC", "Dataset", "Datasets", "base", "circles", "load_boston",
    "load_csv_with_header", "load_csv_without_header", "load_dataset", "load_dbpedia", "load_iris",
    "make_dataset", "maybe_download", "mnist", "shrink_csv", "spirals", "synthetic", "text_datasets",
]  # fmt: skip

# TensorFlow's package has these names in modules of it.
base = synthetic = text_datasets = sys.modules[__name__]


class Dataset(NamedTuple):
    """Features and targets.

    Attributes:
        data: a row for each example.
        target: one for each example.
    """

    data: Any
    target: Any


def _element(dtype: Any) -> Any:
    """The numpy type that is meant by one of Python, numpy or here."""
    return str if dtype is str or dtype is np.str_ else as_dtype(dtype).as_numpy_dtype


def _taken_apart(rows: Any, target_dtype: Any, features_dtype: Any, column: int) -> Dataset:
    targets, features = [], []
    for row in rows:
        if row:
            targets.append(row.pop(column))
            features.append(row)
    whole = np.issubdtype(_element(target_dtype), np.integer)
    numbers: Any = [float(text) for text in targets] if whole else targets
    return Dataset(np.array(features, dtype=_element(features_dtype)), np.array(numbers, dtype=_element(target_dtype)))


def load_csv_with_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """Read a file of comma-separated values whose first line has the numbers of examples and features.

    Args:
        filename: the file.
        target_dtype: element type of the targets.
        features_dtype: element type of the features.
        target_column: the column with the targets.
    """
    with open(filename, newline="") as file:
        rows = csv.reader(file)
        count, width = (int(text) for text in next(rows)[:2])
        dataset = _taken_apart(rows, target_dtype, features_dtype, target_column)
    if dataset.data.shape != (count, width):
        raise ValueError(f"{filename} has {dataset.data.shape} features where it says {(count, width)}")
    return dataset


def load_csv_without_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """Read a file of comma-separated values; arguments as for ``load_csv_with_header``."""
    with open(filename, newline="") as file:
        return _taken_apart(csv.reader(file), target_dtype, features_dtype, target_column)


def shrink_csv(filename: Any, ratio: int) -> None:
    """Write every so many lines of a file to another one, with ``_small`` in its name.

    Args:
        filename: the file.
        ratio: of so many lines, the first is kept.
    """
    path = Path(filename)
    lines = path.read_text().splitlines(keepends=True)
    small = path.with_name(path.name.replace(".", "_small.", 1))
    write_whole(str(small), lambda file: file.writelines(line.encode() for line in lines[::ratio]))


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return the path of a file in a folder, where it is put first if it is not there.

    Args:
        filename: its name.
        work_directory: the folder.
        source_url: where it is copied from.
    """
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        with urllib.request.urlopen(source_url) as source:
            write_whole(path, lambda file: shutil.copyfileobj(source, file))
    return path


def load_iris(data_path: Any = None) -> Dataset:
    """Return Fisher's measures of 150 irises of three kinds.

    Args:
        data_path: a file of them, as ``load_csv_with_header`` reads one; that of scikit-learn if omitted.

    Raises:
        NotFoundError: if neither is there.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, int, float)
    try:
        irises = importlib.import_module("sklearn.datasets").load_iris()
    except ImportError:
        raise NotFoundError(
            "the measures of irises do not come with this library: give data_path, a file of "
            "comma-separated values, or install scikit-learn, which has them"
        ) from None
    return Dataset(irises.data, irises.target)


def load_boston(data_path: Any = None) -> Dataset:
    """Return the prices of houses in Boston.

    Args:
        data_path: a file of them, as ``load_csv_with_header`` reads one.

    Raises:
        NotFoundError: without one.
    """
    if data_path is None:
        raise NotFoundError(
            "the prices of Boston's houses do not come with this library: give data_path, a file of "
            "comma-separated values"
        )
    return load_csv_with_header(data_path, float, float)


# Of the documents that stand in for DBpedia: a word of each class.
_SUBJECTS = (
    "company",
    "school",
    "painter",
    "athlete",
    "politician",
    "train",
    "building",
    "mountain",
    "village",
    "animal",
    "plant",
    "album",
    "film",
    "novel",
)


def load_dbpedia(size: str = "small", test_with_fake_data: bool = False) -> Datasets:
    """Return titles and texts of DBpedia with their classes, from 1 to 14.

    Args:
        size: ``small`` for every thousandth.
        test_with_fake_data: whether to return a few texts that are made up instead.

    Raises:
        NotFoundError: if the files ``train.csv`` and ``test.csv`` are not in ``dbpedia_data/dbpedia_csv``,
            below the folder that the environment variable ``TF_EXP_BASE_DIR`` names.
    """
    if test_with_fake_data:
        sets = [_synthetic_texts(count) for count in (5, 2)]
        return Datasets(sets[0], None, sets[1])
    folder = Path(os.environ.get("TF_EXP_BASE_DIR", "")) / "dbpedia_data" / "dbpedia_csv"
    datasets = []
    for name in ("train", "test"):
        path = folder / f"{name}.csv"
        if not path.exists():
            raise NotFoundError(f"{path} is not there, and nothing is downloaded")
        if size == "small":
            shrink_csv(path, 1000)
            path = path.with_name(f"{name}_small.csv")
        datasets.append(load_csv_without_header(path, np.int32, str, target_column=0))
    return Datasets(datasets[0], None, datasets[1])


def _synthetic_texts(count: int) -> Dataset:
    pairs = [(n + 1, word, row) for row in range(count) for n, word in enumerate(_SUBJECTS)]
    texts = [[f"{word} {row}", f"This {word} is number {row} of its kind ."] for _, word, row in pairs]
    return Dataset(np.array(texts), np.array([kind for kind, *_ in pairs], np.int32))


def circles(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    factor: float = 0.8,
    n_classes: int = 2,
    *args: Any,
    **kwargs: Any,
) -> Dataset:
    """Return points on circles around each other, and which circle each is on.

    Args:
        n_samples: how many points.
        noise: deviation of what is added to each; nothing if omitted.
        seed: of the noise and of the order.
        factor: size of each circle, as a share of the one around it.
        n_classes: how many circles.
        args: accepted for compatibility.
        kwargs: accepted for compatibility.
    """
    if factor >= 1 or factor < 0:
        raise ValueError(f"factor has to be from 0 to 1 and less than 1; it is {factor}")
    kinds = np.arange(n_samples) * n_classes // n_samples
    angles = 2 * np.pi * np.arange(n_samples) * n_classes / n_samples
    radii = factor ** kinds.astype(float)
    return _mixed(np.stack([radii * np.cos(angles), radii * np.sin(angles)], 1), kinds, noise, seed)


def spirals(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    mode: str = "archimedes",
    n_loops: int = 2,
    *args: Any,
    **kwargs: Any,
) -> Dataset:
    """Return points on two spirals, and which one each is on; arguments as for ``circles``.

    Args:
        n_samples: how many points.
        noise: deviation of what is added to each; nothing if omitted.
        seed: of the noise and of the order.
        mode: ``archimedes``, ``bernoulli`` or ``fermat``.
        n_loops: how often each goes round.
        args: accepted for compatibility.
        kwargs: accepted for compatibility.
    """
    radius: dict[str, Callable[[Any], Any]] = {
        "archimedes": lambda t: t / (2 * np.pi),
        "bernoulli": lambda t: np.exp(0.1 * t),
        "fermat": np.sqrt,
    }
    if mode not in radius:
        raise ValueError(f"there is no spiral {mode!r}; there are {', '.join(sorted(radius))}")
    kinds = np.arange(n_samples) % 2
    turned = np.linspace(0, 2 * np.pi * n_loops, n_samples)
    side = np.where(kinds, -1.0, 1.0) * radius[mode](turned)
    return _mixed(np.stack([side * np.cos(turned), side * np.sin(turned)], 1), kinds, noise, seed)


def _mixed(points: Any, kinds: Any, noise: float | None, seed: int | None) -> Dataset:
    draws = np.random.RandomState(seed)
    if noise is not None:
        points = points + draws.normal(scale=noise, size=points.shape)
    order = draws.permutation(len(points))
    return Dataset(points[order], kinds[order])


DATASETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "boston": load_boston,
    "mnist": load_mnist,
    "dbpedia": load_dbpedia,
}
"""The data sets by name."""

SYNTHETIC: dict[str, Callable[..., Dataset]] = {"circles": circles, "spirals": spirals}
"""Those that are made up."""


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Return a data set by its name.

    Args:
        name: ``iris``, ``boston``, ``mnist`` or ``dbpedia``.
        size: how much of ``dbpedia``.
        test_with_fake_data: whether ``dbpedia`` is made up.

    Raises:
        ValueError: for another name.
    """
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}")
    return DATASETS[name](size, test_with_fake_data) if name == "dbpedia" else DATASETS[name]()


def make_dataset(
    name: str, n_samples: int = 100, noise: float | None = None, seed: int = 42, *args: Any, **kwargs: Any
) -> Dataset:
    """Return a data set that is made up, by its name.

    Args:
        name: ``circles`` or ``spirals``.
        n_samples: how many points.
        noise: deviation of what is added to each; nothing if omitted.
        seed: of the noise and of the order.
        args: further arguments of the function.
        kwargs: further arguments of the function.

    Raises:
        ValueError: for another name.
    """
    if name not in SYNTHETIC:
        raise ValueError(f"Synthetic dataset not found or not implemeted: {name}")
    return SYNTHETIC[name](n_samples, noise, seed, *args, **kwargs)
