"""TensorFlow's op types of staging areas, implemented on ``staging_state``.

An area has no handle: each node refers to it by container and shared name, and has its limits as attributes.
Nodes of one area must agree on these. (In TensorFlow the first node decides silently.) All areas belong to
their device. Nodes that may wait suspend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops.rows import check_inputs, checked, no_outputs, op, scalar
from actorsession.opsets.staging.state import Limits, MapState, StageState

__all__: list[str] = []

# The number of values of an element that are passed without a copy; the others are copied.
_MOST = 64


# -- shapes ----------------------------------------------------------------------------------------


def _staged(ctx: InferContext) -> Sequence[TensorShape]:
    """The values have the types that an attribute says; there are no outputs."""
    first, key = (0, "dtypes") if ctx.op == "Stage" else (2, "fake_dtypes")
    expected = [as_dtype(t) for t in ctx.attrs[key]]
    actual = [spec.dtype for spec in ctx.inputs[first:]]
    if actual != expected or not actual:
        raise TypeError(
            f"{ctx.op}: the attribute says values of {[t.name for t in expected]}, got "
            f"{[t.name for t in actual]}; there is at least one"
        )
    if first:
        check_inputs(ctx, 0, 1)
    return []


def _values(ctx: InferContext) -> Sequence[TensorShape]:
    return [unknown_shape for _ in ctx.attrs["dtypes"]]


def _key_and_values(ctx: InferContext) -> Sequence[TensorShape]:
    return [scalar_shape, *_values(ctx)]


# -- kernels ---------------------------------------------------------------------------------------


def _with_area(use: Callable[[Any, Sequence[Any]], Kernel]) -> Callable[[KernelContext], Kernel]:
    """Return a kernel factory: ``use`` makes a kernel from the node's area and the dtypes of its elements."""

    def kernel(ctx: KernelContext) -> Kernel:
        return use(_area(ctx), [as_dtype(t) for t in ctx.attrs["dtypes"]])

    return kernel


def _area(ctx: KernelContext) -> Any:
    """Return the area that a node refers to, made if absent."""
    limits = Limits(ctx.attrs["capacity"], ctx.attrs["memory_limit"])
    name, ordered = ctx.attrs["shared_name"] or ctx.name, ctx.op.startswith("Ordered")
    label = "StagingArea"
    if "Map" in ctx.op:
        label = "OrderedMapStagingArea" if ordered else "MapStagingArea"

    def make() -> StageState | MapState:
        shown = f"{label} {name!r}"
        if "Map" in ctx.op:
            return MapState(shown, limits, ordered=ordered)
        return StageState(shown, limits)

    spec = f"a {label} of capacity {limits.capacity} and memory_limit {limits.memory}"
    return ctx.resources.lookup_or_create(ctx.attrs["container"], name, label, make, spec)


def _own(values: tuple[Any, ...], before: int) -> tuple[Any, ...]:
    """Return values that the area may keep, of a node with ``before`` other inputs before them."""
    borrowed = max(0, _MOST - before)
    copied = [v.copy() if isinstance(v, np.ndarray) else v for v in values[borrowed:]]
    return (*values[:borrowed], *copied)


_put = _with_area(lambda area, dtypes: lambda *values: area.put(_own(values, 0)))
_get = _with_area(lambda area, dtypes: lambda: area.get(dtypes))
_peek = _with_area(lambda area, dtypes: lambda index: area.peek(int(index), dtypes))
_size = _with_area(lambda area, dtypes: lambda: np.int32(area.size))
_clear = _with_area(lambda area, dtypes: lambda: area.empty())

_map_put = _with_area(
    lambda area, dtypes: (
        lambda key, indices, *values: area.put(int(key), indices.tolist(), _own(values, 2), len(dtypes))
    )
)
_map_get = _with_area(lambda area, dtypes: lambda key, indices: area.get(int(key), indices.tolist(), dtypes))
_map_get_any = _with_area(lambda area, dtypes: lambda indices: area.get_any(indices.tolist(), dtypes))
_map_peek = _with_area(lambda area, dtypes: lambda key, indices: area.peek(int(key), indices.tolist(), dtypes))
_incomplete = _with_area(lambda area, dtypes: lambda: np.int32(area.incomplete_size))


# -- operation types -------------------------------------------------------------------------------

op("Stage", _staged, grad=NOT_DIFFERENTIABLE, kernel=_put, suspends=True, keeps=frozenset(range(_MOST)))
op("Unstage", _values, grad=NOT_DIFFERENTIABLE, kernel=_get, suspends=True, takes=True)
op("StagePeek", checked(_values, 0), grad=NOT_DIFFERENTIABLE, kernel=_peek, suspends=True)
op("StageSize", scalar, grad=NOT_DIFFERENTIABLE, kernel=_size)
op("StageClear", no_outputs, grad=NOT_DIFFERENTIABLE, kernel=_clear)

for _map in ("Map", "OrderedMap"):
    op(
        f"{_map}Stage",
        _staged,
        grad=NOT_DIFFERENTIABLE,
        kernel=_map_put,
        suspends=True,
        keeps=frozenset(range(2, _MOST)),
    )
    op(f"{_map}Unstage", checked(_values, 0, 1), grad=NOT_DIFFERENTIABLE, kernel=_map_get, suspends=True, takes=True)
    op(
        f"{_map}UnstageNoKey",
        checked(_key_and_values, 1),
        grad=NOT_DIFFERENTIABLE,
        kernel=_map_get_any,
        suspends=True,
        takes=True,
    )
    op(f"{_map}Peek", checked(_values, 0, 1), grad=NOT_DIFFERENTIABLE, kernel=_map_peek, suspends=True)
    op(f"{_map}Size", scalar, grad=NOT_DIFFERENTIABLE, kernel=_size)
    op(f"{_map}IncompleteSize", scalar, grad=NOT_DIFFERENTIABLE, kernel=_incomplete)
    op(f"{_map}Clear", no_outputs, grad=NOT_DIFFERENTIABLE, kernel=_clear)
