"""Operations and tensors: the live objects that users hold while they build a graph.

An ``Operation`` is made by ``Graph.create_op`` and changed only by its graph afterwards. A ``Tensor`` is one
output of an operation; it compares and hashes by identity, as in TensorFlow 1, so it can be a key of feeds.
Arithmetic on tensors is defined by ``ops/``, which fills the overload table when it is imported.
"""

from __future__ import annotations

import reprlib
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np

from actorsession.errors import OperatorNotAllowedInGraphError
from actorsession.graph.default_session import run_in_session
from actorsession.graph.dtypes import DType, reference_dtype
from actorsession.graph.extension import PROTO_VIEWS, ExtensionPoint
from actorsession.graph.node import NodeDef, TensorSpec, tensor_name
from actorsession.graph.registry import Array, OpDef
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape, shown
from actorsession.process_bound import GraphBound

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph

__all__ = ["OPERATORS", "Listed", "Operation", "OperatorMixin", "Reference", "ReferenceTensor", "Tensor", "ValueTensor"]

OPERATORS: ExtensionPoint[Callable[..., Any]] = ExtensionPoint("operators of tensors", "actorsession.ops")
"""By name without underscores, such as ``add`` or ``getitem``: a function of the operands, of which at least
one is a tensor or variable.
"""


def _method(name: str) -> Callable[[Any, Any], Tensor]:
    """Return the method of an operator of two operands, or of an index."""
    return lambda self, other: _overload(name, self, other)


def _reflected(name: str) -> Callable[[Any, Any], Tensor]:
    """Return the method of an operator whose right operand is the tensor."""
    return lambda self, other: _overload(name, other, self)


def _unary(name: str) -> Callable[[Any], Tensor]:
    return lambda self: _overload(name, self)


class OperatorMixin:
    """Python operators for anything that denotes a tensor (tensors and variables).

    Attributes:
        OVERLOADABLE_OPERATORS: the names of the methods that are operators.
    """

    __slots__ = ()
    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]] = frozenset()
    # numpy arrays on the left of an operator defer to it instead of looping over elements.
    __array_priority__ = 100

    __add__, __radd__ = _method("add"), _reflected("add")
    __sub__, __rsub__ = _method("sub"), _reflected("sub")
    __rmul__ = _reflected("mul")
    __truediv__, __rtruediv__ = _method("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _method("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _method("mod"), _reflected("mod")
    __pow__, __rpow__ = _method("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _method("matmul"), _reflected("matmul")
    __and__, __rand__ = _method("and"), _reflected("and")
    __or__, __ror__ = _method("or"), _reflected("or")
    __xor__, __rxor__ = _method("xor"), _reflected("xor")
    __lt__, __le__ = _method("lt"), _method("le")
    __gt__, __ge__ = _method("gt"), _method("ge")
    __getitem__ = _method("getitem")
    __neg__, __invert__, __abs__ = _unary("neg"), _unary("invert"), _unary("abs")

    def __mul__(self, other: Any) -> Tensor:
        # A sparse tensor implements the multiplication with its left operand.
        if hasattr(other, "_multiplies_tensors"):
            return NotImplemented
        return _overload("mul", self, other)

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            f"Using a symbolic `{_prefix(self)}Tensor` as a Python `bool` is not allowed. {self!r} has no truth value "
            "while the graph is built; run it in a session, or use a graph op such as where or equal"
        )

    def __iter__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            f"Iterating over a symbolic `{_prefix(self)}Tensor` is not allowed. {self!r} cannot be iterated while the "
            "graph is built; use unstack or split"
        )

    def __float__(self) -> NoReturn:
        raise TypeError(f"{self!r} has no value while the graph is built; run it in a session")

    __int__ = __complex__ = __index__ = __float__

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic {_prefix(self)}Tensor ({getattr(self, 'name', '')}) to a numpy array. "
            f"{self!r} is symbolic: run it in a session"
        )


