"""Convolutions as programs write them: names, defaults, static shapes, values and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import nn, shape, stack
from actorsession.errors import InvalidArgumentError
from tests.ops.cases import computed, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.ops.table.sliding import back_to_images, correlated
from tests.rows import for_each

RNG = np.random.default_rng(0)


def some(*dims: int) -> Any:
    return RNG.standard_normal(dims).astype(np.float32)


def close(function: Any, wanted: Any, *arrays: Any) -> None:
    found = computed(function, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


# -- conv2d ----------------------------------------------------------------------------------------


@for_each("strides", [2, [2], [2, 2], [1, 2, 2, 1]])
def test_strides_are_one_number_or_one_for_each_axis(strides: Any) -> None:
    x, f = some(1, 5, 4, 2), some(3, 2, 2, 3)
    close(lambda x, f: nn.conv2d(x, f, strides, "SAME"), correlated(x, f, [2, 2], "SAME"), x, f)


def test_strides_are_one_if_left_out() -> None:
    x, f = some(1, 5, 4, 2), some(3, 2, 2, 3)
    close(lambda x, f: nn.conv2d(x, f, padding="VALID"), correlated(x, f, [1, 1], "VALID"), x, f)


def test_a_large_image_is_cut_into_rows() -> None:
    x, f = some(2, 70, 65, 16), some(3, 3, 16, 2)
    close(lambda x, f: nn.conv2d(x, f, 1, "SAME"), correlated(x, f, [1, 1], "SAME"), x, f)
    g = some(2, 70, 65, 2)
    wanted = back_to_images(x.shape, f, g, [1, 1], "SAME")
    close(lambda f, g: nn.conv2d_backprop_input(x.shape, f, g, 1, "SAME"), wanted, f, g)


def test_further_batch_axes_are_kept() -> None:
    x, f = some(2, 3, 5, 4, 2), some(3, 2, 2, 3)
    flat = correlated(x.reshape(6, 5, 4, 2), f, [1, 1], "SAME")
    close(lambda x, f: nn.conv2d(x, f, 1, "SAME"), flat.reshape(2, 3, 5, 4, 3), x, f)
    made = static_shape(lambda x, f: nn.conv2d(x, f, 2, "SAME"), [None, 3, 5, None, 2], [3, 2, 2, 3])
    assert made == [None, 3, 3, None, 3]


def test_nodes_have_the_names_of_tensorflow() -> None:
    x, f = source("float32", [1, 8, 8, 3]), source("float32", [3, 3, 3, 3])
    assert nn.conv2d(x, f, 1, "SAME").op.name == "Conv2D"
    assert nn.conv2d_transpose(x, f, [1, 8, 8, 3], 1).op.name == "conv2d_transpose"
    assert nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME").op.name == "depthwise"
    mixed = nn.separable_conv2d(x, f, source("float32", [1, 1, 9, 2]), [1, 1, 1, 1], "SAME")
    assert mixed.op.name == "separable_conv2d"
    assert mixed.op.inputs[0].op.name == "separable_conv2d/depthwise"
    sequences, kernel = source("float32", [1, 8, 3]), source("float32", [3, 3, 3])
    assert nn.conv1d(sequences, kernel, 1, "SAME").op.name == "conv1d/Squeeze"
    assert nn.convolution(x, f, "SAME").op.name == "convolution"


@for_each(
    "arguments, match",
    [
        ({"padding": "same"}, "padding of Conv2D is one of"),
        ({"padding": [[1, 1], [1, 1]]}, "a list of paddings is 4 pairs"),
        ({"padding": [[1, 0], [0, 0], [0, 0], [0, 0]]}, "does not pad batches"),
        ({"padding": [[0, 0], [-1, 0], [0, 0], [0, 0]]}, "at least 0"),
        ({"padding": "SAME", "strides": [2, 1, 1, 1]}, "1 for batch and channels"),
        ({"padding": "SAME", "strides": [1, 0, 1, 1]}, "at least 1"),
        ({"padding": "SAME", "strides": [1, 1, 1]}, "strides has length 1, 2 or 4"),
        ({"padding": "SAME", "dilations": [2, 1, 1, 1]}, "1 for batch and channels"),
        ({"padding": "SAME", "data_format": "NWC"}, "data_format is NHWC or NCHW"),
    ],
)
def test_arguments_that_fit_no_convolution_are_refused(arguments: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        nn.conv2d(source("float32", [1, 5, 5, 3]), source("float32", [3, 3, 3, 4]), **arguments)


def test_a_padding_and_one_type_are_needed() -> None:
    x, f = source("float32", [1, 5, 5, 3]), source("float32", [3, 3, 3, 4])
    with pytest.raises(TypeError, match="padding of Conv2D is a string"):
        nn.conv2d(x, f, 1)
    with pytest.raises(TypeError, match="float64"):
        nn.conv2d(x, source("float64", [3, 3, 3, 4]), 1, "SAME")
    with pytest.raises(TypeError, match="takes floating types, int32 as input; got int64"):
        nn.conv2d(source("int64", [1, 5, 5, 3]), source("int64", [3, 3, 3, 4]), 1, "SAME")


# -- other numbers of axes -------------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_sequences_are_images_of_one_row(stride: int, dilation: int) -> None:
    x, f = some(2, 7, 3), some(3, 3, 4)
    wanted = correlated(x, f, [stride], "SAME", [dilation])
    close(lambda x, f: nn.conv1d(x, f, stride, "SAME", dilations=dilation), wanted, x, f)
    turned = np.moveaxis(x, 1, 2)

    def front(x: Any, f: Any) -> Any:
        return nn.conv1d(x, f, stride, "SAME", data_format="NCW", dilations=dilation)

    close(front, np.moveaxis(wanted, 1, 2), turned, f)
    check_gradient(front, turned[:1], f)


def test_volumes_may_have_channels_first() -> None:
    x, f = some(1, 3, 4, 3, 2), some(2, 2, 2, 2, 3)
    wanted = np.moveaxis(correlated(x, f, [1, 1, 1], "VALID"), -1, 1)

    def front(x: Any, f: Any) -> Any:
        return nn.conv3d(x, f, [1, 1, 1, 1, 1], "VALID", data_format="NCDHW")

    close(front, wanted, np.moveaxis(x, -1, 1), f)


def test_strides_of_volumes_are_a_list() -> None:
    with pytest.raises(TypeError, match="a list of 5 numbers, got 1"):
        nn.conv3d(some(1, 3, 3, 3, 1), some(2, 2, 2, 1, 1), 1, "SAME")


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolution_takes_the_number_of_axes_from_the_filter(axes: int) -> None:
    x, f = some(1, *[6, 5, 4][:axes], 2), some(*[2] * axes, 2, 3)
    wanted = correlated(x, f, [1] * axes, "VALID", [2] * axes)
    close(lambda x, f: nn.convolution(x, f, "VALID", dilations=[2] * axes), wanted, x, f)


def test_atrous_conv2d_spreads_the_filter() -> None:
    x, f = some(1, 7, 6, 2), some(3, 2, 2, 3)
    wanted = correlated(x, f, [1, 1], "SAME", [2, 2])
    close(lambda x, f: nn.atrous_conv2d(x, f, 2, "SAME"), wanted, x, f)


def test_convolution_refuses_strides_and_gaps_at_once() -> None:
    x, f = source("float32", [1, 9, 9, 3]), source("float32", [3, 3, 3, 4])
    with pytest.raises(ValueError, match="strides > 1 not supported in conjunction"):
        nn.convolution(x, f, "VALID", strides=[2, 2], dilations=[2, 2])
    with pytest.raises(ValueError, match="1, 2 or 3 spatial axes, got 0"):
        nn.convolution(source("float32", [9, 3]), source("float32", [3, 4]), "VALID")


# -- transposed ------------------------------------------------------------------------------------


def test_a_transposed_convolution_is_the_gradient_of_one() -> None:
    x, f = some(2, 3, 4, 3), some(3, 3, 2, 3)
    wanted = back_to_images([2, 6, 7, 2], f, x, [2, 2], "SAME")
    close(lambda x, f: nn.conv2d_transpose(x, f, [2, 6, 7, 2], 2), wanted, x, f)
    close(lambda x, f: nn.conv_transpose(x, f, [2, 6, 7, 2], 2), wanted, x, f)
    check_gradient(lambda x, f: nn.conv2d_transpose(x, f, [1, 4, 4, 2], 2), some(1, 2, 2, 2), some(3, 3, 2, 2))


def test_transposed_convolutions_of_sequences_and_volumes() -> None:
    x, f = some(2, 3, 3), some(3, 2, 3)
    wanted = back_to_images([2, 6, 2], f, x, [2], "SAME")
    close(lambda x, f: nn.conv1d_transpose(x, f, [2, 6, 2], 2), wanted, x, f)
    close(lambda x, f: nn.conv_transpose(x, f, [2, 6, 2], 2), wanted, x, f)
    x, f = some(1, 2, 1, 2, 3), some(3, 2, 2, 2, 3)
    wanted = back_to_images([1, 4, 2, 4, 2], f, x, [2, 2, 2], "SAME")
    close(lambda x, f: nn.conv3d_transpose(x, f, [1, 4, 2, 4, 2], 2), wanted, x, f)


def test_an_atrous_transpose_spreads_the_filter() -> None:
    x, f = some(1, 5, 6, 3), some(3, 2, 2, 3)
    wanted = back_to_images([1, 5, 6, 2], f, x, [1, 1], "SAME", [2, 2])
    close(lambda x, f: nn.atrous_conv2d_transpose(x, f, [1, 5, 6, 2], 2, "SAME"), wanted, x, f)


def test_an_output_shape_with_an_unknown_batch_leaves_the_rest_known() -> None:
    x, f = source("float32", [None, 3, 4, 3]), source("float32", [3, 3, 2, 3])
    y = nn.conv2d_transpose(x, f, stack([shape(x)[0], 6, 8, 2]), 2)
    assert y.shape.as_list() == [None, 6, 8, 2]
    assert evaluate([y], {x: some(5, 3, 4, 3), f: some(3, 3, 2, 3)})[0].shape == (5, 6, 8, 2)


def test_an_output_shape_that_no_convolution_has_is_refused() -> None:
    x, f = source("float32", [1, 3, 4, 3]), source("float32", [3, 3, 2, 3])
    with pytest.raises(ValueError, match="gradient of the output has shape"):
        nn.conv2d_transpose(x, f, [1, 9, 8, 2], 2)
    sizes = source("int32", [4])
    y = nn.conv2d_transpose(x, f, sizes, 2)
    assert y.shape.as_list() == [1, None, None, None]
    with pytest.raises(InvalidArgumentError, match="gradient of the output has shape"):
        evaluate([y], {x: some(1, 3, 4, 3), f: some(3, 3, 2, 3), sizes: [1, 9, 8, 2]})


# -- channels by themselves ------------------------------------------------------------------------


def test_a_separable_convolution_mixes_channels_afterwards() -> None:
    x, f, mixer = some(1, 4, 5, 2), some(2, 3, 2, 3), some(1, 1, 6, 4)

    def both(x: Any, f: Any, mixer: Any) -> Any:
        return nn.separable_conv2d(x, f, mixer, [1, 2, 2, 1], "SAME")

    parts = [correlated(x[..., [i]], f[:, :, [i]], [2, 2], "SAME") for i in range(2)]
    close(both, np.concatenate(parts, -1) @ mixer[0, 0], x, f, mixer)
    assert static_shape(both, [None, None, 5, 2], [2, 3, 2, 3], [1, 1, 6, 4]) == [None, None, 3, 4]


def test_the_filter_of_a_mixture_has_one_pixel() -> None:
    with pytest.raises(ValueError, match="a pointwise filter has shape"):
        nn.separable_conv2d(some(1, 4, 5, 2), some(2, 3, 2, 3), some(1, 2, 6, 4), [1, 1, 1, 1], "SAME")


def test_channels_by_themselves_may_have_gaps_and_come_first() -> None:
    x, f = some(1, 6, 5, 2), some(2, 3, 2, 2)
    parts = [correlated(x[..., [i]], f[:, :, [i]], [1, 1], "VALID", [2, 1]) for i in range(2)]
    wanted = np.concatenate(parts, -1)
    close(lambda x, f: nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "VALID", [2, 1]), wanted, x, f)

    def front(x: Any, f: Any) -> Any:
        return nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "VALID", [2, 1], data_format="NCHW")

    close(front, np.moveaxis(wanted, -1, 1), np.moveaxis(x, -1, 1), f)
    check_gradient(front, np.moveaxis(x[:, :4, :4], -1, 1), f)


@for_each("padding", ["SAME", "VALID"])
@for_each("times", [1, 2])
@for_each("strides, apart", [((1, 1), (1, 1)), ((2, 2), (1, 1)), ((3, 1), (1, 2)), ((2, 3), (3, 2))])
def test_strides_gaps_and_filters_of_channels_by_themselves_may_be_anything(
    padding: Any, times: int, strides: Any, apart: Any
) -> None:
    """Also where no window reaches some pixels, and with strides that do not divide the gaps."""
    x, f = some(2, 11, 10, 3), some(3, 2, 3, times)
    parts = [correlated(x[..., [i]], f[:, :, [i]], strides, padding, apart) for i in range(3)]
    wanted = np.concatenate(parts, -1)

    def convolved(x: Any, f: Any) -> Any:
        return nn.depthwise_conv2d(x, f, [1, *strides, 1], padding, apart)

    close(convolved, wanted, x, f)
    check_gradient(convolved, x[:1], f)
