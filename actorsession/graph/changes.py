"""What was changed in a graph after it was built: inputs, shapes, and additions to loops and branches.

Sessions find changes by their number: the lists only grow. A change is refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorsession.graph.control_flow_ops import is_back_edge, reads
from actorsession.graph.function import size_inside
from actorsession.graph.graph_lock import GraphLock
from actorsession.graph.node import TensorSpec
from actorsession.graph.node_index import NodeIndex
from actorsession.graph.operation import Listed, Operation, Tensor
from actorsession.graph.shape import TensorShape, as_shape, clash
from actorsession.graph.source_location import user_line

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph

__all__ = ["GraphChanges", "check_input"]


class GraphChanges:
    """The changes of one graph.

    Args:
        lock: that of the graph.
        nodes: its operations.

    Attributes:
        made: each change with the line that made it: a tensor whose shape was refined, or an operation with
            another input; read only.
        extended: the operations that were extended, see ``extend`` and ``update_input``; read only.
    """

    def __init__(self, lock: GraphLock, nodes: NodeIndex) -> None:
        self._lock = lock
        self._nodes = nodes
        self.made: list[tuple[Tensor | Operation, str]] = []
        self.extended: list[Operation] = []

    def extend(
        self, op: Operation, inputs: Sequence[Tensor], attrs: Mapping[str, Any], outputs: Sequence[Tensor]
    ) -> None:
        """Give an operation more inputs and outputs, and leave everything else unchanged.

        This is for the loops and branches that a gradient differentiates, which return more values then. The
        existing outputs stay the same, so plans made before stay valid.
        """
        with self._lock.mutex:
            before = size_inside(op)
            op.inputs, op.attrs, op.outputs = tuple(inputs), attrs, Listed(outputs)
            if op not in self._nodes.bodies:
                self._nodes.inside += size_inside(op) - before
                self.extended.append(op)
                op.graph.version += 1
            op.forget_node_def()
            self._nodes.forget_consumers()

    def update_input(self, op: Operation, index: int, tensor: Tensor) -> None:
        """Make an operation read another tensor, which may be built later than the operation.

        This is for the back edge of a primitive loop; sessions are notified of it as of ``extend``. Any
        other change affects only sessions that have not registered the operation yet; others warn of it.

        Args:
            op: an operation of this graph.
            index: which input.
            tensor: the new input.

        Raises:
            IndexError: if there is no such input.
            TypeError: if the tensor has another dtype than the previous input.
            ValueError: if it belongs to another graph, contradicts the known static shape, or would close a
                cycle that is no loop.
            RuntimeError: if the graph is finalized.
        """
        with self._lock.mutex:
            self._lock.check_open(f"an input of {op.name!r} was to be replaced")
            check_input(op.graph, tensor, op.type)
            if not 0 <= index < len(op.inputs):
                raise IndexError(f"{op.name!r} has {len(op.inputs)} inputs, got index {index}")
            before = op.inputs[index]
            if tensor.dtype is not before.dtype:
                raise TypeError(f"input {index} of {op.name!r} is of {before.dtype.name}, got {tensor!r}")
            closes = is_back_edge(op.type, tensor.op.type)
            known = op.outputs[0] if closes else before
            if not tensor.shape.is_compatible_with(known.shape):
                raise ValueError(f"the shape of {tensor!r} is incompatible with that of {known!r}")
            if not closes and reads(tensor.op, op):
                raise ValueError(f"{op.name!r} cannot read {tensor!r}, which depends on it")
            op.inputs = (*op.inputs[:index], tensor, *op.inputs[index + 1 :])
            op.forget_node_def()
            self._nodes.forget_consumers()
            if not closes:
                self.made.append((op, user_line()))
                op.graph.version += 1
            elif op not in self._nodes.bodies:
                self.extended.append(op)
                op.graph.version += 1

    def update_control_inputs(self, op: Operation, control_inputs: Sequence[Operation]) -> None:
        """Make an operation wait for other operations than so far; see ``update_input``.

        Args:
            op: an operation of this graph.
            control_inputs: those for which it waits from now on.

        Raises:
            ValueError: if one belongs to another graph, or depends on the operation.
            RuntimeError: if the graph is finalized.
        """
        with self._lock.mutex:
            self._lock.check_open(f"the control inputs of {op.name!r} were to be replaced")
            for other in control_inputs:
                if other.graph is not op.graph:
                    raise ValueError(f"{other!r} belongs to another graph than {op!r}")
                if other not in op.control_inputs and reads(other, op):
                    raise ValueError(f"{op.name!r} cannot wait for {other!r}, which depends on it")
            op.control_inputs = Listed(dict.fromkeys(control_inputs))
            op.forget_node_def()
            self.made.append((op, user_line()))
            op.graph.version += 1

    def refine_shape(self, tensor: Tensor, shape: TensorShape) -> None:
        """Merge a tensor's static shape with ``shape``.

        Raises:
            ValueError: if the two contradict each other.
        """
        with self._lock.mutex:
            known = tensor.spec.shape
            try:
                merged = known.merge_with(shape)
            except ValueError as exc:
                raise ValueError(f"{clash(known, as_shape(shape))}: {exc}") from None
            if merged != known:
                tensor._spec = TensorSpec(tensor.dtype, merged)
                tensor.op.forget_node_def()
                self.made.append((tensor, user_line()))
                tensor.graph.version += 1


def check_input(graph: Graph, tensor: Any, op_type: str) -> None:
    """Refuse what is no tensor of a graph.

    Args:
        graph: the graph.
        tensor: an input of an operation.
        op_type: the type of the operation, for the message.

    Raises:
        TypeError: if it is no tensor.
        ValueError: if it belongs to another graph.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"inputs of {op_type} are tensors, got {type(tensor).__name__}: {tensor!r:.100}")
    if tensor.op.graph is not graph:
        raise ValueError(f"{tensor} must be from the same graph: an input of {op_type} belongs to another graph")
