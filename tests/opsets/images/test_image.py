"""Images: functions composed of ops, and what they refuse; the values of op types are in the table."""

from __future__ import annotations

import inspect
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, image, uint16
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.images.deep_png import read_deep, with_channels, write_deep
from tests.nodes import make_one
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused, refusing

IMAGE = np.arange(15, dtype=np.float32).reshape(3, 5, 1)
COLOURS = np.array([[[0.2, 0.5, 0.9], [0.1, 0.7, 0.3]]], np.float32)
PICTURES = np.random.default_rng(1).uniform(size=(2, 12, 13, 3)).astype(np.float32)
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]], np.float32)
SQUARE, ROWS = np.arange(16.0).reshape(4, 4, 1), np.arange(25.0).reshape(5, 5, 1)
LINE = np.array([0, 1, 2.5, 4, 6, 8, 10.5, 12.5, 15, 17.5, 20, 22.5], np.float32).reshape(1, 3, 4, 1)
NEGATIVE = np.array([[[-1, 0.5, 2], [0, -2, -1]]], np.float32)


def _run(build: Any, *values: Any, known: bool = True) -> Any:
    """What a function makes of values; also with a shape that is not known, or known by its rank alone."""
    arrays = [np.asarray(v) for v in values]
    with Graph().as_default():
        tensors = [source(acts.as_dtype(a.dtype), a.shape if known else [None] * a.ndim) for a in arrays]
        made = build(*tensors)
        [found] = evaluate([made], dict(zip(tensors, arrays, strict=True)))
        assert made.shape.is_compatible_with(np.shape(found))
        return found


both = for_each("known", [True, False], ids=["known", "hidden"])


# -- parts, margins, turns, sizes ------------------------------------------------------------------


@both
@for_each(
    "build, wanted",
    [
        (lambda x: image.crop_to_bounding_box(x, 1, 2, 2, 3), lambda x: x[1:3, 2:5]),
        (lambda x: image.pad_to_bounding_box(x, 1, 0, 5, 7), lambda x: np.pad(x, [(1, 1), (0, 2), (0, 0)])),
        (lambda x: image.resize_image_with_crop_or_pad(x, 4, 4), lambda x: np.pad(x, [(0, 1), (0, 0), (0, 0)])[:, :4]),
        (
            lambda x: image.resize_with_crop_or_pad(x, 1, 8),
            lambda x: np.pad(x[1:2], [(0, 0), (1, 2), (0, 0)]),  # the larger half is cut off and put on behind
        ),
        (image.flip_left_right, lambda x: x[:, ::-1]),
        (image.flip_up_down, lambda x: x[::-1]),
        (image.transpose_image, lambda x: x.transpose(1, 0, 2)),
        (image.grayscale_to_rgb, lambda x: np.repeat(x, 3, 2)),
        *[(lambda x, k=k: image.rot90(x, k), lambda x, k=k: np.rot90(x, k)) for k in range(-1, 6)],
    ],
)
def test_images_are_changed_one_by_one_or_in_batches(build: Any, wanted: Any, known: bool) -> None:
    np.testing.assert_array_equal(_run(build, IMAGE, known=known), wanted(IMAGE))
    many = np.stack([IMAGE, -IMAGE])
    np.testing.assert_array_equal(_run(build, many, known=known), np.stack([*map(wanted, many)]))


