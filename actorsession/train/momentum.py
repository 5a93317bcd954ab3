"""Gradient descent with momentum, and Nesterov's variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["MomentumOptimizer"]


class MomentumOptimizer(Optimizer):
    """Gradient descent along a running sum of gradients.

    ``accumulation = momentum * accumulation + grad``, then ``var -= learning_rate * accumulation``; with
    Nesterov momentum ``var -= learning_rate * (grad + momentum * accumulation)``. Gradients of some rows
    change those rows and their part of the sum only. The slot is called ``momentum``.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        momentum: likewise; 0 is plain gradient descent.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
        use_nesterov: whether to use the gradient as if one step ahead.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum")

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")
        self._factor = self._tensor(self._momentum, "momentum")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        inputs = [self._slot(var, "momentum"), self._like(self._rate, var), grad, self._like(self._factor, var)]
        return self._apply("ResourceApplyMomentum", var, inputs, use_nesterov=self._use_nesterov)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = [
            self._slot(var, "momentum"),
            self._like(self._rate, var),
            grad.values,
            grad.indices,
            self._like(self._factor, var),
        ]
        return self._apply("ResourceSparseApplyMomentum", var, inputs, use_nesterov=self._use_nesterov)
