"""Loops and conditionals of single operations: Switch, Merge, Enter, Exit, NextIteration, LoopCond.

TensorFlow 1 builds its control flow from these op types, and graphs written by it contain them.
``while_loop`` and ``cond`` of this library do not use them: those are one operation each, with functions. A
plan that contains one of these types runs on the dataflow engine, which implements them; it never calls their
kernels. A loop is built with a ``merge`` of the entered value twice, whose second input ``close_loop``
replaces later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from actorsession.errors import UnimplementedError
from actorsession.graph.control_flow_ops import NEXT_ITERATIONS
from actorsession.graph.dtypes import bool_, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    REQUIRED,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_all, convert_to_tensor, make, make_one
from actorsession.ops.flow.way_gradients import exit_gradient, merge_gradient, switch_gradient

__all__ = [
    "Merged", "Switched", "close_loop", "control_trigger", "enter", "exit_", "loop_cond", "merge",
    "next_iteration", "switch", "switch_n",
]  # fmt: skip


class Switched(NamedTuple):
    """The outputs of a switch, of which one is a dead tensor."""

    output_false: Tensor
    output_true: Tensor


class Merged(NamedTuple):
    """The outputs of a merge: the value that is not dead, and the index of its input."""

    output: Tensor
    value_index: Tensor


# -- shapes ----------------------------------------------------------------------------------------


def _check_scalar(context: InferContext, index: int, dtype: Any, what: str) -> None:
    spec = context.inputs[index]
    if spec.dtype is not dtype:
        raise TypeError(
            f"{what} of {context.op} is a {dtype.name} scalar; got one of {spec.dtype.name}"
        )
    if spec.shape.rank not in (None, 0):
        raise ValueError(f"{what} of {context.op} is a scalar; got one of shape {spec.shape}")


def _check_count(context: InferContext, count: int) -> None:
    if len(context.inputs) != count:
        raise ValueError(f"{context.op} takes {count} inputs, got {len(context.inputs)}")


def _infer_switch(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 2)
    _check_scalar(context, 1, bool_, "the predicate")
    return [context.inputs[0]] * 2


def _infer_switch_n(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 2)
    _check_scalar(context, 1, int32, "the index")
    count = context.attrs["num_outs"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"num_outs of {context.op} is a positive int, got {count!r}")
    return [context.inputs[0]] * count


def _infer_merge(context: InferContext) -> Sequence[TensorSpec]:
    if not context.inputs:
        raise ValueError(f"{context.op} needs at least one input")
    first = context.inputs[0]
    shape = first.shape
    for spec in context.inputs[1:]:
        if spec.dtype is not first.dtype:
            raise TypeError(
                f"the inputs of {context.op} are of one type, got {first.dtype.name} and "
                f"{spec.dtype.name}"
            )
        shape = _common(shape, spec.shape)
    return [TensorSpec(first.dtype, shape), TensorSpec(int32, TensorShape(()))]


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the static shape of a value that has one of two shapes."""
    if one.sizes is None or other.sizes is None or len(one.sizes) != len(other.sizes):
        return TensorShape(None)
    pairs = zip(one.sizes, other.sizes, strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])


def _infer_enter(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 1)
    name, parallel = context.attrs["frame_name"], context.attrs["parallel_iterations"]
    if not isinstance(name, str) or not name:
        raise ValueError(f"frame_name of {context.op} is a non-empty string, got {name!r}")
    if isinstance(parallel, bool) or not isinstance(parallel, int) or parallel < 1:
        raise ValueError(f"parallel_iterations of {context.op} is a positive int, got {parallel!r}")
    (spec,) = context.inputs
    # The entered value is only the first of the values that the loop produces.
    return [spec if context.attrs["is_constant"] else TensorSpec(spec.dtype, TensorShape(None))]


def _infer_same(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 1)
    return context.inputs


def _infer_loop_cond(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 1)
    _check_scalar(context, 0, bool_, "the input")
    return [TensorSpec(bool_, TensorShape(()))]


def _infer_trigger(context: InferContext) -> Sequence[TensorSpec]:
    _check_count(context, 0)
    return []


def _kernel(context: KernelContext) -> Kernel:
    raise UnimplementedError(
        f"{context.name!r} ({context.op}) stands within a function: loops and conditionals of single "
        "operations run in the graph itself; use while_loop or cond there"
    )


_ENTER_ATTRS = {"frame_name": REQUIRED, "is_constant": False, "parallel_iterations": 10}

for _prefix in ("", "Ref"):
    register(
        OpDef(
            name=f"{_prefix}Switch",
            infer=_infer_switch,
            kernel=_kernel,
            gradient=switch_gradient,
            aliases=True,
        )
    )
    register(
        OpDef(
            name=f"{_prefix}Merge",
            infer=_infer_merge,
            kernel=_kernel,
            gradient=merge_gradient,
            aliases=True,
        )
    )
    register(
        OpDef(
            name=f"{_prefix}Enter",
            infer=_infer_enter,
            kernel=_kernel,
            aliases=True,
        )
    )
    register(
        OpDef(
            name=f"{_prefix}Exit",
            infer=_infer_same,
            kernel=_kernel,
            gradient=exit_gradient,
            aliases=True,
        )
    )
    register(OpDef(name=f"{_prefix}NextIteration", infer=_infer_same, kernel=_kernel, aliases=True))
register(OpDef(name="LoopCond", infer=_infer_loop_cond, kernel=_kernel, aliases=True))
register(OpDef(name="ControlTrigger", infer=_infer_trigger, kernel=_kernel))
register(
    OpDef(
        name="_SwitchN", infer=_infer_switch_n, kernel=_kernel,         aliases=True,
    )
)  # fmt: skip


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
    data: Any,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    name: str | None = None,
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
    attrs = {
        "frame_name": frame_name,
        "is_constant": is_constant,
        "parallel_iterations": parallel_iterations,
    }
    return make_one("Enter", [convert_to_tensor(data)], attrs, name)


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
        raise ValueError(
            f"a loop is closed by an output of next_iteration; got {value.name} ({value.op.type})"
        )
    merged.op._update_input(len(merged.op.inputs) - 1, value)
