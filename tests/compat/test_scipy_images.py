"""The functions for images that ``scipy.misc`` had: what they give was worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from actorsession.compat.companions.scipy_images import (
    bytescale,
    fromimage,
    imread,
    imresize,
    imrotate,
    imsave,
    toimage,
)

RAMP = np.array([[0.0, 0.5], [0.75, 1.0]])


def test_numbers_are_scaled_to_bytes_and_bytes_are_not() -> None:
    assert bytescale(RAMP).tolist() == [[0, 128], [191, 255]]
    assert bytescale(RAMP, cmin=0, cmax=2).tolist() == [[0, 64], [96, 128]]
    assert bytescale(RAMP, high=100, low=50).tolist() == [[50, 75], [88, 100]]
    assert bytescale(np.ones((1, 2))).tolist() == [[0, 0]]
    given = np.array([[3, 4]], np.uint8)
    assert bytescale(given) is given
    with pytest.raises(ValueError, match="cmax must not be less"):
        bytescale(RAMP, cmin=2, cmax=1)
    with pytest.raises(ValueError, match="high=300"):
        bytescale(RAMP, high=300)


def test_an_image_is_read_as_it_was_written(tmp_path: Path) -> None:
    colours = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    imsave(tmp_path / "a.png", colours)
    assert imread(tmp_path / "a.png").tolist() == colours.tolist()
    assert imread(str(tmp_path / "a.png"), flatten=True).dtype == np.float32
    assert imread(tmp_path / "a.png", mode="L").shape == (2, 4)
    imsave(tmp_path / "b.png", RAMP)
    assert imread(tmp_path / "b.png").tolist() == [[0, 128], [191, 255]]


def test_channels_are_the_axis_of_three_or_four() -> None:
    first = np.zeros((3, 5, 6), np.uint8)
    first[0] = 9
    image = toimage(first)
    assert (image.size, image.mode, image.getpixel((0, 0))) == ((6, 5), "RGB", (9, 0, 0))
    assert toimage(np.zeros((5, 6, 4), np.uint8)).mode == "RGBA"
    assert toimage(np.zeros((5, 6, 4), np.uint8), mode="CMYK").mode == "CMYK"
    assert toimage(np.zeros((3, 5, 4), np.uint8), channel_axis=2).size == (5, 3)


def test_grey_values_have_modes_of_their_own() -> None:
    assert fromimage(toimage(RAMP, mode="F")).tolist() == RAMP.tolist()
    assert fromimage(toimage(RAMP, mode="I")).tolist() == [[0, 127], [191, 255]]
    assert fromimage(toimage(np.array([[9, 3]]), high=5, mode="1")).tolist() == [[255, 0]]
    assert fromimage(toimage(RAMP, mode="P")).tolist()[1][1] == [255, 255, 255]


def test_what_makes_no_image_is_refused() -> None:
    for arr, mode, said in (
        (np.zeros((2, 5, 6)), None, "suitable array shape"),
        (np.zeros(4), None, "suitable array shape"),
        (RAMP, "RGB", "none of grey values"),
        (np.zeros((2, 2, 3)), "L", "none of 3 channels"),
        (RAMP + 1j, None, "complex"),
    ):
        with pytest.raises(ValueError, match=said):
            toimage(arr, mode=mode)
    with pytest.raises(ValueError, match="5 channels"):
        toimage(np.zeros((3, 4, 5)), channel_axis=2)


def test_sizes_are_percentages_fractions_or_height_and_width() -> None:
    image = np.zeros((4, 8, 3), np.uint8)
    assert imresize(image, 50).shape == (2, 4, 3)
    assert imresize(image, 2.0).shape == (8, 16, 3)
    assert imresize(image, (3, 5)).shape == (3, 5, 3)
    assert imresize(np.eye(2), (4, 4), interp="nearest").tolist()[0] == [255, 255, 0, 0]


def test_an_image_is_turned_against_the_clock() -> None:
    assert imrotate(np.array([[1, 2], [3, 4]], np.uint8), 90, "nearest").tolist() == [
        [2, 4],
        [1, 3],
    ]
