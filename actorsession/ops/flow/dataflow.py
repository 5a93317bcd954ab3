"""Loops and conditionals of single operations: Switch, Merge, Enter, Exit, NextIteration, LoopCond.

TensorFlow 1 builds its control flow from these op types, and graphs written by it contain them.
``while_loop`` and ``cond`` of this library do not use them: those are one operation each, with functions. A
plan that contains one of these types runs on the dataflow engine, which implements them; it never calls their
kernels. A loop is built with a ``merge`` of the entered value twice, whose second input ``close_loop``
replaces later.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from actorsession.errors import UnimplementedError
from actorsession.graph.control_flow_ops import NEXT_ITERATIONS
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_all, convert_to_tensor, make
from actorsession.ops.flow.switch_gradients import exit_gradient, merge_gradient, switch_gradient
from actorsession.ops.rows import checked, first, no_outputs, op, scalar

__all__ = [
    "close_loop",
    "control_trigger",
    "enter",
    "exit_",
    "loop_cond",
    "merge",
    "next_iteration",
    "switch",
    "switch_n",
]


class Switched(NamedTuple):
    """The outputs of a switch, of which one is a dead tensor."""

    output_false: Tensor
    output_true: Tensor


class Merged(NamedTuple):
    """The outputs of a merge: the value that is not dead, and the index of its input."""

    output: Tensor
    value_index: Tensor


# -- shapes ----------------------------------------------------------------------------------------


def _switched(ctx: InferContext) -> Sequence[TensorShape]:
    return [ctx.inputs[0].shape] * 2


def _switched_n(ctx: InferContext) -> Sequence[TensorShape]:
    count = ctx.attrs["num_outs"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"num_outs of {ctx.op} is a positive int, got {count!r}")
    return [ctx.inputs[0].shape] * count


def _merged(ctx: InferContext) -> Sequence[TensorShape]:
    if not ctx.inputs:
        raise ValueError(f"{ctx.op} needs at least one input")
    return [functools.reduce(_common, [spec.shape for spec in ctx.inputs]), scalar_shape]


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the static shape of a value that has one of two shapes."""
    if one.sizes is None or other.sizes is None or len(one.sizes) != len(other.sizes):
        return TensorShape(None)
    pairs = zip(one.sizes, other.sizes, strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])


def _entered(ctx: InferContext) -> Sequence[TensorShape]:
    name, parallel = ctx.attrs["frame_name"], ctx.attrs["parallel_iterations"]
    if not isinstance(name, str) or not name:
        raise ValueError(f"frame_name of {ctx.op} is a non-empty string, got {name!r}")
    if isinstance(parallel, bool) or not isinstance(parallel, int) or parallel < 1:
        raise ValueError(f"parallel_iterations of {ctx.op} is a positive int, got {parallel!r}")
    # The entered value is only the first of the values that the loop produces.
    return [ctx.inputs[0].shape if ctx.attrs["is_constant"] else unknown_shape]


def _kernel(context: KernelContext) -> Kernel:
    raise UnimplementedError(
        f"{context.name!r} ({context.op}) stands within a function: loops and conditionals of single "
        "operations run in the graph itself; use while_loop or cond there"
    )


for _ref in ("", "Ref"):
    op(f"{_ref}Switch", checked(_switched, None, 0), kernel=_kernel, grad=switch_gradient, aliases=True)
    op(f"{_ref}Merge", _merged, kernel=_kernel, grad=merge_gradient, aliases=True)
    op(f"{_ref}Enter", checked(_entered), kernel=_kernel, aliases=True)
    op(f"{_ref}Exit", checked(first), kernel=_kernel, grad=exit_gradient, aliases=True)
    op(f"{_ref}NextIteration", checked(first), kernel=_kernel, aliases=True)
# A reference that is fed is a value.
op("RefIdentity", checked(first), lambda value: value, aliases=True)
op("LoopCond", checked(scalar, 0), kernel=_kernel, aliases=True)
op("ControlTrigger", checked(no_outputs), kernel=_kernel)
op("_SwitchN", checked(_switched_n, None, 0), kernel=_kernel, aliases=True)


