"""Shapes and shape operations, selection and sorting."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from scripts.differentials.numbers import choices, reals
from scripts.differentials.program import Family, on, sized

__all__ = ["FAMILIES"]

arrays = Family("arrays")
FAMILIES = [arrays]

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
