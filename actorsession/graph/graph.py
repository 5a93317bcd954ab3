"""The graph: a growing set of operations with unique names, built under scopes; and the default graph.

``Graph`` implements construction: attribute defaults, shape inference, the user's source line. Adding an
operation is atomic: an error leaves the graph as it was. A graph only grows; sessions find new operations by
their number. Building is thread-safe. What a graph consists of is in its parts: ``NameTable``, ``NodeIndex``,
``GraphCollections``, ``FunctionLibrary``, and ``scopes`` for the blocks around new operations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from actorsession.graph import registry, scopes
from actorsession.graph.collections import GraphCollections
from actorsession.graph.constant_value import constant_value
from actorsession.graph.control_flow_ops import is_back_edge, reads
from actorsession.graph.default_stack import DefaultStack
from actorsession.graph.device import DeviceSpec
from actorsession.graph.function import FunctionBody, brought_in, check_reach, size_inside
from actorsession.graph.function_library import FunctionLibrary
from actorsession.graph.graph_lock import GraphLock
from actorsession.graph.names import NameTable, check_op_name
from actorsession.graph.node import GraphDef, TensorSpec
from actorsession.graph.node_index import NodeIndex
from actorsession.graph.operation import Listed, Operation, ReferenceTensor, Tensor, ValueTensor
from actorsession.graph.partial_value import PartialValues
from actorsession.graph.reentrant import Reentrant
from actorsession.graph.scopes import DeviceFunction, Scope, scope_of
from actorsession.graph.shape import TensorShape, as_shape, clash
from actorsession.graph.source_location import user_line
from actorsession.process_bound import ProcessBound

__all__ = [
    "Graph", "add_to_collection", "add_to_collections", "colocate_with", "constant_value",
    "control_dependencies", "default_graphs", "device", "get_collection", "get_collection_ref",
    "get_default_graph", "name_scope", "reset_default_graph",
]  # fmt: skip

# Operations whose plain forms are made under one hold of the lock: about a millisecond.
_SLICE = 200


class Graph(ProcessBound):
    """A dataflow graph.

    Attributes:
        seed: graph-level random seed; ``None`` for a new sequence in every session.
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
        self.seed: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._names = NameTable()
        self._nodes = NodeIndex(self._lock)
        self._changed: list[tuple[Tensor | Operation, str]] = []  # changes after building
        self._extended: list[Operation] = []
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._restrictions = 0
        self.constructs: dict[Operation, Any] = {}
        self.stand_ins: dict[Operation, Tensor] = {}
        self.handles_of_references: dict[Tensor, Tensor] = {}
        self.gradient_functions: dict[str, registry.Gradient] = {}
        self.library = FunctionLibrary()

    # -- contents ---------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that changes with each change of the graph: operations, refined shapes, restrictions."""
        changed, extended = len(self._changed), len(self._extended)
        return len(self._nodes.order) + changed + extended + self._restrictions

    @property
    def built(self) -> int:
        """The number of operations, those in loop bodies and branches included."""
        return len(self._nodes)

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
        return GraphDef(tuple(op.plain for op in self._nodes.order), seed=self.seed)

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order they were built."""
        return list(self._nodes.order)

    @property
    def size(self) -> int:
        """The number of operations, without those in loop bodies and branches."""
        return len(self._nodes.order)

    @property
    def total_size(self) -> int:
        """The number of nodes that a plan of everything has: operations, and the nodes of functions."""
        return len(self._nodes.order) + self._nodes.inside

    def operations_since(self, number: int) -> list[Operation]:
        """Return the operations built after the first ``number``."""
        return self._nodes.order[number:]

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Return the operations that read ``tensor``, in the order they were built."""
        return self._nodes.consumers(tensor)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of that name.

        Raises:
            TypeError: if the name is no string.
            KeyError: if there is none.
            ValueError: if the name is that of a tensor.
        """
        found = self._nodes.find(name, allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor of that name, ``operation:index``.

        Raises:
            TypeError: if the name is no string.
            KeyError: if the operation or the output does not exist.
            ValueError: if the name is malformed or that of an operation.
        """
        found = self._nodes.find(name, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

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
            raise TypeError(
                f"Can not convert a {type(obj).__name__} into a {kinds}. Got {obj!r:.100}"
            )
        found: Any = obj if isinstance(obj, str) else obj._as_graph_element()
        if isinstance(found, str):  # objects may denote a name, as in TensorFlow
            return self._nodes.find(
                found, allow_tensor=allow_tensor, allow_operation=allow_operation
            )
        if not isinstance(found, (Tensor, Operation)):
            raise TypeError(
                f"{type(obj).__name__}._as_graph_element() returns a Tensor, an Operation or a name, "
                f"got {found!r:.100}"
            )
        if found.graph is not self:
            raise ValueError(
                f"{found!r} is not an element of this graph but of another one. Each "
                "thread has a default graph of its own: pass the graph, as in "
                "Session(graph=tensor.graph), or build in `with graph.as_default():`"
            )
        if not (allow_tensor if isinstance(found, Tensor) else allow_operation):
            kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(
                f"Can not convert a {type(found).__name__} into a {kinds}. Got {found!r}"
            )
        return found

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
        nodes = self._nodes
        inputs = [t if type(t) is not ValueTensor else t.op.outputs[t.value_index] for t in inputs]
        if nodes.bodies:
            inputs = [self.brought_in(tensor) for tensor in inputs]
        if op_def.references:
            _check_references(op_def, inputs)
        filled = _fill_attrs(op_def, attrs or {})
        specs = self._infer(op_def, inputs, filled)
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
            wanted, full_name = self._op_name(name or op_type, scope)
            op = Operation(
                self, full_name, op_def, tuple(inputs), control,
                scopes.apply_colocation(scope, filled), specs, "", source, number,
            )  # fmt: skip
            op._device = scopes.device_under(scope, op, self.keeps_devices)
            self._names.mark_used(wanted, full_name)
            nodes.add(op, scope.body)
            for frame in scope.control:
                frame.seen.add(op)
        return op

    def _check_input(self, tensor: Any, op_type: str) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"inputs of {op_type} are tensors, got {type(tensor).__name__}: {tensor!r:.100}"
            )
        if tensor.op.graph is not self:
            raise ValueError(
                f"{tensor} must be from the same graph: an input of {op_type} belongs to another graph"
            )

    def _infer(
        self, op_def: registry.OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> tuple[TensorSpec, ...]:
        specs = tuple([t.spec for t in inputs])
        constants = tuple([constant_value(t) for t in inputs])
        partial = PartialValues(inputs) if any(v is None for v in constants) else None
        context = registry.InferContext(op_def.name, specs, attrs, constants, partial)
        try:
            return tuple(op_def.infer(context))
        except ValueError:
            body = scope_of(self).body
            if body is None:
                raise
            # A branch that does not run may compute sizes that do not fit. TensorFlow sees none of what comes
            # from outside of it, so what the branch has of its own decides.
            bodies = self._nodes.bodies
            own = PartialValues(inputs, lambda op: bodies.get(op) is body)
            literals = tuple([
                value if t.op.type == "Const" and bodies.get(t.op) is body else None
                for t, value in zip(inputs, constants, strict=True)
            ])  # fmt: skip
            return tuple(
                op_def.infer(registry.InferContext(op_def.name, specs, attrs, literals, own))
            )

    def brought_in(self, tensor: Tensor) -> Tensor:
        """Return the tensor to read for a tensor in the current body; see ``function.brought_in``."""
        return brought_in(self._nodes.bodies, tensor, scope_of(self).body)

    def body_of(self, op: Operation) -> FunctionBody | None:
        """Return the loop body or branch that an operation is in, if any."""
        return self._nodes.bodies.get(op)

    def _op_name(self, name: str | bytes, scope: Scope) -> tuple[str, str]:
        """Return the wanted name in full, and the name that the operation gets."""
        name = name.decode() if isinstance(name, bytes) else name
        if name.endswith("/"):
            wanted = given = name[:-1]
        else:
            wanted = f"{scope.name}/{name}" if scope.name else name
            given = self._names.unique(wanted)
        check_op_name(wanted)
        if given in self._nodes:
            raise ValueError(
                f"Duplicate node name in graph: {given!r} (an operation named {given!r} exists already)"
            )
        return wanted, given

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return the name under the present scope, with ``_1``, ``_2``, ... if it is taken in any case.

        Args:
            name: wanted name.
            mark_as_used: whether later calls must return another name.
        """
        prefix = scope_of(self).name
        wanted = f"{prefix}/{name}" if prefix else name
        with self._lock.mutex:
            given = self._names.unique(wanted)
            if mark_as_used:
                self._names.mark_used(wanted, given)
        return given

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
        with self._lock.mutex:
            self._lock.check_open(f"an input of {op.name!r} was to be replaced")
            self._check_input(tensor, op.type)
            if not 0 <= index < len(op.inputs):
                raise IndexError(f"{op.name!r} has {len(op.inputs)} inputs, got index {index}")
            before = op.inputs[index]
            if tensor.dtype is not before.dtype:
                raise TypeError(
                    f"input {index} of {op.name!r} is of {before.dtype.name}, got {tensor!r}"
                )
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
                self._changed.append((op, user_line()))
            elif op not in self._nodes.bodies:
                self._extended.append(op)

    def standing_for(self, op: Operation) -> AbstractContextManager[object]:
        """Return a block whose operations are made for another one, which a subclass may record."""
        return nullcontext()

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
                if other.graph is not self:
                    raise ValueError(f"{other!r} belongs to another graph than {op!r}")
                if other not in op.control_inputs and reads(other, op):
                    raise ValueError(f"{op.name!r} cannot wait for {other!r}, which depends on it")
            op.control_inputs = Listed(dict.fromkeys(control_inputs))
            op.forget_node_def()
            self._changed.append((op, user_line()))

    def forget(self, body: FunctionBody) -> None:
        """Drop the operations of a loop body or branch that was abandoned; its names stay taken."""
        with self._lock.mutex:
            self._nodes.remove_body(body)

    @contextlib.contextmanager
    def growing_from_nothing(self) -> Iterator[bool]:
        """Enter ``growing``; where nothing was built before, what fails in the block leaves nothing behind.

        Yields:
            Whether nothing was built before.
        """
        with self._lock.mutex:
            is_empty = not (len(self._nodes) or self._names.used or self.library.names())
            try:
                yield is_empty
            except BaseException:
                if is_empty:
                    self._begin()
                raise

    def growing(self) -> AbstractContextManager[object]:
        """Return a context in which no other thread adds to the graph and no session reads it."""
        return self._lock.mutex

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
            with self._lock.mutex:
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
        with self._lock.mutex:
            before = size_inside(op)
            op.inputs, op.attrs, op.outputs = tuple(inputs), attrs, Listed(outputs)
            if op not in self._nodes.bodies:
                self._nodes.inside += size_inside(op) - before
                self._extended.append(op)
            op.forget_node_def()
            self._nodes.forget_consumers()

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
                self._changed.append((tensor, user_line()))

    # -- restrictions for sessions -------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbid sessions permanently to feed ``tensor``."""
        self._restrict(self._unfeedable, tensor)

    def prevent_fetching(self, op: Operation) -> None:
        """Forbid sessions permanently to fetch ``op`` or its tensors."""
        self._restrict(self._unfetchable, op)

    def _restrict(self, restricted: set[Any], element: Any) -> None:
        with self._lock.mutex:
            restricted.add(element)
            self._restrictions = len(self._unfeedable) + len(self._unfetchable)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether sessions may feed ``tensor``."""
        return tensor not in self._unfeedable and tensor.op not in self._nodes.bodies

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Return whether sessions may fetch an operation, or a tensor of one."""
        op = element.op if isinstance(element, Tensor) else element
        return op not in self._unfetchable and op not in self._nodes.bodies

    def construct_of(self, element: Tensor | Operation) -> str | None:
        """Return the name of the loop or cond around an operation, or around a tensor of one, if any."""
        op = element.op if isinstance(element, Tensor) else element
        body = self._nodes.bodies.get(op)
        return None if body is None else body.construct

    @property
    def restrictions(self) -> int:
        """The number of tensors and operations that sessions may not feed or fetch; it only grows."""
        return self._restrictions

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

    @property
    def collections(self) -> list[str]:
        """The names of all collections, as TensorFlow spells it; see ``get_all_collection_keys``."""
        return self._kept.keys()

    @property
    def _collections(self) -> dict[Hashable, list[Any]]:
        """The lists by name, under the name by which public programs reach for them in TensorFlow."""
        return self._kept.lists

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

    def name_scope(self, name: str | None) -> Reentrant[str]:
        """Prefix the names of operations built in the block.

        Args:
            name: made unique; one that ends in ``/`` is entered again literally; ``None`` or ``""`` leaves
                all scopes.

        Returns:
            A context manager that yields the scope's full name with a closing slash, empty for the root;
            entering it raises ValueError for a malformed name.
        """
        return scopes.NameScope(self, name)

    def get_name_scope(self) -> str:
        """Return the full name of the innermost name scope, without a closing slash; empty for the root."""
        return scope_of(self).name

    def device(self, device: str | DeviceSpec | DeviceFunction | None) -> Reentrant[None]:
        """Request a device for operations built in the block; inner blocks take precedence part by part.

        Args:
            device: a full or partial name, a function from the operation to one, or ``None`` to discard the
                outer blocks.

        Raises:
            ValueError: for a malformed name.
            TypeError: for anything else.
        """
        return scopes.device(self, device)

    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Reentrant[None]:
        """Make operations built in the block run after ``control_inputs``.

        Args:
            control_inputs: operations, tensors or variables; ``None`` discards the outer blocks, and leaves
                loop bodies and branches as well.
        """
        several = None if control_inputs is None else list(control_inputs)
        return scopes.control_dependencies(self, several)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Reentrant[None]:
        """Place operations built in the block with ``op``, regardless of the device blocks around.

        Args:
            op: an operation, tensor or variable; ``None`` changes nothing. While it has no device itself, a
                device block inside may still name one.
            ignore_existing: whether the blocks of this kind around it do not count.
        """
        return scopes.colocate_with(self, op, ignore_existing)

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Reentrant[None]:
        """Give operations built in the block other gradients than their types have.

        Args:
            op_type_map: from operation types to names under which gradients were registered.

        Raises:
            TypeError: for anything but a dictionary from strings to strings.
        """
        return scopes.gradient_override_map(self, op_type_map)

    def container(self, name: str) -> Reentrant[Scope]:
        """Put state built in the block into the resource container ``name``."""
        return Reentrant(lambda: scopes.entered(self, container=name))

    def switch_to_thread_local(self) -> None:
        """Do nothing: each thread has blocks of its own from the beginning."""

    def __repr__(self) -> str:
        return f"<Graph with {len(self._nodes.order)} operations at {id(self):#x}>"


def _check_references(op_def: registry.OpDef, inputs: Sequence[Tensor]) -> None:
    for index, tensor in enumerate(inputs[: op_def.references]):
        if not isinstance(tensor, ReferenceTensor) and not tensor.op.type.startswith("Ref"):
            raise TypeError(
                f"'{op_def.name}' Op requires that input {index} be a mutable tensor (e.g.: a tf.Variable), "
                f"got {tensor!r}"
            )


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
