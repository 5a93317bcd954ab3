"""TensorFlow's op types of collectives, which ``runtime.collective`` carries out.

A kernel checks what its member can check alone, and returns a ``CollectiveCall`` for the step to begin. The
first versions have the keys of group and instance as attributes, the second ones as inputs. Of the hints about
how to communicate, ``communication_hint`` may name a library of the members' devices; without one, and
whatever ``subdiv_offsets`` and ``max_subdivs_per_device`` are, the way follows from the size of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.durations import checked_seconds
from actorsession.errors import InvalidArgumentError
from actorsession.graph.collective_call import (
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    Collective,
    CollectiveCall,
)
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, as_shape, unknown_shape
from actorsession.ops.rows import Shapes, check_inputs, op

__all__: list[str] = []

_MERGES, _FINALS = ("Add", "Mul", "Min", "Max"), ("Id", "Div")
# Hints that ask for no library; another one asks for what the devices may have, and is no error, as in TensorFlow.
_HINTS = ("auto", "ring", "")


# -- shapes ----------------------------------------------------------------------------------------


def _rule(shapes: Shapes, first_key: int = 1) -> Shapes:
    """Return a shape rule that first checks the keys and the attributes that all types share.

    Args:
        shapes: gives the shape of the output.
        first_key: position of the group's size among the inputs, of the types that have it there.
    """

    def rule(ctx: InferContext) -> Sequence[TensorShape]:
        attrs = ctx.attrs
        if "group_size" in attrs:
            check_inputs(ctx)
            _check_size(ctx.op, attrs["group_size"], ValueError)
        else:
            check_inputs(ctx, *[None] * first_key, 0, 0, 0)
        for name, known in (("merge_op", _MERGES), ("final_op", _FINALS)):
            if name in attrs and attrs[name] not in known:
                raise ValueError(f"{ctx.op}: {name} is one of {list(known)}, got {attrs[name]!r}")
        _ = checked_seconds("timeout_seconds", attrs["timeout_seconds"], of=f"{ctx.op}: ")
        return shapes(ctx)

    return rule


def _check_size(op_type: str, size: int, error: type[Exception]) -> None:
    if size < 1:
        raise error(f"{op_type}: group_size is at least 1, got {size}")


def _group_size(ctx: InferContext) -> int | None:
    """Return the size of the group if it is known while the graph is built."""
    if "group_size" in ctx.attrs:
        size: int = ctx.attrs["group_size"]
        return size
    known = ctx.constant(1)
    return None if known is None else int(known)


def _as_input(ctx: InferContext) -> Sequence[TensorShape]:
    return [ctx.inputs[0].shape]


def _as_attribute(ctx: InferContext) -> Sequence[TensorShape]:
    """The output has the shape of the attribute, which an input must fit."""
    shape = as_shape(ctx.attrs["shape"])
    if ctx.inputs and not ctx.inputs[0].shape.is_compatible_with(shape):
        raise ValueError(f"{ctx.op}: the input has shape {ctx.inputs[0].shape}, the attribute {shape}")
    return [shape]


def _as_shape_input(ctx: InferContext) -> Sequence[TensorShape]:
    known = ctx.constant(3)
    return [unknown_shape if known is None else TensorShape(known.tolist())]


def _rows(ctx: InferContext) -> list[int | None] | None:
    """Return the dimensions of the input, which has at least one.

    Raises:
        ValueError: if it is a scalar.
    """
    shape = ctx.inputs[0].shape
    if shape.rank == 0:
        raise ValueError(f"{ctx.op} takes values of at least one dimension, got a scalar")
    return None if shape.rank is None else shape.as_list()


def _joined(ctx: InferContext) -> Sequence[TensorShape]:
    dims, size = _rows(ctx), _group_size(ctx)
    if dims is None:
        shape = unknown_shape
    else:
        rows = None if size is None or dims[0] is None else dims[0] * size
        shape = TensorShape([rows, *dims[1:]])
    if "shape" not in ctx.attrs:
        return [shape]
    claimed = as_shape(ctx.attrs["shape"])
    if not shape.is_compatible_with(claimed):
        raise ValueError(f"{ctx.op}: the members' values joined have shape {shape}, not {claimed}")
    return [claimed]


def _split(ctx: InferContext) -> Sequence[TensorShape]:
    dims, size = _rows(ctx), _group_size(ctx)
    if dims is None:
        return [unknown_shape]
    if size is None or dims[0] is None:
        return [TensorShape([None, *dims[1:]])]
    if size > 0 and dims[0] % size:
        raise ValueError(_uneven(ctx.op, dims[0], size))
    return [TensorShape([dims[0] // max(size, 1), *dims[1:]])]


def _exchanged(ctx: InferContext) -> Sequence[TensorShape]:
    _split(ctx)
    return [ctx.inputs[0].shape]


def _check_rows(op_type: str, kind: str, shape: Sequence[int], size: int) -> None:
    """Check what the shape rules could not check because the shape was not known."""
    if kind == REDUCE:
        return
    if not shape:
        raise InvalidArgumentError(f"{op_type} takes values of at least one dimension, got a scalar")
    if kind != GATHER and shape[0] % size:
        raise InvalidArgumentError(_uneven(op_type, shape[0], size))


def _uneven(op_type: str, rows: int, size: int) -> str:
    return f"{op_type}: {rows} rows are not divisible among {size} members"


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(kind: str, *, sends: bool = True) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of a type whose members send a value, or only receive one."""

    def kernel(ctx: KernelContext) -> Kernel:
        attrs = ctx.attrs
        asked = attrs["communication_hint"].lower()
        more = {"merge": attrs.get("merge_op", ""), "final": attrs.get("final_op", "")}
        settings: dict[str, Any] = {
            "dtype": ctx.outputs[0].dtype.np_dtype.name,
            "seconds": checked_seconds("timeout_seconds", attrs["timeout_seconds"], of=f"{ctx.op}: "),
            "after": tuple(attrs.get("wait_for", ())),
            "hint": "" if asked in _HINTS else asked,
        }

        def call(value: Any, size: Any, group: Any, instance: Any, shape: tuple[int, ...]) -> CollectiveCall:
            _check_size(ctx.op, int(size), InvalidArgumentError)
            if sends and kind != BROADCAST:
                _check_rows(ctx.op, kind, shape, int(size))
            same = Collective(kind=kind, group=int(group), instance=int(instance), size=int(size), **more)
            return CollectiveCall(same, value if sends else None, shape=shape, **settings)

        return _by_arguments(ctx, call, sends=sends)

    return kernel


