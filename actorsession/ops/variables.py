"""Variables: state that outlives a step, as users hold it.

Owns ``Variable``. Stands on ``state``; ``variable_lists``, optimisers and savers stand on it.

A variable is four nodes: the handle (which names the state), its first value, the op that assigns
it, and one read that stands for the variable where a graph element is wanted, as in a fetch or a
feed. As an operand a variable is read afresh, so that a read built under a control dependency runs
after it. Reads and updates are colocated with the handle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, resource
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, OperatorMixin, Tensor
from actorsession.graph.scopes import scope_of
from actorsession.graph.shape import ShapeLike, TensorShape, unknown_shape
from actorsession.ops.build import convert_to_tensor, graph_of, make, make_one
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.state import variable_spec

__all__ = ["Variable"]


class Variable(OperatorMixin):
    """A tensor whose value stays from step to step, until something assigns another.

    The value lives on the device of the variable's handle, separately for each local session. It is
    uninitialised until ``initializer`` has run.

    Args:
        initial_value: the first value: anything that becomes a tensor, or a function without
            arguments that builds one.
        trainable: whether optimisers change it unless told otherwise.
        collections: names of collections to join; ``GraphKeys.GLOBAL_VARIABLES`` if left out.
        validate_shape: whether the shape is fixed; without it later values may have another.
        name: wanted name; ``Variable`` if left out.
        dtype: element type; that of the first value if left out.
        shape: static shape, possibly partial; that of the first value if left out.

    Raises:
        ValueError: without a first value, if its shape is not known although it must be or
            contradicts ``shape``, or if ``collections`` is no list.
        TypeError: if the first value does not fit ``dtype``.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        name: str | None = None,
        dtype: Any = None,
        shape: ShapeLike = None,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "a Variable needs an initial_value: a value, a tensor, or a function that makes one"
            )
        joined = _joined_collections(collections, trainable)
        graph = graph_of(initial_value)
        self._trainable = trainable
        # Whatever surrounds the call: making a variable waits for nothing, so that running its
        # initializer runs nothing else.
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope(name or "Variable") as scope,
        ):
            self._build(graph, scope, initial_value, _asked_spec(dtype, shape), validate_shape)
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
        if (
            callable(initial_value)
            and dtype is not None
            and shape is not None
            and shape.is_fully_defined
        ):
            # With the type known beforehand, the first value can be made where the variable is.
            self._handle = _make_handle(graph, scope, TensorSpec(dtype, shape))
            with graph.colocate_with(self._handle.op):
                self._initial_value = _first_value(graph, initial_value, dtype)
        else:
            self._initial_value = _first_value(graph, initial_value, dtype)
            spec = _static_spec(self._initial_value, shape, validate_shape)
            self._handle = _make_handle(graph, scope, spec)
        self._initializer = self.add_update("AssignVariableOp", [self._initial_value], "Assign")
        with graph.name_scope("Read"):
            self._element = self._read()

    # -- what it is ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the handle tensor, such as ``w:0``."""
        return self._handle.name

    @property
    def op(self) -> Operation:
        """The operation that stands for the variable; the state is stored under its name."""
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
        """What is known of the shape."""
        return variable_spec(self.op.attrs).shape

    def get_shape(self) -> TensorShape:
        """The static shape (TensorFlow's older spelling)."""
        return self.shape

    @property
    def device(self) -> str:
        """The device that was asked for, possibly empty."""
        return self._handle.device

    @property
    def trainable(self) -> bool:
        """Whether optimisers change it unless told otherwise."""
        return self._trainable

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns."""
        return self._initial_value

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the first value."""
        return self._initializer

    def __repr__(self) -> str:
        return f"<Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    # -- reading -------------------------------------------------------------------------------

    def value(self) -> Tensor:
        """A new read, which runs after the control dependencies in whose scope it is built."""
        return self._read()

    def read_value(self) -> Tensor:
        """A new read, as ``value`` (TensorFlow's other spelling)."""
        with self.graph.name_scope("Read"):
            return self._read()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool scalar that says whether a value was assigned."""
        with self.graph.colocate_with(self.op):
            return make_one("VarIsInitializedOp", [self._handle], self._attrs(), name)

    def _read(self) -> Tensor:
        with self.graph.colocate_with(self.op):
            return make_one("ReadVariableOp", [self._handle], self._attrs())

    def _operand(self) -> Tensor:
        return self._read()

    def eval(self, session: Any = None) -> Any:
        """The value in a session, the default one if left out; see ``Tensor.eval``."""
        return self._element.eval(session=session)

    def _as_graph_element(self) -> Tensor:
        return self._element

    def _attrs(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "shape": self.shape}

    # -- updates -------------------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replaces the value.

        Args:
            value: the new value, of the variable's dtype and shape.
            use_locking: accepted for TensorFlow's sake; updates are atomic anyway.
            name: wanted name of the update.
            read_value: whether a tensor is returned.

        Returns:
            A tensor that reads the variable after the update, or the update's operation.

        Raises:
            TypeError: for another dtype.
            ValueError: for a shape that contradicts the variable's.
        """
        return self._assigned("AssignVariableOp", value, name, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds ``delta`` to the value; see ``assign``."""
        return self._assigned("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts ``delta`` from the value; see ``assign``."""
        return self._assigned("AssignSubVariableOp", delta, name, read_value)

    def count_up_to(self, limit: int, name: str | None = None) -> Tensor:
        """Adds one to the value, in each step that runs it, until it has reached a limit.

        Args:
            limit: where counting ends.
            name: wanted name.

        Returns:
            The value before; in a step that finds the limit reached OutOfRangeError is raised instead
            and the value stays.

        Raises:
            TypeError: unless the variable is int32 or int64 and ``limit`` an int.
            ValueError: unless the variable is a scalar.
        """
        return self.add_update("ResourceCountUpTo", [], name, limit=limit).outputs[0]

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Adds rows to some rows of the value; rows with one index add up.

        Args:
            sparse_delta: the rows and where they belong.
            use_locking: accepted for TensorFlow's sake; updates are atomic anyway.
            name: wanted name of the update.

        Returns:
            A tensor that reads the variable after the update.

        Raises:
            TypeError: if ``sparse_delta`` is no ``IndexedSlices``, or of another dtype.
            ValueError: if its shape does not fit.
        """
        return self._scattered("ResourceScatterAdd", sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtracts rows from some rows of the value; see ``scatter_add``."""
        return self._scattered("ResourceScatterSub", sparse_delta, name)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replaces some rows of the value, the last one where an index occurs twice."""
        return self._scattered("ResourceScatterUpdate", sparse_delta, name)

    def add_update(
        self, op_type: str, operands: Sequence[Tensor], name: str | None = None, **attrs: Any
    ) -> Operation:
        """Builds an operation that changes the variable, where the variable is; for optimisers.

        Args:
            op_type: an op that takes a handle first and has ``VARIABLE_ATTRS``.
            operands: its other inputs.
            name: wanted name.
            **attrs: its other attributes.
        """
        with self.graph.colocate_with(self.op):
            return make(op_type, [self._handle, *operands], {**self._attrs(), **attrs}, name)

    def read_after(self, update: Operation) -> Tensor:
        """A new read, which runs after ``update``."""
        with self.graph.control_dependencies([update]):
            return self._read()

    def _converted(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self.dtype, graph=self.graph)

    def _assigned(self, op_type: str, value: Any, name: str | None, read_value: bool) -> Any:
        update = self.add_update(op_type, [self._converted(value)], name)
        return self.read_after(update) if read_value else update

    def _scattered(self, op_type: str, delta: Any, name: str | None) -> Tensor:
        if not isinstance(delta, IndexedSlices):
            raise TypeError(
                f"scattered updates take IndexedSlices, got {type(delta).__name__}: {delta!r:.100}"
            )
        return self.read_after(self.add_update(op_type, [delta.indices, delta.values], name))


def _joined_collections(given: Iterable[str] | None, trainable: bool) -> list[str]:
    if given is not None and not isinstance(given, (list, tuple, set)):
        raise ValueError(f"collections is a list, tuple or set of names, got {given!r:.100}")
    joined = [GraphKeys.GLOBAL_VARIABLES] if given is None else list(given)
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in joined:
        joined.append(GraphKeys.TRAINABLE_VARIABLES)
    return joined


def _asked_spec(dtype: Any, shape: ShapeLike) -> tuple[DType | None, TensorShape | None]:
    return (
        None if dtype is None else as_dtype(dtype),
        None if shape is None else TensorShape(shape),
    )


def _first_value(graph: Graph, value: Any, dtype: DType | None) -> Tensor:
    with graph.name_scope("Initializer"):
        made = value() if callable(value) else value
        return convert_to_tensor(made, dtype, name="initial_value", graph=graph)


def _static_spec(first: Tensor, shape: TensorShape | None, validate_shape: bool) -> TensorSpec:
    if not validate_shape:
        return TensorSpec(first.dtype, unknown_shape)
    if shape is None:
        if not first.shape.is_fully_defined:
            raise ValueError(
                f"the initial value {first!r} has no fully known shape; give shape=..., or "
                "validate_shape=False if the variable's shape may change"
            )
        shape = first.shape
    elif not first.shape.is_compatible_with(shape):
        raise ValueError(f"the initial value has shape {first.shape}, asked was shape {shape}")
    return TensorSpec(first.dtype, shape)


def _make_handle(graph: Graph, scope: str, spec: TensorSpec) -> Tensor:
    if spec.dtype is resource:
        raise TypeError(f"a variable cannot hold values of dtype {spec.dtype.name}")
    attrs = {
        "container": scope_of(graph).container,
        # Written out, so that a copy of the graph under other names finds the same state.
        "shared_name": scope.rstrip("/"),
        "dtype": spec.dtype,
        "shape": spec.shape,
    }
    return make_one("VarHandleOp", (), attrs, scope, graph)


# -- collections ---------------------------------------------------------------------------------
