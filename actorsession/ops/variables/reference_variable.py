"""Reference variables as a public class: variables whose operation gives a reference to their value.

Owns ``ReferenceVariable``, which ``Variable(..., use_resource=False)`` returns, and which graphs give whose
variables are of this kind by default. It differs from ``Variable`` in the operations that it builds
(``variables.reference_nodes``): ``v`` is a ``VariableV2``, ``v/read`` stands for its value, and an update
gives the reference again. Inside of loop bodies and branches, which see the variable through a handle, it
builds those of ``Variable``.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actorsession.graph.dtypes import DType, reference_dtype, resource
from actorsession.graph.function import FunctionBody
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, ReferenceTensor, Tensor
from actorsession.graph.scopes import DeviceFunction, entered, scope_of
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape, shown, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make, make_one
from actorsession.ops.variables.creation import VariableAggregation, VariableSynchronization
from actorsession.ops.variables.guarded_values import guarded
from actorsession.ops.variables.reference_nodes import REFERENCE_TYPES
from actorsession.ops.variables.variable import Variable, first_value, static_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReferenceVariable", "variable_of"]

_KEY = "actorsession/handles of references"


class ReferenceVariable(Variable):
    """A variable whose operation gives a reference to its value; see ``Variable``."""

    _is_resource = False

    def __bool__(self) -> bool:
        """Return true: as in TensorFlow, the truth of a reference variable is that of an object."""
        return True

    # The initial value as the initializer assigns it.
    _first: Tensor | None = None
    # What runs before the updates that are built next.
    _after: Sequence[Operation] = ()

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        asked: tuple[DType | None, TensorShape | None],
        validate_shape: bool,
    ) -> None:
        dtype, shape = asked
        built = len(graph.nodes.order)
        if callable(initial_value):
            # Functions that choose devices are asked for the variable alone, beside which this moves.
            with graph.device(None):
                self._initial_value = first_value(graph, initial_value, dtype)
        else:
            self._initial_value = convert_to_tensor(initial_value, dtype, "initial_value", graph=graph)
        if shape is not None and dtype is not None and shape.is_fully_defined() and validate_shape:
            spec = TensorSpec(dtype, shape)
        else:
            spec = static_spec(self._initial_value, shape, validate_shape)
        makers = graph.nodes.order[built:] if callable(initial_value) else []
        self._handle = _make(graph, scope, spec)
        for op in makers:
            op.move_beside(self._handle.op)
        self._first = first = guarded(self._initial_value, self._handle.op.name)
        self._initializer = self.add_update("AssignVariableOp", [first], "Assign", validate_shape=validate_shape)

    def _copy_on(self, device: str | DeviceFunction | None) -> Tensor | None:
        graph = self.graph
        if device is None:
            with graph.colocate_with(self.op):
                self._element = raw.Identity(self._handle, name="read")
            return None
        with entered(graph, colocation=(), devices=()), graph.device(device):
            self._element = raw.Identity(self._handle, name="read")
        return self._element

    # -- properties ----------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of references to the variable's element type."""
        return reference_dtype(self._handle.spec.dtype)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        known = self._known_shape
        return shown(self._handle.spec.shape if known is None else known)

    def set_shape(self, shape: ShapeLike) -> None:
        """Refine the static shape; see ``Variable.set_shape``."""
        self._handle.set_shape(shape)
        self._element.set_shape(shape)

    def _ref(self) -> Tensor:
        """Return the reference, which ops that change the variable take."""
        return self._handle

    # -- reading -------------------------------------------------------------------------------

    def read_value(self) -> Tensor:
        """Return a new read, which runs after the control dependencies in whose scope it is built."""
        if self._is_inside():
            return super().read_value()
        return raw.Identity(self._handle, name="read")

    def initialized_value(self) -> Tensor:
        """Return the value, or the initial value if there is none yet, to initialise other variables."""
        from actorsession.ops.flow.control_flow import cond

        first = self._initial_value if self._first is None else self._first
        chosen = cond(self.is_initialized(), self.read_value, lambda: first)
        assert isinstance(chosen, Tensor)
        return chosen

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return a bool scalar that is true if a value was assigned."""
        if self._is_inside():
            with self.graph.colocate_with(self.op):
                return make_one("VarIsInitializedOp", [self._inner_handle()], self._attrs(), name)
        with self.graph.colocate_with(self.op):
            return make_one("IsVariableInitialized", [self._handle], {}, name)

    def new_read(self) -> Tensor:
        """Return the read that stands for the variable, or inside of a body a new one."""
        if not self._is_inside() or self._is_captured_by_value() or self._stays():
            return self._element
        with self.graph.colocate_with(self.op):
            return make_one("ReadVariableOp", [self._inner_handle()], self._attrs())

    def _as_graph_element(self) -> Tensor:
        return self._handle

    def _attrs(self) -> dict[str, Any]:
        return {"dtype": self._handle.spec.dtype, "shape": as_shape(self.shape)}

    def __iadd__(self, other: Any) -> Any:
        return self + other

    def __isub__(self, other: Any) -> Any:
        return self - other

    # -- updates -------------------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
        *,
        validate_shape: bool = True,
    ) -> Any:
        """Replace the value.

        Args:
            value: the new value.
            use_locking: without effect: updates are atomic anyway.
            name: wanted name of the update.
            read_value: whether a tensor is returned.
            validate_shape: whether the value must have the variable's shape.

        Returns:
            A reference to the variable after the update, or the update's operation.

        Raises:
            TypeError: for another dtype.
            ValueError: for a shape that contradicts the variable's.
        """
        return self._assigned("AssignVariableOp", value, name, read_value, validate_shape=validate_shape)

    def _assigned(self, op_type: str, value: Any, name: str | None, read_value: bool, **attrs: Any) -> Any:
        if self._is_inside() and attrs.get("validate_shape") is False:
            attrs["shape"] = unknown_shape
        with self.graph.name_scope(name or REFERENCE_TYPES[op_type]) as scope:
            tensor = convert_to_tensor(value, self._handle.spec.dtype, "value", graph=self.graph)
            update = self.add_update(op_type, [tensor], scope, **attrs)
        return self.read_after(update) if read_value else update

    def add_update(self, op_type: str, operands: Sequence[Tensor], name: str | None = None, **attrs: Any) -> Operation:
        """Build an operation that changes the variable; see ``Variable.add_update``.

        Args:
            op_type: operation type with handles; the one with references is built where it can be.
            operands: the other inputs of the op, with references or handles of other variables.
            name: wanted name.
            **attrs: the other attributes of the op.
        """
        mixed = any(t.spec.dtype is resource for t in operands)
        reference = REFERENCE_TYPES.get(op_type)
        with self.graph.colocate_with(self.op), self.graph.control_dependencies(self._after):
            if reference is None or mixed or self._is_inside():
                self._note_update()
                handles = [_inner_handle(t) if isinstance(t, ReferenceTensor) else t for t in operands]
                return make(op_type, [self._inner_handle(), *handles], {**self._attrs(), **attrs}, name)
            return make(reference, [self._handle, *operands], attrs, name)

    def read_after(self, update: Operation) -> Tensor:
        """Return what ``update`` gives, a reference, or a new read that runs after it."""
        if update.outputs:
            return update.outputs[0]
        with update.graph.control_dependencies([update]):
            return self.new_read() if self._is_inside() else raw.Identity(self._handle)

    # -- loop bodies and branches --------------------------------------------------------------

    def _is_inside(self) -> bool:
        """Return whether a loop body or branch is being built."""
        return scope_of(self.graph).body is not None

    def _is_captured_by_value(self) -> bool:
        """Return whether a function is being built that gets the value of the variable from outside."""
        body = scope_of(self.graph).body
        while body is not None and not body.by_value:
            body = body.outer
        return body is not None

    def _bodies(self) -> Iterator[FunctionBody]:
        body = scope_of(self.graph).body
        while body is not None:
            yield body
            body = body.outer

    def _note_update(self) -> None:
        """Remember that a body changes the variable, whose later readers there see the change."""
        changed = self.__dict__.setdefault("_changed_in", weakref.WeakSet())
        changed.update(self._bodies())

    def _stays(self) -> bool:
        """Return whether a body reads the value that the variable has before it.

        It does for a variable of another task, as in TensorFlow's graphs, or each iteration would fetch it
        anew; but not where the body changes the variable.
        """
        changed: Any = self.__dict__.get("_changed_in", ())
        return "/job:" in self.device and not any(body in changed for body in self._bodies())

    def _inner_handle(self) -> Tensor:
        return _inner_handle(self._handle)


def _make(graph: Graph, scope: str, spec: TensorSpec) -> Tensor:
    if spec.dtype is resource:
        raise TypeError(f"a variable cannot hold values of dtype {spec.dtype.name}")
    attrs: Mapping[str, Any] = {
        "container": scope_of(graph).container,
        "shared_name": "",
        "dtype": spec.dtype,
        "shape": spec.shape,
    }
    return make_one("VariableV2", (), attrs, scope, graph)


def _inner_handle(reference: Tensor) -> Tensor:
    """Return the handle of a reference, for use inside of loop bodies and branches."""
    graph = reference.graph
    kept: dict[Tensor, Tensor] = graph.handles_of_references
    handle = kept.get(reference)
    if handle is None:
        with (
            graph.control_dependencies(None),
            graph.name_scope(f"{reference.op.name}/"),
            graph.colocate_with(reference.op),
        ):
            handle = make_one(
                "ReferenceHandle", [reference], {"dtype": reference.spec.dtype, "shape": reference.spec.shape}, "handle"
            )
        kept[reference] = handle
    return handle


def variable_of(reference: Tensor, after: Sequence[Operation] = ()) -> ReferenceVariable:
    """Return an object with the methods that change the variable that a tensor refers to.

    Args:
        reference: a reference, such as the output of a ``VariableV2`` or what an assignment returned.
        after: operations that run before what those methods build.
    """
    variable = object.__new__(ReferenceVariable)
    variable._after = after
    parts: Mapping[str, Any] = {
        "_handle": reference,
        "_element": reference._operand(),
        "_cached": None,
        "_known_shape": None,
        "_trainable": False,
        "_constraint": None,
        "_slice_info": None,
        "_initial_value": None,
        "_initializer": None,
        "_kinds": (False, VariableSynchronization.AUTO, VariableAggregation.NONE),
    }
    for name, value in parts.items():
        setattr(variable, name, value)
    return variable


def reference_read(value: Tensor) -> Tensor | None:
    """Return the reference that a loop body or branch has read; ``None`` for any other tensor.

    Args:
        value: what an update of a variable returned there, perhaps.
    """
    if value.op.type != "ReadVariableOp" or value.op.inputs[0].op.type != "ReferenceHandle":
        return None
    return value.op.inputs[0].op.inputs[0]


# As TensorFlow shows it.
ReferenceVariable.__name__ = "RefVariable"
