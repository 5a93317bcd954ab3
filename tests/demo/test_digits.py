"""The demo's data: what is bundled, how it is split, and what a bad file is told."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession.demo.digits import load_digits
from actorsession.errors import InvalidArgumentError, NotFoundError

# From actorsession/demo/data/README.md.
CONTENT_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"

# What the split gave when it was made.
FIRST_TRAINED = [5, 0, 0, 0, 1, 3, 6, 5, 6, 6, 3, 6]
LAST_HELD_OUT = [2, 4, 3, 4, 5, 9, 1, 3, 4, 7, 7, 7]


@dataclass(frozen=True)
class Tripwire:
    """An object that makes a file when it is unpickled."""

    made: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.made,)


def write_digits(path: Path, **changes: Any) -> Path:
    """A small valid file, with some of its arrays replaced (``None`` leaves one out)."""
    arrays = {
        "images": np.arange(20 * 64, dtype=np.uint8).reshape(20, 64) % 17,
        "labels": np.arange(20, dtype=np.uint8) % 10,
    } | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_the_bundled_file_is_the_one_that_its_readme_describes() -> None:
    data = resources.files("actorsession.demo") / "data"
    with (data / "digits.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        content = stored["images"].tobytes() + stored["labels"].tobytes()
    assert hashlib.sha256(content).hexdigest() == CONTENT_SHA256
    assert CONTENT_SHA256 in (data / "README.md").read_text(encoding="utf-8")
    digits = load_digits()
    assert digits.train_images.shape == (1437, 64)
    assert digits.train_labels.shape == (1437,)
    assert digits.test_images.shape == (360, 64)
    assert digits.test_labels.shape == (360,)
    digits = load_digits()
    for images in (digits.train_images, digits.test_images):
        assert images.dtype == np.float32
        assert (float(images.min()), float(images.max())) == (0.0, 1.0)
    for labels in (digits.train_labels, digits.test_labels):
        assert labels.dtype == np.int64
        assert set(labels.tolist()) == set(range(10))
    digits = load_digits()
    assert digits.train_labels[:12].tolist() == FIRST_TRAINED
    assert digits.test_labels[-12:].tolist() == LAST_HELD_OUT


def test_every_image_lands_on_one_side_of_the_split_with_its_own_label(tmp_path: Path) -> None:
    """Image i has i in its first two pixels and the label i % 10."""
    count = 33
    images = np.zeros((count, 64), dtype=np.uint8)
    images[:, 0], images[:, 1] = np.divmod(np.arange(count), 16)
    labels = (np.arange(count) % 10).astype(np.uint8)

    digits = load_digits(write_digits(tmp_path / "marked.npz", images=images, labels=labels))

    pixels = np.concatenate([digits.train_images, digits.test_images]) * 16
    marks = pixels[:, 0] * 16 + pixels[:, 1]
    assert sorted(marks.tolist()) == list(range(count))
    both = np.concatenate([digits.train_labels, digits.test_labels])
    np.testing.assert_array_equal(both, marks % 10)
    assert len(digits.test_labels) == 7  # a fifth of 33, rounded up


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    digits = load_digits(str(write_digits(tmp_path / "small.npz")))
    assert len(digits.train_labels) == 16


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": None}, "labels"),
        ({"images": np.zeros((20, 64))}, "'images' has dtype float64"),
        ({"labels": np.zeros(20, dtype=np.int64)}, "'labels' has dtype int64"),
        ({"images": np.zeros((20, 8, 8), dtype=np.uint8)}, r"'images' has shape \(20, 8, 8\)"),
        ({"labels": np.zeros(19, dtype=np.uint8)}, r"shape \(19,\) beside 20 images"),
        ({"images": np.full((20, 64), 17, dtype=np.uint8)}, "'images' has the value 17"),
        ({"labels": np.full(20, 10, dtype=np.uint8)}, "'labels' has the value 10"),
        ({"images": np.zeros((4, 64), dtype=np.uint8), "labels": np.zeros(4, dtype=np.uint8)}, "it contains 4 images"),
    ],
)
def test_a_file_of_another_form_says_what_it_holds_and_what_is_expected(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = write_digits(tmp_path / "other.npz", **changes)
    with pytest.raises(InvalidArgumentError, match=f"other.npz is not a digits file: .*{said}") as e:
        load_digits(path)
    assert "expected an .npz file with 'images' (uint8, shape (N, 64)" in str(e.value)


@pytest.mark.parametrize("content", [b"", b"1,2,3\n", b"PK\x03\x04 cut short", pickle.dumps([1])])
def test_a_file_that_is_no_npz_is_an_invalid_argument(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=r"noise\.npz is not a digits file"):
        load_digits(path)


def test_a_single_array_is_an_invalid_argument(tmp_path: Path) -> None:
    path = tmp_path / "one.npy"
    np.save(path, np.zeros((20, 64), dtype=np.uint8))
    with pytest.raises(InvalidArgumentError, match=r"one\.npy is not a digits file"):
        load_digits(path)
    objects = np.array([Tripwire(tmp_path / "sprung")], dtype=object)
    path = write_digits(tmp_path / "objects.npz", images=objects)
    with pytest.raises(InvalidArgumentError, match="allow_pickle=False"):
        load_digits(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["absent.npz", "."])
def test_a_file_that_cannot_be_read_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="cannot read the digits file"):
        load_digits(tmp_path / name)
