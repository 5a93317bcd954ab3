"""Neural networks: convolutions, pools, normalisation, products, losses, and labels without alignment (CTC)."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

convolutions, pools, layers = Family("conv"), Family("pool"), Family("nn")

_SIZES: dict[str, Any] = {"padding": ("SAME", "VALID"), "stride": (1, 2)}


def _both(tf: Any, y: Any, *xs: Any) -> list[Any]:
    """Return values and their gradients by some tensors."""
    return [y, *tf.gradients(y, list(xs))]


for _stride, _rates in ((1, (1, 2)), (2, (1,)), (3, (1,))):

    @convolutions("2d-{padding}-{stride}-{rate}", padding=("SAME", "VALID"), stride=[_stride], rate=_rates)
    def _conv(tf: Any, np: Any, padding: str, stride: int, rate: int) -> Any:
        x, f = tf.constant(reals(np, (2, 7, 6, 3))), tf.constant(reals(np, (3, 2, 3, 4)))
        y = tf.nn.conv2d(x, f, [1, stride, stride, 1], padding, dilations=[1, rate, rate, 1])
        return [y, *tf.gradients(y * y, [x, f])]


convolutions.over(
    "1d-{padding}-{stride}",
    lambda tf, np, padding, stride: tf.nn.conv1d(reals(np, (2, 8, 3)), reals(np, (3, 3, 2)), stride, padding),
    **_SIZES,
)


@convolutions("3d-{padding}-{stride}", **_SIZES)
def _conv3(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, f = tf.constant(reals(np, (1, 4, 5, 4, 2))), tf.constant(reals(np, (2, 2, 2, 2, 3)))
    return _both(tf, tf.nn.conv3d(x, f, [1, stride, stride, stride, 1], padding), x, f)


@convolutions("depthwise-{padding}-{stride}", **_SIZES)
def _depthwise(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, f = tf.constant(reals(np, (1, 6, 5, 2))), tf.constant(reals(np, (3, 3, 2, 2)))
    return _both(tf, tf.nn.depthwise_conv2d(x, f, [1, stride, stride, 1], padding), x, f)


@convolutions("transpose-{padding}-{stride}", **_SIZES)
def _transposed(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, f = tf.constant(reals(np, (1, 4, 4, 4))), tf.constant(reals(np, (3, 3, 2, 4)))
    size = 4 * stride if padding == "SAME" else 4 * stride + 3 - stride
    y = tf.nn.conv2d_transpose(x, f, [1, size, size, 2], [1, stride, stride, 1], padding)
    return [y, tf.gradients(y, f)]


@convolutions("separable-{padding}-{stride}", **_SIZES)
def _separable(tf: Any, np: Any, padding: str, stride: int) -> Any:
    operands = [reals(np, shape) for shape in ((1, 6, 6, 2), (2, 2, 2, 2), (1, 1, 4, 3))]
    return tf.nn.separable_conv2d(*operands, [1, stride, stride, 1], padding)


@convolutions("dilation-{padding}-{stride}", **_SIZES)
def _dilated(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, f = reals(np, (1, 5, 5, 2)), reals(np, (2, 2, 2))
    larger, filters = reals(np, (1, 7, 7, 2)), reals(np, (2, 2, 2, 1))
    return [
        tf.nn.dilation2d(x, f, strides=[1, stride, stride, 1], rates=[1, 1, 1, 1], padding=padding),
        tf.nn.convolution(larger, filters, padding, [stride, stride]),
    ]


_POOLS: dict[str, Any] = {"name": ("max", "avg"), **_SIZES}


@pools("{name}-{size}-{padding}-{stride}", **_POOLS, size=(2, 3))
def _pool(tf: Any, np: Any, name: str, size: int, padding: str, stride: int) -> Any:
    x = tf.constant(reals(np, (2, 6, 5, 2)))
    pool = getattr(tf.nn, f"{name}_pool")
    y = pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)
    return [y, *tf.gradients(y * y, x)]


@pools("{name}3d-{padding}-{stride}", **_POOLS)
def _pool3(tf: Any, np: Any, name: str, padding: str, stride: int) -> Any:
    pool, x = getattr(tf.nn, f"{name}_pool3d"), tf.constant(reals(np, (1, 4, 4, 4, 2)))
    return pool(x, [1, 2, 2, 2, 1], [1, stride, stride, stride, 1], padding)


@pools("{name}1d-{padding}-{stride}", **_POOLS)
def _pool1(tf: Any, np: Any, name: str, padding: str, stride: int) -> Any:
    return getattr(tf.nn, f"{name}_pool1d")(reals(np, (2, 7, 3)), 3, stride, padding)


def _unknown(tf: Any, np: Any, shape: Any, known: Any) -> Any:
    """Return a tensor of which only a part of the shape is known."""
    return tf.placeholder_with_default(reals(np, shape), known)


_BY_NUMBERS: dict[str, Any] = {
    "pool/general-max": lambda nn, r: nn.pool(r(1, 5, 5, 1), [2, 2], "MAX", "SAME"),
    "pool/general-avg": lambda nn, r: nn.pool(r(1, 5, 5, 1), [3, 2], "AVG", "VALID"),
    "pool/with-argmax": lambda nn, r: list(nn.max_pool_with_argmax(r(1, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    "pool/too-large": lambda nn, r: nn.max_pool(r(1, 2, 2, 1), 3, 1, "VALID"),
    "pool/wrong-padding": lambda nn, r: nn.max_pool(r(1, 4, 4, 1), 2, 1, "FULL"),
    "conv/wrong-depth": lambda nn, r: nn.conv2d(r(1, 4, 4, 3), r(2, 2, 2, 1), [1] * 4, "SAME"),
    "conv/explicit-padding": lambda nn, r: nn.conv2d(r(1, 4, 4, 1), r(2, 2, 1, 1), 1, [[0, 0], [1, 0], [0, 2], [0, 0]]),
    "conv/float64": lambda nn, r: nn.conv2d(r(1, 4, 4, 1, dtype="float64"), r(2, 2, 1, 2, dtype="float64"), 1, "SAME"),
    "conv/atrous": lambda nn, r: nn.atrous_conv2d(r(1, 7, 7, 1), r(2, 2, 1, 2), 2, "VALID"),
    "nn/sparse-softmax-label-outside": lambda nn, r: nn.sparse_softmax_cross_entropy_with_logits(
        labels=[0, 4], logits=r(2, 4)
    ),
    "nn/sparse-softmax-wrong-shape": lambda nn, r: nn.sparse_softmax_cross_entropy_with_logits(
        labels=[[0], [1]], logits=r(2, 4)
    ),
    "nn/sigmoid-cross-entropy": lambda nn, r: nn.sigmoid_cross_entropy_with_logits(
        labels=r(3, low=0, high=1), logits=r(3, low=-50, high=50)
    ),
    "nn/weighted-cross-entropy": lambda nn, r: nn.weighted_cross_entropy_with_logits(
        labels=r(3, low=0, high=1), logits=r(3, low=-5, high=5), pos_weight=2.5
    ),
    "nn/l2-loss": lambda nn, r: nn.l2_loss(r(3, 4)),
    "nn/bias-wrong": lambda nn, r: nn.bias_add(r(2, 3), r(2)),
    "nn/xw-plus-b": lambda nn, r: nn.xw_plus_b(r(2, 3), r(3, 4), r(4)),
    "nn/relu-layer": lambda nn, r: nn.relu_layer(r(2, 3), r(3, 4), r(4)),
    "nn/zero-fraction": lambda nn, r: nn.zero_fraction(nn.relu(r(5, 5))),
    "nn/batch-normalization": lambda nn, r: nn.batch_normalization(
        r(2, 3), r(3), r(3, low=0.5, high=2), r(3, low=1, high=3), None, 1e-3
    ),
    "nn/lrn": lambda nn, r: nn.lrn(r(1, 2, 2, 7), 2, 1.0, 0.5, 0.75),
}
for _name, _call in _BY_NUMBERS.items():
    _family, _, _what = _name.partition("/")
    {family.name: family for family in (convolutions, pools, layers)}[_family].over(
        _what, lambda tf, np, call: call(tf.nn, lambda *shape, **more: reals(np, shape, **more)), call=[_call]
    )
pools.add(
    "unknown-size", lambda tf, np: tf.nn.max_pool(_unknown(tf, np, (1, 4, 4, 1), [None, None, None, 1]), 2, 2, "SAME")
)
convolutions.add(
    "unknown-batch",
    lambda tf, np: tf.nn.conv2d(_unknown(tf, np, (2, 4, 4, 1), [None, 4, 4, 1]), reals(np, (2, 2, 1, 3)), 1, "SAME"),
)
_SOFTMAX = ("softmax", "log_softmax")
layers.over(
    "{name}-axis{axis}",
    lambda tf, np, name, axis: getattr(tf.nn, name)(reals(np, (2, 3, 4)), axis),
    name=_SOFTMAX,
    axis=(-1, 0, 1, 5),
)


@layers("{name}-large", name=_SOFTMAX)
def _large(tf: Any, np: Any, name: str) -> Any:
    x = tf.constant([[1000.0, 1001.0], [-1000.0, 0.0]])
    y = getattr(tf.nn, name)(x)
    return [y, *tf.gradients(y[:, 0], x)]


def _entropy(tf: Any, np: Any) -> tuple[Any, Any]:
    labels = tf.nn.softmax(tf.constant(reals(np, (3, 4), 0, 1)))
    return labels, tf.constant(reals(np, (3, 4), -3, 3))


@layers("softmax-cross-entropy")
def _softmax_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    return _both(tf, loss, labels, logits)


@layers("softmax-cross-entropy-of-version-one")
def _old_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    present = [each is not None for each in tf.gradients(loss, labels)]
    return [loss, tf.gradients(loss, logits)[0], tf.constant(present)]


layers.add(
    "softmax-cross-entropy-positional", lambda tf, np: tf.nn.softmax_cross_entropy_with_logits(*_entropy(tf, np))
)


@layers("sparse-softmax-cross-entropy")
def _sparse_entropy(tf: Any, np: Any) -> Any:
    logits = tf.constant(reals(np, (3, 4), -3, 3))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=logits)
    return _both(tf, loss, logits)


layers.over(
    "poisson-loss-{full}",
    lambda tf, np, full: tf.nn.log_poisson_loss(reals(np, (3,), 0, 5), reals(np, (3,), -1, 1), full),
    full=(False, True),
)
layers.over(
    "l2-normalize-{axis}", lambda tf, np, axis: tf.nn.l2_normalize(reals(np, (3, 4)), axis), axis=(0, 1, [0, 1], None)
)
layers.over(
    "moments-{axes}",
    lambda tf, np, axes: list(tf.nn.moments(tf.constant(reals(np, (3, 4))), axes, keep_dims=True)),
    axes={"0": [0], "1": [1], "[0,1]": [0, 1], "None": None},
)
layers.over(
    "bias-{names}",
    lambda tf, np, names: tf.nn.bias_add(reals(np, (2, 3, 3, 3)), reals(np, (3,)), names),
    names=("NHWC", "NCHW", None, "XYZ"),
)


@layers("fused-batch-norm-{training}", training=(True, False))
def _fused(tf: Any, np: Any, training: bool) -> Any:
    x = tf.constant(reals(np, (2, 3, 3, 2)))
    scale, offset = tf.constant([1.5, 0.5]), tf.constant([0.1, -0.2])
    given = {} if training else {"mean": [0.1, 0.2], "variance": [1.1, 0.9]}
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)
    return [y, mean, variance, *tf.gradients(y * y * y, [x, scale, offset])]


layers.over(
    "dropout-{rate}",
    lambda tf, np, rate: Plan(tf.nn.dropout(tf.ones([4, 5]), rate=rate), random=True),
    rate=(0.0, 0.5, 1.0),
)


@layers("matmul-{a}-{b}", a=(False, True), b=(False, True))
def _matmul(tf: Any, np: Any, a: bool, b: bool) -> Any:
    x = tf.constant(reals(np, (2, 3, 4) if a else (2, 4, 3)))
    y = tf.constant(reals(np, (2, 5, 3) if b else (2, 3, 5)))
    z = tf.matmul(x, y, transpose_a=a, transpose_b=b)
    return [z, *tf.gradients(z * z, [x, y])]


@layers("elu-second-slope")
def _elu(tf: Any, np: Any) -> Any:
    x = tf.constant(reals(np, (6,)))
    return tf.gradients(tf.gradients(tf.nn.elu(x) ** 2, x), x)


@layers("matmul-complex")
def _complex(tf: Any, np: Any) -> Any:
    x, y = reals(np, (2, 2)), reals(np, (2, 2), 0, 1)
    return tf.matmul(tf.complex(x, y), tf.complex(x, x), adjoint_a=True)


layers.each(
    {
        "weighted-moments": lambda tf, np: list(
            tf.nn.weighted_moments(tf.constant(reals(np, (3, 4))), [0], tf.constant(reals(np, (3, 4), 0.1, 1)))
        ),
        "sufficient-statistics": lambda tf, np: list(tf.nn.sufficient_statistics(tf.constant(reals(np, (3, 4))), [0]))[
            :3
        ],
        "dropout-keep-prob": lambda tf, np: tf.nn.dropout(tf.ones([4]), 1.0),
        "matmul-broadcast": lambda tf, np: tf.matmul(reals(np, (2, 1, 2, 3)), reals(np, (3, 3, 4))),
        "matmul-wrong": lambda tf, np: tf.matmul(reals(np, (2, 3)), reals(np, (2, 3))),
        "matmul-vector": lambda tf, np: tf.matmul(reals(np, (2, 3)), reals(np, (3,))),
        "matmul-empty": lambda tf, np: tf.matmul(np.ones((2, 0), "float32"), np.ones((0, 3), "float32")),
        "matmul-int32": lambda tf, np: tf.matmul(wholes(np, (2, 3)), wholes(np, (3, 2))),
        "normalize-moments": lambda tf, np: list(
            tf.nn.normalize_moments(10.0, tf.constant([3.0, 4.0]), tf.constant([30.0, 5.0]), 0.5)
        ),
    }
)


losses = Family("losses")

_LOSSES: dict[str, Any] = {
    "mean_squared_error": {},
    "absolute_difference": {},
    "huber_loss": {"delta": 0.7},
    "log_loss": {},
    "hinge_loss": {},
    "mean_pairwise_squared_error": {},
    "sigmoid_cross_entropy": {},
    "softmax_cross_entropy": {},
    "cosine_distance": {"axis": 1},
}


def _loss_of(tf: Any, np: Any, name: str, **options: Any) -> Any:
    low = 0.05 if name in ("log_loss", "cosine_distance") else -2
    labels = choices(np, (3, 4), "float32")
    if name == "softmax_cross_entropy":
        labels = np.eye(4, dtype="float32")[:3]
    values = tf.constant(reals(np, (3, 4), low, 0.95))
    return getattr(tf.losses, name)(labels, values, **_LOSSES[name], **options)


losses.over("{name}-plain", lambda tf, np, name: Plan(_loss_of(tf, np, name), names=True), name=[*_LOSSES])
losses.over(
    "{name}-weights-{weights}", _loss_of, name=[*_LOSSES], weights=(0.0, 2.5, [[1.0], [0.0], [2.0]], [1.0, 2.0])
)
losses.over(
    "{name}-{reduction}",
    _loss_of,
    name=[name for name in _LOSSES if name != "mean_pairwise_squared_error"],
    reduction=("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "mean"),
)


@losses("collected")
def _collected(tf: Any, np: Any) -> Plan:
    tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0])
    tf.losses.add_loss(tf.constant(3.0))
    tf.losses.absolute_difference([1.0], [5.0], scope="mine")
    facts = [len(tf.losses.get_losses()), len(tf.losses.get_losses("mine"))]
    return Plan([tf.losses.get_total_loss(), tf.losses.get_losses()], facts=facts, names=True)


losses.each(
    {
        "other-shapes": lambda tf, np: tf.losses.mean_squared_error([[1.0, 2.0]], [1.0, 2.0, 3.0]),
        "none": lambda tf, np: tf.losses.mean_squared_error(None, [1.0]),
        "sparse-softmax": lambda tf, np: tf.losses.sparse_softmax_cross_entropy([0, 2], reals(np, (2, 3))),
        "label-smoothing": lambda tf, np: tf.losses.softmax_cross_entropy(
            np.eye(3, dtype="float32"), reals(np, (3, 3)), label_smoothing=0.2
        ),
        "weighted": lambda tf, np: tf.losses.compute_weighted_loss([1.0, 2.0, 3.0], [0.0, 1.0, 1.0]),
    }
)


ctc = Family("ctc")


def _labels(tf: Any, np: Any, rows: Any) -> Any:
    places = [[r, c] for r, row in enumerate(rows) for c in range(len(row))]
    values = [label for row in rows for label in row]
    return tf.SparseTensor(np.array(places, "int64").reshape(-1, 2), np.array(values, "int32"), [len(rows), 9])


_ROWS = [[0, 1, 1, 2], [2, 2], [1], [0, 3, 0]]
_BOOLS = (False, True)
_TIMES = ([8, 8, 8, 8], [8, 3, 1, 5], [3, 4, 5, 6], [0, 3, 1, 4])


@ctc(
    "loss-{collapse}-{merges}-{ignores}-{lengths}",
    collapse=_BOOLS,
    merges=_BOOLS,
    ignores=_BOOLS,
    lengths={"-".join(map(str, each)): each for each in _TIMES},
)
def _with_gradient(tf: Any, np: Any, lengths: Any, **flags: bool) -> Any:
    x = tf.constant(reals(np, (8, 4, 5)))
    loss = tf.nn.ctc_loss(_labels(tf, np, _ROWS), x, lengths, *flags.values())
    return [loss, *tf.gradients(loss * [1.0, 2.0, 3.0, 4.0], x)]


def _loss(tf: Any, np: Any, rows: Any, lengths: Any = (8, 8), **others: Any) -> Any:
    x = tf.constant(reals(np, (8, 2, 5)))
    return tf.nn.ctc_loss(_labels(tf, np, rows), x, list(lengths), **others)


ctc.each(
    {
        "loss-without-labels": lambda tf, np: _loss(tf, np, [[], []]),
        "loss-of-blanks": lambda tf, np: _loss(tf, np, [[0, 4], [1, 2, 4, 5]]),
        "loss-after-blank": lambda tf, np: _loss(tf, np, [[4, 0], [1]]),
        "loss-below-zero": lambda tf, np: _loss(tf, np, [[0], [-1]]),
        "loss-too-long": lambda tf, np: _loss(tf, np, [[0], [1]], (9, 8)),
        "loss-other-batch": lambda tf, np: _loss(tf, np, [[0], [1]], (8, 8, 8)),
        "loss-beyond-batch": lambda tf, np: _loss(tf, np, [[0], [1], [2]]),
        "loss-batch-first": lambda tf, np: tf.nn.ctc_loss(
            _labels(tf, np, [[0], [1]]), reals(np, (2, 8, 5)), [8, 6], time_major=False
        ),
        "loss-of-logits": lambda tf, np: tf.nn.ctc_loss(
            _labels(tf, np, [[0], [1]]), sequence_length=[8, 6], logits=reals(np, (8, 2, 5))
        ),
        "loss-dense": lambda tf, np: tf.nn.ctc_loss(tf.constant([[1]]), reals(np, (8, 1, 5)), [8]),
    }
)


def _parts(found: Any) -> Any:
    paths, scores = found
    return [*paths, scores]


@ctc("greedy-{merges}-{blank}", merges=_BOOLS, blank=(None, 0, 2, -2, 5))
def _greedy(tf: Any, np: Any, merges: bool, blank: int | None) -> Any:
    x = wholes(np, (9, 3, 5)).astype("float32") + reals(np, (9, 3, 5)) / 9
    return _parts(tf.nn.ctc_greedy_decoder(x, [9, 5, 0], merges, blank))


_BEAMS = {f"{width}-{paths}": (width, paths) for width, paths in ((100, 1), (7, 3), (2, 2), (1, 1), (2, 3))}


@ctc("beams-{merges}-{beams}", merges=_BOOLS, beams=_BEAMS)
def _searched(tf: Any, np: Any, merges: bool, beams: tuple[int, int]) -> Any:
    x = reals(np, (9, 3, 5), -4, 4)
    return _parts(tf.nn.ctc_beam_search_decoder(x, [9, 5, 3], *beams, merges))


ctc.add("beams-later", lambda tf, np: _parts(tf.nn.ctc_beam_search_decoder_v2(reals(np, (9, 1, 4)), [9])))
ctc.over(
    "{name}-{x}",
    lambda tf, np, name, x: _parts(getattr(tf.nn, name)(reals(np, x[0]), [x[1]])),
    name=("ctc_greedy_decoder", "ctc_beam_search_decoder"),
    x={"too-long": ((4, 1, 3), 5), "rank": ((4, 3), 4)},
)

FAMILIES = [convolutions, pools, layers, losses, ctc]
