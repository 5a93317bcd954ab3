"""``compound``: an operation type that is computed as several others are, one after the other.

What TensorFlow fuses into one kernel, or writes as one type in later versions, is a row with a body::

    compound("FusedPadConv2D", lambda body, x, paddings, f: body.Conv2D(body.MirrorPad(x, paddings, ...), f))

The body is run on static types, once to infer the node's outputs and once to make its kernel: each call of
an operation type infers that type's outputs and notes the step. The node stays one node of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.device_kernels import definition_of, on_device
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import check_types, output_types
from actorsession.graph.registry import REQUIRED, Array, Gradient, InferContext, Kernel, KernelContext, OpDef, lookup
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import op
from actorsession.records import dataclass

__all__ = ["Body", "Value", "compound", "kernel_of", "specs_of"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value within a compound.

    Attributes:
        at: its place in the list of all values of the compound.
        spec: its static type.
        constant: its value, if it is known.
    """

    at: int
    spec: TensorSpec
    constant: Array | None = None


def _complete(op_type: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    stored = lookup(op_type).attrs
    known = {key: value for key, value in stored.items() if value is not REQUIRED}
    return known | {key: value for key, value in attrs.items() if key in stored}


def specs_of(
    op_type: str,
    inputs: Sequence[TensorSpec],
    attrs: Mapping[str, Any],
    constants: Sequence[Array | None] | None = None,
) -> Sequence[TensorSpec]:
    """Return the static types of the outputs that a node of a type would have.

    Args:
        op_type: operation type.
        inputs: static types of its inputs.
        attrs: its attributes; those left out have their defaults, and others are ignored.
        constants: values of inputs as far as they are known.
    """
    known = tuple(constants or [None] * len(inputs))
    return lookup(op_type).infer(InferContext(op_type, tuple(inputs), _complete(op_type, attrs), known))


def kernel_of(
    ctx: KernelContext,
    op_type: str,
    inputs: Sequence[TensorSpec],
    attrs: Mapping[str, Any],
    constants: Sequence[Array | None] | None = None,
) -> Kernel:
    """Return the kernel that a node of another type would have in a node's place, on its device; see ``specs_of``."""
    known = tuple(constants or [None] * len(inputs))
    outputs = specs_of(op_type, inputs, attrs, known)
    part: Any = _Part(ctx, op_type, tuple(inputs), tuple(outputs), attrs, known)
    return definition_of(part).kernel(part)


class _Part:
    """The view that the kernel factory of a part has of its node; see ``KernelContext``."""

    def __init__(self, ctx: KernelContext, op_type: str, inputs: Any, outputs: Any, attrs: Any, known: Any) -> None:
        self._ctx, self._known = ctx, known
        self.op, self.inputs, self.outputs = op_type, inputs, outputs
        self.attrs = _complete(op_type, attrs)

    def constant(self, index: int) -> Array | None:
        """Return the value of an input that is known."""
        value: Array | None = self._known[index]
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


class Body:
    """The body of a compound while it is run on static types: its methods are operation types.

    Attributes:
        attrs: attributes of the compound's node.
        outputs: element types of the compound's outputs.
    """

    def __init__(
        self,
        attrs: Mapping[str, Any],
        inputs: Sequence[TensorSpec],
        constants: Sequence[Array | None],
        outputs: Sequence[Any],
    ) -> None:
        self.attrs, self.outputs = attrs, outputs
        self.values = [Value(at, spec, known) for at, (spec, known) in enumerate(zip(inputs, constants, strict=True))]
        self.steps: list[tuple[str, list[Value], dict[str, Any], list[Value]]] = []

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        return lambda *operands, **attrs: self._call(op_type, operands, attrs)

    def constant(self, value: Any) -> Value:
        """Return a constant as a value of the compound."""
        array = np.asarray(value)
        spec = TensorSpec(as_dtype(array.dtype), TensorShape(array.shape))
        return self._added(spec, array)

    def _added(self, spec: TensorSpec, known: Array | None = None) -> Value:
        self.values.append(Value(len(self.values), spec, known))
        return self.values[-1]

    def _call(self, op_type: str, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        inputs = [each if isinstance(each, Value) else self.constant(each) for each in operands]
        specs = specs_of(op_type, [each.spec for each in inputs], attrs, [each.constant for each in inputs])
        values = [self._added(spec) for spec in specs]
        self.steps.append((op_type, inputs, attrs, values))
        return values[0] if len(values) == 1 else values


Composition: TypeAlias = "Callable[..., Value | Sequence[Value]]"
"""The body of a compound: from a ``Body`` and the values of the inputs to those of the outputs."""


def compound(name: str, composition: Composition, grad: Gradient | None = None, **more: Any) -> OpDef:
    """Register an operation type of the table of signatures that is computed as others are.

    Args:
        name: operation type.
        composition: its body.
        grad: gradient function; ``None`` when there is none.
        more: further fields of ``OpDef``.

    Returns:
        The registered type.
    """

    def run(op_type: str, attrs: Any, inputs: Any, constants: Any) -> tuple[Body, list[Value]]:
        dtypes = tuple([spec.dtype for spec in inputs])
        check_types(op_type, dtypes, attrs)
        body = Body(attrs, inputs, constants, output_types(op_type, dtypes, attrs))
        values = composition(body, *body.values[: len(inputs)])
        return body, [values] if isinstance(values, Value) else list(values)

    def infer(ctx: InferContext) -> Sequence[TensorSpec]:
        known = [ctx.constant(at) for at in range(len(ctx.inputs))]
        return [value.spec for value in run(ctx.op, ctx.attrs, ctx.inputs, known)[1]]

    def kernel(ctx: KernelContext) -> Kernel:
        known = [ctx.constant(at) for at in range(len(ctx.inputs))]
        body, results = run(ctx.op, ctx.attrs, ctx.inputs, known)
        return _program(ctx, body, len(ctx.inputs), [value.at for value in results])

    return op(name, infer=infer, kernel=kernel, grad=grad, **more)


def _program(ctx: KernelContext, body: Body, inputs: int, results: Sequence[int]) -> Kernel:
    """Return the function that runs the steps of a body."""
    constants = [value.constant for value in body.values[inputs:]]
    start = [None if value is None else on_device(value, ctx.device) for value in constants]
    steps = [
        (
            kernel_of(ctx, op_type, [v.spec for v in taken_values], attrs, [v.constant for v in taken_values]),
            [value.at for value in taken_values],
            [value.at for value in outputs],
        )
        for op_type, taken_values, attrs, outputs in body.steps
    ]

    def run(*values: Any) -> Any:
        held = [*values, *start]
        for function, taken, put in steps:
            returned = function(*[held[at] for at in taken])
            if len(put) == 1:
                held[put[0]] = returned
            else:
                for at, each in zip(put, returned, strict=True):
                    held[at] = each
        return held[results[0]] if len(results) == 1 else tuple([held[at] for at in results])

    return run
