"""Cells around another cell: the base class ``CellWrapper``, ``ResidualWrapper`` and ``DeviceWrapper``.

A wrapper has no variables and no scope of its own: the variables of the wrapped cell have the same names as
without the wrapper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.graph import device as device_scope
from actorsession.graph.graph import name_scope
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.cell import RNNCell, check_cell

__all__ = ["CellWrapper", "DeviceWrapper", "ResidualWrapper"]


class CellWrapper(RNNCell):
    """A cell around another one.

    Args:
        cell: the cell.
        kwargs: see ``RNNCell``.

    Raises:
        TypeError: if ``cell`` is not a cell.
    """

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_cell("cell", cell)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The wrapped cell."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The state size of the wrapped cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The output size of the wrapped cell."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the wrapped cell."""
        return list(getattr(self.cell, "trainable_weights", []))

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables of the wrapped cell."""
        return list(getattr(self.cell, "non_trainable_weights", []))

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros; see ``RNNCell``."""
        with name_scope(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    def build(self, inputs_shape: Any) -> None:
        """Create the cell's variables for inputs of a shape."""
        self.cell.build(inputs_shape)
        self.built = True

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step of the wrapped cell; see ``RNNCell``."""
        return self._wrapped(inputs, state, self.cell.__call__, scope=scope)

    def _wrapped(self, inputs: Any, state: Any, function: Callable[..., Any], **kwargs: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state.

        Args:
            inputs: the inputs of the wrapper.
            state: the state of the wrapper.
            function: the cell's ``__call__``.
            kwargs: further arguments of ``function``.
        """
        raise NotImplementedError(f"{type(self).__name__} must override _wrapped")


class ResidualWrapper(CellWrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: the cell.
        residual_fn: returns the output for inputs and outputs of the cell; their sum if omitted.
        kwargs: see ``RNNCell``.

    Raises:
        TypeError: if ``cell`` is not a cell.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _wrapped(self, inputs: Any, state: Any, function: Callable[..., Any], **kwargs: Any) -> tuple[Any, Any]:
        outputs, after = function(inputs, state, **kwargs)
        return (self._residual_fn or _sums)(inputs, outputs), after


def _sums(inputs: Any, outputs: Any) -> Any:
    nests.check_alike(inputs, outputs, "inputs and outputs of a ResidualWrapper")
    return nests.mapped(_sum, inputs, outputs)


def _sum(inputs: Any, output: Any) -> Any:
    if not TensorShape(inputs.shape).is_compatible_with(TensorShape(output.shape)):
        raise ValueError(
            f"Shapes {inputs.shape} and {output.shape} are incompatible: a ResidualWrapper adds inputs to outputs"
        )
    return inputs + output


class DeviceWrapper(CellWrapper):
    """A cell that runs on a device.

    Args:
        cell: the cell.
        device: the device, as for ``tf.device``.
        kwargs: see ``RNNCell``.

    Raises:
        TypeError: if ``cell`` is not a cell.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros on the device; see ``RNNCell``."""
        with name_scope(f"{type(self).__name__}ZeroState"), device_scope(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _wrapped(self, inputs: Any, state: Any, function: Callable[..., Any], **kwargs: Any) -> tuple[Any, Any]:
        with device_scope(self._device):
            called: tuple[Any, Any] = function(inputs, state, **kwargs)
            return called
