"""TensorFlow's op types of staging areas, implemented on ``staging_state``.

An area has no handle: each node refers to it by container and shared name, and has its limits as attributes.
Nodes of one area must agree on these. (In TensorFlow the first node decides silently.) All areas belong to
their device. Nodes that may wait suspend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import REQUIRED, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.queues.staging_state import Limits, MapState, StageState
from actorsession.ops.shared_state import register_op

__all__ = ["AREA"]

# The attributes of every node of an area.
AREA: Mapping[str, Any] = {
    "capacity": 0, "memory_limit": 0, "dtypes": REQUIRED, "container": "", "shared_name": "",
}  # fmt: skip
# The number of values of an element that are passed without a copy; the others are copied.
_MOST = 64


def _area(ctx: KernelContext, label: str, make: Callable[[str, Limits], Any]) -> Any:
    """Return the area that a node refers to, made if absent."""
    limits = Limits(ctx.attrs["capacity"], ctx.attrs["memory_limit"])
    name = ctx.attrs["shared_name"] or ctx.name
    spec = f"a {label} of capacity {limits.capacity} and memory_limit {limits.memory}"
    return ctx.resources.lookup_or_create(
        ctx.attrs["container"], name, label, lambda: make(f"{label} {name!r}", limits), spec
    )


def _stage(ctx: KernelContext) -> StageState:
    area: StageState = _area(ctx, "StagingArea", StageState)
    return area


def _map(ctx: KernelContext) -> MapState:
    ordered = ctx.op.startswith("Ordered")

    def make(label: str, limits: Limits) -> MapState:
        return MapState(label, limits, ordered=ordered)

    area: MapState = _area(ctx, "OrderedMapStagingArea" if ordered else "MapStagingArea", make)
    return area


# -- static types ----------------------------------------------------------------------------------


def _types(attrs: Mapping[str, Any], key: str = "dtypes") -> list[DType]:
    return [as_dtype(t) for t in attrs[key]]


def _check_input(ctx: InferContext, index: int, what: str, dtype: DType, rank: int) -> None:
    found = ctx.inputs[index]
    if found.dtype is not dtype:
        raise TypeError(f"{ctx.op}: {what} is {dtype.name}, got {found.dtype.name}")
    if found.shape.rank not in (None, rank):
        form = "a vector" if rank else "a scalar"
        raise ValueError(f"{ctx.op}: {what} is {form}, got shape {found.shape}")


def _check_values(ctx: InferContext, first: int, wanted: Sequence[DType]) -> None:
    found = [spec.dtype for spec in ctx.inputs[first:]]
    if found != list(wanted) or not found:
        raise TypeError(
            f"{ctx.op}: the attribute says values of {[t.name for t in wanted]}, got "
            f"{[t.name for t in found]}; there is at least one"
        )


def _outputs(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(dtype, TensorShape(None)) for dtype in _types(ctx.attrs)]


def _infer_stage(ctx: InferContext) -> list[TensorSpec]:
    _check_values(ctx, 0, _types(ctx.attrs))
    return []


def _infer_peek(ctx: InferContext) -> list[TensorSpec]:
    _check_input(ctx, 0, "index", int32, 0)
    return _outputs(ctx)


def _infer_size(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(int32, scalar_shape)]


def _infer_nothing(ctx: InferContext) -> list[TensorSpec]:
    return []


def _infer_map_stage(ctx: InferContext) -> list[TensorSpec]:
    _check_input(ctx, 0, "key", int64, 0)
    _check_input(ctx, 1, "indices", int32, 1)
    _check_values(ctx, 2, _types(ctx.attrs, "fake_dtypes"))
    return []


def _infer_by_key(ctx: InferContext) -> list[TensorSpec]:
    _check_input(ctx, 0, "key", int64, 0)
    _check_input(ctx, 1, "indices", int32, 1)
    return _outputs(ctx)


def _infer_no_key(ctx: InferContext) -> list[TensorSpec]:
    _check_input(ctx, 0, "indices", int32, 1)
    return [TensorSpec(int64, scalar_shape), *_outputs(ctx)]


# -- kernels ---------------------------------------------------------------------------------------


def _stage_kernel(ctx: KernelContext) -> Kernel:
    area = _stage(ctx)
    return lambda *values: area.put(_own(values, 0))


def _own(values: tuple[Any, ...], before: int) -> tuple[Any, ...]:
    """Return values that the area may keep, of a node with ``before`` other inputs before them."""
    borrowed = max(0, _MOST - before)
    copied = [v.copy() if isinstance(v, np.ndarray) else v for v in values[borrowed:]]
    return (*values[:borrowed], *copied)


def _unstage_kernel(ctx: KernelContext) -> Kernel:
    area, wanted = _stage(ctx), _types(ctx.attrs)
    return lambda: area.get(wanted)


def _peek_kernel(ctx: KernelContext) -> Kernel:
    area, wanted = _stage(ctx), _types(ctx.attrs)
    return lambda index: area.peek(int(index), wanted)


def _size_kernel(ctx: KernelContext) -> Kernel:
    area = _stage(ctx)
    return lambda: np.int32(area.size)


def _clear_kernel(ctx: KernelContext) -> Kernel:
    area = _stage(ctx)
    return lambda: area.empty()


def _map_stage_kernel(ctx: KernelContext) -> Kernel:
    area, count = _map(ctx), len(ctx.attrs["dtypes"])

    def put(key: Any, indices: Any, *values: Any) -> Future[Any]:
        return area.put(int(key), indices.tolist(), _own(values, 2), count)

    return put


def _map_unstage_kernel(ctx: KernelContext) -> Kernel:
    area, wanted = _map(ctx), _types(ctx.attrs)
    return lambda key, indices: area.get(int(key), indices.tolist(), wanted)


def _map_no_key_kernel(ctx: KernelContext) -> Kernel:
    area, wanted = _map(ctx), _types(ctx.attrs)
    return lambda indices: area.get_any(indices.tolist(), wanted)


def _map_peek_kernel(ctx: KernelContext) -> Kernel:
    area, wanted = _map(ctx), _types(ctx.attrs)
    return lambda key, indices: area.peek(int(key), indices.tolist(), wanted)


def _map_size_kernel(ctx: KernelContext) -> Kernel:
    area = _map(ctx)
    return lambda: np.int32(area.size)


def _map_incomplete_kernel(ctx: KernelContext) -> Kernel:
    area = _map(ctx)
    return lambda: np.int32(area.incomplete_size)


def _map_clear_kernel(ctx: KernelContext) -> Kernel:
    area = _map(ctx)
    return lambda: area.empty()


# -- registration ----------------------------------------------------------------------------------


register_op(
    "Stage", _infer_stage, _stage_kernel, attrs=AREA, suspends=True, keeps=frozenset(range(_MOST))
)
register_op("Unstage", _outputs, _unstage_kernel, attrs=AREA, suspends=True, takes=True)
register_op("StagePeek", _infer_peek, _peek_kernel, attrs=AREA, suspends=True)
register_op("StageSize", _infer_size, _size_kernel, attrs=AREA)
register_op("StageClear", _infer_nothing, _clear_kernel, attrs=AREA)

for _prefix in ("", "Ordered"):
    register_op(
        f"{_prefix}MapStage", _infer_map_stage, _map_stage_kernel,
        attrs={**AREA, "fake_dtypes": REQUIRED}, suspends=True, keeps=frozenset(range(2, _MOST)),
    )  # fmt: skip
    register_op(
        f"{_prefix}MapUnstage", _infer_by_key, _map_unstage_kernel, attrs=AREA, suspends=True,
        takes=True,
    )  # fmt: skip
    register_op(
        f"{_prefix}MapUnstageNoKey", _infer_no_key, _map_no_key_kernel, attrs=AREA, suspends=True,
        takes=True,
    )  # fmt: skip
    register_op(f"{_prefix}MapPeek", _infer_by_key, _map_peek_kernel, attrs=AREA, suspends=True)
    register_op(f"{_prefix}MapSize", _infer_size, _map_size_kernel, attrs=AREA)
    register_op(f"{_prefix}MapIncompleteSize", _infer_size, _map_incomplete_kernel, attrs=AREA)
    register_op(f"{_prefix}MapClear", _infer_nothing, _map_clear_kernel, attrs=AREA)
