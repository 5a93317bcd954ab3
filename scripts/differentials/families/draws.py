"""Random numbers: their dtypes, shapes and properties, because the sequences differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

randoms = Family("random")
FAMILIES = [randoms]


_DRAWS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda tf: tf.random_normal([3, 2]),
    "uniform": lambda tf: tf.random_uniform([3, 2]),
    "uniform-range": lambda tf: tf.random_uniform([4], 5.0, 6.0),
    "uniform-int": lambda tf: tf.random_uniform([4], 2, 9, tf.int32),
    "uniform-int64": lambda tf: tf.random_uniform([4], maxval=9, dtype=tf.int64),
    "truncated": lambda tf: tf.truncated_normal([5]),
    "normal-float64": lambda tf: tf.random_normal([2], dtype=tf.float64),
    "normal-half": lambda tf: tf.random_normal([2], dtype=tf.float16),
    "uniform-int-no-max": lambda tf: tf.random_uniform([2], dtype=tf.int32),
    "shape-of-a-tensor": lambda tf: tf.random_normal(tf.constant([2, 3])),
    "uniform-of-text": lambda tf: tf.random_uniform([2], dtype=tf.string),
    "uniform-empty-range": lambda tf: tf.random_uniform([2], 5, 5, tf.int32),
    "negative-shape": lambda tf: tf.random_normal([-1]),
    "fed-mean": lambda tf: tf.random_normal([2, 3], mean=tf.constant([1.0, 2.0, 3.0])),
    "scalar": lambda tf: tf.random_normal([]),
    "empty": lambda tf: tf.random_uniform([0, 2]),
}
randoms.each(_DRAWS, lambda draw: lambda tf, np: Plan(draw(tf), random=True, names=True))
_OTHERS: dict[str, Callable[[Any], Any]] = {
    "shuffle": lambda tf: tf.random_shuffle([1, 2, 3]),
    "crop": lambda tf: tf.random_crop(tf.zeros([4, 4]), [2, 2]),
    "gamma": lambda tf: tf.random_gamma([2], 1.5),
    "poisson": lambda tf: tf.random_poisson(2.0, [3]),
    "multinomial": lambda tf: tf.multinomial([[0.1, 0.2, 3.0]], 4),
}
randoms.each(_OTHERS, lambda draw: lambda tf, np: Plan(draw(tf), random=True))
# Only truth values are fetched, so that values can be compared.
_TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform-stays-in-range": lambda tf, np: (lambda x: [tf.reduce_all(x >= 5), tf.reduce_all(x < 6)])(
        tf.random_uniform([500], 5.0, 6.0)
    ),
    "uniform-int-takes-all": lambda tf, np: tf.size(tf.unique(tf.random_uniform([500], 0, 4, tf.int32))[0]),
    "truncated-stays-within-two": lambda tf, np: tf.reduce_all(tf.abs(tf.truncated_normal([500])) <= 2.0),
    "normal-has-its-mean": lambda tf, np: tf.abs(tf.reduce_mean(tf.random_normal([4000], 3.0)) - 3.0) < 0.3,
    "two-draws-differ": lambda tf, np: tf.reduce_any(tf.not_equal(tf.random_normal([9]), tf.random_normal([9]))),
    "one-draw-is-one": lambda tf, np: (lambda x: tf.reduce_all(tf.equal(x, x)))(tf.random_normal([9])),
    "same-seed-same-numbers": lambda tf, np: tf.reduce_all(
        tf.equal(tf.random_uniform([9], seed=3), tf.random_uniform([9], seed=3))
    ),
}
randoms.each(_TRUTHS)


@randoms("graph-seed-fixes-operation-seeds")
def _seeds(tf: Any, np: Any) -> Plan:
    out = [tf.get_seed(None), tf.get_seed(5)]
    tf.set_random_seed(7)
    out += [tf.get_seed(5), tf.get_seed(None)]
    tf.constant(1)
    return Plan(facts=[*map(list, out), list(tf.get_seed(None)), list(tf.get_seed(0))])


@randoms("seeded-sessions-agree")
def _agree(tf: Any, np: Any) -> Plan:
    tf.set_random_seed(7)
    x = tf.random_normal([5])

    def drive(session: Any) -> Any:
        def both() -> Any:
            with tf.Session(graph=x.graph) as one, tf.Session(graph=x.graph) as two:
                first = [one.run(x), one.run(x)], [two.run(x), two.run(x)]
            return [bool((a == b).all()) for a, b in zip(*first, strict=True)] + [
                bool((first[0][0] == first[0][1]).all())
            ]

        return [both]

    return Plan(drive=drive)
