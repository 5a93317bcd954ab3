"""Neural networks: convolutions, pools, softmax, entropy, normalisation, matrix products."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals, wholes
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

convolutions, pools, layers = Family("conv"), Family("pool"), Family("nn")
FAMILIES = [convolutions, pools, layers]

for _padding, _stride, _rate, _order in product(
    ("SAME", "VALID"), (1, 2, 3), (1, 2), ("NHWC", "NCHW")
):
    if _order == "NCHW" or (_stride > 1 and _rate > 1):
        continue

    def _conv(
        tf: Any, np: Any, padding: str = _padding, stride: int = _stride, rate: int = _rate
    ) -> Any:
        x, f = tf.constant(reals(np, (2, 7, 6, 3))), tf.constant(reals(np, (3, 2, 3, 4)))
        y = tf.nn.conv2d(x, f, [1, stride, stride, 1], padding, dilations=[1, rate, rate, 1])
        return [y, *tf.gradients(y * y, [x, f])]

    convolutions.add(f"2d-{_padding}-{_stride}-{_rate}", _conv)
for _padding, _stride in product(("SAME", "VALID"), (1, 2)):

    def _conv1(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        return tf.nn.conv1d(reals(np, (2, 8, 3)), reals(np, (3, 3, 2)), stride, padding)

    def _conv3(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        x, f = tf.constant(reals(np, (1, 4, 5, 4, 2))), tf.constant(reals(np, (2, 2, 2, 2, 3)))
        y = tf.nn.conv3d(x, f, [1, stride, stride, stride, 1], padding)
        return [y, *tf.gradients(y, [x, f])]

    def _depthwise(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        x, f = tf.constant(reals(np, (1, 6, 5, 2))), tf.constant(reals(np, (3, 3, 2, 2)))
        y = tf.nn.depthwise_conv2d(x, f, [1, stride, stride, 1], padding)
        return [y, *tf.gradients(y, [x, f])]

    def _transposed(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        f = tf.constant(reals(np, (3, 3, 2, 4)))
        size = 4 * stride if padding == "SAME" else 4 * stride + 3 - stride
        y = tf.nn.conv2d_transpose(
            tf.constant(reals(np, (1, 4, 4, 4))),
            f,
            [1, size, size, 2],
            [1, stride, stride, 1],
            padding,
        )
        return [y, tf.gradients(y, f)]

    def _separable(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        return tf.nn.separable_conv2d(
            reals(np, (1, 6, 6, 2)),
            reals(np, (2, 2, 2, 2)),
            reals(np, (1, 1, 4, 3)),
            [1, stride, stride, 1],
            padding,
        )

    def _dilated(tf: Any, np: Any, padding: str = _padding, stride: int = _stride) -> Any:
        return [
            tf.nn.dilation2d(
                reals(np, (1, 5, 5, 2)),
                reals(np, (2, 2, 2)),
                strides=[1, stride, stride, 1],
                rates=[1, 1, 1, 1],
                padding=padding,
            ),
            tf.nn.convolution(
                reals(np, (1, 7, 7, 2)), reals(np, (2, 2, 2, 1)), padding, [stride, stride]
            ),
        ]

    for _name, _build in (
        ("1d", _conv1),
        ("3d", _conv3),
        ("depthwise", _depthwise),
        ("transpose", _transposed),
        ("separable", _separable),
        ("dilation", _dilated),
    ):
        convolutions.add(f"{_name}-{_padding}-{_stride}", _build)
    for _name in ("max", "avg"):
        for _size in (2, 3):

            def _pool(
                tf: Any,
                np: Any,
                name: str = _name,
                size: int = _size,
                padding: str = _padding,
                stride: int = _stride,
            ) -> Any:
                x = tf.constant(reals(np, (2, 6, 5, 2)))
                y = getattr(tf.nn, f"{name}_pool")(
                    x, [1, size, size, 1], [1, stride, stride, 1], padding
                )
                return [y, *tf.gradients(y * y, x)]

            pools.add(f"{_name}-{_size}-{_padding}-{_stride}", _pool)

        def _pool3(
            tf: Any, np: Any, name: str = _name, padding: str = _padding, stride: int = _stride
        ) -> Any:
            x = tf.constant(reals(np, (1, 4, 4, 4, 2)))
            pool = getattr(tf.nn, f"{name}_pool3d")
            return pool(x, [1, 2, 2, 2, 1], [1, stride, stride, stride, 1], padding)

        def _pool1(
            tf: Any, np: Any, name: str = _name, padding: str = _padding, stride: int = _stride
        ) -> Any:
            return getattr(tf.nn, f"{name}_pool1d")(reals(np, (2, 7, 3)), 3, stride, padding)

        pools.add(f"{_name}3d-{_padding}-{_stride}", _pool3)
        pools.add(f"{_name}1d-{_padding}-{_stride}", _pool1)
pools.add("general-max", lambda tf, np: tf.nn.pool(reals(np, (1, 5, 5, 1)), [2, 2], "MAX", "SAME"))
pools.add("general-avg", lambda tf, np: tf.nn.pool(reals(np, (1, 5, 5, 1)), [3, 2], "AVG", "VALID"))
pools.add(
    "with-argmax",
    lambda tf, np: list(
        tf.nn.max_pool_with_argmax(reals(np, (1, 4, 4, 2)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    ),
)
pools.add(
    "unknown-size",
    lambda tf, np: Plan(
        tf.nn.max_pool(
            tf.placeholder_with_default(reals(np, (1, 4, 4, 1)), [None, None, None, 1]),
            2,
            2,
            "SAME",
        )
    ),
)
pools.add("too-large", lambda tf, np: tf.nn.max_pool(reals(np, (1, 2, 2, 1)), 3, 1, "VALID"))
pools.add("wrong-padding", lambda tf, np: tf.nn.max_pool(reals(np, (1, 4, 4, 1)), 2, 1, "FULL"))
convolutions.add(
    "wrong-depth",
    lambda tf, np: tf.nn.conv2d(
        reals(np, (1, 4, 4, 3)), reals(np, (2, 2, 2, 1)), [1, 1, 1, 1], "SAME"
    ),
)
convolutions.add(
    "explicit-padding",
    lambda tf, np: tf.nn.conv2d(
        reals(np, (1, 4, 4, 1)), reals(np, (2, 2, 1, 1)), 1, [[0, 0], [1, 0], [0, 2], [0, 0]]
    ),
)
convolutions.add(
    "unknown-batch",
    lambda tf, np: tf.nn.conv2d(
        tf.placeholder_with_default(reals(np, (2, 4, 4, 1)), [None, 4, 4, 1]),
        reals(np, (2, 2, 1, 3)),
        1,
        "SAME",
    ),
)
convolutions.add(
    "float64",
    lambda tf, np: tf.nn.conv2d(
        reals(np, (1, 4, 4, 1), dtype="float64"),
        reals(np, (2, 2, 1, 2), dtype="float64"),
        1,
        "SAME",
    ),
)
convolutions.add(
    "atrous",
    lambda tf, np: tf.nn.atrous_conv2d(
        reals(np, (1, 7, 7, 1)), reals(np, (2, 2, 1, 2)), 2, "VALID"
    ),
)

for _name in ("softmax", "log_softmax"):
    for _axis in (-1, 0, 1, 5):
        layers.add(
            f"{_name}-axis{_axis}",
            lambda tf, np, name=_name, axis=_axis: getattr(tf.nn, name)(reals(np, (2, 3, 4)), axis),
        )

    def _large(tf: Any, np: Any, name: str = _name) -> Any:
        x = tf.constant([[1000.0, 1001.0], [-1000.0, 0.0]])
        y = getattr(tf.nn, name)(x)
        return [y, *tf.gradients(y[:, 0], x)]

    layers.add(f"{_name}-large", _large)


def _entropy(tf: Any, np: Any) -> tuple[Any, Any]:
    labels = tf.nn.softmax(tf.constant(reals(np, (3, 4), 0, 1)))
    return labels, tf.constant(reals(np, (3, 4), -3, 3))


@layers("softmax-cross-entropy")
def _softmax_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    return [loss, *tf.gradients(loss, [labels, logits])]


@layers("softmax-cross-entropy-of-version-one")
def _old_entropy(tf: Any, np: Any) -> Any:
    labels, logits = _entropy(tf, np)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return [loss, tf.gradients(loss, logits)[0], _present(tf.gradients(loss, labels), tf)]


def _present(found: list[Any], tf: Any) -> Any:
    """Return a constant that states for each gradient whether it exists."""
    return tf.constant([each is not None for each in found])


layers.add(
    "softmax-cross-entropy-positional",
    lambda tf, np: tf.nn.softmax_cross_entropy_with_logits(*_entropy(tf, np)),
)


@layers("sparse-softmax-cross-entropy")
def _sparse_entropy(tf: Any, np: Any) -> Any:
    logits = tf.constant(reals(np, (3, 4), -3, 3))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=logits)
    return [loss, *tf.gradients(loss, logits)]


layers.add(
    "sparse-softmax-label-outside",
    lambda tf, np: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[0, 4], logits=reals(np, (2, 4))
    ),
)
layers.add(
    "sparse-softmax-wrong-shape",
    lambda tf, np: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[[0], [1]], logits=reals(np, (2, 4))
    ),
)
layers.add(
    "sigmoid-cross-entropy",
    lambda tf, np: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=reals(np, (3,), 0, 1), logits=reals(np, (3,), -50, 50)
    ),
)
layers.add(
    "weighted-cross-entropy",
    lambda tf, np: tf.nn.weighted_cross_entropy_with_logits(
        labels=reals(np, (3,), 0, 1), logits=reals(np, (3,), -5, 5), pos_weight=2.5
    ),
)
for _full in (False, True):
    layers.add(
        f"poisson-loss-{_full}",
        lambda tf, np, full=_full: tf.nn.log_poisson_loss(
            reals(np, (3,), 0, 5), reals(np, (3,), -1, 1), full
        ),
    )
layers.add("l2-loss", lambda tf, np: tf.nn.l2_loss(reals(np, (3, 4))))
for _axes in (0, 1, [0, 1], None):
    layers.add(
        f"l2-normalize-{_axes}".replace(" ", ""),
        lambda tf, np, axis=_axes: tf.nn.l2_normalize(reals(np, (3, 4)), axis),
    )
    layers.add(
        f"moments-{_axes}".replace(" ", ""),
        lambda tf, np, axis=_axes: list(
            tf.nn.moments(
                tf.constant(reals(np, (3, 4))),
                [axis] if isinstance(axis, int) else axis,
                keep_dims=True,
            )
        ),
    )
for _names in ("NHWC", "NCHW", None, "XYZ"):
    layers.add(
        f"bias-{_names}",
        lambda tf, np, names=_names: tf.nn.bias_add(
            reals(np, (2, 3, 3, 3)), reals(np, (3,)), names
        ),
    )
layers.add("bias-wrong", lambda tf, np: tf.nn.bias_add(reals(np, (2, 3)), reals(np, (2,))))
layers.add(
    "xw-plus-b",
    lambda tf, np: tf.nn.xw_plus_b(reals(np, (2, 3)), reals(np, (3, 4)), reals(np, (4,))),
)
layers.add(
    "relu-layer",
    lambda tf, np: tf.nn.relu_layer(reals(np, (2, 3)), reals(np, (3, 4)), reals(np, (4,))),
)
layers.add("zero-fraction", lambda tf, np: tf.nn.zero_fraction(tf.nn.relu(reals(np, (5, 5)))))
layers.add(
    "batch-normalization",
    lambda tf, np: tf.nn.batch_normalization(
        reals(np, (2, 3)),
        reals(np, (3,)),
        reals(np, (3,), 0.5, 2),
        reals(np, (3,), 1, 3),
        None,
        1e-3,
    ),
)
for _training in (True, False):

    def _fused(tf: Any, np: Any, training: bool = _training) -> Any:
        x = tf.constant(reals(np, (2, 3, 3, 2)))
        scale, offset = tf.constant([1.5, 0.5]), tf.constant([0.1, -0.2])
        given = {} if training else {"mean": [0.1, 0.2], "variance": [1.1, 0.9]}
        y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, **given)
        return [y, mean, variance, *tf.gradients(y * y * y, [x, scale, offset])]

    layers.add(f"fused-batch-norm-{_training}", _fused)
layers.add("lrn", lambda tf, np: tf.nn.lrn(reals(np, (1, 2, 2, 7)), 2, 1.0, 0.5, 0.75))
layers.add(
    "weighted-moments",
    lambda tf, np: list(
        tf.nn.weighted_moments(
            tf.constant(reals(np, (3, 4))), [0], tf.constant(reals(np, (3, 4), 0.1, 1))
        )
    ),
)
layers.add(
    "sufficient-statistics",
    lambda tf, np: list(tf.nn.sufficient_statistics(tf.constant(reals(np, (3, 4))), [0]))[:3],
)
layers.add(
    "elu-second-slope",
    lambda tf, np: (lambda x: tf.gradients(tf.gradients(tf.nn.elu(x) ** 2, x), x))(
        tf.constant(reals(np, (6,)))
    ),
)
for _share in (0.0, 0.5, 1.0):
    layers.add(
        f"dropout-{_share}",
        lambda tf, np, rate=_share: Plan(tf.nn.dropout(tf.ones([4, 5]), rate=rate), random=True),
    )
layers.add("dropout-keep-prob", lambda tf, np: Plan(tf.nn.dropout(tf.ones([4]), 1.0)))
for _a, _b in product((False, True), repeat=2):

    def _matmul(tf: Any, np: Any, a: bool = _a, b: bool = _b) -> Any:
        x = tf.constant(reals(np, (2, 3, 4) if a else (2, 4, 3)))
        y = tf.constant(reals(np, (2, 5, 3) if b else (2, 3, 5)))
        z = tf.matmul(x, y, transpose_a=a, transpose_b=b)
        return [z, *tf.gradients(z * z, [x, y])]

    layers.add(f"matmul-{_a}-{_b}", _matmul)
layers.add(
    "matmul-broadcast", lambda tf, np: tf.matmul(reals(np, (2, 1, 2, 3)), reals(np, (3, 3, 4)))
)
layers.add("matmul-wrong", lambda tf, np: tf.matmul(reals(np, (2, 3)), reals(np, (2, 3))))
layers.add("matmul-vector", lambda tf, np: tf.matmul(reals(np, (2, 3)), reals(np, (3,))))
layers.add(
    "matmul-empty", lambda tf, np: tf.matmul(np.ones((2, 0), "float32"), np.ones((0, 3), "float32"))
)
layers.add("matmul-int32", lambda tf, np: tf.matmul(wholes(np, (2, 3)), wholes(np, (3, 2))))
layers.add(
    "matmul-complex",
    lambda tf, np: tf.matmul(
        tf.complex(reals(np, (2, 2)), reals(np, (2, 2), 0, 1)),
        tf.complex(reals(np, (2, 2)), reals(np, (2, 2))),
        adjoint_a=True,
    ),
)
layers.add(
    "normalize-moments",
    lambda tf, np: list(
        tf.nn.normalize_moments(10.0, tf.constant([3.0, 4.0]), tf.constant([30.0, 5.0]), 0.5)
    ),
)
