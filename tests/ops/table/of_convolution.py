"""Rows of convolutions, against sums over the elements of each window."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn
from tests.ops.table.row import Fault, Row
from tests.ops.table.sliding import back_to_filter, back_to_images, by_channel_last, correlated

RNG = np.random.default_rng(0)


def some(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def sizes(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def grouped(x: Any, f: Any) -> Any:
    """Each half of the channels with a half of the filters."""
    half, deep = f.shape[-2], f.shape[-1] // 2
    parts = [
        correlated(x[..., i * half : (i + 1) * half], f[..., i * deep : (i + 1) * deep], [1, 1], "SAME")
        for i in range(2)
    ]
    return np.concatenate(parts, -1)


def each_channel(x: Any, f: Any, strides: Any = (1, 1), padding: Any = "SAME") -> Any:
    parts = [correlated(x[..., [i]], f[:, :, [i]], strides, padding) for i in range(x.shape[-1])]
    return np.concatenate(parts, -1)


def each_channel_to_images(shape: Any, f: Any, g: Any) -> Any:
    times = f.shape[-1]
    parts = [
        back_to_images([*shape[:3], 1], f[:, :, [i]], g[..., i * times : (i + 1) * times], [2, 2], "SAME")
        for i in range(shape[3])
    ]
    return np.concatenate(parts, -1)


def each_channel_to_filter(x: Any, shape: Any, g: Any) -> Any:
    times = shape[-1]
    parts = [
        back_to_filter(x[..., [i]], [*shape[:2], 1, times], g[..., i * times : (i + 1) * times], [2, 2], "SAME")
        for i in range(shape[2])
    ]
    return np.concatenate(parts, 2)


CHANNELS = Fault(
    (some(1, 4, 4, 3), some(2, 2, 2, 4)),
    "channels of the images are a multiple of those of the filter, got 3 and 2",
    "channels of the images are a multiple",
)
SMALL = Fault(
    (some(1, 2, 2, 3), some(3, 3, 3, 4)),
    "a window of 3 does not fit on 2 elements",
    "a window of 3 does not fit on 2 elements",
)
RANK = Fault((some(4, 4, 3), some(2, 2, 3, 4)), "rank 4", "rank 4")

TWO_BACK = {"strides": (1, 2, 2, 1), "padding": "SAME"}

ROWS = [
    Row("Conv2D", lambda x, f: nn.conv2d(x, f, [1, 1, 1, 1], "SAME"), lambda x, f: correlated(x, f, [1, 1], "SAME")).on(
        [
            (some(2, 5, 4, 3), some(3, 2, 3, 4)),
            (some(2, 6, 5, 1), some(3, 3, 1, 2)),
            (some(1, 3, 3, 20), some(2, 2, 20, 3)),
            (some(2, 3, 3, 4), some(1, 1, 4, 2)),
            (some(2, 2, 2, 1), some(5, 5, 1, 1)),
            (some(0, 5, 4, 3), some(3, 2, 3, 4)),
            (some(2, 3, 3, 2, dtype=np.float64), some(2, 2, 2, 2, dtype=np.float64)),
            (np.arange(9, dtype=np.int32).reshape(1, 3, 3, 1), np.ones([2, 2, 1, 2], np.int32)),
        ],
        [
            (some(2, 4, 3, 2), some(3, 2, 2, 3)),
            (some(1, 4, 3, 1), some(3, 3, 1, 2)),
            (some(1, 2, 3, 17), some(2, 2, 17, 1)),
            (some(1, 2, 2, 3), some(1, 1, 3, 2)),
        ],
        [CHANNELS, RANK],
        rtol=1e-5,
    ),
    Row(
        "Conv2D-steps",
        lambda x, f: nn.conv2d(x, f, [2, 1], "VALID", dilations=[1, 2]),
        lambda x, f: correlated(x, f, [2, 1], "VALID", [1, 2]),
    ).on(
        [(some(2, 5, 6, 3), some(3, 2, 3, 4)), (some(2, 6, 5, 1), some(2, 3, 1, 2))],
        [(some(1, 5, 4, 2), some(3, 2, 2, 2)), (some(1, 5, 5, 1), some(3, 2, 1, 2))],
        [SMALL],
        rtol=1e-5,
    ),
    Row(
        "Conv2D-whole rows",
        lambda x, f: nn.conv2d(x, f, [2, 1], "VALID"),
        lambda x, f: correlated(x, f, [2, 1], "VALID"),
    ).on([(some(2, 6, 4, 2), some(3, 4, 2, 3))], [(some(1, 4, 3, 2), some(2, 3, 2, 2))], rtol=1e-5),
    Row(
        "Conv2D-padding before whole rows",
        lambda x, f: nn.conv2d(x, f, [1, 2], [[0, 0], [0, 0], [1, 0], [0, 0]]),
        lambda x, f: correlated(x, f, [1, 2], [(0, 0), (1, 0)]),
    ).on([(some(2, 4, 2, 2), some(3, 2, 2, 3))], [(some(1, 2, 2, 2), some(2, 2, 2, 1))], rtol=1e-5),
    Row(
        "Conv2D-paddings",
        lambda x, f: nn.conv2d(x, f, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
        lambda x, f: correlated(x, f, [1, 1], [(1, 2), (0, 1)]),
    ).on([(some(2, 3, 4, 2), some(3, 2, 2, 3))], [(some(1, 2, 3, 2), some(3, 2, 2, 2))], rtol=1e-5),
    Row(
        "Conv2D-NCHW",
        lambda x, f: nn.conv2d(x, f, 2, "SAME", data_format="NCHW"),
        by_channel_last(lambda x, f: correlated(x, f, [2, 2], "SAME")),
    ).on([(some(2, 3, 5, 4), some(3, 2, 3, 4))], [(some(1, 2, 4, 3), some(3, 2, 2, 2))], rtol=1e-5),
    Row("Conv2D-groups", lambda x, f: nn.conv2d(x, f, 1, "SAME"), grouped).on(
        [(some(2, 5, 4, 6), some(3, 2, 3, 4))],
        [(some(1, 3, 3, 4), some(2, 2, 2, 2))],
        [
            Fault(
                (some(1, 4, 4, 4), some(2, 2, 2, 5)),
                "5 channels of the output cannot be made in 2 equal groups",
                "5 channels of the output",
            )
        ],
        rtol=1e-5,
    ),
    Row("Conv2D-halves", lambda x, f: nn.conv2d(x, f, 1, "SAME"), lambda x, f: correlated(x, f, [1, 1], "SAME")).on(
        [(some(1, 4, 4, 2, dtype=np.float16), some(2, 2, 2, 2, dtype=np.float16))],
        [(some(1, 3, 3, 1), some(2, 2, 1, 1))],
        rtol=2e-3,
    ),
    Row("Conv2DBackpropInput", TWO_BACK, lambda s, f, g: back_to_images(s, f, g, [2, 2], "SAME")).on(
        [
            (sizes(2, 5, 6, 3), some(3, 2, 3, 4), some(2, 3, 3, 4)),
            (sizes(0, 5, 6, 3), some(3, 2, 3, 4), some(0, 3, 3, 4)),
            (sizes(2, 5, 2, 3), some(3, 2, 3, 4), some(2, 3, 1, 4)),
        ],
        [(sizes(1, 4, 5, 2), some(3, 2, 2, 2), some(1, 2, 3, 2))],
        [
            Fault(
                (sizes(1, 4, 4, 2), some(2, 2, 2, 3), some(1, 3, 2, 3)),
                r"has shape \[1, 2, 2, 3\], got \[1, 3, 2, 3\]",
                early="the gradient of the output has shape",
            )
        ],
        rtol=1e-5,
    ),
    Row(
        "Conv2DBackpropInput-spatial sizes",
        lambda f, g: nn.conv2d_backprop_input([4, 5], f, g, [1, 1, 1, 1], "SAME"),
        lambda f, g: back_to_images([2, 4, 5, 3], f, g, [1, 1], "SAME"),
    ).on([(some(3, 2, 3, 4), some(2, 4, 5, 4))], [(some(3, 2, 3, 2), some(1, 4, 5, 2))], rtol=1e-5),
    Row("Conv2DBackpropFilter", TWO_BACK, lambda x, s, g: back_to_filter(x, s, g, [2, 2], "SAME")).on(
        [
            (some(2, 5, 6, 3), sizes(3, 2, 3, 4), some(2, 3, 3, 4)),
            (some(0, 5, 6, 3), sizes(3, 2, 3, 4), some(0, 3, 3, 4)),
            (some(2, 5, 2, 3), sizes(3, 2, 3, 4), some(2, 3, 1, 4)),
            (some(2, 5, 6, 3, dtype=np.float64), sizes(3, 2, 3, 1), some(2, 3, 3, 1, dtype=np.float64)),
        ],
        [(some(1, 4, 5, 2), sizes(3, 2, 2, 2), some(1, 2, 3, 2))],
        [
            Fault(
                (some(1, 4, 4, 2), sizes(2, 2, 2), some(1, 2, 2, 3)),
                "filter_sizes are 4 sizes",
                early="input 1 gives 4 sizes",
            )
        ],
        rtol=1e-5,
    ),
    Row(
        "Conv3D",
        lambda x, f: nn.conv3d(x, f, [1, 1, 2, 1, 1], "SAME"),
        lambda x, f: correlated(x, f, [1, 2, 1], "SAME"),
    ).on(
        [(some(2, 3, 4, 3, 2), some(2, 3, 2, 2, 3)), (some(0, 3, 4, 3, 2), some(2, 3, 2, 2, 3))],
        [(some(1, 2, 3, 2, 2), some(2, 2, 2, 2, 2))],
        [Fault((some(4, 4, 3, 1), some(2, 2, 1, 3, 4)), "rank 5", "rank 5")],
        rtol=1e-5,
    ),
    Row(
        "Conv3DBackpropInputV2",
        {"strides": (1, 2, 2, 2, 1), "padding": "SAME"},
        lambda s, f, g: back_to_images(s, f, g, [2, 2, 2], "SAME"),
    ).on(
        [
            (sizes(2, 3, 4, 3, 2), some(2, 3, 2, 2, 3), some(2, 2, 2, 2, 3)),
            (sizes(2, 3, 4, 2, 2), some(2, 3, 2, 2, 3), some(2, 2, 2, 1, 3)),
        ],
        [(sizes(1, 3, 2, 2, 2), some(2, 2, 2, 2, 1), some(1, 2, 1, 1, 1))],
        rtol=1e-5,
    ),
    Row(
        "Conv3DBackpropFilterV2",
        lambda x, s, g: nn.conv3d_backprop_filter_v2(x, s, g, [1, 2, 2, 2, 1], "SAME"),
        lambda x, s, g: back_to_filter(x, s, g, [2, 2, 2], "SAME"),
    ).on(
        [(some(2, 3, 4, 3, 2), sizes(2, 3, 2, 2, 3), some(2, 2, 2, 2, 3))],
        [(some(1, 3, 2, 2, 2), sizes(2, 2, 2, 2, 1), some(1, 2, 1, 1, 1))],
        rtol=1e-5,
    ),
    Row("DepthwiseConv2dNative", lambda x, f: nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"), each_channel).on(
        [
            (some(2, 5, 4, 3), some(3, 2, 3, 2)),
            (some(2, 5, 4, 3), some(2, 2, 3, 1)),
            (some(0, 5, 4, 3), some(2, 2, 3, 1)),
        ],
        [(some(1, 3, 4, 2), some(2, 2, 2, 2)), (some(1, 3, 4, 2), some(2, 2, 2, 1))],
        [
            Fault(
                (some(1, 4, 4, 3), some(2, 2, 2, 1)),
                "images of 3 channels and a filter for 2",
                "images of 3 channels and a filter for 2",
            )
        ],
        rtol=1e-5,
    ),
    Row(
        "DepthwiseConv2dNativeBackpropInput",
        lambda s, f, g: nn.depthwise_conv2d_native_backprop_input(s, f, g, [1, 2, 2, 1], "SAME"),
        each_channel_to_images,
    ).on(
        [(sizes(2, 5, 4, 3), some(3, 2, 3, 2), some(2, 3, 2, 6))],
        [(sizes(1, 3, 4, 2), some(2, 2, 2, 2), some(1, 2, 2, 4))],
        [
            Fault(
                (sizes(2, 5, 4, 3), some(3, 2, 3, 2), some(2, 3, 3, 6)),
                r"has shape \[2, 3, 2, 6\], got \[2, 3, 3, 6\]",
                early="the gradient of the output has shape",
            )
        ],
        rtol=1e-5,
    ),
    Row(
        "DepthwiseConv2dNativeBackpropFilter",
        lambda x, s, g: nn.depthwise_conv2d_native_backprop_filter(x, s, g, [1, 2, 2, 1], "SAME"),
        each_channel_to_filter,
    ).on(
        [(some(2, 5, 4, 3), sizes(3, 2, 3, 2), some(2, 3, 2, 6))],
        [(some(1, 3, 4, 2), sizes(2, 2, 2, 2), some(1, 2, 2, 4))],
        rtol=1e-5,
    ),
]
