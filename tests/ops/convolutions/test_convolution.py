"""Convolutions as programs write them: names, defaults, static shapes, values and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import nn, shape, stack
from actorsession.errors import InvalidArgumentError
from actorsession.ops.convolutions import kernels
from actorsession.ops.convolutions.kernels import Sliding, convolved, filter_gradient, input_gradient
from actorsession.ops.shares import in_shares
from tests.ops.cases import computed, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.ops.table.sliding import back_to_images, correlated
from tests.rows import for_each, refusing

RNG = np.random.default_rng(0)


def some(*dims: int) -> Any:
    return RNG.standard_normal(dims).astype(np.float32)


def close(function: Any, wanted: Any, *arrays: Any) -> None:
    found = computed(function, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


# -- forms -----------------------------------------------------------------------------------------


@for_each(
    "build, axes, stride, padding, apart",
    [
        *[(lambda x, f, s=s: nn.conv2d(x, f, s, "SAME"), 2, 2, "SAME", 1) for s in (2, [2], [2, 2], [1, 2, 2, 1])],
        (lambda x, f: nn.conv2d(x, f, padding="VALID"), 2, 1, "VALID", 1),
        (lambda x, f: nn.conv1d(x, f, 1, "SAME"), 1, 1, "SAME", 1),
        (lambda x, f: nn.conv1d(x, f, 2, "SAME"), 1, 2, "SAME", 1),
        (lambda x, f: nn.conv1d(x, f, 1, "SAME", dilations=2), 1, 1, "SAME", 2),
        *[(lambda x, f, n=n: nn.convolution(x, f, "VALID", dilations=[2] * n), n, 1, "VALID", 2) for n in (1, 2, 3)],
        (lambda x, f: nn.atrous_conv2d(x, f, 2, "SAME"), 2, 1, "SAME", 2),
    ],
)
def test_every_convolution_is_a_sum_over_windows(build: Any, axes: int, stride: int, padding: str, apart: int) -> None:
    x, f = some(2, *[7, 6, 5][:axes], 2), some(*[3, 2, 2][:axes], 2, 3)
    close(build, correlated(x, f, [stride] * axes, padding, [apart] * axes), x, f)


@for_each(
    "build, axes",
    [
        (lambda x, f: nn.conv1d(x, f, 1, "SAME", data_format="NCW"), 1),
        (lambda x, f: nn.conv3d(x, f, [1] * 5, "SAME", data_format="NCDHW"), 3),
    ],
)
def test_sequences_and_volumes_may_have_channels_first(build: Any, axes: int) -> None:
    x, f = some(1, *[4, 3, 3][:axes], 2), some(*[2] * axes, 2, 3)
    close(build, np.moveaxis(correlated(x, f, [1] * axes, "SAME"), -1, 1), np.moveaxis(x, -1, 1), f)
    if axes == 1:
        check_gradient(build, np.moveaxis(x, -1, 1), f)


@for_each(
    "build, axes, stride, apart",
    [
        (lambda x, f, to: nn.conv1d_transpose(x, f, to, 2), 1, 2, 1),
        (lambda x, f, to: nn.conv2d_transpose(x, f, to, 2), 2, 2, 1),
        (lambda x, f, to: nn.conv3d_transpose(x, f, to, 2), 3, 2, 1),
        *[(lambda x, f, to: nn.conv_transpose(x, f, to, 2), axes, 2, 1) for axes in (1, 2, 3)],
        (lambda x, f, to: nn.atrous_conv2d_transpose(x, f, to, 2, "SAME"), 2, 1, 2),
    ],
)
def test_a_transposed_convolution_is_the_gradient_of_one(build: Any, axes: int, stride: int, apart: int) -> None:
    x, f = some(2, *[3, 4, 2][:axes], 3), some(*[3, 2, 2][:axes], 2, 3)
    to = [2, *[stride * n for n in x.shape[1:-1]], 2]
    close(lambda x, f: build(x, f, to), back_to_images(to, f, x, [stride] * axes, "SAME", [apart] * axes), x, f)


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
    assert (mixed.op.name, mixed.op.inputs[0].op.name) == ("separable_conv2d", "separable_conv2d/depthwise")
    sequences, kernel = source("float32", [1, 8, 3]), source("float32", [3, 3, 3])
    assert nn.conv1d(sequences, kernel, 1, "SAME").op.name == "conv1d/Squeeze"
    assert nn.convolution(x, f, "SAME").op.name == "convolution"


def test_an_output_shape_with_an_unknown_batch_leaves_the_rest_known() -> None:
    x, f = source("float32", [None, 3, 4, 3]), source("float32", [3, 3, 2, 3])
    y = nn.conv2d_transpose(x, f, stack([shape(x)[0], 6, 8, 2]), 2)
    assert y.shape.as_list() == [None, 6, 8, 2]
    assert evaluate([y], {x: some(5, 3, 4, 3), f: some(3, 3, 2, 3)})[0].shape == (5, 6, 8, 2)


def test_an_output_shape_that_turns_out_to_be_of_no_convolution_is_refused() -> None:
    x, f = source("float32", [1, 3, 4, 3]), source("float32", [3, 3, 2, 3])
    sizes = source("int32", [4])
    y = nn.conv2d_transpose(x, f, sizes, 2)
    assert y.shape.as_list() == [1, None, None, None]
    with pytest.raises(InvalidArgumentError, match="gradient of the output has shape"):
        evaluate([y], {x: some(1, 3, 4, 3), f: some(3, 3, 2, 3), sizes: [1, 9, 8, 2]})


# -- channels by themselves ------------------------------------------------------------------------


def test_a_separable_convolution_leaves_what_is_not_known_of_its_shape() -> None:
    def both(x: Any, f: Any, mixer: Any) -> Any:
        return nn.separable_conv2d(x, f, mixer, [1, 2, 2, 1], "SAME")

    assert static_shape(both, [None, None, 5, 2], [2, 3, 2, 3], [1, 1, 6, 4]) == [None, None, 3, 4]


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
def test_strides_gaps_and_filters_by_channel_may_vary(padding: Any, times: int, strides: Any, apart: Any) -> None:
    """Also where no window reaches some pixels, and with strides that do not divide the gaps."""
    x, f = some(2, 11, 10, 3), some(3, 2, 3, times)
    parts = [correlated(x[..., [i]], f[:, :, [i]], strides, padding, apart) for i in range(3)]
    wanted = np.concatenate(parts, -1)

    def convolved(x: Any, f: Any) -> Any:
        return nn.depthwise_conv2d(x, f, [1, *strides, 1], padding, apart)

    close(convolved, wanted, x, f)
    check_gradient(convolved, x[:1], f)


# -- what is refused -------------------------------------------------------------------------------


def _conv2d(dtypes: tuple[str, str] = ("float32", "float32"), **arguments: Any) -> Any:
    x, f = source(dtypes[0], [1, 5, 5, 3]), source(dtypes[1], [3, 3, 3, 4])
    return lambda: nn.conv2d(x, f, **{"padding": "SAME", **arguments})


def _convolution(x: Any, f: Any, **arguments: Any) -> Any:
    return lambda: nn.convolution(source("float32", x), source("float32", f), "VALID", **arguments)


NUMBERS = "takes floating types, int32 as input; got int64"
test_arguments_that_fit_no_convolution_are_refused = refusing(
    (_conv2d(padding="same"), ValueError, "padding of Conv2D is one of"),
    (_conv2d(padding=[[1, 1], [1, 1]]), ValueError, "a list of paddings is 4 pairs"),
    (_conv2d(padding=[[1, 0], [0, 0], [0, 0], [0, 0]]), ValueError, "does not pad batches"),
    (_conv2d(padding=[[0, 0], [-1, 0], [0, 0], [0, 0]]), ValueError, "at least 0"),
    (_conv2d(strides=[2, 1, 1, 1]), ValueError, "1 for batch and channels"),
    (_conv2d(strides=[1, 0, 1, 1]), ValueError, "at least 1"),
    (_conv2d(strides=[1, 1, 1]), ValueError, "strides has length 1, 2 or 4"),
    (_conv2d(dilations=[2, 1, 1, 1]), ValueError, "1 for batch and channels"),
    (_conv2d(data_format="NWC"), ValueError, "data_format is NHWC or NCHW"),
    (_conv2d(padding=None), TypeError, "padding of Conv2D is a string"),
    (_conv2d(("float32", "float64")), TypeError, "float64"),
    (_conv2d(("int64", "int64")), TypeError, NUMBERS),
    (lambda: nn.conv3d(some(1, 3, 3, 3, 1), some(2, 2, 2, 1, 1), 1, "SAME"), TypeError, "a list of 5 numbers, got 1"),
    (
        _convolution([1, 9, 9, 3], [3, 3, 3, 4], strides=[2, 2], dilations=[2, 2]),
        ValueError,
        "strides > 1 not supported in conjunction",
    ),
    (_convolution([9, 3], [3, 4]), ValueError, "1, 2 or 3 spatial axes, got 0"),
    (
        lambda: nn.conv2d_transpose(source("float32", [1, 3, 4, 3]), some(3, 3, 2, 3), [1, 9, 8, 2], 2),
        ValueError,
        "gradient of the output has shape",
    ),
    (
        lambda: nn.separable_conv2d(some(1, 4, 5, 2), some(2, 3, 2, 3), some(1, 2, 6, 4), [1, 1, 1, 1], "SAME"),
        ValueError,
        "a pointwise filter has shape",
    ),
)


# -- large convolutions share their blocks out among threads ---------------------------------------


def results(batch: int, size: int, channels: int, deep: int, stride: int) -> list[Any]:
    random = np.random.default_rng(3)
    count = -(-size // stride)
    reach = (count - 1) * stride + 3 - size
    pads = ((reach // 2, reach - reach // 2),) * 2
    s = Sliding((count, count), (3, 3), (stride, stride), (1, 1), pads)
    x = random.normal(size=(batch, size, size, channels))
    f = random.normal(size=(3, 3, channels, deep))
    g = random.normal(size=(batch, count, count, deep))
    return [convolved(x, f, s), filter_gradient(x, g, s), input_gradient(f, g, s, (size, size))]


@for_each(
    "batch, size, channels, deep, stride",
    [
        (5, 12, 1, 4, 1),  # few channels: laid out position by position
        (5, 12, 24, 8, 1),  # rows of the image
        (4, 13, 24, 8, 2),  # strides: one product and many additions
        (3, 90, 40, 4, 1),  # images larger than a block, whose rows overlap
        (1, 9, 3, 2, 1),  # nothing to share
    ],
)
def test_the_results_do_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, batch: int, size: int, channels: int, deep: int, stride: int
) -> None:
    asked: list[int] = []

    def count(work: Any, items: Any, multiplications: int) -> Any:
        asked.append(multiplications)
        return in_shares(work, items, 3)

    alone = results(batch, size, channels, deep, stride)
    monkeypatch.setattr(kernels, "share_products", count)
    shared = results(batch, size, channels, deep, stride)
    assert len(asked) == 3
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
