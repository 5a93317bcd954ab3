"""The functions that update variables."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import Variable, assign, assign_add, assign_sub
from tests.ops.interpreter import Variables, evaluate


def started(variable: Variable) -> Variables:
    state = Variables()
    evaluate([variable.initializer], None, state)
    return state


@pytest.mark.parametrize(("function", "expected"), [(assign, 2.0), (assign_add, 12.0), (assign_sub, 8.0)])
def test_the_functions_do_what_the_methods_do(function: Any, expected: float) -> None:
    w = Variable(10.0)
    assert evaluate([function(w, 2.0, name="change")], None, started(w)) == [expected]
    assert w.graph.get_operation_by_name("change").inputs[0] is w.handle


def test_rows_are_scattered_by_functions() -> None:
    w = Variable([1.0, 2.0, 3.0])
    state = started(w)
    assert evaluate([acts.variables.scatter_add(w, [0, 0], [1.0, 1.0])], None, state)[0].tolist() == [3, 2, 3]
    assert evaluate([acts.variables.scatter_sub(w, [1], [2.0])], None, state)[0].tolist() == [3, 0, 3]
    assert evaluate([acts.variables.scatter_update(w, 2, 7.0)], None, state)[0].tolist() == [3, 0, 7]
