"""What makes operations read other tensors, and wait for other operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorsession.compat.v1.contrib.graph_editor.elements import (
    check_graphs,
    get_consuming_ops,
    make_list_of_op,
    make_list_of_t,
)
from actorsession.compat.v1.contrib.graph_editor.subgraph import SubGraphView, make_view
from actorsession.graph.operation import Operation, Tensor

__all__ = [
    "add_control_inputs",
    "remove_control_inputs",
    "reroute_inputs",
    "reroute_ios",
    "reroute_outputs",
    "reroute_ts",
    "swap_inputs",
    "swap_ios",
    "swap_outputs",
    "swap_ts",
]


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Make the readers of tensors read others, and the readers of those the first.

    Args:
        ts0: the tensors.
        ts1: the others, as many.
        can_modify: the operations that may be changed; all if left out.
        cannot_modify: operations that may not.

    Returns:
        The number of inputs that were changed.

    Raises:
        TypeError: for what are no tensors or operations.
        ValueError: if the tensors do not fit one another.
    """
    return _rerouted(ts0, ts1, can_modify, cannot_modify, swap=True)


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Make the readers of ``ts1`` read ``ts0``; see ``swap_ts``."""
    return _rerouted(ts0, ts1, can_modify, cannot_modify, swap=False)


def _rerouted(ts0: Any, ts1: Any, can: Any, cannot: Any, *, swap: bool) -> int:
    new, old = make_list_of_t(list(ts0) if _is_view(ts0) else ts0), make_list_of_t(ts1)
    _check_fit(new, old)
    may = None if can is None else set(make_list_of_op(can))
    may_not = set() if cannot is None else set(make_list_of_op(cannot))
    # All readers are looked for before the first is changed: a tensor may be there twice.
    plan = [(a, b, set(a.consumers()), set(b.consumers())) for a, b in zip(new, old, strict=True)]
    changed = 0
    for a, b, readers_of_a, readers_of_b in plan:
        if a is b:
            continue
        for source, instead, readers in ((b, a, readers_of_b), (a, b, readers_of_a if swap else ())):
            for op in sorted(readers, key=lambda each: each.number):
                if op not in may_not and (may is None or op in may):
                    changed += _replaced(op, source, instead)
    return changed


def _is_view(value: Any) -> bool:
    """Whether a value is the keys or values of a dictionary."""
    return isinstance(value, Iterable) and not isinstance(value, Tensor)


def _check_fit(new: list[Tensor], old: list[Tensor]) -> None:
    check_graphs(*new, *old)
    if len(new) != len(old):
        raise ValueError(f"there are {len(new)} tensors for {len(old)}")
    for a, b in zip(new, old, strict=True):
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError(f"{a!r} and {b!r} have different dtypes")
        if not a.shape.is_compatible_with(b.shape):
            raise ValueError(f"{a!r} and {b!r} have incompatible shapes")


def _replaced(op: Operation, source: Tensor, instead: Tensor) -> int:
    places = [place for place, tensor in enumerate(op.inputs) if tensor is source]
    for place in places:
        op._update_input(place, instead)
    return len(places)


# -- views -----------------------------------------------------------------------------------------


def _inputs(first: Any, second: Any, *, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    a, b = make_view(first), make_view(second)
    check_graphs(a, b)
    # Who reads what only passes through a view is outside of it.
    may = [*a.ops, *b.ops, *get_consuming_ops(a.passthroughs), *get_consuming_ops(b.passthroughs)]
    _rerouted(a.inputs, b.inputs, may, None, swap=swap)
    before_a, before_b = a.copy(), b.copy()
    _take_inputs(b, before_a, before_b)
    if swap:
        _take_inputs(a, before_b, before_a)
    return a, b


def _take_inputs(view: SubGraphView, other: SubGraphView, before: SubGraphView) -> None:
    """Give a view the inputs of another, and with them what only passes through it."""
    view._input_ts, view._passthrough_ts = other.inputs, other.passthroughs
    for place, tensor in enumerate(view._output_ts):
        if before.is_passthrough(tensor) and tensor in before._input_ts:
            view._output_ts[place] = view._input_ts[before.input_index(tensor)]


def _outputs(first: Any, second: Any, *, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    a, b = make_view(first), make_view(second)
    check_graphs(a, b)
    _rerouted(a.outputs, b.outputs, None, [*a.ops, *b.ops], swap=swap)
    return a, b


def swap_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Exchange the inputs of two views, which change with them.

    Args:
        sgv0: a view, or what makes one.
        sgv1: another.

    Returns:
        The two views.
    """
    return _inputs(sgv0, sgv1, swap=True)


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Give the second view the inputs of the first; see ``swap_inputs``."""
    return _inputs(sgv0, sgv1, swap=False)


def swap_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Exchange those who read the outputs of two views; see ``swap_inputs``."""
    return _outputs(sgv0, sgv1, swap=True)


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Make those who read the outputs of the second view read those of the first; see ``swap_inputs``."""
    return _outputs(sgv0, sgv1, swap=False)


def swap_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Exchange inputs and outputs of two views; see ``swap_inputs``."""
    a, b = _outputs(sgv0, sgv1, swap=True)
    return _inputs(a, b, swap=True)


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Put the first view in the place of the second; see ``swap_inputs``."""
    a, b = _outputs(sgv0, sgv1, swap=False)
    return _inputs(a, b, swap=False)


# -- control inputs --------------------------------------------------------------------------------


def _checked(op: Any, cops: Any) -> list[Operation]:
    if not isinstance(op, Operation):
        raise TypeError(f"an operation is taken, got {op!r:.100}")
    return make_list_of_op(cops, allow_graph=False)


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """Make an operation wait no longer for others.

    Args:
        op: the operation.
        cops: those for which it waits.

    Raises:
        TypeError: for what are no operations.
        ValueError: if it does not wait for one of them.
    """
    removed = _checked(op, cops)
    for other in removed:
        if other not in op.control_inputs:
            raise ValueError(f"{op.name} has no control input {other.name}")
    op.graph.changes.update_control_inputs(op, [each for each in op.control_inputs if each not in removed])


def add_control_inputs(op: Operation, cops: Any) -> None:
    """Make an operation wait for others.

    Args:
        op: the operation.
        cops: those for which it is to wait.

    Raises:
        TypeError: for what are no operations.
        ValueError: if it waits for one of them already, or they depend on it.
    """
    added = _checked(op, cops)
    for other in added:
        if other in op.control_inputs:
            raise ValueError(f"{op.name} waits for {other.name} already")
    op.graph.changes.update_control_inputs(op, [*op.control_inputs, *added])