@both
@for_each(
    "build, given, wanted",
    [
        (lambda x: image.resize_image_with_crop_or_pad(x, 1, 1), SQUARE, SQUARE[1:2, 1:2]),
        (lambda x: image.resize_image_with_crop_or_pad(x, 1, 7), SQUARE, np.pad(SQUARE[1:2], [(0, 0), (1, 2), (0, 0)])),
        (lambda x: image.central_crop(x, 0.5), ROWS, ROWS[1:4, 1:4]),
        (lambda x: image.central_crop(x, 1.0) + 0, ROWS, ROWS),
        (lambda x: image.resize(x, [3, 5]), IMAGE, IMAGE),
        (
            lambda x: image.resize_images(x, [6, 6], preserve_aspect_ratio=True),
            np.ones([1, 3, 4, 1], np.float32),
            np.ones([1, 4, 6, 1]),
        ),
        (image.total_variation, LINE, [abs(np.diff(LINE, axis=1)).sum() + abs(np.diff(LINE, axis=2)).sum()]),
        (image.total_variation, LINE[0], abs(np.diff(LINE, axis=1)).sum() + abs(np.diff(LINE, axis=2)).sum()),
        # Numbers that TensorFlow 2.21 gives.
        (lambda x: image.adjust_brightness(x, 0.2), COLOURS, [[[0.4, 0.7, 1.1], [0.3, 0.9, 0.5]]]),
        (lambda x: image.adjust_contrast(x, 1.7), COLOURS, [[[0.235, 0.43, 1.11], [0.065, 0.77, 0.09]]]),
        (lambda x: image.adjust_gamma(x, 2.0, 0.5), COLOURS, [[[0.02, 0.125, 0.405], [0.005, 0.245, 0.045]]]),
        (lambda x: image.adjust_hue(x, 0.2), COLOURS, [[[0.74, 0.2, 0.9], [0.1, 0.38, 0.7]]]),
        # The hue of negative colours changes between the least and the greatest.
        (lambda x: image.adjust_hue(x, 0.25), NEGATIVE, [[[2, -1, 2], [0, 0, -2]]]),
        (lambda x: image.adjust_hue(x, -0.5), NEGATIVE, [[[2, 0.5, -1], [-2, 0, -1]]]),
        (lambda x: image.adjust_saturation(x, 1.7), COLOURS, [[[0, 0.3857143, 0.9], [0, 0.7, 0.2333334]]]),
        (image.rgb_to_grayscale, COLOURS, [[[0.45588], [0.47499]]]),
        (
            image.per_image_standardization,
            COLOURS,
            [[[-0.6123723, 0.1224746, 1.1022705], [-0.8573214, 0.6123725, -0.3674234]]],
        ),
    ],
)
def test_an_image_becomes_another(build: Any, given: Any, wanted: Any, known: bool) -> None:
    np.testing.assert_allclose(_run(build, given, known=known), np.float32(wanted), 1e-5, 2e-6)


def test_sizes_may_be_tensors_and_have_margins() -> None:
    found = _run(lambda x, h: image.resize_image_with_crop_or_pad(x, h, 2), IMAGE, np.int32(1))
    assert found[:, :, 0].tolist() == [[6, 7]]
    padded = _run(lambda x: image.resize_image_with_pad(x, 4, 8), np.ones([2, 2, 1], np.float32))
    assert padded[:, :, 0].tolist() == [[0, 0, 1, 1, 1, 1, 0, 0]] * 4


@both
def test_one_image_is_resized_as_a_batch_of_one(known: bool) -> None:
    one = _run(lambda x: image.resize(x, [2, 2]), IMAGE, known=known)
    many = _run(lambda x: image.resize_bilinear(x, [2, 2]), IMAGE[None], known=known)
    np.testing.assert_array_equal(one, many[0])
    x = source("uint8", [3, 5, 1])
    assert image.resize_images(x, [3, 5]) is x


@for_each("method, op", zip(range(4), ["Bilinear", "NearestNeighbor", "Bicubic", "Area"], strict=True))
def test_the_method_chooses_the_op(method: int, op: str) -> None:
    assert image.resize_images(source("float32", [1, 3, 5, 1]), [2, 2], method).op.type == f"Resize{op}"


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (lambda x: image.adjust_brightness(x, 0.2), [61, 71, 81]),
        (image.rgb_to_grayscale, [18]),
        (image.per_image_standardization, [-1.2247449, 0, 1.2247449]),
    ],
)
def test_integer_pixels_are_scaled_and_back(build: Any, wanted: Any) -> None:
    found = _run(build, np.array([[[10, 20, 30]]], np.uint8))
    np.testing.assert_allclose(found[0, 0], wanted, 1e-6)
    assert found.dtype == (np.uint8 if isinstance(wanted[0], int) else np.float32)


@for_each(
    "given, dtype, saturate, wanted",
    [
        (np.array([0, 128, 255], np.uint8), "float32", False, [0, 0.501960813999176, 1]),
        (np.array([0, 0.5, 1, 1.5], np.float32), "uint8", True, [0, 127, 255, 255]),
        (np.array([0, 0.5, 1], np.float32), "uint8", False, [0, 127, 255]),
        (np.array([0, 128, 255], np.uint8), "int16", False, [0, 16384, 32640]),
        (np.array([0, 128, 32767], np.int16), "uint8", True, [0, 1, 255]),
        (np.array([0.5], np.float64), "float32", False, [0.5]),
        (np.array([7], np.uint8), "uint8", False, [7]),
    ],
)
def test_pixels_of_another_dtype_fill_its_range(given: Any, dtype: str, saturate: bool, wanted: Any) -> None:
    found = _run(lambda x: image.convert_image_dtype(x, dtype, saturate), given)
    assert (found.dtype, found.tolist()) == (dtype, np.array(wanted, dtype).tolist())


