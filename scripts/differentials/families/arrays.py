"""Arguments of functions of arrays, slices, sparse tensors; scattering into variables, and what is refused.

What operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals, wholes
from scripts.differentials.program import Family, Plan, Step, on

__all__ = ["FAMILIES"]

arrays = Family("arrays")

_KNOWN = {"known": True, "unknown": False}
_ALONG: dict[str, Any] = {
    "concat": lambda tf, x, axis: tf.concat([x, x * 2, x], axis),
    "stack": lambda tf, x, axis: tf.stack([x, -x], axis),
    "expand-dims": lambda tf, x, axis: tf.expand_dims(x, axis),
    "unstack": lambda tf, x, axis: tf.unstack(x, axis=axis),
    "split": lambda tf, x, axis: tf.split(x, 2, axis),
    "cumsum": lambda tf, x, axis: tf.cumsum(x, axis),
    "cumprod": lambda tf, x, axis: tf.cumprod(x, axis, True),
    "reverse": lambda tf, x, axis: tf.reverse(x, [axis]),
    "roll": lambda tf, x, axis: tf.roll(x, 2, axis),
    "sort": lambda tf, x, axis: tf.sort(x, axis),
    "argsort": lambda tf, x, axis: tf.argsort(x, axis, direction="DESCENDING"),
    "repeat": lambda tf, x, axis: tf.repeat(x, 2, axis=axis),
}
_AXES = (0, 3, -4)
arrays.over("{call}-axis{axis}", on(lambda tf, x, call, axis: call(tf, x, axis)), call=_ALONG, axis=_AXES)
arrays.over("one-hot-axis{axis}", lambda tf, np, axis: tf.one_hot([[0, 2], [1, -1]], 3, 5.0, -1.0, axis), axis=_AXES)
arrays.over("squeeze-{axis}", on(lambda tf, x, axis: tf.squeeze(x, axis), (1, 3, 1)), axis=(None, 1, [0, 1]))
arrays.over(
    "pad-{mode}",
    on(lambda tf, x, mode: tf.pad(x, [[1, 1], [0, 2], [2, 0]], mode)),
    mode=("constant", "reflect", "EDGE"),
)
_RANGES: tuple[tuple[Any, ...], ...] = ((5,), (10, 1, -4), (0, 1, 0), (3, 3), (2.5,), (0.0, 1.0, 0.25), (5, 1))
arrays.over(
    "range-{args}", lambda tf, np, args: tf.range(*args), args={"-".join(map(str, args)): args for args in _RANGES}
)
_OF_DTYPE: dict[str, Any] = {
    "range-as": lambda tf, dtype: tf.range(4, dtype=dtype),
    "zeros-and-ones": lambda tf, dtype: [tf.zeros([2, 0, 1], dtype), tf.ones([2], dtype)],
    "fill": lambda tf, dtype: tf.fill([2, 3], tf.cast(7, dtype), name="f"),
}
arrays.over(
    "{call}-{dtype}", lambda tf, np, call, dtype: call(tf, dtype), call=_OF_DTYPE, dtype=("float32", "int64", "float64")
)
arrays.over("linspace-{number}", lambda tf, np, number: tf.linspace(1.0, 3.0, number), number=(1, 5, 0))
arrays.over(
    "shape-size-rank-{kind}",
    on(lambda tf, x, kind: [tf.shape(x, out_type=kind), tf.size(x, out_type=kind), tf.rank(x)]),
    kind=("int64", "float32"),
)
arrays.over(
    "meshgrid-{indexing}",
    lambda tf, np, indexing: tf.meshgrid([1, 2, 3], [4, 5], indexing=indexing),
    indexing=("xy", "ij", "ba"),
)
_OF_CUBE: dict[str, Any] = {
    "reshape-5x5": lambda tf, x: tf.reshape(x, [5, 5]),
    "reshape--1x-1-twice": lambda tf, x: tf.reshape(x, [-1, -1]),
    "reshape--1x7": lambda tf, x: tf.reshape(x, [-1, 7]),
    "tile-2x2": lambda tf, x: tf.tile(x, [2, 2]),
    "tile-1x-1x1": lambda tf, x: tf.tile(x, [1, -1, 1]),
    "top-5": lambda tf, x: tf.nn.top_k(x, 5),
    "transpose-bad-order": lambda tf, x: tf.transpose(x, [0, 1]),
    "transpose-twice-the-same": lambda tf, x: tf.transpose(x, [0, 1, 1]),
    "transpose-negative": lambda tf, x: tf.transpose(x, [-1, 0, 1]),
    "split-does-not-divide": lambda tf, x: tf.split(x, 2, 1),
    "split-wrong-sizes": lambda tf, x: tf.split(x, [1, 1], 1),
    "split-two-unknown": lambda tf, x: tf.split(x, [-1, -1], 2),
    "concat-of-one": lambda tf, x: tf.concat([x], 1),
    "concat-other-sizes": lambda tf, x: tf.concat([x, x[:, :2]], 0),
    "concat-values-last": lambda tf, x: tf.concat(1, [x, x]),
    "unstack-wrong-number": lambda tf, x: tf.unstack(x, 5),
    "shape-n": lambda tf, x: tf.shape_n([x, x[0], x[0, 0, 0]]),
    "where-rows": lambda tf, x: tf.where([True, False], x, -x),
    "where-other-shapes": lambda tf, x: tf.where(x > 0, x, 0.0),
    "boolean-mask": lambda tf, x: tf.boolean_mask(x, [True, False]),
    "boolean-mask-axis": lambda tf, x: tf.boolean_mask(x, [True, False, True], axis=1),
    "boolean-mask-wrong": lambda tf, x: tf.boolean_mask(x, [True, False, True]),
}
arrays.each(_OF_CUBE, on)
_OF_UNKNOWN: dict[str, Any] = {
    "reshape--1x-1-unknown": lambda tf, x: tf.reshape(x, [-1, -1]),
    "transpose-all": lambda tf, x: tf.transpose(x),
    "concat-along-unknown": lambda tf, x: tf.concat([x, x], 1),
    "unstack-unknown": lambda tf, x: tf.unstack(x),
    "shape-unknown": lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)],
}
arrays.each(_OF_UNKNOWN, lambda change: on(change, known=False))
_NUMBERS: dict[str, Any] = {
    "concat-of-scalars": lambda tf: tf.concat([1, 2], 0),
    "stack-of-numbers": lambda tf: tf.stack([1, 2.5, 3]),
    "stack-other-shapes": lambda tf: tf.stack([[1, 2], [3]]),
    "parallel-stack": lambda tf: tf.parallel_stack([[1, 4], [2, 5], [3, 6]]),
    "broadcast-4": lambda tf: tf.broadcast_to([[1.0], [2.0]], [4]),
    "meshgrid-three": lambda tf: tf.meshgrid([1.0], [2.0, 3.0], [4.0, 5.0]),
    "sequence-mask": lambda tf: [tf.sequence_mask([1, 3, 0]), tf.sequence_mask([[1], [2]], 2), tf.sequence_mask(3, 4)],
    "is-increasing": lambda tf: [
        each
        for few in ([1, 2, 2], [1, 2, 3], [2, 1])
        for each in (tf.is_non_decreasing(few), tf.is_strictly_increasing(few))
    ],
    "bincount": lambda tf: tf.bincount([1, 1, 3, 0, 1]),
    "bincount-weights": lambda tf: tf.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0]),
    "bincount-lengths": lambda tf: tf.bincount([1, 1, 3], minlength=6, maxlength=3),
    "confusion-matrix": lambda tf: tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]),
}
arrays.each(_NUMBERS, lambda make: lambda tf, np: make(tf))


slicing = Family("slicing")


_INDEXES: dict[str, Any] = {
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "two": lambda x: x[1, 2],
    "three": lambda x: x[1, 2, 3],
    "range": lambda x: x[:, 1:3],
    "step": lambda x: x[:, :, ::2],
    "back": lambda x: x[:, :, ::-1],
    "back-two": lambda x: x[:, :, ::-2],
    "ellipsis": lambda x: x[..., 1],
    "ellipsis-first": lambda x: x[0, ...],
    "ellipsis-alone": lambda x: x[...],
    "new-first": lambda x: x[None],
    "new-middle": lambda x: x[:, None, 1],
    "new-last": lambda x: x[..., None],
    "empty": lambda x: x[:, 2:1],
    "beyond": lambda x: x[:, 1:99],
    "negative-range": lambda x: x[:, -2:-1],
    "all": lambda x: x[:],
    "mixed": lambda x: x[1:, 0, ::3],
    "from-end-back": lambda x: x[:, 2:0:-1],
    "too-many": lambda x: x[0, 0, 0, 0],
    "outside": lambda x: x[5],
    "outside-negative": lambda x: x[-3],
    "text": lambda x: x["a"],
    "fraction": lambda x: x[1.5],
    "list": lambda x: x[[0, 1]],
    "bool": lambda x: x[True],
    "two-ellipses": lambda x: x[..., 0, ...],
    "zero-step": lambda x: x[::0],
    "tuple-in-tuple": lambda x: x[(0, 1)],
    "new-new": lambda x: x[None, None, 0],
    "chained": lambda x: x[1][2][1:3],
    "far-back": lambda x: x[:, :, -99:2],
    "back-beyond": lambda x: x[:, :, 99::-1],
    "none-only-stop": lambda x: x[:1, :2, :3],
}
slicing.over("{take}-{known}", on(lambda tf, x, take: take(x)), take=_INDEXES, known=_KNOWN)


_MASKS: dict[str, Any] = {
    "": ((1, 1, 1), (0, 1, 2, 4), (0, 1, 2, 5), (0, 1, 2, 4, 6)),
    "-back": ((-1, -2, -1), (0, 1, 4), (0, 2), (0,)),
    "-steps": ((2, 1, 3), (0, 1, 4), (0, 2), (0,)),
}


@slicing("masks{masks}", masks=_MASKS)
def _masked(tf: Any, np: Any, masks: Any) -> Plan:
    """Slice with many begin and end masks for each combination of the others."""
    strides, *others = masks
    begin, end = ([1, 0, 1], [3, 3, 4]) if strides[0] > 0 else ([2, 3, 4], [0, 1, 1])
    x = tf.placeholder(tf.float32, (3, 4, 5))
    found = {
        f"{first}-{last}-{ellipsis}-{new}-{shrink}": tf.strided_slice(
            x, begin, end, strides, first, last, ellipsis, new, shrink
        )
        for first, last in ((0, 0), (1, 2), (2, 4), (4, 1), (7, 0), (0, 7), (7, 7), (5, 3))
        for ellipsis, new, shrink in product(*others)
    }
    return Plan(found, {x: reals(np, (3, 4, 5))})


@slicing("fed-bounds")
def _fed_bounds(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, (2, 3, 4))
    start, stop = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    fed = {x: reals(np, (2, 3, 4)), start: 0, stop: 1}
    return Plan([x[start:stop], x[:, start], x[0, stop:]], fed)


@slicing("fed-index-outside")
def _fed_index(tf: Any, np: Any) -> Plan:
    x, index = tf.placeholder(tf.float32, (2, 3, 4)), tf.placeholder(tf.int32, [])
    return Plan(x[index], {x: reals(np, (2, 3, 4)), index: 7})


for _begin, _size in (
    ([0, 1, 1], [2, 2, 3]),
    ([1, 0, 0], [-1, -1, -1]),
    ([0, 0, 0], [0, 1, 4]),
    ([1, 2, 3], [1, 1, 1]),
    ([0, 0, 3], [2, 3, 4]),
    ([0, 0], [1, 1]),
    ([-1, 0, 0], [1, 1, 1]),
):
    slicing.over(
        "slice-{begin}-{size}-{known}",
        on(lambda tf, x, begin, size: tf.slice(x, begin, size)),
        begin=[_begin],
        size=[_size],
        known=_KNOWN,
    )


gathers, scatters = Family("gather"), Family("scatter")
segments, sparse = Family("segments"), Family("sparse")

_GATHERED: dict[str, Any] = {
    "axis3": lambda tf, x: tf.gather(x, [0, 1], axis=3),
    "batch2-axis2": lambda tf, x: tf.gather(x, [[0, 2], [1, 1]], axis=2, batch_dims=2),
    "batch-1": lambda tf, x: tf.gather(x, [[0, 2], [1, 1]], batch_dims=-1),
    "batch3-axis1": lambda tf, x: tf.gather(x, [[0, 2], [1, 1]], axis=1, batch_dims=3),
    "nd-too-long": lambda tf, x: tf.gather_nd(x, [[0] * 4]),
    "nd-outside": lambda tf, x: tf.gather_nd(x, [[2, 0]]),
    "nd-batch": lambda tf, x: tf.gather_nd(x[0], [[0], [2], [1]], batch_dims=1),
    "batch-gather": lambda tf, x: tf.batch_gather(x[0], [[0, 2], [1, 1], [0, 0]]),
}
gathers.each(_GATHERED, on)


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


@scatters("{name}", name=_SCATTERS)
def _scattered(tf: Any, np: Any, name: str) -> Plan:
    v = tf.Variable(reals(np, (4, 2), 1, 3))
    changed = getattr(tf, name)(v, [0, 2], tf.constant(reals(np, (2, 2), 1, 5)))
    return Plan(steps=[Step(changed), Step(changed), Step(v)])


@scatters("{name}-twice-one-row", name=_SCATTERS)
def _scattered_twice(tf: Any, np: Any, name: str) -> Plan:
    v = tf.Variable(wholes(np, (5,), 1, 9))
    changed = getattr(tf, name)(v, [[1], [1]], [[2], [5]])
    return Plan(steps=[Step(changed), Step(v)])


@scatters("{name}", name=("scatter_nd_update", "scatter_nd_add", "scatter_nd_sub"))
def _scattered_nd(tf: Any, np: Any, name: str) -> Plan:
    v = tf.Variable(reals(np, (3, 2)))
    index = tf.placeholder(tf.int32, [None, 2])
    changed = getattr(tf, name)(v, index, [10.0, 20.0])
    feeds = [{index: [[0, 1], [2, 0]]}, {index: [[0, 1], [0, 1]]}, {index: [[5, 0], [0, 0]]}]
    return Plan(steps=[*(Step(changed, fed) for fed in feeds), Step(v)])


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


segments.over(
    "unsorted-{name}-{ids}",
    lambda tf, np, name, ids: getattr(tf, f"unsorted_segment_{name}")(reals(np, (4, 2)), ids, 3),
    name=("mean", "sqrt_n"),
    ids={"".join(map(str, ids)): ids for ids in ([2, 0, 2, 0], [0, -1, 1, 1], [0, 9, 0, 0])},
)


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
    "parts": lambda tf, np, s: [s.indices, s.values, s.dense_shape],
    "matmul-wrong": lambda tf, np, s: tf.sparse_tensor_dense_matmul(s, reals(np, (3, 2))),
    "disordered-unchecked": lambda tf, np, s: tf.sparse_to_dense(
        [[1, 0], [0, 1]], [2, 2], [1.0, 2.0], validate_indices=False
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
    "retain": lambda tf, np, s: tf.sparse_retain(s, [True, False, True]),
    "to-indicator": lambda tf, np, s: tf.sparse_to_indicator(
        tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 2], tf.int64), [2, 1]), 4
    ),
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


FAMILIES = [arrays, slicing, gathers, scatters, segments, sparse]
