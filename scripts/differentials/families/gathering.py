"""Gathering and scattering, segments, partitions, sparse tensors."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals, wholes
from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

gathers, scatters = Family("gather"), Family("scatter")
segments, sparse = Family("segments"), Family("sparse")
FAMILIES = [gathers, scatters, segments, sparse]

gathers.over(
    "axis{axis}-{indices}",
    lambda tf, np, axis, indices: tf.gather(reals(np, (2, 3, 4)), tf.constant(indices, tf.int32), axis=axis),
    axis=(0, 1, -1, 3),
    indices=(1, [0, 1], [[1, 0], [0, 0]], []),
)
for _dims, _place in ((1, 1), (1, 2), (2, 2), (1, None), (-1, None), (3, 1)):
    gathers.over(
        "batch{dims}-axis{axis}",
        lambda tf, np, dims, axis: tf.gather(reals(np, (2, 3, 4)), [[0, 2], [1, 1]], axis=axis, batch_dims=dims),
        dims=[_dims],
        axis=[_place],
    )
_PLACES: list[Any] = [[[0], [1]], [[0, 1]], [[[1, 2, 3]], [[0, 0, 0]]], [0, 2], [[]], [[0] * 4]]
gathers.over(
    "nd-{indices}",
    lambda tf, np, indices: tf.gather_nd(reals(np, (2, 3, 4)), tf.constant(indices, tf.int32)),
    indices=[*_PLACES, [[2, 0]]],
)
gathers.add("nd-batch", lambda tf, np: tf.gather_nd(reals(np, (2, 3)), [[0], [2]], batch_dims=1))
gathers.add("batch-gather", lambda tf, np: tf.batch_gather(reals(np, (2, 3)), [[0, 2], [1, 1]]))


@gathers("fed-index-outside")
def _outside(tf: Any, np: Any) -> Plan:
    index = tf.placeholder(tf.int32, [None])
    x = tf.constant([1.0, 2.0, 3.0])
    return Plan(tf.gather(x, index), steps=[Step(tf.gather(x, index), {index: fed}) for fed in ([0, 2], [3], [-1], [])])


@gathers("from-a-variable")
def _from_variable(tf: Any, np: Any) -> Plan:
    v = tf.Variable(reals(np, (4, 2)), name="table")
    rows = tf.gather(v, [3, 0, 3])
    slope = tf.gradients(rows * [[1.0, 2.0]], v)[0]
    return Plan([rows, tf.nn.embedding_lookup(v, [[1], [2]]), slope])


@gathers("embedding-of-parts")
def _parts(tf: Any, np: Any) -> list[Any]:
    tables = [tf.constant(reals(np, (2, 3), high)) for high in (-1, 0, 1)]
    return [tf.nn.embedding_lookup(tables, [0, 5, 3, 1], partition_strategy=strategy) for strategy in ("mod", "div")]


_SCATTERS = {f"scatter_{name}": f"scatter_{name}" for name in ["update", "add", "sub", "mul", "div", "min", "max"]}


@scatters("{name}-{number}", name=_SCATTERS, number=(2, 5))
def _scattered(tf: Any, np: Any, name: str, number: int) -> Plan:
    v = tf.Variable(reals(np, (4, 2), 1, 3))
    changed = getattr(tf, name)(v, [0, 2], tf.constant(reals(np, (2, 2), 1, number)))
    return Plan(steps=[Step(changed), Step(changed), Step(v)])


@scatters("{name}-{number}-twice-one-row", name=_SCATTERS, number=(2, 5))
def _scattered_twice(tf: Any, np: Any, name: str, number: int) -> Plan:
    v = tf.Variable(wholes(np, (5,), 1, 9))
    changed = getattr(tf, name)(v, [[1], [1]], [[number], [number]])
    return Plan(steps=[Step(changed), Step(v)])


@scatters("{name}", name=("scatter_nd_update", "scatter_nd_add", "scatter_nd_sub"))
def _scattered_nd(tf: Any, np: Any, name: str) -> Plan:
    v = tf.Variable(reals(np, (3, 2)))
    index = tf.placeholder(tf.int32, [None, 2])
    changed = getattr(tf, name)(v, index, [10.0, 20.0])
    feeds = [{index: [[0, 1], [2, 0]]}, {index: [[0, 1], [0, 1]]}, {index: [[5, 0], [0, 0]]}]
    return Plan(steps=[*(Step(changed, fed) for fed in feeds), Step(v)])


@scatters("tensor-{name}", name=("update", "add", "sub", "min", "max"))
def _tensor_scattered(tf: Any, np: Any, name: str) -> Plan:
    x = tf.constant(reals(np, (4, 3)))
    function = getattr(tf, f"tensor_scatter_nd_{name}")
    return Plan([function(x, [[1], [3]], reals(np, (2, 3))), function(x, [[0, 2]], [9.0])])


for _shape, _indices in (([5], [[1], [3]]), ([2, 2], [[0, 1], [1, 0]]), ([5], [[1], [1]]), ([2], [[0], [5]])):
    scatters.over(
        "nd-{shape}-{indices}",
        lambda tf, np, shape, indices: tf.scatter_nd(indices, [1.5, 2.5], shape),
        shape=[_shape],
        indices=[_indices],
    )


@scatters("outside")
def _scatter_outside(tf: Any, np: Any) -> Plan:
    v, index = tf.Variable([1.0, 2.0]), tf.placeholder(tf.int32, [None])
    changed = tf.scatter_update(v, index, [5.0])
    return Plan(steps=[Step(changed, {index: [2]}), Step(v), Step(changed, {index: [1]}), Step(v)])


@scatters("slices-of-a-variable")
def _scatter_slices(tf: Any, np: Any) -> Plan:
    v = tf.Variable(np.zeros((3, 2), "float32"))
    added = v.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 0])))
    part = v[1].assign([7.0, 8.0])
    return Plan(steps=[Step(added), Step(part), Step(v)])


def _joined(*lists: list[int]) -> dict[str, list[int]]:
    return {"".join(map(str, ids)): ids for ids in lists}


segments.over(
    "{name}-{ids}",
    lambda tf, np, name, ids: getattr(tf, f"segment_{name}")(reals(np, (4, 2)), ids),
    name=("sum", "mean", "prod", "min", "max"),
    ids=_joined([0, 0, 1, 3], [0, 1, 2, 3], [1, 0, 0, 0]),
)
segments.over(
    "unsorted-{name}-{ids}",
    lambda tf, np, name, ids: getattr(tf, f"unsorted_segment_{name}")(reals(np, (4, 2)), ids, 3),
    name=("sum", "mean", "prod", "min", "max", "sqrt_n"),
    ids=_joined([2, 0, 2, 0], [0, -1, 1, 1], [0, 9, 0, 0]),
)
_MEANS = {name: f"sparse_segment_{name}" for name in ("sum", "mean", "sqrt_n")}
segments.over(
    "sparse-{name}", lambda tf, np, name: getattr(tf, name)(reals(np, (5, 2)), [4, 0, 2], [0, 0, 1]), name=_MEANS
)


@segments("sparse-{name}-slope", name=_MEANS)
def _slope(tf: Any, np: Any, name: str) -> Any:
    x = tf.constant(reals(np, (5, 2)))
    return tf.gradients(getattr(tf, name)(x, [4, 0, 4], [0, 0, 1]) ** 2, x)


segments.add("partition", lambda tf, np: tf.dynamic_partition(reals(np, (5, 2)), [0, 1, 0, 2, 1], 3))
segments.add("partition-outside", lambda tf, np: tf.dynamic_partition([1.0, 2.0], [0, 3], 2))
segments.add("stitch", lambda tf, np: tf.dynamic_stitch([[0, 2], [3, 1]], [[1.0, 2.0], [3.0, 4.0]]))
segments.add("stitch-later-wins", lambda tf, np: tf.dynamic_stitch([[0, 1], [1]], [[1, 2], [9]]))
segments.add("stitch-gaps", lambda tf, np: tf.shape(tf.dynamic_stitch([[0], [4]], [[1], [2]])))


@segments("partition-and-stitch")
def _round_trip(tf: Any, np: Any) -> Any:
    x = tf.constant(reals(np, (6,)))
    where = tf.cast(x > 0, tf.int32)
    parts = tf.dynamic_partition(x, where, 2)
    places = tf.dynamic_partition(tf.range(6), where, 2)
    return tf.dynamic_stitch(places, [-parts[0], parts[1] * 10])


def _sparse(tf: Any, np: Any) -> Any:
    return tf.SparseTensor([[0, 1], [1, 0], [2, 3]], tf.constant(reals(np, (3,))), [3, 4])


_SPARSE: dict[str, Any] = {
    "itself": lambda tf, np, s: s,
    "to-dense": lambda tf, np, s: tf.sparse_tensor_to_dense(s),
    "to-dense-default": lambda tf, np, s: tf.sparse_tensor_to_dense(s, -1.0),
    "parts": lambda tf, np, s: [s.indices, s.values, s.dense_shape],
    "matmul": lambda tf, np, s: tf.sparse_tensor_dense_matmul(s, reals(np, (4, 2))),
    "matmul-adjoint": lambda tf, np, s: tf.sparse_tensor_dense_matmul(s, reals(np, (3, 2)), adjoint_a=True),
    "matmul-wrong": lambda tf, np, s: tf.sparse_tensor_dense_matmul(s, reals(np, (3, 2))),
    "add-sparse": lambda tf, np, s: tf.sparse_add(s, s),
    "add-dense": lambda tf, np, s: tf.sparse_add(s, tf.ones([3, 4])),
    "reorder": lambda tf, np, s: tf.sparse_reorder(tf.SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 2])),
    "from-dense-indices": lambda tf, np, s: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [1.0, 2.0], 9.0),
    "disordered-dense": lambda tf, np, s: tf.sparse_to_dense([[1, 0], [0, 1]], [2, 2], [1.0, 2.0]),
    "disordered-unchecked": lambda tf, np, s: tf.sparse_to_dense(
        [[1, 0], [0, 1]], [2, 2], [1.0, 2.0], validate_indices=False
    ),
    "edit-distance": lambda tf, np, s: tf.edit_distance(
        tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]), tf.SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])
    ),
    "embedding": lambda tf, np, s: tf.nn.embedding_lookup_sparse(
        tf.constant(reals(np, (5, 2))),
        tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 4], tf.int64), [2, 2]),
        None,
        combiner="mean",
    ),
    "slope-of-values": lambda tf, np, s: tf.gradients(
        tf.sparse_tensor_dense_matmul(s, reals(np, (4, 2))) ** 2, s.values
    ),
    "slope-of-dense": lambda tf, np, s: tf.gradients(tf.sparse_tensor_to_dense(s) ** 3, s.values),
    "reshape": lambda tf, np, s: tf.sparse_reshape(s, [2, 6]),
    "concat": lambda tf, np, s: tf.sparse_concat(0, [s, s]),
    "slice": lambda tf, np, s: tf.sparse_slice(s, [0, 1], [2, 3]),
    "transpose": lambda tf, np, s: tf.sparse_transpose(s),
    "retain": lambda tf, np, s: tf.sparse_retain(s, [True, False, True]),
    "reduce-sum": lambda tf, np, s: tf.sparse_reduce_sum(s, 1),
    "softmax": lambda tf, np, s: tf.sparse_softmax(s),
    "to-indicator": lambda tf, np, s: tf.sparse_to_indicator(
        tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 2], tf.int64), [2, 1]), 4
    ),
    "fill-empty-rows": lambda tf, np, s: list(tf.sparse_fill_empty_rows(s, 5.0)),
}
sparse.each(_SPARSE, lambda make: lambda tf, np: make(tf, np, _sparse(tf, np)))


@sparse("placeholder")
def _fed_sparse(tf: Any, np: Any) -> Plan:
    s = tf.sparse_placeholder(tf.float32)
    dense = tf.sparse_tensor_to_dense(s)
    value = tf.SparseTensorValue([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    return Plan(steps=[Step(dense, {s: value}), Step(dense, {s: ([[0, 1]], [5.0], [1, 2])}), Step(s, {s: value})])


@sparse("indexed-slices")
def _slices(tf: Any, np: Any) -> Any:
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([2, 0]), tf.constant([3, 1]))
    return [slices, tf.convert_to_tensor(slices)]


@sparse("mask-{indices}", indices={"2": [2], "0-4": [0, 4], "nothing": []})
def _mask(tf: Any, np: Any, indices: list[int]) -> Any:
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([4, 2, 0]))
    return tf.sparse_mask(slices, indices)