def _by_arguments(ctx: KernelContext, call: Callable[..., CollectiveCall], *, sends: bool) -> Kernel:
    """Return the kernel's function, which takes the inputs of the node."""
    attrs = ctx.attrs
    if "group_size" in attrs:
        keys = attrs["group_size"], attrs["group_key"], attrs["instance_key"]
        if sends:
            return lambda value: call(value, *keys, np.shape(value))
        shape = tuple(as_shape(attrs["shape"]).as_tuple())
        return lambda: call(None, *keys, shape)
    if sends:
        return lambda value, size, group, instance, *tokens: call(value, size, group, instance, np.shape(value))
    return lambda size, group, instance, shape: call(None, size, group, instance, tuple(map(int, shape)))


# -- operation types -------------------------------------------------------------------------------

# The result of a member may be on its way to another one, or be what it has sent.
_FLAGS: dict[str, Any] = {"suspends": True, "aliases": True}
_SENDS: dict[str, Any] = {**_FLAGS, "borrows": frozenset({0})}

for _type, _kind, _shapes in (
    ("CollectiveReduce", REDUCE, _as_input),
    ("CollectiveReduceV2", REDUCE, _as_input),
    ("CollectiveGather", GATHER, _joined),
    ("CollectiveGatherV2", GATHER, _joined),
    ("CollectiveReduceScatterV2", REDUCE_SCATTER, _split),
    ("CollectiveAllToAllV2", ALL_TO_ALL, _exchanged),
    ("CollectiveBcastSend", BROADCAST, _as_attribute),
    ("CollectiveBcastSendV2", BROADCAST, _as_input),
):
    op(_type, _rule(_shapes), kernel=_kernel(_kind), **_SENDS)
op("CollectiveBcastRecv", _rule(_as_attribute), kernel=_kernel(BROADCAST, sends=False), **_FLAGS)
op("CollectiveBcastRecvV2", _rule(_as_shape_input, 0), kernel=_kernel(BROADCAST, sends=False), **_FLAGS)
