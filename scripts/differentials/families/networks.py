"""Functions of neural networks that consist of several operations, and labels without alignment (CTC).

What operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

convolutions, pools, layers = Family("conv"), Family("pool"), Family("nn")

_SIZES: dict[str, Any] = {"padding": ("SAME", "VALID"), "stride": (1, 2)}
convolutions.over(
    "1d-{padding}-{stride}",
    lambda tf, np, padding, stride: tf.nn.conv1d(reals(np, (2, 8, 3)), reals(np, (3, 3, 2)), stride, padding),
    **_SIZES,
)


@convolutions("transpose-{padding}-{stride}", **_SIZES)
def _transposed(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, f = tf.constant(reals(np, (1, 4, 4, 4))), tf.constant(reals(np, (3, 3, 2, 4)))
    size = 4 * stride if padding == "SAME" else 4 * stride + 3 - stride
    y = tf.nn.conv2d_transpose(x, f, [1, size, size, 2], [1, stride, stride, 1], padding)
    return [y, tf.gradients(y, f)]


@convolutions("separable-{padding}-{stride}", **_SIZES)
def _separable(tf: Any, np: Any, padding: str, stride: int) -> Any:
    x, *filters = (reals(np, shape) for shape in ((1, 6, 6, 2), (2, 2, 2, 2), (1, 1, 4, 3)))
    return [
        tf.nn.separable_conv2d(x, *filters, [1, stride, stride, 1], padding),
        tf.nn.convolution(x, filters[0], padding, [stride, stride]),
    ]


pools.over(
    "{name}1d-{padding}-{stride}",
    lambda tf, np, name, padding, stride: getattr(tf.nn, name)(reals(np, (2, 7, 3)), 3, stride, padding),
    name={"max": "max_pool1d", "avg": "avg_pool1d"},
    **_SIZES,
)
_BY_NUMBERS: dict[str, Any] = {
    "pool/general-max": lambda nn, r: nn.pool(r(1, 5, 5, 1), [2, 2], "MAX", "SAME"),
    "pool/general-avg": lambda nn, r: nn.pool(r(1, 5, 5, 1), [3, 2], "AVG", "VALID"),
    "pool/too-large": lambda nn, r: nn.max_pool(r(1, 2, 2, 1), 3, 1, "VALID"),
    "pool/wrong-padding": lambda nn, r: nn.max_pool(r(1, 4, 4, 1), 2, 1, "FULL"),
    "conv/wrong-depth": lambda nn, r: nn.conv2d(r(1, 4, 4, 3), r(2, 2, 2, 1), [1] * 4, "SAME"),
    "conv/explicit-padding": lambda nn, r: nn.conv2d(r(1, 4, 4, 1), r(2, 2, 1, 1), 1, [[0, 0], [1, 0], [0, 2], [0, 0]]),
    "conv/atrous": lambda nn, r: nn.atrous_conv2d(r(1, 7, 7, 1), r(2, 2, 1, 2), 2, "VALID"),
    "nn/softmax-axis5": lambda nn, r: nn.softmax(r(2, 3), 5),
    "nn/log_softmax-axis5": lambda nn, r: nn.log_softmax(r(2, 3), 5),
    "nn/sparse-softmax-wrong-shape": lambda nn, r: nn.sparse_softmax_cross_entropy_with_logits(
        labels=[[0], [1]], logits=r(2, 4)
    ),
    "nn/sigmoid-cross-entropy": lambda nn, r: nn.sigmoid_cross_entropy_with_logits(
        labels=r(3, low=0, high=1), logits=r(3, low=-50, high=50)
    ),
    "nn/weighted-cross-entropy": lambda nn, r: nn.weighted_cross_entropy_with_logits(
        labels=r(3, low=0, high=1), logits=r(3, low=-5, high=5), pos_weight=2.5
    ),
    "nn/poisson-loss": lambda nn, r: [nn.log_poisson_loss(r(3, low=0, high=5), r(3), full) for full in (False, True)],
    "nn/bias-wrong": lambda nn, r: nn.bias_add(r(2, 3), r(2)),
    "nn/bias-XYZ": lambda nn, r: nn.bias_add(r(2, 3, 3, 3), r(3), "XYZ"),
    "nn/xw-plus-b": lambda nn, r: nn.xw_plus_b(r(2, 3), r(3, 4), r(4)),
    "nn/relu-layer": lambda nn, r: nn.relu_layer(r(2, 3), r(3, 4), r(4)),
    "nn/zero-fraction": lambda nn, r: nn.zero_fraction(nn.relu(r(5, 5))),
    "nn/batch-normalization": lambda nn, r: nn.batch_normalization(
        r(2, 3), r(3), r(3, low=0.5, high=2), r(3, low=1, high=3), None, 1e-3
    ),
    "nn/l2-normalize": lambda nn, r: [nn.l2_normalize(r(3, 4), axis) for axis in (0, 1, [0, 1], None)],
    "nn/moments": lambda nn, r: [nn.moments(r(3, 4), axes, keep_dims=True) for axes in ([0], [1], [0, 1])],
    "nn/weighted-moments": lambda nn, r: nn.weighted_moments(r(3, 4), [0], r(3, 4, low=0.1, high=1)),
    "nn/sufficient-statistics": lambda nn, r: nn.sufficient_statistics(r(3, 4), [0])[:3],
    "nn/normalize-moments": lambda nn, r: nn.normalize_moments(10.0, [3.0, 4.0], [30.0, 5.0], 0.5),
    "nn/dropout-keep-prob": lambda nn, r: nn.dropout(r(4), 1.0),
    "nn/dropout-0": lambda nn, r: nn.dropout(r(4), rate=0.0),
    "nn/dropout-1": lambda nn, r: nn.dropout(r(4), rate=1.0),
    "nn/dropout-half": lambda nn, r: Plan(nn.dropout(r(4, 5), rate=0.5), random=True),
}
for _name, _call in _BY_NUMBERS.items():
    _family, _, _what = _name.partition("/")
    {family.name: family for family in (convolutions, pools, layers)}[_family].over(
        _what,
        lambda tf, np, call: call(tf.nn, lambda *shape, **more: tf.constant(reals(np, shape, **more))),
        call=[_call],
    )


def _entropy(tf: Any, np: Any) -> tuple[Any, Any]:
    labels = tf.nn.softmax(tf.constant(reals(np, (3, 4), 0, 1)))
    return labels, tf.constant(reals(np, (3, 4), -3, 3))


@layers("softmax-cross-entropy")
def _softmax_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=logits)
    return [loss, sparse, *tf.gradients(loss, [labels, logits]), *tf.gradients(sparse, logits)]


@layers("softmax-cross-entropy-of-version-one")
def _old_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    present = [each is not None for each in tf.gradients(loss, labels)]
    return [loss, tf.gradients(loss, logits)[0], tf.constant(present)]


layers.add(
    "softmax-cross-entropy-positional", lambda tf, np: tf.nn.softmax_cross_entropy_with_logits(*_entropy(tf, np))
)


@layers("fused-batch-norm-{training}", training=(True, False))
def _fused(tf: Any, np: Any, training: bool) -> Any:
    x = tf.constant(reals(np, (2, 3, 3, 2)))
    scale, offset = tf.constant([1.5, 0.5]), tf.constant([0.1, -0.2])
    given = {} if training else {"mean": [0.1, 0.2], "variance": [1.1, 0.9]}
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)
    return [y, mean, variance, *tf.gradients(y * y * y, [x, scale, offset])]


layers.over(
    "matmul-{shapes}",
    lambda tf, np, shapes: tf.matmul(*(tf.constant(reals(np, shape)) for shape in shapes)),
    shapes={"broadcast": ((2, 1, 2, 3), (3, 3, 4)), "wrong": ((2, 3), (2, 3)), "vector": ((2, 3), (3,))},
)


ctc = Family("ctc")


def _labels(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [1, 0]], tf.constant([0, 1]), [2, 9])


_CTC: dict[str, Any] = {
    "other-batch": lambda tf, x: tf.nn.ctc_loss(_labels(tf), x, [8, 8, 8]),
    "batch-first": lambda tf, x: tf.nn.ctc_loss(_labels(tf), tf.transpose(x, [1, 0, 2]), [8, 6], time_major=False),
    "of-logits": lambda tf, x: tf.nn.ctc_loss(_labels(tf), sequence_length=[8, 6], logits=x),
    "dense": lambda tf, x: tf.nn.ctc_loss(tf.constant([[1]]), x, [8]),
    "greedy": lambda tf, x: tf.nn.ctc_greedy_decoder(x, [8, 5], False, -2),
    "beams": lambda tf, x: tf.nn.ctc_beam_search_decoder(x, [8, 3], 7, 3, False),
    "beams-later": lambda tf, x: tf.nn.ctc_beam_search_decoder_v2(x, [8, 8]),
    "greedy-rank": lambda tf, x: tf.nn.ctc_greedy_decoder(x[0], [4]),
    "beams-rank": lambda tf, x: tf.nn.ctc_beam_search_decoder(x[0], [4]),
    "beams-too-long": lambda tf, x: tf.nn.ctc_beam_search_decoder(x, [9, 9]),
}
ctc.each(_CTC, lambda call: lambda tf, np: call(tf, tf.constant(reals(np, (8, 2, 5)))))

FAMILIES = [convolutions, pools, layers, ctc]
