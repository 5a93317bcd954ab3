"""The Adam optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.elements import arithmetic
from actorsession.ops.flow import control
from actorsession.ops.variables.variable import Variable
from actorsession.train.optimizer import Optimizer

__all__ = ["AdamOptimizer"]


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, 2014), in the form before section 2.1 of the paper.

    With step ``t``: ``m += (1 - beta1) * (grad - m)``, ``v += (1 - beta2) * (grad**2 - v)`` and
    ``var -= learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + epsilon)``. So ``epsilon``
    is the paper's "epsilon hat". The slots are called ``m`` and ``v``; the powers of the betas are variables
    beside the first trained variable (by name). A gradient of some rows counts as zero in all others, whose
    moments decay.

    Args:
        learning_rate: a number, tensor or variable, or a function that returns one.
        beta1: decay of the first moment, likewise.
        beta2: decay of the second moment, likewise.
        epsilon: keeps the division finite, likewise.
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser.
        use_own_namescope_for_non_slot_vars: whether the powers of the betas are in a name scope of the
            optimiser.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda var: var.name)
        self._power1 = self._non_slot_variable(self._beta1, "beta1_power", first)
        self._power2 = self._non_slot_variable(self._beta2, "beta2_power", first)
        for var in var_list:
            self._zeros_slot(var, "m")
            self._zeros_slot(var, "v")

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Return the variables of the powers of the betas in the default graph; ``None`` before training."""
        return (self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power"))

    def _prepare(self) -> None:
        self._rate = self._tensor(self._learning_rate, "learning_rate")
        self._decay1 = self._tensor(self._beta1, "beta1")
        self._decay2 = self._tensor(self._beta2, "beta2")
        self._small = self._tensor(self._epsilon, "epsilon")
        # Read once for all variables, before any of them is updated.
        self._powers = (self._power1.value(), self._power2.value())

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        scalars = (*self._powers, self._rate, self._decay1, self._decay2, self._small)
        inputs = [self._slot(var, "m"), self._slot(var, "v"), *(self._like(s, var) for s in scalars), grad]
        return self._apply("ResourceApplyAdam", var, inputs)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        graph = self._power1.graph
        with graph.colocate_with(self._power1.op):
            next1 = arithmetic.multiply(self._powers[0], self._decay1)
            next2 = arithmetic.multiply(self._powers[1], self._decay2)
            with graph.control_dependencies(update_ops):
                moved1 = self._power1.assign(next1, read_value=False)
                moved2 = self._power2.assign(next2, read_value=False)
        return control.group(*update_ops, moved1, moved2, name=name_scope)
