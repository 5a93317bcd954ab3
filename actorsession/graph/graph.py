"""The graph: a growing set of operations with unique names, built under scopes; and the default graph.

``Graph`` implements construction: attribute defaults, shape inference, the user's source line. Adding an
operation is atomic: an error leaves the graph as it was. A graph only grows; sessions find new operations by
their number. Building is thread-safe. What a graph consists of is in its parts: ``NameTable``, ``NodeIndex``,
``GraphChanges``, ``GraphCollections``, ``FunctionLibrary``, and ``scopes`` for the blocks around new
operations, whose functions are its methods.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from actorsession.drawing.shown import Shown
from actorsession.graph import registry, scopes
from actorsession.graph.changes import GraphChanges, check_input
from actorsession.graph.collections import GraphCollections
from actorsession.graph.constant_value import constant_value
from actorsession.graph.default_stack import DefaultStack
from actorsession.graph.device import DeviceSpec
from actorsession.graph.function import brought_in, check_reach
from actorsession.graph.function_library import FunctionLibrary
from actorsession.graph.graph_lock import GraphLock
from actorsession.graph.names import NameTable, check_op_name
from actorsession.graph.node import GraphDef, TensorSpec
from actorsession.graph.node_index import NodeIndex
from actorsession.graph.operation import Operation, ReferenceTensor, Tensor, ValueTensor
from actorsession.graph.partial_value import PartialValues
from actorsession.graph.reentrant import Reentrant
from actorsession.graph.scopes import DeviceFunction, Scope, scope_of
from actorsession.graph.source_location import user_line
from actorsession.process_bound import ProcessBound

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = [
    "Graph",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "constant_value",
    "control_dependencies",
    "default_graphs",
    "device",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "name_scope",
    "reset_default_graph",
]


class Graph(Shown, ProcessBound):
    """A dataflow graph.

    Attributes:
        seed: graph-level random seed; ``None`` for a new sequence in every session.
        nodes: its operations.
        changes: what was changed after it was built.
        restrictions: the number of tensors and operations that sessions may not feed or fetch; it only grows.
        version: a number that changes with each change of the graph: operations, refined shapes, restrictions; it is
            for whoever makes the change to increment it.
        library: its named functions.
        constructs: data of each loop and branch, for ``ops.flow.constructs``.
        stand_ins: tensors that gradients read in the place of an Exit, for ``ops.flow.stand_ins``.
        gradient_functions: gradients of single operations, by name; see ``ops.derivatives.custom_gradients``.
        handles_of_references: handles of reference variables, for ``ops.variables.reference_variable``.
        reference_variables: whether variables are reference variables by default.
        keeps_devices: whether the answers of device functions are kept as they are spelt.
        shown_prefix: put before the names of classes in the text of elements.
    """

    instead = "pickle its as_graph_def(), and import it in the other process"

    keeps_devices = False
    reference_variables = False
    shown_prefix = ""

    def __init__(self) -> None:
        self._lock = GraphLock()
        self._kept = GraphCollections(self._lock)
        # The lists by name, under the name by which programs for TensorFlow reach for them.
        self._collections = self._kept.lists
        self.seed: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._names = NameTable()
        self.nodes = NodeIndex(self._lock)
        self.changes = GraphChanges(self._lock, self.nodes)
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self.restrictions = self.version = 0
        self.constructs: dict[Operation, Any] = {}
        self.stand_ins: dict[Operation, Tensor] = {}
        self.handles_of_references: dict[Tensor, Tensor] = {}
        self.gradient_functions: dict[str, registry.Gradient] = {}
        self.library = FunctionLibrary()

    # -- contents ---------------------------------------------------------------------------------

    def as_graph_def(self) -> GraphDef:
        """Return the graph as plain data."""
        return GraphDef(tuple(op.plain for op in self.nodes.order), seed=self.seed)

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order they were built."""
        return list(self.nodes.order)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of that name.

        Raises:
            TypeError: if the name is no string.
            KeyError: if there is none.
            ValueError: if the name is that of a tensor.
        """
        operation = self.nodes.find(name, allow_tensor=False)
        assert isinstance(operation, Operation)
        return operation

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor of that name, ``operation:index``.

        Raises:
            TypeError: if the name is no string.
            KeyError: if the operation or the output does not exist.
            ValueError: if the name is malformed or that of an operation.
        """
        tensor = self.nodes.find(name, allow_operation=False)
        assert isinstance(tensor, Tensor)
        return tensor

    def as_graph_element(
        self, obj: Any, *, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Return the tensor or operation that an object or name denotes.

        Args:
            obj: a tensor, an operation, a name, or anything with ``_as_graph_element()``.
            allow_tensor: whether a tensor is allowed.
            allow_operation: whether an operation is allowed.

        Raises:
            TypeError: if the object can never denote an element of a graph.
            ValueError: for a malformed name, the wrong kind, or an element of another graph.
            KeyError: if the name is not in the graph.
        """
        if not isinstance(obj, str) and not hasattr(obj, "_as_graph_element"):
            kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}. Got {obj!r:.100}")
        element: Any = obj if isinstance(obj, str) else obj._as_graph_element()
        if isinstance(element, str):  # objects may denote a name, as in TensorFlow
            return self.nodes.find(element, allow_tensor=allow_tensor, allow_operation=allow_operation)
        if not isinstance(element, (Tensor, Operation)):
            raise TypeError(
                f"{type(obj).__name__}._as_graph_element() returns a Tensor, an Operation or a name, "
                f"got {element!r:.100}"
            )
        if element.graph is not self:
            raise ValueError(
                f"{element!r} is not an element of this graph but of another one. Each "
                "thread has a default graph of its own: pass the graph, as in "
                "Session(graph=tensor.graph), or build in `with graph.as_default():`"
            )
        if not (allow_tensor if isinstance(element, Tensor) else allow_operation):
            kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(f"Can not convert a {type(element).__name__} into a {kinds}. Got {element!r}")
        return element

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
            if not isinstance(tensor, Tensor) or tensor.op.graph is not self:
                check_input(self, tensor, op_type)  # raises
        nodes = self.nodes
        inputs = [t if type(t) is not ValueTensor else t.op.outputs[t.value_index] for t in inputs]
        if nodes.bodies:
            inputs = [brought_in(self, tensor) for tensor in inputs]
        if op_def.references:
            _check_references(op_def, inputs)
        filled = _fill_attrs(op_def, attrs or {})
        specs = _infer(self, op_def, inputs, filled)
        scope = scope_of(self)
        with self._lock.mutex:
            if self._lock.finalized:
                self._lock.check_open(f"a {op_type} was to be created at {source}")
            control = scopes.control_inputs_of(scope, inputs)
            if nodes.bodies:
                check_reach(nodes.bodies, [*[t.op for t in inputs], *control], scope.body)
            if scope.gradients is not None and op_type in scope.gradients:
                filled.setdefault(scopes.GRADIENT_NAME, scope.gradients[op_type])
            number = len(nodes.order) if scope.body is None else len(nodes)
            asked_name, full_name = _op_name(self, name or op_type, scope)
            op = Operation(
                self,
                full_name,
                op_def,
                tuple(inputs),
                control,
                scopes.apply_colocation(scope, filled),
                specs,
                "",
                source,
                number,
            )
            op._device = scopes.device_under(scope, op, self.keeps_devices)
            self._names.mark_used(asked_name, full_name)
            nodes.add(op, scope.body)
            self.version += scope.body is None
            for frame in scope.control:
                frame.seen.add(op)
        return op

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return the name under the present scope, with ``_1``, ``_2``, ... if it is taken in any case.

        Args:
            name: wanted name.
            mark_as_used: whether later calls must return another name.
        """
        prefix = scope_of(self).name
        scoped = f"{prefix}/{name}" if prefix else name
        with self._lock.mutex:
            given = self._names.unique(scoped)
            if mark_as_used:
                self._names.mark_used(scoped, given)
        return given

    def standing_for(self, op: Operation) -> AbstractContextManager[object]:
        """Return a block whose operations are made for another one, which a subclass may record."""
        return nullcontext()

    @contextlib.contextmanager
    def growing_from_nothing(self) -> Iterator[bool]:
        """Enter ``growing``; where nothing was built before, what fails in the block leaves nothing behind.

        Yields:
            Whether nothing was built before.
        """
        with self._lock.mutex:
            is_empty = not (len(self.nodes) or self._names.used or self.library.names())
            try:
                yield is_empty
            except BaseException:
                if is_empty:
                    self._begin()
                raise

    def growing(self) -> AbstractContextManager[object]:
        """Return a context in which no other thread adds to the graph and no session reads it."""
        return self._lock.mutex

    # -- restrictions for sessions -------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid sessions permanently to feed ``tensor``."""
        _restrict(self, self._unfeedable, tensor)

    def prevent_fetching(self, op: Operation) -> None:
        """Forbid sessions permanently to fetch ``op`` or its tensors."""
        _restrict(self, self._unfetchable, op)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether sessions may feed ``tensor``."""
        return tensor not in self._unfeedable and tensor.op not in self.nodes.bodies

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Return whether sessions may fetch an operation, or a tensor of one."""
        op = element.op if isinstance(element, Tensor) else element
        return op not in self._unfetchable and op not in self.nodes.bodies

    def finalize(self) -> None:
        """Forbid any further change; the calling line is kept for the error message."""
        self._lock.finalize()

    def unfinalize(self) -> None:
        """Allow changes again; sessions accept a graph that grows."""
        self._lock.unfinalize()

    @property
    def finalized(self) -> bool:
        """Whether the graph refuses further operations."""
        return self._lock.finalized

    # -- collections ---------------------------------------------------------------------------

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        """Append a value to a named collection.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        self._kept.add(name, value)

    def add_to_collections(self, names: Iterable[Hashable] | str, value: Any) -> None:
        """Append a value to each of several collections, once where a name is repeated.

        Args:
            names: of the collections, or the name of one.
            value: what to append.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self._kept.add(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Return the values of a collection, as a new list.

        Args:
            name: of the collection; one that does not exist is empty.
            scope: only values that have a name which starts with a match of this pattern.
        """
        return self._kept.values(name, scope)

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Return the list behind a collection, made if absent: changing it changes the collection."""
        return self._kept.ref(name)

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of all collections; keys that are no strings are left out."""
        return self._kept.keys()

    collections = property(get_all_collection_keys)

    def clear_collection(self, name: Hashable) -> None:
        """Delete a collection and its values.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        self._kept.clear(name)

    # -- scopes --------------------------------------------------------------------------------

    def as_default(self) -> Reentrant[Graph]:
        """Make this the default graph of the calling thread or asyncio child, for a block."""
        return _DEFAULT_GRAPHS.entered(self)

    name_scope = scopes.name_scope
    get_name_scope = scopes.get_name_scope
    device = scopes.device
    control_dependencies = scopes.control_dependencies
    colocate_with = scopes.colocate_with
    gradient_override_map = scopes.gradient_override_map
    container = scopes.container
    switch_to_thread_local = scopes.switch_to_thread_local

    def _sheet(self) -> Sheet:
        from actorsession.graph.picture import nodes_sheet

        return nodes_sheet(f"Graph of {len(self.nodes.order)} operations", self.nodes.order)

    def __repr__(self) -> str:
        return f"<Graph with {len(self.nodes.order)} operations at {id(self):#x}>"


def _infer(
    graph: Graph, op_def: registry.OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
) -> tuple[TensorSpec, ...]:
    specs = tuple([t.spec for t in inputs])
    constants = tuple([constant_value(t) for t in inputs])
    partial = PartialValues(inputs) if any(v is None for v in constants) else None
    context = registry.InferContext(op_def.name, specs, attrs, constants, partial)
    try:
        return tuple(op_def.infer(context))
    except ValueError:
        body = scope_of(graph).body
        if body is None:
            raise
        # A branch that does not run may compute sizes that do not fit. TensorFlow sees none of what comes
        # from outside of it, so what the branch has of its own decides.
        bodies = graph.nodes.bodies
        own = PartialValues(inputs, lambda op: bodies.get(op) is body)
        literals = tuple(
            [
                value if t.op.type == "Const" and bodies.get(t.op) is body else None
                for t, value in zip(inputs, constants, strict=True)
            ]
        )
        return tuple(op_def.infer(registry.InferContext(op_def.name, specs, attrs, literals, own)))


def _op_name(graph: Graph, name: str | bytes, scope: Scope) -> tuple[str, str]:
    """Return the wanted name in full, and the name that the operation gets."""
    name = name.decode() if isinstance(name, bytes) else name
    if name.endswith("/"):
        asked = given = name[:-1]
    else:
        asked = f"{scope.name}/{name}" if scope.name else name
        given = graph._names.unique(asked)
    check_op_name(asked)
    if given in graph.nodes:
        raise ValueError(f"Duplicate node name in graph: {given!r} (an operation named {given!r} exists already)")
    return asked, given


def _restrict(graph: Graph, restricted: set[Any], element: Any) -> None:
    with graph._lock.mutex:
        if element not in restricted:
            restricted.add(element)
            graph.restrictions += 1
            graph.version += 1


def _check_references(op_def: registry.OpDef, inputs: Sequence[Tensor]) -> None:
    for index, tensor in enumerate(inputs[: op_def.references]):
        if not isinstance(tensor, ReferenceTensor) and not tensor.op.type.startswith("Ref"):
            raise TypeError(
                f"'{op_def.name}' Op requires that input {index} be a mutable tensor (e.g.: a "
                f"{tensor.graph.shown_prefix}Variable), got {tensor!r}"
            )


def _fill_attrs(op_def: registry.OpDef, given: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(op_def.attrs)
    for key, value in given.items():
        if key not in filled and not key.startswith("_"):
            raise ValueError(f"op {op_def.name} has no attribute {key!r}; it has {sorted(op_def.attrs)}")
        filled[key] = value
    missing = [key for key, value in filled.items() if value is registry.REQUIRED]
    if missing:
        raise ValueError(f"op {op_def.name} needs a value for its attributes {missing}")
    return filled


# -- the default graph ---------------------------------------------------------------------------


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


def name_scope(name: str | None) -> Reentrant[str]:
    """Call ``Graph.name_scope`` of the default graph."""
    return get_default_graph().name_scope(name)


def device(device_name: str | DeviceSpec | DeviceFunction | None) -> Reentrant[Any]:
    """Call ``Graph.device`` of the default graph."""
    return get_default_graph().device(device_name)


def control_dependencies(control_inputs: Iterable[Any] | None) -> Reentrant[None]:
    """Call ``Graph.control_dependencies`` of the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> Reentrant[None]:
    """Call ``Graph.colocate_with`` of the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def add_to_collection(name: str, value: Any) -> None:
    """Call ``Graph.add_to_collection`` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Iterable[str] | str, value: Any) -> None:
    """Call ``Graph.add_to_collections`` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Call ``Graph.get_collection`` of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """Call ``Graph.get_collection_ref`` of the default graph."""
    return get_default_graph().get_collection_ref(key)
