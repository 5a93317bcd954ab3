"""Variables: state that outlives a step, as a public class.

Owns ``Variable``: its construction and its reads. ``variables.updates`` has its updates,
``variables.creation`` the creators that may intervene in its construction. Built on ``variables.state``;
``variables.lists``, variable scopes, optimisers and savers are built on this module.

A variable consists of four nodes: the handle (which names the state), the initial value, the op that assigns
it, and one read that represents the variable where a graph element is needed, as in a fetch or a feed. As an
operand a variable is read anew, so that a read built under a control dependency runs after it. Reads and
updates are colocated with the handle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, resource
from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, OperatorMixin, Reference, Tensor
from actorsession.graph.scopes import DeviceFunction, entered, scope_of
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape, shown, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.gather import gather, gather_nd
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.variables import save_slices
from actorsession.ops.variables.creation import (
    CreatedByScope,
    VariableAggregation,
    VariableSynchronization,
    joined_collections,
    trainable_by_default,
)
from actorsession.ops.variables.state import variable_spec
from actorsession.ops.variables.updates import VariableUpdates
from actorsession.process_bound import GraphBound

__all__ = ["Variable", "first_value", "static_spec"]


class Variable(VariableUpdates, OperatorMixin, GraphBound, metaclass=CreatedByScope):
    """A tensor whose value persists across steps until another value is assigned.

    The value is stored on the device of the variable's handle, separately for each local session. It is
    uninitialised until ``initializer`` has run. There is one kind of variable, which behaves like both of
    TensorFlow's kinds, reference and resource, except that a variable with a fixed shape keeps it whatever is
    assigned.

    Args:
        initial_value: the initial value: a value that converts to a tensor, or a function without arguments
            that builds one.
        trainable: whether optimisers change it by default; true if left out.
        collections: names of collections to join; ``GraphKeys.GLOBAL_VARIABLES`` if left out.
        validate_shape: whether the shape is fixed; otherwise later values may have another one.
        caching_device: a device, or a function from an operation to one: readers get the value from a copy
            there, which is made once in each step.
        name: wanted name; ``Variable`` if left out.
        variable_def: instead of an initial value, the names of the nodes that it consists of; see
            ``from_proto``.
        dtype: element type; that of the initial value if left out.
        expected_shape: without effect.
        import_scope: without effect.
        constraint: a function that optimisers apply to the updated value.
        use_resource: ``False`` makes a ``ReferenceVariable``, whose operations are those of TensorFlow's
            reference variables; if left out, the graph decides (``Graph.reference_variables``).
        synchronization: ``ON_READ`` variables are not trainable by default.
        aggregation: without effect.
        shape: static shape, possibly partial; that of the initial value if left out.

    Raises:
        ValueError: without an initial value, if its shape is unknown although it must be known or contradicts
            ``shape``, if ``collections`` is not a list or ``constraint`` not a function.
        TypeError: if the initial value does not fit ``dtype``.
    """

    SaveSliceInfo = save_slices.SaveSliceInfo

    _asks_creators = True
    _is_resource = True

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | DeviceFunction | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        _check_asked(initial_value, variable_def, constraint)
        self._trainable = trainable_by_default(trainable, synchronization)
        self._constraint = constraint
        self._kinds = (use_resource, synchronization, aggregation)
        self._known_shape: TensorShape | None = None
        self._slice_info: save_slices.SaveSliceInfo | None = None
        joined = joined_collections(collections, self._trainable)
        graph = graph_of(initial_value)
        _check_outside(graph, initial_value)
        # The scopes around the call do not apply: the construction has no control dependencies, so that
        # running the initializer runs nothing else.
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(name or "Variable") as scope:
            self._build(graph, scope, initial_value, _asked_spec(dtype, shape), validate_shape)
            self._cached = self._copy_on(caching_device)
        for key in joined:
            graph.add_to_collection(key, self)

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        asked: tuple[DType | None, TensorShape | None],
        validate_shape: bool,
    ) -> None:
        dtype, shape = asked
        if callable(initial_value) and dtype is not None and shape is not None and shape.is_fully_defined():
            # If the static type is known in advance, the initial value can be built on the variable's device.
            self._handle = _make_handle(graph, scope, TensorSpec(dtype, shape))
            with graph.colocate_with(self._handle.op):
                self._initial_value = first_value(graph, initial_value, dtype)
        else:
            self._initial_value = first_value(graph, initial_value, dtype)
            spec = static_spec(self._initial_value, shape, validate_shape)
            self._handle = _make_handle(graph, scope, spec)
        self._initializer = self.add_update("AssignVariableOp", [self._initial_value], "Assign")
        with graph.name_scope("Read"):
            self._element = self.new_read()

    def _copy_on(self, device: str | DeviceFunction | None) -> Tensor | None:
        """Return a copy of the value on another device, for readers; ``None`` without a device."""
        if device is None:
            return None
        graph = self.graph
        with (
            graph.name_scope(f"{self._handle.op.name}/Read/"),
            entered(graph, colocation=(), devices=()),
            graph.device(device),
        ):
            return raw.Identity(self._element)

    # -- properties ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the handle tensor, such as ``w:0``."""
        return self._handle.name

    @property
    def _shared_name(self) -> str:
        """The name under which the state is stored, under TensorFlow's name for it."""
        return self.op.name

    @property
    def op(self) -> Operation:
        """The operation that represents the variable; the state is stored under its name."""
        return self._handle.op

    @property
    def handle(self) -> Tensor:
        """The tensor, of dtype ``resource``, that refers to the state."""
        return self._handle

    @property
    def graph(self) -> Graph:
        """The graph that the variable belongs to."""
        return self._handle.graph

    @property
    def dtype(self) -> DType:
        """Element type."""
        return variable_spec(self.op.attrs).dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        known = self._known_shape
        return shown(variable_spec(self.op.attrs).shape if known is None else known)

    def set_shape(self, shape: ShapeLike) -> None:
        """Refine the static shape, for reads and updates that are built from now on.

        Raises:
            ValueError: if it contradicts the static shape.
        """
        known = as_shape(self.shape).merge_with(shape)
        self._element.set_shape(known)
        self._known_shape = known

    def get_shape(self) -> TensorShape:
        """Return the static shape (TensorFlow's older spelling)."""
        return self.shape

    @property
    def device(self) -> str:
        """The requested device, possibly empty."""
        return self._handle.device

    @property
    def trainable(self) -> bool:
        """Whether optimisers change the variable by default."""
        return self._trainable

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns; ``None`` if the variable's file does not say."""
        return self._initial_value

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    def __repr__(self) -> str:
        prefix = self.graph.shown_prefix
        return f"<{prefix}Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    @property
    def constraint(self) -> Callable[[Tensor], Any] | None:
        """The function that optimisers apply to the updated value."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """The requested value, which has no effect."""
        return self._kinds[1]

    @property
    def aggregation(self) -> VariableAggregation:
        """The requested value, which has no effect."""
        return self._kinds[2]

    @property
    def _save_slice_info(self) -> save_slices.SaveSliceInfo | None:
        """The larger variable of which this is a part, as programs look for it."""
        return self._slice_info

    def _set_save_slice_info(self, info: save_slices.SaveSliceInfo) -> None:
        """Set the larger variable of which this is a part; used by partitioned variables."""
        self._slice_info = info

    def _get_save_slice_info(self) -> save_slices.SaveSliceInfo | None:
        """Return the larger variable of which this is a part, for savers."""
        return self._slice_info

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the names of its nodes as TensorFlow's ``VariableDef``; ``None`` outside of the scope.

        Args:
            export_scope: a name scope to strip from all names.
        """
        return PROTO_VIEWS.get("Variable.to_proto")(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """Return the variable that consists of given nodes of the default graph.

        Args:
            variable_def: names of the nodes.
            import_scope: a name scope to prepend.

        Raises:
            KeyError: for names that are not in the graph.
            ValueError: for names that are not a variable's.
        """
        read = PROTO_VIEWS.get("Variable.from_proto")
        variable: Variable = read(variable_def, import_scope)
        return variable

    # -- reading -------------------------------------------------------------------------------

    def value(self) -> Tensor:
        """Return a new read, which runs after the control dependencies in whose scope it is built.

        With a caching device, return the copy there instead.
        """
        return self._operand()

    def read_value(self) -> Tensor:
        """Return a new read like ``value``, also with a caching device."""
        with self.graph.name_scope("Read"):
            return self.new_read()

    def initialized_value(self) -> Tensor:
        """Return the value, or the initial value if there is none yet, to initialise other variables."""
        from actorsession.ops.flow.control_flow import cond

        chosen = cond(self.is_initialized(), self.read_value, lambda: self._initial_value)
        assert isinstance(chosen, Tensor)
        return chosen

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return a bool scalar that is true if a value was assigned."""
        with self.graph.colocate_with(self.op):
            return make_one("VarIsInitializedOp", [self._handle], self._attrs(), name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some rows of the value; see ``gather``."""
        return gather(self, indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some elements or blocks of the value; see ``gather_nd``."""
        return gather_nd(self, indices, name=name)

    def __getitem__(self, index: Any) -> Tensor:
        part = super().__getitem__(index)
        part.assign = functools.partial(self.assign_part, part)
        return part

    def __iadd__(self, other: Any) -> Tensor:
        raise _no_update_in_place("+=", "assign_add")

    def __isub__(self, other: Any) -> Tensor:
        raise _no_update_in_place("-=", "assign_sub")

    def new_read(self) -> Tensor:
        """Return a new read, which runs after the current control dependencies and bypasses caches."""
        with self.graph.colocate_with(self.op):
            return make_one("ReadVariableOp", [self._handle], self._attrs())

    def _operand(self) -> Tensor:
        return self.new_read() if self._cached is None else self._cached

    def ref(self) -> Reference:
        """Return a key for the variable; see ``Tensor.ref``."""
        return Reference(self)

    def eval(self, session: Any = None) -> Any:
        """Return the value in a session, the default one if left out; see ``Tensor.eval``."""
        return self._element.eval(session=session)

    def _as_graph_element(self) -> Tensor:
        return self._element

    def _attrs(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "shape": as_shape(self.shape)}


def _no_update_in_place(operator: str, method: str) -> RuntimeError:
    return RuntimeError(
        f"`variable {operator} value` is not supported: `variable.{method}(value)` changes the "
        f"variable, `out = variable {operator[0]} value` makes a new tensor"
    )


def _check_asked(initial_value: Any, variable_def: Any, constraint: Any) -> None:
    if variable_def is not None:
        raise ValueError("a kind of Variable is made of an initial_value; Variable takes a variable_def")
    if initial_value is None:
        raise ValueError("a Variable needs an initial_value: a value, a tensor, or a function that makes one")
    if constraint is not None and not callable(constraint):
        raise ValueError(f"a constraint is a function or None, got {constraint!r:.100}")


def _check_outside(graph: Graph, initial_value: Any) -> None:
    where = graph.nodes.construct_of(initial_value) if isinstance(initial_value, Tensor) else None
    if where is not None:
        raise ValueError(
            f"the initial_value {initial_value!r} is from inside a control-flow construct, {where!r}: use a "
            "function that makes it (a lambda) instead"
        )


def _asked_spec(dtype: Any, shape: ShapeLike) -> tuple[DType | None, TensorShape | None]:
    return (None if dtype is None else as_dtype(dtype), None if shape is None else TensorShape(shape))


def first_value(graph: Graph, value: Any, dtype: DType | None) -> Tensor:
    """Return an initial value as a tensor."""
    with graph.name_scope("Initializer"):
        initial = value() if callable(value) else value
        return convert_to_tensor(initial, dtype, name="initial_value", graph=graph)


def static_spec(first: Tensor, shape: TensorShape | None, validate_shape: bool) -> TensorSpec:
    """Return the static type of a variable with an initial value.

    Raises:
        ValueError: if its shape has to be known and is not, or contradicts ``shape``.
    """
    if not validate_shape:
        return TensorSpec(first.dtype, unknown_shape)
    if shape is None:
        if not first.shape.is_fully_defined():
            raise ValueError(
                f"initial_value must have a shape specified: {first!r} has no fully known shape; give "
                "shape=..., or validate_shape=False if the variable's shape may change"
            )
        shape = first.spec.shape
    elif not first.shape.is_compatible_with(shape):
        raise ValueError(f"the initial value has shape {first.shape}, asked was shape {shape}")
    return TensorSpec(first.dtype, shape)


def _make_handle(graph: Graph, scope: str, spec: TensorSpec) -> Tensor:
    if spec.dtype is resource:
        raise TypeError(f"a variable cannot hold values of dtype {spec.dtype.name}")
    attrs = {
        "container": scope_of(graph).container,
        # Explicit, so that a copy of the graph under other names refers to the same state.
        "shared_name": scope.rstrip("/"),
        "dtype": spec.dtype,
        "shape": spec.shape,
    }
    return make_one("VarHandleOp", (), attrs, scope, graph)
