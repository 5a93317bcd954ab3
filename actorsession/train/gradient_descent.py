"""Plain gradient descent."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.elements import arithmetic, elementwise
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["GradientDescentOptimizer"]


class GradientDescentOptimizer(Optimizer):
    """Gradient descent: ``var -= learning_rate * grad``.

    Gradients of some rows change those rows only.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply("ResourceApplyGradientDescent", var, [self._like(self._rate, var), grad])

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = arithmetic.multiply(grad.values, elementwise.negative(self._like(self._rate, var)))
        return var.add_update("ResourceScatterAdd", [grad.indices, rows])
