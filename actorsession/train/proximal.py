"""Gradient descent and Adagrad with proximal steps, which apply regularisation by norms exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer"]


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent, each step followed by the shrinkage of the two regularisations.

    With ``moved = var - learning_rate * grad``:
    ``var = sign(moved) * max(abs(moved) - learning_rate * l1, 0) / (1 + learning_rate * l2)`` (Duchi and
    Singer, 2009). Gradients of some rows change those rows only.

    Args:
        learning_rate: a number, tensor or variable.
        l1_regularization_strength: at least 0; values within it become 0.
        l2_regularization_strength: at least 0.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
    """

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _prepare(self) -> None:
        self._scalars = (
            self._tensor(self._learning_rate, "learning_rate"),
            self._tensor(self._l1, "l1_regularization_strength"),
            self._tensor(self._l2, "l2_regularization_strength"),
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        inputs = [*(self._like(scalar, var) for scalar in self._scalars), grad]
        return self._apply("ResourceApplyProximalGradientDescent", var, inputs)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rates = [self._like(scalar, var) for scalar in self._scalars]
        inputs = [*rates, grad.values, grad.indices]
        return self._apply("ResourceSparseApplyProximalGradientDescent", var, inputs)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad, each step followed by the shrinkage of the two regularisations.

    Like ``ProximalGradientDescentOptimizer``, with Adagrad's rate for each element. The slot is called
    ``accumulator``.

    Args:
        learning_rate: a number, tensor or variable.
        initial_accumulator_value: initial value of the sum of squares, above 0.
        l1_regularization_strength: at least 0; values within it become 0.
        l2_regularization_strength: at least 0.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.

    Raises:
        ValueError: if the initial value is 0 or less.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive, got {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._first = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, "accumulator", self._first)

    def _prepare(self) -> None:
        self._scalars = (
            self._tensor(self._learning_rate, "learning_rate"),
            self._tensor(self._l1, "l1_regularization_strength"),
            self._tensor(self._l2, "l2_regularization_strength"),
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply("ResourceApplyProximalAdagrad", var, self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = self._inputs(var, grad.values, grad.indices)
        return self._apply("ResourceSparseApplyProximalAdagrad", var, inputs)

    def _inputs(self, var: Variable, *grad: Tensor) -> list[Any]:
        rates = [self._like(scalar, var) for scalar in self._scalars]
        return [self._slot(var, "accumulator"), *rates, *grad]
