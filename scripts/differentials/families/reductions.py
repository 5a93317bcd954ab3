"""Reductions over all kinds of axes."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, wholes
from scripts.differentials.program import Family, on

__all__ = ["FAMILIES"]

reductions = Family("reductions")
FAMILIES = [reductions]

_REDUCERS = {name: f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")}
_AXES: list[Any] = [None, 0, -1, [0, 2], [], [1], 3, [0, 0], [-3, 1]]
_NAN = [[1.0, float("nan")], [float("inf"), 2.0], [-float("inf"), float("inf")]]
_OLD = {"keep_dims": True, "reduction_indices": [0, 1]}


def _axis(tf: Any, x: Any, name: str, axis: Any) -> Any:
    return getattr(tf, name)(x, axis)


def _of_dtype(tf: Any, np: Any, name: str, dtype: str) -> Any:
    return getattr(tf, name)(tf.cast(tf.constant(wholes(np, (3, 4), 0, 9)), dtype), 0)


reductions.over("{name}-{axis}", on(_axis), name=_REDUCERS, axis=_AXES)
reductions.over(
    "{name}-of-{dtype}", _of_dtype, name=_REDUCERS, dtype=("int32", "float64", "bool", "uint8", "complex64")
)
for _what, _build in {
    "keeps": on(lambda tf, x, name: getattr(tf, name)(x, [1], keepdims=True)),
    "old-arguments": on(lambda tf, x, name: getattr(tf, name)(x, **_OLD)),
    "empty": on(lambda tf, x, name: getattr(tf, name)(x, 1), (2, 0)),
    "unknown": on(lambda tf, x, name: getattr(tf, name)(x, [-1, 0]), known=False),
    "nan": lambda tf, np, name: getattr(tf, name)(_NAN, 1),
}.items():
    reductions.over(f"{{name}}-{_what}", _build, name=_REDUCERS)
reductions.over(
    "{name}-{axis}",
    lambda tf, np, name, axis: getattr(tf, f"reduce_{name}")(choices(np, (3, 2)), axis),
    name=("all", "any"),
    axis=(None, 0, [1], []),
)
_EXTREMES = ("argmax", "argmin")
reductions.over("{name}-{axis}", on(_axis), name=_EXTREMES, axis=(None, 0, 2, -1, 5))
reductions.over("{name}-int32", on(lambda tf, x, name: getattr(tf, name)(x, 1, output_type=tf.int32)), name=_EXTREMES)
reductions.over("{name}-of-equals", lambda tf, np, name: getattr(tf, name)([[1, 2, 2], [0, 0, 1]], 1), name=_EXTREMES)
reductions.over(
    "{name}-{axis}",
    on(lambda tf, x, name, axis: getattr(tf.math, name)(x, axis)),
    name=("reduce_variance", "reduce_std", "reduce_euclidean_norm"),
    axis=(None, 1, [0, 2]),
)
reductions.add("count-nonzero", lambda tf, np: tf.count_nonzero(wholes(np, (4, 3), 0, 2), 0))
reductions.add("add-n", on(lambda tf, x: tf.add_n([x, x, -2 * x + 1])))
reductions.add("add-n-other-shapes", on(lambda tf, x: tf.add_n([x, x[0]])))
reductions.add("accumulate-n", on(lambda tf, x: tf.accumulate_n([x, x, x])))