# -- builders --------------------------------------------------------------------------------------


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Switched:
    """Forward a value to one of two outputs.

    Args:
        data: the value.
        pred: a bool scalar.
        dtype: dtype of ``data``, for values that are not tensors.
        name: name of the operation, ``Switch`` if left out.

    Returns:
        Two tensors. The one that is not selected is dead: operations that read it do not run.

    Raises:
        TypeError: if ``pred`` is not bool.
        ValueError: if ``pred`` is statically known not to be a scalar.
    """
    tensor = convert_to_tensor(data, dtype)
    pred = convert_to_tensor(pred, graph=tensor.graph)
    return Switched(*raw.Switch(tensor, pred, name=name))


def switch_n(data: Any, output_index: Any, num_outs: int, name: str | None = None) -> list[Tensor]:
    """Forward a value to one of several outputs.

    Args:
        data: the value.
        output_index: an int32 scalar; one that is out of range selects the last output.
        num_outs: number of outputs.
        name: name of the operation, ``SwitchN`` if left out.

    Returns:
        As many tensors, all but one of them dead.
    """
    tensor = convert_to_tensor(data)
    index = convert_to_tensor(output_index, graph=tensor.graph)
    op = make("_SwitchN", [tensor, index], {"num_outs": num_outs}, name or "SwitchN")
    return list(op.outputs)


def merge(inputs: Sequence[Any], name: str | None = None) -> Merged:
    """Return the first of several values that is not dead; the result is dead if all are.

    Args:
        inputs: values of one dtype.
        name: name of the operation, ``Merge`` if left out.

    Returns:
        The value, and its position in ``inputs`` as an int32 scalar.

    Raises:
        ValueError: for no inputs, or ``None`` among them.
        TypeError: for inputs of different dtypes.
    """
    if any(value is None for value in inputs):
        raise ValueError("at least one of the inputs of merge is None; a branch gave no value")
    return Merged(*raw.Merge(convert_all(inputs), name=name))


def enter(
    data: Any, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10, name: str | None = None
) -> Tensor:
    """Pass a value into a loop.

    Args:
        data: the value.
        frame_name: name of the loop; all values that enter it have the same name.
        is_constant: whether the value is available in every iteration, not only in the first.
        parallel_iterations: how many iterations may run at once.
        name: name of the operation, ``Enter`` if left out.

    Raises:
        ValueError: for an empty name, or fewer than one iteration.
    """
    return raw.Enter(
        convert_to_tensor(data),
        frame_name=frame_name,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
        name=name,
    )


def exit_(tensor: Any, name: str | None = None) -> Tensor:
    """Return the value of the last iteration, outside of the loop."""
    return raw.Exit(convert_to_tensor(tensor), name=name)


def next_iteration(tensor: Any, name: str | None = None) -> Tensor:
    """Pass a value to the next iteration of its loop."""
    return raw.NextIteration(convert_to_tensor(tensor), name=name)


def loop_cond(input: Any, name: str | None = None) -> Tensor:
    """Mark a bool scalar as the condition of its loop.

    Raises:
        TypeError: if it is not bool.
        ValueError: if it is statically known not to be a scalar.
    """
    return raw.LoopCond(convert_to_tensor(input), name=name)


def control_trigger(name: str | None = None) -> Operation:
    """Return an operation that does nothing, and runs even after operations that are dead."""
    return raw.ControlTrigger(name=name)


def close_loop(merged: Tensor, value: Tensor) -> None:
    """Set the last input of a merge to the value of the previous iteration.

    Args:
        merged: an output of ``merge``, whose last input was a stand-in until now.
        value: an output of ``next_iteration``.

    Raises:
        ValueError: if ``value`` is not an output of ``next_iteration``.
        TypeError: if its dtype is not that of the merge.
    """
    if value.op.type not in NEXT_ITERATIONS:
        raise ValueError(f"a loop is closed by an output of next_iteration; got {value.name} ({value.op.type})")
    merged.op._update_input(len(merged.op.inputs) - 1, value)
