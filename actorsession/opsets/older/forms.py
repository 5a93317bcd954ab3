"""``older_form``: an operation type that another has replaced, run and differentiated as the newer one.

An older form keeps its name and signature in the graph and has no code of its own. Its shape rule, kernel and
gradient are those of the newer type, which is shown other inputs and attributes::

    older_form("TopK", "TopKV2", (0, lambda attrs, dtypes: np.int32(attrs["k"])))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.device_kernels import definition_of, on_device
from actorsession.graph.dtypes import DType, as_dtype, int32, resource
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import check_types, signature_of
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    REQUIRED,
    Array,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    lookup,
    register,
)
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import constant
from actorsession.ops.rows import check_inputs, pair
from actorsession.records import dataclass

__all__ = ["Attrs", "Computed", "Item", "ShapeOf", "older_form"]

Attrs: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The shape of an input, in place of the input.

    Attributes:
        index: the input.
    """

    index: int


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that is computed from those of some inputs.

    Attributes:
        indices: the inputs.
        function: from their values to that value.
        spec: its type and shape.
    """

    indices: Sequence[int]
    function: Callable[..., Array]
    spec: TensorSpec


Source: TypeAlias = "int | ShapeOf | Computed | Array"
Item: TypeAlias = "int | slice | ShapeOf | Callable[[Attrs, Sequence[DType]], Any]"
"""An input of the newer type: one or several of the older, or what attributes and types of inputs make of
them: a range of them, a value computed from some, or a constant."""

# What is true of the newer type however its inputs are given, and what is true for the same inputs alone.
_SHARED = ("aliases", "once", "blocks", "calls_python", "suspends", "takes", "divides", "opens_files")
_OF_SAME_INPUTS = ("keeps", "borrows", "cost", "sized_by")


def older_form(
    name: str,
    newer: str,
    inputs: Sequence[Item] = (slice(None),),
    attrs: Callable[[Attrs, Sequence[DType]], Attrs] | None = None,
    without: Callable[[Attrs], int] | None = None,
    **changed: Any,
) -> OpDef:
    """Register an operation type of the table of signatures that another type has replaced.

    Args:
        name: the older type.
        newer: the type that has replaced it.
        inputs: the inputs that the newer type is shown.
        attrs: from the attributes and the element types of the inputs to the attributes of the newer type
            that have other names or values; those of the same name stay.
        without: from the attributes to how many of the last outputs the older type does not have.
        changed: fields of ``OpDef`` that are not those of the newer type.

    Returns:
        The registered type.
    """
    now = lookup(newer)
    form = _Form(now, inputs, attrs, without)
    kept = _SHARED + (_OF_SAME_INPUTS if form.same_inputs else ())
    fields: dict[str, Any] = {key: getattr(now, key) for key in kept}
    if not form.same_inputs:
        fields["sized_by"] = [item for at, item in enumerate(inputs) if isinstance(item, int) and at in now.sized_by]
    differentiable = now.gradient is not None and now.gradient is not NOT_DIFFERENTIABLE
    if form.same_inputs and now.sentence is not None and without is None:
        fields["sentence"] = form.sentence
    fields["gradient"] = form.gradient if differentiable else now.gradient
    return register(OpDef(name=name, infer=form.infer, kernel=form.kernel, **{**fields, **changed}))


class _Form:
    """How the nodes of an older form are seen as nodes of the newer type."""

    def __init__(self, newer: OpDef, inputs: Sequence[Item], attrs: Any, without: Any) -> None:
        self.newer = newer
        self._items, self._attrs, self._without = inputs, attrs, without
        self.same_inputs = tuple(inputs) == (slice(None),)

    def items(self, attrs: Attrs, dtypes: Sequence[DType]) -> list[Source]:
        """Return for each input of the newer type where it comes from, or its value."""
        sources: list[Source] = []
        for item in self._items:
            if isinstance(item, slice):
                sources += range(len(dtypes))[item]
            elif isinstance(item, (int, ShapeOf)):
                sources.append(item)
            else:
                source = item(attrs, dtypes)
                if isinstance(source, range):
                    sources += source
                else:
                    sources.append(source if isinstance(source, Computed) else np.asarray(source))
        return sources

    def attrs(self, given: Attrs, dtypes: Sequence[DType]) -> dict[str, Any]:
        """Return the attributes that a node of the newer type has."""
        attrs = {key: value for key, value in self.newer.attrs.items() if value is not REQUIRED}
        attrs |= given
        return attrs | dict(self._attrs(given, dtypes)) if self._attrs else attrs

    def infer(self, ctx: InferContext) -> Sequence[TensorSpec]:
        """Infer as the newer type, after a check of the types that the older one takes."""
        dtypes = _dtypes(ctx.inputs)
        check_types(ctx.op, dtypes, ctx.attrs)
        check_inputs(ctx)
        items = self.items(ctx.attrs, dtypes)
        specs = tuple([_spec(item, ctx.inputs) for item in items])
        values = tuple([_constant(item, ctx.inputs, ctx.constant) for item in items])
        attrs = self.attrs(ctx.attrs, dtypes)
        inferred = self.newer.infer(InferContext(self.newer.name, specs, attrs, values))
        if inferred and inferred[0].dtype is resource and _gives_reference(ctx.op):
            return [TensorSpec(resource, shape) for shape in pair(ctx)]
        return inferred[: len(inferred) - self._without(ctx.attrs)] if self._without else inferred

    def sentence(self, xp: Any, ctx: KernelContext) -> Kernel:
        """Make the kernel of the newer type for arrays that have a module of functions."""
        assert self.newer.sentence is not None
        return self.newer.sentence(xp, _SeenNode(self, ctx))

    def kernel(self, ctx: KernelContext) -> Kernel:
        """Make the kernel of the newer type, as it is on the node's device."""
        seen: Any = _SeenNode(self, ctx)
        function = definition_of(seen).kernel(seen)
        if self.same_inputs:
            return function
        items = self.items(ctx.attrs, _dtypes(ctx.inputs))
        shown = [on_device(item[()], ctx.device) if isinstance(item, np.ndarray) else item for item in items]
        if self._without is None:
            return lambda *inputs: function(*[_value(item, inputs) for item in shown])
        count = len(ctx.outputs)

        def first(*inputs: Any) -> Any:
            outputs = function(*[_value(item, inputs) for item in shown])
            return outputs[:count] if count != 1 else outputs[0]

        return first

    def gradient(self, op: Operation, *grads: Tensor | None) -> Sequence[Any]:
        """Return the gradients that the newer type has for the inputs of the older one."""
        seen: Any = _SeenOperation(self, op)
        assert callable(self.newer.gradient)
        gradients = self.newer.gradient(seen, *grads)
        back: list[Any] = [None] * len(op.inputs)
        for item, grad in zip(self.items(op.attrs, _dtypes(op.inputs)), gradients, strict=True):
            if isinstance(item, int):
                back[item] = grad
        return back