def test_the_noise_between_images_is_counted_in_decibel() -> None:
    a = np.zeros([2, 3, 4, 1], np.float32)
    found = _run(lambda x, y: image.psnr(x, y, 255), a, a + 1)
    np.testing.assert_allclose(found, [48.1308] * 2, 1e-5)
    found = _run(lambda x, y: image.psnr(x, y, 255), a.astype(np.uint8), (a + 1).astype(np.uint8))
    np.testing.assert_allclose(found, [48.1308] * 2, 1e-5)


@pytest.mark.parametrize("measure", [image.ssim, image.psnr], ids=["ssim", "psnr"])
def test_images_of_other_sizes_are_not_compared(measure: Any) -> None:
    refused(lambda: measure(PICTURES, PICTURES[:, :11], 1.0), ValueError, "not compatible")
    first, second = source("float32", None), source("float32", None)
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        evaluate([measure(first, second, 1.0)], {first: PICTURES, second: PICTURES[:, :11]})


def test_an_image_is_at_least_as_large_as_the_window() -> None:
    first = source("float32", None)
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        evaluate([image.ssim(first, first, 1.0)], {first: PICTURES[:, :5]})


# -- patches and glimpses --------------------------------------------------------------------------


IMAGES, ONES = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1), [1, 1, 1, 1]


@for_each("shape", [[0, 5, 5, 2], [1, 0, 5, 2], [1, 5, 0, 2], [1, 5, 5, 0], [0, 0, 0, 0]], ids=str)
def test_patches_of_no_elements_and_their_gradient_have_none(shape: list[int]) -> None:
    """TensorFlow has no gradient where the batch is empty."""
    x = np.ones(shape, np.float32)
    with acts.Graph().as_default(), acts.Session() as session:
        fed = acts.placeholder(acts.float32, [None] * 4)
        made = acts.image.extract_patches(fed, [1, 3, 3, 1], ONES, ONES, "SAME")
        patches, slope = session.run([made, acts.gradients(made, fed)[0]], {fed: x})
    assert (patches.shape, slope.shape) == ((*shape[:3], 9 * shape[3]), x.shape)


def test_a_patch_far_larger_than_the_image_is_refused() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        fed = acts.placeholder(acts.float32, [None] * 4)
        made = acts.image.extract_patches(fed, [1, 3, 3, 1], ONES, ONES, "VALID")
        assert session.run(made, {fed: np.ones([1, 2, 2, 1])}).shape == (1, 0, 0, 9)
        with pytest.raises(acts.errors.InvalidArgumentError, match="would be negative"):
            session.run(made, {fed: np.ones([1, 0, 5, 2])})


def test_what_is_beyond_an_image_is_between_its_least_and_greatest_number() -> None:
    window = image.extract_glimpse(PICTURES, [30, 30], [[0, 0], [1, 1]])
    first, second = evaluate([window])[0], evaluate([window])[0]
    assert first.min() >= PICTURES.min()
    assert first.max() <= PICTURES.max()
    assert (first != second).any()


# -- chance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flip", "axis"), [(image.random_flip_left_right, 1), (image.random_flip_up_down, 0)])
def test_a_flip_by_chance_happens_now_and_then(flip: Any, axis: int) -> None:
    with acts.Session() as session:
        x = acts.constant(IMAGE)
        one, many = flip(x, seed=3), flip(acts.stack([x] * 16), seed=4)
        assert one.shape.as_list() == [3, 5, 1]
        found = [session.run(one) for _ in range(32)]
        found += list(session.run(many))
    flipped = [np.array_equal(f, np.flip(IMAGE, axis)) for f in found]
    assert all(was or np.array_equal(f, IMAGE) for was, f in zip(flipped, found, strict=True))
    assert {*flipped[:32]} == {*flipped[32:]} == {False, True}


