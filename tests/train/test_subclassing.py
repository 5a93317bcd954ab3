"""Optimisers that users write, with the names that TensorFlow's base class has."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import Graph, Session, ops
from actorsession.train import AdamOptimizer, Optimizer


class Counting(Optimizer):
    """Gradient descent that counts its steps and keeps the last gradient."""

    def __init__(self, rate: Any) -> None:
        super().__init__(False, "Counting")
        self._rate = rate

    def _prepare(self) -> None:
        self._rate_now = ops.convert_to_tensor(self._call_if_callable(self._rate))

    def _create_slots(self, var_list: Any) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(0.0, "steps", first)
        for var in var_list:
            self._get_or_make_slot(var, ops.fill([2], 7.0), "last", self._name)
            zeros = ops.zeros_initializer()
            self._get_or_make_slot_with_initializer(var, zeros, var.shape, var.dtype, "sum", "Counting/sum")

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        last = self.get_slot(handle, "last")
        assert last is not None
        return ops.group(ops.assign_sub(handle, self._rate_now * grad), ops.assign(last, grad))

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        steps = self._get_non_slot_variable("steps")
        assert steps is not None
        return ops.group(*update_ops, ops.assign_add(steps, 1.0), name=name_scope)


def test_slots_and_loose_variables_are_made_by_tensorflows_names(graph: Graph, session: Session) -> None:
    v = ops.Variable([1.0, 2.0], name="v")
    optimizer = Counting(lambda: 0.5)
    step = optimizer.minimize(ops.reduce_sum(v * v))
    last: Any = optimizer.get_slot(v, "last")
    (steps,) = optimizer._non_slot_variables()
    assert [x.name for x in optimizer.variables()] == ["steps:0", "v/Counting/sum:0", "v/Counting:0"]
    session.run(ops.global_variables_initializer())
    assert session.run(last).tolist() == [7.0, 7.0]
    session.run(step)
    now = [value.tolist() for value in session.run([v, last, steps])]
    assert now == [[0.0, 0.0], [2.0, 4.0], 1.0]


class Rows(Optimizer):
    """Takes rows as ``_apply_sparse`` gives them."""

    def __init__(self) -> None:
        super().__init__(False, "Rows")
        self.seen: list[Any] = []

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return ops.assign_sub(var, grad).op

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        self.seen.append(grad)
        return ops.scatter_update(var, grad.indices, -grad.values).op


class RowsOfResources(Rows):
    """The same by the other name."""

    _apply_sparse = Optimizer._apply_sparse

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return ops.scatter_update(handle, indices, -grad)


def test_a_class_of_a_user_is_given_each_row_once(graph: Graph, session: Session) -> None:
    for kind in (Rows, RowsOfResources):
        table = ops.Variable(np.ones((3, 2), np.float32))
        step = kind().minimize(ops.reduce_sum(ops.gather(table, [2, 0, 2])), var_list=[table])
        session.run(table.initializer)
        session.run(step)
        np.testing.assert_array_equal(session.run(table), [[-1, -1], [1, 1], [-2, -2]])


class LazyAdam(AdamOptimizer):
    """Adam whose sparse update is the user's own."""

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return ops.scatter_add(var, grad.indices, grad.values).op


def test_a_subclass_of_ours_is_given_each_row_once_too(graph: Graph, session: Session) -> None:
    table = ops.Variable(np.zeros((3, 1), np.float32))
    step = LazyAdam(0.1).minimize(ops.reduce_sum(ops.gather(table, [1, 1])), var_list=[table])
    session.run(ops.global_variables_initializer())
    session.run(step)
    np.testing.assert_array_equal(session.run(table), [[0], [2], [0]])
