"""Further methods of TensorFlow's ``Optimizer``, which users' own optimisers call and override.

Owns ``Subclassing``, a base of ``Optimizer``: slots and non-slot variables under TensorFlow's names, and
sparse gradients in which each row occurs once. Imported by ``optimizer`` only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays import dimensions
from actorsession.ops.arrays.scatter import unsorted_segment_sum
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.reductions.unique import unique
from actorsession.ops.variables.variable import Variable
from actorsession.train.slot_names import mark_as_part, name_beside

__all__ = ["Subclassing", "slot_key", "summed_rows"]

_OURS = __name__.rpartition(".")[0]


def slot_key(var: Any) -> tuple[Graph, str]:
    """Return what stands for a variable among the slots of an optimiser: its graph and its name."""
    return var.op.graph, var.op.name


class Subclassing:
    """The part of ``Optimizer`` for users' subclasses."""

    _slots: dict[str, dict[Any, Variable]]
    _non_slots: dict[Any, Variable]
    _non_slot_variable: Callable[..., Variable]
    _name: str

    def _call_if_callable(self, param: Any) -> Any:
        """Return a hyperparameter: the result of a function, or the value itself."""
        return param() if callable(param) else param

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        """Return the slot of a variable; create it from a value if it is missing.

        Args:
            var: the variable.
            val: the first value, a tensor or array.
            slot_name: name of the slot for ``get_slot``.
            op_name: suffix of the slot variable's name.
        """
        return self._get_or_add_slot(var, slot_name, op_name, lambda name: _beside(name, val))

    def _get_or_make_slot_with_initializer(
        self, var: Variable, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Variable:
        """Return the slot of a variable; create it with an initialiser, shape and dtype if it is missing."""
        first: Callable[[], Tensor] = lambda: initializer(shape, dtype=dtype)  # noqa: E731
        return self._get_or_add_slot(var, slot_name, op_name, lambda name: _beside(name, first))

    def _get_or_add_slot(
        self, var: Variable, slot_name: str, op_name: str, make: Callable[[str], Variable]
    ) -> Variable:
        slots = self._slots.setdefault(slot_name, {})
        key = slot_key(var)
        if key not in slots:
            graph = var.graph
            with graph.as_default(), graph.name_scope(None), graph.colocate_with(var.op):
                slots[key] = make(name_beside(var.op.name, op_name))
                mark_as_part(slots[key], var)
        return slots[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Variable) -> Variable:
        """Return a variable that is no slot, one per graph and name, on the device of ``colocate_with``."""
        return self._non_slot_variable(initial_value, name, colocate_with)

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Variable | None:
        """Return the non-slot variable with this name, or ``None`` if it was not created."""
        return self._non_slots.get((name, graph or get_default_graph()))

    def _non_slot_variables(self) -> list[Variable]:
        """Return all non-slot variables."""
        return list(self._non_slots.values())

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        """Build a dense update under TensorFlow's second name; called if only this method is overridden."""
        raise NotImplementedError(f"{type(self).__name__} must override _apply_dense")

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Build a sparse update under TensorFlow's second name; called if only this method is overridden."""
        raise NotImplementedError(f"{type(self).__name__} must override _apply_sparse")

    def _update_of_rows(self, grad: IndexedSlices, var: Variable) -> Operation:
        """Return the update for a sparse gradient; users' subclasses receive each row once."""
        applies: Any = self
        function = type(applies)._apply_sparse
        if function.__module__.startswith(_OURS):
            if type(self)._resource_apply_sparse is Subclassing._resource_apply_sparse:
                update: Operation = applies._apply_sparse(grad, var)
                return update
            once = summed_rows(grad)
            return _operation(self._resource_apply_sparse(once.values, var, once.indices))
        return _operation(applies._apply_sparse(summed_rows(grad), var))


def _operation(value: Any) -> Operation:
    return value.op if isinstance(value, (Tensor, Variable)) else value


def _beside(name: str, first: Any) -> Variable:
    return Variable(first, trainable=False, name=name)


def summed_rows(grad: IndexedSlices) -> IndexedSlices:
    """Return the gradient with the rows of equal index summed."""
    indices, positions = unique(grad.indices)
    count = dimensions.shape(indices)[0]
    return IndexedSlices(unsorted_segment_sum(grad.values, positions, count), indices, grad.dense_shape)
