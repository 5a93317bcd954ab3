"""What takes parts out of a graph, and connects them with others."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.graph_editor.elements import (
    ControlOutputs,
    check_graphs,
    make_placeholder_from_tensor,
    placeholder_name,
)
from actorsession.compat.v1.contrib.graph_editor.reroute import (
    remove_control_inputs,
    reroute_inputs,
    reroute_ts,
    swap_inputs,
    swap_outputs,
)
from actorsession.compat.v1.contrib.graph_editor.select import check_cios
from actorsession.compat.v1.contrib.graph_editor.subgraph import SubGraphView, make_view
from actorsession.graph.operation import Tensor

__all__ = [
    "bypass",
    "connect",
    "detach",
    "detach_control_inputs",
    "detach_control_outputs",
    "detach_inputs",
    "detach_outputs",
]


def detach_control_inputs(sgv: Any) -> None:
    """Make the operations of a view wait for none outside."""
    view = make_view(sgv)
    for op in view.ops:
        remove_control_inputs(op, [each for each in op.control_inputs if each not in view.ops])


def detach_control_outputs(sgv: Any, control_outputs: ControlOutputs) -> None:
    """Make the operations outside of a view wait for none inside.

    Raises:
        TypeError: for another kind of ``control_outputs``.
    """
    if not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"a ControlOutputs is taken, got {control_outputs!r:.100}")
    view = make_view(sgv)
    control_outputs.update()
    for op in view.ops:
        for other in control_outputs.get(op):
            if other not in view.ops:
                remove_control_inputs(other, op)


def detach_inputs(sgv: Any, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """Give a view placeholders in the place of its inputs.

    Args:
        sgv: a view, which changes, or what makes one.
        control_inputs: whether its operations also wait for none outside.

    Returns:
        The view and the placeholders.
    """
    view = make_view(sgv)
    with _graph(view).as_default():
        placeholders = [ops.placeholder(t.dtype.base_dtype, name=placeholder_name(t)) for t in view.inputs]
    swap_inputs(view, placeholders)
    if control_inputs:
        detach_control_inputs(view)
    return view, placeholders


def detach_outputs(sgv: Any, control_outputs: ControlOutputs | None = None) -> tuple[SubGraphView, list[Tensor]]:
    """Give those who read the outputs of a view placeholders in the place of these.

    Args:
        sgv: a view, or what makes one.
        control_outputs: if given, nobody outside waits for its operations.

    Returns:
        A view with the outputs that were read, and the placeholders.
    """
    view = make_view(sgv)
    view = view.remap_outputs([n for n, t in enumerate(view.outputs) if t.consumers()])
    readers = SubGraphView(view.consumers())
    readers = readers.remap_inputs([n for n, t in enumerate(readers.inputs) if t in view.outputs])
    with _graph(view).as_default():
        placeholders = [make_placeholder_from_tensor(tensor) for tensor in readers.inputs]
    swap_outputs(view, placeholders)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


def detach(
    sgv: Any,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[SubGraphView, list[Tensor], list[Tensor]]:
    """Take a view out of its graph: see ``detach_inputs`` and ``detach_outputs``.

    Returns:
        The view, the placeholders of its inputs, and those of its outputs.
    """
    before, after = check_cios(control_inputs, control_outputs, control_ios)
    view = make_view(sgv)
    _, entering = detach_inputs(view, before)
    _, leaving = detach_outputs(view, after)
    return view, entering, leaving


def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """Give a view the outputs of another as inputs.

    Args:
        sgv0: the view whose outputs are read.
        sgv1: the view that reads them, which changes.
        disconnect_first: whether nobody else reads them any longer.

    Returns:
        The two views.
    """
    first, second = make_view(sgv0), make_view(sgv1)
    check_graphs(first, second)
    if disconnect_first:
        detach_outputs(first)
    reroute_inputs(SubGraphView(passthrough_ts=first.outputs), second)
    return first, second


def bypass(sgv: Any) -> tuple[SubGraphView, list[Tensor]]:
    """Make those who read the outputs of a view read its inputs, and give it placeholders in their place.

    Returns:
        The view and the placeholders.
    """
    view = make_view(sgv)
    inputs = view.inputs
    view, placeholders = detach_inputs(view)
    reroute_ts(inputs, view.outputs)
    return view, placeholders


def _graph(view: SubGraphView) -> Any:
    if view.graph is None:
        raise ValueError("the view is empty: it has no inputs and outputs")
    return view.graph