def test_a_crop_by_chance_is_a_part_of_the_whole() -> None:
    with acts.Session() as session:
        crop = acts.image.random_crop(IMAGE, [2, 2, 1], seed=1)
        found = [session.run(crop)[:, :, 0] for _ in range(64)]
    parts = [IMAGE[i : i + 2, j : j + 2, 0] for i in range(2) for j in range(4)]
    seen = {tuple(f.ravel()) for f in found}
    assert seen == {tuple(p.ravel()) for p in parts}


@for_each(
    "change, adjust, low, high",
    [
        (lambda x: image.random_brightness(x, 0.3, seed=1), image.adjust_brightness, -0.3, 0.3),
        (lambda x: image.random_contrast(x, 0.2, 0.6, seed=1), image.adjust_contrast, 0.2, 0.6),
        (lambda x: image.random_hue(x, 0.1, seed=1), image.adjust_hue, -0.1, 0.1),
        (lambda x: image.random_saturation(x, 0.2, 0.6, seed=1), image.adjust_saturation, 0.2, 0.6),
    ],
)
def test_a_change_of_colour_by_chance_is_within_its_bounds(change: Any, adjust: Any, low: float, high: float) -> None:
    with acts.Session() as session:
        changed = change(acts.constant(COLOURS))
        ends = session.run([adjust(COLOURS, low), adjust(COLOURS, high)])
        found = [session.run(changed) for _ in range(4)]
    assert not np.array_equal(found[0], found[1])
    for values in found:
        assert np.all(values >= np.minimum(*ends) - 1e-5)
        assert values.shape == COLOURS.shape


OBJECT = np.array([[[0.1, 0.2, 0.6, 0.7]]], np.float32)


def _boxes(session: acts.Session, count: int, **more: Any) -> list[Any]:
    first, size, box = image.sample_distorted_bounding_box([100, 120, 3], OBJECT, seed=1, **more)
    assert box.shape.as_list() == [1, 1, 4]
    found = [session.run([first, size, box]) for _ in range(count)]
    for begin, extent, parts in found:
        assert (begin[2], extent[2]) == (0, -1)
        ends = np.concatenate([begin[:2], begin[:2] + extent[:2]])
        np.testing.assert_allclose(parts[0, 0], ends / [100, 120, 100, 120], 1e-6)
    return [(*begin[:2].tolist(), *extent[:2].tolist()) for begin, extent, _ in found]


def test_boxes_by_chance_have_the_sizes_and_sides_that_were_asked_for() -> None:
    with acts.Session() as session:
        ranges = {"aspect_ratio_range": [0.5, 2.0], "area_range": [0.1, 0.4]}
        found = _boxes(session, 64, min_object_covered=0.0, **ranges)
    assert len(set(found)) > 32
    for top, left, rows, columns in found:
        assert top >= 0 <= left
        assert top + rows <= 100
        assert left + columns <= 120
        assert 0.1 <= rows * columns / 12000 <= 0.4
        assert 0.5 - 0.05 <= columns / rows <= 2.0 + 0.05


def test_a_box_by_chance_shows_enough_of_an_object() -> None:
    with acts.Session() as session:
        found = _boxes(session, 32, min_object_covered=0.9)
    for top, left, rows, columns in found:
        high = min(60, top + rows) - max(10, top)
        wide = min(84, left + columns) - max(24, left)
        assert high * wide >= 0.9 * 50 * 60


def test_without_a_box_that_will_do_the_whole_image_is_taken() -> None:
    with acts.Session() as session:
        assert _boxes(session, 1, min_object_covered=1.5) == [(0, 0, 100, 120)]


def test_an_image_without_objects_may_be_one_itself() -> None:
    none = np.zeros([1, 0, 4], np.float32)
    with acts.Session() as session:
        [begin, _, _] = session.run(
            image.sample_distorted_bounding_box([9, 9, 3], none, use_image_if_no_bounding_boxes=True)
        )
        assert begin.shape == (3,)
        bad = image.sample_distorted_bounding_box([9, 9, 3], none)[0]
        refused(lambda: session.run(bad), InvalidArgumentError, "No bounding boxes provided")
        beyond = image.sample_distorted_bounding_box([9, 9, 3], 9 * OBJECT)[0]
        refused(lambda: session.run(beyond), InvalidArgumentError, "between 0 and 1")


