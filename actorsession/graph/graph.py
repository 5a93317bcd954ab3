"""The graph: a growing set of operations with unique names, built under scopes.

This module implements construction: naming, scopes, attribute defaults, shape inference and the user's source
line. Adding an operation is atomic: an error leaves the graph as it was. A graph only grows; sessions find
new operations by their number. Building is thread-safe. Users and ``ops/`` call it; it imports the rest of
this package.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.graph import registry
from actorsession.graph.collections import GraphCollections
from actorsession.graph.control_flow_ops import is_back_edge, reads
from actorsession.graph.function import FunctionBody, brought_in, check_reach
from actorsession.graph.function_library import FunctionLibrary
from actorsession.graph.names import NameTable, check_op_name
from actorsession.graph.node import GraphDef, TensorSpec
from actorsession.graph.node_index import NodeIndex
from actorsession.graph.op_signatures import check_types
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scoped import Scoped
from actorsession.graph.scopes import (
    GRADIENT_NAME,
    DefaultStack,
    Scope,
    apply_colocation,
    control_inputs_of,
    device_under,
    scope_of,
)
from actorsession.graph.shape import TensorShape
from actorsession.graph.source_location import user_line
from actorsession.graph.static_value import constant_value

__all__ = ["Graph", "constant_value", "default_graphs", "get_default_graph", "reset_default_graph"]

# Operations whose plain forms are made under one hold of the lock: about a millisecond.
_SLICE = 200


class Graph(NodeIndex, Scoped, GraphCollections):
    """A dataflow graph.

    Attributes:
        seed: graph-level random seed; ``None`` for a new sequence in every session.
        library: its named functions.
        constructs: data of each loop and branch, for ``ops.flow.constructs``.
        stand_ins: tensors that gradients read in the place of an Exit, for ``ops.flow.stand_ins``.
        gradient_functions: gradients of single operations, by name; see ``ops.derivatives.custom_gradients``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._names = NameTable()
        self._finalized_at: str | None = None
        self._changed: list[tuple[Tensor | Operation, str]] = []  # changes after building
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._restrictions = 0
        self._bodies: dict[Operation, FunctionBody] = {}  # of operations in loops and branches
        self._extended: list[Operation] = []
        self.constructs: dict[Operation, Any] = {}
        self.stand_ins: dict[Operation, Tensor] = {}
        self.gradient_functions: dict[str, registry.Gradient] = {}
        self.seed: int | None = None
        self.library = FunctionLibrary()

    # -- contents ---------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that changes with each change of the graph: operations, refined shapes, restrictions."""
        changed, extended = len(self._changed), len(self._extended)
        return len(self._operations) + changed + extended + self._restrictions

    @property
    def built(self) -> int:
        """The number of operations, those in loop bodies and branches included."""
        return len(self._operations) + len(self._bodies)

    @property
    def changes(self) -> int:
        """The number of refined static shapes and replaced inputs of existing operations."""
        return len(self._changed)

    def changed_since(self, number: int) -> list[tuple[Tensor | Operation, str]]:
        """Return the changes after the first ``number``, each with the line that made it.

        A change is a tensor whose shape was refined, or an operation with another input.
        """
        return self._changed[number:]

    def extended_since(self, number: int) -> list[Operation]:
        """Return the operations extended after the first ``number``; see ``extend_op``, ``update_input``."""
        return self._extended[number:]

    def as_graph_def(self) -> GraphDef:
        """Return the graph as plain data."""
        return GraphDef(tuple(op.plain for op in self._operations), seed=self.seed)

    # -- building ------------------------------------------------------------------------------

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Operation:
        """Add an operation under the present scopes.

        Args:
            op_type: a registered operation type.
            inputs: data inputs, tensors of this graph.
            attrs: attribute values; those left out take the op's defaults.
            name: wanted name; made unique. One that ends in ``/`` is used literally, without the slash.

        Returns:
            The new operation, with static types of its outputs.

        Raises:
            RuntimeError: if the graph is finalized.
            ValueError: for an unknown op or attribute, a malformed name, a tensor of another graph, or shapes
                that can never work.
            TypeError: for wrong dtypes or inputs that are no tensors.
        """
        op_def = registry.lookup(op_type)
        source = user_line()
        for tensor in inputs:
            self._check_input(tensor, op_type)
        if self._bodies:
            inputs = [self.brought_in(tensor) for tensor in inputs]
        filled = _fill_attrs(op_def, attrs or {})
        specs = self._infer(op_def, inputs, filled)
        scope = scope_of(self)
        with self._lock:
            self._check_open(f"a {op_type} was asked for at {source}")
            control = control_inputs_of(scope, inputs)
            if self._bodies:
                check_reach(self._bodies, [*[t.op for t in inputs], *control], scope.body)
            if scope.gradients is not None and op_type in scope.gradients:
                filled.setdefault(GRADIENT_NAME, scope.gradients[op_type])
            number = len(self._operations) if scope.body is None else self.built
            wanted, full_name = self._op_name(name or op_type, scope)
            op = Operation(
                self, full_name, op_def, tuple(inputs), control,
                apply_colocation(scope, filled), specs, "", source, number,
            )  # fmt: skip
            op._device = device_under(scope, op)
            self._add(op, wanted, scope)
        return op

    def _check_input(self, tensor: Any, op_type: str) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"inputs of {op_type} are tensors, got {type(tensor).__name__}: {tensor!r:.100}"
            )
        if tensor.op.graph is not self:
            raise ValueError(f"input {tensor!r} of {op_type} belongs to another graph")

    def _infer(
        self, op_def: registry.OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> tuple[TensorSpec, ...]:
        check_types(op_def.name, [t.spec.dtype for t in inputs])
        context = registry.InferContext(
            op_def.name,
            tuple([t.spec for t in inputs]),
            attrs,
            tuple([constant_value(t) for t in inputs]),
        )
        return tuple(op_def.infer(context))

    def brought_in(self, tensor: Tensor) -> Tensor:
        """Return the tensor to read for a tensor in the current body; see ``function.brought_in``."""
        return brought_in(self._bodies, tensor, scope_of(self).body)

    def body_of(self, op: Operation) -> FunctionBody | None:
        """Return the loop body or branch that an operation is in, if any."""
        return self._bodies.get(op)

    def _check_open(self, what: str) -> None:
        if self._finalized_at is not None:
            raise RuntimeError(
                f"graph is finalized and cannot be changed: {what}, finalize() was called at "
                f"{self._finalized_at or 'an unknown line'}. Build everything before that, or "
                "leave the graph open: running sessions accept a graph that grows"
            )

    def _op_name(self, name: str, scope: Scope) -> tuple[str, str]:
        """Return the wanted name in full, and the name that the operation gets."""
        if name.endswith("/"):
            wanted = given = name[:-1]
        else:
            wanted = f"{scope.name}/{name}" if scope.name else name
            given = self._names.unique(wanted)
        check_op_name(wanted)
        if given in self._by_name:
            raise ValueError(f"an operation named {given!r} exists in the graph")
        return wanted, given

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return the name under the present scope, with ``_1``, ``_2``, ... if it is taken in any case.

        Args:
            name: wanted name.
            mark_as_used: whether later calls must return another one.
        """
        prefix = scope_of(self).name
        wanted = f"{prefix}/{name}" if prefix else name
        with self._lock:
            given = self._names.unique(wanted)
            if mark_as_used:
                self._names.take(wanted, given)
        return given

    def _add(self, op: Operation, wanted: str, scope: Scope) -> None:
        self._names.take(wanted, op.name)
        if scope.body is None:
            self._operations.append(op)
        else:
            scope.body.operations.append(op)
            self._bodies[op] = scope.body
        self._by_name[op.name] = op
        for frame in scope.control:
            frame.seen.add(op)

    def update_input(self, op: Operation, index: int, tensor: Tensor) -> None:
        """Make an operation read another tensor, which may be built later than the operation.

        This is for the back edge of a primitive loop; sessions are notified of it as of ``extend_op``. Any
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
        with self._lock:
            self._check_open(f"an input of {op.name!r} was to be replaced")
            self._check_input(tensor, op.type)
            if not 0 <= index < len(op.inputs):
                raise IndexError(f"{op.name!r} has {len(op.inputs)} inputs, got index {index}")
            before = op.inputs[index]
            if tensor.dtype is not before.dtype:
                raise TypeError(
                    f"input {index} of {op.name!r} is of {before.dtype.name}, got {tensor!r}"
                )
            if not tensor.shape.is_compatible_with(op.outputs[0].shape):
                raise ValueError(f"{tensor!r} cannot be what {op.outputs[0]!r} stands for")
            if not is_back_edge(op.type, tensor.op.type) and reads(tensor.op, op):
                raise ValueError(f"{op.name!r} would read {tensor!r}, which is made of it")
            op.inputs = (*op.inputs[:index], tensor, *op.inputs[index + 1 :])
            op.forget_node_def()
            self._forget_consumers()
            if not is_back_edge(op.type, tensor.op.type):
                self._changed.append((op, user_line()))
            elif op not in self._bodies:
                self._extended.append(op)

    def forget(self, body: FunctionBody) -> None:
        """Drop the operations of a loop body or branch that was abandoned; its names stay taken."""
        with self._lock:
            for op in [op for op, home in self._bodies.items() if body.encloses(home)]:
                del self._by_name[op.name], self._bodies[op]

    def growing(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which no other thread adds to the graph and no session reads it."""
        return self._lock

    def describe(self, number: int, check: Callable[[], None]) -> None:
        """Make and keep the plain forms of all operations but the first ``number``.

        The graph is locked for slices of them, so that other threads hardly wait to build. A session that
        then reads all operations holds the lock only briefly.

        Args:
            number: how many have their plain forms already.
            check: called between two slices; its exception ends the work.
        """
        added = self.operations_since(number)
        for first in range(0, len(added), _SLICE):
            with self._lock:
                for op in added[first : first + _SLICE]:
                    _ = op.plain
            check()

    def extend_op(
        self,
        op: Operation,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any],
        outputs: Sequence[Tensor],
    ) -> None:
        """Give an operation more inputs and outputs, and leave everything else unchanged.

        This is for the loops and branches that a gradient differentiates, which return more values then. The
        existing outputs stay the same, so plans made before stay valid.
        """
        with self._lock:
            op.inputs, op.attrs, op.outputs = tuple(inputs), attrs, tuple(outputs)
            op.forget_node_def()
            self._forget_consumers()
            if op not in self._bodies:
                self._extended.append(op)

    def refine_shape(self, tensor: Tensor, shape: TensorShape) -> None:
        """Merge a tensor's static shape with ``shape``.

        Raises:
            ValueError: if the two contradict each other.
        """
        with self._lock:
            known = tensor.spec.shape
            merged = known.merge_with(shape)
            if merged != known:
                tensor._spec = TensorSpec(tensor.dtype, merged)
                tensor.op.forget_node_def()
                self._changed.append((tensor, user_line()))

    # -- restrictions for sessions -------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid sessions permanently to feed ``tensor``."""
        self._restrict(self._unfeedable, tensor)

    def prevent_fetching(self, op: Operation) -> None:
        """Forbid sessions permanently to fetch ``op`` or its tensors."""
        self._restrict(self._unfetchable, op)

    def _restrict(self, restricted: set[Any], element: Any) -> None:
        with self._lock:
            restricted.add(element)
            self._restrictions = len(self._unfeedable) + len(self._unfetchable)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether sessions may feed ``tensor``."""
        return tensor not in self._unfeedable and tensor.op not in self._bodies

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Return whether sessions may fetch an operation, or a tensor of one."""
        op = element.op if isinstance(element, Tensor) else element
        return op not in self._unfetchable and op not in self._bodies

    def construct_of(self, element: Tensor | Operation) -> str | None:
        """Return the name of the loop or cond around an operation, or around a tensor of one, if any."""
        op = element.op if isinstance(element, Tensor) else element
        return self._bodies[op].construct if op in self._bodies else None

    @property
    def restrictions(self) -> int:
        """The number of tensors and operations that sessions may not feed or fetch; it only grows."""
        return self._restrictions

    def finalize(self) -> None:
        """Forbid any further change; the calling line is kept for the error message."""
        with self._lock:
            if self._finalized_at is None:
                self._finalized_at = user_line()

    @property
    def finalized(self) -> bool:
        """Whether the graph refuses further operations."""
        return self._finalized_at is not None

    # -- scopes --------------------------------------------------------------------------------

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Make this the default graph of the calling thread or asyncio child, for a block."""
        return _DEFAULT_GRAPHS.entered(self)

    def __repr__(self) -> str:
        return f"<Graph with {len(self._operations)} operations at {id(self):#x}>"


def _fill_attrs(op_def: registry.OpDef, given: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(op_def.attrs)
    for key, value in given.items():
        if key not in filled and not key.startswith("_"):
            raise ValueError(
                f"op {op_def.name} has no attribute {key!r}; it has {sorted(op_def.attrs)}"
            )
        filled[key] = value
    missing = [key for key, value in filled.items() if value is registry.REQUIRED]
    if missing:
        raise ValueError(f"op {op_def.name} needs a value for its attributes {missing}")
    return filled


_DEFAULT_GRAPHS: DefaultStack[Graph] = DefaultStack("actorsession_default_graph", Graph)


def get_default_graph() -> Graph:
    """Return the innermost default graph of this thread or child, else the thread's own fallback graph."""
    graph = _DEFAULT_GRAPHS.get()
    assert graph is not None
    return graph


def default_graphs() -> DefaultStack[Graph]:
    """Return the stack behind ``get_default_graph``, for callers that push and remove."""
    return _DEFAULT_GRAPHS


def reset_default_graph() -> None:
    """Drop the thread's fallback graph, so that the next use starts an empty one.

    Raises:
        AssertionError: inside an ``as_default`` block.
    """
    _DEFAULT_GRAPHS.reset_fallback()
