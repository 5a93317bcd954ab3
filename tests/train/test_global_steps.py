"""The one variable that counts training steps."""

from __future__ import annotations

import pytest

from actorsession import (
    Graph,
    GraphKeys,
    Variable,
    constant,
    global_variables,
    int64,
    trainable_variables,
    variable_scope,
)
from actorsession.train import assert_global_step, create_global_step, get_global_step, get_or_create_global_step
from tests.ops.interpreter import Variables, evaluate


def test_it_is_an_int64_scalar_that_starts_at_zero_and_is_not_trained(graph: Graph) -> None:
    with graph.name_scope("somewhere"):
        step = get_or_create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype is int64
    assert step.shape == []
    assert global_variables() == [step]
    assert trainable_variables() == []
    state = Variables()
    evaluate([step.initializer], None, state)
    assert evaluate([step], None, state) == [0]
    # Every graph has its own.
    step = get_or_create_global_step()
    other = Graph()
    assert get_or_create_global_step(other) is not step
    assert get_global_step(other).graph is other
    # A second one is refused.
    create_global_step()
    with pytest.raises(ValueError, match="already exists"):
        create_global_step()
    # Several are one too many.
    for _ in range(2):
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(0))
    with pytest.raises(ValueError, match="2 global steps"):
        get_global_step()
    # A variable of that name is found.
    Variable(0, name="global_step_2")
    assert get_global_step() is None
    step = Variable(0, name="global_step", trainable=False)
    assert get_global_step() is step
    assert get_or_create_global_step() is step


@pytest.mark.parametrize("value", [0.0, [0, 1]])
def test_it_is_an_integer_scalar(graph: Graph, value: object) -> None:
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(value))
    with pytest.raises(TypeError, match="integer scalar"):
        get_global_step()


def test_it_belongs_to_the_variable_scope_in_which_it_is_made() -> None:
    with variable_scope("a"):
        step = create_global_step()
    assert step.name == "a/global_step:0"
    assert get_global_step() is step


def test_what_counts_steps_is_an_integer_scalar() -> None:
    assert_global_step(Variable(1))
    assert_global_step(constant(1, int64))
    for wrong in (Variable([1, 2]), constant(1.0), 3):
        with pytest.raises(TypeError, match="global step"):
            assert_global_step(wrong)