# -- what is refused -------------------------------------------------------------------------------


REFUSED: list[tuple[Any, str]] = [
    (lambda x: image.crop_to_bounding_box(x, 1, 1, 4, 4), "height must be >= target"),
    (lambda x: image.crop_to_bounding_box(x, 1, 2, 1, 4), "width must be >= target"),
    (lambda x: image.crop_to_bounding_box(x, -1, 1, 1, 1), "offset_height must be >= 0"),
    (lambda x: image.crop_to_bounding_box(x, 1, 1, 1, 0), "target_width must be > 0"),
    (lambda x: image.pad_to_bounding_box(x, 1, 1, 3, 9), "height must be <= target"),
    (lambda x: image.pad_to_bounding_box(x, 1, 1, 9, 4), "width must be <= target"),
    (lambda x: image.central_crop(x, 0.0), r"within \(0, 1\]"),
    (lambda x: image.central_crop(x, 1.1), r"within \(0, 1\]"),
    (lambda x: image.flip_left_right(x[0]), "rank 3 or 4"),
    (lambda x: image.resize_images(x, [2, 2], 9), "not implemented: 9"),
    (lambda x: image.resize_images(x, [2, 2, 1]), "2 elements"),
    (lambda x: image.resize_images(x[0], [2, 2]), "rank 3 or 4"),
    (lambda x: image.resize_images(x, [0, 2]), "positive"),
    (lambda x: image.resize_bilinear([x], [2, 2], True, half_pixel_centers=True), "exclude"),
    (lambda x: image.random_brightness(x, -1.0), "non-negative"),
    (lambda x: image.random_hue(x, 0.6), "<= 0.5"),
    (lambda x: image.random_hue(x, -0.1), "non-negative"),
    (lambda x: image.random_contrast(x, 0.6, 0.2), "upper must be > lower"),
    (lambda x: image.random_saturation(x, -0.6, 0.2), "lower must be non-negative"),
    (lambda x: image.adjust_gamma(x, -1), "non-negative"),
    (lambda x: image.adjust_hue(x, 0.1), "colours"),
    (lambda x: image.adjust_contrast(x[0], 0.1), "rank 3"),
    (lambda x: image.per_image_standardization(x[0]), "3-dimensional"),
    (lambda x: acts.image.random_crop(x, [9, 1, 1]), "value.shape >= size"),
    (lambda x: acts.image.random_crop(x, [1, 1]), "value.shape >= size"),
    (lambda x: image.grayscale_to_rgb(x[:, :, :0]), "one channel"),
    (lambda x: image.total_variation([1.0]), "3 or 4-dimensional"),
    (lambda x: image.crop_and_resize(PICTURES, BOXES[:1], [0], [2, 2], "cubic"), "method is bilinear or nearest"),
    (lambda x: image.non_max_suppression_padded(BOXES[None], [[1.0, 2.0, 3.0]], 4), "must be True for batched input"),
    (lambda x: image.rgb_to_yiq(source("float32", None)), "known rank"),
    (lambda x: image.rgb_to_yuv(source("float32", None)), "known rank"),
    (lambda x: image.image_gradients(PICTURES[0]), "expects a 4D tensor"),
    (lambda x: image.random_jpeg_quality(PICTURES[0], 20, 20), "must be less than"),
    (lambda x: image.random_jpeg_quality(PICTURES[0], -1, 20), "between 0 and 100"),
    (lambda x: image.sample_distorted_bounding_box([9, 9, 3], OBJECT, area_range=[0.5, 1.5]), "area_range"),
    (lambda x: image.sample_distorted_bounding_box([9, 9, 3], OBJECT, area_range=[0.5]), "area_range"),
    (
        lambda x: image.sample_distorted_bounding_box([9, 9, 3], OBJECT, aspect_ratio_range=[0.0, 1.5]),
        "aspect_ratio_range",
    ),
    (lambda x: image.sample_distorted_bounding_box([9, 9, 3], OBJECT, max_attempts=-1), "max_attempts"),
    (lambda x: image.sample_distorted_bounding_box([9, 9, 3], OBJECT, min_object_covered=[0.1]), "shapes"),
    (
        lambda x: acts.image.extract_patches(IMAGES, [2, 2, 2, 1], ONES, ONES, "SAME"),
        r"ksizes are \[1, rows, columns, 1\]",
    ),
    (lambda x: acts.image.extract_patches(IMAGES, [1, 0, 2, 1], ONES, ONES, "SAME"), "at least 1"),
    (lambda x: acts.image.extract_patches(IMAGES, [2, 2], ONES, ONES, "SAME"), "ksizes"),
    (lambda x: acts.image.extract_patches(IMAGES, [1, 2, 2, 1], ONES, ONES, "FULL"), "SAME or VALID, got 'FULL'"),
    (
        lambda x: acts.image.extract_patches(acts.zeros([1, 0, 5, 2]), [1, 3, 3, 1], ONES, ONES, "VALID"),
        "size would be negative",
    ),
]
test_what_cannot_be_is_refused_by_the_line_that_builds = refusing(
    *[(lambda build=build: build(source("float32", [3, 5, 1])), ValueError, match) for build, match in REFUSED],
    (lambda: image.rot90(source("float32", [2, 2, 1]), source("int32", [])), TypeError, "k is a number"),
)


