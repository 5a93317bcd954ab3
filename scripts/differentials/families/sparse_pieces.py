"""Sparse tensors: splits, reductions, extremes, sets, and safe lookups in tables."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

sparse = Family("sparse-pieces")
FAMILIES = [sparse]


def _sparse(tf: Any, np: Any, *shape: int, low: float = -2.0, dtype: str = "float32") -> Any:
    there = np.argwhere(choices(np, shape))
    numbers = reals(np, shape, low, low + 4) * (9 if dtype != "float32" else 1)
    return tf.SparseTensor(there, numbers[tuple(there.T)].astype(dtype), shape)


sparse.over(
    "split-{count}-axis{axis}",
    lambda tf, np, count, axis: tf.sparse_split(sp_input=_sparse(tf, np, 6, 5), num_split=count, axis=axis),
    count=(2, 6, 0),
    axis=(0, -1, 2),
)
sparse.over(
    "reduce-{kind}-2-{keeps}",
    lambda tf, np, kind, keeps: getattr(tf, f"sparse_reduce_{kind}_sparse")(_sparse(tf, np, 4, 5), 2, keepdims=keeps),
    kind=("sum", "max"),
    keeps=(False, True),
)


def _static_free(tf: Any, value: Any) -> Any:
    """Return a value without its static shape, which TensorFlow does not infer."""
    return tf.placeholder_with_default(value, None)


_SETS: dict[str, Any] = {
    "dense": lambda tf, np: (wholes(np, (3, 2, 5)), wholes(np, (3, 2, 4))),
    "mixed": lambda tf, np: (wholes(np, (4, 5)), _sparse(tf, np, 4, 6, dtype="int32")),
    "turned": lambda tf, np: (_sparse(tf, np, 4, 6, dtype="int32"), wholes(np, (4, 5))),
    "sparse": lambda tf, np: [_sparse(tf, np, 4, size, dtype="int32") for size in (6, 5)],
    "words": lambda tf, np: ([["b", "a"]], [["c", "b", "c"]]),
    "others": lambda tf, np: ([[1, 2]], [[1], [2]]),
    "reals": lambda tf, np: ([[1.0]], [[2.0]]),
}
sparse.over(
    "sets-{pair}",
    lambda tf, np, pair: [getattr(tf.sets, way)(*pair(tf, np)) for way in ("union", "intersection", "difference")],
    pair=_SETS,
)
_PLACES = [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]]


@sparse("safe-lookup-{how}-{weighted}", how=("mean", "sum", "sqrtn", "most"), weighted=(False, True))
def _lookup(tf: Any, np: Any, how: str, weighted: bool) -> Any:
    ids = tf.SparseTensor(_PLACES, tf.constant([1, -1, 2, 3, 0], tf.int64), [6, 2])
    weights = tf.SparseTensor(_PLACES, [1.0, 2.0, 0.0, 0.5, 2.0], [6, 2]) if weighted else None
    table = tf.constant(reals(np, (5, 3)))
    return [tf.nn.safe_embedding_lookup_sparse(table, ids, weights, how, default) for default in (None, 3)]


sparse.each(
    {
        "minimum-maximum": lambda tf, np: [
            extreme(_sparse(tf, np, 4, 5), _sparse(tf, np, 4, 5, low=-1.0))
            for extreme in (tf.sparse_minimum, tf.sparse_maximum)
        ],
        "minimum-other-shapes": lambda tf, np: tf.sparse_minimum(_sparse(tf, np, 4, 5), _sparse(tf, np, 4, 6)),
        "deserialized-int32": lambda tf, np: tf.deserialize_many_sparse(
            tf.serialize_many_sparse(_sparse(tf, np, 4, 5, 3, dtype="int32")), tf.float32, rank=3
        ),
        "split-by-position": lambda tf, np: tf.sparse_split(_sparse(tf, np, 6, 5), 2, 1),
        "split-without-axis": lambda tf, np: tf.sparse_split(sp_input=_sparse(tf, np, 6, 5), num_split=2),
        "sets-size": lambda tf, np: _static_free(tf, tf.sets.size(_sparse(tf, np, 3, 4, 5, dtype="int32"))),
        "sets-size-jumbled": lambda tf, np: _static_free(
            tf, tf.sets.size(tf.SparseTensor([[0, 1], [0, 0]], [1, 2], [1, 2]))
        ),
    }
)
