"""The Ftrl optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements import arithmetic
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["FtrlOptimizer"]

# TensorFlow's constant: it keeps the share of ``beta`` finite for a rate of 0.
_SMALLEST_RATE = 1e-36


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, proximal (McMahan and others, 2013), for sparse linear models.

    With ``p = learning_rate_power`` and ``new = accum + grad**2``:
    ``linear += grad - (new**-p - accum**-p) / learning_rate * var``, and
    ``var = (sign(linear) * l1 - linear) / (new**-p / learning_rate + 2 * l2)``, or 0 where
    ``abs(linear) <= l1``. Gradients of some rows change those rows only. The slots are called ``accum`` and
    ``linear``.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        learning_rate_power: at most 0; 0 keeps the rate constant.
        initial_accumulator_value: initial value of ``accum``, at least 0.
        l1_regularization_strength: at least 0; where ``linear`` is within it, the value becomes 0.
        l2_regularization_strength: at least 0.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
        accum_name: suffix of the name of the slot ``accum``; ``name`` if left out.
        linear_name: the same for ``linear``.
        l2_shrinkage_regularization_strength: at least 0; adds ``2 * l2_shrinkage * var`` to the gradient, but
            not to its square.
        beta: as in the paper; adds ``beta / (2 * learning_rate)`` to ``l2``.

    Raises:
        ValueError: for a number outside its range.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0:
            raise ValueError(f"learning_rate_power must be at most 0, got {learning_rate_power}")
        _check_not_negative(
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        self._learning_rate = learning_rate
        self._power = learning_rate_power
        self._first = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, "accum", self._first, self._accum_name)
            self._zeros_slot(var, "linear", self._linear_name)

    def _prepare(self) -> None:
        rate = self._tensor(self._learning_rate, "learning_rate")
        norm2 = self._tensor(self._l2, "adjusted_l2_regularization_strength")
        if self._beta:
            share = self._beta / (2.0 * arithmetic.maximum(rate, _SMALLEST_RATE))
            norm2 = convert_to_tensor(self._l2 + share)
        scalars = [rate, self._tensor(self._l1, "l1_regularization_strength"), norm2]
        if self._shrinkage > 0:
            scalars.append(self._tensor(self._shrinkage, "l2_shrinkage_regularization_strength"))
        self._scalars = [*scalars, self._tensor(self._power, "learning_rate_power")]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply(f"ResourceApply{self._rule}", var, self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = self._inputs(var, grad.values, grad.indices)
        return self._apply(f"ResourceSparseApply{self._rule}", var, inputs)

    @property
    def _rule(self) -> str:
        return "FtrlV2" if self._shrinkage > 0 else "Ftrl"

    def _inputs(self, var: Variable, *grad: Tensor) -> list[Any]:
        slots = [self._slot(var, name) for name in ("accum", "linear")]
        return [*slots, *grad, *(self._like(scalar, var) for scalar in self._scalars)]


def _check_not_negative(**numbers: float) -> None:
    for name, value in numbers.items():
        if value < 0:
            raise ValueError(f"{name} must be at least 0, got {value}")
