"""Shapes and shape operations, selection and sorting."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

from scripts.differentials.numbers import choices, reals
from scripts.differentials.program import Build, Family, Plan

__all__ = ["FAMILIES"]

arrays = Family("arrays")
FAMILIES = [arrays]


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


for _order in permutations(range(3)):
    _what = "".join(map(str, _order))
    arrays.add(f"transpose-{_what}", _applied(lambda tf, x, order=_order: tf.transpose(x, order)))
arrays.add("transpose-all", _applied(lambda tf, x: tf.transpose(x), known=False))
arrays.add("transpose-bad-order", _applied(lambda tf, x: tf.transpose(x, [0, 1])))
arrays.add("transpose-twice-the-same", _applied(lambda tf, x: tf.transpose(x, [0, 1, 1])))
arrays.add("transpose-negative", _applied(lambda tf, x: tf.transpose(x, [-1, 0, 1])))
for _shape in ([-1], [6, 4], [4, -1], [2, 3, 4, 1], [-1, 2, 2], [5, 5], [-1, -1], [-1, 7], []):
    _what = "x".join(map(str, _shape)) or "scalar"
    for _known in (True, False):
        _when = "known" if _known else "unknown"
        arrays.add(
            f"reshape-{_what}-{_when}",
            _applied(lambda tf, x, shape=_shape: tf.reshape(x, shape), known=_known),
        )
for _axis in (0, 1, 2, -1, 3, -4):
    arrays.add(
        f"concat-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.concat([x, x * 2, x], axis))
    )
    arrays.add(f"stack-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.stack([x, -x], axis)))
    arrays.add(
        f"expand-dims-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.expand_dims(x, axis))
    )
    arrays.add(f"unstack-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.unstack(x, axis=axis)))
    arrays.add(f"split-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.split(x, 2, axis)))
    arrays.add(f"reverse-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.reverse(x, [axis])))
    arrays.add(f"roll-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.roll(x, 2, axis)))
    arrays.add(f"sort-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.sort(x, axis)))
    arrays.add(
        f"argsort-axis{_axis}",
        _applied(lambda tf, x, axis=_axis: tf.argsort(x, axis, direction="DESCENDING")),
    )
    arrays.add(
        f"one-hot-axis{_axis}",
        lambda tf, np, axis=_axis: tf.one_hot([[0, 2], [1, -1]], 3, 5.0, -1.0, axis),
    )
    arrays.add(
        f"repeat-axis{_axis}", _applied(lambda tf, x, axis=_axis: tf.repeat(x, 2, axis=axis))
    )
    for _exclusive, _reverse in product((False, True), repeat=2):
        _what = f"axis{_axis}{'-exclusive' * _exclusive}{'-reverse' * _reverse}"
        for _name in ("cumsum", "cumprod"):
            arrays.add(
                f"{_name}-{_what}",
                _applied(
                    lambda tf, x, name=_name, axis=_axis, exclusive=_exclusive, back=_reverse: (
                        getattr(tf, name)(x, axis, exclusive, back)
                    )
                ),
            )
for _sizes, _axis in (([1, 2], 1), ([1, -1], 1), ([4], 2), ([1, 1], 1), ([0, 2], 0), ([-1, -1], 2)):
    _what = "x".join(map(str, _sizes))
    arrays.add(
        f"split-{_what}-axis{_axis}",
        _applied(lambda tf, x, sizes=_sizes, axis=_axis: tf.split(x, sizes, axis)),
    )
arrays.add("split-does-not-divide", _applied(lambda tf, x: tf.split(x, 2, 1)))
arrays.add("concat-of-one", _applied(lambda tf, x: tf.concat([x], 1)))
arrays.add("concat-other-sizes", _applied(lambda tf, x: tf.concat([x, x[:, :2]], 0)))
arrays.add("concat-values-last", _applied(lambda tf, x: tf.concat(1, [x, x])))
arrays.add("concat-of-scalars", lambda tf, np: tf.concat([1, 2], 0))
arrays.add("concat-along-unknown", _applied(lambda tf, x: tf.concat([x, x], 1), known=False))
arrays.add("stack-of-numbers", lambda tf, np: tf.stack([1, 2.5, 3]))
arrays.add("stack-other-shapes", lambda tf, np: tf.stack([[1, 2], [3]]))
arrays.add("parallel-stack", lambda tf, np: tf.parallel_stack([[1, 4], [2, 5], [3, 6]]))
arrays.add("unstack-unknown", _applied(lambda tf, x: tf.unstack(x), known=False))
arrays.add("unstack-wrong-number", _applied(lambda tf, x: tf.unstack(x, 5)))
for _axis_or_axes in (None, 0, [0, 2], -1, 1, [0, 1]):
    arrays.add(
        f"squeeze-{_axis_or_axes}".replace(" ", ""),
        _applied(lambda tf, x, axis=_axis_or_axes: tf.squeeze(x, axis), (1, 3, 1)),
    )
for _multiples in ([1, 1, 1], [2, 1, 3], [0, 1, 1], [2, 2], [1, -1, 1]):
    arrays.add(
        f"tile-{'x'.join(map(str, _multiples))}",
        _applied(lambda tf, x, multiples=_multiples: tf.tile(x, multiples)),
    )
for _mode in ("CONSTANT", "REFLECT", "SYMMETRIC", "constant", "EDGE"):
    for _paddings in ([[1, 1], [0, 2], [2, 0]], [[0, 0], [0, 0], [0, 0]], [[1, 0], [3, 0], [0, 4]]):
        _what = "-".join("".join(map(str, pair)) for pair in _paddings)
        arrays.add(
            f"pad-{_mode}-{_what}",
            _applied(lambda tf, x, mode=_mode, paddings=_paddings: tf.pad(x, paddings, mode)),
        )
arrays.add("pad-with-seven", _applied(lambda tf, x: tf.pad(x, [[1, 0]] * 3, constant_values=7)))
for _args in (
    (5,),
    (2, 6),
    (1, 10, 3),
    (10, 1, -4),
    (0, 1, 0),
    (3, 3),
    (2.5,),
    (0.0, 1.0, 0.25),
    (5, 1),
):
    arrays.add(f"range-{'-'.join(map(str, _args))}", lambda tf, np, args=_args: tf.range(*args))
for _dtype in ("float32", "int64", "float64", "int32"):
    arrays.add(f"range-as-{_dtype}", lambda tf, np, dtype=_dtype: tf.range(4, dtype=dtype))
    arrays.add(
        f"zeros-and-ones-{_dtype}",
        lambda tf, np, dtype=_dtype: [tf.zeros([2, 0, 1], dtype), tf.ones([2], dtype)],
    )
    arrays.add(
        f"fill-{_dtype}", lambda tf, np, dtype=_dtype: tf.fill([2, 3], tf.cast(7, dtype), name="f")
    )
for _number in (1, 2, 5, 0):
    arrays.add(f"linspace-{_number}", lambda tf, np, number=_number: tf.linspace(1.0, 3.0, number))
for _kind in ("int32", "int64", "float32"):
    arrays.add(
        f"shape-size-rank-{_kind}",
        _applied(
            lambda tf, x, kind=_kind: [
                tf.shape(x, out_type=getattr(tf, kind)),
                tf.size(x, out_type=getattr(tf, kind)),
                tf.rank(x),
            ]
        ),
    )
arrays.add(
    "shape-unknown", _applied(lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)], known=False)
)
arrays.add("shape-n", _applied(lambda tf, x: tf.shape_n([x, x[0], x[0, 0, 0]])))
for _lengths, _most in (([1, 3, 0], None), ([1, 3, 0], 5), ([[1], [2]], 2), (3, 4)):
    arrays.add(
        f"sequence-mask-{_most}-{_lengths}".replace(" ", ""),
        lambda tf, np, lengths=_lengths, most=_most: tf.sequence_mask(lengths, most),
    )
for _lower, _upper in product((0, 1, -1), repeat=2):
    arrays.add(
        f"band-{_lower}-{_upper}",
        _applied(lambda tf, x, low=_lower, up=_upper: tf.matrix_band_part(x, low, up)),
    )
for _wanted in ((2, 3, 4), (3, 4), (4,), (3, 1), (1, 1)):
    arrays.add(
        f"broadcast-{'x'.join(map(str, _wanted))}",
        lambda tf, np, shape=_wanted: tf.broadcast_to(tf.constant(reals(np, (3, 1))), shape),
    )
arrays.add("where-one", lambda tf, np: tf.where(choices(np, (3, 4))))
arrays.add("where-three", _applied(lambda tf, x: tf.where(x > 0, x, -x)))
arrays.add("where-rows", _applied(lambda tf, x: tf.where([True, False], x, -x)))
arrays.add("where-other-shapes", _applied(lambda tf, x: tf.where(x > 0, x, 0.0)))
arrays.add("where-v2-broadcasts", _applied(lambda tf, x: tf.where_v2(x > 0, x, 0.0)))
for _indexing in ("xy", "ij", "ba"):
    arrays.add(
        f"meshgrid-{_indexing}",
        lambda tf, np, indexing=_indexing: tf.meshgrid([1, 2, 3], [4, 5], indexing=indexing),
    )
arrays.add("meshgrid-three", lambda tf, np: tf.meshgrid([1.0], [2.0, 3.0], [4.0, 5.0]))
for _block in (2, 3):
    arrays.add(
        f"space-to-depth-{_block}",
        _applied(lambda tf, x, block=_block: tf.space_to_depth(x, block), (1, 6, 6, 2)),
    )
    arrays.add(
        f"depth-to-space-{_block}",
        _applied(lambda tf, x, block=_block: tf.depth_to_space(x, block), (1, 2, 1, 36)),
    )
    arrays.add(
        f"space-to-batch-{_block}",
        _applied(
            lambda tf, x, block=_block: tf.space_to_batch(x, [[0, 0], [0, 0]], block), (1, 6, 6, 1)
        ),
    )
    arrays.add(
        f"batch-to-space-nd-{_block}",
        _applied(lambda tf, x, block=_block: tf.batch_to_space_nd(x, [block], [[1, 0]]), (6, 3, 2)),
    )
for _name in ("unique", "unique_with_counts"):
    arrays.add(f"{_name}", lambda tf, np, name=_name: list(getattr(tf, name)([3, 1, 3, 2, 1, 1])))
    arrays.add(
        f"{_name}-int64",
        lambda tf, np, name=_name: list(getattr(tf, name)(["b", "a", "b"], out_idx=tf.int64)),
    )
arrays.add("setdiff", lambda tf, np: list(tf.setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5])))
arrays.add("invert-permutation", lambda tf, np: tf.invert_permutation([2, 0, 3, 1]))
arrays.add("invert-no-permutation", lambda tf, np: tf.invert_permutation([2, 0, 2, 1]))
arrays.add("boolean-mask", _applied(lambda tf, x: tf.boolean_mask(x, [True, False])))
arrays.add(
    "boolean-mask-axis", _applied(lambda tf, x: tf.boolean_mask(x, [True, False, True], axis=1))
)
arrays.add("boolean-mask-wrong", _applied(lambda tf, x: tf.boolean_mask(x, [True, False, True])))
arrays.add("diag", lambda tf, np: [tf.diag([1, 2, 3]), tf.diag_part(np.arange(9).reshape(3, 3))])
arrays.add("matrix-diag", _applied(lambda tf, x: [tf.matrix_diag(x), tf.matrix_diag_part(x)]))
arrays.add("matrix-set-diag", _applied(lambda tf, x: tf.matrix_set_diag(x, x[:, :, 0])))
arrays.add("matrix-transpose", _applied(lambda tf, x: tf.matrix_transpose(x)))
arrays.add(
    "reverse-sequence",
    _applied(lambda tf, x: tf.reverse_sequence(x, [2, 1], seq_axis=1, batch_axis=0)),
)
for _side in ("left", "right"):
    arrays.add(
        f"searchsorted-{_side}",
        lambda tf, np, side=_side: tf.searchsorted(
            [1.0, 2.0, 2.0, 5.0], [0.0, 2.0, 9.0], side=side
        ),
    )
for _k in (0, 1, 3, 5):
    arrays.add(f"top-{_k}", _applied(lambda tf, x, k=_k: list(tf.nn.top_k(x, k))))
arrays.add("top-of-equals", lambda tf, np: tf.nn.top_k([1, 3, 3, 2, 3], 3))
arrays.add("in-top-k", lambda tf, np: tf.nn.in_top_k(reals(np, (3, 4)), [0, 3, 2], 2))
arrays.add("histogram", lambda tf, np: tf.histogram_fixed_width(reals(np, (20,)), [-1.0, 1.0], 5))
arrays.add("bincount", lambda tf, np: tf.bincount([1, 1, 3, 0, 1]))
arrays.add("bincount-weights", lambda tf, np: tf.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0]))
arrays.add("bincount-lengths", lambda tf, np: tf.bincount([1, 1, 3], minlength=6, maxlength=3))
arrays.add("confusion-matrix", lambda tf, np: tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]))
arrays.add("cross", lambda tf, np: tf.cross(reals(np, (2, 3)), reals(np, (2, 3), 0, 1)))
arrays.add(
    "extract-image-patches",
    _applied(
        lambda tf, x: tf.extract_image_patches(
            x, ksizes=[1, 2, 2, 1], strides=[1, 1, 2, 1], rates=[1, 1, 1, 1], padding="VALID"
        ),
        (1, 4, 5, 2),
    ),
)
arrays.add(
    "edit-placeholder-shape",
    lambda tf, np: Plan(
        tf.ensure_shape(
            tf.placeholder_with_default(np.ones((2, 3), "float32"), [None, None]), [2, None]
        )
    ),
)
for _values in ([1, 2, 2], [1, 2, 3], [2, 1], []):
    arrays.add(
        f"is-increasing-{'-'.join(map(str, _values)) or 'empty'}",
        lambda tf, np, values=_values: [
            tf.is_non_decreasing(tf.constant(values, tf.int32)),
            tf.is_strictly_increasing(tf.constant(values, tf.int32)),
        ],
    )
