"""``SubGraphView``: a part of a graph with the tensors that enter and leave it, in an order of one's own."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from actorsession.compat.v1.contrib.graph_editor.elements import (
    get_consuming_ops,
    get_unique_graph,
    make_list_of_op,
    make_list_of_t,
    unique,
)
from actorsession.compat.v1.contrib.graph_editor.select import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_union_ops,
    select_ops_and_ts,
)
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]


class SubGraphView:
    """Operations with the tensors that enter and leave them; to make one changes nothing in the graph.

    Args:
        inside_ops: the operations.
        passthrough_ts: tensors that enter and leave and are read and made by none of the operations; others
            are passed over.

    Raises:
        TypeError: for what are no operations and tensors.
        ValueError: if they are of different graphs.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        passing = make_list_of_t(passthrough_ts)
        self._graph = get_unique_graph([*self._ops, *passing], none_if_empty=True)
        entering, leaving, between = compute_boundary_ts(self._ops)
        known = {*entering, *leaving, *between}
        self._passthrough_ts = [tensor for tensor in passing if tensor not in known]
        self._input_ts = [*entering, *self._passthrough_ts]
        self._output_ts = [*leaving, *self._passthrough_ts]

    def __copy__(self) -> SubGraphView:
        view = SubGraphView.__new__(type(self))
        view._assign_from(self)
        return view

    def _assign_from(self, other: Any) -> None:
        """Become what another view is.

        Raises:
            TypeError: if it is none.
        """
        if not isinstance(other, SubGraphView):
            raise TypeError(f"a SubGraphView is taken, got {other!r:.100}")
        self._graph, self._ops = other._graph, list(other._ops)
        self._passthrough_ts = list(other._passthrough_ts)
        self._input_ts, self._output_ts = list(other._input_ts), list(other._output_ts)

    def copy(self) -> SubGraphView:
        """Return another view of the same part."""
        return copy.copy(self)

    # -- other orders --------------------------------------------------------------------------

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """Return a view with all inputs, or all outputs, in their first order."""
        view = self.copy()
        entering, leaving, _ = compute_boundary_ts(self._ops)
        if remove_input_map:
            view._input_ts = [*entering, *self._passthrough_ts]
        if remove_output_map:
            view._output_ts = [*leaving, *self._passthrough_ts]
        return view

    def remap_inputs(self, new_input_indices: Sequence[Any]) -> SubGraphView:
        """Return a view with some of the inputs, in another order.

        Args:
            new_input_indices: their numbers, or the tensors themselves, each at most once.

        Raises:
            ValueError: for what is no input, or there twice.
        """
        view = self.copy()
        view._input_ts = _picked(self._input_ts, new_input_indices, repeated=False)
        return view

    def remap_outputs(self, new_output_indices: Sequence[Any]) -> SubGraphView:
        """Return a view with some of the outputs, perhaps repeated; see ``remap_inputs``."""
        view = self.copy()
        view._output_ts = _picked(self._output_ts, new_output_indices, repeated=True)
        return view

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """Return what ``remap_inputs`` and ``remap_outputs`` make, as far as they are wanted."""
        view = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return (view if new_output_indices is None else view.remap_outputs(new_output_indices)).copy()

    def remap_outputs_make_unique(self) -> SubGraphView:
        """Return a view in which each output is there once."""
        view = self.copy()
        view._output_ts = unique(self._output_ts)
        return view

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """Return a view in which each output is there as often as it is read."""
        view = self.copy()
        view._output_ts = [t for t in unique(self._output_ts) for _ in t.consumers()]
        return view

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Return a view without the operations that neither read an input nor are read for an output."""
        view = self.copy()
        view._ops = get_walks_union_ops(
            self.connected_inputs, self.connected_outputs, within_ops=self._ops, control_inputs=control_inputs
        )
        return view

    # -- what it has ---------------------------------------------------------------------------

    def find_op_by_name(self, op_name: str) -> Operation:
        """Return the operation of a name.

        Raises:
            ValueError: if it is not here.
        """
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def op(self, op_id: int) -> Operation:
        """Return an operation by its number."""
        return self._ops[op_id]

    def input_index(self, t: Tensor) -> int:
        """Return the number of an input.

        Raises:
            ValueError: if it is none.
        """
        return _place(self._input_ts, t, "an input")

    def output_index(self, t: Tensor) -> int:
        """Return the number of an output.

        Raises:
            ValueError: if it is none.
        """
        return _place(self._output_ts, t, "an output")

    def consumers(self) -> list[Operation]:
        """Return the operations outside that read the outputs."""
        inside = set(self._ops)
        return [op for op in get_consuming_ops(self._output_ts) if op not in inside]

    def is_passthrough(self, t: Tensor) -> bool:
        """Return whether a tensor enters and leaves, and nothing more."""
        return t in self._passthrough_ts

    @property
    def graph(self) -> Graph | None:
        """The graph; ``None`` of an empty view."""
        return self._graph

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that enter."""
        return list(self._input_ts)

    @property
    def connected_inputs(self) -> list[Tensor]:
        """Those of them that an operation here reads."""
        return [t for t in self._input_ts if not self.is_passthrough(t)]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that leave."""
        return list(self._output_ts)

    @property
    def connected_outputs(self) -> list[Tensor]:
        """Those of them that an operation here makes."""
        return [t for t in self._output_ts if not self.is_passthrough(t)]

    @property
    def passthroughs(self) -> list[Tensor]:
        """The tensors that enter and leave, and nothing more."""
        return list(self._passthrough_ts)

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self.copy()

    def __exit__(self, *raised: object) -> None:
        """Do nothing."""

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"
        rows = [f"SubGraphView (graphid={id(self._graph)}):"]
        for title, members in (("ops", self._ops), ("inputs", self._input_ts), ("outputs", self._output_ts)):
            rows.append(f"  ** {title}:")
            rows += [f"    {each.name}" for each in members]
        return "\n".join(rows)


def _picked(tensors: list[Tensor], selection: Iterable[Any], *, repeated: bool) -> list[Tensor]:
    numbers = [each if isinstance(each, int) else _place(tensors, each, "there") for each in selection]
    for number in numbers:
        if not 0 <= number < len(tensors):
            raise ValueError(f"there are the numbers from 0 to {len(tensors) - 1}, got {number}")
    if not repeated and len(set(numbers)) != len(numbers):
        raise ValueError(f"each input is there at most once, got {numbers}")
    return [tensors[number] for number in numbers]


def _place(tensors: list[Tensor], element: Tensor, what: str) -> int:
    for number, tensor in enumerate(tensors):
        if tensor is element:
            return number
    raise ValueError(f"{element!r} is not {what}; there are {[t.name for t in tensors]}")


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """Return a view of what is named or given; see ``select_ops_and_ts``, or a view as it is.

    Raises:
        TypeError: for what cannot be part of one.
        ValueError: if it is of another graph than ``graph``.
    """
    graph = kwargs.get("graph")
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        view = args[0]
    else:
        view = SubGraphView(*select_ops_and_ts(*args, **kwargs))
    if graph is not None and view.graph is not None and view.graph is not graph:
        raise ValueError("the view is of another graph")
    return view


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """Return a view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))
