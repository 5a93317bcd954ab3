"""Reductions over all kinds of axes."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Build, Family, Plan

__all__ = ["FAMILIES"]

reductions = Family("reductions")
FAMILIES = [reductions]


def _cube(
    tf: Any, np: Any, shape: Any = (2, 3, 4), known: bool = True
) -> tuple[Any, dict[Any, Any]]:
    """Return a placeholder of float32 and its feeds."""
    x = tf.placeholder(tf.float32, shape if known else [None] * len(shape))
    return x, {x: reals(np, shape)}


def _applied(change: Any, shape: Any = (2, 3, 4), known: bool = True) -> Build:
    def build(tf: Any, np: Any) -> Plan:
        x, feeds = _cube(tf, np, shape, known)
        return Plan(change(tf, x), feeds)

    return build


_REDUCERS = ["sum", "mean", "max", "min", "prod", "logsumexp"]
_AXES: list[Any] = [None, 0, -1, [0, 2], [], [1], 3, [0, 0], [-3, 1]]
for _name, _axis_or_axes in product(_REDUCERS, _AXES):
    _what = str(_axis_or_axes).replace(" ", "")
    reductions.add(
        f"{_name}-{_what}",
        _applied(
            lambda tf, x, name=_name, axis=_axis_or_axes: getattr(tf, f"reduce_{name}")(x, axis)
        ),
    )
for _name in _REDUCERS:
    reductions.add(
        f"{_name}-keeps",
        _applied(lambda tf, x, name=_name: getattr(tf, f"reduce_{name}")(x, [1], keepdims=True)),
    )
    reductions.add(
        f"{_name}-old-arguments",
        _applied(
            lambda tf, x, name=_name: getattr(tf, f"reduce_{name}")(
                x, keep_dims=True, reduction_indices=[0, 1]
            )
        ),
    )
    for _dtype in ("int32", "float64", "bool", "uint8", "complex64"):
        reductions.add(
            f"{_name}-of-{_dtype}",
            lambda tf, np, name=_name, dtype=_dtype: getattr(tf, f"reduce_{name}")(
                tf.cast(tf.constant(wholes(np, (3, 4), 0, 9)), dtype), 0
            ),
        )
    reductions.add(
        f"{_name}-empty",
        _applied(lambda tf, x, name=_name: getattr(tf, f"reduce_{name}")(x, 1), (2, 0)),
    )
    reductions.add(
        f"{_name}-unknown",
        _applied(lambda tf, x, name=_name: getattr(tf, f"reduce_{name}")(x, [-1, 0]), known=False),
    )
    reductions.add(
        f"{_name}-nan",
        lambda tf, np, name=_name: getattr(tf, f"reduce_{name}")(
            [[1.0, np.nan], [np.inf, 2.0], [-np.inf, np.inf]], 1
        ),
    )
for _name in ("all", "any"):
    for _axis_or_axes in (None, 0, [1], []):
        reductions.add(
            f"{_name}-{_axis_or_axes}".replace(" ", ""),
            lambda tf, np, name=_name, axis=_axis_or_axes: getattr(tf, f"reduce_{name}")(
                choices(np, (3, 2)), axis
            ),
        )
for _name in ("argmax", "argmin"):
    for _axis in (None, 0, 2, -1, 5):
        reductions.add(
            f"{_name}-{_axis}",
            _applied(lambda tf, x, name=_name, axis=_axis: getattr(tf, name)(x, axis)),
        )
    reductions.add(
        f"{_name}-int32",
        _applied(lambda tf, x, name=_name: getattr(tf, name)(x, 1, output_type=tf.int32)),
    )
    reductions.add(
        f"{_name}-of-equals",
        lambda tf, np, name=_name: getattr(tf, name)([[1, 2, 2], [0, 0, 1]], 1),
    )
for _name in ("reduce_variance", "reduce_std", "reduce_euclidean_norm"):
    for _axis_or_axes in (None, 1, [0, 2]):
        reductions.add(
            f"{_name}-{_axis_or_axes}".replace(" ", ""),
            _applied(lambda tf, x, name=_name, axis=_axis_or_axes: getattr(tf.math, name)(x, axis)),
        )
reductions.add("count-nonzero", lambda tf, np: tf.count_nonzero(wholes(np, (4, 3), 0, 2), 0))
reductions.add("add-n", _applied(lambda tf, x: tf.add_n([x, x, -2 * x + 1])))
reductions.add("add-n-other-shapes", _applied(lambda tf, x: tf.add_n([x, x[0]])))
reductions.add("accumulate-n", _applied(lambda tf, x: tf.accumulate_n([x, x, x])))
