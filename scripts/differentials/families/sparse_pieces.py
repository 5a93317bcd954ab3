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


for _count in (1, 2, 3, 5, 6, 0):
    for _axis in (0, 1, -1, 2):
        sparse.add(
            f"split-{_count}-axis{_axis}",
            lambda tf, np, count=_count, axis=_axis: tf.sparse_split(
                sp_input=_sparse(tf, np, 6, 5), num_split=count, axis=axis
            ),
        )
sparse.add("split-by-position", lambda tf, np: tf.sparse_split(_sparse(tf, np, 6, 5), 2, 1))
sparse.add(
    "split-without-axis",
    lambda tf, np: tf.sparse_split(sp_input=_sparse(tf, np, 6, 5), num_split=2),
)
for _kind in ("sum", "max"):
    for _axes in (None, 0, 1, -1, [0, 1], 2):
        for _keeps in (False, True):
            sparse.add(
                f"reduce-{_kind}-{_axes}-{_keeps}".replace(" ", ""),
                lambda tf, np, kind=_kind, axes=_axes, keeps=_keeps: _static_free(
                    tf,
                    getattr(tf, f"sparse_reduce_{kind}_sparse")(
                        _sparse(tf, np, 4, 5), axes, keepdims=keeps
                    ),
                ),
            )


def _static_free(tf: Any, made: Any) -> Any:
    """Return the components without static shapes, which TensorFlow does not infer."""
    return [
        tf.placeholder_with_default(part, None)
        for part in (made.indices, made.values, made.dense_shape)
    ]


for _name in ("sparse_minimum", "sparse_maximum"):
    sparse.add(
        _name.replace("_", "-"),
        lambda tf, np, name=_name: getattr(tf, name)(
            _sparse(tf, np, 4, 5), _sparse(tf, np, 4, 5, low=-1.0)
        ),
    )
    sparse.add(
        f"{_name.replace('_', '-')}-other-shapes",
        lambda tf, np, name=_name: getattr(tf, name)(_sparse(tf, np, 4, 5), _sparse(tf, np, 4, 6)),
    )
for _name in ("union", "intersection", "difference"):
    sparse.add(
        f"sets-dense-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)(
            wholes(np, (3, 2, 5)), wholes(np, (3, 2, 4))
        ),
    )
    sparse.add(
        f"sets-mixed-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)(
            wholes(np, (4, 5)), _sparse(tf, np, 4, 6, dtype="int32")
        ),
    )
    sparse.add(
        f"sets-turned-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)(
            _sparse(tf, np, 4, 6, dtype="int32"), wholes(np, (4, 5))
        ),
    )
    sparse.add(
        f"sets-sparse-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)(
            _sparse(tf, np, 4, 6, dtype="int32"), _sparse(tf, np, 4, 5, dtype="int32")
        ),
    )
    sparse.add(
        f"sets-words-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)([["b", "a"]], [["c", "b", "c"]]),
    )
    sparse.add(
        f"sets-others-{_name}",
        lambda tf, np, name=_name: getattr(tf.sets, name)([[1, 2]], [[1], [2]]),
    )
    sparse.add(
        f"sets-reals-{_name}", lambda tf, np, name=_name: getattr(tf.sets, name)([[1.0]], [[2.0]])
    )
sparse.add(
    "sets-size",
    lambda tf, np: tf.placeholder_with_default(
        tf.sets.size(_sparse(tf, np, 3, 4, 5, dtype="int32")), None
    ),
)
sparse.add(
    "sets-size-jumbled",
    lambda tf, np: tf.placeholder_with_default(
        tf.sets.size(tf.SparseTensor([[0, 1], [0, 0]], [1, 2], [1, 2])), None
    ),
)
for _combiner in ("mean", "sum", "sqrtn", "most"):
    for _default in (None, 3):
        for _weighted in (False, True):
            sparse.add(
                f"safe-lookup-{_combiner}-{_default}-{_weighted}",
                lambda tf, np, how=_combiner, default=_default, weighted=_weighted: (
                    tf.nn.safe_embedding_lookup_sparse(
                        tf.constant(reals(np, (5, 3))),
                        tf.SparseTensor(
                            [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]],
                            tf.constant([1, -1, 2, 3, 0], tf.int64),
                            [6, 2],
                        ),
                        tf.SparseTensor(
                            [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]],
                            [1.0, 2.0, 0.0, 0.5, 2.0],
                            [6, 2],
                        )
                        if weighted
                        else None,
                        how,
                        default,
                    )
                ),
            )

for _dtype in ("float32", "int32"):
    sparse.add(
        f"serialized-{_dtype}",
        lambda tf, np, dtype=_dtype: [
            tf.serialize_sparse(_sparse(tf, np, 4, 5, dtype=dtype)),
            tf.serialize_many_sparse(_sparse(tf, np, 4, 5, dtype=dtype)),
        ],
    )
    sparse.add(
        f"deserialized-{_dtype}",
        lambda tf, np, dtype=_dtype: tf.deserialize_many_sparse(
            tf.serialize_many_sparse(_sparse(tf, np, 4, 5, 3, dtype=dtype)), tf.float32, rank=3
        ),
    )
