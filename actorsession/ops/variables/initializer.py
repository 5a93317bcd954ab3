"""Base classes of initialisers: settings, dtype, and the calling convention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape

__all__ = ["FloatingInitializer", "Initializer"]


class Initializer:
    """Base class of initialisers; a subclass overrides ``build``.

    Args:
        dtype: element type, unless the call gives one.
    """

    # The arguments in ``get_config`` besides the dtype; attributes have the same names.
    _settings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype: DType = as_dtype(dtype)

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({settings})"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make an initialiser like this one."""
        return {**{key: getattr(self, key) for key in self._settings}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Return the initialiser that ``get_config`` described."""
        return cls(**config)

    def __call__(self, shape: ShapeLike, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Build an initial value.

        Args:
            shape: a fully known shape.
            dtype: element type; the initialiser's own if left out.
            partition_info: position of the value in a larger variable, with ``full_shape`` and
                ``var_offset``; most initialisers ignore it.

        Raises:
            ValueError: if the shape is not fully known.
            TypeError: if the initialiser cannot make values of that dtype.
        """
        dims = TensorShape(shape).as_tuple()
        return self.build(dims, self.dtype if dtype is None else as_dtype(dtype))

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value; a subclass overrides this method."""
        raise NotImplementedError(f"{type(self).__name__} must override build")


class FloatingInitializer(Initializer):
    """Initialisers that make real numbers only."""

    def __init__(self, dtype: Any = float32) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"{type(self).__name__} makes values of floating types, got {self.dtype.name}")
