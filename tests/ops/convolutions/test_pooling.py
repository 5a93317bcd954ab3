"""Pools, dilations and erosions as programs write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import gradients, nn
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.pooling_kernels import largest, spread
from tests.ops.cases import computed
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.ops.table.sliding import pooled
from tests.ops.uses import gives
from tests.rows import for_each, refusing

RNG = np.random.default_rng(0)
X = (RNG.permutation(2 * 6 * 5 * 3).reshape(2, 6, 5, 3) / 8).astype(np.float32)


def close(function: Any, wanted: Any, *arrays: Any) -> None:
    found = computed(function, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


@for_each("ksize", [3, [3], [3, 3], [1, 3, 3, 1]])
def test_windows_are_one_number_or_one_for_each_axis(ksize: Any) -> None:
    wanted = pooled(X, [3, 3], [2, 2], "VALID", np.max)
    gives(lambda x: nn.max_pool(x, ksize, 2, "VALID"), wanted, X).check()
    gives(lambda x: nn.max_pool2d(x, ksize, 2, "VALID"), wanted, X).check()
    gives(lambda x: nn.max_pool_v2(x, ksize, 2, "VALID", "NHWC"), wanted, X).check()


def test_what_is_over_the_edge_does_not_count_in_a_mean() -> None:
    wanted = pooled(X, [3, 3], [2, 2], "SAME", np.mean)
    for function in (nn.avg_pool, nn.avg_pool2d, nn.avg_pool_v2):
        close(lambda x, function=function: function(x, 3, 2, "SAME"), wanted, X)
    close(lambda x: nn.pool(x, [2, 3], "AVG", "SAME"), pooled(X, [2, 3], [1, 1], "SAME", np.mean), X)
    line = X[:, :, 0]
    wanted = pooled(line, [2], [2], "VALID", np.max)
    close(lambda x: nn.pool(x, [2], "MAX", "VALID", strides=[2]), wanted, line)


def test_sequences_and_volumes() -> None:
    for kind, choose in (("max", np.max), ("avg", np.mean)):
        flat, deep = (getattr(nn, f"{kind}_pool{n}d") for n in (1, 3))
        line = X[:, :, 0]
        wanted = pooled(line, [2], [2], "SAME", choose)
        close(lambda x, f=flat: f(x, 2, 2, "SAME"), wanted, line)
        front = np.moveaxis(line, 1, 2)
        close(lambda x, f=flat: f(x, 2, 2, "SAME", "NCW"), np.moveaxis(wanted, 1, 2), front)
        volume = X[..., None]
        wanted = pooled(volume, [2, 2, 2], [2, 1, 1], "VALID", choose)
        close(lambda x, f=deep: f(x, 2, [2, 1, 1], "VALID"), wanted, volume)
        front = np.moveaxis(volume, -1, 1)
        turned = np.moveaxis(wanted, -1, 1)
        close(lambda x, f=deep: f(x, 2, [2, 1, 1], "VALID", "NCDHW"), turned, front)
        check_gradient(lambda x, f=deep: f(x, 2, 1, "SAME", "NCDHW"), front[:1, :, :2, :3])


def test_nodes_have_the_names_of_tensorflow() -> None:
    x, line = source("float32", [1, 8, 8, 3]), source("float32", [1, 8, 3])
    assert (nn.max_pool(x, 2, 2, "SAME").op.name, nn.max_pool2d(x, 2, 2, "SAME").op.name) == ("MaxPool", "MaxPool2d")
    assert nn.avg_pool(x, 2, 2, "SAME").op.name == "AvgPool"
    assert nn.max_pool1d(line, 2, 2, "SAME").op.name == "MaxPool1d/Squeeze"
    assert nn.avg_pool1d(line, 2, 2, "SAME").op.name == "AvgPool1D/Squeeze"
    assert nn.pool(x, [2, 2], "MAX", "SAME").op.name == "max_pool"


@for_each("known", [True, False], ids=["known", "hidden"])
@for_each("front", [False, True], ids=["NHWC", "NCHW"])
@for_each("kind", ["MAX", "AVG"])
def test_a_pool_with_gaps_takes_every_so_many_elements(kind: str, front: bool, known: bool) -> None:
    images = np.random.default_rng(0).standard_normal((2, 7, 9, 3)).astype(np.float32)
    given = np.moveaxis(images, -1, 1) if front else images
    parts = [images[:, i : i + 3, j : j + 6] for i in (0, 2, 4) for j in (0, 3)]
    wanted = np.max(parts, 0) if kind == "MAX" else np.mean(parts, 0)
    x = source("float32", given.shape if known else [None] * 4)
    layout = "NCHW" if front else "NHWC"
    pooled = nn.pool(x, [3, 2], kind, "VALID", dilations=[2, 3], data_format=layout)
    [found] = evaluate([pooled], {x: given})
    if known:
        assert pooled.shape.as_list() == ([2, 3, 3, 6] if front else [2, 3, 6, 3])
    np.testing.assert_allclose(np.moveaxis(found, 1, -1) if front else found, wanted, 1e-5)


def test_the_gradient_goes_to_the_first_of_equal_maxima() -> None:
    x = source("float32", [1, 2, 2, 1])
    [back] = gradients(nn.max_pool(x, 2, 1, "VALID"), [x])
    [found] = evaluate([back], {x: np.zeros([1, 2, 2, 1])})
    assert found.ravel().tolist() == [1, 0, 0, 0]


def test_places_of_maxima_count_in_the_image_or_in_the_batch() -> None:
    x = np.zeros([2, 2, 2, 1], np.float32)
    for whole, wanted in ((False, [0, 0]), (True, [0, 4])):

        def places(x: Any, whole: bool = whole) -> Any:
            sizes = [1, 2, 2, 1]
            return nn.max_pool_with_argmax(
                x, sizes, sizes, "VALID", output_dtype="int32", include_batch_in_index=whole
            )[1]

        assert (computed(places, x).ravel().tolist(), computed(places, x).dtype) == (wanted, np.int32)


def test_an_erosion_is_a_dilation_upside_down() -> None:
    f = RNG.standard_normal((3, 2, 3)).astype(np.float32)
    ones, rates = [1, 1, 1, 1], [1, 1, 2, 1]
    upside = -computed(lambda x, f: nn.dilation2d(x, f, ones, rates, "VALID"), -X, f[::-1, ::-1])
    gives(lambda x, f: nn.erosion2d(x, f, ones, rates, "VALID"), upside, X, f).check()
    check_gradient(lambda x, f: nn.erosion2d(x, f, ones, rates, "SAME"), X[:1, :4, :4], f)


# -- the way back through windows that tile the images, which is quick -----------------------------


def tiling(window: tuple[int, ...], counts: tuple[int, ...]) -> Sliding:
    ones = (1,) * len(window)
    return Sliding(counts, window, window, ones, ((0, 0),) * len(window))


@for_each("dtype", ["f2", "f4", "f8", "i4", "i8"])
@for_each(
    "batch, window, counts, channels",
    [(3, (2, 2), (4, 5), 3), (2, (3, 2), (2, 2), 1), (50, (2, 2), (9, 9), 40), (2, (2, 1, 2), (2, 3, 2), 2)],
)
def test_all_goes_to_the_first_of_the_largest(dtype: str, batch: int, window: Any, counts: Any, channels: int) -> None:
    random = np.random.default_rng(1)
    s = tiling(window, counts)
    sizes = [n * w for n, w in zip(counts, window, strict=True)]
    x = random.integers(0, 3, (batch, *sizes, channels)).astype(dtype)  # many are equal
    y = largest(x, s)
    g = random.integers(1, 9, y.shape).astype(dtype)
    # The elements of each window as the last axis, and 1 at the first of the largest.
    rank = len(window)
    order = [0, *range(1, 2 * rank, 2), 2 * rank + 1, *range(2, 2 * rank + 1, 2)]
    parts = x.reshape(batch, *[n for pair in zip(counts, window, strict=True) for n in pair], channels)
    windows = parts.transpose(order).reshape(*y.shape, -1)
    chosen = np.eye(windows.shape[-1], dtype=dtype)[windows.argmax(-1)] * g[..., None]
    back = spread(x, y, g, s).reshape(parts.shape).transpose(order)
    np.testing.assert_array_equal(back.reshape(windows.shape), chosen)


def test_what_is_not_the_largest_gets_0_of_any_gradient_and_so_does_nan() -> None:
    x = np.array([1, 2, np.nan, 3], np.float32).reshape(1, 2, 2, 1)
    s = tiling((1, 2), (2, 1))
    y = largest(x, s)
    g = np.array([np.inf, np.nan], np.float32).reshape(1, 2, 1, 1)
    np.testing.assert_array_equal(spread(x, y, g, s).ravel(), [0, np.inf, 0, np.nan])


# -- what is refused -------------------------------------------------------------------------------


def _max(*arguments: Any) -> Any:
    return lambda: nn.max_pool(source("float32", [1, 5, 5, 4]), *arguments)


def _pool(**arguments: Any) -> Any:
    given = {"window_shape": [2, 2], "padding": "VALID", "pooling_type": "MAX", **arguments}
    return lambda: nn.pool(source("float32", [1, 9, 9, 3]), **given)


ENDS = [[0, 0], [1, 1], [1, 1], [0, 0]]
test_arguments_that_fit_no_pool_are_refused = refusing(
    (_max(0, 2, "SAME"), ValueError, "ksize of MaxPool is 4 numbers of at least 1"),
    (_max(2, 2, "same"), ValueError, "padding of MaxPool is one of"),
    (_max([2, 1, 1, 1], 1, "SAME"), ValueError, "does not pool over batches"),
    (_max([1, 2, 1, 2], [1, 1, 1, 2], "SAME"), ValueError, "pools over the channels"),
    (_max(2, 2, [[0, 0], [2, 0], [0, 0], [0, 0]]), ValueError, "smaller than the window"),
    (_max(2, 2, "SAME", "NWC"), ValueError, "data_format is NHWC or NCHW"),
    (_max([2, 2, 2], 2, "SAME"), ValueError, "ksize has length 1, 2 or 4"),
    (_pool(pooling_type="MIN"), ValueError, "no 2-D MIN pool"),
    (_pool(window_shape=[2]), ValueError, "needs rank 3"),
    (_pool(dilations=[2, 2], padding="SAME"), ValueError, "without gaps"),
    (_pool(dilations=[2, 2, 2]), ValueError, "a number for each of 2 axes"),
    (_pool(dilations=2, strides=2), ValueError, "in conjunction with"),
    (_pool(dilations=[5, 9]), ValueError, "does not fit"),
    (lambda: nn.avg_pool(source("float32", [1, 5, 5, 4]), 2, 2, ENDS), TypeError, "padding of AvgPool is a string"),
    (lambda: nn.max_pool_with_argmax(X, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "NCHW"), ValueError, "takes NHWC"),
    (lambda: nn.max_pool_with_argmax(X, 2, 2, "SAME"), TypeError, "lists of 4 numbers"),
)