def _prefix(element: Any) -> str:
    """Return what stands before the names of classes where the program of an element writes them."""
    return str(getattr(getattr(element, "graph", None), "shown_prefix", ""))


# A comparison of a tensor with one of these means its value.
_VALUES = (int, float, complex, str, bytes, list, np.generic, np.ndarray)


def _overload(name: str, *operands: Any) -> Tensor:
    function = OPERATORS.find(name)
    if function is None:
        raise TypeError(f"operator {name!r} is not defined: import {OPERATORS.filled_by}")
    result: Tensor = function(*operands)
    return result


_CONVERSIONS = ["array", "bool", "complex", "float", "index", "int", "iter", "len"]
OperatorMixin.OVERLOADABLE_OPERATORS = frozenset(
    name
    for name, value in vars(OperatorMixin).items()
    if name.startswith("__") and callable(value) and name.strip("_") not in _CONVERSIONS
)


class Reference:
    """A key for sets and dicts that stands for one object, whatever the object says of equality."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """Return the object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return self._wrapped is other._wrapped if isinstance(other, Reference) else NotImplemented

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


class Tensor(OperatorMixin, GraphBound):
    """One output of an operation: a symbolic value that each step computes anew."""

    # With a dict, which is made when a program first hangs an attribute of its own on a tensor.
    __slots__ = ("__dict__", "__weakref__", "_constant", "_index", "_name", "_op", "_ref", "_spec", "assign")

    # Set only on slices of a variable: it assigns a new value to that slice.
    assign: Callable[..., Tensor]

    def __init__(self, op: Operation, index: int, spec: TensorSpec) -> None:
        self._op = op
        self._index = index
        self._spec = spec
        self._name = tensor_name(op.name, index)
        self._ref = (op.name, index)
        # The result of ``constant_value`` and the number of the graph's changes at that time; see there.
        self._constant: tuple[int, Array | None] | None = None

    @property
    def op(self) -> Operation:
        """The operation that produces the tensor."""
        return self._op

    @property
    def value_index(self) -> int:
        """The index among the operation's outputs."""
        return self._index

    @property
    def graph(self) -> Graph:
        """The graph that the tensor belongs to."""
        return self._op.graph

    @property
    def name(self) -> str:
        """``operation:index``, the name that sessions accept."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._spec.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return shown(self._spec.shape)

    @property
    def spec(self) -> TensorSpec:
        """Element type and static shape together."""
        return self._spec

    @property
    def device(self) -> str:
        """The device that was requested for the operation, possibly empty."""
        return self._op.device

    @property
    def ndim(self) -> int | None:
        """The number of dimensions, or ``None`` if it is unknown."""
        return self._spec.shape.rank

    def get_shape(self) -> TensorShape:
        """Return the static shape (TensorFlow's older spelling)."""
        return shown(self._spec.shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merge the static shape with ``shape``.

        Raises:
            ValueError: if it contradicts the known static shape.
        """
        self._op.graph.changes.refine_shape(self, as_shape(shape))

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). {self!r} has no length while the "
            "graph is built; use its shape, or size"
        )

    def consumers(self) -> list[Operation]:
        """Return the operations that take this tensor as input, in the order they were built.

        An operation that takes it twice is there twice.
        """
        return [op for op in self._op.graph.nodes.consumers(self) for read in op.inputs if read is self]

    def ref(self) -> Reference:
        """Return a key for the tensor, equal to other keys for it alone; ``deref`` gives the tensor."""
        return Reference(self)

    def _operand(self) -> Tensor:
        return self

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Evaluate the tensor in a session.

        Args:
            feed_dict: as in ``Session.run``.
            session: the session; the default one if left out.

        Returns:
            The value; for an ``AsyncSession`` an awaitable of it.

        Raises:
            ValueError: without a session, or if it runs another graph.
        """
        return run_in_session(self, feed_dict, session, "eval()")

    def _as_graph_element(self) -> Tensor:
        return self

    # Tensors are the keys of feeds and fetches; a Python method would take ten times as long.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        # Who compares with an empty list asks whether there is anything.
        empty = isinstance(other, list) and not other
        if self is not other and isinstance(other, _VALUES) and not empty:
            # Not an error: in TensorFlow 1 it is False, and ``tensor in [1.0, other]`` asks this too.
            warnings.warn(
                f"{self!r} == {reprlib.repr(other)} compares objects and is False: a tensor has no value "
                "while the graph is built; equal(tensor, value) makes a node that compares",
                stacklevel=2,
            )
        return self is other

    def __str__(self) -> str:
        shape = "" if self._spec.shape.sizes is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self._name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        prefix = self._op.graph.shown_prefix
        return f"<{prefix}Tensor {self._name!r} shape={self.shape} dtype={self.dtype.name}>"


class ReferenceTensor(Tensor):
    """An output that refers to a variable; as an operand it is the value of that variable."""

    __slots__ = ("_value",)

    def __init__(self, op: Operation, index: int, spec: TensorSpec) -> None:
        super().__init__(op, index, spec)
        self._value: ValueTensor | None = None

    @property
    def dtype(self) -> DType:
        """The type of references to variables of the element type."""
        return reference_dtype(self._spec.dtype)

    def _operand(self) -> Tensor:
        if self._value is None:
            self._value = ValueTensor(self._op, self._index, self._spec)
        return self._value


class ValueTensor(Tensor):
    """The value of an output that is a reference: the same output with the element type of its value."""

    __slots__ = ()


_Item = TypeVar("_Item")


class Listed(tuple[_Item, ...]):
    """A tuple that stands where TensorFlow has a list: equal to a list of its items, and added to one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else tuple.__add__(self, other)

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


_NOTHING: Listed[Any] = Listed()


class Operation(GraphBound):
    """A node of a graph; made by ``Graph.create_op``, immutable except through methods of the graph.

    Attributes:
        graph: the graph that owns it.
        name: unique name in the graph.
        type: operation type; that of a call may be the name of its function.
        op_def: the registered definition of the type.
        inputs: data inputs.
        control_inputs: operations that must run first.
        attrs: attribute values with defaults filled in.
        outputs: the tensors that it produces.
        source: the user's line that built it.
        number: position in the order of building.
    """

    # The operation for which a rewritten graph says that this one stands.
    _original_op: Operation | None = None

    __slots__ = (
        "__dict__", "__weakref__", "_device", "_node_def", "attrs", "control_inputs", "graph", "inputs",
        "name", "number", "op_def", "outputs", "source", "type",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op_def: OpDef,
        inputs: tuple[Tensor, ...],
        control_inputs: tuple[Operation, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[TensorSpec, ...],
        device: str,
        source: str,
        number: int,
    ) -> None:
        self.graph = graph
        self.name = name
        self.op_def = op_def
        self.type = op_def.name
        self.inputs = inputs
        self.control_inputs = Listed(control_inputs) if control_inputs else _NOTHING
        self.attrs = attrs
        self._device = device
        self.source = source
        self.number = number
        kind = ReferenceTensor if op_def.makes_reference or op_def.gives_reference else Tensor
        self.outputs = Listed([kind(self, i, spec) for i, spec in enumerate(outputs)])
        self._node_def: NodeDef | None = None

    @property
    def device(self) -> str:
        """The requested device, possibly partial or empty."""
        return self._device

    @property
    def plain(self) -> NodeDef:
        """The operation as plain data, for planners and messages."""
        if self._node_def is None:
            self._node_def = NodeDef(
                name=self.name,
                op=self.op_def.name,
                inputs=tuple([t._ref for t in self.inputs]),
                control_inputs=tuple([op.name for op in self.control_inputs]),
                device=self._device,
                attrs=self.attrs,
                outputs=tuple([t._spec for t in self.outputs]),
                source=self.source,
            )
        return self._node_def

    @property
    def node_def(self) -> Any:
        """The operation as TensorFlow's ``NodeDef`` message, made anew; ``plain`` is the library's own form.

        Raises:
            ValueError: for an operation that has no such form.
        """
        return PROTO_VIEWS.get("Operation.node_def")(self)

    @property
    def traceback(self) -> list[traceback.FrameSummary]:
        """The user's line that built it, in the form of a traceback."""
        file, _, line = self.source.rpartition(":")
        return [traceback.FrameSummary(file, int(line) if line.isdecimal() else 0, "<module>")]

    def move_beside(self, other: Operation) -> None:
        """Colocate the operation with one that was built after it, before any session has seen it."""
        groups = (*self.groups(), *(other.groups() or (f"loc:@{other.name}",)))
        self.attrs = {**self.attrs, "_class": tuple(sorted(set(groups)))}
        self._device = other.device
        self.forget_node_def()

    def forget_node_def(self) -> None:
        """Drop the plain form after a change, so that it is made again."""
        self._node_def = None

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replace a data input; see ``GraphChanges.update_input``."""
        self.graph.changes.update_input(self, index, tensor)

    @property
    def _outputs(self) -> Listed[Tensor]:
        """The outputs, under the name by which public programs reach for them in TensorFlow."""
        return self.outputs

    @property
    def _id(self) -> int:
        """The number, likewise."""
        return self.number

    def _add_control_inputs(self, ops: Iterable[Operation]) -> None:
        """Wait for further operations; see ``GraphChanges.update_control_inputs``."""
        self.graph.changes.update_control_inputs(self, [*self.control_inputs, *ops])

    def _add_control_input(self, op: Operation) -> None:
        """Wait for a further operation; see ``GraphChanges.update_control_inputs``."""
        self._add_control_inputs([op])

    def _remove_all_control_inputs(self) -> None:
        """Wait for no operation; see ``GraphChanges.update_control_inputs``."""
        self.graph.changes.update_control_inputs(self, [])

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute as in TensorFlow; ``attrs`` has it as it is kept here.

        Strings are returned as bytes, types as ``DType``, shapes and tensors as messages. Attributes that
        follow from the inputs, such as ``T``, are included.

        Raises:
            ValueError: if the operation has no such attribute.
        """
        return PROTO_VIEWS.get("Operation.get_attr")(self, name)

    def values(self) -> tuple[Tensor, ...]:
        """Return the outputs (TensorFlow's older spelling)."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Return the ``loc:@name`` groups of the operation; its own, if it is colocated with no other."""
        return [group.encode() for group in self.groups() or (f"loc:@{self.name}",)]

    def groups(self) -> tuple[str, ...]:
        """Return the groups of the operations that it is colocated with, as text."""
        return tuple(self.attrs.get("_class", ()))

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Run the operation in a session.

        Args:
            feed_dict: as in ``Session.run``.
            session: the session; the default one if left out.

        Returns:
            ``None``; for an ``AsyncSession`` an awaitable of it.

        Raises:
            ValueError: without a session, or if it runs another graph.
        """
        return run_in_session(self, feed_dict, session, "run()")

    def _as_graph_element(self) -> Operation:
        return self

    def _set_attr(self, name: str, attr_value: Any) -> None:
        """Set an attribute from TensorFlow's message, for marks of one's own.

        Raises:
            ValueError: for an attribute of the operation type, on which its outputs depend.
        """
        if name in self.attrs and not name.startswith("_"):
            raise ValueError(f"attribute {name!r} of {self.name!r} is part of the operation and stays")
        self.attrs = {**self.attrs, name: PROTO_VIEWS.get("Operation.attr")(attr_value)}
        self.forget_node_def()

    def __str__(self) -> str:
        return str(self.node_def) if self.graph.shown_prefix else repr(self)

    def __repr__(self) -> str:
        return f"<{self.graph.shown_prefix}Operation {self.name!r} type={self.type}>"
