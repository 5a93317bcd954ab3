"""``RNNCell``, the base class of all cells, which owns a cell's variables and their variable scopes.

A cell is a layer with a state. Its first call creates its variables below the current variable scope, and all
later calls share them, wherever they are made. Programs write cells in one of three ways, and all must work:
with ``build`` and ``add_variable``, with ``get_variable`` in ``call``, or with a ``__call__`` of their own
that does everything. So every attribute here has a default on the class, because a cell of the third kind may
never have called ``__init__``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.graph import name_scope
from actorsession.graph.shape import TensorShape
from actorsession.ops import VariableScope
from actorsession.train.layers import nests
from actorsession.train.layers.layer import Layer
from actorsession.train.layers.names import snake_case, unique_name
from actorsession.train.layers.recurrent import sizes

__all__ = ["LayerRNNCell", "RNNCell", "check_cell"]


class RNNCell(Layer):
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

    _around: VariableScope | None = None

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        reuse, scope = kwargs.pop("_reuse", None), kwargs.pop("_scope", None)
        if kwargs:
            raise TypeError(f"{type(self).__name__} has no argument {sorted(kwargs)[0]!r}")
        super().__init__(name=name, trainable=trainable, dtype=dtype, reuse=reuse)
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
    def state_size(self) -> Any:
        """The number of columns of a state, or a structure of such numbers and shapes."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        """The number of columns of an output, or a structure of such numbers and shapes."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size")

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
                return self._step(opened, inputs, state)
        if self._around is None:
            self._around = ops.get_variable_scope()
        with ops.variable_scope(self._around, custom_getter=self._recording_getter):
            return self._step(None, inputs, state)

    def _step(self, scope: Any, inputs: Any, state: Any) -> tuple[Any, Any]:
        stepped: tuple[Any, Any] = self._invoke(scope, inputs, state)
        return stepped

    _returns = "it must return an output and a state"

    def _enter_scope(self, scope: Any) -> VariableScope:
        _ = self.name  # numbers the names of cells that have not called ``__init__``
        return super()._enter_scope(scope)

    def _converted(self, inputs: Any) -> Any:
        return nests.mapped(_as_input, inputs)

    def _dtype_of(self, inputs: Any) -> DType:
        return as_dtype(nests.flatten(inputs)[0].dtype)

    def _shape_of(self, inputs: Any) -> Any:
        return nests.mapped(lambda leaf: leaf.shape, inputs)

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

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
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


class LayerRNNCell(RNNCell):
    """A cell whose variables are created by ``build``, and whose inputs are matrices."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        return self._step(scope, inputs, state)

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
    lacks = [f"{name!r} property is missing" for name in ("output_size", "state_size") if not hasattr(cell, name)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        lacks.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        lacks.append("is not callable")
    if lacks:
        raise TypeError(f"The argument {argument!r} ({cell}) is not an RNNCell: {', '.join(lacks)}.")
