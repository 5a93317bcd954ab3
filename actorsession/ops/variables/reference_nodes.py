"""Reference variables as ops: TensorFlow 1's first kind of variables.

``VariableV2`` gives a reference to a variable, which ``Assign``, ``ScatterAdd``, ``ApplyAdam`` and others
take and give again; for any other op it is the variable's value. Each stands for an op with handles, whose
checks it shares and which takes its place in plans (``plan/references``). ``variables.reference_variable``
wraps them in a class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InternalError, InvalidArgumentError
from actorsession.graph.dtypes import resource
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import opsets, signature_of
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext, lookup
from actorsession.graph.shape import scalar_shape, unknown_shape
from actorsession.ops.rows import op
from actorsession.ops.variables.state import variable_spec

__all__ = ["REFERENCE_TYPES"]

_HANDLE = TensorSpec(resource, scalar_shape)
_UNLIKE = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "DestroyTemporaryVariable": "ReadVariableOp",
    "IsVariableInitialized": "VarIsInitializedOp",
}
_MAKERS = {"TemporaryVariable": "TemporaryHandle", "Variable": "VarHandleOp", "VariableV2": "VarHandleOp"}
_HANDLE_OF = "ReferenceHandle"


def _takes_reference(name: str) -> bool:
    signature = signature_of(name)
    return signature is not None and any(arg.is_ref for arg in signature.inputs)


REFERENCE_TYPES = {
    _UNLIKE.get(name, f"Resource{name}"): name
    for name in opsets()["variables"]
    if name != _HANDLE_OF and _takes_reference(name)
}
"""The types with references by the types with handles that they stand for."""


def _no_kernel(ctx: KernelContext) -> Kernel:
    raise InternalError(f"{ctx.name!r} has no kernel: a {ctx.op} becomes an op that takes handles")


def _taking(stands_for: str, count: int, gives: bool) -> Callable[[InferContext], Sequence[TensorSpec]]:
    """Return the shape function of a type that takes references: that of its counterpart with handles."""

    def infer(ctx: InferContext) -> Sequence[TensorSpec]:
        variable, sibling = ctx.inputs[0], lookup(stands_for)
        value, is_open = ctx.inputs[-1], ctx.attrs.get("validate_shape") is False
        attrs = {**sibling.attrs, **{k: v for k, v in ctx.attrs.items() if k in sibling.attrs}}
        attrs["dtype"] = variable.dtype
        attrs["shape"] = unknown_shape if is_open else variable.shape
        inputs = (*[_HANDLE] * count, *ctx.inputs[count:])
        specs = sibling.infer(InferContext(stands_for, inputs, attrs, ctx.constants))
        if not gives:
            return specs
        if stands_for == "AssignVariableOp":
            shape = value.shape if is_open else variable.shape.merge_with(value.shape)
            return [TensorSpec(variable.dtype, shape)]
        return [variable]

    return infer


for _name, _stands_for in _MAKERS.items():
    op(
        _name,
        infer=lambda ctx: [variable_spec(ctx.attrs)],
        kernel=_no_kernel,
        grad=NOT_DIFFERENTIABLE,
        stands_for=_stands_for,
        makes_reference=True,
    )

for _stands_for, _name in REFERENCE_TYPES.items():
    _signature = signature_of(_name)
    assert _signature is not None
    _count = sum(arg.is_ref for arg in _signature.inputs)
    _gives = any(arg.is_ref for arg in _signature.outputs)
    op(
        _name,
        infer=_taking(_stands_for, _count, _gives),
        kernel=_no_kernel,
        grad=NOT_DIFFERENTIABLE,
        stands_for=_stands_for,
        references=_count,
        gives_reference=_gives,
    )


class _Held:
    """A variable that has a value from the start."""

    initialized, by_reference = True, True

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self._value)

    def declare(self, shape: tuple[int, ...]) -> None:
        pass

    def read(self) -> Any:
        return self._value

    lend = read


class _Fed(_Held):
    """What a loop body or branch sees of a variable whose reference is fed: the value, which stays."""

    def assign(self, *args: Any) -> None:
        raise InvalidArgumentError("a variable that is fed cannot be changed in the same step")

    update = access = assign


class _Temporary(_Held):
    """The variable of one step."""

    def assign(self, value: Any) -> None:
        self._value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        self._value = function(self._value, *operands)

    def access(self, function: Callable[[Any], Any]) -> None:
        self._value = function(np.array(self._value))


def _temporary(ctx: KernelContext) -> Kernel:
    spec = variable_spec(ctx.attrs)
    return lambda: _Temporary(np.zeros(spec.shape.as_tuple(), spec.dtype.np_dtype))


op("TemporaryHandle", lambda ctx: [scalar_shape], kernel=_temporary, grad=NOT_DIFFERENTIABLE)
# By convention, the gradient of a handle is the gradient of the variable's value.
op(_HANDLE_OF, lambda ctx: [scalar_shape], _Fed, lambda op, grad: [grad], aliases=True)
