"""Shapes, selection, sorting and slices; gathering, scattering and segments."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

from scripts.differentials.numbers import choices, reals, wholes
from scripts.differentials.program import Build, Family, Plan, Step, on, sized

__all__ = ["FAMILIES"]

arrays = Family("arrays")

_KNOWN = {"known": True, "unknown": False}
_ORDERS = {"".join(map(str, order)): order for order in permutations(range(3))}
arrays.over("transpose-{order}", on(lambda tf, x, order: tf.transpose(x, order)), order=_ORDERS)
arrays.over(
    "reshape-{shape}-{known}",
    on(lambda tf, x, shape: tf.reshape(x, shape)),
    shape=sized([-1], [6, 4], [4, -1], [2, 3, 4, 1], [-1, 2, 2], [5, 5], [-1, -1], [-1, 7], []),
    known=_KNOWN,
)
_ALONG: dict[str, Any] = {
    "concat": lambda tf, x, axis: tf.concat([x, x * 2, x], axis),
    "stack": lambda tf, x, axis: tf.stack([x, -x], axis),
    "expand-dims": lambda tf, x, axis: tf.expand_dims(x, axis),
    "unstack": lambda tf, x, axis: tf.unstack(x, axis=axis),
    "split": lambda tf, x, axis: tf.split(x, 2, axis),
    "reverse": lambda tf, x, axis: tf.reverse(x, [axis]),
    "roll": lambda tf, x, axis: tf.roll(x, 2, axis),
    "sort": lambda tf, x, axis: tf.sort(x, axis),
    "argsort": lambda tf, x, axis: tf.argsort(x, axis, direction="DESCENDING"),
    "repeat": lambda tf, x, axis: tf.repeat(x, 2, axis=axis),
}
_AXES = (0, 1, 2, -1, 3, -4)
arrays.over("{call}-axis{axis}", on(lambda tf, x, call, axis: call(tf, x, axis)), call=_ALONG, axis=_AXES)
arrays.over("one-hot-axis{axis}", lambda tf, np, axis: tf.one_hot([[0, 2], [1, -1]], 3, 5.0, -1.0, axis), axis=_AXES)
arrays.over(
    "{name}-axis{axis}{exclusive}{back}",
    on(lambda tf, x, name, axis, **ways: getattr(tf, name)(x, axis, *ways.values())),
    name=("cumsum", "cumprod"),
    axis=_AXES,
    exclusive={"": False, "-exclusive": True},
    back={"": False, "-reverse": True},
)
for _sizes, _axis in (([1, 2], 1), ([1, -1], 1), ([4], 2), ([1, 1], 1), ([0, 2], 0), ([-1, -1], 2)):
    arrays.over(
        "split-{sizes}-axis{axis}",
        on(lambda tf, x, sizes, axis: tf.split(x, sizes, axis)),
        sizes=sized(_sizes),
        axis=[_axis],
    )
arrays.over(
    "squeeze-{axis}", on(lambda tf, x, axis: tf.squeeze(x, axis), (1, 3, 1)), axis=(None, 0, [0, 2], -1, 1, [0, 1])
)
arrays.over(
    "tile-{multiples}",
    on(lambda tf, x, multiples: tf.tile(x, multiples)),
    multiples=sized([1, 1, 1], [2, 1, 3], [0, 1, 1], [2, 2], [1, -1, 1]),
)
_PADDINGS = ([[1, 1], [0, 2], [2, 0]], [[0, 0], [0, 0], [0, 0]], [[1, 0], [3, 0], [0, 4]])
arrays.over(
    "pad-{mode}-{paddings}",
    on(lambda tf, x, mode, paddings: tf.pad(x, paddings, mode)),
    mode=("CONSTANT", "REFLECT", "SYMMETRIC", "constant", "EDGE"),
    paddings={"-".join("".join(map(str, pair)) for pair in each): each for each in _PADDINGS},
)
_RANGES: tuple[tuple[Any, ...], ...] = (
    (5,),
    (2, 6),
    (1, 10, 3),
    (10, 1, -4),
    (0, 1, 0),
    (3, 3),
    (2.5,),
    (0.0, 1.0, 0.25),
    (5, 1),
)
arrays.over(
    "range-{args}", lambda tf, np, args: tf.range(*args), args={"-".join(map(str, args)): args for args in _RANGES}
)
_OF_DTYPE: dict[str, Any] = {
    "range-as": lambda tf, dtype: tf.range(4, dtype=dtype),
    "zeros-and-ones": lambda tf, dtype: [tf.zeros([2, 0, 1], dtype), tf.ones([2], dtype)],
    "fill": lambda tf, dtype: tf.fill([2, 3], tf.cast(7, dtype), name="f"),
}
arrays.over(
    "{call}-{dtype}",
    lambda tf, np, call, dtype: call(tf, dtype),
    call=_OF_DTYPE,
    dtype=("float32", "int64", "float64", "int32"),
)
arrays.over("linspace-{number}", lambda tf, np, number: tf.linspace(1.0, 3.0, number), number=(1, 2, 5, 0))
arrays.over(
    "shape-size-rank-{kind}",
    on(lambda tf, x, kind: [tf.shape(x, out_type=kind), tf.size(x, out_type=kind), tf.rank(x)]),
    kind=("int32", "int64", "float32"),
)
for _lengths, _most in (([1, 3, 0], None), ([1, 3, 0], 5), ([[1], [2]], 2), (3, 4)):
    arrays.over(
        "sequence-mask-{most}-{lengths}",
        lambda tf, np, lengths, most: tf.sequence_mask(lengths, most),
        lengths=[_lengths],
        most=[_most],
    )
arrays.over(
    "band-{low}-{up}", on(lambda tf, x, low, up: tf.matrix_band_part(x, low, up)), low=(0, 1, -1), up=(0, 1, -1)
)
arrays.over(
    "broadcast-{shape}",
    lambda tf, np, shape: tf.broadcast_to(tf.constant(reals(np, (3, 1))), shape),
    shape=sized((2, 3, 4), (3, 4), (4,), (3, 1), (1, 1)),
)
arrays.over(
    "meshgrid-{indexing}",
    lambda tf, np, indexing: tf.meshgrid([1, 2, 3], [4, 5], indexing=indexing),
    indexing=("xy", "ij", "ba"),
)
for _block in (2, 3):
    _blocks: dict[str, Any] = {
        "space-to-depth": (lambda tf, x, n: tf.space_to_depth(x, n), (1, 6, 6, 2)),
        "depth-to-space": (lambda tf, x, n: tf.depth_to_space(x, n), (1, 2, 1, 36)),
        "space-to-batch": (lambda tf, x, n: tf.space_to_batch(x, [[0, 0]] * 2, n), (1, 6, 6, 1)),
        "batch-to-space-nd": (lambda tf, x, n: tf.batch_to_space_nd(x, [n], [[1, 0]]), (6, 3, 2)),
    }
    for _name, (_change, _shape) in _blocks.items():
        arrays.over(f"{_name}-{{n}}", on(_change, _shape), n=[_block])
_UNIQUE = ("unique", "unique_with_counts")
arrays.over("{name}", lambda tf, np, name: list(getattr(tf, name)([3, 1, 3, 2, 1, 1])), name=_UNIQUE)
arrays.over(
    "{name}-int64", lambda tf, np, name: list(getattr(tf, name)(["b", "a", "b"], out_idx=tf.int64)), name=_UNIQUE
)
arrays.over(
    "searchsorted-{side}",
    lambda tf, np, side: tf.searchsorted([1.0, 2.0, 2.0, 5.0], [0.0, 2.0, 9.0], side=side),
    side=("left", "right"),
)
arrays.over("top-{k}", on(lambda tf, x, k: list(tf.nn.top_k(x, k))), k=(0, 1, 3, 5))
arrays.over(
    "is-increasing-{values}",
    lambda tf, np, values: [
        tf.is_non_decreasing(tf.constant(values, tf.int32)),
        tf.is_strictly_increasing(tf.constant(values, tf.int32)),
    ],
    values={"1-2-2": [1, 2, 2], "1-2-3": [1, 2, 3], "2-1": [2, 1], "empty": []},
)
_OF_CUBE: dict[str, Any] = {
    "transpose-bad-order": lambda tf, x: tf.transpose(x, [0, 1]),
    "transpose-twice-the-same": lambda tf, x: tf.transpose(x, [0, 1, 1]),
    "transpose-negative": lambda tf, x: tf.transpose(x, [-1, 0, 1]),
    "split-does-not-divide": lambda tf, x: tf.split(x, 2, 1),
    "concat-of-one": lambda tf, x: tf.concat([x], 1),
    "concat-other-sizes": lambda tf, x: tf.concat([x, x[:, :2]], 0),
    "concat-values-last": lambda tf, x: tf.concat(1, [x, x]),
    "unstack-wrong-number": lambda tf, x: tf.unstack(x, 5),
    "pad-with-seven": lambda tf, x: tf.pad(x, [[1, 0]] * 3, constant_values=7),
    "shape-n": lambda tf, x: tf.shape_n([x, x[0], x[0, 0, 0]]),
    "where-three": lambda tf, x: tf.where(x > 0, x, -x),
    "where-rows": lambda tf, x: tf.where([True, False], x, -x),
    "where-other-shapes": lambda tf, x: tf.where(x > 0, x, 0.0),
    "where-v2-broadcasts": lambda tf, x: tf.where_v2(x > 0, x, 0.0),
    "boolean-mask": lambda tf, x: tf.boolean_mask(x, [True, False]),
    "boolean-mask-axis": lambda tf, x: tf.boolean_mask(x, [True, False, True], axis=1),
    "boolean-mask-wrong": lambda tf, x: tf.boolean_mask(x, [True, False, True]),
    "matrix-diag": lambda tf, x: [tf.matrix_diag(x), tf.matrix_diag_part(x)],
    "matrix-set-diag": lambda tf, x: tf.matrix_set_diag(x, x[:, :, 0]),
    "matrix-transpose": lambda tf, x: tf.matrix_transpose(x),
    "reverse-sequence": lambda tf, x: tf.reverse_sequence(x, [2, 1], seq_axis=1, batch_axis=0),
}
arrays.each(_OF_CUBE, on)
_OF_UNKNOWN: dict[str, Any] = {
    "transpose-all": lambda tf, x: tf.transpose(x),
    "concat-along-unknown": lambda tf, x: tf.concat([x, x], 1),
    "unstack-unknown": lambda tf, x: tf.unstack(x),
    "shape-unknown": lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)],
}
arrays.each(_OF_UNKNOWN, lambda change: on(change, known=False))
_PATCHES = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "rates": [1] * 4, "padding": "VALID"}
arrays.add("extract-image-patches", on(lambda tf, x: tf.extract_image_patches(x, **_PATCHES), (1, 4, 5, 2)))
arrays.each(
    {
        "concat-of-scalars": lambda tf, np: tf.concat([1, 2], 0),
        "stack-of-numbers": lambda tf, np: tf.stack([1, 2.5, 3]),
        "stack-other-shapes": lambda tf, np: tf.stack([[1, 2], [3]]),
        "parallel-stack": lambda tf, np: tf.parallel_stack([[1, 4], [2, 5], [3, 6]]),
        "where-one": lambda tf, np: tf.where(choices(np, (3, 4))),
        "meshgrid-three": lambda tf, np: tf.meshgrid([1.0], [2.0, 3.0], [4.0, 5.0]),
        "setdiff": lambda tf, np: list(tf.setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5])),
        "invert-permutation": lambda tf, np: tf.invert_permutation([2, 0, 3, 1]),
        "invert-no-permutation": lambda tf, np: tf.invert_permutation([2, 0, 2, 1]),
        "diag": lambda tf, np: [tf.diag([1, 2, 3]), tf.diag_part(np.arange(9).reshape(3, 3))],
        "top-of-equals": lambda tf, np: tf.nn.top_k([1, 3, 3, 2, 3], 3),
        "in-top-k": lambda tf, np: tf.nn.in_top_k(reals(np, (3, 4)), [0, 3, 2], 2),
        "histogram": lambda tf, np: tf.histogram_fixed_width(reals(np, (20,)), [-1.0, 1.0], 5),
        "bincount": lambda tf, np: tf.bincount([1, 1, 3, 0, 1]),
        "bincount-weights": lambda tf, np: tf.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0]),
        "bincount-lengths": lambda tf, np: tf.bincount([1, 1, 3], minlength=6, maxlength=3),
        "confusion-matrix": lambda tf, np: tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]),
        "cross": lambda tf, np: tf.cross(reals(np, (2, 3)), reals(np, (2, 3), 0, 1)),
        "edit-placeholder-shape": lambda tf, np: tf.ensure_shape(
            tf.placeholder_with_default(np.ones((2, 3), "float32"), [None, None]), [2, None]
        ),
    }
)


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


def _masked(ellipsis: int, new: int, shrink: int, strides: tuple[int, ...]) -> Build:
    """Return a program with a step for every begin and end mask, and one combination of the others."""
    begin, end = ([1, 0, 1], [3, 3, 4]) if strides[0] > 0 else ([2, 3, 4], [0, 1, 1])
    pairs = [(0, 0), (1, 2), (2, 4), (4, 1), (7, 0), (0, 7), (7, 7), (5, 3)]

    def masked(tf: Any, x: Any) -> list[Any]:
        masks = {"ellipsis_mask": ellipsis, "new_axis_mask": new, "shrink_axis_mask": shrink}
        return [
            tf.strided_slice(x, begin, end, strides, begin_mask=first, end_mask=last, **masks) for first, last in pairs
        ]

    return on(masked, (3, 4, 5))


for _ellipsis, _new, _shrink in product((0, 1, 2, 4), (0, 1, 2, 5), (0, 1, 2, 4, 6)):
    slicing.add(f"masks-{_ellipsis}-{_new}-{_shrink}", _masked(_ellipsis, _new, _shrink, (1, 1, 1)))
for _ellipsis, _new in product((0, 1, 4), (0, 2)):
    slicing.add(f"masks-back-{_ellipsis}-{_new}", _masked(_ellipsis, _new, 0, (-1, -2, -1)))
    slicing.add(f"masks-steps-{_ellipsis}-{_new}", _masked(_ellipsis, _new, 0, (2, 1, 3)))


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


for _size, _indices in (([5], [[1], [3]]), ([2, 2], [[0, 1], [1, 0]]), ([5], [[1], [1]]), ([2], [[0], [5]])):
    scatters.over(
        "nd-{shape}-{indices}",
        lambda tf, np, shape, indices: tf.scatter_nd(indices, [1.5, 2.5], shape),
        shape=[_size],
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


FAMILIES = [arrays, slicing, gathers, scatters, segments, sparse]
