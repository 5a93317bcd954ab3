"""Images: functions composed of ops, and what they refuse; the values of op types are in the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, image
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

IMAGE = np.arange(15, dtype=np.float32).reshape(3, 5, 1)
COLOURS = np.array([[[0.2, 0.5, 0.9], [0.1, 0.7, 0.3]]], np.float32)


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


# -- parts and margins -----------------------------------------------------------------------------


@both
@for_each("batch", [False, True], ids=["one", "batch"])
def test_a_crop_is_a_box_of_the_image(known: bool, batch: bool) -> None:
    given = np.stack([IMAGE, 2 * IMAGE]) if batch else IMAGE
    found = _run(lambda x: image.crop_to_bounding_box(x, 1, 2, 2, 3), given, known=known)
    np.testing.assert_array_equal(found, given[..., 1:3, 2:5, :])


@both
@for_each("batch", [False, True], ids=["one", "batch"])
def test_margins_are_zero(known: bool, batch: bool) -> None:
    given = np.stack([IMAGE, 2 * IMAGE]) if batch else IMAGE
    found = _run(lambda x: image.pad_to_bounding_box(x, 1, 0, 5, 7), given, known=known)
    margins = [(0, 0)] * batch + [(1, 1), (0, 2), (0, 0)]
    np.testing.assert_array_equal(found, np.pad(given, margins))


@both
def test_crop_or_pad_does_one_for_each_axis(known: bool) -> None:
    found = _run(lambda x: image.resize_image_with_crop_or_pad(x, 4, 4), IMAGE, known=known)
    wanted = [[0, 1, 2, 3], [5, 6, 7, 8], [10, 11, 12, 13], [0, 0, 0, 0]]
    assert found[:, :, 0].tolist() == wanted
    found = _run(lambda x: image.resize_with_crop_or_pad(x, 1, 8), IMAGE, known=known)
    assert found[:, :, 0].tolist() == [[0, 5, 6, 7, 8, 9, 0, 0]]


@both
def test_of_an_odd_number_the_larger_half_is_cut_off_behind_and_put_on_behind(known: bool) -> None:
    given = np.arange(16.0).reshape(4, 4, 1)
    found = _run(lambda x: image.resize_image_with_crop_or_pad(x, 1, 1), given, known=known)
    assert found[:, :, 0].tolist() == [[5]]
    found = _run(lambda x: image.resize_image_with_crop_or_pad(x, 1, 7), given, known=known)
    assert found[:, :, 0].tolist() == [[0, 4, 5, 6, 7, 0, 0]]


def test_sizes_may_be_tensors() -> None:
    found = _run(lambda x, h: image.resize_image_with_crop_or_pad(x, h, 2), IMAGE, np.int32(1))
    assert found[:, :, 0].tolist() == [[6, 7]]


@both
def test_the_middle_of_an_image_is_cut_out(known: bool) -> None:
    given = np.arange(25.0).reshape(5, 5, 1)
    found = _run(lambda x: image.central_crop(x, 0.5), given, known=known)
    np.testing.assert_array_equal(found, given[1:4, 1:4])
    assert _run(lambda x: image.central_crop(x, 1.0) + 0, given).shape == (5, 5, 1)


@for_each(
    "build, match",
    [
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
    ],
)
def test_what_cannot_be_is_refused_by_the_line_that_builds(build: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        build(source("float32", [3, 5, 1]))


def test_a_crop_that_turns_out_not_to_fit_is_an_error_of_the_step() -> None:
    with pytest.raises(InvalidArgumentError):
        _run(lambda x: image.crop_to_bounding_box(x, 1, 1, 4, 4), IMAGE, known=False)
    with pytest.raises(InvalidArgumentError):
        _run(lambda x: acts.image.random_crop(x, [9, 1, 1]), IMAGE, known=False)


# -- turned round ----------------------------------------------------------------------------------


@both
@for_each(
    "build, wanted",
    [
        (image.flip_left_right, lambda x: x[:, ::-1]),
        (image.flip_up_down, lambda x: x[::-1]),
        (image.transpose_image, lambda x: x.transpose(1, 0, 2)),
        *[(lambda x, k=k: image.rot90(x, k), lambda x, k=k: np.rot90(x, k)) for k in range(-1, 6)],
    ],
)
def test_images_are_turned_one_by_one_or_in_batches(build: Any, wanted: Any, known: bool) -> None:
    np.testing.assert_array_equal(_run(build, IMAGE, known=known), wanted(IMAGE))
    many = np.stack([IMAGE, -IMAGE])
    np.testing.assert_array_equal(_run(build, many, known=known), np.stack([*map(wanted, many)]))


def test_an_unknown_number_of_turns_is_refused() -> None:
    given, turns = source("float32", [2, 2, 1]), source("int32", [])
    with pytest.raises(TypeError, match="k is a number"):
        image.rot90(given, turns)


# -- another size ----------------------------------------------------------------------------------


def test_an_image_of_that_size_is_returned_as_it_is() -> None:
    x = source("uint8", [3, 5, 1])
    assert image.resize_images(x, [3, 5]) is x


@both
def test_one_image_is_resized_as_a_batch_of_one(known: bool) -> None:
    one = _run(lambda x: image.resize(x, [2, 2]), IMAGE, known=known)
    many = _run(lambda x: image.resize_bilinear(x, [2, 2]), IMAGE[None], known=known)
    np.testing.assert_array_equal(one, many[0])


@for_each(
    "method, op",
    [
        (image.ResizeMethod.BILINEAR, "ResizeBilinear"),
        (image.ResizeMethod.BICUBIC, "ResizeBicubic"),
        (image.ResizeMethod.NEAREST_NEIGHBOR, "ResizeNearestNeighbor"),
        (image.ResizeMethod.AREA, "ResizeArea"),
    ],
)
def test_the_method_chooses_the_op(method: int, op: str) -> None:
    assert image.resize_images(source("float32", [1, 3, 5, 1]), [2, 2], method).op.type == op


@both
def test_proportions_can_be_kept(known: bool) -> None:
    found = _run(
        lambda x: image.resize_images(x, [6, 6], preserve_aspect_ratio=True),
        np.ones([1, 3, 4, 1], np.float32),
        known=known,
    )
    assert found.shape == (1, 4, 6, 1)
    padded = _run(lambda x: image.resize_image_with_pad(x, 4, 8), np.ones([2, 2, 1], np.float32))
    assert padded[:, :, 0].tolist() == [[0, 0, 1, 1, 1, 1, 0, 0]] * 4


# -- colours: numbers that TensorFlow 2.21 gives ---------------------------------------------------


@for_each(
    "build, wanted",
    [
        (lambda x: image.adjust_brightness(x, 0.2), [[0.4, 0.7, 1.1], [0.3, 0.9, 0.5]]),
        (lambda x: image.adjust_contrast(x, 1.7), [[0.235, 0.43, 1.11], [0.065, 0.77, 0.09]]),
        (lambda x: image.adjust_gamma(x, 2.0, 0.5), [[0.02, 0.125, 0.405], [0.005, 0.245, 0.045]]),
        (lambda x: image.adjust_hue(x, 0.2), [[0.74, 0.2, 0.9], [0.1, 0.38, 0.7]]),
        (lambda x: image.adjust_saturation(x, 1.7), [[0, 0.3857143, 0.9], [0, 0.7, 0.2333334]]),
        (image.rgb_to_grayscale, [[0.45588], [0.47499]]),
        (image.per_image_standardization, [[-0.6123723, 0.1224746, 1.1022705], [-0.8573214, 0.6123725, -0.3674234]]),
    ],
)
@both
def test_colours_change_as_in_tensorflow(build: Any, wanted: Any, known: bool) -> None:
    found = _run(build, COLOURS, known=known)
    np.testing.assert_allclose(found, np.array([wanted], np.float32), 1e-5, 1e-6)


@for_each("by, wanted", [(0.25, [[2, -1, 2], [0, 0, -2]]), (-0.5, [[2, 0.5, -1], [-2, 0, -1]])])
def test_the_hue_of_negative_colours_changes_between_the_least_and_the_greatest(by: float, wanted: Any) -> None:
    colours = np.array([[[-1, 0.5, 2], [0, -2, -1]]], np.float32)
    found = _run(lambda x: image.adjust_hue(x, by), colours)
    np.testing.assert_allclose(found, np.array([wanted], np.float32), 1e-5, 2e-6)


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
    assert found.dtype == dtype
    assert found.tolist() == np.array(wanted, dtype).tolist()


@both
def test_grey_images_get_three_channels(known: bool) -> None:
    found = _run(image.grayscale_to_rgb, IMAGE, known=known)
    np.testing.assert_array_equal(found, np.repeat(IMAGE, 3, 2))


@both
def test_the_variation_of_images_is_that_of_tensorflow(known: bool) -> None:
    x = np.array([0, 1, 2.5, 4, 6, 8, 10.5, 12.5, 15, 17.5, 20, 22.5], np.float32).reshape(1, 3, 4, 1)
    wanted = np.abs(np.diff(x, axis=1)).sum() + np.abs(np.diff(x, axis=2)).sum()
    assert _run(image.total_variation, x, known=known).tolist() == [wanted]
    assert _run(image.total_variation, x[0], known=known) == wanted
    with pytest.raises(ValueError, match="3 or 4-dimensional"):
        image.total_variation([1.0])


def test_the_noise_between_images_is_counted_in_decibel() -> None:
    a = np.zeros([2, 3, 4, 1], np.float32)
    found = _run(lambda x, y: image.psnr(x, y, 255), a, a + 1)
    np.testing.assert_allclose(found, [48.1308] * 2, 1e-5)
    found = _run(lambda x, y: image.psnr(x, y, 255), a.astype(np.uint8), (a + 1).astype(np.uint8))
    np.testing.assert_allclose(found, [48.1308] * 2, 1e-5)


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
        with pytest.raises(InvalidArgumentError, match="No bounding boxes provided"):
            session.run(bad)
        beyond = image.sample_distorted_bounding_box([9, 9, 3], 9 * OBJECT)[0]
        with pytest.raises(InvalidArgumentError, match="between 0 and 1"):
            session.run(beyond)


@for_each(
    "more, match",
    [
        ({"area_range": [0.5, 1.5]}, "area_range"),
        ({"area_range": [0.5]}, "area_range"),
        ({"aspect_ratio_range": [0.0, 1.5]}, "aspect_ratio_range"),
        ({"max_attempts": -1}, "max_attempts"),
        ({"min_object_covered": [0.1]}, "shapes"),
    ],
)
def test_ranges_that_cannot_be_are_refused(more: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        image.sample_distorted_bounding_box([9, 9, 3], OBJECT, **more)


# -- files and names -------------------------------------------------------------------------------


def test_without_pillow_a_file_is_refused_by_the_line_that_builds(uninstall: Callable[[str], None]) -> None:
    uninstall("PIL")
    with pytest.raises(ImportError, match=r"actorsession\[image\]"):
        image.decode_png(source("string", []))


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
    with pytest.raises(error, match=match):
        build(source("string", []))


def test_what_was_written_can_be_read() -> None:
    pytest.importorskip("PIL")
    pixels = (np.arange(24) * 10).astype(np.uint8).reshape(2, 4, 3)
    with acts.Session() as session:
        read = image.decode_png(image.encode_png(pixels), 3)
        assert read.shape.as_list() == [None, None, 3]
        np.testing.assert_array_equal(session.run(read), pixels)


@for_each("name", image.__all__)
def test_names_of_the_namespace_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(image, name))
