"""``RNNCell``, the base class of all cells, which owns a cell's variables and their variable scopes.

A cell is a layer with a state. Its first call creates its variables below the current variable scope, and all
later calls share them, wherever they are made. Programs write cells in one of three ways, and all must work:
with ``build`` and ``add_variable``, with ``get_variable`` in ``call``, or with a ``__call__`` of their own
that does everything. So every attribute here has a default on the class, because a cell of the third kind may
never have called ``__init__``.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.recurrent import nests, sizes
from actorsession.compat.v1.recurrent.names import snake_case, unique_name
from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.graph import Graph, name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import VariableScope

__all__ = ["LayerRNNCell", "RNNCell", "check_cell"]

# Objects that belong to a graph, which a copy of a cell shares with it.
_OF_GRAPHS = (Graph, Operation, Tensor, ops.Variable, ops.PartitionedVariable)


class RNNCell:
    """A cell: a function from inputs and a state to outputs and the next state.

    Subclasses define the properties ``state_size`` and ``output_size`` and a method ``call(inputs, state)``.

    Args:
        trainable: whether optimisers update its variables.
        name: the name of its variable scope, made unique there; that of the class if omitted.
        dtype: the dtype of its variables; that of its first inputs if omitted.
        kwargs: ``_reuse`` and ``_scope``, which cells pass on.

    Raises:
        TypeError: for any other argument.
    """

    trainable = True
    built = False
    _name: str | None = None
    _base_name: str | None = None
    _dtype: DType | None = None
    _reuse: Any = None
    _scope: VariableScope | None = None
    _around: VariableScope | None = None

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        scope = kwargs.pop("_scope", None)
        if kwargs:
            raise TypeError(f"{type(self).__name__} has no argument {sorted(kwargs)[0]!r}")
        self.trainable = trainable
        self._name = self._base_name = name or None
        self._dtype = None if dtype is None else as_dtype(dtype)
        if scope is not None:
            with ops.variable_scope(scope) as self._scope:
                pass
        _ = self.name  # Numbers the names in the order in which cells are created.

    # -- properties ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the cell; a derived name is unique in the graph."""
        if self._name is None:
            self._base_name = snake_case(type(self).__name__)
            self._name = unique_name(self._base_name)
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of its variables; ``None`` before it is known."""
        return self._dtype

    @property
    def scope_name(self) -> str:
        """The prefix of its variables' names.

        Raises:
            ValueError: before its first call.
        """
        if self._scope is None:
            raise ValueError(f"{self.name!r} has no scope before it is called for the first time")
        return self._scope.name

    @property
    def state_size(self) -> Any:
        """The number of columns of a state, or a structure of such numbers and shapes."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        """The number of columns of an output, or a structure of such numbers and shapes."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size")

    # -- variables -----------------------------------------------------------------------------

    def _kept(self) -> list[tuple[Any, bool]]:
        """Return its variables and whether they are trainable, in the order of their creation."""
        kept: list[tuple[Any, bool]] = self.__dict__.setdefault("_variables", [])
        return kept

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimisers update."""
        return [v for v, trained in self._kept() if trained and self.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that optimisers do not update; all of them if the cell is not trainable."""
        return [v for v, trained in self._kept() if not (trained and self.trainable)]

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The same as ``trainable_weights``."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The same as ``non_trainable_weights``."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """The same as ``weights``."""
        return self.weights

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = ops.VariableSynchronization.AUTO,
        aggregation: Any = ops.VariableAggregation.NONE,
        partitioner: Any = None,
    ) -> Any:
        """Return the variable with a name below the cell's scope, from ``get_variable``.

        Args:
            name: the name below the scope.
            shape: the shape of the variable.
            dtype: element type; the cell's if omitted, else float32.
            initializer: the initialiser; the scope's if omitted.
            regularizer: the regulariser; the scope's if omitted.
            trainable: whether the variable is trainable, if the cell is.
            constraint: the constraint; the scope's if omitted.
            use_resource: accepted for compatibility.
            synchronization: accepted for compatibility.
            aggregation: accepted for compatibility.
            partitioner: the partitioner; the scope's if omitted.

        Raises:
            ValueError: as for ``get_variable``.
        """
        reuse = True if self.built else self._reuse
        with ops.variable_scope(self._enter_scope(None), reuse=reuse, auxiliary_name_scope=False):
            variable = ops.get_variable(
                name, shape, as_dtype(dtype or self._dtype or float32), initializer, regularizer,
                trainable is not False and self.trainable, partitioner=partitioner,
                use_resource=use_resource, constraint=constraint, synchronization=synchronization,
                aggregation=aggregation,
            )  # fmt: skip
        self._keep(variable)
        return variable

    add_variable = add_weight

    def _keep(self, variable: Any) -> None:
        parts: Iterable[Any] = (
            variable if isinstance(variable, ops.PartitionedVariable) else [variable]
        )
        trained = ops.trainable_variables()
        for part in parts:
            if all(part is not known for known, _ in self._kept()):
                self._kept().append((part, any(part is each for each in trained)))

    def _recording_getter(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Get a variable and record it: the custom getter for ``get_variable`` in ``call``."""
        variable = getter(*args, **kwargs)
        self._keep(variable)
        return variable

    # -- calling -------------------------------------------------------------------------------

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step.

        Args:
            inputs: a matrix with a row for each member of the batch, or a structure of such matrices.
            state: the state, in the structure of ``state_size``.
            scope: the scope of the variables in the first call; the cell's name if omitted.

        Returns:
            The output and the next state.
        """
        if scope is not None:
            with ops.variable_scope(scope, custom_getter=self._recording_getter) as opened:
                return self._call(inputs, state, opened)
        if self._around is None:
            self._around = ops.get_variable_scope()
        with ops.variable_scope(self._around, custom_getter=self._recording_getter):
            return self._call(inputs, state, None)

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the cell."""
        return self(inputs, *args, **kwargs)

    def _enter_scope(self, scope: Any) -> VariableScope:
        """Return the scope of the variables, which is opened on first use."""
        if self._scope is None:
            _ = self.name
            base = scope if self._reuse and scope is not None else self._base_name
            opening = (
                ops.variable_scope(base)
                if self._reuse
                else ops.variable_scope(scope, default_name=self._base_name)
            )
            with opening as self._scope:
                pass
        assert self._scope is not None
        return self._scope

    def _call(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        known, reuse = self._enter_scope(scope), True if self.built else self._reuse
        with (
            ops.variable_scope(known, reuse=reuse, auxiliary_name_scope=False) as opened,
            name_scope(opened.original_name_scope or None),
        ):
            inputs = nests.mapped(_as_input, inputs)
            self._check_inputs(inputs)
            if not self.built:
                if self._dtype is None:
                    self._dtype = nests.flatten(inputs)[0].dtype
                self.build(nests.mapped(lambda leaf: leaf.shape, inputs))
            given = {"scope": opened} if "scope" in inspect.signature(self.call).parameters else {}
            outputs: tuple[Any, Any] | None = self.call(inputs, state, **given)
        if outputs is None:
            raise ValueError(
                f"{type(self).__name__}.call returned None; it must return an output and a state"
            )
        # Set only now, because ``call`` may create variables.
        self.built = True
        return outputs

    def _check_inputs(self, inputs: Any) -> None:
        """Refuse inputs that the cell does not accept; by default it accepts all."""

    def build(self, _: Any) -> None:
        """Create variables for inputs of a shape; by default there are none."""

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step; defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no method call")

    # -- states --------------------------------------------------------------------------------

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros.

        Args:
            batch_size: the size of the batch, a number or an integer scalar.
            dtype: element type.

        Returns:
            Tensors in the structure of ``state_size``, with the batch as the first dimension.
        """
        with name_scope(f"{type(self).__name__}ZeroState"):
            return nests.mapped(lambda size: sizes.zeros(batch_size, size, dtype), self.state_size)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a state of zeros for inputs.

        Args:
            inputs: the inputs that determine batch size and dtype, if these are not given.
            batch_size: see ``zero_state``.
            dtype: see ``zero_state``.

        Raises:
            ValueError: if inputs and arguments contradict each other, or do not determine both.
        """
        if inputs is not None:
            value = ops.convert_to_tensor(inputs, name="inputs")
            sized = TensorShape(value.shape).sizes
            static = sized[0] if sized else None
            if batch_size is not None and static != batch_size:
                raise ValueError(f"inputs have batch size {static}, but batch_size is {batch_size}")
            if dtype is not None and value.dtype != as_dtype(dtype):
                raise ValueError(f"inputs have dtype {value.dtype.name}, but dtype is {dtype!r}")
            batch_size, dtype = static or ops.shape(value)[0], value.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    # -- the rest ------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for key, value in self.__dict__.items():
            for leaf in nests.flatten(value):
                if isinstance(leaf, _OF_GRAPHS):
                    memo[id(leaf)] = leaf
            shared = isinstance(value, VariableScope)
            made.__dict__[key] = copy.copy(value) if shared else copy.deepcopy(value, memo)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class LayerRNNCell(RNNCell):
    """A cell whose variables are created by ``build``, and whose inputs are matrices."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        return self._call(inputs, state, scope)

    def _check_inputs(self, inputs: Any) -> None:
        for leaf in nests.flatten(inputs):
            if leaf.shape.rank not in (None, 2):
                raise ValueError(
                    f"Input 0 of layer {self.name} is incompatible with the layer: expected ndim=2, found "
                    f"ndim={leaf.shape.rank}. Full shape received: {leaf.shape}"
                )


def _as_input(leaf: Any) -> Any:
    return ops.convert_to_tensor(leaf) if isinstance(leaf, (np.ndarray, int, float)) else leaf


def check_cell(argument: str, cell: Any) -> None:
    """Refuse an object that is not a cell.

    Args:
        argument: the name of the argument, for the message.
        cell: the object.

    Raises:
        TypeError: if it lacks a property or method of cells.
    """
    lacks = [
        f"{name!r} property is missing"
        for name in ("output_size", "state_size")
        if not hasattr(cell, name)
    ]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        lacks.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        lacks.append("is not callable")
    if lacks:
        raise TypeError(
            f"The argument {argument!r} ({cell}) is not an RNNCell: {', '.join(lacks)}."
        )
