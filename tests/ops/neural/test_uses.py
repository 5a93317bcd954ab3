"""Activations, softmax, entropies, biases, moments and dropout: what rows of their operation types do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, constant, gradients, nn, ops, transpose
from tests.nodes import make, make_one
from tests.ops.cases import computed, f32, i32
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import Use, back, dims, each_use, equals, fails, gives, ranked, slopes, static
from tests.rows import for_each

RNG = np.random.default_rng(0)
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}


def some(*shape: int, scale: float = 3.0) -> Any:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


# -- activations and biases ------------------------------------------------------------------------

# Long arrays are clipped in blocks.
LONG = np.resize([-30.0, -3.0, -0.75, 0.0, 0.5, 2.0, 5.5, 6.5, 30.0, np.nan, np.inf, -np.inf], 20_000)
SIGNS = np.array([-3.0, -0.5, 0.0, 2.0])
FLAT = f32([-1000, 0, 1000])


def _biased(channels: int, turned: bool = False) -> tuple[Any, Any, Any]:
    """A bias of few channels is added row by row."""
    x, b = some(2, 3, 4, channels), some(channels)
    return x + b, np.asfortranarray(x) if turned else x, b


ACTIVATED: list[Any] = [
    *(
        gives(f, np.clip(x, 0, top).astype(x.dtype), x)
        for f, top in ((nn.relu, None), (nn.relu6, 6))
        for x in (LONG.astype(as_dtype(dtype).np_dtype) for dtype in ("float16", "bfloat16", "float32", "float64"))
    ),
    gives(nn.sigmoid, np.exp(f32([-80, -20])), f32([-80, -20]), rtol=1e-5),
    gives(nn.softplus, [np.exp(-40.0), 1000.0], np.array([-40.0, 1000.0]), rtol=1e-12),
    gives(ops.log_sigmoid, f32([-1000, -np.log(2), 0]), FLAT, rtol=1e-6),
    gives(nn.leaky_relu, f32([-1, 2]), f32([-5, 2])),
    gives(lambda x: nn.leaky_relu(x, 2.0), f32([-10, 2]), f32([-5, 2])),
    gives(lambda x: nn.leaky_relu(x, alpha=np.float32(0.5)), f32([-2.5, 2]), i32([-5, 2])),
    equals(lambda: nn.leaky_relu([-5, 2], alpha=np.float32(0.5)).op.get_attr("alpha"), 0.5),
    gives(nn.crelu, f32([[1, 0, 0, 2]]), f32([[1, -2]])),
    gives(lambda x: nn.crelu(x, axis=0), f32([[1, 0], [0, 2]]), f32([[1, -2]])),
    equals(lambda: nn.crelu([[1.0]]).op.name, "CRelu/Relu"),
    gives(nn.swish, SIGNS / (1.0 + np.exp(-SIGNS)), SIGNS, rtol=1e-12),
    gives(lambda x: nn.silu(features=x, beta=2.0), SIGNS / (1.0 + np.exp(-2.0 * SIGNS)), SIGNS, rtol=1e-12),
    slopes(lambda x: nn.swish(x, 1.5), SIGNS),
    back(nn.relu, [0.0], f32([0])),  # nothing flows at the corner
    (lambda: make_one("ReluGrad", [source("float32", (2,)), source("float32", (3,))]), ValueError, r"\(2,\), \(3,\)"),
    *(gives(nn.bias_add, *_biased(channels, turned)) for channels in (1, 63, 64) for turned in (False, True)),
    gives(lambda x: nn.bias_add(x, [1, 2]), f32([[1, 2]]), f32([[0, 0]])),
    (lambda: nn.bias_add(constant([[1.0]]), [1.0], "CHW"), ValueError, "data_format is NHWC"),
]


# -- softmax and entropies -------------------------------------------------------------------------


def _log_softmax(x: Any, axis: int = -1) -> Any:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _loss(x: Any, y: Any, axis: int = -1) -> Any:
    return -(y.astype(np.float64) * _log_softmax(x, axis)).sum(axis=axis).astype(x.dtype)


def _labels(*shape: int) -> Any:
    raw = RNG.random(shape)
    return (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float32)


def _classes(index_type: Any, *shape: int) -> tuple[Any, Any, Any]:
    """What the sparse loss is, of classes and logits."""
    x, classes = some(*shape), np.asarray(RNG.integers(0, shape[-1], shape[:-1]), index_type)
    return _loss(x, np.eye(shape[-1])[classes]), classes, x


def _weighted(weight: float) -> Use:
    z, x = f32([[1, 0, 0.25], [0, 1, 0.5]]), f32([[0.5, -1, 2], [1.5, 90, -90]])
    wanted = (weight * z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x)).astype(np.float32)
    return gives(lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, weight), wanted, z, x, **CLOSE)


def _op(labels: Any, logits: Any) -> Any:
    return make("SoftmaxCrossEntropyWithLogits", [logits, labels]).outputs[0]


dense, newer = nn.softmax_cross_entropy_with_logits, nn.softmax_cross_entropy_with_logits_v2
sparse, each = nn.sparse_softmax_cross_entropy_with_logits, nn.sigmoid_cross_entropy_with_logits
CUBE, DEEP, WIDE, TALL = some(2, 3, 4), some(2, 3, 4), some(40, 50), some(40, 50)
LINE, ROWS = some(1, 4), _labels(3, 4)
CLASSES = RNG.integers(0, 40, 50)
ONE = [[1.0, 0.0]]
EARLY = "labels and logits must be given"
ENTROPIES: list[Any] = [
    *(gives(lambda x, a=a: nn.softmax(x, a), f32(np.exp(_log_softmax(CUBE, a))), CUBE, **CLOSE) for a in range(-3, 3)),
    *(gives(lambda x, a=a: nn.log_softmax(x, a), f32(_log_softmax(CUBE, a)), CUBE, **CLOSE) for a in range(-3, 3)),
    *(
        gives(lambda y, x, a=a: newer(ranked(y, 3), ranked(x, 3), a), _loss(CUBE, DEEP, a), DEEP, CUBE, **CLOSE)
        for a in (0, 1, 2, -2)
    ),
    # Views in another layout.
    gives(lambda x: nn.softmax(transpose(x)), f32(np.exp(_log_softmax(WIDE.T))), WIDE, **CLOSE),
    gives(lambda y, x: dense(transpose(y), transpose(x)), _loss(WIDE.T, TALL.T), TALL, WIDE, **CLOSE),
    gives(lambda y, x: sparse(y, transpose(x)), _loss(WIDE.T, np.eye(40)[CLASSES]), CLASSES, WIDE, **CLOSE),
    *(
        gives(f, _loss(x, y), y, x, **CLOSE)
        for f in (dense, newer)
        for x, y in ((some(*s), _labels(*s)) for s in ((3, 4), (100, 10), (2, 300), (4,), (2, 3, 4), (1, 1)))
    ),
    *(
        gives(sparse, *_classes(index_type, *s), **CLOSE)
        for index_type in (np.int32, np.int64)
        for s in ((3, 4), (100, 10), (50, 128), (50, 129), (2, 3, 4), (4,))
    ),
    # The op broadcasts, as TensorFlow's does.
    gives(_op, _loss(np.repeat(LINE, 3, 0), ROWS), ROWS, LINE, **CLOSE),
    slopes(_op, ROWS, LINE),
    *(slopes(newer, _labels(*s), some(*s, scale=1.0)) for s in ((3, 4), (2, 3, 4), (4,))),
    equals(lambda: dims(dense(source("float32", [None, 4]), source("float32", [5, None]))), [5]),
    static(lambda x: dense(x, x), [None, 3], [None, 3, 4]),
    static(lambda x: dense(x, x), None, None),
    gives(dense, np.zeros(2), np.zeros((2, 0)), np.zeros((2, 0))),
    fails(sparse, "at least 1 class", i32([0, 0]), np.zeros((2, 0))),
    fails(sparse, "one label for each row", i32([0, 1]), some(3, 4)),
    # As in TensorFlow, where programs look the name up.
    equals(lambda: sparse(i32([0]), ONE, name="loss").op.name, "loss/loss"),
    equals(lambda: sparse(i32([0]), ONE).op.name.split("/"), ["SparseSoftmaxCrossEntropyWithLogits"] * 2),
    gives(each, f32([0, 0, 1000, 1000]), f32([1, 0, 0, 1]), f32([1000, -1000, 1000, -1000])),
    slopes(each, f32([0, 1, 0.3, 0.3]), f32([0, 0, -2, 3])),
    *map(_weighted, (0.5, 1.0, 2.5)),
    slopes(lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, 3.0), f32([0.2, 0.7, 1]), f32([0, 0.4, -1.3])),
    slopes(nn.log_poisson_loss, f32([0.5, 2]), f32([0.3, -0.7])),
    slopes(lambda c, m: nn.log_poisson_loss(c, m, True), f32([1.5, 4]), f32([0.3, -0.7])),
    # Labels stand before logits, and both are needed.
    gives(dense, [np.log1p(np.exp(1.0))], f32([[0, 1]]), f32(ONE), rtol=1e-6),
    gives(sparse, [np.log1p(np.exp(1.0))], i32([1]), f32(ONE), rtol=1e-6),
    gives(each, [[np.log1p(np.exp(1.0)), np.log(2)]], f32([[0, 1]]), f32(ONE), rtol=1e-6),
    *((lambda f=f: f(labels=ONE), ValueError, EARLY) for f in (dense, sparse, each)),
    *((lambda f=f: f(logits=ONE), ValueError, EARLY) for f in (dense, sparse, each)),
    (lambda: sparse(source("int32", [3, 1]), source("float32", [3, 4])), ValueError, "without the last axis"),
    (lambda: sparse(source("int32", []), constant(1.0)), ValueError, "without the last axis"),
    (lambda: sparse(source("float32", [3]), source("float32", [3, 4])), TypeError, "labels; got float32"),
    (lambda: each(source("float32", [3]), source("float32", [4])), ValueError, "one shape"),
    (lambda: nn.weighted_cross_entropy_with_logits([1.0] * 2, [1.0], 1.0), ValueError, r"\(1,\) and \(2,\)"),
    (lambda: nn.log_poisson_loss([1.0, 2.0], [1.0]), ValueError, r"one shape, got \(1,\) and \(2,\)"),
]


@for_each("dtype", ["float16", "bfloat16"])
def test_half_types_are_computed_in_float32(dtype: str) -> None:
    x, y = (v.astype(as_dtype(dtype).np_dtype) for v in (some(3, 4), _labels(3, 4)))
    for f in (dense, _op):
        for known in (True, False):
            found = computed(f, y, x, known=known)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found.astype(np.float32), _loss(f32(x), y), rtol=1e-2, atol=1e-2)


# -- moments and batch normalisation ---------------------------------------------------------------

X = some(2, 3, 4, 5, scale=1.0)
MEAN, SHIFT, SCALE = some(3, 5, scale=1.0)
SPREAD = abs(MEAN) + np.float32(0.5)
NORMAL = (X - MEAN) / np.sqrt(SPREAD + np.float32(1e-3))
FEW, TWICE = X[:, 0, 0], np.repeat(X[:, 0, 0], [1, 3], 0)
RATIOS: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}
NEEDED = "mean and variance are needed"


def _restored(shift: Any) -> Any:
    """The count of statistics, and the moments that follow from them."""

    def build(x: Any) -> Any:
        count, total, squares, moved = nn.sufficient_statistics(x, [0, -2], shift)
        assert (moved is None) == (shift is None)
        return [count, *nn.normalize_moments(count, total, squares, moved)]

    return build


def _normed(shape: Any, **arguments: Any) -> Any:
    return lambda: nn.fused_batch_norm(source("float32", shape), SCALE, SHIFT, **arguments)


def _oldest(x: Any, after: bool) -> Any:
    return nn.batch_norm_with_global_normalization(x, MEAN, SPREAD, SHIFT, SCALE, 1e-3, after)


def _of_16_bits() -> Any:
    made = nn.fused_batch_norm(source("float16", [None, 4, 4, 5]), SCALE, SHIFT)
    return [t.dtype.name for t in made], made[0].op.type, dims(made[0], made[0].op.outputs[5])


MOMENTS: list[Any] = [
    gives(lambda x: list(nn.moments(x, [0])), [np.float16(200), np.float16(0)], np.full([300], 200, np.float16)),
    slopes(lambda x: nn.moments(x, [0, 2]), X[:, :2, :2, :2]),
    equals(lambda: [t.op.name for t in nn.moments([[1.0]], [0])], ["moments/Squeeze", "moments/Squeeze_1"]),
    static(lambda x: nn.moments(x, [0])[0], [3], [None, 3]),
    # Weights count numbers more than once, or never.
    gives(
        lambda x, w: list(nn.weighted_moments(x, [0], w)), [TWICE.mean(0), TWICE.var(0)], FEW, f32([[1], [3]]), **CLOSE
    ),
    gives(
        lambda x, w: nn.weighted_moments(x, [0], w, keepdims=True)[0],
        TWICE.mean(0)[None],
        FEW,
        f32([[1], [3]]),
        **CLOSE,
    ),
    gives(lambda x, w: list(nn.weighted_moments(x, [0], w)), [f32([0] * 5)] * 2, FEW, f32([[0], [0]])),
    *(gives(_restored(s), [np.float32(8), X.mean((0, 2)), X.var((0, 2))], X, **RATIOS) for s in (None, 0.5)),
    *(
        gives(lambda x, b=b, s=s: nn.batch_normalization(x, MEAN, SPREAD, b, s, 1e-3), wanted, X, **RATIOS)
        for b, s, wanted in (
            (SHIFT, SCALE, NORMAL * SCALE + SHIFT),
            (None, SCALE, NORMAL * SCALE),
            (SHIFT, None, NORMAL + SHIFT),
            (None, None, NORMAL),
        )
    ),
    slopes(lambda x, m, v: nn.batch_normalization(x, m, v, None, None, 1e-3), X[:1, :2, :2, :2], MEAN[:2], SPREAD[:2]),
    gives(lambda x: _oldest(x, False), NORMAL + SHIFT, X, **RATIOS),  # the oldest name may leave the scale out
    gives(lambda x: _oldest(x, True), NORMAL * SCALE + SHIFT, X, **RATIOS),
    # Images of 16 bits have statistics of 32; the last output is there for gradients on GPUs.
    equals(_of_16_bits, (["float16", "float32", "float32"], "FusedBatchNormV3", [[None, 4, 4, 5], []])),
    (_normed([2, 3, 4, 5], is_training=False), ValueError, NEEDED),
    (_normed([2, 3, 4, 5], exponential_avg_factor=0.5), ValueError, NEEDED),
    (_normed([2, 3, 5]), ValueError, "takes images of rank 4"),
    (_normed([2, 3, 4, 6]), ValueError, "a number for each channel"),
    (_normed([2, 3, 4, 5], data_format="NWC"), ValueError, "data_format of FusedBatchNormV3 is one of"),
]

# -- dropout ---------------------------------------------------------------------------------------

KNOWN_SHAPES: list[list[int] | None] = [[], None]
DROPPED: list[Any] = [
    gives(lambda x: nn.dropout(x, rate=0), X, X),
    *(
        equals(lambda known=known: dims(nn.dropout(source("float32", [None, 5]), source("float32", known))), [None, 5])
        for known in KNOWN_SHAPES
    ),
    (lambda: nn.dropout(constant([1.0]), rate=1.0), ValueError, "dropout"),
    (lambda: nn.dropout(constant([1.0]), rate=-0.1), ValueError, "dropout"),
    (lambda: nn.dropout(constant([1]), rate=0.5), TypeError, "floating type, got int32"),
    (lambda: nn.dropout(source("float32", [4, 5]), 0.5, [None, 1, 1]), ValueError, "a noise_shape of"),
]


test_functions_of_neural_networks_do_what_their_rows_say = each_use([*ACTIVATED, *ENTROPIES, *MOMENTS, *DROPPED])


def test_dropout_drops_a_share_and_scales_the_rest() -> None:
    x, rate = source("float32", [100, 100]), source("float32", [])
    dropped, state = nn.dropout(x, rate, seed=1), Variables()
    first, second = (evaluate([dropped], {x: np.full((100, 100), 3), rate: 0.25}, state)[0] for _ in range(2))
    np.testing.assert_allclose(first[first != 0], 4.0, rtol=1e-6)
    assert abs((first != 0).mean() - 0.75) < 0.02
    assert (first != second).any()
    [all_kept] = evaluate([dropped], {x: np.ones((100, 100)), rate: 0.0}, state)
    np.testing.assert_array_equal(all_kept, np.ones((100, 100), np.float32))


@pytest.mark.parametrize("shape", [[4, 50], [None, 50], None])
@pytest.mark.parametrize("noise", [[4, 1], [None, 1]])
def test_what_has_one_extent_in_the_noise_is_dropped_together(shape: Any, noise: Any) -> None:
    x = source("float32", shape)
    [found] = evaluate([nn.dropout(x, rate=0.5, noise_shape=noise, seed=3)], {x: np.ones([4, 50])})
    assert set(found.ravel().tolist()) == {0.0, 2.0}
    assert (found == found[:, :1]).all()


def test_the_gradient_has_the_same_holes_as_the_value() -> None:
    x = source("float32", [100])
    dropped = nn.dropout(x, rate=0.5)
    value, slope = evaluate([dropped, *gradients(dropped, [x])], {x: np.ones(100)})
    np.testing.assert_array_equal(value, slope)
