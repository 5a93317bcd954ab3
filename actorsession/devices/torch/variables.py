"""Variables of torch devices: tensors that are changed in place where nothing else holds them.

Kernels of the device read and change the tensor; what runs with kernels of the CPU sees the same variable by its
other face, ``on_host``, whose values are numpy arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES, TorchArrays
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.graph.node import TensorSpec
from actorsession.runtime.resources import Variable

__all__ = ["FedVariable", "TorchVariable"]

_TYPE_OF: dict[torch.dtype, DType] = {known: dtype for dtype, known in TORCH_TYPES.items()}


def _holders(tensor: torch.Tensor) -> tuple[int, int]:
    """Return how many references there are to a tensor, and how many tensors and arrays share its memory."""
    return sys.getrefcount(tensor), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def _baseline() -> tuple[int, int]:
    """Return ``_holders`` of a tensor that only a variable has, as it is measured in ``TorchVariable.change``."""
    kept = [torch.zeros(1)]
    tensor = kept[0]
    return _holders(tensor)


_ALONE = _baseline()


class TorchVariable(Variable):
    """A variable whose value is a tensor if the device holds its dtype, and else that of the host.

    Args:
        name: resource name, for messages.
        spec: static type that assigned values must have.
        arrays: those of the device.

    Attributes:
        on_host: the same variable with numpy arrays.
    """

    __slots__ = ("arrays", "on_host")

    def __init__(self, name: str, spec: TensorSpec, arrays: TorchArrays) -> None:
        super().__init__(name, spec)
        self.arrays = arrays
        self.on_host: Variable = _OnHost(self)

    @property
    def value(self) -> Any:
        """The value as a numpy array; ``None`` when uninitialised."""
        with self._lock:
            return self.arrays.to_host(self._value)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """See ``Variable.shape``."""
        shape = super().shape
        return None if shape is None else tuple(shape)

    def assign(self, value: Any) -> None:
        """Store a tensor or an array of the variable's type, which the variable owns from now on.

        Raises:
            InvalidArgumentError: if dtype or shape do not fit.
        """
        if type(value) is not torch.Tensor:
            if self.spec.dtype not in self.arrays.types:
                super().assign(value)
                return
            value = self.arrays.to_device(value)
        if self.arrays.types.get(self.spec.dtype) is not value.dtype or not self.spec.shape.is_compatible_with(
            value.shape
        ):
            raise InvalidArgumentError(
                f"variable {self.name!r} holds {self.spec.dtype.name} of shape {self.spec.shape}; "
                f"{_TYPE_OF[value.dtype].name} of shape {tuple(value.shape)} cannot be assigned"
            )
        with self._lock:
            self.changes += 1
            self._value = value.contiguous()

    def change(self, function: Callable[..., Any], *operands: Any) -> None:
        """Call ``function(tensor, *operands)``, which changes the tensor in place; it may be a copy of the old value.

        Raises:
            UninitializedVariableError: when uninitialised.
        """
        with self._lock:
            tensor = self._value
            if tensor is None:
                raise self._without_value()
            self.changes += 1
            references, sharers = _holders(tensor)
            if references > _ALONE[0] or sharers > _ALONE[1]:
                tensor = self._value = tensor.clone()
            function(tensor, *operands)

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        """See ``VariableHolder.update``: the tensor is the old value and the buffer of the new one."""
        if self.spec.dtype in self.arrays.types:
            self.change(lambda tensor: function(tensor, *operands, out=tensor))
        else:
            super().update(function, *operands)

    def access(self, function: Callable[[Any], Any]) -> None:
        """See ``VariableHolder.access``."""

        def step(tensor: torch.Tensor) -> None:
            result = function(tensor)
            if result is not tensor:
                tensor.copy_(result)

        if self.spec.dtype in self.arrays.types:
            self.change(step)
        else:
            super().access(function)


class FedVariable(TorchVariable):
    """What loops and branches see of a variable whose reference is fed: a value that stays.

    Args:
        name: for messages.
        spec: static type of the value.
        arrays: those of the device.
        value: the value.
    """

    __slots__ = ()

    def __init__(self, name: str, spec: TensorSpec, arrays: TorchArrays, value: Any) -> None:
        super().__init__(name, spec, arrays)
        self._value = value

    def assign(self, value: Any) -> None:
        """Refuse another value."""
        self.change(self.assign, value)

    def change(self, function: Callable[..., Any], *operands: Any) -> None:
        """Refuse the change."""
        raise InvalidArgumentError("a variable that is fed cannot be changed in the same step")


class _OnHost(Variable):
    """A variable of a torch device with numpy arrays, which are changed in place where they are the tensor's memory."""

    __slots__ = ("_of",)

    def __init__(self, variable: TorchVariable) -> None:
        super().__init__(variable.name, variable.spec)
        self._of = variable
        self._lock = variable._lock

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._of.shape

    @property
    def nbytes(self) -> int:
        return self._of.nbytes

    @property
    def initialized(self) -> bool:
        return self._of.initialized

    @property
    def value(self) -> Any:
        return self._of.value

    def declare(self, shape: tuple[int, ...]) -> None:
        self.by_reference = True
        self._of.declare(shape)

    def read(self) -> Any:
        return self._of.arrays.to_host(self._of.read())

    def lend(self) -> Any:
        return self.read()

    def assign(self, value: Any) -> None:
        self._of.assign(value)

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        def step(value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return function(value, *operands)
            function(value, *operands, out=value)
            return value

        if self.spec.dtype in self._of.arrays.types:
            self.access(step)
        else:
            self._of.update(function, *operands)

    def access(self, function: Callable[[Any], Any]) -> None:
        arrays = self._of.arrays

        def step(tensor: torch.Tensor) -> Any:
            value = arrays.to_host(tensor)
            result = function(value)
            return tensor if result is value and arrays.is_host else arrays.to_device(result)

        self._of.access(step if self.spec.dtype in self._of.arrays.types else function)

    def clear(self) -> None:
        self._of.clear()
