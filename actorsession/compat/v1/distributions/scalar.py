"""The base class of distributions of scalars."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from actorsession import ops
from actorsession.compat.v1.distributions.distribution import Distribution
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape

__all__ = ["ScalarDistribution"]


class ScalarDistribution(Distribution):
    """A distribution of scalars; its parameters broadcast to the shape of the batch.

    Subclasses list the names of the parameters in ``_PARAMETERS``. The arguments are those of
    ``Distribution``.
    """

    _PARAMETERS: ClassVar[tuple[str, ...]] = ()

    def _tensors(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._PARAMETERS]

    def _batch_shape(self) -> TensorShape:
        return functools.reduce(ops.broadcast_static_shape, [t.shape for t in self._tensors()])

    def _batch_shape_tensor(self) -> Tensor:
        return functools.reduce(ops.broadcast_dynamic_shape, [ops.shape(t) for t in self._tensors()])

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Tensor:
        return ops.constant([], int32)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        shape = ops.convert_to_tensor(sample_shape, int32)
        return dict.fromkeys(cls._PARAMETERS, shape)

    def _drawn_shape(self, count: Any) -> Tensor:
        """Return the shape of a number of samples from each distribution."""
        return ops.concat([ops.reshape(count, [1]), self.batch_shape_tensor()], 0)
