"""The Adadelta optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["AdadeltaOptimizer"]


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler, 2012): steps scale with the size of recent steps over that of recent gradients.

    ``accum = rho * accum + (1 - rho) * grad**2``,
    ``update = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad``,
    ``accum_update = rho * accum_update + (1 - rho) * update**2`` and ``var -= learning_rate * update``.
    Gradients of some rows change those rows only. The slots are called ``accum`` and ``accum_update``.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one; 1 is the paper's.
        rho: decay of both averages, likewise.
        epsilon: small number that starts the steps, likewise.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum")
            self._zeros_slot(var, "accum_update")

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "lr")
        self._decay = self._tensor(self._rho, "rho")
        self._small = self._tensor(self._epsilon, "epsilon")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply("ResourceApplyAdadelta", var, self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = self._inputs(var, grad.values, grad.indices)
        return self._apply("ResourceSparseApplyAdadelta", var, inputs)

    def _inputs(self, var: Variable, *grad: Tensor) -> list[Any]:
        scalars = (self._rate, self._decay, self._small)
        slots = [self._slot(var, name) for name in ("accum", "accum_update")]
        return [*slots, *(self._like(scalar, var) for scalar in scalars), *grad]