def _gives_reference(name: str) -> bool:
    signature = signature_of(name)
    return signature is not None and signature.outputs[0].is_ref


def _dtypes(inputs: Sequence[TensorSpec] | Sequence[Tensor]) -> tuple[DType, ...]:
    return tuple([each.dtype for each in inputs])


def _spec(item: Source, inputs: Sequence[TensorSpec]) -> TensorSpec:
    if isinstance(item, ShapeOf):
        return TensorSpec(int32, TensorShape([inputs[item.index].shape.rank]))
    if isinstance(item, Computed):
        return item.spec
    if isinstance(item, np.ndarray):
        return TensorSpec(as_dtype(item.dtype), TensorShape(item.shape))
    return inputs[item]


def _constant(item: Source, inputs: Sequence[TensorSpec], known: Callable[[int], Array | None]) -> Array | None:
    if isinstance(item, ShapeOf):
        shape = inputs[item.index].shape
        return np.array(shape.as_list(), np.int32) if shape.is_fully_defined() else None
    if isinstance(item, Computed):
        values = [known(index) for index in item.indices]
        return None if any(value is None for value in values) else item.function(*values)
    return item if isinstance(item, np.ndarray) else known(item)


def _value(item: Any, inputs: Sequence[Any]) -> Any:
    if item.__class__ is int:
        return inputs[item]
    if item.__class__ is ShapeOf:
        return np.array(np.shape(inputs[item.index]), np.int32)
    if item.__class__ is Computed:
        return item.function(*[inputs[index] for index in item.indices])
    return item


class _SeenNode:
    """A node of an older form as the kernel factory of the newer type sees it; see ``KernelContext``."""

    def __init__(self, form: _Form, ctx: KernelContext) -> None:
        self._ctx = ctx
        dtypes = _dtypes(ctx.inputs)
        self._items = form.items(ctx.attrs, dtypes)
        self.op = form.newer.name
        self.attrs = form.attrs(ctx.attrs, dtypes)
        self.inputs = tuple([_spec(item, ctx.inputs) for item in self._items])

    def constant(self, index: int) -> Array | None:
        """Return the value of an input that is a constant of the plan."""
        return _constant(self._items[index], self._ctx.inputs, self._ctx.constant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


class _SeenOperation:
    """An operation of an older form as the gradient of the newer type sees it."""

    def __init__(self, form: _Form, op: Operation) -> None:
        self._op = op
        self.type, self.op_def = form.newer.name, form.newer
        dtypes = _dtypes(op.inputs)
        self.attrs = form.attrs(op.attrs, dtypes)
        items = form.items(op.attrs, dtypes)
        self.inputs = tuple([_tensor(item, op) for item in items])

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute."""
        return self.attrs[name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._op, name)


def _tensor(item: Source, op: Operation) -> Tensor:
    assert not isinstance(item, Computed), "no form that is differentiated has one"
    if isinstance(item, ShapeOf):
        return raw.Shape(op.inputs[item.index])
    return op.inputs[item] if isinstance(item, int) else constant(item, graph=op.graph)
