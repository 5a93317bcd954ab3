"""Sparse tensors: slices, reductions, extremes, sets, and safe lookups in tables."""

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
    count=(1, 2, 3, 5, 6, 0),
    axis=(0, 1, -1, 2),
)


@sparse("reduce-{kind}-{axes}-{keeps}", kind=("sum", "max"), axes=(None, 0, 1, -1, [0, 1], 2), keeps=(False, True))
def _reduced(tf: Any, np: Any, kind: str, axes: Any, keeps: bool) -> Any:
    """Return the components without static shapes, which TensorFlow does not infer."""
    reduce = getattr(tf, f"sparse_reduce_{kind}_sparse")
    made = reduce(_sparse(tf, np, 4, 5), axes, keepdims=keeps)
    return [_static_free(tf, part) for part in (made.indices, made.values, made.dense_shape)]


def _static_free(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(value, None)


for _name in ("sparse_minimum", "sparse_maximum"):
    sparse.over(
        f"{_name.replace('_', '-')}{{end}}",
        lambda tf, np, name, end: getattr(tf, name)(_sparse(tf, np, 4, 5), end(tf, np)),
        name=[_name],
        end={"": lambda tf, np: _sparse(tf, np, 4, 5, low=-1.0), "-other-shapes": lambda tf, np: _sparse(tf, np, 4, 6)},
    )
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
    "sets-{pair}-{name}",
    lambda tf, np, pair, name: getattr(tf.sets, name)(*pair(tf, np)),
    pair=_SETS,
    name=("union", "intersection", "difference"),
)
_PLACES = [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]]


@sparse(
    "safe-lookup-{how}-{default}-{weighted}",
    how=("mean", "sum", "sqrtn", "most"),
    default=(None, 3),
    weighted=(False, True),
)
def _lookup(tf: Any, np: Any, how: str, default: Any, weighted: bool) -> Any:
    ids = tf.SparseTensor(_PLACES, tf.constant([1, -1, 2, 3, 0], tf.int64), [6, 2])
    weights = tf.SparseTensor(_PLACES, [1.0, 2.0, 0.0, 0.5, 2.0], [6, 2]) if weighted else None
    table = tf.constant(reals(np, (5, 3)))
    return tf.nn.safe_embedding_lookup_sparse(table, ids, weights, how, default)


@sparse("serialized-{dtype}", dtype=("float32", "int32"))
def _serialized(tf: Any, np: Any, dtype: str) -> Any:
    made = _sparse(tf, np, 4, 5, dtype=dtype)
    return [tf.serialize_sparse(made), tf.serialize_many_sparse(made)]


@sparse("deserialized-{dtype}", dtype=("float32", "int32"))
def _deserialized(tf: Any, np: Any, dtype: str) -> Any:
    rows = tf.serialize_many_sparse(_sparse(tf, np, 4, 5, 3, dtype=dtype))
    return tf.deserialize_many_sparse(rows, tf.float32, rank=3)


sparse.each(
    {
        "split-by-position": lambda tf, np: tf.sparse_split(_sparse(tf, np, 6, 5), 2, 1),
        "split-without-axis": lambda tf, np: tf.sparse_split(sp_input=_sparse(tf, np, 6, 5), num_split=2),
        "sets-size": lambda tf, np: _static_free(tf, tf.sets.size(_sparse(tf, np, 3, 4, 5, dtype="int32"))),
        "sets-size-jumbled": lambda tf, np: _static_free(
            tf, tf.sets.size(tf.SparseTensor([[0, 1], [0, 0]], [1, 2], [1, 2]))
        ),
    }
)