def test_a_crop_that_turns_out_not_to_fit_is_an_error_of_the_step() -> None:
    refused(lambda: _run(lambda x: image.crop_to_bounding_box(x, 1, 1, 4, 4), IMAGE, known=False), InvalidArgumentError)
    refused(lambda: _run(lambda x: acts.image.random_crop(x, [9, 1, 1]), IMAGE, known=False), InvalidArgumentError)


# -- files and names -------------------------------------------------------------------------------


def test_without_pillow_a_file_is_refused_by_the_line_that_builds(uninstall: Callable[[str], None]) -> None:
    uninstall("PIL")
    refused(lambda: image.decode_png(source("string", [])), ImportError, r"actorsession\[image\]")


@for_each(
    "build, error, match",
    [
        (lambda x: image.decode_png(x, 2), ValueError, "channels are 0, 1, 3, 4, got 2"),
        (lambda x: image.decode_jpeg(x, 4), ValueError, "channels are 0, 1, 3, got 4"),
        (lambda x: image.decode_jpeg(x, ratio=3), ValueError, "ratio is 1, 2, 4 or 8"),
        (lambda x: image.decode_png(x, dtype="int32"), TypeError, "gives uint8"),
        (lambda x: image.decode_png([x]), ValueError, "rank 0"),
        (lambda x: image.encode_png(np.zeros([2, 2, 1], np.float32)), TypeError, "takes uint8"),
        (lambda x: image.encode_jpeg(np.zeros([2, 2, 1], np.uint8), quality=200), ValueError, "quality"),
        (lambda x: image.encode_jpeg(np.zeros([2, 2, 1], np.uint8), "x"), ValueError, "format is"),
    ],
)
def test_files_that_cannot_be_are_refused(build: Any, error: Any, match: str) -> None:
    pytest.importorskip("PIL")
    refused(lambda: build(source("string", [])), error, match)


def test_what_was_written_can_be_read() -> None:
    pytest.importorskip("PIL")
    pixels = (np.arange(24) * 10).astype(np.uint8).reshape(2, 4, 3)
    with acts.Session() as session:
        read = image.decode_png(image.encode_png(pixels), 3)
        assert read.shape.as_list() == [None, None, 3]
        np.testing.assert_array_equal(session.run(read), pixels)


def test_an_image_loses_little_as_a_jpeg_file_of_good_quality() -> None:
    pytest.importorskip("PIL")
    smooth = np.linspace(0, 1, 16 * 16 * 3, dtype=np.float32).reshape(16, 16, 3)
    for value, most in ((smooth, 0.05), ((smooth * 255).astype(np.uint8), 12)):
        good, drawn = image.adjust_jpeg_quality(value, 95), image.random_jpeg_quality(value, 94, 96)
        for tensor, found in zip((good, drawn), evaluate([good, drawn]), strict=True):
            assert tensor.dtype is acts.as_dtype(value.dtype)
            assert np.abs(found.astype(np.float64) - value).max() < most


