"""Adagrad, and its form by dual averaging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["AdagradDAOptimizer", "AdagradOptimizer"]


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi and others, 2011): rates that fall with the squares of past gradients.

    ``accumulator += grad**2``, then ``var -= learning_rate * grad / sqrt(accumulator)``. Gradients of some
    rows change those rows only. The slot is called ``accumulator``.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        initial_accumulator_value: initial value of the sum of squares, above 0.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.

    Raises:
        ValueError: if the initial value is 0 or less.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._first = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, "accumulator", self._first)

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        inputs = [self._slot(var, "accumulator"), self._like(self._rate, var), grad]
        return self._apply("ResourceApplyAdagrad", var, inputs)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = [self._slot(var, "accumulator"), self._like(self._rate, var), grad.values, grad.indices]
        return self._apply("ResourceSparseApplyAdagrad", var, inputs)


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging, for sparse linear models.

    The value of a variable depends only on the sum of its gradients, the sum of their squares, the number of
    steps and the two regularisations; its initial value is forgotten. A row keeps its value until it has a
    gradient. The slots are called ``gradient_accumulator`` and ``gradient_squared_accumulator``.

    Args:
        learning_rate: a number, tensor or variable.
        global_step: the number of steps before this one: an integer tensor or variable.
        initial_gradient_squared_accumulator_value: initial value of the sum of squares, above 0.
        l1_regularization_strength: at least 0; sums of gradients within it yield 0.
        l2_regularization_strength: at least 0.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.

    Raises:
        ValueError: if the initial value is 0 or less.
    """

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        first = initial_gradient_squared_accumulator_value
        _check_positive("initial_gradient_squared_accumulator_value", first)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._first = first
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_accumulator")
            self._filled_slot(var, "gradient_squared_accumulator", self._first)

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")
        self._norm1 = self._tensor(self._l1, "l1_regularization_strength")
        self._norm2 = self._tensor(self._l2, "l2_regularization_strength")
        # The current step counts as well. The value is read once for all variables, whatever their devices.
        step = convert_to_tensor(self._global_step)
        self._step = step + 1 if step.dtype is int64 else cast(step, int64) + 1

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply("ResourceApplyAdagradDA", var, self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = self._inputs(var, grad.values, grad.indices)
        return self._apply("ResourceSparseApplyAdagradDA", var, inputs)

    def _inputs(self, var: Variable, *grad: Tensor) -> list[Any]:
        scalars = (self._rate, self._norm1, self._norm2)
        return [
            self._slot(var, "gradient_accumulator"),
            self._slot(var, "gradient_squared_accumulator"),
            *grad,
            *(self._like(scalar, var) for scalar in scalars),
            self._step,
        ]


def _check_positive(what: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{what} must be positive, got {value}")
