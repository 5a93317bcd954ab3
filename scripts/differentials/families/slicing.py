"""Slices: the index operator, every mask, and fed bounds."""

from __future__ import annotations

from itertools import product
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Build, Family, Plan

__all__ = ["FAMILIES"]

slicing = Family("slicing")
FAMILIES = [slicing]


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
for _name, _take in _INDEXES.items():
    slicing.add(f"{_name}-known", _applied(lambda tf, x, take=_take: take(x)))
    slicing.add(f"{_name}-unknown", _applied(lambda tf, x, take=_take: take(x), known=False))


def _masked(ellipsis: int, new: int, shrink: int, strides: tuple[int, ...]) -> Build:
    """Return a program with a step for every begin and end mask, and one combination of the others."""

    def build(tf: Any, np: Any) -> Plan:
        x, feeds = _cube(tf, np, (3, 4, 5))
        begin, end = ([1, 0, 1], [3, 3, 4]) if strides[0] > 0 else ([2, 3, 4], [0, 1, 1])
        out = [
            tf.strided_slice(
                x,
                begin,
                end,
                strides,
                begin_mask=first,
                end_mask=last,
                ellipsis_mask=ellipsis,
                new_axis_mask=new,
                shrink_axis_mask=shrink,
            )
            for first, last in [(0, 0), (1, 2), (2, 4), (4, 1), (7, 0), (0, 7), (7, 7), (5, 3)]
        ]
        return Plan(out, feeds)

    return build


for _ellipsis, _new, _shrink in product((0, 1, 2, 4), (0, 1, 2, 5), (0, 1, 2, 4, 6)):
    slicing.add(f"masks-{_ellipsis}-{_new}-{_shrink}", _masked(_ellipsis, _new, _shrink, (1, 1, 1)))
for _ellipsis, _new in product((0, 1, 4), (0, 2)):
    slicing.add(f"masks-back-{_ellipsis}-{_new}", _masked(_ellipsis, _new, 0, (-1, -2, -1)))
    slicing.add(f"masks-steps-{_ellipsis}-{_new}", _masked(_ellipsis, _new, 0, (2, 1, 3)))


@slicing("fed-bounds")
def _fed_bounds(tf: Any, np: Any) -> Plan:
    x, feeds = _cube(tf, np)
    start, stop = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    return Plan([x[start:stop], x[:, start], x[0, stop:]], {**feeds, start: 0, stop: 1})


@slicing("fed-index-outside")
def _fed_index(tf: Any, np: Any) -> Plan:
    x, feeds = _cube(tf, np)
    index = tf.placeholder(tf.int32, [])
    return Plan(x[index], {**feeds, index: 7})


for _begin, _size in (
    ([0, 1, 1], [2, 2, 3]),
    ([1, 0, 0], [-1, -1, -1]),
    ([0, 0, 0], [0, 1, 4]),
    ([1, 2, 3], [1, 1, 1]),
    ([0, 0, 3], [2, 3, 4]),
    ([0, 0], [1, 1]),
    ([-1, 0, 0], [1, 1, 1]),
):
    for _known in (True, False):
        slicing.add(
            f"slice-{_begin}-{_size}-{'known' if _known else 'unknown'}".replace(" ", ""),
            _applied(
                lambda tf, x, begin=_begin, size=_size: tf.slice(x, begin, size), known=_known
            ),
        )