def test_files_have_shapes_that_are_known_as_far_as_arguments_say() -> None:
    pytest.importorskip("PIL")
    assert image.decode_gif(b"").shape.as_list() == [None, None, None, 3]
    assert image.decode_bmp(b"", 4).shape.as_list() == [None, None, 4]
    assert image.decode_image(b"").shape.rank is None
    assert image.decode_image(b"", expand_animations=False).shape.as_list() == [None] * 3
    assert image.decode_and_crop_jpeg(b"", [0, 1, 2, 3]).shape.as_list() == [2, 3, None]
    assert image.extract_jpeg_shape(b"", acts.int64).dtype is acts.int64
    assert image.decode_image(b"", dtype=np.float64).dtype is acts.as_dtype(np.float64)
    refused(lambda: image.decode_bmp(b"", 1), ValueError, "channels are 0, 3, 4")
    with pytest.raises(TypeError, match="takes uint8 as images"):
        make_one("EncodeJpegVariableQuality", [acts.convert_to_tensor(PICTURES[0]), acts.convert_to_tensor(5)])


@for_each("name", image.__all__)
def test_names_of_the_namespace_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(image, name))


# -- PNG files of 16 bits per channel --------------------------------------------------------------

# As TensorFlow writes it; its rows have the filters 1, 1 and 4.
PIXELS = (np.arange(18).reshape(3, 2, 3) * 3001).astype(np.uint16)
WRITTEN = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000310020000006618959500000026494441540899636460e0de"
    "295ea4acadacadaccde81616c41f7b02c261710b730b730f8370009a6b0809a8db7ac90000000049454e44ae426082"
)


def test_a_file_of_tensorflow_is_read() -> None:
    np.testing.assert_array_equal(read_deep(WRITTEN), PIXELS)


@for_each("channels", [1, 2, 3, 4])
def test_what_is_written_is_read_back(channels: int) -> None:
    pixels = (np.arange(5 * 7 * channels).reshape(5, 7, channels) * 1871).astype(np.uint16)
    np.testing.assert_array_equal(read_deep(write_deep(pixels, -1)), pixels)


def _filtered(kind: int) -> bytes:
    """The file of the pixels with one filter for all rows, by the formulas of the specification."""
    rows = PIXELS.astype(">u2").view(np.uint8).reshape(3, -1).astype(int)
    up = np.vstack([np.zeros((1, 12), int), rows[:-1]])
    left, corner = (np.hstack([np.zeros((3, 6), int), part[:, :-6]]) for part in (rows, up))
    guess = left + up - corner
    near = np.stack([abs(guess - left), abs(guess - up), abs(guess - corner)])
    paeth = np.choose(near.argmin(axis=0), [left, up, corner])
    guesses: list[Any] = [0, left, up, (left + up) // 2, paeth]
    lines = np.hstack([np.full((3, 1), kind), rows - guesses[kind]]).astype(np.uint8)
    packed = zlib.compress(lines.tobytes())
    return WRITTEN[:33] + struct.pack(">I", len(packed)) + b"IDAT" + packed + b"\0" * 4


@for_each("kind", [0, 1, 2, 3, 4])
def test_every_filter_is_undone(kind: int) -> None:
    np.testing.assert_array_equal(read_deep(_filtered(kind)), PIXELS)


def test_damaged_files_are_refused() -> None:
    for data in (WRITTEN[:60], WRITTEN[:45] + b"zzzz" + WRITTEN[49:], _filtered(0)[:-20]):
        with pytest.raises(InvalidArgumentError):
            read_deep(data)
    assert read_deep(b"no image") is None


def test_channels_are_added_and_taken_away() -> None:
    assert with_channels(PIXELS, 4)[0, 0].tolist() == [0, 3001, 6002, 65535]
    assert with_channels(PIXELS, 1)[0, 0].tolist() == [(3001 * 23434 + 6002 * 2366) >> 15]
    grey = PIXELS[:, :, :1]
    assert with_channels(grey, 3)[1, 1].tolist() == [9 * 3001] * 3
    np.testing.assert_array_equal(with_channels(with_channels(PIXELS, 4), 3), PIXELS)


def test_operations_read_and_write_them() -> None:
    with Graph().as_default() as graph:
        deep = image.decode_png(image.encode_png(PIXELS), dtype=uint16)
        shallow = image.decode_png(image.encode_png((PIXELS >> 8).astype(np.uint8)), dtype=uint16)
        eight = image.decode_png(image.encode_png(PIXELS[:, :, :1]))
    with Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run(deep), PIXELS)
        np.testing.assert_array_equal(session.run(shallow), (PIXELS >> 8) * 257)
        np.testing.assert_array_equal(session.run(eight), PIXELS[:, :, :1] >> 8)
