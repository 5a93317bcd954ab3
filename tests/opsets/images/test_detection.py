"""Functions about boxes, likeness and files of images, beyond what the table says of their op types."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import as_dtype, convert_to_tensor, float32, image, int64, uint8
from actorsession.errors import InvalidArgumentError, OutOfRangeError
from tests.nodes import make_one
from tests.ops.interpreter import evaluate, source

PICTURES = np.random.default_rng(1).uniform(size=(2, 12, 13, 3)).astype(np.float32)
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]], np.float32)
SCORES = np.array([0.9, 0.8, 0.7], np.float32)


def hidden(value: Any) -> Any:
    """A tensor of unknown shape, and what to feed for it."""
    return source(as_dtype(value.dtype), None)


# -- boxes -----------------------------------------------------------------------------------------


def test_a_box_of_an_image_that_there_is_not_is_out_of_range() -> None:
    crops = image.crop_and_resize(PICTURES, BOXES[:1], [2], [2, 2])
    with pytest.raises(OutOfRangeError, match=r"outside \[0, 2\)"):
        evaluate([crops])


def test_a_box_names_its_image() -> None:
    crops = image.crop_and_resize(PICTURES, BOXES[:1], crop_size=[2, 2], box_indices=[1])
    assert crops.shape.as_list() == [1, 2, 2, 3]
    with pytest.raises(ValueError, match="method is bilinear or nearest"):
        image.crop_and_resize(PICTURES, BOXES[:1], [0], [2, 2], "cubic")


def test_boxes_of_many_images_are_chosen_at_once() -> None:
    boxes, scores = np.stack([BOXES, BOXES]), np.stack([SCORES, SCORES[::-1]])
    places, counts = image.non_max_suppression_padded(boxes, scores, 4, pad_to_max_output_size=True)
    with acts.Session() as sess:
        found = sess.run([places, counts])
    assert places.shape.as_list() == [2, 4]
    assert found[0].tolist() == [[0, 2, 0, 0], [2, 1, 0, 0]]
    assert found[1].tolist() == [2, 2]
    with pytest.raises(ValueError, match="must be True for batched input"):
        image.non_max_suppression_padded(boxes, scores, 4)


def test_scores_fall_softly_where_boxes_overlap() -> None:
    places, scores = image.non_max_suppression_with_scores(BOXES, SCORES, 3, soft_nms_sigma=0.5)
    found = evaluate([places, scores])
    assert found[0].tolist() == [0, 2, 1]
    part = 0.9 / 1.1
    np.testing.assert_allclose(found[1], [0.9, 0.7, 0.8 * np.exp(-(part**2))], 1e-5)


def test_what_is_beyond_an_image_is_between_its_least_and_greatest_number() -> None:
    window = image.extract_glimpse(PICTURES, [30, 30], [[0, 0], [1, 1]])
    first, second = evaluate([window])[0], evaluate([window])[0]
    assert first.min() >= PICTURES.min()
    assert first.max() <= PICTURES.max()
    assert (first != second).any()


# -- colours and edges -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["yiq", "yuv"])
def test_colours_come_back_from_brightness_and_differences(way: str) -> None:
    there = getattr(image, f"rgb_to_{way}")(PICTURES)
    back = getattr(image, f"{way}_to_rgb")(there)
    first, last = evaluate([there, back])
    np.testing.assert_allclose(first[..., 0], PICTURES @ [0.299, 0.587, 0.114], 1e-5)
    np.testing.assert_allclose(last, PICTURES, atol=1e-3)
    with pytest.raises(ValueError, match="known rank"):
        getattr(image, f"rgb_to_{way}")(hidden(PICTURES))


def test_image_gradients_are_differences_and_end_with_zeros() -> None:
    down, right = evaluate(list(image.image_gradients(PICTURES)))
    np.testing.assert_array_equal(down[:, :-1], np.diff(PICTURES, axis=1))
    np.testing.assert_array_equal(right[:, :, :-1], np.diff(PICTURES, axis=2))
    assert not down[:, -1].any()
    assert not right[:, :, -1].any()
    with pytest.raises(ValueError, match="expects a 4D tensor"):
        image.image_gradients(PICTURES[0])


def test_sobel_edges_are_steps_down_and_right() -> None:
    steps = np.tile(np.arange(5, dtype=np.float32)[:, None, None], (1, 1, 4, 2))
    [edges] = evaluate([image.sobel_edges(steps)])
    assert edges.shape == (1, 5, 4, 2, 2)
    assert (edges[:, 1:-1, :, :, 0] == 8).all()
    assert not edges[..., 1].any()


# -- likeness --------------------------------------------------------------------------------------


def test_an_image_is_like_itself() -> None:
    same = [
        image.ssim(PICTURES, PICTURES, 1.0),
        image.ssim_multiscale(PICTURES, PICTURES, 1.0, (0.5, 0.5), filter_size=3),
    ]
    for found in evaluate(same):
        np.testing.assert_allclose(found, [1, 1], 1e-6)


def test_likeness_is_that_of_a_sum_over_windows() -> None:
    other = PICTURES * 0.8 + 0.1
    found = evaluate([image.ssim(PICTURES, other, 1.0, 3, 1.0, return_index_map=True)])[0]
    line = np.exp(-0.5 * np.array([-1.0, 0, 1]) ** 2)
    window = np.outer(line, line)[..., None] / line.sum() ** 2
    for place in ((0, 0, 0), (1, 9, 10), (0, 4, 7)):
        b, i, j = place
        x, y = (p[b, i : i + 3, j : j + 3].astype(np.float64) for p in (PICTURES, other))
        mx, my = ((window * p).sum((0, 1)) for p in (x, y))
        vx, vy = ((window * p * p).sum((0, 1)) - m * m for p, m in ((x, mx), (y, my)))
        both = (window * x * y).sum((0, 1)) - mx * my
        one, two = 1e-4, 9e-4
        parts = (2 * mx * my + one) / (mx**2 + my**2 + one) * (2 * both + two) / (vx + vy + two)
        np.testing.assert_allclose(found[place], parts.mean(), 1e-4)


@pytest.mark.parametrize("measure", [image.ssim, image.psnr], ids=["ssim", "psnr"])
def test_images_of_other_sizes_are_not_compared(measure: Any) -> None:
    with pytest.raises(ValueError, match="not compatible"):
        measure(PICTURES, PICTURES[:, :11], 1.0)
    first, second = hidden(PICTURES), hidden(PICTURES)
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        evaluate([measure(first, second, 1.0)], {first: PICTURES, second: PICTURES[:, :11]})


def test_an_image_is_at_least_as_large_as_the_window() -> None:
    first = hidden(PICTURES)
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        evaluate([image.ssim(first, first, 1.0)], {first: PICTURES[:, :5]})


# -- files -----------------------------------------------------------------------------------------


def test_an_image_loses_little_as_a_jpeg_file_of_good_quality() -> None:
    pytest.importorskip("PIL")
    smooth = np.linspace(0, 1, 16 * 16 * 3, dtype=np.float32).reshape(16, 16, 3)
    for value, most in ((smooth, 0.05), ((smooth * 255).astype(np.uint8), 12)):
        good, drawn = image.adjust_jpeg_quality(value, 95), image.random_jpeg_quality(value, 94, 96)
        for tensor, found in zip((good, drawn), evaluate([good, drawn]), strict=True):
            assert tensor.dtype is as_dtype(value.dtype)
            assert np.abs(found.astype(np.float64) - value).max() < most


@pytest.mark.parametrize(("bounds", "message"), [((20, 20), "must be less than"), ((-1, 20), "between 0 and 100")])
def test_bounds_of_quality_are_in_order(bounds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        image.random_jpeg_quality(PICTURES[0], *bounds)


def test_whether_a_string_begins_as_a_jpeg_file() -> None:
    found = evaluate([image.is_jpeg(b"\xff\xd8\xff\xe0..."), image.is_jpeg(b"a")])
    assert [bool(x) for x in found] == [True, False]


def test_files_have_shapes_that_are_known_as_far_as_arguments_say() -> None:
    pytest.importorskip("PIL")
    assert image.decode_gif(b"").shape.as_list() == [None, None, None, 3]
    assert image.decode_bmp(b"", 4).shape.as_list() == [None, None, 4]
    assert image.decode_image(b"").shape.rank is None
    assert image.decode_image(b"", expand_animations=False).shape.as_list() == [None] * 3
    assert image.decode_and_crop_jpeg(b"", [0, 1, 2, 3]).shape.as_list() == [2, 3, None]
    assert image.extract_jpeg_shape(b"", int64).dtype is int64
    assert image.decode_image(b"", dtype=np.float64).dtype is as_dtype(np.float64)
    with pytest.raises(ValueError, match="channels are 0, 3, 4"):
        image.decode_bmp(b"", 1)
    with pytest.raises(TypeError, match="takes uint8 as images"):
        make_one("EncodeJpegVariableQuality", [convert_to_tensor(PICTURES[0]), convert_to_tensor(5)])


def test_defaults_are_tensorflows() -> None:
    said = {
        function: {
            k: p.default
            for k, p in inspect.signature(getattr(image, function)).parameters.items()
            if p.default is not p.empty
        }
        for function in ("draw_bounding_boxes", "decode_image")
    }
    assert said["draw_bounding_boxes"] == {"name": None, "colors": None}
    assert said["decode_image"]["dtype"] is uint8
    assert (
        image.combined_non_max_suppression(BOXES[None, :, None], SCORES[None, :, None], 2, 3).nmsed_boxes.dtype
        is float32
    )
