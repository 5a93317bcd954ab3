"""Slices: the index operator, every mask, and fed bounds."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Build, Family, Plan, on

__all__ = ["FAMILIES"]

slicing = Family("slicing")
FAMILIES = [slicing]


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
_KNOWN = {"known": True, "unknown": False}
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
