"""The RMSProp optimiser, plain and centred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["RMSPropOptimizer"]


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton, 2012): gradients divided by the root of their mean square.

    ``rms = decay * rms + (1 - decay) * grad**2``,
    ``momentum = momentum * momentum + learning_rate * grad / sqrt(rms + epsilon)`` and ``var -= momentum``;
    centred, the variance ``rms - mg**2`` replaces ``rms``, with ``mg`` the mean of gradients. Gradients of
    some rows change those rows only. The slots are called ``rms``, which starts at 1, ``momentum`` and, when
    centred, ``mg``.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        decay: decay of the means, likewise.
        momentum: fraction of the last step that is kept, likewise.
        epsilon: keeps the root above 0, likewise.
        use_locking: without effect: updates are atomic anyway.
        centered: whether gradients are divided by the root of their variance.
        name: name of the optimiser.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, "rms", 1)
            if self._centered:
                self._zeros_slot(var, "mg")
            self._zeros_slot(var, "momentum")

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")
        self._rho = self._tensor(self._decay, "decay")
        self._kept = self._tensor(self._momentum, "momentum")
        self._small = self._tensor(self._epsilon, "epsilon")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply(f"ResourceApply{self._rule}", var, self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        inputs = self._inputs(var, grad.values, grad.indices)
        return self._apply(f"ResourceSparseApply{self._rule}", var, inputs)

    @property
    def _rule(self) -> str:
        return "CenteredRMSProp" if self._centered else "RMSProp"

    def _inputs(self, var: Variable, *grad: Tensor) -> list[Any]:
        names = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        scalars = (self._rate, self._rho, self._kept, self._small)
        slots = [self._slot(var, name) for name in names]
        return [*slots, *(self._like(scalar, var) for scalar in scalars), *grad]
